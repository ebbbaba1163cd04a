package stats

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// staging is a location in progress in a test: what its load left.
type staging struct {
	loaded            *Loaded
	sorted            memory
	causes            []xtf.CollCause
	late              memory
	p2pRows, collRows [][]byte
}

// staged loads a location into memory.
func staged(tb testing.TB, t *Tables, src trace.Source, p trace.P) *staging {
	tb.Helper()
	types := xtf.StandardTypes(xtf.Packed)
	array := func(id xtf.TypeID) *xtf.ArrayBuilder {
		return xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(id), xtf.Proc(p), &memory{})
	}
	s := &staging{}
	l := NewLoader(t, p, Outputs{
		Calls: array(xtf.TypeCall), IO: array(xtf.TypeIO), RMA: array(xtf.TypeRMA), Metrics: array(xtf.TypeMetric),
		Channels: array(xtf.TypeChannel), Chan: array(xtf.TypeChan),
		Scratch: func() match.Scratch { return &memory{} }, Sorted: &s.sorted, Late: &s.late,
	})
	st, err := src.Stream(p)
	if err != nil {
		tb.Fatal(err)
	}
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			tb.Fatal(err)
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			if err := l.Add(&b); err != nil {
				tb.Fatal(err)
			}
		}
		if !errors.Is(err, io.EOF) {
			tb.Fatal(err)
		}
	}
	if s.loaded, err = l.Finish(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// matched loads, matches and finishes all locations of src on some ranks, with at
// most round collectives at a time.
func matched(tb testing.TB, src trace.Source, ranks int, round uint64) []*staging {
	tb.Helper()
	defs := src.Definitions()
	tables := NewTables(defs, 0)
	weights := make([]uint64, defs.NumLocations())
	for i := range weights {
		weights[i] = 1
	}
	ranges := partition.Ranges(weights, ranks)
	all := make([]*staging, len(weights))
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		o := match.Options{
			Comm: c, Defs: defs, Ranges: ranges,
			Scratch: func() match.Scratch { return &memory{} },

			RoundInstances: round, PrefixMembers: round / 2,
		}
		own := ranges[c.Rank()]
		for p := own.First; p < own.End; p++ {
			mu.Lock() // tb is not for many goroutines, and this is not a test of speed
			all[p] = staged(tb, tables, src, p)
			mu.Unlock()
			l := all[p].loaded
			o.Units = append(o.Units, match.Unit{P: p, Peers: l.Peers, Sorted: &all[p].sorted, Late: &all[p].late, P2PRows: l.P2PRows, CollRows: l.CollRows})
		}
		results, _, err := match.Match(o)
		if err != nil {
			return err
		}
		for p := own.First; p < own.End; p++ {
			if err := finished(defs, all[p], results, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// finished joins the rows of a location with its results.
func finished(defs *trace.Definitions, s *staging, results *match.Results, p trace.P) error {
	types := xtf.StandardTypes(xtf.Packed)
	sinks := map[xtf.TypeID]*memory{xtf.TypeP2P: {}, xtf.TypeColl: {}}
	array := func(id xtf.TypeID) *xtf.ArrayBuilder {
		if sinks[id] == nil {
			sinks[id] = &memory{}
		}
		return xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(id), xtf.Proc(p), sinks[id])
	}
	out := match.RowOutputs{P2P: array(xtf.TypeP2P), Coll: array(xtf.TypeColl)}
	f := results.Rows(defs, p, s.loaded.Diagnostics, out, nil)
	for c := f.NextCollective(); c != nil; c = f.NextCollective() {
		s.causes = append(s.causes, c.Cause)
	}
	if _, err := f.Finish(); err != nil {
		return err
	}
	for _, x := range []struct {
		b    *xtf.ArrayBuilder
		sink *memory
		rows *[][]byte
	}{{out.P2P, sinks[xtf.TypeP2P], &s.p2pRows}, {out.Coll, sinks[xtf.TypeColl], &s.collRows}} {
		sum, err := x.b.Finish()
		if err != nil {
			return err
		}
		c := xtf.ScanArray(types, xtf.FinishedArray{Summary: sum, Data: x.sink}, 0)
		for c.Next() {
			*x.rows = append(*x.rows, slices.Clone(c.Row()))
		}
		if c.Err() != nil {
			return c.Err()
		}
	}
	return nil
}

// collProgram is a random program of collectives, and who waits for whom in it.
type collProgram struct {
	text strings.Builder
	want [][]xtf.CollCause // of each process, in the order its operations complete
}

// collMember is a process in an operation.
type collMember struct {
	process        uint32
	enter          uint64
	sent, received int // bytes
}

var collOps = []struct{ region, op string }{
	{"MPI_Barrier", "BARRIER"},
	{"MPI_Allreduce", "ALLREDUCE"},
	{"MPI_Bcast", "BCAST"},
	{"MPI_Scatterv", "SCATTERV"},
	{"MPI_Reduce", "REDUCE"},
	{"MPI_Gather", "GATHER"},
	{"MPI_Scan", "SCAN"},
	{"MPI_Exscan", "EXSCAN"},
	{"MPI_Comm_dup", "CREATE_HANDLE"},
}

// newCollProgram makes n operations of some processes on some communicators,
// with times that are often equal.
func newCollProgram(rng *rand.Rand, processes, n int) *collProgram {
	p := &collProgram{want: make([][]xtf.CollCause, processes)}
	fmt.Fprintf(&p.text, "-- program --\nprocesses %d\n", processes)
	comms := [][]int{rng.Perm(processes), {rng.IntN(processes)}, rng.Perm(processes)[:processes/2+1]}
	for i, c := range comms {
		fmt.Fprintf(&p.text, "comm own%d %s\n", i, strings.Trim(fmt.Sprint(c), "[]"))
	}
	p.text.WriteString("-- events --\n")
	now := make([]uint64, processes)
	for range n {
		k := rng.IntN(len(comms))
		p.operation(rng, fmt.Sprintf("own%d", k), comms[k], now)
	}
	return p
}

func (p *collProgram) operation(rng *rand.Rand, comm string, ranks []int, now []uint64) {
	o := collOps[rng.IntN(len(collOps))]
	rootRank := rng.IntN(len(ranks))
	root := "none"
	switch o.op {
	case "BCAST", "SCATTERV", "REDUCE", "GATHER":
		root = fmt.Sprint(rootRank)
	}
	split := rng.IntN(3) == 0
	members := make([]collMember, len(ranks))
	for r, process := range ranks {
		now[process] += uint64(rng.IntN(4))
		enter := now[process]
		members[r] = collMember{uint32(process), enter, min(rng.IntN(4), 1), min(rng.IntN(4), 1)}
		bytes := fmt.Sprint(members[r].sent, " ", members[r].received)
		line := func(format string, a ...any) {
			fmt.Fprintf(&p.text, "%d %d %s\n", process, now[process], fmt.Sprintf(format, a...))
		}
		line("ENTER %s", o.region)
		if split {
			line("NON_BLOCKING_COLLECTIVE_REQUEST 5")
			line("LEAVE %s", o.region)
			now[process] += uint64(rng.IntN(4))
			line("ENTER MPI_Wait")
			line("NON_BLOCKING_COLLECTIVE_COMPLETE %s %s %s %s 5", o.op, comm, root, bytes)
			line("LEAVE MPI_Wait")
		} else {
			line("MPI_COLLECTIVE_BEGIN")
			now[process] += uint64(rng.IntN(4))
			line("MPI_COLLECTIVE_END %s %s %s %s", o.op, comm, root, bytes)
			line("LEAVE %s", o.region)
		}
	}
	for r, m := range members {
		p.want[m.process] = append(p.want[m.process], slowCause(o.op, members, r, rootRank))
	}
}

// slowCause asks every member whether rank needs it: but for barriers it does if it
// gets bytes, and the other one gives some, or nobody does.
func slowCause(op string, members []collMember, rank, root int) xtf.CollCause {
	inPlace := !slices.ContainsFunc(members, func(m collMember) bool { return m.sent > 0 })
	needs := func(other int) bool {
		gets, gives := members[rank].received > 0, members[other].sent > 0
		switch op {
		case "BARRIER", "CREATE_HANDLE":
			return true
		case "ALLREDUCE":
			return gets && (gives || inPlace)
		case "BCAST", "SCATTERV":
			return rank != root && other == root && gets
		case "REDUCE", "GATHER":
			return rank == root && other != root && gives
		case "SCAN", "EXSCAN":
			return other < rank && gets && gives
		}
		return false
	}
	var needed []collMember
	for other, m := range members {
		if needs(other) {
			needed = append(needed, m)
		}
	}
	if len(needed) == 0 {
		return xtf.NoCollCause()
	}
	slices.SortFunc(needed, func(a, b collMember) int { return int(a.process) - int(b.process) })
	first, last := needed[0], needed[0]
	for _, m := range needed[1:] {
		if m.enter < first.enter {
			first = m
		}
		if m.enter > last.enter {
			last = m
		}
	}
	if op != "REDUCE" && op != "GATHER" {
		first = last
	}
	return xtf.CollCause{CauseT: first.enter, LastT: last.enter, CauseP: first.process, LastP: last.process}
}

// TestCollCauses compares the causes of random programs with asking every member.
func TestCollCauses(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 8))
		program := newCollProgram(rng, 2+rng.IntN(7), 60)
		src, err := tracetest.Parse(program.text.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, ranks := range []int{1, 2, 3, 7} {
			for p, s := range matched(t, src, ranks, []uint64{0, 1, 7, 130}[(seed+uint64(ranks))%4]) {
				if d := cmp.Diff(program.want[p], s.causes); d != "" {
					t.Fatalf("seed %d, %d ranks, process %d: %s\n%s", seed, ranks, p, d, program.text.String())
				}
			}
		}
	}
}

// TestProbeMovesReceivePoint: post of a blocking receive is the enter of the
// blocking probe right before it, with management that says nothing between them or without.
func TestProbeMovesReceivePoint(t *testing.T) {
	src, err := tracetest.Parse(`
-- program --
processes 2
-- events --
0 10 ENTER MPI_Send
0 10 MPI_SEND 1 MPI_COMM_WORLD 1 8
0 11 LEAVE MPI_Send
0 20 ENTER MPI_Send
0 20 MPI_SEND 1 MPI_COMM_WORLD 1 8
0 21 LEAVE MPI_Send
0 30 ENTER MPI_Send
0 30 MPI_SEND 1 MPI_COMM_WORLD 1 8
0 31 LEAVE MPI_Send
0 40 ENTER MPI_Send
0 40 MPI_SEND 1 MPI_COMM_WORLD 1 8
0 41 LEAVE MPI_Send
0 45 ENTER MPI_Send
0 45 MPI_SEND 1 MPI_COMM_WORLD 1 8
0 46 LEAVE MPI_Send
1 5 ENTER MPI_Probe
1 11 LEAVE MPI_Probe
1 12 ENTER MPI_Recv
1 12 MPI_RECV 0 MPI_COMM_WORLD 1 8
1 13 LEAVE MPI_Recv
1 14 ENTER MPI_Recv
1 22 MPI_RECV 0 MPI_COMM_WORLD 1 8
1 22 LEAVE MPI_Recv
1 23 ENTER MPI_Mprobe
1 31 LEAVE MPI_Mprobe
1 31 ENTER MPI_Comm_rank
1 31 LEAVE MPI_Comm_rank
1 32 ENTER MPI_Mrecv
1 32 MPI_RECV 0 MPI_COMM_WORLD 1 8
1 33 LEAVE MPI_Mrecv
1 34 ENTER MPI_Iprobe
1 34 LEAVE MPI_Iprobe
1 35 ENTER MPI_Recv
1 42 MPI_RECV 0 MPI_COMM_WORLD 1 8
1 42 LEAVE MPI_Recv
1 43 ENTER MPI_Probe
1 46 LEAVE MPI_Probe
1 46 ENTER MPI_Wtick
1 47 LEAVE MPI_Wtick
1 47 ENTER MPI_Test
1 48 LEAVE MPI_Test
1 50 ENTER MPI_Recv
1 51 MPI_RECV 0 MPI_COMM_WORLD 1 8
1 51 LEAVE MPI_Recv
`)
	if err != nil {
		t.Fatal(err)
	}
	type receive struct {
		T, Post uint64
		Probed  bool
	}
	var got []receive
	for _, row := range matched(t, src, 2, 0)[1].p2pRows {
		var r xtf.P2P
		r.Load(row)
		got = append(got, receive{r.T, r.Post, r.Kind&xtf.P2PProbed != 0})
	}
	want := []receive{{12, 5, true}, {14, 14, false}, {32, 23, true}, {35, 35, false}, {50, 50, false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

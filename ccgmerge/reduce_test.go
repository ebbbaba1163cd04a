package ccgmerge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

const processes = 23

// definitions returns a run of n processes.
func definitions(n int) *trace.Definitions {
	d := &trace.Definitions{}
	var all []uint64
	for i := range n {
		d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: uint32(i), Type: trace.ProcessGroup, Creator: trace.Undefined})
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(i), Type: trace.CPUThread, Group: uint32(i)})
		all = append(all, uint64(i))
	}
	d.Groups = []trace.Group{
		{Ref: 0, Type: trace.GroupCommLocations, Paradigm: trace.ParadigmMPI, Members: all},
		{Ref: 1, Type: trace.GroupCommGroup, Paradigm: trace.ParadigmMPI, Members: all},
	}
	d.Comms = []trace.Comm{{Ref: 0, Group: 1, Parent: trace.Undefined}}
	d.Seal()
	return d
}

// ring makes the events of one process of a ring exchange; every fifth process
// has a call of its own.
func ring(p, n uint32) *trace.Batch {
	b := &trace.Batch{}
	t := trace.Time(1000 * p)
	at := func(d uint32) trace.Time { t += trace.Time(d + p%3); return t }
	b.Append(at(0), trace.Enter, 0)
	for i := range uint32(200) {
		b.Append(at(5), trace.Enter, 1)
		b.Append(at(1), trace.MpiSend, 0, uint64((p+1)%n), 0, 7, 64)
		b.Append(at(9), trace.Leave, 1)
		b.Append(at(2), trace.Enter, 2)
		b.Append(at(i%7), trace.MpiRecv, 0, uint64((p+n-1)%n), 0, 7, 64)
		b.Append(at(1), trace.Leave, 2)
		if p%5 == 0 && i%20 == 3 {
			b.Append(at(1), trace.Enter, 3+p)
			b.Append(at(1), trace.Leave, 3+p)
		}
	}
	b.Append(at(1), trace.Leave, 0)
	return b
}

var input = sync.OnceValues(func() (*trace.Definitions, []*build.Local) {
	d := definitions(processes)
	locals := make([]*build.Local, processes)
	for p := range locals {
		b := build.NewBuilder(d, trace.P(p), graph.Options{})
		if err := b.Add(ring(uint32(p), processes)); err != nil {
			panic(err)
		}
		var err error
		if locals[p], err = b.Finish(); err != nil {
			panic(err)
		}
	}
	return d, locals
})

// bounds returns the first location of rank r of n.
func bounds(r, n int) int { return r * processes / n }

// TestAnyNumberOfRanks makes the whole call graph on 1 to 16 ranks, with
// messages of all sizes, and compares every byte.
func TestAnyNumberOfRanks(t *testing.T) {
	d, locals := input()
	var section []byte
	blobs := make([][]byte, processes)
	for _, message := range []int{0, 1, 300} {
		for n := 1; n <= 16; n++ {
			err := mpi.RunInProcess(n, func(c mpi.Comm) error {
				lo, hi := bounds(c.Rank(), n), bounds(c.Rank()+1, n)
				shared, _, report, err := Reduce(c, d, slice(locals[lo:hi]), graph.Options{}, Config{Message: message})
				if err != nil {
					return err
				}
				got := shared.Encode()
				if section == nil && n == 1 {
					section = got
				}
				if !bytes.Equal(got, section) {
					return fmt.Errorf("%d ranks: section differs from that of one", n)
				}
				if err := checkReport(report, n, shared); err != nil {
					return err
				}
				dist := build.NewDistributor(shared)
				for p := lo; p < hi; p++ {
					blob, err := dist.Distribute(locals[p])
					if err != nil {
						return err
					}
					if n == 1 && message == 0 {
						blobs[p] = blob
					}
					if !bytes.Equal(blob, blobs[p]) {
						return fmt.Errorf("%d ranks: blob of location %d differs", n, p)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	expandAll(t, d, section, blobs)
}

func checkReport(r Report, n int, s *graph.Shared) error {
	received, isNew := uint64(0), uint64(0)
	for _, l := range r.Levels {
		received += l.Nodes
		isNew += l.New
	}
	if r.Nodes != uint64(s.Nodes()) || r.LocalNodes < r.Nodes || isNew > received || n > 1 && (received == 0 || r.BroadcastBytes == 0) {
		return fmt.Errorf("%d ranks: report %+v", n, r)
	}
	return nil
}

// expandAll checks the round trip from the file's bytes.
func expandAll(t *testing.T, d *trace.Definitions, section []byte, blobs [][]byte) {
	t.Helper()
	shared, err := graph.OpenShared(d, section)
	if err != nil {
		t.Fatal(err)
	}
	for p, blob := range blobs {
		loc, err := ccg.OpenLocation(shared, blob)
		if err != nil {
			t.Fatal(err)
		}
		want := ring(uint32(p), processes)
		x := loc.Expand()
		i := 0
		var b trace.Batch
		for err = x.Next(&b); err == nil; err = x.Next(&b) {
			for _, e := range b.Events {
				w := want.Events[i]
				if e.Time != w.Time || e.Kind != w.Kind || e.Ref != w.Ref || fmt.Sprint(b.Words(&e)) != fmt.Sprint(want.Words(&w)) {
					t.Fatalf("location %d, event %d: %+v %v, want %+v %v", p, i, e, b.Words(&e), w, want.Words(&w))
				}
				i++
			}
		}
		if err != io.EOF || i != len(want.Events) {
			t.Fatalf("location %d: %d events, want %d (%v)", p, i, len(want.Events), err)
		}
	}
}

// slice is Locals in memory.
type slice []*build.Local

func (s slice) Len() int                         { return len(s) }
func (s slice) Open(i int) (*build.Local, error) { return s[i], nil }

// broken fails to open one location.
type broken struct {
	slice
	at int
}

var errStorage = errors.New("storage gone")

func (b *broken) Open(i int) (*build.Local, error) {
	if b.at == 0 {
		return nil, errStorage
	}
	b.at--
	return b.slice.Open(i)
}

// TestErrorsAreCollective lets one rank fail at each of its openings.
func TestErrorsAreCollective(t *testing.T) {
	d, locals := input()
	errorsAreCollective(t, d, locals, graph.Options{}, 2)
	d, locals = locate(t, "ring:procs=6,events=2k", lossyOptions)
	errorsAreCollective(t, d, locals, lossyOptions, 5)
}

func errorsAreCollective(t *testing.T, d *trace.Definitions, locals []*build.Local, o graph.Options, openings int) {
	const n = 5
	bounds := func(r int) int { return r * len(locals) / n }
	for rank := range n {
		lo, hi := bounds(rank), bounds(rank+1)
		for at := range openings * (hi - lo) {
			errs := make([]error, n)
			err := mpi.RunInProcess(n, func(c mpi.Comm) error {
				own := slice(locals[bounds(c.Rank()):bounds(c.Rank()+1)])
				var in Locals = own
				if c.Rank() == rank {
					in = &broken{slice: own, at: at}
				}
				_, _, _, errs[c.Rank()] = Reduce(c, d, in, o, Config{})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for r, e := range errs {
				if e == nil || errs[0] == nil || e.Error() != errs[0].Error() {
					t.Fatalf("rank %d failed at opening %d: rank %d has %v, rank 0 %v", rank, at, r, e, errs[0])
				}
			}
		}
	}
}

// TestForeignOptions joins a location built with other options.
func TestForeignOptions(t *testing.T) {
	d, locals := input()
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		o := graph.Options{Fan: 4}
		if _, _, _, err := Reduce(c, d, slice(locals[:1]), o, Config{}); !errors.Is(err, graph.ErrForeign) {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func ExampleReduce() {
	defs := definitions(4)
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		var mine slice
		for p := 2 * c.Rank(); p < 2*c.Rank()+2; p++ {
			b := build.NewBuilder(defs, trace.P(p), graph.Options{})
			if err := b.Add(ring(uint32(p), 4)); err != nil {
				return err
			}
			l, err := b.Finish()
			if err != nil {
				return err
			}
			mine = append(mine, l)
		}
		shared, _, report, err := Reduce(c, defs, mine, graph.Options{}, Config{})
		if err == nil && c.Rank() == 0 {
			fmt.Println(report.LocalNodes, "nodes become", shared.Nodes())
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 37 nodes become 16
}

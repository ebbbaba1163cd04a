package stats_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// borderSink keeps what the load writes.
type borderSink struct{ b []byte }

func (m *borderSink) Append(b []byte) (int64, error) {
	m.b = append(m.b, b...)
	return int64(len(m.b) - len(b)), nil
}

func (m *borderSink) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(m.b).ReadAt(b, off)
}

// loadFirst loads location 0 of a trace.
func loadFirst(tb testing.TB, src trace.Source, f interval.Flags) (*stats.Loaded, []interval.Border) {
	tb.Helper()
	o, err := f.Parse()
	if err != nil {
		tb.Fatal(err)
	}
	p, err := interval.NewPlan(src.Definitions(), o)
	if err != nil {
		tb.Fatal(err)
	}
	t := stats.NewTables(src.Definitions(), 0)
	t.SetIntervals(p)
	sink := &borderSink{}
	l := stats.NewLoader(t, 0, stats.Outputs{Borders: sink})
	stream, err := src.Stream(0)
	if err != nil {
		tb.Fatal(err)
	}
	pass := func(add func(b *trace.Batch) error) {
		var b trace.Batch
		for i := range stream.Chunks() {
			r, err := stream.Chunk(i)
			if err != nil {
				tb.Fatal(err)
			}
			for r.Next(&b) == nil {
				if err := add(&b); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	if t.NamesTasks() {
		moved := stats.NewMovedCalls(t)
		pass(func(b *trace.Batch) error { moved.Add(b); return nil })
		l.LeaveOut(moved.Found())
	}
	pass(l.Add)
	loaded, err := l.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	var list []interval.Border
	for at := 0; at < len(sink.b); at += interval.BorderBytes {
		var x interval.Border
		x.Load(sink.b[at:])
		list = append(list, x)
	}
	return loaded, list
}

// definitions of the traces below: I/O, a phase, parameters, a communicator.
const markerDefinitions = `-- definitions --
STRING self=0 string="write"
STRING self=1 string="level"
STRING self=2 string="name"
STRING self=3 string="interval"
STRING self=4 string="prv:77 Phase"
STRING self=5 string="phase"
STRING self=6 string="f.c"
STRING self=7 string="f"
REGION self=0 name=0 region_role=27
REGION self=1 name=5 source_file=6 begin_line_number=7 region_role=1 region_flags=2
REGION self=2 name=7 source_file=6 begin_line_number=9 region_role=1
PARAMETER self=0 name=1 parameter_type=1
PARAMETER self=1 name=2 parameter_type=0
PARAMETER self=2 name=3 parameter_type=1
PARAMETER self=3 name=4 parameter_type=2
-- program --
processes 2
resolution 1000000
comm coppice.intervals 0
-- events --
`

// program writes random events of location 0.
type program struct {
	rng   *rand.Rand
	b     strings.Builder
	now   int
	depth int
	most  int // ticks between events
	posts []int
	next  int
}

func (g *program) step() { g.now += g.rng.IntN(g.most + 1) }

func (g *program) event(format string, args ...any) {
	fmt.Fprintf(&g.b, "0 %d %s\n", g.now, fmt.Sprintf(format, args...))
}

// call writes one MPI call with a record at its begin, or at its end.
func (g *program) call(region, first, last string) {
	g.event("ENTER MPI_%s", region)
	if first != "" {
		g.event("%s", first)
	}
	g.step()
	if last != "" {
		g.event("%s", last)
	}
	g.event("LEAVE MPI_%s", region)
}

func (g *program) self(comm string, tag uint32) {
	m := fmt.Sprintf("0 %s %d 0", comm, tag)
	switch g.rng.IntN(4) {
	case 0:
		g.call("Send", "MPI_SEND "+m, "")
		g.call("Recv", "", "MPI_RECV "+m)
	default:
		g.call("Sendrecv", "MPI_SEND "+m, "MPI_RECV "+m)
	}
}

// marker writes a marker of any form.
func (g *program) marker() {
	id, end := uint32(g.rng.IntN(3)+5), uint32(g.rng.IntN(2))
	switch g.rng.IntN(5) {
	case 0:
		g.self("MPI_COMM_WORLD", 0xAA0000AA+id<<8+0x11*end)
	case 1:
		g.self("MPI_COMM_WORLD", 0x2AAA+0x11*end)
		if g.rng.IntN(4) > 0 {
			if g.rng.IntN(3) == 0 {
				g.step()
			}
			g.self("MPI_COMM_WORLD", id)
		}
	case 2:
		g.self("coppice.intervals", 2*id+end)
	case 3:
		g.call("Pcontrol", fmt.Sprintf("PARAMETER_INT64 0 %d", int(id)-2*int(id*end)), "")
	case 4:
		g.event("ENTER MPI_Pcontrol")
		g.event("PARAMETER_INT64 0 %d", 1-2*int(end))
		g.step()
		g.event("PARAMETER_STRING 1 %q", string(rune('a'+id)))
		g.event("LEAVE MPI_Pcontrol")
	}
}

// traffic writes an operation that is not a marker.
func (g *program) traffic() {
	switch g.rng.IntN(10) {
	case 0:
		g.call("Send", "MPI_SEND 1 MPI_COMM_WORLD 3 10", "")
	case 1:
		g.call("Recv", "", "MPI_RECV 1 MPI_COMM_WORLD 3 10")
	case 2:
		g.call("Irecv", fmt.Sprintf("MPI_IRECV_REQUEST %d", g.next), "")
		g.posts = append(g.posts, g.next)
		g.next++
	case 3:
		if len(g.posts) > 0 {
			g.call("Wait", "", fmt.Sprintf("MPI_IRECV 1 MPI_COMM_WORLD 3 10 %d", g.posts[0]))
			g.posts = g.posts[1:]
		}
	case 4:
		g.call("Allreduce", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END ALLREDUCE MPI_COMM_WORLD none 8 8")
	case 5:
		g.event("ENTER write")
		g.step()
		if g.rng.IntN(2) == 0 {
			g.call("Barrier", "", "")
			g.step()
		}
		g.event("LEAVE write")
	case 6:
		g.self("MPI_COMM_WORLD", 4)
	case 7:
		g.event("BUFFER_FLUSH %d", g.now+g.rng.IntN(9))
	case 8:
		g.event("MEASUREMENT_ON_OFF %s", []string{"ON", "OFF"}[g.rng.IntN(2)])
	case 9:
		g.call("Isend", fmt.Sprintf("MPI_ISEND 1 MPI_COMM_WORLD 3 10 %d", g.next), "")
		g.step()
		g.call("Wait", "", fmt.Sprintf("%s %d", []string{"MPI_ISEND_COMPLETE", "MPI_REQUEST_CANCELLED"}[g.rng.IntN(2)], g.next))
		g.next++
	}
}

// body writes n random events.
func (g *program) body(n int) {
	for range n {
		if g.rng.IntN(3) > 0 {
			g.step()
		}
		switch k := g.rng.IntN(8); {
		case k < 3:
			g.marker()
		case k < 6:
			g.traffic()
		case g.depth < 4:
			name := []string{"f", "phase"}[g.rng.IntN(2)]
			g.depth++
			g.event("ENTER %s", name)
			if g.rng.IntN(3) == 0 {
				g.event("PARAMETER_INT64 2 %d", g.rng.IntN(2)+1)
			}
			g.body(g.rng.IntN(6))
			g.event("LEAVE %s", name)
			g.depth--
		}
	}
}

func randomProgram(seed uint64, most int) string {
	g := &program{rng: rand.New(rand.NewPCG(seed, 9)), now: 3, most: most}
	g.event("ENTER main")
	g.now++
	g.body(25)
	for len(g.posts) > 0 && g.rng.IntN(4) > 0 { // some stay open
		g.call("Wait", "", fmt.Sprintf("MPI_IRECV 1 MPI_COMM_WORLD 3 10 %d", g.posts[0]))
		g.posts = g.posts[1:]
	}
	g.now++
	g.event("LEAVE main")
	fmt.Fprintf(&g.b, "1 %d ENTER main\n1 %d LEAVE main\n", g.now, g.now+1)
	return markerDefinitions + g.b.String()
}

// partnered are items that the load does not know.
var partnered = []oracle.Item{
	oracle.SendRecv, oracle.PotentialSync, oracle.Variation, oracle.LateSender, oracle.LateSenderSame, oracle.LateSenderOther,
	oracle.LateReceiver, oracle.LateProgress, oracle.WaitBarrier, oracle.BarrierDone, oracle.WaitNxN, oracle.NxNDone, oracle.LateBroadcast,
	oracle.EarlyReduce, oracle.EarlyScan, oracle.WaitCount, oracle.Ideal, oracle.IdealFirst, oracle.IdealLast,
	oracle.CriticalCPU, oracle.CriticalMPI, oracle.CriticalIO, oracle.CriticalMarker,
}

// wanted is what the second computation has for location 0, by path of nodes.
func wanted(r *oracle.Result) map[string]map[string]uint64 {
	out := map[string]map[string]uint64{}
	for n, node := range r.Nodes {
		path := ""
		for k := n; k > 0; k = r.Nodes[k].Parent {
			key := r.Nodes[k].Key
			path = fmt.Sprintf("/%s:%d %d %s", key.File, key.Line, key.ID, key.Name) + path
		}
		values := map[string]uint64{}
		for item, v := range r.Locations[0].Components[n] {
			if !slices.Contains(partnered, item) {
				values[string(item)] = v
			}
		}
		if node.Level == 0 || values["executions"] > 0 {
			out[path] = values
		}
	}
	return out
}

func found(l *stats.Loaded) map[string]map[string]uint64 {
	out := map[string]map[string]uint64{}
	for n := range uint32(l.Tree.Len()) {
		path := ""
		for k := n; k > 0; k = l.Tree.Node(k).Parent {
			key := l.Tree.Node(k)
			path = fmt.Sprintf("/%s:%d %d %s", key.File, key.Line, key.ID, key.Name) + path
		}
		values := map[string]uint64{}
		for i, v := range l.Components.Node(n) {
			if v != 0 {
				values[xtf.Item(i).String()] = v
			}
		}
		out[path] = values
	}
	return out
}

// TestComponentsTwin compares trees and sums of random markers with the second
// computation.
func TestComponentsTwin(t *testing.T) {
	rounds := uint64(150)
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		most := []int{1, 3, 50}[seed%3]
		text := randomProgram(seed, most)
		src, err := tracetest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			f    interval.Flags
			o    oracle.Options
		}{
			{"plain", interval.Flags{}, oracle.Options{}},
			{"calls", interval.Flags{MarkerCost: "mpi"}, oracle.Options{MarkerAsMPI: true}},
			{"regions", interval.Flags{Intervals: []string{"region:f"}}, oracle.Options{Regions: []string{"f"}}},
			{"folded", interval.Flags{Fold: true}, oracle.Options{FoldRecursed: true}},
			{"between", interval.Flags{Between: "coll:allreduce", Markers: "f1"}, oracle.Options{Between: "ALLREDUCE", Forms: map[oracle.Form]bool{oracle.FormRaw: true}}},
			{"slices", interval.Flags{Slice: fmt.Sprintf("%dticks", 4*most)}, oracle.Options{Slices: slicesOf(uint64(4 * most))}},
			{"file", interval.Flags{Sidecar: []byte("0,5,19,5,\n0,8,12,6,x\n1,2,3,4,\n")}, oracle.Options{Sidecar: []oracle.SidecarInterval{
				{Begin: 5, End: 19, Key: oracle.Key{ID: 5}}, {Begin: 8, End: 12, Key: oracle.Key{ID: 6, Name: "x"}},
			}}},
		} {
			r, err := oracle.Analyze(src, c.o)
			if err != nil {
				t.Fatal(err)
			}
			loaded, borders := loadFirst(t, src, c.f)
			if d := cmp.Diff(wanted(r), found(loaded)); d != "" {
				t.Fatalf("seed %d, %s (-want +got):\n%s\n%s", seed, c.name, d, text)
			}
			if c.name == "slices" {
				checkSlices(t, loaded)
			}
			checkBorders(t, loaded, borders)
			checkProblems(t, r, loaded, c.name+"\n"+text)
		}
	}
}

// checkSlices compares the sum over all slices with the whole.
func checkSlices(t *testing.T, l *stats.Loaded) {
	t.Helper()
	var sum, whole interval.Items
	for n := range uint32(l.Tree.Len()) {
		if l.Tree.Node(n).Form == interval.FormDerived {
			for i, v := range l.Components.Node(n) {
				sum[i] += v
			}
		}
	}
	whole = *l.Components.Node(0)
	for _, i := range []xtf.Item{xtf.ItemEvents, xtf.ItemFirst, xtf.ItemLast, xtf.ItemExecutions} { // of the root alone, or not additive
		sum[i], whole[i] = 0, 0
	}
	if d := cmp.Diff(whole, sum); d != "" {
		t.Fatalf("sum over slices (-whole +sum):\n%s", d)
	}
}

func slicesOf(width uint64) (list []oracle.Slice) {
	for k := range uint64(400) {
		list = append(list, oracle.Slice{Key: oracle.Key{ID: k, Name: "slice"}, Begin: k * width, End: (k + 1) * width})
	}
	return list
}

// checkBorders compares borders with the executions that the tree counts.
func checkBorders(t *testing.T, l *stats.Loaded, borders []interval.Border) {
	t.Helper()
	var begins []interval.Border
	executions, last := map[uint32]uint64{}, uint64(0)
	for _, b := range borders {
		if b.T < last {
			t.Fatalf("border at %d after one at %d", b.T, last)
		}
		last = b.T
		if b.Row == xtf.Never {
			begins = append(begins, b)
			continue
		}
		if b.Row >= uint64(len(begins)) || begins[b.Row].Node != b.Node {
			t.Fatalf("the end %+v fits no begin", b)
		}
		executions[b.Node]++
	}
	for n := range uint32(l.Tree.Len()) {
		if executions[n] != l.Tree.Node(n).Executions {
			t.Fatalf("node %d: %d rows, %d executions", n, executions[n], l.Tree.Node(n).Executions)
		}
	}
	if 2*len(begins) != len(borders) {
		t.Fatalf("%d begins, %d borders", len(begins), len(borders))
	}
}

func checkProblems(t *testing.T, r *oracle.Result, l *stats.Loaded, text string) {
	t.Helper()
	want := map[string]uint64{}
	for _, p := range r.Problems {
		want[p.Code]++
	}
	got := map[string]uint64{}
	for code, name := range map[trace.Code]string{
		trace.DiagCrossed: oracle.Crossed, trace.DiagStrayEnd: oracle.EndWithoutBegin, trace.DiagUnclosed: oracle.Unclosed, trace.DiagDangling: oracle.Dangling,
	} {
		if n := l.Diagnostics.Count(code); n > 0 {
			got[name] = n
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("problems (-want +got):\n%s\n%s", d, text)
	}
}

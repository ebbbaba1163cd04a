package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// spanSums are sums over a span, straight from the rows of one location.
type spanSums struct {
	items   [xtf.NumItems]uint64
	calls   map[uint32]uint64 // by region
	own     map[uint32]uint64 // exclusive ticks by region
	covered map[uint32]uint64 // ticks with a call of the region open
}

func clip(t, end, a, b uint64) uint64 {
	from, to := max(t, a), min(end, b)
	return to - min(from, to)
}

// slowSums looks at every row and every tick of calls.
func slowSums(t testing.TB, f *xtf.File, p xtf.Proc, a, b uint64) *spanSums {
	s := &spanSums{calls: map[uint32]uint64{}, own: map[uint32]uint64{}, covered: map[uint32]uint64{}}
	each := func(id xtf.TypeID, visit func(row []byte)) {
		arr, err := f.Array(p, id)
		if err != nil {
			t.Fatal(err)
		}
		c := arr.Rows(0, arr.Len())
		for c.Next() {
			visit(c.Row())
		}
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	inside := func(at uint64) bool { return a <= at && at < b }
	var calls []xtf.Call
	each(xtf.TypeCall, func(row []byte) {
		var x xtf.Call
		x.Load(row)
		calls = append(calls, x)
		v := clip(x.T, x.End, a, b)
		if inside(x.T) {
			s.items[xtf.ItemCalls]++
			s.calls[x.Region]++
		}
		s.own[x.Region] += v
		if x.Parent < uint64(len(calls)) {
			s.own[calls[x.Parent].Region] -= v
		}
		if x.Flags&xtf.FlagMarker != 0 {
			s.items[xtf.ItemMarker] += v
		} else if x.Flags&xtf.FlagOutermostMPI != 0 {
			s.items[xtf.ItemMPI] += v
			for k := x.Parent; k < uint64(len(calls)); k = calls[k].Parent {
				switch {
				case calls[k].Flags&xtf.FlagOutermostIO != 0:
					s.items[xtf.ItemIO] -= v
				case calls[k].Flags&xtf.FlagOutermostDeviceCall != 0:
					s.items[xtf.ItemDeviceCall] -= v
				}
			}
			for class, item := range map[uint32]xtf.Item{
				xtf.ClassP2P: xtf.ItemP2P, xtf.ClassStart: xtf.ItemStart, xtf.ClassColl: xtf.ItemColl, xtf.ClassNxN: xtf.ItemNxN, xtf.ClassBarrier: xtf.ItemBarrier,
				xtf.ClassMPIIO: xtf.ItemFileIO, xtf.ClassRMA: xtf.ItemRMA, xtf.ClassMgmt: xtf.ItemManagement, xtf.ClassInit: xtf.ItemSetup,
			} {
				if x.Class&class != 0 {
					s.items[item] += v
				}
			}
		}
		if x.Flags&xtf.FlagOutermostIO != 0 {
			s.items[xtf.ItemIO] += v
		}
		if x.Flags&xtf.FlagThreadWait != 0 {
			s.items[xtf.ItemThreadWait] += v
		}
		if x.Parent < uint64(len(calls)) && calls[x.Parent].Flags&xtf.FlagThreadWait != 0 {
			s.items[xtf.ItemThreadWait] -= v
		}
		outermost := true
		for k := x.Parent; k < uint64(len(calls)); k = calls[k].Parent {
			outermost = outermost && calls[k].Region != x.Region
		}
		if outermost {
			s.covered[x.Region] += v
		}
	})
	each(xtf.TypeP2P, func(row []byte) {
		var x xtf.P2P
		x.Load(row)
		done := a < x.End && x.End <= b
		switch {
		case x.Kind&xtf.P2PKindMask == xtf.P2PSend && inside(x.T):
			s.items[xtf.ItemSends]++
			s.items[xtf.ItemBytesOut] += x.Bytes
		case x.Kind&xtf.P2PKindMask == xtf.P2PRecv && done:
			s.items[xtf.ItemReceives]++
			s.items[xtf.ItemBytesIn] += x.Bytes
			if x.Kind&(xtf.P2PUnmatched|xtf.P2PMarker) == 0 {
				s.items[xtf.ItemSendRecv] += x.End - min(x.End, x.MateT)
				s.items[xtf.ItemPotentialSync] += x.MateT - min(x.MateT, x.T)
			}
		}
	})
	each(xtf.TypeColl, func(row []byte) {
		var x xtf.Coll
		x.Load(row)
		if inside(x.T) {
			if !trace.Unnumbered(x.Flags & xtf.CollOpMask) {
				s.items[xtf.ItemCollectives]++
				s.items[xtf.ItemCollOut] += x.Sent
				s.items[xtf.ItemCollIn] += x.Received
			}
			s.items[xtf.ItemPotentialSync] += x.LastEnter - min(x.LastEnter, x.T)
			s.items[xtf.ItemVariation] += x.LastLeave - min(x.LastLeave, x.End)
		}
	})
	each(xtf.TypeWait, func(row []byte) {
		var x xtf.Wait
		x.Load(row)
		item := map[uint32]xtf.Item{
			xtf.WaitLateSender: xtf.ItemLateSender, xtf.WaitLateReceiver: xtf.ItemLateReceiver, xtf.WaitBarrier: xtf.ItemWaitBarrier,
			xtf.WaitBarrierCompletion: xtf.ItemBarrierCompletion, xtf.WaitNxN: xtf.ItemWaitNxN, xtf.WaitNxNCompletion: xtf.ItemNxNCompletion,
			xtf.WaitLateBroadcast: xtf.ItemLateBroadcast, xtf.WaitEarlyReduce: xtf.ItemEarlyReduce, xtf.WaitEarlyScan: xtf.ItemEarlyScan,
			xtf.WaitLateProgress: xtf.ItemLateProgress, xtf.WaitLatePost: xtf.ItemLatePost, xtf.WaitEarlyWait: xtf.ItemEarlyWait, xtf.WaitLock: xtf.ItemLockContention,
		}[x.Pattern&xtf.WaitPatternMask]
		s.items[item] += clip(x.T, x.End, a, b)
	})
	s.items[xtf.ItemComm] = s.items[xtf.ItemP2P] + s.items[xtf.ItemColl] + s.items[xtf.ItemRMA]
	return s
}

// TestWindow compares statistics of spans with sums over all rows: items and
// exact functions are equal, bounds hold, and whole bins are not read.
func TestWindow(t *testing.T) {
	t.Parallel()
	for _, spec := range programs[:6] {
		t.Run(spec, func(t *testing.T) {
			run, err := results.Open(filepath.Join(analysed(t, spec), "run.xtf"), xtf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			b, err := run.Brief()
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			first, last := *b.First, *b.Last
			for range 12 {
				x, y := first+rnd.Uint64N(last-first+1), first+rnd.Uint64N(last-first+2)
				compareWindow(t, run, min(x, y), max(x, y))
			}
			compareWindow(t, run, first, last+1)
			compareWindow(t, run, first, first)
		})
	}
}

func compareWindow(t *testing.T, run *results.Run, a, b uint64) {
	t.Helper()
	bounded, err := lookup.NewStatistics(run, results.Ranks{}, a, b, false)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := lookup.NewStatistics(run, results.Ranks{}, a, b, true)
	if err != nil {
		t.Fatal(err)
	}
	var want [xtf.NumItems]uint64
	total := &spanSums{calls: map[uint32]uint64{}, own: map[uint32]uint64{}, covered: map[uint32]uint64{}}
	for _, p := range run.Defs.Processes() {
		for i := range p.Count {
			s := slowSums(t, run.File, xtf.Proc(p.First+trace.P(i)), a, b)
			for k := range want {
				if xtf.Item(k) >= xtf.ItemSendRecv && xtf.Item(k) < xtf.ItemDeviceCall || i == 0 { // times are those of the first location
					want[k] += s.items[k]
				}
			}
			for r, v := range s.calls {
				total.calls[r] += v
			}
			for r, v := range s.own {
				total.own[r] += v
			}
			for r, v := range s.covered {
				total.covered[r] += v
			}
		}
	}
	if exact.Processes == 0 {
		return // nobody lived in there
	}
	got := map[xtf.Item]uint64{}
	for _, i := range exact.Items {
		got[i.Item] = uint64(i.Sum)
	}
	for k := range xtf.NumItems {
		switch k {
		case xtf.ItemTime, xtf.ItemCPU, xtf.ItemMeasured, xtf.ItemFirst, xtf.ItemLast, xtf.ItemEvents, xtf.ItemOverlap, xtf.ItemWaitCount:
			continue
		}
		if got[k] != want[k] {
			t.Errorf("[%d,%d): %s is %d, the rows add up to %d", a, b, k, got[k], want[k])
		}
	}
	parts := got[xtf.ItemCPU]
	for _, k := range xtf.AsideItems {
		parts += got[k]
	}
	if got[xtf.ItemTime] != parts || got[xtf.ItemTime] != got[xtf.ItemMeasured]+got[xtf.ItemSetup] {
		t.Errorf("[%d,%d): parts of the time are not the time: %v", a, b, got)
	}
	compareFunctions(t, fmt.Sprintf("[%d,%d) exact", a, b), exact, total, true)
	compareFunctions(t, fmt.Sprintf("[%d,%d) bounded", a, b), bounded, total, false)
}

func compareFunctions(t *testing.T, what string, x *lookup.Statistics, want *spanSums, equal bool) {
	t.Helper()
	seen := map[uint32]bool{}
	for _, f := range x.Functions {
		seen[f.Region] = true
		if f.Region == trace.Undefined {
			continue // of several regions together
		}
		for name, y := range map[string]struct {
			l lookup.Limits
			v uint64
		}{"calls": {f.Calls, want.calls[f.Region]}, "exclusive": {f.Exclusive, want.own[f.Region]}, "inclusive": {f.Inclusive, want.covered[f.Region]}} {
			lower, upper := y.l.Lower, y.l.Upper
			if y.v < lower || y.v > upper || equal && lower != upper {
				t.Errorf("%s: %s of %s is %d, reported %d to %d", what, name, f.Name, y.v, lower, upper)
			}
		}
	}
	for r, v := range want.own {
		if v > 0 && !seen[r] {
			t.Errorf("%s: region %d with %d ticks is missing", what, r, v)
		}
	}
}

// TestIntervalsOfTime checks that a report about a span has the same sums, and
// one about all of the time those of the whole run.
func TestIntervalsOfTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(analysed(t, programs[0]), "run.xtf")
	run, err := results.Open(file, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	b, err := run.Brief()
	if err != nil {
		t.Fatal(err)
	}
	whole, _, err := report.NewIntervals(run, results.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := report.NewIntervals(run, results.IntervalOptions{Span: &results.Span{Begin: *b.First, End: *b.Last + 1}})
	if err != nil {
		t.Fatal(err)
	}
	x, y := whole.Nodes[0], all.Nodes[0]
	if x.Efficiency != y.Efficiency || x.POP.Parallel != y.POP.Parallel || x.Ticks.Execution != y.Ticks.Execution {
		t.Errorf("%+v\n%+v", x.Ticks, y.Ticks)
	}
	for _, k := range []struct{ a, b fmt.Stringer }{
		{x.Ticks.CPU, y.Ticks.CPU},
		{x.Ticks.MPI, y.Ticks.MPI},
		{x.Ticks.PotentialSync, y.Ticks.PotentialSync},
		{x.Ticks.SendRecv, y.Ticks.SendRecv},
		{x.Ticks.Variation, y.Ticks.Variation},
		{x.Waits.Total, y.Waits.Total},
		{x.Waits.Completion, y.Waits.Completion},
	} {
		if k.a.String() != k.b.String() {
			t.Errorf("whole run %s, all of the time %s", k.a, k.b)
		}
	}
	mid := (*b.First + *b.Last) / 2
	text := must(t, "query", file, "window", "--time", fmt.Sprintf("#%d..#%d", *b.First, mid))
	if text == "" {
		t.Error("no text")
	}
}

// TestSlicesAreWindows compares what the analysis stored for slices of time with
// what running totals tell of the same spans.
func TestSlicesAreWindows(t *testing.T) {
	t.Parallel()
	run, err := results.Open(sliced(t), xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	stored, _, err := report.NewIntervals(run, results.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for k, n := range stored.Nodes[1:] {
		span, err := results.IntervalSpan(run, fmt.Sprintf("#%d[0]", k+1))
		if err != nil {
			t.Fatal(err)
		}
		x, _, err := report.NewIntervals(run, results.IntervalOptions{Span: span})
		if err != nil {
			t.Fatal(err)
		}
		told := map[xtf.Item]results.Spread{}
		for _, s := range x.Nodes[0].Stats {
			told[s.Item] = s
		}
		for _, want := range n.Stats {
			got, ok := told[want.Item]
			if !ok && (want.Item >= xtf.ItemOverlap || want.Item == xtf.ItemWaitCount || want.Item == xtf.ItemExecutions) {
				continue // has no running total
			}
			compared++
			if want.Item != xtf.ItemExecutions && (!ok || got.Sum != want.Sum || got.Min != want.Min || got.Max != want.Max || got.MaxP != want.MaxP) {
				t.Errorf("slice %d: %s is %+v, running totals tell %+v", k, want.Item, want, got)
			}
		}
	}
	if compared < 30 {
		t.Errorf("%d values were compared", compared)
	}
}

// mpiInside is a program whose I/O makes MPI calls, one of them on a file: of the 40 ticks in save on each process, 12 and 15 are MPI time.
const mpiInside = `
-- definitions --
STRING self=0 string="save"
REGION self=0 name=0 description=0 region_type=0 source_file=0 begin_line_number=0 end_line_number=0 canonical_name=0 region_role=27 paradigm=1 region_flags=0
IO_HANDLE self=0 name=0 file=4294967295 io_paradigm=1 comm=0 parent=4294967295
-- program --
processes 2
-- events --
0 0 ENTER main
0 10 ENTER save
0 15 ENTER MPI_Barrier
0 15 MPI_COLLECTIVE_BEGIN
0 27 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 27 LEAVE MPI_Barrier
0 50 LEAVE save
0 60 LEAVE main
1 0 ENTER main
1 10 ENTER save
1 12 ENTER MPI_Barrier
1 12 MPI_COLLECTIVE_BEGIN
1 27 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 27 LEAVE MPI_Barrier
1 50 LEAVE save
1 60 LEAVE main
`

// TestWholeWindow wants of all of the time what the summary has.
func TestWholeWindow(t *testing.T) {
	t.Parallel()
	runs := map[string]string{"MPI inside of I/O": foundTrace(t, mpiInside)}
	for seed := range uint64(6) {
		text, err := tracetest.RandomScript(seed).Text()
		if err != nil {
			t.Fatal(err)
		}
		runs[fmt.Sprint("random ", seed)] = foundTrace(t, text)
	}
	for name, run := range runs {
		summary := jsonOf[struct {
			Summary struct {
				Stats map[string]struct{ Sum int64 }
			}
		}](t, "report", run).Summary.Stats
		window := jsonOf[struct {
			Query struct {
				Answer struct {
					Items map[string]struct{ Sum int64 }
				}
			}
		}](t, "query", run, "window", "--exact", "--time", "#0..#18446744073709551614").Query.Answer.Items
		compared := 0
		for item, x := range window {
			want, ok := summary[item]
			if !ok || item == "first_event" || item == "last_event" {
				continue
			}
			if compared++; x.Sum != want.Sum {
				t.Errorf("%s: %s of all of the time is %d, the summary has %d", name, item, x.Sum, want.Sum)
			}
		}
		if compared < 10 {
			t.Errorf("%s: %d items are compared", name, compared)
		}
	}
}

// TestOverheadOfSpan: the measurement is off from 10 to 40. All of the time has no such overhead in its CPU time, and a span, which does not
// know when it was, says so.
func TestOverheadOfSpan(t *testing.T) {
	t.Parallel()
	run := foundTrace(t, `
-- program --
processes 1
resolution 1000
-- events --
0 0 ENTER main
0 10 MEASUREMENT_ON_OFF 2
0 40 MEASUREMENT_ON_OFF 1
0 50 LEAVE main
`)
	for _, args := range [][]string{{"report", run, "intervals"}, {"report", run, "pop"}, {"query", run, "window"}} {
		text := must(t, append(args, "--time", "0%..100%")...)
		if !strings.Contains(text, "CPU time has measurement overhead as well, flushes and while the measurement was off: of the whole run 0.030000 s") {
			t.Errorf("%s does not tell of the overhead:\n%s", args[2], text)
		}
	}
	if text := must(t, "report", run, "intervals"); strings.Contains(text, "as well") {
		t.Error(text)
	}
}

package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// lateRun is two processes: process 1 waits 40 ticks for messages of process 0,
// which computes too long in the first region, and 10 in another pattern.
func lateRun(t testing.TB) (*results.Run, [2]uint32) {
	t.Helper()
	a, b := process(100, 90, 10, 0), process(100, 45, 55, 0)
	b[xtf.ItemLateSender], b[xtf.ItemLateSenderOther], b[xtf.ItemWaitNxN], b[xtf.ItemNxNCompletion], b[xtf.ItemWaitCount] = 40, 15, 10, 3, 4
	a[xtf.ItemEvents], b[xtf.ItemEvents] = 2, 2
	a[xtf.ItemNxNCompletion] = 7
	w := &written{nodes: []writtenNode{rootNode(a, b)}, rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	var region [2]uint32
	w.rows[1] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		put(array(xtf.TypeWait), &xtf.Wait{T: 10, End: 35, CauseP: 0, Pattern: xtf.WaitLateSender, Path: 2})
		put(array(xtf.TypeWait), &xtf.Wait{T: 40, End: 55, CauseP: 0, Pattern: xtf.WaitLateSender | xtf.WaitOrderDifferent, Path: 2})
		put(array(xtf.TypeWait), &xtf.Wait{T: 60, End: 70, CauseP: 0, Pattern: xtf.WaitNxN, Path: 2})
		put(array(xtf.TypeWaitSum), &xtf.WaitSum{Key: xtf.NodeKey(0, 2), Pattern: xtf.WaitLateSender, Count: 1, Ticks: 25})
	}
	w.rows[0] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		put(array(xtf.TypeDelay), &xtf.Delay{Key: xtf.NodeKey(0, 1), Pattern: xtf.WaitLateSender, Activity: xtf.ActivityCPU, Short: 30, Long: 5})
		put(array(xtf.TypeCPath), &xtf.CPath{T: 0, End: 100, Activity: xtf.ActivityCPU, Path: 1})
	}
	w.rows[xtf.WholeRun] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		put(array(xtf.TypePath), &xtf.Path{Region: trace.Undefined})
		put(array(xtf.TypePath), &xtf.Path{Key: 1, Region: region[0], Level: 1})
		put(array(xtf.TypePath), &xtf.Path{Key: 2, Parent: 1, Region: region[1], Level: 2})
		put(array(xtf.TypeWaitTotal), &xtf.WaitTotal{Key: xtf.NodeKey(0, 2), Pattern: xtf.WaitLateSender, WorstP: 1, Count: 1, Ticks: 25, Worst: 25})
		put(array(xtf.TypeWaitTotal), &xtf.WaitTotal{Key: xtf.NodeKey(0, 2), Pattern: xtf.WaitLateSender | xtf.WaitOrderDifferent, WorstP: 1, Count: 1, Ticks: 15, Worst: 15})
		put(array(xtf.TypeWaitTotal), &xtf.WaitTotal{Key: xtf.NodeKey(0, 2), Pattern: xtf.WaitNxN, WorstP: 1, Count: 1, Ticks: 10, Worst: 10})
		put(array(xtf.TypeWaitTotal), &xtf.WaitTotal{Key: xtf.NodeKey(0, 2), Pattern: xtf.WaitNxNCompletion, Count: 1, Ticks: 3, Worst: 3})
		put(array(xtf.TypeDelayTotal), &xtf.DelayTotal{Key: xtf.NodeKey(0, 1), Pattern: xtf.WaitLateSender, Activity: xtf.ActivityCPU, Short: 40, Long: 5, Worst: 45})
		put(array(xtf.TypeDelayTotal), &xtf.DelayTotal{Key: xtf.NodeKey(0, 2), Pattern: xtf.WaitNxN, Activity: xtf.ActivityMPI, Short: 10, Worst: 10})
		put(array(xtf.TypePathTotal), &xtf.PathTotal{Key: xtf.NodeKey(0, 1), Activity: xtf.ActivityCPU, Ticks: 90, Worst: 90})
		put(array(xtf.TypePathTotal), &xtf.PathTotal{Key: xtf.NodeKey(0, 2), Activity: xtf.ActivityMPI, Ticks: 10, Worst: 10})
		put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(20, 0), Region: region[0], Count: 2, Inclusive: 200, Exclusive: 135})
		put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(20, 0), Region: region[1], Class: xtf.ClassMPI | xtf.ClassP2P, Count: 2, Inclusive: 65, Exclusive: 65})
	}
	first := (&written{nodes: w.nodes}).write(t, 2) // for its definitions
	region = [2]uint32{first.Defs.Regions[0].Ref, first.Defs.Regions[1].Ref}
	return w.write(t, 2), region
}

func TestWaits(t *testing.T) {
	t.Parallel()
	r, region := lateRun(t)
	x, lost, err := NewWaits(r, results.Ranks{}, nil)
	if err != nil || len(lost) > 0 {
		t.Fatal(err, lost)
	}
	if x.Total != 50 || x.Completion != 10 || x.Share.Value != 0.25 {
		t.Errorf("total %s, completion %s, share %v", x.Total, x.Completion, x.Share)
	}
	var names []string
	for _, p := range x.Patterns {
		names = append(names, p.Pattern)
	}
	if diff := cmp.Diff([]string{"late_sender", "late_sender_wrong_order_different", "wait_nxn", "nxn_completion"}, names); diff != "" {
		t.Error(diff)
	}
	if p := x.Patterns[0]; p.Count != 2 || p.Rank != 1 || p.Worst != 40 {
		t.Errorf("%+v", p)
	}
	names = []string{r.RegionName(region[0]), r.RegionName(region[1])}
	if p := x.Paths[0]; p.Ticks != 25 || cmp.Diff(names, p.Path) != "" || p.Share.Value != 0.5 {
		t.Errorf("%+v", p)
	}
	if all := x.Paths[0].Share.Value + x.Paths[1].Share.Value + x.Paths[2].Share.Value; len(x.Paths) != 4 || all != 1 || x.Paths[3].Share.Defined {
		t.Errorf("shares of waits for partners are %v, of a completion %v", all, x.Paths[len(x.Paths)-1].Share)
	}
	if c := x.Causes[0]; c.Short != 40 || c.Long != 5 || c.Rank != 0 || c.Activity != "cpu" || math.Abs(c.Share.Value-45.0/55) > 1e-15 {
		t.Errorf("%+v", c)
	}
	// CPU: 90 on the path, 135 of both processes: 22.5 above the mean; MPI: 10 on the path, 65-50 of both: 2.5 above
	for i, want := range []struct {
		name          string
		ticks, impact int64
		imbalance     string
		mean          string
	}{{"CPU", 90, 45, "22.5", "67.5"}, {"MPI", 10, 5, "2.5", "7.5"}} {
		a := x.Critical.Activities[i]
		if a.Name != want.name || int64(a.Ticks) != want.ticks || int64(a.Impact) != want.impact || a.Imbalance.Fixed(1) != want.imbalance || a.Mean.Fixed(1) != want.mean {
			t.Errorf("%+v, want %+v", a, want)
		}
	}
	if g := x.Critical.Regions[0]; g.Ticks != 90 || g.Impact != 45 || g.Name != names[0] {
		t.Errorf("%+v", g)
	}
	text := sectionText(t, r, Options{Sections: []Section{SectionWaits}})
	for _, want := range []string{
		"waits of all processes: 0.000050 s, 25.0 % of the processes' time\n",
		"  of it wrong_order_different      1  0.000015",
		"> CPU time in " + names[0] + ", most on rank 0: 81.8 % of all waiting",
		": 81.8 % of all waiting\n",
		"critical path: 0.000100 s\n",
		"rank 0      0.000000        0.0 %\n", // a completion is not a wait
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if b, err := json.Marshal(x); err != nil || !strings.Contains(string(b), `{"rank":1,"total":50,"share":0.5,"late_sender":40,`) {
		t.Errorf("%v %s", err, b)
	}
}

// TestWaitsOfPart reports some processes from their own rows, and a span of time
// from the waits in it.
func TestWaitsOfPart(t *testing.T) {
	t.Parallel()
	r, _ := lateRun(t)
	one, _, err := NewWaits(r, mustRanks(t, r, "1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(one.Paths) != 1 || one.Paths[0].Ticks != 25 || one.Paths[0].Rank != 1 || len(one.Causes) != 0 || one.Critical != nil || len(one.Processes) != 1 {
		t.Errorf("%+v", one)
	}
	zero, _, err := NewWaits(r, mustRanks(t, r, "0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(zero.Causes) != 1 || zero.Causes[0].Short != 30 || zero.Causes[0].Worst != 35 || zero.Critical.Length != 100 || zero.Critical.Regions[0].Mean.Known() {
		t.Errorf("%+v", zero)
	}
	part, _, err := NewWaits(r, results.Ranks{}, &results.Span{Begin: 30, End: 65})
	if err != nil {
		t.Fatal(err)
	}
	ticks := map[string]int64{}
	for _, p := range part.Patterns {
		ticks[p.Pattern] = int64(p.Ticks)
	}
	if diff := cmp.Diff(map[string]int64{"late_sender": 20, "wait_nxn": 5}, ticks); diff != "" {
		t.Error(diff)
	}
	if len(part.Paths) != 3 || part.Paths[0].Ticks != 15 || part.Causes != nil || part.Critical.Length != 35 {
		t.Errorf("%+v", part)
	}
}

func TestWaitsCSV(t *testing.T) {
	t.Parallel()
	r, _ := lateRun(t)
	d, err := New(r, Options{Sections: []Section{SectionWaits}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, d, "csv", table.Style{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1+4+2+2 {
		t.Errorf("%d lines\n%s", n, b.String())
	}
}

// TestPOP checks the laws of the efficiencies, and the balance within and between
// hosts, on four processes of two hosts.
func TestPOP(t *testing.T) {
	var list []items
	for _, cpu := range []uint64{80, 60, 50, 30} {
		x := process(100, cpu, 100-cpu, 0)
		x[xtf.ItemEvents], x[xtf.ItemIdeal], x[xtf.ItemIdealLast] = 2, 90, 90
		list = append(list, x)
	}
	w := &written{nodes: []writtenNode{rootNode(list...)}}
	w.write(t, 4)
	for i := range w.defs.LocationGroups {
		w.defs.LocationGroups[i].Parent = uint32(i / 2)
	}
	r := w.write(t, 4)
	x, _, err := NewPOPs(r, results.Ranks{}, nil, results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	n := x.Nodes[0]
	near := func(name string, got numbers.Ratio, want float64) {
		if !got.Defined || math.Abs(got.Value-want) > 1e-12 {
			t.Errorf("%s is %+v, want %v", name, got, want)
		}
	}
	near("load balance", n.LoadBalance, 55.0/80)
	near("communication", n.Communication, 0.8)
	near("serialisation", n.Serialisation, 80.0/90)
	near("transfer", n.Transfer, 0.9)
	near("parallel", n.Parallel, n.LoadBalance.Value*n.Serialisation.Value*n.Transfer.Value)
	near("parallel, additive", n.Parallel, n.Additive.LoadBalance.Value+n.Additive.Serialisation.Value+n.Additive.Transfer.Value-2)
	near("additive balance", n.Additive.LoadBalance, 1-25.0/100)
	near("additive serialisation", n.Additive.Serialisation, 0.9)
	if x.Hosts != 2 {
		t.Fatalf("%d hosts", x.Hosts)
	}
	near("within", n.Inside, 70.0/80)
	near("between", n.Between, 55.0/70)
	near("both", n.LoadBalance, n.Inside.Value*n.Between.Value)
	text := sectionText(t, r, Options{Sections: []Section{SectionPOP}})
	if strings.Contains(text, "approx") || !strings.Contains(text, "2 hosts; within x between = load balance") {
		t.Error(text)
	}
}

// TestThreads checks the efficiencies of threads against the definition.
func TestThreads(t *testing.T) {
	t.Parallel()
	x := process(100, 80, 20, 0)
	x[xtf.ItemEvents], x[xtf.ItemThreadTime], x[xtf.ItemThreadSerial], x[xtf.ItemThreadImbalance], x[xtf.ItemThreadScheduling] = 2, 400, 100, 60, 24
	r := (&written{nodes: []writtenNode{rootNode(x)}}).write(t, 1)
	p, _, err := NewPOPs(r, results.Ranks{}, nil, results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&results.ThreadPOP{OpenMP: numbers.Ratio{Value: 0.54, Defined: true}, Serial: numbers.Ratio{Value: 0.75, Defined: true}, Balance: numbers.Ratio{Value: 0.8, Defined: true}, Scheduling: numbers.Ratio{Value: 0.9, Defined: true}}, p.Nodes[0].Threads); diff != "" {
		t.Error(diff)
	}
	if text := sectionText(t, r, Options{Sections: []Section{SectionPOP}}); !strings.Contains(text, "whole program   0.540   0.750    0.800       0.900\n") {
		t.Error(text)
	}
}

// TestSerialOff: what other threads do while the first one is not measured is not said to be idle time.
func TestSerialOff(t *testing.T) {
	t.Parallel()
	for off, want := range map[uint64]string{0: "> other threads idle outside of parallel regions: up to 0.000000 s of the run (35.0 %)", 70: "> nothing above 1 % of the run is known; what the program does while the measurement is off is not"} {
		x := process(100, 100-off, 0, 0)
		x[xtf.ItemEvents], x[xtf.ItemThreadTime], x[xtf.ItemThreadSerial], x[xtf.ItemOverhead] = 2, 200, 70, off
		src, err := synthetic.New(synthetic.Options{Processes: 1, Threads: 2, Iterations: 1})
		if err != nil {
			t.Fatal(err)
		}
		w := &written{defs: src.Definitions(), nodes: []writtenNode{rootNode(x)}}
		if off > 0 {
			row := func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
				put(array(xtf.TypeDiag), &xtf.Diag{Code: uint32(trace.DiagOff), Count: 1, Worst: off, Event: 1})
			}
			w.rows = map[xtf.Proc]func(array func(xtf.TypeID) *xtf.ArrayBuilder){0: row, xtf.WholeRun: row}
		}
		if text := sectionText(t, w.write(t, w.defs.NumLocations()), Options{Sections: []Section{SectionSummary}}); !strings.Contains(text, want) {
			t.Errorf("off %d: no %q in\n%s", off, want, text)
		}
	}
}

// TestApproximate checks the estimate of the ideal runtime where there is no
// replay.
func TestApproximate(t *testing.T) {
	t.Parallel()
	x, _, err := NewPOPs(lateRunOnly(t), results.Ranks{}, nil, results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	// process 0: 100-10 = 90, process 1: 100-(55-50) = 95
	if n := x.Nodes[0]; !n.Approximate || n.Ideal != 95 || n.Transfer.Value != 0.95 {
		t.Errorf("%+v", n.POP)
	}
}

func lateRunOnly(t *testing.T) *results.Run { r, _ := lateRun(t); return r }

// TestWorstPattern: completions and parts of other patterns are not the worst wait, however long they are.
func TestWorstPattern(t *testing.T) {
	t.Parallel()
	sums := map[xtf.Item]int64{xtf.ItemNxNCompletion: 90, xtf.ItemBarrierCompletion: 80, xtf.ItemLateSenderSame: 70, xtf.ItemLateSender: 20, xtf.ItemWaitNxN: 30}
	var stats results.Spreads
	for i := range xtf.NumItems {
		stats = append(stats, results.Spread{Item: i, Sum: numbers.Sum(sums[i])})
	}
	if w := results.WorstPattern(stats); w == nil || w.Item != xtf.ItemWaitNxN {
		t.Errorf("the worst is %+v", w)
	}
	if w := results.WorstPattern(nil); w != nil {
		t.Errorf("without waits the worst is %+v", w)
	}
}

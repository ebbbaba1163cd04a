package oracle_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// parse makes a trace of a table of calls.
func parse(tb testing.TB, table string) trace.Source {
	tb.Helper()
	src, err := tracetest.ParseCalls(table)
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

func analyze(tb testing.TB, src trace.Source, o oracle.Options) *oracle.Result {
	tb.Helper()
	r, err := oracle.Analyze(src, o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// table is what is expected of a node: items by process, and characteristics. In a whole table the items that were worked out and are not
// listed are 0.
type table struct {
	items  map[oracle.Item][]uint64
	scalar map[string]string
	whole  bool
}

// workedOut are the items that the golden traces have numbers for.
var workedOut = []oracle.Item{
	oracle.NxNTime, oracle.BarrierTime, oracle.BarrierDone, oracle.CollTime, oracle.CPUTime, oracle.EarlyReduce, oracle.LateBroadcast,
	oracle.LateReceiver, oracle.LateSender, oracle.MarkerTime, oracle.MPITime, oracle.NxNDone, oracle.P2PTime, oracle.PotentialSync,
	oracle.SendRecv, oracle.StartTime, oracle.Time, oracle.Variation, oracle.WaitBarrier, oracle.WaitNxN,
}

func (w table) check(t *testing.T, r *oracle.Result, node int, rules oracle.Rules) {
	t.Helper()
	for _, item := range workedOut {
		if _, listed := w.items[item]; w.whole && !listed {
			w.items[item] = make([]uint64, len(r.Processes))
		}
	}
	for item, values := range w.items {
		for p, v := range values {
			if got := r.Processes[p].Components[node][item]; got != v {
				t.Errorf("node %d, process %d: %s = %d, want %d", node, p, item, got, v)
			}
		}
	}
	got := scalars(r.Characteristics(node, rules))
	for name, v := range w.scalar {
		if got[name] != v {
			t.Errorf("node %d: %s = %s, want %s", node, name, got[name], v)
		}
	}
}

// scalars are the characteristics as text, ratios with six decimals.
func scalars(c oracle.Characteristics) map[string]string {
	m := map[string]string{
		"processors": fmt.Sprint(c.Processors), "execution": fmt.Sprint(c.Execution), "sum of max": fmt.Sprint(c.SumOfMax),
		"idle": fmt.Sprint(c.Idle), "imbalance": fmt.Sprint(c.Imbalance), "runtime": fmt.Sprint(c.Runtime),
	}
	for name, v := range map[string]*big.Rat{
		"total": c.Total, "productive": c.Productive, "lost": c.Lost, "lost mpi": c.LostMPI,
	} {
		m[name] = strings.TrimRight(strings.TrimRight(v.FloatString(6), "0"), ".")
	}
	for name, v := range map[string]*big.Rat{
		"efficiency": c.Efficiency, "LB": c.LoadBalance, "CommE": c.Communication, "PE": c.Parallel, "SerE": c.Serialisation, "TE": c.Transfer,
	} {
		if v == nil {
			m[name] = "n/a"
		} else {
			m[name] = v.FloatString(6)
		}
	}
	return m
}

func TestG1(t *testing.T) {
	r := analyze(t, parse(t, tracetest.GoldenG1), oracle.Options{})
	table{map[oracle.Item][]uint64{
		oracle.Time: {100, 90}, oracle.MPITime: {42, 39}, oracle.P2PTime: {42, 39}, oracle.CommTime: {42, 39}, oracle.CPUTime: {58, 51},
		oracle.SendRecv: {0, 49}, oracle.PotentialSync: {0, 10}, oracle.LateSender: {0, 10}, oracle.LateReceiver: {20, 0},
		oracle.IdealLast:   {74, 61},
		oracle.CriticalCPU: {48, 26}, oracle.CriticalMPI: {12, 14},
	}, map[string]string{
		"execution": "100", "total": "200", "productive": "149.5", "lost": "50.5", "idle": "10", "imbalance": "7", "efficiency": "0.747500",
		"LB": "0.939655", "CommE": "0.580000", "PE": "0.545000", "SerE": "0.783784", "TE": "0.740000",
	}, true}.check(t, r, 0, oracle.Rules{})
	comparePieces(t, r, [][]string{{"0-20 CPU", "60-72 MPI", "72-100 CPU"}, {"20-34 MPI", "34-60 CPU"}})
	compareDelays(t, r, map[string]oracle.Cost{"0 CPU late_sender": {Short: 10}, "1 CPU late_receiver": {Short: 16}, "1 MPI late_receiver": {Short: 4}})
}

var activityNames = []string{"CPU", "MPI", "IO", "Marker"}

func comparePieces(t *testing.T, r *oracle.Result, want [][]string) {
	t.Helper()
	got := make([][]string, len(r.Locations))
	for i, l := range r.Locations {
		for _, c := range l.Critical {
			s := fmt.Sprintf("%d-%d %s", c.From, c.To, activityNames[c.Activity])
			got[i] = append(got[i], s)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("critical path (-want +got):\n%s", d)
	}
}

// compareDelays compares costs by location, activity and pattern, over all paths.
func compareDelays(t *testing.T, r *oracle.Result, want map[string]oracle.Cost) {
	t.Helper()
	got := map[string]oracle.Cost{}
	for k, c := range r.Delays {
		name := fmt.Sprintf("%d %s %s", k.P, activityNames[k.Activity], k.Pattern)
		x := got[name]
		got[name] = oracle.Cost{Short: x.Short + c.Short, Long: x.Long + c.Long}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("delay costs (-want +got):\n%s", d)
	}
}

func compareExecutions(t *testing.T, r *oracle.Result, node int, want [][]string) {
	t.Helper()
	got := make([][]string, len(r.Processes))
	for p := range r.Processes {
		for _, e := range r.Processes[p].Executions[node] {
			got[p] = append(got[p], fmt.Sprintf("%d-%d", e.From, e.To))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("executions of node %d (-want +got):\n%s", node, d)
	}
}

func TestG2(t *testing.T) {
	r := analyze(t, parse(t, tracetest.GoldenG2), oracle.Options{})
	table{map[oracle.Item][]uint64{
		oracle.Time: {100, 100, 100, 96}, oracle.MPITime: {17, 40, 33, 35}, oracle.CollTime: {17, 40, 33, 35}, oracle.NxNTime: {10, 19, 14, 7},
		oracle.BarrierTime: {3, 10, 1, 13}, oracle.CPUTime: {83, 60, 67, 61}, oracle.PotentialSync: {10, 34, 20, 20},
		oracle.Variation: {10, 11, 4, 2}, oracle.LateBroadcast: {0, 4, 0, 6}, oracle.WaitNxN: {4, 14, 8, 0}, oracle.NxNDone: {1, 0, 1, 2},
		oracle.EarlyReduce: {0, 0, 6, 0}, oracle.WaitBarrier: {2, 8, 0, 12}, oracle.BarrierDone: {0, 1, 0, 0},
		oracle.IdealLast: {83, 82, 83, 79}, oracle.Collectives: {4, 4, 4, 4},
		oracle.CriticalCPU: {17, 0, 17, 48}, oracle.CriticalMPI: {1, 0, 3, 14},
	}, map[string]string{
		"execution": "100", "total": "400", "idle": "4", "productive": "302.25", "lost": "97.75", "efficiency": "0.755625", "imbalance": "61",
		"LB": "0.816265", "CommE": "0.830000", "PE": "0.677500", "SerE": "1.000000", "TE": "0.830000",
	}, true}.check(t, r, 0, oracle.Rules{})
	comparePieces(t, r, [][]string{
		{"0-10 CPU", "92-93 MPI", "93-100 CPU"},
		nil,
		{"72-75 MPI", "75-92 CPU"},
		{"10-17 MPI", "17-44 CPU", "44-51 MPI", "51-72 CPU"},
	})
}

func TestG3(t *testing.T) {
	r := analyze(t, parse(t, tracetest.GoldenG3), oracle.Options{})
	if len(r.Nodes) != 3 || r.Nodes[1].Key.ID != 1 || r.Nodes[2].Key.ID != 2 || r.Nodes[2].Parent != 1 || r.Nodes[2].Level != 2 {
		t.Fatalf("nodes %+v", r.Nodes)
	}
	table{map[oracle.Item][]uint64{
		oracle.Executions: {1, 1}, oracle.Time: {100, 98}, oracle.CPUTime: {70, 81}, oracle.MPITime: {22, 9}, oracle.MarkerTime: {8, 8},
		oracle.StartTime: {3, 0}, oracle.SendRecv: {12, 0}, oracle.PotentialSync: {6, 0}, oracle.LateSender: {4, 0},
		oracle.Variation: {1, 0}, oracle.CollTime: {5, 4}, oracle.NxNTime: {5, 4}, oracle.P2PTime: {17, 5}, oracle.WaitNxN: {2, 0}, oracle.NxNDone: {0, 1}, oracle.Overlap: {10, 0},
		oracle.IdealLast:   {92, 89},
		oracle.CriticalCPU: {5, 79}, oracle.CriticalMPI: {3, 5}, oracle.CriticalMarker: {0, 8},
	}, map[string]string{
		"execution": "100", "total": "200", "idle": "2", "productive": "166.5", "lost": "33.5", "lost mpi": "15.5", "efficiency": "0.832500",
		"imbalance": "11", "LB": "0.932099", "CommE": "0.810000", "PE": "0.755000", "SerE": "0.880435", "TE": "0.920000",
	}, true}.check(t, r, 0, oracle.Rules{})
	table{map[oracle.Item][]uint64{
		oracle.Executions: {1, 1}, oracle.Time: {55, 53}, oracle.CPUTime: {32, 42}, oracle.MPITime: {17, 5}, oracle.MarkerTime: {6, 6},
		oracle.StartTime: {3, 0}, oracle.SendRecv: {12, 0}, oracle.PotentialSync: {4, 0}, oracle.LateSender: {4, 0}, oracle.P2PTime: {17, 5},
	}, map[string]string{
		"execution": "55", "total": "110", "idle": "2", "productive": "85", "lost": "25", "lost mpi": "11", "efficiency": "0.772727",
		"imbalance": "10", "LB": "0.880952", "CommE": "0.763636", "PE": "0.672727",
	}, true}.check(t, r, 1, oracle.Rules{})
	table{map[oracle.Item][]uint64{
		oracle.Executions: {3, 3}, oracle.Time: {36, 44}, oracle.CPUTime: {26, 39}, oracle.MPITime: {10, 5}, oracle.MarkerTime: {0, 0},
		oracle.StartTime: {3, 0}, oracle.SendRecv: {7, 0}, oracle.PotentialSync: {2, 0}, oracle.LateSender: {2, 0}, oracle.P2PTime: {10, 5},
	}, map[string]string{
		"execution": "44", "total": "88", "idle": "8", "productive": "72.5", "lost": "15.5", "lost mpi": "7.5", "efficiency": "0.823864",
		"imbalance": "13", "LB": "0.833333", "CommE": "0.886364", "PE": "0.738636", "sum of max": "45",
	}, true}.check(t, r, 2, oracle.Rules{})
	compareExecutions(t, r, 1, [][]string{{"5-60"}, {"6-59"}})
	compareExecutions(t, r, 2, [][]string{{"10-26", "28-39", "41-50"}, {"9-24", "26-37", "39-57"}})
	comparePieces(t, r, [][]string{
		{"92-95 MPI", "95-100 CPU"},
		{
			"0-5 CPU", "5-6 Marker", "6-8 CPU", "8-9 Marker", "9-22 CPU", "22-24 MPI", "24-26 Marker", "26-36 CPU", "36-37 MPI",
			"37-39 Marker", "39-55 CPU", "55-57 MPI", "57-58 Marker", "58-59 CPU", "59-60 Marker", "60-92 CPU",
		},
	})
}

// TestG3Options takes the golden trace with other definitions.
func TestG3Options(t *testing.T) {
	r := analyze(t, parse(t, tracetest.GoldenG3), oracle.Options{MarkerAsMPI: true})
	table{map[oracle.Item][]uint64{oracle.MPITime: {30, 17}, oracle.MarkerTime: {0, 0}}, map[string]string{
		"productive": "174.5", "efficiency": "0.872500",
	}, false}.check(t, r, 0, oracle.Rules{})
	if got := r.Characteristics(0, oracle.Rules{}).Sum[oracle.SendRecv]; got != 28 {
		t.Errorf("SendRecv %d with markers as MPI calls, want 28", got)
	}
	table{map[oracle.Item][]uint64{oracle.CPUTime: {26, 39}, oracle.MPITime: {10, 5}, oracle.SendRecv: {7, 0}}, map[string]string{
		"productive": "72.5", "lost": "15.5", "efficiency": "0.823864",
	}, false}.check(t, r, 2, oracle.Rules{})
	r = analyze(t, parse(t, tracetest.GoldenG3), oracle.Options{PostedPoint: true})
	table{items: map[oracle.Item][]uint64{oracle.PotentialSync: {6 + 2 + 8 + 2, 0}}}.check(t, r, 0, oracle.Rules{})
}

func TestG3Slices(t *testing.T) {
	for _, c := range []struct {
		from, to uint64
		items    map[oracle.Item][]uint64
		scalar   map[string]string
	}{
		{30, 50, map[oracle.Item][]uint64{
			oracle.CPUTime: {15, 17}, oracle.MPITime: {3, 1}, oracle.P2PTime: {3, 1}, oracle.MarkerTime: {2, 2}, oracle.Time: {20, 20},
			oracle.SendRecv: {3, 0}, oracle.StartTime: {2, 0},
		}, map[string]string{"total": "40", "productive": "34", "lost": "6", "imbalance": "2", "efficiency": "0.850000", "LB": "0.941176", "CommE": "0.850000", "PE": "0.800000"}},
		{22, 25, map[oracle.Item][]uint64{oracle.MPITime: {3, 2}, oracle.P2PTime: {3, 2}, oracle.MarkerTime: {0, 1}, oracle.Time: {3, 3}}, map[string]string{
			"total": "6", "productive": "2.5", "lost": "3.5", "efficiency": "0.416667", "LB": "n/a", "CommE": "0.000000", "PE": "0.000000",
		}},
		{21, 23, map[oracle.Item][]uint64{
			oracle.CPUTime: {0, 1}, oracle.MPITime: {2, 1}, oracle.P2PTime: {2, 1}, oracle.Time: {2, 2}, oracle.LateSender: {1, 0},
		}, map[string]string{"total": "4", "productive": "2.5", "lost": "1.5", "imbalance": "1", "efficiency": "0.625000", "LB": "0.500000", "CommE": "0.500000", "PE": "0.250000"}},
	} {
		o := oracle.Options{Slices: []oracle.Slice{{Key: oracle.Key{ID: 9}, Begin: c.from, End: c.to}}}
		r := analyze(t, parse(t, tracetest.GoldenG3), o)
		node := slices.IndexFunc(r.Nodes, func(n oracle.Node) bool { return n.Derived })
		table{c.items, c.scalar, true}.check(t, r, node, oracle.Rules{})
	}
}

func TestG4(t *testing.T) {
	r := analyze(t, parse(t, tracetest.GoldenG4), oracle.Options{})
	want := []oracle.Problem{{Code: oracle.Unclosed, P: 0, Time: 50, ID: 7}, {Code: oracle.EndWithoutBegin, P: 1, Time: 20, ID: 7}}
	if d := cmp.Diff(want, r.Problems); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	table{map[oracle.Item][]uint64{oracle.Executions: {1, 1, 0}, oracle.Time: {40, 10, 0}, oracle.CPUTime: {40, 10, 0}}, map[string]string{
		"processors": "2", "execution": "40", "total": "80", "productive": "50", "lost": "30", "idle": "30", "imbalance": "30", "efficiency": "0.625000",
		"LB": "0.625000", "CommE": "1.000000", "PE": "0.625000",
	}, true}.check(t, r, 1, oracle.Rules{})
	table{map[oracle.Item][]uint64{oracle.Executions: {1, 1, 0}, oracle.Time: {40, 10, 0}, oracle.CPUTime: {40, 10, 0}}, map[string]string{
		"processors": "3", "execution": "40", "total": "120", "productive": "50", "lost": "70", "idle": "70", "imbalance": "70", "efficiency": "0.416667",
		"LB": "0.416667", "CommE": "1.000000", "PE": "0.416667",
	}, true}.check(t, r, 1, oracle.Rules{All: true})
	compareExecutions(t, r, 1, [][]string{{"10-50"}, {"30-40"}, nil})
}

func TestCrossed(t *testing.T) {
	r := analyze(t, parse(t, "run 0 0 9\n0 1 1 Level 11\n0 2 2 Level 12\n0 5 5 Level -11\n0 6 6 Level -12\n"), oracle.Options{})
	if len(r.Problems) != 2 || r.Problems[0].Code != oracle.Crossed || r.Problems[1].Code != oracle.EndWithoutBegin {
		t.Errorf("problems %+v", r.Problems)
	}
	want := []oracle.Execution{{Node: 0, From: 0, To: 9}, {Node: 1, From: 1, To: 5}, {Node: 2, From: 2, To: 5, Flags: 2}}
	if d := cmp.Diff(want, r.Locations[0].Executions); d != "" {
		t.Errorf("executions (-want +got):\n%s", d)
	}
}

// TestSeedExample is the worked example of the first analyzer: every rule but
// none gives the same, because all processes have the same MPI time.
func TestSeedExample(t *testing.T) {
	var list []oracle.Member
	for _, total := range []uint64{2079975, 2079103, 2079103, 2079103} {
		list = append(list, oracle.Member{Components: oracle.Components{oracle.Time: total, oracle.MPITime: 57830, oracle.CPUTime: total - 57830}})
	}
	for _, rule := range []oracle.Rule{oracle.Mean, oracle.Min, oracle.Max, oracle.Rank0} {
		c := oracle.Characterize(list, rule)
		got := []string{
			c.Efficiency.FloatString(6), fmt.Sprint(c.Execution), fmt.Sprint(c.Processors), c.Total.FloatString(0), c.Productive.FloatString(0),
			c.Lost.FloatString(0), c.LostMPI.FloatString(0), fmt.Sprint(c.Idle),
		}
		want := []string{"0.978833", "2079975", "4", "8319900", "8143794", "176106", "173490", "2616"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("rule %d (-want +got):\n%s", rule, d)
		}
	}
}

// TestG5 decodes markers of process 0, one at a time.
func TestG5(t *testing.T) {
	self := func(at int, tag uint32) string {
		return fmt.Sprintf("0 %d ENTER MPI_Sendrecv\n0 %d MPI_SEND 0 MPI_COMM_WORLD %d 0\n0 %d MPI_RECV 0 MPI_COMM_WORLD %d 0\n0 %d LEAVE MPI_Sendrecv\n", at, at, tag, at+1, tag, at+1)
	}
	selfOn := func(comm string, at int, tag uint32) string {
		return strings.ReplaceAll(self(at, tag), "MPI_COMM_WORLD", comm)
	}
	level := func(at, level int) string {
		return fmt.Sprintf("0 %d ENTER MPI_Pcontrol\n0 %d PARAMETER_INT64 0 %d\n0 %d LEAVE MPI_Pcontrol\n", at, at, level, at)
	}
	name := func(at, level int, s string) string {
		return fmt.Sprintf("0 %d ENTER MPI_Pcontrol\n0 %d PARAMETER_INT64 0 %d\n0 %d PARAMETER_STRING 1 %q\n0 %d LEAVE MPI_Pcontrol\n", at, at, level, at, s, at)
	}
	for _, c := range []struct {
		name     string
		events   string
		nodes    []oracle.Key
		problems []string
	}{
		{"raw begin", self(10, 0xAA0001AA), []oracle.Key{{ID: 1, Form: oracle.FormRaw}}, []string{oracle.Unclosed}},
		{"raw end, largest id", self(10, 0xAAFFFFBB), nil, []string{oracle.EndWithoutBegin}},
		{"raw to another process", "0 10 ENTER MPI_Send\n0 10 MPI_SEND 1 MPI_COMM_WORLD 2852127146 0\n0 11 LEAVE MPI_Send\n", nil, nil},
		{"wrong last byte", self(10, 0xAA0001AC), nil, nil},
		{"wrong first byte", self(10, 0xAB0001AA), nil, nil},
		{"portable", self(10, 0x2AAA) + self(11, 300), []oracle.Key{{ID: 300, Form: oracle.FormPortable}}, []string{oracle.Unclosed}},
		{"portable pair", self(10, 0x2AAA) + self(11, 300) + self(20, 0x2ABB) + self(22, 300), []oracle.Key{{ID: 300, Form: oracle.FormPortable}}, nil},
		{"portable, something between", self(10, 0x2AAA) + "0 11 ENTER f\n0 11 LEAVE f\n" + self(12, 300), nil, []string{oracle.Dangling}},
		{"portable, nothing more", self(10, 0x2AAA), nil, []string{oracle.Dangling}},
		{"named communicator, end", selfOn("coppice.intervals", 10, 7), nil, []string{oracle.EndWithoutBegin}},
		{"named communicator", selfOn("coppice.intervals", 10, 6), []oracle.Key{{ID: 3, Form: oracle.FormComm}}, []string{oracle.Unclosed}},
		{"levels", level(10, 5) + level(11, -5), []oracle.Key{{ID: 5, Form: oracle.FormPcontrolNumber}}, nil},
		{"low levels", level(10, 0) + level(11, 1) + level(12, -4), nil, nil},
		{"names", name(10, 1, "solve") + name(11, -1, "solve"), []oracle.Key{{Name: "solve", Form: oracle.FormPcontrolName}}, nil},
		{"begun in one form, ended in another", self(10, 0xAA0005AA) + level(12, -5), []oracle.Key{{ID: 5, Form: oracle.FormRaw}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := tracetest.Parse("-- definitions --\nSTRING self=0 string=\"level\"\nSTRING self=1 string=\"name\"\n" +
				"PARAMETER self=0 name=0 parameter_type=1\nPARAMETER self=1 name=1 parameter_type=0\n" +
				"-- program --\nprocesses 2\ncomm coppice.intervals 0\n-- events --\n0 0 ENTER main\n" + c.events + "0 50 LEAVE main\n1 0 ENTER main\n1 50 LEAVE main\n")
			if err != nil {
				t.Fatal(err)
			}
			r := analyze(t, src, oracle.Options{})
			var nodes []oracle.Key
			for _, n := range r.Nodes[1:] {
				nodes = append(nodes, n.Key)
			}
			if d := cmp.Diff(c.nodes, nodes); d != "" {
				t.Errorf("nodes (-want +got):\n%s", d)
			}
			var problems []string
			for _, p := range r.Problems {
				problems = append(problems, p.Code)
			}
			if d := cmp.Diff(c.problems, problems); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// process makes the components of a process that starts at tick 0.
func process(total, cpu, mpi, marker uint64) items {
	return items{xtf.ItemTime: total, xtf.ItemLast: total, xtf.ItemCPU: cpu, xtf.ItemMPI: mpi, xtf.ItemMarker: marker, xtf.ItemP2P: mpi, xtf.ItemComm: mpi}
}

// TestSeedExample is the worked example of the DVM school's interval analyzer:
// microseconds, four processes.
func TestSeedExample(t *testing.T) {
	t.Parallel()
	r := build(t, []items{
		process(2079975, 2022145, 57830, 0), process(2079103, 2021273, 57830, 0),
		process(2079103, 2021273, 57830, 0), process(2079103, 2021273, 57830, 0),
	})
	s, err := r.Summary(results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	us := numbers.Units{Resolution: 1_000_000}
	for _, x := range []struct{ name, got, want string }{
		{"efficiency", s.Efficiency.Text(6), "0.978833"},
		{"execution", us.Ticks(s.Ticks.Execution), "2.079975"},
		{"processors", fmt.Sprint(s.Processors), "4"},
		{"total", us.Big(s.Ticks.Total), "8.319900"},
		{"productive", us.Fraction(s.Ticks.Productive), "8.143794"},
		{"lost", us.Fraction(s.Ticks.Lost), "0.176106"},
		{"MPI", us.Fraction(s.Ticks.MPILost), "0.173490"},
		{"idle", us.Big(s.Ticks.Idle), "0.002616"},
	} {
		if x.got != x.want {
			t.Errorf("%s is %s, the seed prints %s", x.name, x.got, x.want)
		}
	}
}

func TestCharacteristics(t *testing.T) {
	for _, x := range []struct {
		name                         string
		processes                    []items
		total, idle, lb              int64
		productive, lost, efficiency float64
		balance, comm, parallel      float64
	}{
		{"G1", []items{process(100, 58, 42, 0), process(90, 51, 39, 0)}, 200, 10, 7, 149.5, 50.5, 0.7475, 0.939655, 0.58, 0.545},
		{"G2", []items{process(100, 83, 17, 0), process(100, 60, 40, 0), process(100, 67, 33, 0), process(96, 61, 35, 0)}, 400, 4, 61, 302.25, 97.75, 0.755625, 0.816265, 0.83, 0.6775},
		{"marker is lost", []items{process(50, 30, 10, 10)}, 50, 0, 0, 40, 10, 0.8, 1, 0.6, 0.6},
		{"one process loses nothing", []items{process(50, 10, 40, 0)}, 50, 0, 0, 50, 0, 1, 1, 0.2, 0.2},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, err := build(t, x.processes).Summary(results.Rules{})
			if err != nil {
				t.Fatal(err)
			}
			if int64(s.Ticks.Total) != x.total || int64(s.Ticks.Idle) != x.idle || int64(s.Ticks.LoadImbalance) != x.lb {
				t.Errorf("total %d, idle %d, load imbalance %d; want %d, %d, %d", s.Ticks.Total, s.Ticks.Idle, s.Ticks.LoadImbalance, x.total, x.idle, x.lb)
			}
			for _, y := range []struct {
				name string
				got  numbers.Ratio
				want float64
			}{
				{"productive", numbers.Part(s.Ticks.Productive, 1), x.productive},
				{"lost", numbers.Part(s.Ticks.Lost, 1), x.lost},
				{"efficiency", s.Efficiency, x.efficiency},
				{"load balance", s.POP.LoadBalance, x.balance},
				{"communication", s.POP.Communication, x.comm},
				{"parallel", s.POP.Parallel, x.parallel},
			} {
				if !y.got.Defined || math.Abs(y.got.Value-y.want) > 5e-7 {
					t.Errorf("%s is %+v, want %v", y.name, y.got, y.want)
				}
			}
			if s.POP.Serialisation.Defined || s.POP.Transfer.Defined {
				t.Error("serialisation and transfer need a replay")
			}
		})
	}
}

// TestGoldenTraces takes the processes' components and the expected
// characteristics of the whole program from the golden file of the interval
// model, where it is there.
func TestGoldenTraces(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "shared", "specs", "intervals-golden.json"))
	if err != nil {
		t.Skip("no golden file of the interval model next to the repository")
	}
	var golden struct {
		Traces []struct {
			Name  string
			Nodes []struct {
				Node                          string
				Idle, Total, Productive, Lost float64
				Efficiency                    float64
				LoadImbalance                 float64 `json:"load_imbalance"`
				Processors                    int
				PerRank                       map[string]struct{ Time, CPU, MPI, Marker uint64 } `json:"per_rank"`
				POP                           map[string]float64
			}
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, tr := range golden.Traces {
		for _, n := range tr.Nodes {
			if n.Node != "root" {
				continue
			}
			checked++
			var list []items
			for p := range n.Processors {
				x := n.PerRank[fmt.Sprint(p)]
				list = append(list, process(x.Time, x.CPU, x.MPI, x.Marker))
			}
			s, err := build(t, list).Summary(results.Rules{})
			if err != nil {
				t.Fatal(err)
			}
			got := []float64{numbers.Quotient(s.Ticks.Idle, 1).Value, numbers.Part(s.Ticks.Productive, 1).Value, numbers.Part(s.Ticks.Lost, 1).Value, s.Efficiency.Value, numbers.Quotient(s.Ticks.LoadImbalance, 1).Value, s.POP.LoadBalance.Value}
			want := []float64{n.Idle, n.Productive, n.Lost, n.Efficiency, n.LoadImbalance, n.POP["load_balance"]}
			for i := range got {
				if math.Abs(got[i]-want[i]) > 5e-7 {
					t.Errorf("%s: value %d is %v, want %v", tr.Name, i, got[i], want[i])
				}
			}
		}
	}
	if checked < 3 {
		t.Errorf("%d traces were compared", checked)
	}
}

// TestSpread compares mean and deviation of numbers that floating-point sums
// would lose.
func TestSpread(t *testing.T) {
	t.Parallel()
	const big = 1 << 60
	r := build(t, []items{{xtf.ItemCPU: big + 1}, {xtf.ItemCPU: big + 3}, {xtf.ItemCPU: big + 5}})
	s, err := r.Summary(results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	x := s.Item(xtf.ItemCPU)
	if x.Sum != 3458764513820540937 { // 3 * (2^60 + 3)
		t.Errorf("sum %s", x.Sum)
	}
	if want := math.Sqrt(8.0 / 3); math.Abs(x.Deviation.Value-want) > 1e-12 {
		t.Errorf("standard deviation %v, want %v", x.Deviation.Value, want)
	}
	if x.Min != big+1 || x.MinP != 0 || x.Max != big+5 || x.MaxP != 2 {
		t.Errorf("%+v", x)
	}
}

func TestEmptyRun(t *testing.T) {
	r := build(t, []items{{}, {}})
	s, err := r.Summary(results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Efficiency.Defined || s.POP.Parallel.Defined || s.POP.LoadBalance.Defined || s.POP.Communication.Defined {
		t.Errorf("empty run: %+v %+v", s.Efficiency, s.POP)
	}
	d, err := New(r, Options{Sections: []Section{SectionSummary, SectionProfile, SectionComm, SectionDiagnostics}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, d, "text", table.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"efficiency             n/a", "nothing is known of the time of the run"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report of an empty run has no %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := d.WriteJSON(&b); err != nil || !json.Valid(b.Bytes()) || !strings.Contains(b.String(), `"parallel": null`) {
		t.Errorf("JSON of an empty run: %v\n%s", err, b.String())
	}
}

// TestLargestUseful checks the efficiencies with I/O, where the largest useful
// time is not the sum of two maxima.
func TestLargestUseful(t *testing.T) {
	a := items{xtf.ItemTime: 100, xtf.ItemLast: 100, xtf.ItemCPU: 70, xtf.ItemIO: 10, xtf.ItemMPI: 20, xtf.ItemEvents: 2}
	b := items{xtf.ItemTime: 100, xtf.ItemLast: 100, xtf.ItemCPU: 30, xtf.ItemIO: 60, xtf.ItemMPI: 10, xtf.ItemEvents: 2}
	s, err := build(t, []items{a, b}).Summary(results.Rules{IO: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.POP.Communication.Value != 0.9 || math.Abs(s.POP.LoadBalance.Value-85.0/90) > 1e-15 || s.POP.Parallel.Value != 0.85 {
		t.Errorf("%+v", s.POP)
	}
}

// TestSilent: where no call is recorded nothing says that processes compute.
func TestSilent(t *testing.T) {
	t.Parallel()
	r := build(t, []items{process(2_000_000_000, 2_000_000_000, 0, 0), process(700_000_000, 700_000_000, 0, 0)})
	plain := textOf(t, r, table.Style{}, SectionSummary)
	if strings.Contains(plain, "> imbalance") || strings.Contains(plain, "> processes live") || !strings.Contains(plain, "no calls of functions: nothing is known") {
		t.Errorf("findings of what is not known:\n%s", plain)
	}
}

func TestSummaryText(t *testing.T) {
	t.Parallel()
	r := build(t, []items{process(2_000_000_000, 1_500_000_000, 500_000_000, 0), process(1_900_000_000, 700_000_000, 1_200_000_000, 0)})
	plain := textOf(t, r, table.Style{}, SectionSummary)
	if strings.ContainsAny(plain, "\x1b\t█") {
		t.Errorf("plain text has bars, tabs or escape codes:\n%s", plain)
	}
	for _, want := range []string{
		"run.xtf  2 processes  2.000000 s",
		"efficiency           0.762  productive over total time; speed-up 1.52 of 2\n",
		// 1.5 - (1.5 + 0.7) / 2 = 0.4 s
		"> imbalance: up to 0.400 s of the run (20.0 %)\n    rank 0 computes 1.500 s, the mean is 1.100, rank 1 has least with 0.700",
		"> point to point calls with waits, which are not known: up to 1.200 s of the run (60.0 %)\n    rank 1 has most",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	shown := textOf(t, r, table.Style{Color: true, Bars: true}, SectionSummary)
	if !strings.Contains(shown, "\x1b[33m0.762") || !strings.Contains(shown, "███████▋") {
		t.Errorf("text for terminals:\n%s", shown)
	}
}

// TestVerdict has no word of praise for a run that wastes its threads or its devices.
func TestVerdict(t *testing.T) {
	t.Parallel()
	ratio := func(v float64) numbers.Ratio { return numbers.Ratio{Value: v, Defined: true} }
	good := results.Summary{Resolution: 1000, Efficiency: ratio(0.95), Ticks: results.Ticks{Productive: numbers.Whole(950), Measured: 1000}, POP: results.POP{Parallel: ratio(0.9)}}
	for want, change := range map[string]func(s *results.Summary){
		"95.0 % were productive": func(*results.Summary) {},
		"but parallel efficiency (POP), which counts all threads, is 0.60": func(s *results.Summary) {
			s.POP.Parallel, s.POP.Threads = ratio(0.6), &results.ThreadPOP{}
		},
		"but parallel efficiency (POP), to which no MPI time is useful, is 0.70": func(s *results.Summary) { s.POP.Parallel = ratio(0.7) },
		"but device efficiency is 0.44":                                          func(s *results.Summary) { s.Devices = &results.Devices{Efficiency: ratio(0.44)} },
		"efficiency not known":                                                   func(s *results.Summary) { s.Efficiency = numbers.Ratio{} },
	} {
		s := good
		change(&s)
		if got := (&Document{Summary: &s}).verdict(numbers.Units{Resolution: 1000}); !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
	}
}

// TestCutIdle says that a process whose events end early may have gone on.
func TestCutIdle(t *testing.T) {
	t.Parallel()
	for partial, want := range map[bool]string{false: "ended early\n", true: "ended early, or of which the rest is missing\n"} {
		d := &Document{Summary: &results.Summary{Partial: partial, Processors: 2, Ticks: results.Ticks{Execution: 10, Total: 20, Measured: 20, Idle: 5}}}
		var text strings.Builder
		err := table.WriteText(numbers.Units{}, &text, 0, nil, func(c *table.Chapter) { c.Table(d.programTable(&table.Book{})) })
		if err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("partial %v, %v: no %q in\n%s", partial, err, want, text.String())
		}
	}
}

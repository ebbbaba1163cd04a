package report

import (
	"encoding/json"
	"testing"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestMeasured compares efficiencies with sums by hand. Two processes, 100 ticks each:
//
//	        mpi  of it set-up  io  lock  cpu  measured
//	rank 0   40            20  30     0   30        80
//	rank 1   70            10   3     7   20        90
//
// Between set-up and end the longest process takes 90, both together 180 of 200. MPI in
// there is 110 - 30 = 80, half of it productive: 50 + 40 = 90 of 180. Lost are 40 MPI,
// 180 - 170 = 10 idle, 33 I/O and 7 lock wait. POP: U = 50, U* = 30, R = 90.
func TestMeasured(t *testing.T) {
	r := build(t, []items{
		{xtf.ItemTime: 100, xtf.ItemMPI: 40, xtf.ItemManagement: 20, xtf.ItemP2P: 20, xtf.ItemSetup: 20, xtf.ItemIO: 30, xtf.ItemCPU: 30, xtf.ItemMeasured: 80, xtf.ItemEvents: 2, xtf.ItemLast: 100},
		{xtf.ItemTime: 100, xtf.ItemMPI: 70, xtf.ItemManagement: 10, xtf.ItemP2P: 60, xtf.ItemSetup: 10, xtf.ItemIO: 3, xtf.ItemLockWait: 7, xtf.ItemCPU: 20, xtf.ItemMeasured: 90, xtf.ItemEvents: 2, xtf.ItemLast: 100},
	})
	for _, c := range []struct {
		name                             string
		rules                            results.Rules
		setup, measured, idle            int64
		efficiency                       string
		process, balance, communication  numbers.Ratio
		productive, lost                 string // doubled: an MPI share of one half
		leastProductive, rank0Productive string
	}{
		{"default", results.Rules{}, 20, 180, 10, "0.500000", numbers.NewRatio(50, 180), numbers.NewRatio(50, 60), numbers.NewRatio(30, 90), "180", "180", "140", "140"},
		// With set-up all of 110 is MPI, 55 productive: 105 of 200; R is the span, 100.
		{"init", results.Rules{Init: true}, 0, 200, 0, "0.525000", numbers.NewRatio(50, 200), numbers.NewRatio(50, 60), numbers.NewRatio(30, 100), "210", "190", "180", "180"},
		// With I/O U = 60 and 23: 83 + 40 = 123 of 180, and U* = 60.
		{"io", results.Rules{IO: true}, 20, 180, 10, "0.683333", numbers.NewRatio(83, 180), numbers.NewRatio(83, 120), numbers.NewRatio(60, 90), "246", "114", "206", "206"},
	} {
		s, err := r.Summary(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		x, p := &s.Ticks, &s.POP
		if int64(x.Setup) != c.setup || int64(x.Measured) != c.measured || int64(x.Idle) != c.idle {
			t.Errorf("%s: set-up %v, measured %v, idle %v", c.name, x.Setup, x.Measured, x.Idle)
		}
		if got := x.EfficiencyText(); got != c.efficiency {
			t.Errorf("%s: efficiency %s, want %s", c.name, got, c.efficiency)
		}
		if parts(x.Productive) != "["+c.productive+",2]" || parts(x.Lost) != "["+c.lost+",2]" {
			t.Errorf("%s: productive %s, lost %s", c.name, parts(x.Productive), parts(x.Lost))
		}
		if p.Process != c.process || p.Parallel != c.process || p.LoadBalance != c.balance || p.Communication != c.communication || p.IO != numbers.NewRatio(50, 83) {
			t.Errorf("%s: %+v", c.name, p)
		}
		// The process with least MPI is rank 0: 20 without set-up, 40 with it.
		for rule, want := range map[results.Productive]string{results.ProductiveMin: c.leastProductive, results.ProductiveRank0: c.rank0Productive} {
			rules := c.rules
			rules.Productive = rule
			if s, err = r.Summary(rules); err != nil {
				t.Fatal(err)
			}
			if got := parts(s.Ticks.Productive.Times(2)); got != "["+want+",1]" {
				t.Errorf("%s, %s: productive %s halves, want %s", c.name, rule, got, want)
			}
		}
	}
}

// TestHybrid: one process of four threads that computes 100 ticks; of 400 of all
// threads 100 are serial, 60 imbalance and 40 scheduling: 200 / 400 = 0.5. The
// process is used to 100 / 100, so POP's hybrid product is 0.5.
func TestHybrid(t *testing.T) {
	r := build(t, []items{{
		xtf.ItemTime: 100, xtf.ItemCPU: 100, xtf.ItemMeasured: 100, xtf.ItemEvents: 2, xtf.ItemLast: 100,
		xtf.ItemThreadTime: 400, xtf.ItemThreadSerial: 100, xtf.ItemThreadImbalance: 60, xtf.ItemThreadScheduling: 40,
	}})
	s, err := r.Summary(results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if p := &s.POP; p.Parallel != numbers.NewRatio(1, 2) || p.Process != numbers.NewRatio(1, 1) {
		t.Errorf("parallel %v, process %v", p.Parallel, p.Process)
	}
	c, err := ParseCondition("parallel_efficiency<0.6")
	if err != nil {
		t.Fatal(err)
	}
	v, err := Judge(r, []*Condition{c}, results.Rules{})
	if err != nil || !v[0].Holds {
		t.Errorf("%v: %+v", err, v)
	}
}

// TestOverheadLine: 20 of 100 ticks are flush, 60 CPU: 60 / 100, without the flush 60 / 80.
func TestOverheadLine(t *testing.T) {
	t.Parallel()
	r := build(t, []items{{
		xtf.ItemTime: 100, xtf.ItemCPU: 60, xtf.ItemMPI: 20, xtf.ItemP2P: 20, xtf.ItemOverhead: 20, xtf.ItemMeasured: 100, xtf.ItemEvents: 2, xtf.ItemLast: 100,
	}})
	s, err := r.Summary(results.Rules{Productive: results.ProductiveNone})
	if err != nil {
		t.Fatal(err)
	}
	if p := &s.POP; p.Process != numbers.NewRatio(60, 100) || p.Unburdened != numbers.NewRatio(60, 80) || s.Ticks.EfficiencyText() != "0.600000" {
		t.Errorf("%+v, efficiency %s", p, s.Ticks.EfficiencyText())
	}
}

// parts is a fraction as JSON.
func parts(f numbers.Fraction) string {
	b, _ := json.Marshal(f)
	return string(b)
}

package predicted

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// somePrediction is a prediction of three processes in two classes.
func somePrediction() *Prediction {
	const ms = 1_000_000_000
	makespan, host := uint64(15*ms), uint64(21*ms)
	p := &Prediction{
		Name: "run.xtf", Resolution: Picoseconds, Platform: &PredictedPlatform{Name: "c\x1b", Nodes: 2, RanksPerNode: 2, Mapping: "block", Contention: "none", Policy: "dma", Engine: "dataflow"},
		Computation: PredictedComputing{Source: "vectors", Scale: "1", Rule: "copy", Replaced: 3, Threshold: "5%", Donors: []Donor{{Process: 1, Processes: 3, Entries: 10, Measured: 5, Host: 4 * ms, Target: 2 * ms, Off: 300_000_000}}},
		Measured:    20 * ms, Makespan: &makespan, Ratio: numbers.Ratio{Value: 0.75, Defined: true},
		Errors:  PredictedErrors{Net: numbers.Ratio{Value: 0.05001, Defined: true}, Class: numbers.Ratio{Value: 0, Defined: true}, HostMakespan: &host, HostPlatform: "h"},
		LeftOut: []LeftOut{{What: "files", Count: 3, Text: "as computation: files"}}, Unmatched: 2,
		Classes: []PredictedClass{{Class: 0, Representative: 1}, {Class: 1, Representative: 2}},
		Sweep: &PredictedSweep{
			Axes:   []SweepAxis{{"latency", []string{"1", "2"}}, {"mapping", []string{"block", "a<b>&"}}},
			Points: []SweepPoint{{[]string{"1", "block"}, &makespan, ms, numbers.Ratio{Value: 1, Defined: true}}, {[]string{"1", "a<b>&"}, &host, ms, numbers.Ratio{Value: 1.4, Defined: true}}, {[]string{"2", "block"}, nil, 0, numbers.Ratio{}}, {[]string{"2", "a<b>&"}, &host, ms, numbers.Ratio{Value: 1.4, Defined: true}}},
		},
	}
	for i, c := range []int{0, 0, 1} {
		k := uint64(i + 1)
		p.Processes = append(p.Processes, PredictedProcess{
			Process: uint32(i), Class: c, Measured: MeasuredTimes{20 * ms, 10 * ms * k, 0},
			Predicted: PredictedTimes{Finish: 15 * ms, Compute: 3 * ms * k, Send: ms, Receive: 0, Wait: 2, Collective: math.MaxInt64, File: 7, Kept: 9},
		})
	}
	p.Classify()
	return p
}

func TestPredictionClasses(t *testing.T) {
	t.Parallel()
	p := somePrediction()
	c := p.Classes[0]
	if c.Processes != 2 || c.Mean.Compute != 4_500_000_000 || c.Least.Compute != 3_000_000_000 || c.Most.Compute != 6_000_000_000 || c.Mean.Collective != math.MaxInt64 || c.Measured.Compute != 15_000_000_000 {
		t.Errorf("class 0: %+v", c)
	}
	if c := p.Classes[1]; c.Processes != 1 || c.Mean != p.Processes[2].Predicted || c.Least != c.Most {
		t.Errorf("class 1: %+v", c)
	}
}

func TestPredictionText(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := table.Write(&b, somePrediction(), "text", table.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"run.xtf  3 processes  predicted on c?, 2 nodes",
		"computation: vectors of 1 process by rule copy, for 3 processes of 3",
		"1    3  0.002000    0.004000  0.5000  5 of 10 entries measured",
		"runtime: measured 0.020000 s, predicted 0.015000 s, x 0.7500",
		"compute alike (5%)",
		"network            5.0 %  simulated on h 0.021000 s, measured 0.020000 s; above 5 %",
		"5 of 10 entries measured, the others follow them by site; 0.000300 s of the replay not on a processor",
		"replay               n/a  needs --host-vectors",
		"spread               n/a  needs vectors of replays with --repeat",
		"delay                n/a  needs a run of coppice record",
		"left out: 2 sides of messages",
		"as computation: files: 3",
		"2    block     deadlock",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("an escape code of a name is printed")
	}
}

// TestPredictionMeasured prints what is known of the measurement.
func TestPredictionMeasured(t *testing.T) {
	t.Parallel()
	p, process := somePrediction(), uint32(2)
	e := &p.Errors
	e.Replay, e.WorstReplay, e.Replayed, e.Recorded = numbers.Ratio{Value: 0.5, Defined: true}, &process, 2_000_000_000, 4_000_000_000
	e.Spread, e.WorstSpread, e.Least, e.Most = numbers.Ratio{Value: 0.03125, Defined: true}, &process, 1_900_000_000, 1_980_000_000
	e.Delay, e.WorstDelay, e.Delayed = numbers.Ratio{Value: 0.5, Defined: true}, &process, 1_800_000_000
	var b bytes.Buffer
	if err := table.Write(&b, p, "text", table.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"replay             50.0 %  of process 2, the worst: 0.002000 s replayed, 0.004000 s recorded; above 5 %",
		"spread              3.1 %  repetitions of process 2, the farthest apart: 0.001900 to 0.001980 s\n",
		"delay              50.0 %  of the recorded computation of process 2, the most: it had no processor for 0.001800 s; above 5 %",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	for text, holds := range map[string]bool{"error_spread>3.2%": false, "error_spread>3%": true, "error_delay>49%": true, "error_delay>50%": false} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		if v := p.Judge([]*Condition{c}); v[0].Holds != holds {
			t.Errorf("%s: %+v", text, v[0])
		}
	}
}

func TestPredictionTables(t *testing.T) {
	t.Parallel()
	p := somePrediction()
	var b bytes.Buffer
	if err := table.Write(&b, p, "csv", table.Style{}); err != nil {
		t.Fatal(err)
	}
	if want := "latency,mapping,makespan,compute,ratio\n1,block,15000000000,1000000000,1\n1,a<b>&,21000000000,1000000000,1.4\n2,block,,0,\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("sweep:\n%s", b.String())
	}
	p.Sweep = nil
	b.Reset()
	if err := table.Write(&b, p, "csv", table.Style{}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); len(lines) != 5 || lines[1] != "0,0,0,0,0,20000000000,10000000000,15000000000,3000000000,1000000000,0,2,9223372036854775807,7,9" {
		t.Errorf("processes:\n%s", b.String())
	}
	text, err := json.Marshal(p)
	if err != nil || !bytes.Contains(text, []byte(`"replay":null`)) || bytes.Contains(text, []byte("sweep")) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestPredictionPlot(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := somePrediction().Sweep.WriteSVG(&b, "a <title>"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`>a &lt;title&gt;</text>`, `>mapping a&lt;b&gt;&amp;</text>`, `>0.025</text>`, `text-anchor="middle">×</text>`,
		`r="2.5" fill="#0072b2"/>`, `" fill="none" stroke="#d55e00" stroke-width="2"/>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}

func TestPredictConditions(t *testing.T) {
	t.Parallel()
	p := somePrediction()
	for text, holds := range map[string]bool{
		"makespan>15ms": false, "makespan>=0.015": true, "measured<21000us": true, "ratio>74%": true, "speedup<1.4": true, "speedup<1.3": false,
		"error_net>5%": true, "error_class>0": false, "error_replay>99%": true, "compute==6ms": true, "communication<9ms": true, "communication>8.999ms": true, // 15 - 6 ms, and 9 ps are kept
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if v := p.Judge([]*Condition{c}); v[0].Holds != holds {
			t.Errorf("%s: %+v", text, v[0])
		}
	}
	for _, text := range []string{"", "makespan", "makespan>", "interval:x.makespan>1", "wait>1s", "makespan>1%", "ratio>1s"} {
		if _, err := ParseCondition(text); err == nil {
			t.Errorf("%q is not an error", text)
		}
	}
}

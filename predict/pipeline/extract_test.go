package pipeline

import (
	"context"
	"errors"
	"math"
	"testing"
)

// observed makes what a trace would show of a pipeline: one producer, workers, one consumer. A synchronous producer waits
// until its receiver is ready. seconds are those of a chunk in each stage, overhead those of every call.
func observed(chunks, workers int, synchronous bool, overhead float64, seconds [3]float64, scv float64) *Observed {
	src := newSource(9, 0)
	n := workers + 2
	o := &Observed{Input: "test", Ranks: make([]ObservedRank, n)}
	now := make([]float64, n)
	for r := range o.Ranks {
		o.Ranks[r].Node = "host"
	}
	call := func(r int, ready float64, m ObservedMessage) {
		x := &o.Ranks[r]
		begin := now[r]
		if ready > begin {
			x.Waits = append(x.Waits, ObservedWait{ObservedSpan{begin, ready}, m.Send})
			now[r] = ready
		}
		now[r] += overhead
		m.End, m.Bytes = now[r], 8
		x.Calls, x.Messages = append(x.Calls, ObservedSpan{begin, now[r]}), append(x.Messages, m)
	}
	for c := range chunks {
		w := 1 + c%workers
		now[0] += seconds[0] * src.unit(scv)
		sent := now[0]
		if synchronous {
			call(0, now[w], ObservedMessage{Peer: w, Send: true})
		} else {
			call(0, 0, ObservedMessage{Peer: w, Send: true})
		}
		call(w, sent, ObservedMessage{Peer: 0})
		now[w] += seconds[1] * src.unit(scv)
		sent = now[w]
		call(w, 0, ObservedMessage{Peer: n - 1, Send: true})
		call(n-1, sent, ObservedMessage{Peer: w})
		now[n-1] += seconds[2] * src.unit(scv)
	}
	for r := range o.Ranks {
		o.Ranks[r].End = now[r]
	}
	return o
}

func TestExtract(t *testing.T) {
	for _, c := range []struct {
		name        string
		workers     int
		synchronous bool
		seconds     [3]float64
		scv         float64
		buffer      int
	}{
		{"constant", 1, false, [3]float64{1, 2, .5}, 0, Unbounded},
		{"two workers", 2, false, [3]float64{1, 2, .5}, .2, Unbounded},
		{"synchronous", 1, true, [3]float64{.5, 2, .5}, .1, 2},
		{"slow consumer", 3, false, [3]float64{.1, 2, 1}, .1, Unbounded},
	} {
		t.Run(c.name, func(t *testing.T) {
			const chunks, overhead = 300, .01
			e, err := Extract(context.Background(), observed(chunks, c.workers, c.synchronous, overhead, c.seconds, c.scv), ExtractOptions{Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			p := e.Model.Types[0].Pipeline
			if p.Chunks != chunks || len(p.Stages) != 3 || p.Stages[1].Workers != c.workers || p.Stages[0].Buffer != c.buffer {
				t.Errorf("%+v", p)
			}
			for s, want := range c.seconds {
				near(t, "demand", p.Stages[s].Demand[0].Seconds/chunks, want, (.001+.12*math.Sqrt(c.scv))*want)
				near(t, "variability", p.Stages[s].SCV, c.scv, .3*c.scv+1e-4)
			}
			near(t, "overhead", p.Stages[1].Overhead[0].Seconds, 2*overhead, 1e-3)
			near(t, "self-check", e.Predicted, e.Traced, .05*e.Traced)
			near(t, "stage", e.Worst().Gap(), 0, .1)
			again, err := Parse(e.Model.Append(nil))
			if err != nil || again.Types[0].Pipeline.Stages[1].Workers != c.workers {
				t.Errorf("%v", err)
			}
		})
	}
	o := observed(10, 2, false, .01, [3]float64{1, 1, 1}, 0)
	for r := range o.Ranks {
		o.Ranks[r].Node = string(rune('a' + r))
	}
	e, err := Extract(context.Background(), o, ExtractOptions{Cores: 4})
	if err != nil || len(e.Model.Centers) != 3 || e.Model.Centers[1].Servers != 2 || e.Model.Centers[0].Servers != 4 {
		t.Errorf("%+v %v", e.Model.Centers, err)
	}
}

// TestExtractRefuses what is not a pipeline.
func TestExtractRefuses(t *testing.T) {
	send := func(to int) ObservedMessage { return ObservedMessage{Peer: to, Send: true, End: 1, Bytes: 8} }
	receive := func(from int) ObservedMessage { return ObservedMessage{Peer: from, End: 2, Bytes: 8} }
	ranks := func(list ...[]ObservedMessage) *Observed {
		o := &Observed{}
		for _, m := range list {
			o.Ranks = append(o.Ranks, ObservedRank{Node: "a", End: 3, Messages: m})
		}
		return o
	}
	for name, o := range map[string]*Observed{
		"nothing":      {},
		"no messages":  ranks(nil, nil),
		"both ways":    ranks([]ObservedMessage{send(1), receive(1)}, []ObservedMessage{send(0), receive(0)}),
		"a circle":     ranks([]ObservedMessage{send(1)}, []ObservedMessage{send(2)}, []ObservedMessage{send(0)}),
		"a short cut":  ranks([]ObservedMessage{send(1), send(2)}, []ObservedMessage{receive(0), send(2)}, []ObservedMessage{receive(0), receive(1)}),
		"other counts": ranks([]ObservedMessage{send(1), send(1)}, []ObservedMessage{receive(0)}),
		"strange peer": ranks([]ObservedMessage{send(7), send(-1)}, nil),
	} {
		if _, err := Extract(context.Background(), o, ExtractOptions{Form: FormPipeline}); !errors.Is(err, ErrNoPipeline) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExtractRuns: two runs tell what shrinks with a chunk and what does not.
func TestExtractRuns(t *testing.T) {
	var list []*Observed
	for _, chunks := range []int{40, 160} {
		var seconds [3]float64
		for s, whole := range []float64{10, 40, 5} {
			seconds[s] = whole/float64(chunks) + .02
		}
		list = append(list, observed(chunks, 2, false, .001, seconds, 0))
	}
	e, err := ExtractRuns(context.Background(), list, ExtractOptions{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range []float64{10, 40, 5} {
		st := &e.Model.Types[0].Pipeline.Stages[s]
		near(t, "demand", st.Demand[0].Seconds, want, .01*want)
		near(t, "overhead", st.Overhead[0].Seconds, .022, .002)
	}
	for _, r := range e.Runs {
		near(t, "run", r.Error(), 0, .02)
	}
	list[1] = observed(160, 3, false, .001, [3]float64{1, 1, 1}, 0)
	if _, err := ExtractRuns(context.Background(), list, ExtractOptions{}); !errors.Is(err, ErrNoPipeline) {
		t.Errorf("other stages: %v", err)
	}
	if _, err := ExtractRuns(context.Background(), nil, ExtractOptions{}); !errors.Is(err, ErrNoPipeline) {
		t.Errorf("no run: %v", err)
	}
}

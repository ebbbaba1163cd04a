package extract

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/predict/pipeline"
)

func about(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.9f, not %.9f", what, got, want)
	}
}

// observed makes what a trace would show of a pipeline: one producer, workers, one consumer. A synchronous producer waits
// until its receiver is ready. seconds are those of a chunk in each stage, overhead those of every call.
func observed(chunks, workers int, synchronous bool, overhead float64, seconds [3]float64, scv float64) *Run {
	src := rand.New(rand.NewPCG(9, 0))
	unit := func() float64 { return 1 + math.Sqrt(scv)*float64(2*src.IntN(2)-1) }
	n := workers + 2
	o := &Run{Input: "test", Ranks: make([]Rank, n)}
	now := make([]float64, n)
	for r := range o.Ranks {
		o.Ranks[r].Node = "host"
	}
	call := func(r int, ready float64, m Message) {
		x := &o.Ranks[r]
		begin := now[r]
		if ready > begin {
			x.Waits = append(x.Waits, Wait{Span{begin, ready}, m.Send})
			now[r] = ready
		}
		now[r] += overhead
		m.End, m.Bytes = now[r], 8
		x.Calls, x.Messages = append(x.Calls, Span{begin, now[r]}), append(x.Messages, m)
	}
	for c := range chunks {
		w := 1 + c%workers
		now[0] += seconds[0] * unit()
		sent := now[0]
		if synchronous {
			call(0, now[w], Message{Peer: w, Send: true})
		} else {
			call(0, 0, Message{Peer: w, Send: true})
		}
		call(w, sent, Message{Peer: 0})
		now[w] += seconds[1] * unit()
		sent = now[w]
		call(w, 0, Message{Peer: n - 1, Send: true})
		call(n-1, sent, Message{Peer: w})
		now[n-1] += seconds[2] * unit()
	}
	for r := range o.Ranks {
		o.Ranks[r].End = now[r]
	}
	return o
}

func TestExtract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		workers     int
		synchronous bool
		seconds     [3]float64
		scv         float64
		buffer      int
	}{
		{"constant", 1, false, [3]float64{1, 2, .5}, 0, pipeline.Unbounded},
		{"two workers", 2, false, [3]float64{1, 2, .5}, .2, pipeline.Unbounded},
		{"synchronous", 1, true, [3]float64{.5, 2, .5}, .1, 2},
		{"slow consumer", 3, false, [3]float64{.1, 2, 1}, .1, pipeline.Unbounded},
	} {
		t.Run(c.name, func(t *testing.T) {
			const chunks, overhead = 300, .01
			e, err := single(context.Background(), observed(chunks, c.workers, c.synchronous, overhead, c.seconds, c.scv), Options{Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			p := e.Model.Types[0].Pipeline
			if p.Chunks != chunks || len(p.Stages) != 3 || p.Stages[1].Workers != c.workers || p.Stages[0].Buffer != c.buffer {
				t.Errorf("%+v", p)
			}
			for s, want := range c.seconds {
				about(t, "demand", p.Stages[s].Demand[0].Seconds/chunks, want, (.001+.12*math.Sqrt(c.scv))*want)
				about(t, "variability", p.Stages[s].SCV, c.scv, .3*c.scv+1e-4)
			}
			about(t, "overhead", p.Stages[1].Overhead[0].Seconds, 2*overhead, 1e-3)
			about(t, "self-check", e.Predicted, e.Traced, .05*e.Traced)
			about(t, "stage", e.Worst().Gap(), 0, .1)
			again, err := pipeline.Parse(e.Model.Append(nil))
			if err != nil || again.Types[0].Pipeline.Stages[1].Workers != c.workers {
				t.Errorf("%v", err)
			}
		})
	}
	o := observed(10, 2, false, .01, [3]float64{1, 1, 1}, 0)
	for r := range o.Ranks {
		o.Ranks[r].Node = string(rune('a' + r))
	}
	e, err := single(context.Background(), o, Options{Cores: 4})
	if err != nil || len(e.Model.Centers) != 3 || e.Model.Centers[1].Servers != 2 || e.Model.Centers[0].Servers != 4 {
		t.Errorf("%+v %v", e.Model.Centers, err)
	}
}

// TestRefuses what is not a pipeline.
func TestRefuses(t *testing.T) {
	t.Parallel()
	send := func(to int) Message { return Message{Peer: to, Send: true, End: 1, Bytes: 8} }
	receive := func(from int) Message { return Message{Peer: from, End: 2, Bytes: 8} }
	ranks := func(list ...[]Message) *Run {
		o := &Run{}
		for _, m := range list {
			o.Ranks = append(o.Ranks, Rank{Node: "a", End: 3, Messages: m})
		}
		return o
	}
	for name, o := range map[string]*Run{
		"nothing":      {},
		"no messages":  ranks(nil, nil),
		"both ways":    ranks([]Message{send(1), receive(1)}, []Message{send(0), receive(0)}),
		"a circle":     ranks([]Message{send(1)}, []Message{send(2)}, []Message{send(0)}),
		"a short cut":  ranks([]Message{send(1), send(2)}, []Message{receive(0), send(2)}, []Message{receive(0), receive(1)}),
		"other counts": ranks([]Message{send(1), send(1)}, []Message{receive(0)}),
		"strange peer": ranks([]Message{send(7), send(-1)}, nil),
	} {
		if _, err := single(context.Background(), o, Options{Form: FormPipeline}); !errors.Is(err, ErrNoPipeline) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestModel: two runs tell what shrinks with a chunk and what does not.
func TestModel(t *testing.T) {
	t.Parallel()
	var list []*Run
	for _, chunks := range []int{40, 160} {
		var seconds [3]float64
		for s, whole := range []float64{10, 40, 5} {
			seconds[s] = whole/float64(chunks) + .02
		}
		list = append(list, observed(chunks, 2, false, .001, seconds, 0))
	}
	e, err := Model(context.Background(), list, Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range []float64{10, 40, 5} {
		st := &e.Model.Types[0].Pipeline.Stages[s]
		about(t, "demand", st.Demand[0].Seconds, want, .01*want)
		about(t, "overhead", st.Overhead[0].Seconds, .022, .002)
	}
	for _, r := range e.Runs {
		about(t, "run", r.Error(), 0, .02)
	}
	list[1] = observed(160, 3, false, .001, [3]float64{1, 1, 1}, 0)
	if _, err := Model(context.Background(), list, Options{}); !errors.Is(err, ErrNoPipeline) {
		t.Errorf("other stages: %v", err)
	}
	if _, err := Model(context.Background(), nil, Options{}); !errors.Is(err, ErrNoPipeline) {
		t.Errorf("no run: %v", err)
	}
}

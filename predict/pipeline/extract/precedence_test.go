package extract

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/pipeline"
)

// stage play: what processes of a small machine do, with a clock each. A call takes callSeconds after what it waits for.
type play struct {
	o   *Run
	now []float64

	ops uint64
}

const callSeconds = 0.001

func newPlay(ranks int) *play {
	p := &play{o: &Run{Input: "test", Ranks: make([]Rank, ranks)}, now: make([]float64, ranks)}
	for r := range p.o.Ranks {
		p.o.Ranks[r].Node = "host"
	}
	return p
}

func (p *play) compute(r int, seconds float64) { p.now[r] += seconds }

// call begins a call that waits until ready.
func (p *play) call(r int, ready float64, inSend bool) (begin, end float64) {
	x := &p.o.Ranks[r]
	begin = p.now[r]
	if ready > begin {
		x.Waits = append(x.Waits, Wait{Span{begin, ready}, inSend})
		p.now[r] = ready
	}
	p.now[r] += callSeconds
	x.Calls = append(x.Calls, Span{begin, p.now[r]})
	return begin, p.now[r]
}

// function gives every call a name of its own, so that every task has its class.
func (p *play) function() string {
	p.ops++
	return fmt.Sprint("f", p.ops)
}

// message passes one; a synchronous send ends when its receiver has come.
func (p *play) message(from, to int, bytes uint64, synchronous bool) {
	ready, sent := 0.0, p.now[from]
	if synchronous {
		ready = p.now[to]
	}
	s, r := &p.o.Ranks[from], &p.o.Ranks[to]
	m := Message{Peer: to, Send: true, Bytes: bytes, Row: uint64(len(s.Messages)), Mate: uint64(len(r.Messages)), Function: p.function(), Awaited: synchronous}
	m.Begin, m.End = p.call(from, ready, true)
	m.Done = m.End
	s.Messages = append(s.Messages, m)
	m = Message{Peer: from, Bytes: bytes, Row: uint64(len(r.Messages)), Mate: m.Row, Function: p.function()}
	m.Begin, m.End = p.call(to, sent, false)
	m.Done, m.Ready = m.End, m.Begin
	r.Messages = append(r.Messages, m)
}

// collective is one of all ranks.
func (p *play) collective(flow Flow, root int) {
	came := slices.Clone(p.now)
	p.ops++
	function := fmt.Sprint("f", p.ops)
	for r := range p.now {
		ready := 0.0
		switch {
		case flow == AllToAll, flow == AllToOne && r == root:
			ready = slices.Max(came)
		case flow == OneToAll && r != root:
			ready = came[root]
		case flow == Prefix:
			ready = slices.Max(came[:r+1])
		}
		c := Collective{Ordinal: p.ops, Flow: flow, Root: r == root, Function: function}
		c.Begin, c.End = p.call(r, ready, false)
		p.o.Ranks[r].Collectives = append(p.o.Ranks[r].Collectives, c)
	}
}

// end ends the run.
func (p *play) end() *Run {
	for r := range p.o.Ranks {
		p.o.Ranks[r].End = p.now[r]
	}
	return p.o
}

// random plays ops operations of all kinds.
func (p *play) random(r *rand.Rand, ops int) {
	n := len(p.now)
	for range ops {
		p.compute(r.IntN(n), r.Float64())
		switch k := r.IntN(8); {
		case k == 0:
			p.collective(Flow(r.IntN(4)), r.IntN(n))
		default:
			from := r.IntN(n)
			p.message(from, (from+1+r.IntN(n-1))%n, 8, k == 1)
		}
	}
}

// TestGraph: the graph of any program takes as long as its run did.
func TestGraph(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPlay(2 + r.IntN(5))
		p.random(r, 5+r.IntN(60))
		e, err := single(context.Background(), p.end(), Options{Form: FormGraph, Seed: 7})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		about(t, fmt.Sprint("seed ", seed), e.Predicted, e.Traced, 1e-5*e.Traced)
		if err := e.Model.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again, err := pipeline.Parse(e.Model.Append(nil))
		if err != nil || len(again.Types[0].Tasks) != len(e.Model.Types[0].Tasks) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestJobs: equal jobs one after the other are one of them, with the mean times.
func TestJobs(t *testing.T) {
	t.Parallel()
	p := newPlay(3)
	var seconds float64
	for k := range 4 {
		begin := slices.Max(p.now)
		for r := range p.now {
			p.now[r] = begin
		}
		p.compute(0, float64(1+k%2))
		p.message(0, 1, 8, false)
		p.compute(1, 2)
		p.message(1, 2, 8, false)
		p.collective(AllToAll, 0)
		for r := range p.now {
			p.o.Ranks[r].Jobs = append(p.o.Ranks[r].Jobs, Span{begin, p.now[r]})
		}
		seconds += (p.now[0] - begin) / 4
	}
	for r := range p.o.Ranks { // the same function in every job
		for i := range p.o.Ranks[r].Messages {
			p.o.Ranks[r].Messages[i].Function = fmt.Sprint("f", i%len(p.o.Ranks[r].Messages)/4)
		}
		for i := range p.o.Ranks[r].Collectives {
			p.o.Ranks[r].Collectives[i].Function = "all"
		}
	}
	e, err := single(context.Background(), p.end(), Options{Form: FormGraph, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if e.Jobs != 4 || len(e.Model.Types[0].Tasks) > 20 {
		t.Errorf("%d jobs, %d tasks", e.Jobs, len(e.Model.Types[0].Tasks))
	}
	about(t, "traced", e.Traced, seconds, 1e-9)
	about(t, "predicted", e.Predicted, seconds, .1*seconds)
	p.o.Ranks[1].Jobs = p.o.Ranks[1].Jobs[1:]
	if _, err := single(context.Background(), p.o, Options{}); !errors.Is(err, ErrNoJob) {
		t.Errorf("other numbers of jobs: %v", err)
	}
}

// TestPipelineJobs: a pipeline that runs several times.
func TestPipelineJobs(t *testing.T) {
	t.Parallel()
	one := observed(50, 2, false, .001, [3]float64{1, 2, .5}, .1)
	all := &Run{Ranks: make([]Rank, len(one.Ranks))}
	begin, end := one.span()
	length := end - begin
	for k := range 3 {
		shift := float64(k) * (length + 1)
		for r := range one.Ranks {
			x, y := &one.Ranks[r], &all.Ranks[r]
			y.Node, y.End = x.Node, shift+x.End
			y.Jobs = append(y.Jobs, Span{shift, shift + x.End})
			for _, m := range x.Messages {
				m.Begin, m.End = m.Begin+shift, m.End+shift
				y.Messages = append(y.Messages, m)
			}
			for _, w := range x.Waits {
				y.Waits = append(y.Waits, Wait{Span{w.Begin + shift, w.End + shift}, w.InSend})
			}
			for _, c := range x.Calls {
				y.Calls = append(y.Calls, Span{c.Begin + shift, c.End + shift})
			}
		}
	}
	want, err := single(context.Background(), one, Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	got, err := single(context.Background(), all, Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if got.Jobs != 3 || got.Form != FormPipeline || got.Model.Types[0].Pipeline.Chunks != 50 {
		t.Errorf("%d jobs, %s, %+v", got.Jobs, got.Form, got.Model.Types[0])
	}
	about(t, "traced", got.Traced, want.Traced, 1e-9*want.Traced)
	for s := range want.Stages {
		about(t, "busy", got.Stages[s].Busy, want.Stages[s].Busy, 1e-9)
	}
	about(t, "predicted", got.Predicted, want.Predicted, .01*want.Predicted)
}

// TestCenters: nodes, files, the network, and processors that are too few.
func TestCenters(t *testing.T) {
	t.Parallel()
	run := func(files bool) *Run {
		p := newPlay(2)
		for range 10 {
			p.compute(0, 1)
			if files {
				p.o.Ranks[0].Files = append(p.o.Ranks[0].Files, Span{p.now[0] - .25, p.now[0]})
			}
			p.message(0, 1, 1000, false)
			p.compute(1, 1)
		}
		p.o.Ranks[0].Node, p.o.Ranks[1].Node = "a", "b"
		return p.end()
	}
	for _, form := range []Form{FormPipeline, FormGraph} {
		e, err := single(context.Background(), run(true), Options{Form: form, Net: &NetCost{PerByte: 1e-4, Latency: .5}})
		if err != nil {
			t.Fatal(err)
		}
		total := map[string]float64{}
		m := e.Model
		add := func(list []pipeline.Demand, times int) {
			for _, d := range list {
				total[m.Centers[d.Center].Name] += d.Seconds * float64(times)
			}
		}
		for _, k := range m.Types[0].Tasks {
			add(m.Types[0].Classes[k.Class].Demand, 1)
		}
		if p := m.Types[0].Pipeline; p != nil {
			for _, s := range p.Stages {
				add(s.Demand, 1)
				add(s.Overhead, p.Chunks)
			}
		}
		for name, want := range map[string]float64{"a.cpu": 7.5, "a.disk": 2.5, "b.cpu": 10, "net": 1, "wire": 5} {
			about(t, string(form)+" "+name, total[name], want, .05*want)
		}
	}
	one := run(false)
	one.Ranks[0].Node, one.Ranks[1].Node = "host", "host"
	whole, err := single(context.Background(), one, Options{})
	if err != nil {
		t.Fatal(err)
	}
	crowded, err := single(context.Background(), one, Options{CoresOf: map[string]int{"host": 1}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := whole.Model.Types[0].Pipeline.Stages[0].Demand[0].Seconds, crowded.Model.Types[0].Pipeline.Stages[0].Demand[0].Seconds
	if !(b < .8*a) || math.Abs(crowded.Predicted/crowded.Traced-1) > .1 {
		t.Errorf("%v s on own cores, %v on one; predicted %v of %v", a, b, crowded.Predicted, crowded.Traced)
	}
}

// FuzzModel makes a run of any bytes: the result is an error or a model that holds.
func FuzzModel(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint8(0))
	f.Add([]byte{0, 0, 1, 1, 2, 1, 0, 2, 2, 1, 3, 0}, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, form uint8) {
		if len(b) > 1200 {
			return
		}
		o := &Run{Ranks: make([]Rank, 3)}
		at := 0.0
		for len(b) >= 6 {
			x := &o.Ranks[b[0]%3]
			at += float64(b[1])
			s := Span{at, at + float64(b[2])}
			switch b[3] % 6 {
			case 0, 1:
				m := Message{Peer: int(b[4]) - 1, Send: b[5]&1 != 0, Begin: s.Begin, End: s.End, Done: s.End + float64(b[5]>>4), Ready: s.Begin - float64(b[4]>>4)}
				m.Row, m.Mate, m.Awaited, m.Bytes = uint64(len(x.Messages)), uint64(b[5]>>1&7), b[5]&128 != 0, uint64(binary.LittleEndian.Uint16(b[4:]))
				x.Messages = append(x.Messages, m)
			case 2:
				x.Collectives = append(x.Collectives, Collective{Begin: s.Begin, End: s.End, Comm: uint32(b[5] & 1), Ordinal: uint64(b[4]), Flow: Flow(b[5] % 5), Root: b[5]&16 != 0})
			case 3:
				x.Waits = append(x.Waits, Wait{s, b[4]&1 != 0})
			case 4:
				x.Jobs = append(x.Jobs, s)
			default:
				x.Files = append(x.Files, s)
			}
			x.End = s.End
			b = b[6:]
		}
		e, err := single(context.Background(), o, Options{Form: []Form{FormAuto, FormPipeline, FormGraph}[form%3], Net: &NetCost{1, 1}, Cores: int(form >> 6)})
		if err != nil {
			return
		}
		if err := e.Model.Validate(); err != nil {
			t.Error(err)
		}
		if _, err := pipeline.Parse(e.Model.Append(nil)); err != nil {
			t.Error(err)
		}
	})
}

package main

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/platform"
)

// lists are made once.
var lists = sync.OnceValues(func() (x struct {
	segments []segment
	largest  sample
}, err error,
) {
	x.segments, x.largest, err = learnRuns()
	return x, err
})

// fixed counts the calls of all ranks that do not depend on time.
func fixed(t *testing.T, s *settings, n int) []counts {
	t.Helper()
	all, err := s.inProcess(n)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]counts, n)
	for r, x := range all {
		for _, st := range x.stages {
			for _, c := range st.notes {
				if patternOf(st.name, c) != loose {
					list[r].note(c, r, n)
				}
			}
		}
	}
	return list
}

// TestLaws holds what ranks count in weak scaling: messages grow with the logarithm of the ranks, rounds not at all, and rank 0 has
// no more than twice the bytes of the others.
func TestLaws(t *testing.T) {
	s := &settings{program: "stencil:iterations=20,jitter=5,seed=1", each: 1}
	var messages []float64
	ranks := []int{4, 16, 64}
	for _, n := range ranks {
		list := fixed(t, s, n)
		m, rounds, bytes := spreadOf(list, (*counts).messages), spreadOf(list, func(c *counts) int64 { return c.Rounds }), spreadOf(list, func(c *counts) int64 { return c.Bytes })
		messages = append(messages, float64(m.median))
		if rounds.first != rounds.median || rounds.max != rounds.median || rounds.median > 150 {
			t.Errorf("%d ranks: %+v rounds", n, rounds)
		}
		if perLevel := float64(m.max) / float64(levels(n)); perLevel > 400 {
			t.Errorf("%d ranks: %d messages of a rank, %.0f for each doubling of the ranks", n, m.max, perLevel)
		}
		if bytes.first > 2*bytes.median {
			t.Errorf("%d ranks: rank 0 sends and receives %d bytes, the median is %d", n, bytes.first, bytes.median)
		}
	}
	if step := [2]float64{messages[1] - messages[0], messages[2] - messages[1]}; step[1] > 1.25*step[0] {
		t.Errorf("messages of the median rank on %v ranks: %v; they grow faster than the logarithm of the ranks", ranks, messages)
	}
}

// TestFlatHeap compares what is alive at the ends of stages, for each rank.
func TestFlatHeap(t *testing.T) {
	s := &settings{program: ringProgram, each: 2, heap: true}
	var live []int64
	for _, n := range []int{1, 2, 16} { // the first one also pays for what the packages below keep for the process
		all, err := s.inProcess(n)
		if err != nil {
			t.Fatal(err)
		}
		most := int64(0)
		for _, st := range all[0].stages {
			most = max(most, st.live)
		}
		live = append(live, most)
	}
	if d := float64(live[2])/float64(live[1]) - 1; math.Abs(d) > 0.1 {
		t.Errorf("%d bytes alive for each of 2 ranks, %d for each of 16", live[1], live[2])
	}
}

// TestWrittenLists compares generated lists with the calls of runs, one by one.
func TestWrittenLists(t *testing.T) {
	x, err := lists()
	if err != nil {
		t.Fatal(err)
	}
	s := &settings{program: ringProgram, each: 1}
	ranks := []int{8, 64}
	if !testing.Short() {
		ranks = append(ranks, 16, 32, 128)
	}
	for _, n := range ranks {
		all, err := s.inProcess(n)
		if err != nil {
			t.Fatal(err)
		}
		c := compare(x.segments, newSample(all))
		if c.different != "" {
			t.Error(c.different)
		}
		// Bytes that depend on what happened are within a factor of two.
		if c.generated > 2*c.noted || c.noted > 2*c.generated || 10*c.exact < 3*c.calls {
			t.Errorf("%d ranks: %d of %d calls have exact bytes, the others %d instead of %d", n, c.exact, c.calls, c.generated, c.noted)
		}
		t.Logf("%d ranks: %d calls are equal, %d of them with their bytes; bytes of the others %d, generated %d", n, c.calls, c.exact, c.noted, c.generated)
	}
}

// TestProgram simulates a job whose work is known: with no messages between nodes that cost anything it takes the work alone.
func TestProgram(t *testing.T) {
	x, err := lists()
	if err != nil {
		t.Fatal(err)
	}
	in := &input{events: 1000, factor: 2, loose: x.largest.loosely(), costs: costs{picos: map[string]int64{"load": 5000, "finish": 7000}}}
	free, err := platform.Read(strings.NewReader("schema = \"coppice.platform/1\"\n[links.net]\nL_ns = 0\n"), "free")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{8, 256} {
		p := newProgram(x.segments, n, in)
		r, err := p.run(free)
		if err != nil {
			t.Fatal(err)
		}
		if total := r.ends[len(r.ends)-1]; total != 1000*12000 {
			t.Errorf("%d ranks: %d ps, want %d", n, total, 1000*12000)
		}
		if err := (&p.Program).Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestFit(t *testing.T) {
	ranks := []int{1, 2, 4, 8, 16, 32, 64}
	for _, c := range []struct {
		name string
		f    func(p float64) float64
	}{
		{"const", func(float64) float64 { return 7 }},
		{"log P", func(p float64) float64 { return 100 + 9*math.Log2(p) }},
		{"sqrt P", func(p float64) float64 { return 3 + 2*math.Sqrt(p) }},
		{"P", func(p float64) float64 { return 3 + 2*p }},
		{"P log P", func(p float64) float64 { return 1 + 2*p*math.Log2(p) }},
	} {
		var v []float64
		for _, p := range ranks {
			v = append(v, c.f(float64(p)))
		}
		if l := fit(ranks, v); l.name != c.name || l.residual > enough {
			t.Errorf("%s: %v", c.name, l)
		}
	}
}

// TestCollectiveMessages: in a tree of n ranks there are n-1 messages.
func TestCollectiveMessages(t *testing.T) {
	for _, n := range []int{1, 2, 7, 64} {
		for _, kind := range []mpi.OpKind{mpi.OpBcast, mpi.OpGather} {
			sum := 0
			for r := range n {
				sum += collectiveMessages(mpi.Note{Kind: kind, Peer: n / 2}, r, n)
			}
			if sum != 2*(n-1) {
				t.Errorf("%v of %d ranks: %d ends of messages", kind, n, sum)
			}
		}
	}
}

func TestList(t *testing.T) {
	var l list
	for text, want := range map[string]string{"1,2,64": "[1 2 64]", "8": "[8]", "0": "", "1,x": ""} {
		if err := l.Set(text); (err == nil) != (want != "") || err == nil && fmt.Sprint(l) != want {
			t.Errorf("%s: %v, %v", text, l, err)
		}
	}
}

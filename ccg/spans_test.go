package ccg

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// plainSpans is what Spans must tell, from the events themselves.
func plainSpans(all *trace.Batch, event uint64, n int) (begin, end []uint64) {
	var open []int
	first := all.Events[event].Time
	for _, e := range all.Events[event:] {
		switch e.Kind {
		case trace.Enter, trace.CallingContextEnter:
			if len(begin) == n {
				return begin, end
			}
			open = append(open, len(begin))
			begin, end = append(begin, uint64(e.Time-first)), append(end, NeverEnds)
		case trace.Leave, trace.CallingContextLeave:
			if k := len(open) - 1; k >= 0 {
				end[open[k]] = uint64(e.Time - first)
				open = open[:k]
			}
		}
	}
	return begin, end
}

// begins are the numbers of the events that begin a call.
func begins(all *trace.Batch) (list []uint64) {
	for i := range all.Events {
		if k := all.Events[i].Kind; k == trace.Enter || k == trace.CallingContextEnter {
			list = append(list, uint64(i))
		}
	}
	return list
}

// TestSpans reads calls in order and anywhere, of random programs.
func TestSpans(t *testing.T) {
	for seed := range rounds(60) {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		m := &made{defs: ccgtest.Definitions(1)}
		m.streams = append(m.streams, ccgtest.NewScript(uint64(seed), 0, 1, seed%2 == 0).Stream(2000))
		m.finish(t, graph.Options{Fan: 2 + seed%7})
		all := m.streams[0]
		calls := begins(all)
		s, err := m.locs[0].Spans()
		if err != nil {
			t.Fatal(err)
		}
		for at, step := 0, 0; at < len(calls) && step < 400; step++ {
			n := min(1+r.IntN(40), len(calls)-at)
			begin, end := make([]uint64, n), make([]uint64, n)
			if err := s.Read(calls[at], 0, begin, end); err != nil {
				t.Fatal(seed, err)
			}
			wantBegin, wantEnd := plainSpans(all, calls[at], n)
			for i := range begin {
				if begin[i] != wantBegin[i] || end[i] != wantEnd[i] {
					t.Fatalf("seed %d: call %d, %d after event %d: %d to %d, want %d to %d", seed, at+i, i, calls[at], begin[i], end[i], wantBegin[i], wantEnd[i])
				}
			}
			if at += n; r.IntN(5) == 0 || at == len(calls) {
				at = r.IntN(len(calls))
			}
		}
	}
}

// TestSpansOfOther asks for what is not there.
func TestSpansOfOther(t *testing.T) {
	all := columnsEvents(3000)
	l := openOne(t, all)
	calls := begins(all)
	for _, c := range []struct {
		event uint64
		n     int
	}{{2, 1}, {uint64(len(all.Events)), 1}, {calls[len(calls)-3], 4}} {
		s, err := l.Spans()
		if err != nil {
			t.Fatal(err)
		}
		if all.Events[2].Kind == trace.Enter {
			c.event++
		}
		if err := s.Read(c.event, 0, make([]uint64, c.n), make([]uint64, c.n)); !errors.Is(err, graph.ErrCorrupt) && !errors.Is(err, ErrRange) {
			t.Errorf("%d calls from event %d on: %v", c.n, c.event, err)
		}
	}
}

func BenchmarkSpans(b *testing.B) {
	all := columnsEvents(1 << 20)
	l := openOne(b, all)
	calls := begins(all)
	s, err := l.Spans()
	if err != nil {
		b.Fatal(err)
	}
	begin, end := make([]uint64, 1024), make([]uint64, 1024)
	b.Run("order", func(b *testing.B) {
		at := 0
		for b.Loop() {
			if at+len(begin) > len(calls) {
				at = 0
			}
			if err := s.Read(calls[at], 0, begin, end); err != nil {
				b.Fatal(err)
			}
			at += len(begin)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(begin)), "ns/call")
	})
	b.Run("anywhere", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			if err := s.Read(calls[r.IntN(len(calls)-len(begin))], 0, begin, end); err != nil {
				b.Fatal(err)
			}
		}
	})
}

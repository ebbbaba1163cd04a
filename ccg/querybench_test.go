package ccg

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// columnsEvents is an iterative program of about 10^6 events whose graph has
// some hundred columns.
func columnsEvents(n int) *trace.Batch {
	r := rand.New(rand.NewPCG(3, 3))
	b := &trace.Batch{}
	t := trace.Time(0)
	tick := func(mean int) trace.Time {
		t += trace.Time(mean + r.IntN(mean/5+2))
		return t
	}
	b.Append(tick(1), trace.Enter, 0)
	for len(b.Events) < n {
		b.Append(tick(10), trace.Enter, 1)
		for k := range uint32(24) {
			b.Append(tick(20+int(k)), trace.Enter, 2+k%10)
			b.Append(tick(100), trace.MpiSend, 0, uint64(k%4), 0, uint64(k), uint64(1000+r.IntN(50)))
			b.Append(tick(1000), trace.Leave, 2+k%10)
		}
		b.Append(tick(5), trace.Leave, 1)
	}
	b.Append(tick(5), trace.Leave, 0)
	return b
}

func BenchmarkSeekEvent(b *testing.B) {
	l := openOne(b, columnsEvents(1<<20))
	c := l.Cursor()
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if err := c.SeekEvent(r.Uint64N(l.Events())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(l.cols)), "columns")
	b.ReportMetric(float64(len(l.view.Order)), "nodes")
}

func BenchmarkSeekTime(b *testing.B) {
	all := columnsEvents(1 << 20)
	l := openOne(b, all)
	c := l.Cursor()
	end := all.Events[len(all.Events)-1].Time
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if err := c.SeekTime(trace.Time(r.Uint64N(uint64(end)))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCursorStep(b *testing.B) {
	l := openOne(b, ccgtest.StencilEvents(1<<20, true))
	for _, back := range []bool{false, true} {
		b.Run(map[bool]string{false: "next", true: "prev"}[back], func(b *testing.B) {
			c := l.Cursor()
			b.ReportAllocs()
			for b.Loop() {
				var ok bool
				if back {
					_, ok = c.Prev()
				} else {
					_, ok = c.Next()
				}
				if !ok {
					k := uint64(0)
					if back {
						k = l.Events()
					}
					if err := c.SeekEvent(k); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkInterval(b *testing.B) {
	all := columnsEvents(1 << 20)
	l := openOne(b, all)
	end := uint64(all.Events[len(all.Events)-1].Time)
	x := l.Index()
	query := func(b *testing.B, r *rand.Rand) {
		from, to := r.Uint64N(end), r.Uint64N(end)
		if _, err := x.Interval(trace.Time(min(from, to)), trace.Time(max(from, to))); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("warm", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 300 { // all blocks decoded
			query(b, r)
		}
		b.ReportAllocs()
		for b.Loop() {
			query(b, r)
		}
		b.ReportMetric(float64(len(l.cols)), "columns")
	})
	b.Run("cold", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		b.ReportAllocs()
		for b.Loop() {
			x = l.Index()
			query(b, r)
		}
	})
}

func BenchmarkTimeline(b *testing.B) {
	all := columnsEvents(1 << 20)
	x := openOne(b, all).Index()
	end := all.Events[len(all.Events)-1].Time
	for _, c := range []struct {
		name string
		end  trace.Time
	}{{"whole", end}, {"hundredth", end / 100}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Timeline(0, c.end, 1000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCallDurations(b *testing.B) {
	x := openOne(b, columnsEvents(1<<20)).Index()
	for _, c := range []struct {
		name   string
		region uint32
	}{{"inner", 1}, {"leaf", 2}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.CallDurations(c.region); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkProfileNodes profiles a graph of 10^6 nodes, flat and by path.
func BenchmarkProfileNodes(b *testing.B) {
	l := openOne(b, ccgtest.IrregularEvents(7<<20))
	b.Run("flat", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p Profile
			if err := p.Add(l, false); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(l.view.Order)), "nodes")
	})
}

func BenchmarkPathProfile(b *testing.B) {
	l := openOne(b, columnsEvents(1<<20))
	b.ReportAllocs()
	for b.Loop() {
		var p PathProfile
		if err := p.Add(l); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalkStencil goes through the events of a location in order and does
// nothing with them.
func BenchmarkWalkStencil(b *testing.B) {
	loc := openOne(b, ccgtest.StencilEvents(1<<20, true))
	var w graph.Walker
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		w.Init(loc.view)
		for n = 0; ; n++ {
			if st, _, _ := w.Next(); st == graph.StepEnd {
				break
			}
		}
	}
	if n != loc.Events() {
		b.Fatalf("%d events, want %d", n, loc.Events())
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(n), "ns/event")
}

func BenchmarkExpandStencil(b *testing.B) {
	all := ccgtest.StencilEvents(1<<20, true)
	loc := openOne(b, all)
	var out trace.Batch
	b.ReportAllocs()
	for b.Loop() {
		x := loc.Expand()
		for x.Next(&out) == nil {
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(all.Events)), "ns/event")
}

func BenchmarkProfile(b *testing.B) {
	loc := openOne(b, ccgtest.StencilEvents(1<<20, true))
	for _, inclusive := range []bool{false, true} {
		b.Run(map[bool]string{false: "exclusive", true: "inclusive"}[inclusive], func(b *testing.B) {
			for b.Loop() {
				var p Profile
				if err := p.Add(loc, inclusive); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

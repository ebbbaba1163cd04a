package causes

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// neighbours is a program in which every location waits for one next to it in each
// iteration, after calls of some of its functions.
func neighbours(locations, iterations, functions int) *program {
	r := rand.New(rand.NewPCG(1, 2))
	p := &program{locations: make([]rows, locations), derived: []bool{false}}
	for i := range p.locations {
		l := &p.locations[i]
		l.mpi = true
		l.calls = append(l.calls, xtf.Call{})
		t := uint64(0)
		for range iterations {
			for k := range 4 {
				took, function := 50+r.Uint64N(50), uint32(k)
				if functions > 4 {
					function = r.Uint32N(uint32(functions))
				}
				l.calls = append(l.calls, xtf.Call{T: t, End: t + took, Region: 2 + function, Depth: 1})
				t += took
			}
			end := t + 100 + r.Uint64N(100)
			l.calls = append(l.calls, xtf.Call{T: t, End: end, Region: 1, Depth: 1, Flags: xtf.FlagOutermostMPI})
			cause := uint32((i + 1 + r.IntN(2)*(locations-2)) % locations)
			over := end - 9 - r.Uint64N(80) // on each location at other instants, so that no two end together
			l.waits = append(l.waits, xtf.Wait{T: t, End: over/8*8 + uint64(i), CauseP: cause})
			t = end
		}
		l.calls[0].End = t
		l.ivals = []xtf.Ival{{End: t}}
		l.last, p.last = t, max(p.last, t)
	}
	return p
}

// BenchmarkCauses measures both passes on rows in memory.
func BenchmarkCauses(b *testing.B) {
	const locations, iterations = 8, 4000
	for _, v := range []struct{ functions, ranks int }{{4, 1}, {4, 2}, {400, 1}} {
		p := neighbours(locations, iterations, v.functions)
		defs := p.definitions()
		union, own := p.paths()
		ranks := v.ranks
		b.Run(fmt.Sprintf("functions=%d/ranks=%d", v.functions, ranks), func(b *testing.B) {
			b.ReportAllocs()
			var sent, messages atomic.Uint64
			for b.Loop() {
				err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
					run := p.run(b, c, defs, union, own)
					way, err := FindPath(run, p.extent, func(trace.P, *xtf.CPath) error { return nil })
					if err != nil {
						return err
					}
					_, rep, err := NewDelays(run, way).Costs(func(trace.P, *xtf.Delay) error { return nil })
					messages.Add(way.report.Messages)
					sent.Add(rep.Bytes)
					if rep.Strict {
						b.Error("a circle of waits")
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(locations*iterations), "ns/wait")
			b.ReportMetric(float64(sent.Load())/float64(b.N)/(locations*iterations), "sentB/wait")
			b.ReportMetric(float64(messages.Load())/float64(b.N), "messages")
		})
	}
}

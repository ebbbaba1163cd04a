package pipeline

import (
	"fmt"
	"testing"
)

// BenchmarkWalk shows how cost grows with tasks, stages and jobs; one sample each.
func BenchmarkWalk(b *testing.B) {
	model := func(stages, chunks, n int) *Model {
		centers := cpus(stages)
		centers = append(centers, Center{"net", FCFS, 1})
		var list [][]Demand
		for s := range stages {
			list = append(list, d(float64(s), float64(chunks)*(1+float64(s%3)/10), float64(stages), float64(chunks)*.1))
		}
		return line(centers, n, 0, chunks, 2, service{scv: .25, visits: 1}, list...)
	}
	for _, c := range []struct{ stages, chunks, n int }{
		{4, 250, 8}, {4, 2500, 8}, {4, 25_000, 8}, {8, 1250, 8}, {16, 625, 8}, {4, 2500, 1}, {4, 2500, 2}, {4, 2500, 16}, {4, 2500, 64},
	} {
		b.Run(fmt.Sprintf("stages=%d/tasks=%d/jobs=%d", c.stages, c.stages*c.chunks, c.n), func(b *testing.B) {
			m := model(c.stages, c.chunks, c.n)
			b.ReportAllocs()
			sets := 0
			for b.Loop() {
				s := m.compile(nil)
				w := newWalker(s, &s.jobs[0], 7, 1)
				s.recursion(w)
				sets = 0
				for _, g := range w.h.groups {
					sets += len(g.sets.size)
				}
			}
			b.ReportMetric(float64(sets), "sets")
		})
	}
}

// BenchmarkSimulate ends 5000 jobs.
func BenchmarkSimulate(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		solve(b, biJob(4, 0, 4, exponential), Options{Method: MethodSim, SimJobs: 5000})
	}
}

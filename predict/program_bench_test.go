package predict

import (
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/mpi"
)

// BenchmarkOpen makes programs and vectors. Operations are calls of MPI functions and messages or collectives in them.
func BenchmarkOpen(b *testing.B) {
	for _, name := range []string{"stencil:procs=8,events=400k", "irregular:procs=8,events=400k", "lulesh-s4-27", "lammps-melt-16", "npb-cg.S-16"} {
		b.Run(name, func(b *testing.B) {
			var f *graphFile
			if strings.Contains(name, ":") {
				o, err := tracetest.ParseOptions(name)
				if err != nil {
					b.Fatal(err)
				}
				src, err := tracetest.New(o)
				if err != nil {
					b.Fatal(err)
				}
				if f, err = graphsOf(src); err != nil {
					b.Fatal(err)
				}
			} else {
				f = archive(b, archives(b), name)
			}
			var in *Input
			var err error
			b.ResetTimer()
			b.ReportAllocs()
			for range b.N {
				if in, err = OpenGraphs(mpi.Serial(), f, OpenOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			var calls, actions, entries, size uint64
			for p := range in.Processes() {
				calls += in.Calls(p)
				entries += in.Vectors.Entries(p)
				size += uint64(len(in.Vectors.list[p].bytes))
			}
			weight := make([]uint64, len(in.Program.Nodes))
			for i, n := range in.Program.Nodes {
				if n.Kind == 0 {
					weight[i] = uint64(n.Len)
				} else {
					for _, c := range in.Program.Children[n.First : n.First+n.Len] {
						weight[i] += weight[c]
					}
					if n.Kind == 2 {
						weight[i] *= n.Count
					}
				}
			}
			for _, r := range in.Program.Roots {
				actions += weight[r]
			}
			var events uint64
			for _, n := range f.events {
				events += n
			}
			s := b.Elapsed().Seconds() / float64(b.N) * 1e6
			b.ReportMetric(float64(calls+actions)/s, "Mops/s")
			b.ReportMetric(float64(events)/s, "Mevents/s")
			b.ReportMetric(float64(size)/float64(entries), "B/entry")
			b.ReportMetric(float64(len(in.Program.Nodes)), "nodes")
		})
	}
}

package predict

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// BenchmarkOpen makes programs and vectors. Operations are calls of MPI functions and messages or collectives in them.
func BenchmarkOpen(b *testing.B) {
	for _, name := range []string{"stencil:procs=8,events=400k", "irregular:procs=8,events=400k", "lulesh-s4-27", "lammps-melt-16", "npb-cg.S-16"} {
		b.Run(name, func(b *testing.B) {
			var f *graphFile
			if strings.Contains(name, ":") {
				o, err := synthetic.ParseOptions(name)
				if err != nil {
					b.Fatal(err)
				}
				src, err := synthetic.New(o)
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
			began := processorTime(b)
			for range b.N {
				if in, err = Open(mpi.Serial(), f, OpenOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			ended := processorTime(b) - began
			var calls, actions, entries, size uint64
			for p := range in.Processes() {
				calls += in.Calls(p)
				entries += in.Vectors.Entries(p)
				size += uint64(len(in.Vectors.list[p].bytes))
			}
			actions = unrolledActions(in.Program)
			var events uint64
			for _, n := range f.events {
				events += n
			}
			s := ended.Seconds() / float64(b.N) * 1e6
			b.ReportMetric(float64(calls+actions)/s, "Mops/cpu-s")
			b.ReportMetric(float64(events)/s, "Mevents/cpu-s")
			b.ReportMetric(float64(size)/float64(entries), "B/entry")
			b.ReportMetric(float64(len(in.Program.Nodes)), "nodes")
		})
	}
}

// processorTime returns what the process took so far: the machine may be busy with other work.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// unrolledActions counts the actions of all processes.
func unrolledActions(p *program.Program) (n uint64) {
	weight := make([]uint64, len(p.Nodes))
	for i, x := range p.Nodes {
		if x.Kind == program.Call {
			weight[i] = uint64(x.Len)
			continue
		}
		for _, c := range p.Children[x.First : x.First+x.Len] {
			weight[i] += weight[c]
		}
		weight[i] *= max(x.Count, 1)
	}
	for _, r := range p.Roots {
		n += weight[r]
	}
	return n
}

package analyze_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
)

func BenchmarkAnalyze(b *testing.B) {
	for _, spec := range []string{"stencil:procs=8,events=2M,seed=1", "wavefront:procs=8,events=1M,seed=1", "irregular:procs=8,events=1M,seed=1"} {
		in := jobtest.MakeArchive(b, spec)
		for _, v := range []struct {
			name string
			o    analyze.Options
		}{
			{"events=all", analyze.Options{}},
			{"events=none", analyze.Options{GraphOnly: true}},
			{"events=none,deviation=10%", analyze.Options{GraphOnly: true, Deviation: "10%"}},
		} {
			b.Run(spec+"/"+v.name, func(b *testing.B) {
				o := v.o
				o.Trace, o.Output, o.Force, o.StoreBytes, o.Version = in, filepath.Join(b.TempDir(), "run.xtf"), true, 1<<30, "bench"
				b.ReportAllocs()
				var events uint64
				for b.Loop() {
					r, err := jobtest.Analyze(1, o)
					if err != nil {
						b.Fatal(err)
					}
					events += r.Events
				}
				b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			})
		}
	}
}

// BenchmarkArchive analyses the archive that COPPICE_BENCH_TRACE names, with one
// rank; it is for profiles of real traces.
func BenchmarkArchive(b *testing.B) {
	in := os.Getenv("COPPICE_BENCH_TRACE")
	if in == "" {
		b.Skip("set COPPICE_BENCH_TRACE to an archive")
	}
	out := filepath.Join(b.TempDir(), "run.xtf")
	var events uint64
	for b.Loop() {
		r, err := jobtest.Analyze(1, analyze.Options{Trace: in, Output: out, Force: true, StoreBytes: 1 << 30, Version: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

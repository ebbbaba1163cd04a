package jobs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// makeArchive writes a generated trace as an OTF2 archive and returns its
// anchor file.
func makeArchive(tb testing.TB, spec string) string {
	tb.Helper()
	o, err := tracetest.ParseOptions(spec)
	if err != nil {
		tb.Fatal(err)
	}
	src, err := tracetest.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "traces.otf2")
}

// analyze runs the job on n in-process ranks.
func analyze(n int, o jobs.AnalyzeOptions) (res *jobs.AnalyzeResult, err error) {
	err = mpi.RunInProcess(n, func(c mpi.Comm) error {
		r, err := jobs.Analyze(c, o)
		if c.Rank() == 0 {
			res = r
		}
		return err
	})
	return res, err
}

func BenchmarkAnalyze(b *testing.B) {
	for _, spec := range []string{"stencil:procs=8,events=2M,seed=1", "wavefront:procs=8,events=1M,seed=1", "irregular:procs=8,events=1M,seed=1"} {
		in := makeArchive(b, spec)
		for _, v := range []struct {
			name string
			o    jobs.AnalyzeOptions
		}{
			{"events=all", jobs.AnalyzeOptions{}},
			{"events=none", jobs.AnalyzeOptions{GraphOnly: true}},
			{"events=none,deviation=10%", jobs.AnalyzeOptions{GraphOnly: true, Deviation: "10%"}},
		} {
			b.Run(spec+"/"+v.name, func(b *testing.B) {
				o := v.o
				o.Trace, o.Output, o.Force, o.StoreBytes, o.Version = in, filepath.Join(b.TempDir(), "run.xtf"), true, 1<<30, "bench"
				b.ReportAllocs()
				var events uint64
				for b.Loop() {
					r, err := analyze(1, o)
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
		r, err := analyze(1, jobs.AnalyzeOptions{Trace: in, Output: out, Force: true, StoreBytes: 1 << 30, Version: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

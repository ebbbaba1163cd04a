package analyze_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/xtf"
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

// BenchmarkRows reads messages and members of collectives, whose times are those of the calls in the call graph: in order, and
// rows anywhere whose pages are not in the cache.
func BenchmarkRows(b *testing.B) {
	path := filepath.Join(b.TempDir(), "run.xtf")
	o := analyze.Options{Source: jobtest.Generated(b, "ring:procs=4,events=1M,every=1"), Output: path, Version: "bench"}
	if _, err := jobtest.Analyze(1, o); err != nil {
		b.Fatal(err)
	}
	f, err := callview.OpenFile(path, xtf.Options{CacheBytes: 128 << 10})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for _, id := range []xtf.TypeID{xtf.TypeP2P, xtf.TypeColl} {
		a, err := f.Array(0, id)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(a.Type().Name+"/order", func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				rows := a.Rows(0, a.Len())
				for rows.Next() {
					n++
				}
				if rows.Err() != nil {
					b.Fatal(rows.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
		})
		b.Run(a.Type().Name+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			r := rand.New(rand.NewPCG(1, 1))
			var row []byte
			for b.Loop() {
				if row, err = a.Row(r.Uint64N(a.Len()), row); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

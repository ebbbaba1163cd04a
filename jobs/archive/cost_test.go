package archive_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/archive"
)

// TestExportMemory counts the heap of one rank: it grows with the file's largest
// location only, so a file of four times the locations of one size takes no
// more, and stays under the formula of docs/export.md.
func TestExportMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the heap over a second")
	}
	peak := func(spec string) int64 {
		run := runOf(t, jobtest.Generated(t, spec))
		st, err := os.Stat(run)
		if err != nil {
			t.Fatal(err)
		}
		most := jobtest.PeakHeap(func() {
			if _, err := export(1, archive.Options{Run: run, Output: filepath.Join(t.TempDir(), "again")}); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %d KiB for a file of %d KiB", spec, most>>10, st.Size()>>10)
		return most
	}
	few := peak("stencil:procs=8,events=400k,jitter=10")
	many := peak("stencil:procs=32,events=1600k,jitter=10")
	const noise = 5 << 20 // garbage between two collections, and what the 24 locations more define
	if many > few+noise {
		t.Errorf("4 times the locations of the same size take %d KiB more", (many-few)>>10)
	}
	const limit = 12 << 20 // definitions and graph are below 100 KiB here, a location's columns 300 KiB, all batches and chunks 2 MiB
	if many > limit {
		t.Errorf("%d KiB, the formula allows %d KiB", many>>10, limit>>10)
	}
}

func BenchmarkExport(b *testing.B) {
	for _, spec := range []string{"stencil:procs=8,events=2M,jitter=10,seed=1", "irregular:procs=8,events=1M,seed=1"} {
		b.Run(spec, func(b *testing.B) {
			run := filepath.Join(b.TempDir(), "run.xtf")
			if _, err := jobtest.Analyze(1, analyze.Options{Trace: jobtest.MakeArchive(b, spec), Output: run, StoreBytes: 1 << 30, Version: "bench"}); err != nil {
				b.Fatal(err)
			}
			out := filepath.Join(b.TempDir(), "again")
			b.ReportAllocs()
			var events uint64
			for b.Loop() {
				r, err := export(1, archive.Options{Run: run, Output: out, Force: true})
				if err != nil {
					b.Fatal(err)
				}
				events += r.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

package analyze_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// compareViews analyses a source with pages that leave times to the call graph, and with plain ones, and compares all rows.
func compareViews(t *testing.T, src trace.Source) {
	t.Helper()
	var sums [2][32]byte
	for i, p := range []xtf.Profile{xtf.Packed, xtf.Raw4K} {
		out := filepath.Join(t.TempDir(), "run.xtf")
		if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: out, Profile: p, StoreBytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		f, err := callview.OpenFile(out, xtf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if sums[i], err = f.Digest(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if sums[0] != sums[1] {
		t.Error("rows differ")
	}
}

// TestViews compares all rows of random streams and real archives with those of files that keep every column.
func TestViews(t *testing.T) {
	base, err := tracetest.Parse("-- program --\nprocesses 2\nthreads 2\n-- events --\n0 1 ENTER MPI_Send\n0 2 ENTER MPI_Barrier\n0 3 ENTER main\n0 4 ENTER MPI_Waitall\n")
	if err != nil {
		t.Fatal(err)
	}
	seeds := 12
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("random ", seed), func(t *testing.T) {
			t.Parallel()
			compareViews(t, &randomSource{base, uint64(seed), 20_000})
		})
	}
	if testing.Short() {
		return
	}
	for _, path := range jobtest.Archives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			compareViews(t, src)
		})
	}
}

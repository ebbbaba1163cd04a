package analyze_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// compareViews compares all rows of a source's file, whose pages leave times to the call graph, with those of plain pages.
func compareViews(t *testing.T, src trace.Source, file []byte) {
	t.Helper()
	plain := analyzed(t, 2, analyze.Options{Source: src, Profile: xtf.Raw4K, StoreBytes: 1 << 20})
	var sums [2][32]byte
	for i, b := range [...][]byte{file, plain} {
		var err error
		if sums[i], err = xtftest.Digest(openBytes(t, b)); err != nil {
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
	seeds, events := 12, 20_000
	if testing.Short() {
		seeds, events = 2, 5000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("random ", seed), func(t *testing.T) {
			t.Parallel()
			src := &randomSource{base, uint64(seed), events}
			compareViews(t, src, analyzed(t, 2, analyze.Options{Source: src, StoreBytes: 1 << 20}))
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
			compareViews(t, src, archiveFile(t, path, src))
		})
	}
}

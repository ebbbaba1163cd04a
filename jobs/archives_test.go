package jobs_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// archives lists the real archives that lie next to the repository.
func archives(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join("..", "..", "shared", "traces", "otf2", "*", "*.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(path string) bool {
		return filepath.Base(filepath.Dir(path)) == "buffer-endian" // contents of buffers, without definitions: no trace
	})
	if len(list) == 0 {
		t.Skip("no real traces in ../shared/traces/otf2 beside the repository")
	}
	return list
}

// TestRealTraces compares the file of each real archive with the oracle; of small archives once more with slices.
func TestRealTraces(t *testing.T) {
	for i, path := range archives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			n := announced(t, src)
			if testing.Short() && n > 40_000 {
				t.Skip("a large one, left out with -short")
			}
			want, file := checkRows(t, src)
			if testing.Short() && n > 20_000 {
				return
			}
			compareWithOracle(t, want, file)
			if n < 20_000 {
				compareSlices(t, src, 1+i%4)
			}
		})
	}
}

// compareSlices compares a trace cut into slices with the oracle.
func compareSlices(t *testing.T, src trace.Source, ranks int) {
	var list []oracle.Slice
	width := max(src.Definitions().Clock().TraceLength/10, 1000)
	for k := range uint64(20) {
		list = append(list, oracle.Slice{Key: oracle.Key{ID: k, Name: "slice"}, Begin: k * width, End: (k + 1) * width})
	}
	f := interval.Flags{Slice: interval.Length{N: width, Ticks: true}.String(), Init: "exclude"}
	checkAgainstOracle(t, src, jobs.AnalyzeOptions{Intervals: f}, oracle.Options{Slices: list, ExcludeInit: true}, ranks)
}

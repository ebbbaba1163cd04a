package analyze_test

import (
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestRealTraces compares the file of each real archive with the oracle; of small archives once more with slices.
func TestRealTraces(t *testing.T) {
	for i, path := range jobtest.Archives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			n := jobtest.Announced(t, src)
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
	checkAgainstOracle(t, src, analyze.Options{Intervals: f}, oracle.Options{Slices: list, ExcludeInit: true}, ranks)
}

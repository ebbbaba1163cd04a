package jobs_test

import (
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/interval"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestRealIntervals compares real archives with the oracle: as they are, and cut
// into slices.
func TestRealIntervals(t *testing.T) {
	for i, path := range archives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			if testing.Short() && announced(t, src) > 20_000 {
				t.Skip("a large one, left out with -short")
			}
			checkAgainstOracle(t, src, jobs.AnalyzeOptions{}, oracle.Options{}, 1+i%4)
			if announced(t, src) < 20_000 {
				var list []oracle.Slice
				width := max(src.Definitions().Clock().TraceLength/10, 1000)
				for k := range uint64(20) {
					list = append(list, oracle.Slice{Key: oracle.Key{ID: k, Name: "slice"}, Begin: k * width, End: (k + 1) * width})
				}
				f := interval.Flags{Slice: interval.Length{N: width, Ticks: true}.String(), Init: "exclude"}
				checkAgainstOracle(t, src, jobs.AnalyzeOptions{Intervals: f}, oracle.Options{Slices: list, ExcludeInit: true}, 1+i%4)
			}
		})
	}
}

package jobs_test

import (
	"testing"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
)

// TestRandomIntervals compares small random programs with the oracle.
func TestRandomIntervals(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		text, err := tracetest.RandomScript(seed).Text()
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		src, err := tracetest.Parse(text)
		if err != nil {
			t.Fatalf("program %d: %v", seed, err)
		}
		ranks := []int{1 + int(seed%4)}
		if seed%10 == 0 {
			ranks = []int{2, 1, 3, 7}
		}
		checkAgainstOracle(t, src, jobs.AnalyzeOptions{}, oracle.Options{}, ranks...)
		if t.Failed() {
			t.Fatalf("program %d:\n%s", seed, shown(text))
		}
	}
}

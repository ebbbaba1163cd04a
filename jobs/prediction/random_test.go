package prediction_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/prediction"
)

// instantNetwork is a machine on which messages take no time.
const instantNetwork = "schema = \"coppice.platform/1\"\n[nodes]\nranks_per_node = 1\n[links.net]\nL_ns = 0\neager_bytes = 1048576\n"

// predictable is a random program whose calls take no time but to wait, in operations that all members wait for if any does: so
// it takes as long as on a network without delays.
func predictable(seed uint64) *tracetest.Script {
	s := tracetest.RandomScript(seed)
	s.Latency = 0
	for _, steps := range s.Steps {
		for i := range steps {
			x := &steps[i]
			if x.Call == "" {
				continue
			}
			x.Ticks, x.Blocks = 0, x.Blocks && strings.HasPrefix(x.Call, "Win_")
			switch {
			case strings.HasPrefix(x.Call, "File_"):
				x.Call = "Barrier"
			case strings.HasPrefix(x.Call, "Test"):
				x.Call = "Waitall"
			}
			for _, name := range []*string{&x.Call, &x.As} {
				switch *name {
				case "Bcast", "Scatter", "Scatterv", "Reduce", "Gather", "Gatherv", "Scan", "Exscan":
					*name = "Allreduce"
				case "Ibcast", "Iscatter", "Iscatterv", "Ireduce", "Igather", "Igatherv", "Iscan", "Iexscan":
					*name = "Iallreduce"
				}
			}
		}
	}
	return s
}

// TestPredictRandomPrograms predicts random programs on the machine where they ran.
func TestPredictRandomPrograms(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 30
	}
	machine := platformFile(t, instantNetwork)
	for seed := range seeds {
		src, err := predictable(seed).Source()
		if err != nil {
			t.Fatal(err)
		}
		run := filepath.Join(t.TempDir(), "run.xtf")
		if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, StoreBytes: 1 << 20, Version: "test"}); err != nil {
			t.Fatal(err)
		}
		r := mustPredict(t, 1+int(seed%3), prediction.Options{Run: run, Platform: machine})
		if r.Makespan == nil || *r.Makespan != r.Measured {
			t.Errorf("seed %d: %d ps, measured %d, deadlock %+v, left %+v", seed, *r.Makespan, r.Measured, r.Deadlock, r.LeftOut)
		}
	}
}

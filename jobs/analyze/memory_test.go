package analyze_test

import (
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
)

// fixedMemory is what the formula allows next to segments, for a largest location of so many events.
func fixedMemory(t *testing.T, defs, largest int64, graphOnly, lossy bool) int64 {
	t.Helper()
	const mem = 1 << 50
	store, err := jobs.StoreBudget(mem, defs, uint64(largest), graphOnly, lossy)
	if err != nil {
		t.Fatal(err)
	}
	return mem - store
}

// TestMemory counts the heap of one rank on two sizes of one program. It must
// stay under the formula of docs/memory.md, and grow with the events of a
// single location only by what the formula says: page tables and the graph's
// streams. The number of locations must not matter.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the heap over several seconds")
	}
	const store = 8 << 20
	run := func(spec string, graphOnly bool, deviation string, regions ...string) (peak int64, perLocation int64) {
		src := jobtest.Generated(t, spec)
		out := filepath.Join(t.TempDir(), "run.xtf")
		var res *analyze.Result
		peak = jobtest.PeakHeap(func() {
			var err error
			o := analyze.Options{Source: src, Output: out, StoreBytes: store, GraphOnly: graphOnly, Deviation: deviation, Intervals: interval.Flags{Intervals: regions}, Version: "test"}
			if res, err = jobtest.Analyze(1, o); err != nil {
				t.Fatal(err)
			}
		})
		perLocation = int64(res.Events) / int64(res.Locations)
		if limit := fixedMemory(t, jobs.DefinitionsMemory(src.Definitions()), perLocation, graphOnly, deviation != "") + store; peak > limit {
			t.Errorf("%s: peak %d KiB, the formula allows %d KiB", spec, peak>>10, limit>>10)
		}
		t.Logf("%s, graph only %t, deviation %q, intervals %q: peak %d KiB, %d events per location, segments %d KiB in memory, %d KiB in files", spec, graphOnly, deviation, regions, peak>>10, perLocation, res.Store.Peak>>10, res.Store.Spilled>>10)
		return peak, perLocation
	}
	base, baseEvents := run("stencil:procs=48,events=1200k,jitter=10", false, "")
	long, longEvents := run("stencil:procs=6,events=3M,jitter=10", false, "")
	run("stencil:procs=6,events=3M,jitter=10", false, "", "region:*")
	run("stencil:procs=6,events=3M,jitter=10", true, "", "region:*")
	run("stencil:procs=6,events=600k,jitter=10", true, "1%,10ns")
	some, _ := run("stencil:procs=80,events=2M,jitter=10", false, "")
	many, _ := run("stencil:procs=160,events=4M,jitter=10", false, "")
	const noise = 10 << 20 // garbage between two collections, and the last bytes of many segments
	if grown, allowed := long-base, fixedMemory(t, 0, longEvents, false, false)-fixedMemory(t, 0, baseEvents, false, false)+noise; grown > allowed {
		t.Errorf("locations with 20 times the events take %d KiB more, the formula allows %d KiB", grown>>10, allowed>>10)
	}
	// What causes keeps of a slab grows slowly with the locations, K of the formula.
	if grown := many - some; grown > noise {
		t.Errorf("twice the locations of the same size take %d KiB more", grown>>10)
	}
}

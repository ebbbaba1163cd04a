package jobs

import (
	"testing"

	"github.com/coppice-hpc/coppice/predict/cluster"
)

// TestClassMemory shares memory between segments and classes: together they stay within what a rank may use, and both get more
// where there is more.
func TestClassMemory(t *testing.T) {
	for _, graphOnly := range []bool{true, false} {
		const defs, largest = 1 << 20, 1 << 20
		plan := planOf(defs, largest, graphOnly, false)
		var before cluster.Options
		lastStore := int64(0)
		for mem := plan.total(); mem < 1<<40; mem += mem / 3 {
			store, err := StoreBudget(mem, defs, largest, graphOnly, false)
			if err != nil {
				t.Fatal(err)
			}
			store = withClasses(store)
			left := mem - plan.runtime - plan.defs - store
			var o cluster.Options
			ShareClasses(&o, left)
			if left < leastClasses || o.Distances+o.Memory+o.Memory/8 > left || store < leastStore {
				t.Errorf("%d MiB: %d MiB for segments, %d for classes: %d for distances, %d for vectors", mem>>20, store>>20, left>>20, o.Distances>>20, o.Memory>>20)
			}
			if store < lastStore || o.Distances <= before.Distances || o.Memory < before.Memory {
				t.Errorf("%d MiB: segments %d after %d, distances %d after %d", mem>>20, store, lastStore, o.Distances, before.Distances)
			}
			lastStore, before = store, o
		}
	}
	var o cluster.Options
	if ShareClasses(&o, -1); o.Distances <= 0 || o.Memory <= 0 {
		t.Errorf("no memory left: %+v: 0 is not a limit", o)
	}
}

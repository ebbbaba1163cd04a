package predict

import (
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// TestForeignRoot has broadcasts of roots that are in the communicator and of those that are not: these are reported.
func TestForeignRoot(t *testing.T) {
	t.Parallel()
	const n, bcast = 3, 1
	var list []*trace.Batch
	for range n {
		s := &scribe{Batch: &trace.Batch{}}
		for _, root := range []uint64{2, n, trace.Undefined, 1} {
			s.call(inAllreduce, s.record(trace.MpiCollectiveEnd, bcast, 0, root, 8, 8))
		}
		list = append(list, s.Batch)
	}
	in := inputs(t, graphsOfBatches(t, worldOf(n), list), 1)[0]
	if in.Left != (Left{LeftNoRoot: 2 * n}) {
		t.Errorf("left %+v", in.Left)
	}
	for p := range uint32(n) {
		var roots []int64
		for _, c := range unrolled(in, p) {
			for _, a := range c.Actions {
				if a.Kind == program.PostColl {
					roots = append(roots, a.Partner)
				}
			}
		}
		if want := []int64{2, 0, 0, 1}; len(roots) != 4 || [4]int64(roots) != [4]int64(want) {
			t.Errorf("process %d: roots %v, want %v", p, roots, want)
		}
	}
}

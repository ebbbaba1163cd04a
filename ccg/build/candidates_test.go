package build

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

// candidateLists is the classic way to bound gaps, in one pass: a gap is stored
// as the first value of its context's list that lies within its bound, else as
// itself, at the end of the list. The result depends on the order of events.
func candidateLists(t *testing.T, l *Local, defs *trace.Definitions, d graph.Deviation) (values int, stats graph.ErrorStats) {
	var w gapWalk
	if err := w.begin(&l.graph, defs, gridSiblings); err != nil {
		t.Fatal(err)
	}
	lists := map[uint64][]uint64{}
	truth, stored := uint64(0), uint64(0)
	for i, v := range gapsOf(t, l) {
		for st, _, _ := w.step(); st == graph.StepCut; st, _, _ = w.step() {
		}
		rep := v
		if i > 0 {
			list := lists[w.key]
			n := 0
			for n < len(list) && max(v, list[n])-min(v, list[n]) > d.Bound(v) {
				n++
			}
			if n == len(list) {
				lists[w.key] = append(list, v)
				values++
			}
			rep = lists[w.key][n]
		}
		truth += v
		stored += rep
		stats.Event(max(truth, stored) - min(truth, stored))
	}
	return values, stats
}

// TestCandidateLists compares the codebook with candidate lists: about as many
// values, and times that do not drift.
func TestCandidateLists(t *testing.T) {
	defs := ccgtest.Definitions(8)
	r := rand.New(rand.NewPCG(1, 9))
	for _, d := range []graph.Deviation{{Num: 1, Den: 10}, {Abs: 100, Num: 1, Den: 10}, {Num: 1, Den: 100}, {Abs: 40}} {
		for name, all := range map[string]*trace.Batch{
			"stencil": ccgtest.StencilEvents(20000, true), "script": ccgtest.NewScript(r.Uint64(), 0, 8, true).Stream(5000),
		} {
			locals, book := lossy(t, defs, []*trace.Batch{all}, graph.Options{Deviation: d})
			q, err := book.Quantise(locals[0])
			if err != nil {
				t.Fatal(err)
			}
			values, stats := candidateLists(t, locals[0], defs, d)
			t.Logf("%s, %s: %d values in %d contexts, candidates %d; mean error %d, candidates %d; largest %d, %d", d, name,
				book.Bins(), book.Contexts(), values, q.errors.Mean(), stats.Mean(), q.errors.Largest, stats.Largest)
			if book.Bins() > values+values/4+book.Contexts()/4 {
				t.Errorf("%s, %s: %d values, candidate lists %d", d, name, book.Bins(), values)
			}
			factor := uint64(1)
			if d.Num > 0 {
				factor = 10
			}
			if name == "stencil" && q.errors.Largest*factor > stats.Largest {
				t.Errorf("%s: times off by %d, with candidate lists by %d", d, q.errors.Largest, stats.Largest)
			}
		}
	}
}

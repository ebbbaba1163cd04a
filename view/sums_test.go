package view

import (
	"errors"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// TestRunningTotals refuses running totals that fall, or that are more than sums over locations hold.
func TestRunningTotals(t *testing.T) {
	t.Parallel()
	x := serving(t, generated(t, "stencil:procs=3,events=600,depth=2,metrics,seed=4")).runs[0]
	a, err := x.array(0, xtf.TypeP2P)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Sums().Along(0, xtf.Never, densityBins)
	if err != nil {
		t.Fatal(err)
	}
	q := &arrows{x: x}
	if err := q.check(a, s); err != nil || len(s.T) < 2 {
		t.Fatalf("%d instants: %v", len(s.T), err)
	}
	sends := 0
	for k := range s.K {
		if item, _ := xtf.ItemOfSum(a.Type().ID, a.Type().Sums[k].Name); item == xtf.ItemBytesOut {
			sends = k
		}
	}
	last := (len(s.T)-1)*s.K + sends
	for _, v := range []uint64{xtf.Most(x.meta.Locations) + s.Sums[sends] + 1, s.Sums[last-s.K] - 1} {
		s.Sums[last] = v
		if err := q.check(a, s); !errors.Is(err, xtf.ErrCorrupt) {
			t.Errorf("a total of %d is taken: %v", v, err)
		}
	}
}

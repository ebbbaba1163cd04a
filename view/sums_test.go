package view

import (
	"errors"
	"strings"
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

// TestOverheadNote says of windows that their CPU time has what the tracer took, where it is not known when that was.
func TestOverheadNote(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"stencil4d-32": "CPU time has measurement overhead as well", "pingpong-scorep71": ""} {
		if got := answer[Stats](t, serving(t, realTrace(t, name)), "stats?exact=1").Note; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

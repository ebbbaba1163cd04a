package results

import (
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// TestLimits adds up to 2^63, where a window is refused, and no further.
func TestLimits(t *testing.T) {
	t.Parallel()
	l := Limits{1, 2, xtf.Most(1)}
	for range 3 {
		l.Add(Limits{1, xtf.Most(1), xtf.Most(1)})
	}
	if l != (Limits{4, xtf.Most(1), xtf.Most(1)}) {
		t.Errorf("%d", l)
	}
}

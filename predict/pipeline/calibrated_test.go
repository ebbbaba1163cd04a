package pipeline

import "testing"

// TestCalibrated has the calibrated functions at values whose squares are exact: with another exponent they differ at all but 0 and 1.
func TestCalibrated(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ at, share, damping float64 }{
		{0, 0, 1}, {0.25, 0.0625, 0.9375}, {0.5, 0.25, 0.75}, {0.75, 0.5625, 0.4375}, {1, 1, 0},
	} {
		if s, d := clockShare(x.at), residualDamping(x.at); s != x.share || d != x.damping {
			t.Errorf("at %v: share %v, damping %v, want %v and %v", x.at, s, d, x.share, x.damping)
		}
	}
}

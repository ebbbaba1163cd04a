package pipeline

import (
	"fmt"
	"math"
	"testing"
)

func TestVariates(t *testing.T) {
	t.Parallel()
	for x := 1e-300; x < 1e300; x *= 1.7 {
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-15*max(1, math.Abs(want)) {
			t.Fatalf("log %v = %v, not %v", x, got, want)
		}
	}
	for x := 0.0; x > -760; x -= .137 {
		if got, want := exponent(x), math.Exp(x); math.Abs(got-want) > 1e-15*want+1e-320 {
			t.Fatalf("exp %v = %v, not %v", x, got, want)
		}
	}
	const n = 40_000
	for _, scv := range []float64{0, .01, .3, 1, 4} {
		src := newSource(1, 0)
		var sum, squares float64
		for range n {
			x := src.unit(scv)
			sum += x
			squares += x * x
		}
		mean := sum / n
		near(t, fmt.Sprint("mean at ", scv), mean, 1, 4*math.Sqrt(scv/n))
		near(t, fmt.Sprint("variability at ", scv), squares/n/mean/mean-1, scv, .08*scv)
	}
}

// TestSlowdown compares with the sum over all counts, one by one.
func TestSlowdown(t *testing.T) {
	t.Parallel()
	naive := func(list []float64) []float64 {
		p := []float64{1}
		for _, x := range list {
			next := make([]float64, len(p)+1)
			for i, w := range p {
				next[i] += w * (1 - x)
				next[i+1] += w * x
			}
			p = next
		}
		return p
	}
	src := newSource(2, 0)
	for range 300 {
		m, n1, n2 := 1+src.rng.IntN(6), src.rng.IntN(9), src.rng.IntN(30)
		p1, p2 := src.rng.Float64(), src.rng.Float64()
		var list []float64
		for range n1 {
			list = append(list, p1)
		}
		for range n2 {
			list = append(list, p2)
		}
		var want float64
		for n, w := range naive(list) {
			want += w * max(1, float64(1+n)/float64(m))
		}
		got := slowdown(m, binomial(n1, p1, nil), float64(n1)*p1, binomial(n2, p2, nil), float64(n2)*p2)
		near(t, "slowdown", got, want, 1e-12*want)
	}
	for _, c := range []struct {
		n int
		p float64
	}{{mostTrials, 1e-3}, {1 << 20, .999999}, {5, 0}, {5, 1}, {0, .5}, {1 << 30, 1e-300}} {
		d := binomial(c.n, c.p, nil)
		var sum, mean float64
		for i, w := range d.p {
			sum += w
			mean += w * float64(d.first+i)
		}
		near(t, "sum", sum, 1, 1e-9)
		near(t, "mean", mean, float64(c.n)*c.p, 1e-6*(1+float64(c.n)*c.p))
	}
}

// TestMaxima of independent times.
func TestMaxima(t *testing.T) {
	t.Parallel()
	near(t, "two exponentials", maxExponential([]float64{1, 2}).mean, 1+2-1/(1+.5), 1e-12)
	h, h2 := harmonic(20)
	same := make([]float64, 20)
	for i := range same {
		same[i] = 3
	}
	if l := maxExponential(same); math.Abs(l.mean-3*h) > 1e-12 || math.Abs(l.variance-9*h2) > 1e-12 {
		t.Errorf("%+v", l)
	}
	same[0] = 3.000001 // by integration
	if l := maxExponential(same); math.Abs(l.mean-3*h) > 1e-4 || math.Abs(l.variance-9*h2) > 1e-2 {
		t.Errorf("%+v, not %v %v", l, 3*h, 9*h2)
	}
	exact, mixed := maxExponential([]float64{1, 1, 1, 1, 2, 2, 2, 5}), integrated([]float64{1, 1, 1, 1, 2, 2, 2, 5})
	near(t, "mixed exponentials", mixed.mean, exact.mean, 1e-4)
	near(t, "their variance", mixed.variance, exact.variance, 1e-2)
	if l := clark(law{2, 0}, law{1, 0}); l != (law{2, 0}) {
		t.Errorf("%+v", l)
	}
	a, b := law{2, 1}, law{3, 2}
	near(t, "largest and least are the sum", clark(a, b).mean+least(a, b).mean, 5, 1e-12)
}

package pipeline

import (
	"math"
	"math/rand/v2"
)

// source draws random numbers. Its logarithm and exponential are our own, since those of package math round differently
// on different processors, and a simulated event that comes earlier by one bit could change a whole run.
type source struct {
	rng   *rand.Rand
	spare float64 // a normal variate that is left over
	has   bool
}

// newSource starts stream number stream of the seed.
func newSource(seed, stream uint64) *source {
	return &source{rng: rand.New(rand.NewPCG(seed, stream))}
}

// open is uniform in (0, 1].
func (s *source) open() float64 { return 1 - float64(s.rng.Float64()) }

// exponential has mean 1.
func (s *source) exponential() float64 { return -logarithm(s.open()) }

// normal is standard normal, by the polar method of Marsaglia.
func (s *source) normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		u, v := float64(2*s.rng.Float64())-1, float64(2*s.rng.Float64())-1
		r := float64(u*u) + float64(v*v)
		if r >= 1 || r == 0 {
			continue
		}
		f := math.Sqrt(-2 * logarithm(r) / r)
		s.spare, s.has = v*f, true
		return u * f
	}
}

// gamma has mean 1 and squared coefficient of variation scv <= 1: Marsaglia and Tsang, A simple method for generating gamma
// variables, ACM TOMS 26 (2000).
func (s *source) gamma(scv float64) float64 {
	shape := 1 / scv
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		u := s.open()
		x2 := float64(x * x)
		if u < 1-float64(0.0331*float64(x2*x2)) || logarithm(u) < float64(0.5*x2)+float64(d*(1-v+logarithm(v))) {
			return d * v / shape
		}
	}
}

// unit has mean 1 and squared coefficient of variation scv: a gamma variate up to 1, a mix of two exponentials with balanced
// means above.
func (s *source) unit(scv float64) float64 {
	switch {
	case scv <= 0:
		return 1
	case scv == 1:
		return s.exponential()
	case scv < 1:
		return s.gamma(scv)
	}
	p := 0.5 * (1 + math.Sqrt((scv-1)/(scv+1)))
	if s.rng.Float64() < p {
		return s.exponential() / (2 * p)
	}
	return s.exponential() / (2 * (1 - p))
}

// logarithm is the natural logarithm of a positive number, to 2 units in the last place: with x = 2^e f and f near 1,
// log f = 2 artanh((f-1)/(f+1)).
func logarithm(x float64) float64 {
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	s := (f - 1) / (f + 1)
	z := float64(s * s)
	var sum float64
	for n := 21; n >= 3; n -= 2 {
		sum = float64(z * (1/float64(n) + sum))
	}
	return float64(float64(e)*math.Ln2) + float64(2*s*(1+sum))
}

// exponent is e to the power of x <= 0, to 2 units in the last place: the series on the remainder of x by log 2.
func exponent(x float64) float64 {
	if x < -745 {
		return 0
	}
	const high, low = 6.93147180369123816490e-01, 1.90821492927058770002e-10 // of log 2, the first with zeros at its end
	k := math.Round(x / math.Ln2)
	r := x - float64(k*high) - float64(k*low)
	sum := 1.0
	for n := 14; n >= 1; n-- {
		sum = 1 + float64(r*sum/float64(n))
	}
	return math.Ldexp(sum, int(k))
}

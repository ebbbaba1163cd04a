package pipeline

import (
	"math"
	"slices"
)

// law is a time by mean and variance.
type law struct{ mean, variance float64 }

// harmonic is H_n = 1 + 1/2 + ... + 1/n, and squares the same sum of squares.
func harmonic(n int) (sum, squares float64) {
	for i := n; i >= 1; i-- {
		sum += 1 / float64(i)
		squares += 1 / square(float64(i))
	}
	return sum, squares
}

// mostInclusion is the number of branches up to which the maximum of exponential times is computed over all their subsets.
const mostInclusion = 12

// maxExponential is the law of the largest of independent exponential times.
func maxExponential(means []float64) law {
	low, high := means[0], means[0]
	for _, m := range means {
		low, high = min(low, m), max(high, m)
	}
	n := len(means)
	switch {
	case high-low <= 1e-9*high:
		h, h2 := harmonic(n)
		return law{means[0] * h, square(means[0]) * h2}
	case n > mostInclusion:
		return integrated(means)
	}
	var first, second float64
	for set := 1; set < 1<<n; set++ {
		var rate float64
		sign := -1.0
		for i, m := range means {
			if set>>i&1 == 1 {
				rate += 1 / m
				sign = -sign
			}
		}
		first += sign / rate
		second += sign * 2 / square(rate)
	}
	return law{first, max(0, second-square(first))}
}

// integrated is the law of the largest of many exponential times, by Simpson's rule on the probability that it is not over yet.
// Equal means are one factor. O(distinct means) for each of 1024 points.
func integrated(means []float64) law {
	const points = 1024
	list := slices.Sorted(slices.Values(means))
	end := list[len(list)-1] * (40 + logarithm(float64(len(list))))
	step := end / points
	var r law
	for i := range points + 1 {
		t := float64(float64(i) * step) // rounded: 2 t below must not become a fused sum
		over := 1.0
		for at := 0; at < len(list) && over > 0; {
			n := at
			for n < len(list) && list[n] == list[at] {
				n++
			}
			over = float64(over * power(1-exponent(-t/list[at]), int32(n-at)))
			at = n
		}
		weight := float64(2 + 2*(i%2))
		if i == 0 || i == points {
			weight = 1
		}
		left := (1 - over) * weight * step / 3
		r.mean += float64(left)
		r.variance += float64(2 * t * left)
	}
	r.variance = max(0, r.variance-square(r.mean))
	return r
}

// clark is the larger of two independent times, as if they were normal: Clark, The greatest of a finite set of random
// variables, Operations Research 9 (1961).
func clark(a, b law) law {
	spread := a.variance + b.variance
	if spread < 1e-18 {
		if a.mean >= b.mean {
			return a
		}
		return b
	}
	s := math.Sqrt(spread)
	z := (a.mean - b.mean) / s
	p := 0.5 * (1 + math.Erf(z/math.Sqrt2))
	density := exponent(-square(z)/2) / math.Sqrt(2*math.Pi)
	mean := float64(a.mean*p) + float64(b.mean*(1-p)) + float64(s*density)
	second := float64((square(a.mean)+a.variance)*p) + float64((square(b.mean)+b.variance)*(1-p)) +
		float64((a.mean+b.mean)*float64(s*density))
	return law{mean, max(0, second-square(mean))}
}

// least is the smaller of two independent times: together with the larger one it makes their sum.
func least(a, b law) law {
	most := clark(a, b)
	mean := max(0, a.mean+b.mean-most.mean)
	second := a.variance + square(a.mean) + b.variance + square(b.mean) - most.variance - square(most.mean)
	return law{mean, max(0, second-square(mean))}
}

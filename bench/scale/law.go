package main

import (
	"fmt"
	"math"
)

// law is a growth law: values are about a + b f(P).
type law struct {
	name     string
	a, b     float64
	residual float64 // root of the mean square of what is left, relative to the mean of the values
}

// shapes are the laws that are tried, in the order in which they grow.
var shapes = []struct {
	name string
	f    func(p float64) float64
}{
	{"const", func(float64) float64 { return 0 }},
	{"log P", math.Log2},
	{"sqrt P", math.Sqrt},
	{"P", func(p float64) float64 { return p }},
	{"P log P", func(p float64) float64 { return p * math.Log2(p) }},
}

// enough is the residual from which on a law that grows faster is not asked for.
const enough = 0.02

// fit returns the law that grows least of those with a residual below enough, else the one with the least residual. Least squares
// of a and b, b not negative.
func fit(ranks []int, values []float64) law {
	best := law{residual: math.Inf(1)}
	for _, s := range shapes {
		l := leastSquares(ranks, values, s.f)
		l.name = s.name
		if l.residual < best.residual {
			best = l
		}
		if best.residual <= enough {
			break
		}
	}
	return best
}

func leastSquares(ranks []int, values []float64, f func(float64) float64) law {
	n := float64(len(values))
	var sx, sy, sxx, sxy float64
	for i, y := range values {
		x := f(float64(ranks[i]))
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	l := law{a: sy / n}
	if d := n*sxx - sx*sx; d > 0 {
		if b := (n*sxy - sx*sy) / d; b > 0 {
			l.a, l.b = (sy-b*sx)/n, b
		}
	}
	var left float64
	for i, y := range values {
		d := y - l.a - l.b*f(float64(ranks[i]))
		left += d * d
	}
	if sy > 0 {
		l.residual = math.Sqrt(left/n) / (sy / n)
	}
	return l
}

func (l law) String() string {
	if l.name == "const" {
		return fmt.Sprintf("%.4g (%.1f %%)", l.a, 100*l.residual)
	}
	return fmt.Sprintf("%.3g + %.3g %s (%.1f %%)", l.a, l.b, l.name, 100*l.residual)
}

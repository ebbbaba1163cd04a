package pipeline

import "math"

// pmf is the distribution of a count, from first on. What is left out on both sides is below 1e-17.
type pmf struct {
	first int
	p     []float64
}

// binomial is the number of successes among n trials with probability p. It starts at the mode, so that nothing underflows.
// O(sqrt(n)) time and memory.
func binomial(n int, p float64, buf []float64) pmf {
	switch {
	case n <= 0 || p <= 0:
		return pmf{0, append(buf[:0], 1)}
	case p >= 1:
		return pmf{n, append(buf[:0], 1)}
	}
	mode := min(n, int(float64(float64(n+1)*p)))
	odds := p / (1 - p)
	low, w := mode, 1.0
	for low > 0 && w > 1e-18 {
		w = w * float64(low) / float64(float64(n-low+1)*odds)
		low--
	}
	list := append(buf[:0], w)
	sum := w
	for i := low; i < n && (i < mode || w > 1e-18); i++ {
		w = float64(w * float64(n-i) / float64(i+1) * odds)
		list = append(list, w)
		sum += w
	}
	for i := range list {
		list[i] /= sum
	}
	return pmf{low, list}
}

// slowdown is the expected factor by which a customer of a center with m servers is slower than alone: E[max(1, (1+n)/m)],
// where n, the others at the center, is the sum of two independent counts with the given means.
func slowdown(m int, a pmf, meanA float64, b pmf, meanB float64) float64 {
	servers := float64(m)
	sum := (1 + meanA + meanB) / servers
	// Where n+1 < m nobody waits: (1+n)/m is too little there.
	for i, p := range a.p {
		x := a.first + i
		if x+b.first >= m-1 {
			break
		}
		for j, q := range b.p {
			n := x + b.first + j
			if n >= m-1 {
				break
			}
			sum += float64(float64(p*q) * (1 - float64(n+1)/servers))
		}
	}
	return math.Max(1, sum)
}

package pipeline

import (
	"fmt"
	"math"
)

// Approximations of mean value analysis stop when no queue changes by more.
const (
	approximateTolerance = 1e-11
	approximateRounds    = 100_000
)

// Schweitzer solves a network approximately: a customer that arrives sees of its own class the share (N-1)/N of the queue
// (Schweitzer 1979, Bard 1979). Centers have one server each or no queue.
func Schweitzer(n *Network) (*Steady, error) {
	a, err := newApproximation(n)
	if err != nil {
		return nil, err
	}
	s := n.steady()
	a.core(n.Jobs, s)
	return s, nil
}

// Linearizer improves Schweitzer's approximation by how the shares of the queues change when one customer less is there
// (Chandy and Neuse, CACM 25, 1982). Time is that of 3 (classes + 1) Schweitzer solutions.
func Linearizer(n *Network) (*Steady, error) {
	a, err := newApproximation(n)
	if err != nil {
		return nil, err
	}
	classes := len(n.Jobs)
	full := n.steady()
	a.core(n.Jobs, full)
	for range linearRounds {
		less := make([]*Steady, classes)
		for c := range classes {
			jobs := append([]int(nil), n.Jobs...)
			jobs[c]--
			less[c] = n.steady()
			a.core(jobs, less[c])
		}
		for c := range classes {
			for r := range classes {
				for k := range n.Centers {
					jobs := n.Jobs[r]
					if r == c {
						jobs--
					}
					a.shift[c][r][k] = 0
					if jobs > 0 {
						a.shift[c][r][k] = less[c].Queue[r][k]/float64(jobs) - full.Queue[r][k]/float64(n.Jobs[r])
					}
				}
			}
		}
		a.core(n.Jobs, full)
	}
	return full, nil
}

// approximation is the fixed point that both methods share.
type approximation struct {
	n *Network
	// By class that leaves, class, center: what the class's share of its customers at the center changes by.
	shift [][][]float64
}

func newApproximation(n *Network) (*approximation, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	a := &approximation{n: n}
	for _, c := range n.Centers {
		if c.Servers > 1 && c.Kind != Delay {
			return nil, fmt.Errorf("%w: center %q has several servers; replace it by Seidmann's", ErrNetwork, c.Name)
		}
	}
	for range n.Jobs {
		var list [][]float64
		for range n.Jobs {
			list = append(list, make([]float64, len(n.Centers)))
		}
		a.shift = append(a.shift, list)
	}
	return a, nil
}

// core iterates from the queues in s, or from equal ones where those are 0.
func (a *approximation) core(jobs []int, s *Steady) {
	n := a.n
	for c, q := range s.Queue {
		var sum float64
		for _, x := range q {
			sum += x
		}
		for k := range q {
			if sum == 0 {
				q[k] = float64(jobs[c]) / float64(len(q))
			}
		}
	}
	wait := make([]float64, len(n.Centers))
	for s.Rounds = 1; s.Rounds < approximateRounds; s.Rounds++ {
		var change float64
		for c := range jobs {
			if jobs[c] == 0 {
				clear(s.Queue[c])
				continue
			}
			var total float64
			for k, center := range n.Centers {
				wait[k] = n.Demand[c][k]
				if center.Kind != Delay {
					wait[k] *= 1 + a.seen(jobs, s, c, k)
				}
				total += wait[k]
			}
			s.Response[c], s.Throughput[c] = total, float64(jobs[c])/(n.Think[c]+total)
			for k := range wait {
				q := float64(s.Throughput[c] * wait[k])
				change = max(change, math.Abs(q-s.Queue[c][k]))
				s.Queue[c][k] = q
			}
		}
		if change < approximateTolerance {
			return
		}
	}
}

// seen is the queue that a customer of class c finds at center k.
func (a *approximation) seen(jobs []int, s *Steady, c, k int) float64 {
	var sum float64
	for r, n := range jobs {
		if n == 0 {
			continue
		}
		others := n
		if r == c {
			others--
		}
		sum += float64(float64(others) * (s.Queue[r][k]/float64(n) + a.shift[c][r][k]))
	}
	return max(0, sum)
}

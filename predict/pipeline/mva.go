package pipeline

import (
	"errors"
	"fmt"
)

// Plain closed networks: one or more classes of customers that visit centers, without precedence. These are the textbook
// algorithms (Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984) that the other methods are
// compared with and built of.

// Network is a closed network. Demand[c][k] is the service, in seconds, that a customer of class c needs at center k in one
// cycle, over all visits.
type Network struct {
	Centers []Center // FCFS and PS are the same here: exponential service
	Jobs    []int
	Think   []float64
	Demand  [][]float64
}

// Steady is the mean behaviour of a network.
type Steady struct {
	Response   []float64   // seconds, by class
	Throughput []float64   // per second, by class
	Queue      [][]float64 // customers, by class and center
	Rounds     int         // of an approximation
}

// ErrNetwork means that a method does not solve a network, or that the network is impossible.
var ErrNetwork = errors.New("no such network")

// maxLattice bounds the populations that the exact algorithm goes through, times centers.
const maxLattice = 20_000_000

func (n *Network) check() error {
	c := len(n.Jobs)
	if c == 0 || len(n.Think) != c || len(n.Demand) != c {
		return fmt.Errorf("%w: classes, think times and demands differ in number", ErrNetwork)
	}
	for i := range c {
		if len(n.Demand[i]) != len(n.Centers) || n.Jobs[i] < 1 || !seconds(n.Think[i]) {
			return fmt.Errorf("%w: class %d has no jobs, no think time, or not a demand for each center", ErrNetwork, i)
		}
		var sum float64
		for _, d := range n.Demand[i] {
			if !seconds(d) {
				return fmt.Errorf("%w: class %d has demand %v", ErrNetwork, i, d)
			}
			sum += d
		}
		if sum < leastDemand {
			return fmt.Errorf("%w: class %d needs no service", ErrNetwork, i)
		}
	}
	for _, k := range n.Centers {
		if k.Servers < 1 || k.Kind > Delay {
			return fmt.Errorf("%w: center %q", ErrNetwork, k.Name)
		}
	}
	return nil
}

func (n *Network) steady() *Steady {
	s := &Steady{Response: make([]float64, len(n.Jobs)), Throughput: make([]float64, len(n.Jobs))}
	for range n.Jobs {
		s.Queue = append(s.Queue, make([]float64, len(n.Centers)))
	}
	return s
}

// ExactMVA solves a network with one class by mean value analysis, centers with several servers by the probabilities of
// their lengths (Reiser and Lavenberg, JACM 27, 1980). The probability that such a center is empty comes from the network
// without it (Reiser, Performance Evaluation 1, 1981): as the rest to 1 it would lose all digits where that is unlikely.
// O(jobs x (centers + servers)) time, times centers with several servers if there are; these take 8 bytes a job each.
func ExactMVA(n *Network) (*Steady, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	if len(n.Jobs) != 1 {
		return nil, fmt.Errorf("%w: this algorithm is for one class", ErrNetwork)
	}
	s, demand, queue := n.steady(), n.Demand[0], make([]float64, len(n.Centers))
	short := make([][]float64, len(n.Centers))   // probabilities of 0 to m-1 customers
	without := make([][]float64, len(n.Centers)) // cycle times of the network without the center
	for k, c := range n.Centers {
		if c.Kind != Delay && c.Servers > 1 {
			short[k] = make([]float64, min(c.Servers, n.Jobs[0]+1))
			short[k][0] = 1
			without[k] = n.cycles(k)
		}
	}
	wait := make([]float64, len(n.Centers))
	for jobs := 1; jobs <= n.Jobs[0]; jobs++ {
		var total float64
		for k, c := range n.Centers {
			switch {
			case c.Kind == Delay:
				wait[k] = demand[k]
			default:
				ahead := 1 + queue[k]
				for j, p := range short[k] {
					ahead += float64(float64(c.Servers-1-j) * p)
				}
				wait[k] = demand[k] / float64(c.Servers) * ahead
			}
			total += wait[k]
		}
		x := float64(jobs) / (n.Think[0] + total)
		for k, p := range short {
			queue[k] = x * wait[k]
			for j := len(p) - 1; j >= 1; j-- {
				p[j] = x * demand[k] / float64(j) * p[j-1]
			}
			if p != nil {
				p[0] *= x * without[k][jobs]
			}
		}
		s.Response[0], s.Throughput[0] = total, x
	}
	copy(s.Queue[0], queue)
	return s, nil
}

// cycles returns the seconds between two jobs that end, for each number of jobs, in the network without center left. Centers
// with queues join one after the other: p are the probabilities of 0 to m-1 customers at the last one, more that of m or
// more. Nothing is subtracted.
func (n *Network) cycles(left int) []float64 {
	delay := n.Think[0]
	for k, c := range n.Centers {
		if c.Kind == Delay && k != left {
			delay += n.Demand[0][k]
		}
	}
	cycle := make([]float64, n.Jobs[0]+1)
	for jobs := 1; jobs < len(cycle); jobs++ {
		cycle[jobs] = delay / float64(jobs)
	}
	for k, c := range n.Centers {
		d := n.Demand[0][k]
		if c.Kind == Delay || k == left || d/float64(c.Servers) < 1e-300 { // its part is no number, and nothing beside leastDemand
			continue
		}
		p, more := make([]float64, min(c.Servers, len(cycle))), 0.0
		p[0] = 1
		for jobs := 1; jobs < len(cycle); jobs++ {
			full := d / float64(c.Servers) * (p[len(p)-1] + more)
			empty := p[0] * cycle[jobs]
			all := empty + full
			for j := 1; j < len(p); j++ {
				all += float64(d / float64(j) * p[j-1])
			}
			for j := len(p) - 1; j >= 1; j-- {
				p[j] = d / float64(j) * p[j-1] / all
			}
			p[0], more, cycle[jobs] = empty/all, full/all, all
		}
	}
	return cycle
}

// ExactMultiMVA solves a network with several classes, whose centers have one server each or no queue, for every population
// up to the one asked for.
func ExactMultiMVA(n *Network) (*Steady, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	size := len(n.Centers)
	for _, c := range n.Centers {
		if c.Servers > 1 && c.Kind != Delay {
			return nil, fmt.Errorf("%w: center %q has several servers; replace it by Seidmann's", ErrNetwork, c.Name)
		}
	}
	step := make([]int, len(n.Jobs)) // between populations that differ by one of a class
	all := 1
	for c, jobs := range n.Jobs {
		step[c] = all
		if jobs >= maxLattice/size/all {
			return nil, fmt.Errorf("%w: too many populations for the exact algorithm", ErrNetwork)
		}
		all *= jobs + 1
	}
	queue := make([]float64, all*size) // total, by population and center
	s, wait := n.steady(), make([]float64, size)
	for p := 1; p < all; p++ {
		for c := range n.Jobs {
			jobs := p / step[c] % (n.Jobs[c] + 1)
			if jobs == 0 {
				continue
			}
			before := queue[(p-step[c])*size:]
			var total float64
			for k, center := range n.Centers {
				wait[k] = n.Demand[c][k]
				if center.Kind != Delay {
					wait[k] *= 1 + before[k]
				}
				total += wait[k]
			}
			x := float64(jobs) / (n.Think[c] + total)
			for k := range wait {
				q := x * wait[k]
				queue[p*size+k] += float64(q)
				s.Queue[c][k] = q
			}
			s.Response[c], s.Throughput[c] = total, x
		}
	}
	return s, nil
}

// Seidmann replaces centers with m servers: a queue that is m times as fast, and a delay for the rest of the service
// (Seidmann, Schweitzer and Shalev-Oren, Large Scale Systems 12, 1987). The delays come behind the centers there were.
func Seidmann(n *Network) *Network {
	out := &Network{Centers: append([]Center(nil), n.Centers...), Jobs: n.Jobs, Think: n.Think}
	for c := range n.Demand {
		out.Demand = append(out.Demand, append([]float64(nil), n.Demand[c]...))
	}
	for k, center := range n.Centers {
		if center.Kind == Delay || center.Servers <= 1 {
			continue
		}
		m := float64(center.Servers)
		out.Centers[k].Servers = 1
		out.Centers = append(out.Centers, Center{center.Name, Delay, 1})
		for c := range n.Demand {
			d := n.Demand[c][k]
			out.Demand[c][k] = d / m
			out.Demand[c] = append(out.Demand[c], d*(m-1)/m)
		}
	}
	return out
}

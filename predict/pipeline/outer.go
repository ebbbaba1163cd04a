package pipeline

import "math"

// mostRecursion is the most jobs that are added one by one.
const mostRecursion = 64

// Point is one point of the curve over the number of jobs.
type Point struct {
	Jobs       int     `json:"jobs"`
	Response   float64 `json:"response"`   // seconds
	Throughput float64 `json:"throughput"` // jobs per second
}

// walked is what walk found for one type.
type walked struct {
	response float64 // with the bounds applied
	alone    float64
	curve    []Point // over the number of jobs; nil where jobs were not added one by one
	last     *occupancy
	demand   []float64 // seconds at each center in one job
}

// view is the load of one job at the centers, as other jobs see it.
type view struct {
	response       float64
	queue, backlog []float64
}

// see mixes two views of a job: by its work clock, which is right for jobs that come back at once, and in real time, which is
// right for jobs that come back at random.
func see(o *occupancy, think float64) view {
	n := len(o.real)
	v := view{o.response, make([]float64, n), make([]float64, n)}
	cycle := o.response + think
	theta := clockShare(o.response / cycle)
	for k := range n {
		length := think + o.length[k]
		if length > 0 {
			v.queue[k] = float64(theta * o.clock[k] / length)
			v.backlog[k] = float64(theta * o.clockBacklog[k] / length)
		}
		v.queue[k] += float64((1 - theta) * o.real[k] / cycle)
		v.backlog[k] += float64((1 - theta) * o.realBacklog[k] / cycle)
	}
	return v
}

// background is the other jobs during a pass, by center: their queue and backlog, the most customers that they have there, and
// their utilisation.
type background struct {
	queue, backlog, utilisation []float64
	others                      []int
}

func newBackground(centers int) *background {
	return &background{make([]float64, centers), make([]float64, centers), make([]float64, centers), make([]int, centers)}
}

// dealt is the number of jobs, of n, on the fullest of the machines.
func dealt(n, machines int) int { return (n-1)/machines + 1 }

// saturation returns the least mean cycle R+Z of n jobs on the centers: n D*max, with the share of a center's machines if it has
// several. center is the one that binds; -1 if none has a queue.
func (s *system) saturation(demand []float64, n int) (cycle float64, center int) {
	center = -1
	for k, c := range s.centers {
		if c.Kind == Delay || demand[k] == 0 {
			continue
		}
		if x := float64(dealt(n, s.copies[k])) * demand[k] / float64(c.Servers); x > cycle {
			cycle, center = x, k
		}
	}
	return cycle, center
}

// recursion adds the jobs of a model with one type one by one. A job that arrives finds the others as they are without it.
func (s *system) recursion(w *walker) *walked {
	j, centers := w.j, len(s.centers)
	views := make([]view, j.n+1) // by number of jobs
	r := &walked{}
	for n := 1; n <= j.n; n++ {
		b := newBackground(centers)
		for k := range centers {
			if b.others[k] = dealt(n, s.copies[k]) - 1; b.others[k] == 0 {
				continue
			}
			// With one job less on every machine, the fullest machine had one job less.
			v := &views[s.copies[k]*b.others[k]]
			x := float64(b.others[k])
			b.queue[k], b.backlog[k] = x*v.queue[k], x*v.backlog[k]
			b.utilisation[k] = x * r.demand[k] / float64(s.centers[k].Servers) / (v.response + j.think)
		}
		w.h.begin(b)
		r.last = w.pass(n == j.n)
		views[n] = see(r.last, j.think)
		if n == 1 {
			r.alone = r.last.response
		}
		r.demand = j.used(r.last) // which part of an Or wins depends on the load
		cycle, _ := s.saturation(r.demand, n)
		r.response = max(r.last.response, r.alone, cycle-j.think)
		r.curve = append(r.curve, Point{n, r.response, float64(n) / (r.response + j.think)})
	}
	return r
}

// used is the work of one job at each center in the walk. It is less than the demand if parts are abandoned.
func (j *job) used(o *occupancy) []float64 {
	if j.g != nil {
		return j.demand
	}
	list := make([]float64, len(j.demand))
	for i, c := range j.classes {
		for _, d := range c.Demand {
			list[d.Center] += float64(o.work[i] * d.Seconds)
		}
	}
	return list
}

// queue is the mean number of customers of one job at each center. If a bound replaces the result of the walk, the queue is that
// of a job that is in the system for as long as the bound.
func (r *walked) queue(think float64) []float64 {
	list := make([]float64, len(r.last.real))
	scale := r.response / r.last.response / (r.response + think)
	for k, q := range r.last.real {
		list[k] = q * scale
	}
	return list
}

// Linearizer over jobs: when a job of another type leaves, the share of a job changes by an amount that is estimated from
// solutions with one job less (Chandy and Neuse, CACM 25, 1982).
const (
	linearRounds    = 3
	linearIterate   = 300
	linearTolerance = 1e-6
	linearDamping   = 0.3
	linearTasks     = sampledTasks / 8
)

// linearizer solves models with several types, or with many jobs.
type linearizer struct {
	s       *system
	walkers []*walker
	// By population (0 all jobs, 1+t without one of type t), type.
	views [][]view
	// By type that leaves, type that is seen: what its view changes by.
	shift [][]view
	out   []*walked
}

// linear solves all types together.
func (s *system) linear(walkers []*walker) []*walked {
	types, centers := len(walkers), len(s.centers)
	z := &linearizer{s: s, walkers: walkers, out: make([]*walked, types)}
	empty := func() view { return view{0, make([]float64, centers), make([]float64, centers)} }
	for range types + 1 {
		z.views = append(z.views, make([]view, types))
	}
	for t := range types {
		z.shift = append(z.shift, make([]view, types))
		for r := range types {
			z.shift[t][r] = empty()
		}
		w := z.walkers[t]
		w.h.begin(newBackground(len(z.s.centers)))
		o := w.pass(false)
		z.out[t] = &walked{alone: o.response, demand: w.j.used(o)}
	}
	for p := range z.views {
		for r := range types {
			z.views[p][r] = empty()
			z.views[p][r].response = z.out[r].alone
		}
	}
	z.core(0, false)
	for round := range linearRounds {
		for t := range types {
			z.core(1+t, false)
		}
		for t := range types {
			for r := range types {
				for k := range centers {
					z.shift[t][r].queue[k] = z.views[1+t][r].queue[k] - z.views[0][r].queue[k]
					z.shift[t][r].backlog[k] = z.views[1+t][r].backlog[k] - z.views[0][r].backlog[k]
				}
			}
		}
		z.core(0, round == linearRounds-1)
	}
	z.bound()
	return z.out
}

// customers is the number of jobs of type r, at population p, that share a center with a job of type t, itself not counted.
func (z *linearizer) customers(p, t, r, center int) int {
	n := dealt(z.walkers[r].j.n, z.s.copies[center])
	if r == t {
		n--
	}
	if p == 1+r {
		n--
	}
	return max(0, n)
}

// core finds the views at one population as a fixed point.
func (z *linearizer) core(p int, track bool) {
	n := len(z.s.centers)
	for round := range linearIterate {
		var change float64
		for t, w := range z.walkers {
			b := newBackground(n)
			for k := range n {
				for r := range z.walkers {
					c := z.customers(p, t, r, k)
					x, v, d := float64(c), &z.views[p][r], &z.shift[t][r]
					b.queue[k] += float64(x * max(0, v.queue[k]+d.queue[k]))
					b.backlog[k] += float64(x * (v.backlog[k] + d.backlog[k]))
					b.utilisation[k] += float64(x * z.out[r].demand[k] / float64(z.s.centers[k].Servers) / (v.response + z.walkers[r].j.think))
					b.others[k] = min(b.others[k]+c, mostTrials)
				}
				b.backlog[k] = max(0, b.backlog[k])
			}
			w.h.begin(b)
			o := w.pass(track)
			v := see(o, w.j.think)
			change = max(change, z.views[p][t].mix(&v, round == 0))
			if p == 0 {
				z.out[t].last, z.out[t].demand = o, w.j.used(o)
			}
		}
		if change < linearTolerance {
			return
		}
	}
}

// mix moves a view towards a new one and returns the largest change. With whole it takes the new one.
func (v *view) mix(next *view, whole bool) float64 {
	keep := linearDamping
	if whole {
		keep = 0
	}
	change := relative(next.response, v.response)
	v.response = next.response
	for k := range v.queue {
		change = max(change, math.Abs(next.queue[k]-v.queue[k]))
		v.queue[k] = float64(keep*v.queue[k]) + float64((1-keep)*next.queue[k])
		v.backlog[k] = float64(keep*v.backlog[k]) + float64((1-keep)*next.backlog[k])
	}
	return change
}

// bound applies the bounds: no job is faster than alone, and no center does more work than it can. Where a center would, the
// cycles of all types that use it grow by the same factor.
func (z *linearizer) bound() {
	for t, r := range z.out {
		r.response = max(r.last.response, r.alone)
		if len(z.out) == 1 {
			cycle, _ := z.s.saturation(r.demand, z.walkers[t].j.n)
			r.response = max(r.response, cycle-z.walkers[0].j.think)
		}
	}
	for k, c := range z.s.centers {
		if c.Kind == Delay || len(z.out) == 1 {
			continue
		}
		load := func(factor float64) float64 {
			var sum float64
			for t, r := range z.out {
				j := z.walkers[t].j
				sum += float64(dealt(j.n, z.s.copies[k])) * r.demand[k] / float64(c.Servers) / (float64(r.response*factor) + j.think)
			}
			return sum
		}
		low, high := 1.0, 1.0
		for load(high) > 1 {
			low, high = high, 2*high
		}
		for range 60 {
			if mid := (low + high) / 2; load(mid) > 1 {
				low = mid
			} else {
				high = mid
			}
		}
		for _, r := range z.out {
			if r.demand[k] > 0 {
				r.response *= high
			}
		}
	}
}

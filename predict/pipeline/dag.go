package pipeline

import (
	"fmt"
	"slices"
)

// dagModel has the real graph: overlaps come from sampled timelines, in which every task takes its mean residence time times
// a sampled factor.
type dagModel struct {
	s     *system
	j     *job
	width int
	work  [][]float64 // by sample and task
	at    []int32     // by task: its first demand
	place []int32     // center
	need  []float64
	w     []float64 // residence times, by task and demand
	r     float64
	queue []float64
	first bool
	// Scratch of a sweep.
	total, start, end, sum, length, from []float64
	now, integral                        []float64
	order                                []int32
	last                                 []float64
}

const (
	dagTolerance = 1e-6
	dagRounds    = 300
	dagTasks     = 50_000 // in all samples together
	maxDAGTasks  = 2_000_000
)

func newDAGModel(s *system, j *job, o *Options) (*dagModel, error) {
	if j.g == nil {
		return nil, fmt.Errorf("%w: dag needs a precedence graph, without OR and ALT", ErrMethod)
	}
	n := j.g.tasks()
	d := &dagModel{s: s, j: j, width: newShape(s, j).width, queue: make([]float64, len(s.centers)), first: true}
	samples := o.Samples
	if samples == 0 {
		samples = min(mostSamples, max(1, dagTasks/n))
	}
	if n > maxDAGTasks/samples {
		return nil, fmt.Errorf("%w: dag has at most %d tasks times samples", ErrTooLarge, maxDAGTasks)
	}
	d.work = draws(newSource(o.Seed, 1), samples, n, func(i int) float64 { return j.scv[j.g.class[i]] })
	for i := range n {
		d.at = append(d.at, int32(len(d.need)))
		for _, x := range j.classes[j.g.class[i]].Demand {
			d.place, d.need = append(d.place, int32(x.Center)), append(d.need, x.Seconds)
		}
	}
	d.at = append(d.at, int32(len(d.need)))
	d.w = slices.Clone(d.need)
	for _, list := range []*[]float64{&d.total, &d.start, &d.end, &d.length} {
		*list = make([]float64, n)
	}
	d.sum, d.from = make([]float64, len(d.need)), make([]float64, len(d.need))
	d.now, d.integral, d.last = make([]float64, len(s.centers)), make([]float64, len(s.centers)), make([]float64, len(s.centers))
	d.order = make([]int32, 2*n)
	d.share()
	return d, nil
}

func (d *dagModel) state() (float64, []float64) { return d.r, d.queue }

// share computes what one job is to others at the centers.
func (d *dagModel) share() {
	clear(d.queue)
	if d.r == 0 {
		return
	}
	for i, k := range d.place {
		d.queue[k] += d.w[i] / (d.r + d.j.think)
	}
}

// round sweeps over all timelines, then updates residence times.
func (d *dagModel) round(others []float64, most []int) float64 {
	for i := range d.total {
		d.total[i] = 0
		for q := d.at[i]; q < d.at[i+1]; q++ {
			d.total[i] += d.w[q]
		}
	}
	clear(d.sum)
	clear(d.length)
	var response float64
	for _, work := range d.work {
		response += d.sweep(work)
	}
	response /= float64(len(d.work))
	before := d.r
	if d.first {
		d.r, d.first = response, false
	} else {
		d.r = (d.r + response) / 2
	}
	change := relative(d.r, before)
	for i := range d.total {
		for q := d.at[i]; q < d.at[i+1]; q++ {
			k := d.place[q]
			c := &d.s.centers[k]
			if c.Kind == Delay {
				continue
			}
			own := max(0, d.sum[q]/d.length[i])
			w := d.need[q]
			if c.Servers == 1 {
				w *= 1 + own + others[k]
			} else {
				n := int(min(int64(d.width)*int64(most[k]), mostTrials))
				p := 0.0
				if n > 0 {
					p = others[k] / float64(n)
				}
				w *= slowdown(c.Servers, binomial(d.width, own/float64(d.width), nil), own, binomial(n, p, nil), others[k])
			}
			w = float64(w)
			change = max(change, relative(w, d.w[q]))
			d.w[q] = (d.w[q] + w) / 2
		}
	}
	d.share()
	return change
}

// sweep lays out one timeline and adds, for every task and center, the customers of its own job that it meets there,
// integrated over its time. It returns the end of the last task. O(T log T + demands).
func (d *dagModel) sweep(work []float64) float64 {
	g := d.j.g
	n := int32(g.tasks())
	var last float64
	for i := range n {
		var start float64
		for _, p := range g.preds(i) {
			start = max(start, d.end[p])
		}
		d.start[i], d.end[i] = start, start+float64(d.total[i]*work[i])
		last = max(last, d.end[i])
		d.order[2*i], d.order[2*i+1] = 2*i, 2*i+1 // its start and its end
	}
	at := func(e int32) float64 {
		if e&1 == 0 {
			return d.start[e/2]
		}
		return d.end[e/2]
	}
	slices.SortFunc(d.order, func(a, b int32) int {
		switch x, y := at(a), at(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		case a&1 != b&1: // ends before starts, except those of a task without length
			if a/2 == b/2 {
				return int(a&1) - int(b&1)
			}
			return int(b&1) - int(a&1)
		}
		return int(a) - int(b)
	})
	clear(d.now)
	clear(d.integral)
	clear(d.last)
	for _, e := range d.order {
		i, t := e/2, at(e)
		for q := d.at[i]; q < d.at[i+1]; q++ {
			k, share := d.place[q], d.w[q]/d.total[i]
			d.integral[k] += float64(d.now[k] * (t - d.last[k]))
			d.last[k] = t
			if e&1 == 0 {
				d.from[q] = d.integral[k]
				d.now[k] += share
				continue
			}
			d.now[k] -= share
			d.sum[q] += d.integral[k] - d.from[q] - float64(share*(t-d.start[i]))
		}
		if e&1 == 1 {
			d.length[i] += t - d.start[i]
		}
	}
	return last
}

package pipeline

import (
	"math"
	"slices"
	"testing"
)

// ctmc solves a model exactly, as a Markov chain over the multisets of the states of its jobs. For PS centers and delays with
// exponential visits, one type. It is the oracle of this package, and exponential in everything.
type ctmc struct {
	s      *system
	j      *job
	index  map[string]int
	states [][]string // sorted states of jobs
	to     [][]arc
	ends   []float64 // rate at which jobs end
}

type arc struct {
	state int
	rate  float64
}

// States of a task in the state of a job; visits count up from atFirst.
const (
	notReady = 0
	ended    = 1
	atFirst  = 2
)

// exactResponse returns response and number of states.
func exactResponse(t *testing.T, m *Model) (float64, int) {
	t.Helper()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	s := m.compile(nil)
	z := &ctmc{s: s, j: &s.jobs[0], index: map[string]int{}}
	jobs := make([]string, z.j.n)
	for i := range jobs {
		jobs[i] = z.fresh()
	}
	z.intern(jobs)
	for i := 0; i < len(z.states); i++ {
		z.expand(i)
		if len(z.states) > 20_000 {
			t.Fatal("too many states")
		}
	}
	var x float64
	for i, p := range z.steady() {
		x += p * z.ends[i]
	}
	return float64(z.j.n)/x - z.j.think, len(z.states)
}

// fresh is the state of a job that begins, or of one that thinks.
func (z *ctmc) fresh() string {
	if z.j.think > 0 {
		return ""
	}
	return z.begun()
}

func (z *ctmc) begun() string {
	b := make([]byte, z.j.g.tasks())
	for _, r := range z.j.g.roots {
		b[r] = atFirst
	}
	return string(b)
}

func (z *ctmc) intern(jobs []string) int {
	jobs = slices.Clone(jobs)
	slices.Sort(jobs)
	var key []byte
	for _, j := range jobs {
		key = append(append(key, j...), 255)
	}
	i, ok := z.index[string(key)]
	if !ok {
		i = len(z.states)
		z.index[string(key)] = i
		z.states = append(z.states, jobs)
	}
	return i
}

// place is the center of a task in service, and the mean of its visit.
func (z *ctmc) place(task int, phase byte) (center int, mean float64) {
	c := &z.j.classes[z.j.g.class[task]]
	d := c.Demand[int(phase-atFirst)%len(c.Demand)]
	return d.Center, d.Seconds / float64(c.Visits)
}

func (z *ctmc) expand(i int) {
	jobs := z.states[i]
	there := make([]int, len(z.s.centers))
	for _, job := range jobs {
		for task := range len(job) {
			if job[task] >= atFirst {
				k, _ := z.place(task, job[task])
				there[k]++
			}
		}
	}
	out := map[int]float64{}
	var order []int
	add := func(n int, next string, rate float64) {
		changed := slices.Clone(jobs)
		changed[n] = next
		to := z.intern(changed)
		if _, ok := out[to]; !ok {
			order = append(order, to)
		}
		out[to] += rate
	}
	var ends float64
	for n, job := range jobs {
		if job == "" {
			add(n, z.begun(), 1/z.j.think)
			continue
		}
		for task := range len(job) {
			if job[task] < atFirst {
				continue
			}
			k, mean := z.place(task, job[task])
			rate := 1 / mean
			if c := z.s.centers[k]; c.Kind != Delay && there[k] > c.Servers {
				rate *= float64(c.Servers) / float64(there[k])
			}
			for _, o := range z.outcomes(job, task) {
				next := o.next
				if o.ends {
					ends += rate * o.p
					next = z.fresh()
				}
				add(n, next, rate*o.p)
			}
		}
	}
	var list []arc
	for _, to := range order {
		if to != i {
			list = append(list, arc{to, out[to]})
		}
	}
	z.to, z.ends = append(z.to, list), append(z.ends, ends)
}

type outcome struct {
	p    float64
	next string
	ends bool
}

// outcomes are the states of a job after a visit of a task.
func (z *ctmc) outcomes(job string, task int) []outcome {
	c := &z.j.classes[z.j.g.class[task]]
	b := []byte(job)
	phase := int(b[task]-atFirst) + 1
	last := 1.0
	var list []outcome
	switch {
	case c.Geometric && phase%len(c.Demand) == 0:
		last = 1 / float64(c.Visits)
		if c.Visits > 1 {
			b[task] = atFirst
			list = append(list, outcome{1 - last, string(b), false})
		}
	case c.Geometric || phase < c.Visits*len(c.Demand):
		b[task] = byte(atFirst + phase)
		return []outcome{{1, string(b), false}}
	}
	b[task] = ended
	for _, s := range z.j.g.succ[z.j.g.succAt[task]:z.j.g.succAt[task+1]] {
		ready := !slices.ContainsFunc(z.j.g.preds(s), func(p int32) bool { return b[p] != ended })
		if ready {
			b[s] = atFirst
		}
	}
	done := !slices.ContainsFunc(b, func(x byte) bool { return x != ended })
	return append(list, outcome{last, string(b), done})
}

// steady is the steady state, by Gauss and Seidel.
func (z *ctmc) steady() []float64 {
	n := len(z.states)
	in, out, p := make([][]arc, n), make([]float64, n), make([]float64, n)
	for i, list := range z.to {
		for _, a := range list {
			in[a.state] = append(in[a.state], arc{i, a.rate})
			out[i] += a.rate
		}
		p[i] = 1 / float64(n)
	}
	for range 20_000 {
		var change, sum float64
		for i := range p {
			if out[i] == 0 {
				p[i] = 1
				continue
			}
			var v float64
			for _, a := range in[i] {
				v += p[a.state] * a.rate
			}
			v /= out[i]
			change = max(change, math.Abs(v-p[i]))
			p[i] = v
		}
		for _, x := range p {
			sum += x
		}
		for i := range p {
			p[i] /= sum
		}
		if change < 1e-13 {
			break
		}
	}
	return p
}

package pipeline

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.9f, not %.9f", what, got, want)
	}
}

// chain is the job of a plain network: exponential tasks one after the other, each at its center; servers nil means one each.
func chain(n int, think float64, servers []int, demand ...float64) *Model {
	var centers []Center
	var stages [][]Demand
	for k, x := range demand {
		c := Center{string(rune('a' + k)), PS, 1}
		if servers != nil {
			c.Servers = servers[k]
		}
		centers, stages = append(centers, c), append(stages, d(float64(k), x))
	}
	return line(centers, n, think, 1, 0, exponential, stages...)
}

// chains are several types of such jobs on the same centers.
func chains(list ...*Model) *Model {
	m := list[0]
	for i, x := range list {
		x.Types[0].Name = string(rune('a' + i))
		if i > 0 {
			m.Types = append(m.Types, x.Types[0])
		}
	}
	return m
}

// exactMVA returns the responses of the types of such a model, by mean value analysis of every population (Reiser and Lavenberg,
// JACM 27, 1980). Centers have one server each or no queue.
func exactMVA(m *Model) []float64 {
	step := make([]int, len(m.Types)) // between populations that differ by one of a type
	all := 1
	for c, t := range m.Types {
		step[c] = all
		all *= t.Jobs + 1
	}
	response := make([]float64, len(m.Types))
	queue := make([][]float64, all) // by population and center
	for p := range queue {
		queue[p] = make([]float64, len(m.Centers))
		for c, t := range m.Types {
			jobs := p / step[c] % (t.Jobs + 1)
			if jobs == 0 {
				continue
			}
			wait, total := make([]float64, len(m.Centers)), 0.0
			for _, s := range t.Pipeline.Stages {
				k := s.Demand[0].Center
				wait[k] = s.Demand[0].Seconds
				if m.Centers[k].Kind != Delay {
					wait[k] *= 1 + queue[p-step[c]][k]
				}
				total += wait[k]
			}
			for k, w := range wait {
				queue[p][k] += float64(jobs) / (t.Think + total) * w
			}
			response[c] = total
		}
	}
	return response
}

// TestPlainNetworks compares with the values of octave-queueing 1.2.7: walk with exact analysis, tree with Schweitzer's
// approximation, and the oracles of this package with both.
func TestPlainNetworks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		m          *Model
		r, s, walk float64 // exact, Schweitzer; walk where it is not exact
	}{
		{"N1", chain(4, 0, nil, 1, .5), 4.13333333, 4.22474487, 0},
		{"N2", chain(8, 0, nil, 1, 1, 1), 10, 10, 0},
		{"N3", chain(20, 15, nil, 2, 3, 1), 45.09809463, 46.62616558, 0},
		{"N4", chain(6, 0, []int{2, 1}, 1.5, .4), 4.57185056, 0, 4.571975},
		{"N5", chain(5, 2, nil, 1, .6), 3.71598294, 4, 0},
		{"N6", chain(12, 1, []int{4, 1, 1}, 1, .2, .1), 2.28772689, 0, 2.272379},
	} {
		r, _ := exactResponse(t, c.m)
		near(t, c.name+" Markov chain", r, c.r, 1e-6)
		if c.walk > 0 {
			near(t, c.name+" walk", walkOf(t, c.m, 0).response, c.walk, 1e-6)
			continue
		}
		near(t, c.name+" analysis", exactMVA(c.m)[0], c.r, 1e-6)
		near(t, c.name+" walk", walkOf(t, c.m, 0).response, c.r, 1e-6)
		near(t, c.name+" tree", solve(t, c.m, Options{Method: MethodTree}).Types[0].Response, c.s, 1e-6)
	}
	for _, c := range []struct {
		name string
		m    *Model
		r, s []float64
	}{
		{"M1", chains(chain(2, 0, nil, 1, .5), chain(3, 0, nil, .5, 1)), []float64{4.18811881, 4.5}, []float64{4.24411854, 4.61306838}},
		{
			"M2", chains(chain(1, 0, nil, 1, .5, .2), chain(1, 0, nil, .5, 1, .2), chain(1, 0, nil, .3, .3, .9)),
			[]float64{2.73867925, 2.73867925, 2.21603053},
			[]float64{2.80532360, 2.80532360, 2.23767106},
		},
		{"M3", chains(chain(5, 1, nil, .2, .1, .05), chain(4, 2, nil, .1, .3, .05)), []float64{0.73778753, 0.97105852}, []float64{0.79577249, 1.04528413}},
	} {
		exact, tree, walk := exactMVA(c.m), solve(t, c.m, Options{Method: MethodTree}), solve(t, c.m, Options{})
		for i := range c.r {
			near(t, c.name+" analysis", exact[i], c.r[i], 1e-6)
			near(t, c.name+" tree", tree.Types[i].Response, c.s[i], 1e-6)
			if e := math.Abs(walk.Types[i].Response - c.r[i]); e > .25*math.Abs(c.s[i]-c.r[i]) {
				t.Errorf("%s: walk %v is not much nearer to %v than Schweitzer %v", c.name, walk.Types[i].Response, c.r[i], c.s[i])
			}
		}
	}
}

// TestActiveSet: the rates of tasks in progress at once are those of a network with one customer for each (M2 of the plain networks).
func TestActiveSet(t *testing.T) {
	t.Parallel()
	m := fork(cpus(3), 1, d(0, 1, 1, .5, 2, .2), d(0, .5, 1, 1, 2, .2), d(0, .3, 1, .3, 2, .9))
	s := m.compile(nil)
	h := newShape(s, &s.jobs[0])
	h.begin(newBackground(3))
	set := int32(0)
	for c := range int32(3) {
		set = h.groups[0].change(set, h.kind[c], 1)
	}
	kinds, rate := h.groups[0].rates(set)
	for c, want := range []float64{2.73867925, 2.73867925, 2.21603053} {
		for i, k := range kinds {
			if k == h.kind[c] {
				near(t, "residence", 1/rate[i], want, 1e-6)
			}
		}
	}
}

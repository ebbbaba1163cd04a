package pipeline

import "math"

// States of a job are visited all where there are few and all service is exponential: then the time a state takes and which
// task ends first are known, and nothing needs to be sampled.
const (
	mostIdeals     = 200_000
	mostIdealTasks = 1024
)

// ideals are the states of a job: the sets of tasks that can have ended, in levels of equal size.
type ideals struct {
	first  []int32 // tasks in progress in state i are first[i] to first[i+1] of task
	task   []int32
	target []int32 // the state when that task has ended
	prob   []float64
	sets   []int32 // scratch, by group
}

// newIdeals lists the states of a job, or returns nil where they have to be sampled.
func newIdeals(j *job, h *shape) *ideals {
	if j.g == nil || j.g.tasks() > mostIdealTasks || !j.g.fewIdeals() {
		return nil
	}
	for i, scv := range j.scv {
		if j.count[i] > 0 && math.Abs(scv-1) > 1e-9 {
			return nil
		}
	}
	d := &ideals{first: []int32{0}, sets: make([]int32, len(h.groups))}
	words := (j.g.tasks() + 7) / 8
	level := []string{string(make([]byte, words))}
	known := 1
	done := make([]byte, words)
	for range j.g.tasks() {
		index := map[string]int32{}
		var next []string
		for _, state := range level {
			copy(done, state)
			for i := range int32(j.g.tasks()) {
				if !j.g.ready(i, done) {
					continue
				}
				done[i/8] |= 1 << (i % 8)
				to, ok := index[string(done)]
				if !ok {
					to = int32(known)
					known++
					key := string(done)
					index[key] = to
					next = append(next, key)
				}
				done[i/8] &^= 1 << (i % 8)
				d.task, d.target = append(d.task, i), append(d.target, to)
			}
			d.first = append(d.first, int32(len(d.task)))
			if known > mostIdeals {
				return nil
			}
		}
		level = next
	}
	d.prob = make([]float64, known)
	return d
}

// ready tells whether a task is in progress when those of done have ended.
func (g *graph) ready(i int32, done []byte) bool {
	if done[i/8]>>(i%8)&1 == 1 {
		return false
	}
	for _, p := range g.preds(i) {
		if done[p/8]>>(p%8)&1 == 0 {
			return false
		}
	}
	return true
}

// fewIdeals excludes graphs that surely have more states than are listed: each level alone has a state for every set of its
// tasks.
func (g *graph) fewIdeals() bool {
	width := make([]int, g.levels)
	for _, l := range g.levelOf {
		width[l]++
	}
	states := 0
	for _, w := range width {
		if w > 17 {
			return false
		}
		if states += 1 << w; states > mostIdeals {
			return false
		}
	}
	return true
}

// pass adds the expected time of every state. Exact for the rates it is given; O(states times tasks in progress).
func (d *ideals) pass(w *walker) {
	clear(d.prob)
	d.prob[0] = 1
	w.out.work = append(w.out.work[:0], w.j.count...)
	for state := range len(d.first) - 1 {
		tasks := d.task[d.first[state]:d.first[state+1]]
		target := d.target[d.first[state]:d.first[state+1]]
		p := d.prob[state]
		if p == 0 {
			continue
		}
		d.enter(w, tasks)
		var sum float64
		for _, t := range tasks {
			sum += w.rateOf(t, d.sets)
		}
		hold := p / sum
		w.out.response += hold
		var mask uint64
		for i, t := range tasks {
			d.prob[target[i]] += float64(hold * w.rateOf(t, d.sets))
			class := w.j.g.class[t]
			if g := w.h.group[class]; d.sets[g] > 0 {
				w.h.groups[g].sets.time[d.sets[g]] += hold
				d.sets[g] = -d.sets[g] // counted
			}
			mask |= 1 << (class & 63)
		}
		if w.track {
			w.out.sets[mask] += hold
		}
	}
}

// enter sets the active sets of all groups that have tasks in progress.
func (d *ideals) enter(w *walker, tasks []int32) {
	for _, t := range tasks {
		id := w.h.group[w.j.g.class[t]]
		d.sets[id] = 0
		if g := w.h.groups[id]; g.full() {
			g.fold(w.out)
			g.reset()
		}
	}
	for _, t := range tasks {
		class := w.j.g.class[t]
		id := w.h.group[class]
		d.sets[id] = w.h.groups[id].change(d.sets[id], w.h.kind[class], 1)
	}
}

// rateOf is the rate of a task in the active set of its group; a negative number is a set that was counted already.
func (w *walker) rateOf(task int32, sets []int32) float64 {
	class := w.j.g.class[task]
	id := w.h.group[class]
	set := sets[id]
	if set < 0 {
		set = -set
	}
	kinds, rate := w.h.groups[id].rates(set)
	for i, k := range kinds {
		if k == w.h.kind[class] {
			return rate[i] / w.h.work[class]
		}
	}
	return 0
}

package pipeline

import (
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/internal/heap"
)

// The samples of a walk together have about sampledTasks tasks.
const (
	sampledTasks = 200_000
	mostSamples  = 1000
)

// occupancy is the result of one pass over a job, in seconds per job.
type occupancy struct {
	response float64
	// By center: seconds times queue and backlog, in real time and on the work clock, which runs slower while the job's own tasks
	// slow each other; and the length of the job on that clock.
	real, realBacklog, clock, clockBacklog, length []float64
	// By class: tasks' worth of work done in one job.
	work []float64
	// Seconds of each set of classes in progress, with a bit for each class, if there are at most 64.
	sets map[uint64]float64
}

// walker walks through a job. Its tasks are slowed by each other and by the background of other jobs.
type walker struct {
	s     *system
	j     *job
	h     *shape
	c     *course
	lanes []lane
	runs  []run            // by group
	queue heap.Heap[int32] // groups by next end
	rank  []int            // place of a group in queue
	work  [][]float64
	ideal *ideals // where all states are visited instead of sampled ones
	seed  uint64
	// Of the sample in progress:
	where []int32 // by task: its place in the heap of its lane
	count []int32 // by class: tasks in progress
	bits  uint64
	track bool
	out   *occupancy
}

// lane holds the tasks of one kind that are in progress. All progress at the same rate, so they end in the order of their work at
// their begin plus the work that the lane had done by then.
type lane struct {
	done            float64
	heap.Heap[mate] // by goal
}

// mate is a task in a lane.
type mate struct {
	goal, lag float64 // done when it ends, and when it began
	task      int32
}

func (a mate) before(b mate) bool { return a.goal < b.goal || a.goal == b.goal && a.task < b.task }

// run is the walk of one group.
type run struct {
	set   int32
	lane0 int32 // lane of its kind 0
	now   float64
	next  float64 // time of the next end of a task of the group
	kind  int32   // and the kind of that task
}

// newWalker prepares the walk of a job. With 0 samples the size of the graph decides their number.
func newWalker(s *system, j *job, seed uint64, samples int) *walker {
	w := &walker{s: s, j: j, h: newShape(s, j), seed: seed}
	w.c = newCourse(j, nil)
	for _, g := range w.h.groups {
		w.runs = append(w.runs, run{lane0: int32(len(w.lanes))})
		w.lanes = append(w.lanes, make([]lane, len(g.total))...)
	}
	if w.ideal = newIdeals(j, w.h); w.ideal != nil {
		return w
	}
	w.rank, w.where, w.count = make([]int, len(w.runs)), make([]int32, len(w.j.tasks)), make([]int32, len(j.classes))
	for l := range w.lanes {
		w.lanes[l].Heap = heap.Heap[mate]{Before: mate.before, Moved: func(x mate, place int) { w.where[x.task] = int32(place) }}
	}
	w.queue.Before = func(a, b int32) bool {
		return w.runs[a].next < w.runs[b].next || w.runs[a].next == w.runs[b].next && a < b
	}
	w.queue.Moved = func(r int32, place int) { w.rank[r] = place }
	w.draw(samples)
	return w
}

// draw draws the work of every task in every sample, in means of its class.
func (w *walker) draw(samples int) {
	n := len(w.j.tasks)
	constant := w.j.g != nil && !slices.ContainsFunc(w.j.scv, func(x float64) bool { return x >= 1e-12 })
	switch {
	case constant:
		samples = 1
	case samples == 0:
		samples = min(max(1, sampledTasks/n), mostSamples)
	}
	w.work = draws(newSource(w.seed, 1), samples, n, func(i int) float64 { return w.j.scv[w.j.tasks[i]] })
}

// draws returns the factors of the mean time of n tasks in each sample. Their means over the samples are 1, so that no task is
// heavier in the samples than in the model.
func draws(src *source, samples, n int, scv func(task int) float64) [][]float64 {
	out := make([][]float64, samples)
	for s := range out {
		out[s] = make([]float64, n)
		for i := range out[s] {
			out[s][i] = src.unit(scv(i))
		}
	}
	if samples == 1 {
		return out
	}
	for i := range n {
		var sum float64
		for _, list := range out {
			sum += list[i]
		}
		mean := sum / float64(samples)
		for _, list := range out {
			list[i] /= mean
		}
	}
	return out
}

// pass walks once through the job, in all samples or all states, with the background that the shape has.
func (w *walker) pass(track bool) *occupancy {
	k, c := len(w.s.centers), len(w.j.classes)
	w.out = &occupancy{
		real: make([]float64, k), realBacklog: make([]float64, k), clock: make([]float64, k), clockBacklog: make([]float64, k),
		length: make([]float64, k), work: make([]float64, c),
	}
	w.track = track && c <= 64
	if w.track {
		w.out.sets = map[uint64]float64{}
	}
	if w.ideal != nil {
		w.ideal.pass(w)
	} else {
		for i := range w.work {
			w.sample(i)
		}
		w.mean(float64(len(w.work)))
	}
	for _, g := range w.h.groups {
		g.fold(w.out)
	}
	for k := range w.out.length {
		w.out.length[k] += w.out.response
	}
	return w.out
}

// mean divides the sums over samples.
func (w *walker) mean(n float64) {
	w.out.response /= n
	for _, g := range w.h.groups {
		for i := range g.sets.time {
			g.sets.time[i] /= n
		}
	}
	o := w.out
	for _, list := range [][]float64{o.real, o.realBacklog, o.clock, o.clockBacklog, o.length, o.work} {
		for i := range list {
			list[i] /= n
		}
	}
	for b := range o.sets {
		o.sets[b] /= n
	}
}

// fold adds the seconds of all sets of a group to o and clears them.
//
// A job that forks onto a shared processor slows itself down, so its wide sets look longer to the job than to others. On the work
// clock, a set in which b tasks meet at a center counts as long as a single task would take there.
func (g *group) fold(o *occupancy) {
	s, n := &g.sets, len(g.centers)
	for id, t := range s.time {
		if t == 0 {
			continue
		}
		for k, center := range g.centers {
			at := id*n + k
			q, l, p := s.q[at], s.l[at], s.p[at]
			if q <= 0 {
				continue
			}
			pace := 1.0
			if g.discipline[k] != Delay {
				m := float64(g.servers[k])
				pace = max(1, (1+g.queue[k])/m) / max(1, (max(1, q/p)+g.queue[k])/m)
			}
			o.real[center] += float64(t * q)
			o.realBacklog[center] += float64(t * l)
			o.clock[center] += float64(t * float64(q*pace))
			o.clockBacklog[center] += float64(t * float64(l*pace))
			o.length[center] += float64(t * float64(p*(pace-1)))
		}
	}
	clear(s.time)
}

// sample walks once, event by event.
func (w *walker) sample(i int) {
	work := w.work[i]
	w.c.draw = newSource(w.seed, uint64(i)+2)
	w.queue.List = w.queue.List[:0]
	for r := range w.runs {
		run := &w.runs[r]
		run.set, run.now, run.next = 0, 0, never
		w.queue.Push(int32(r))
	}
	for l := range w.lanes {
		w.lanes[l].done, w.lanes[l].List = 0, w.lanes[l].List[:0]
	}
	clear(w.count)
	w.bits = 0
	w.c.begin()
	now := 0.0
	w.apply(work, now, -1)
	for w.c.left > 0 {
		r := w.queue.List[0]
		run := &w.runs[r]
		if w.track {
			w.out.sets[w.bits] += run.next - now
		}
		now = run.next
		l := &w.lanes[run.lane0+run.kind]
		first := l.List[0]
		w.advance(r, now)
		l.done = first.goal
		w.remove(first.task)
		w.c.end(first.task)
		w.apply(work, now, r)
	}
	for r := range w.runs {
		w.advance(int32(r), now)
	}
	w.out.response += now
}

const never = 1e300

// advance brings a group to a time.
func (w *walker) advance(r int32, now float64) {
	run, g := &w.runs[r], w.h.groups[r]
	dt := now - run.now
	run.now = now
	if dt <= 0 {
		return
	}
	g.sets.time[run.set] += dt
	kinds, rate := g.rates(run.set)
	for i, k := range kinds {
		w.lanes[run.lane0+k].done += float64(rate[i] * dt)
	}
}

// apply starts and stops the tasks of the course at a time; r is a group that has changed already, or -1.
func (w *walker) apply(work []float64, now float64, r int32) {
	if r >= 0 {
		w.reschedule(r)
	}
	for _, task := range w.c.stopped {
		r := w.h.group[w.j.tasks[task]]
		w.advance(r, now)
		w.remove(task)
		w.reschedule(r)
	}
	for _, task := range w.c.started {
		class := w.j.tasks[task]
		r := w.h.group[class]
		w.advance(r, now)
		kind := w.h.kind[class]
		w.add(task, class, &w.lanes[w.runs[r].lane0+kind], work[task]*w.h.work[class])
		w.runs[r].set = w.h.groups[r].change(w.runs[r].set, kind, 1)
		w.reschedule(r)
	}
}

// reschedule finds the next end of a task of a group, and the place of the group in the order of the next ends.
func (w *walker) reschedule(r int32) {
	run, g := &w.runs[r], w.h.groups[r]
	if g.full() {
		w.forget(r)
	}
	run.next = never
	kinds, rate := g.rates(run.set)
	for i, k := range kinds {
		l := &w.lanes[run.lane0+k]
		if t := run.now + max(0, l.List[0].goal-l.done)/rate[i]; t < run.next {
			run.next, run.kind = t, k
		}
	}
	w.queue.Fix(w.rank[r])
}

// forget drops the active sets of a group, except the current one.
func (w *walker) forget(r int32) {
	run, g := &w.runs[r], w.h.groups[r]
	s := &g.sets
	kinds := slices.Clone(s.kind[s.first[run.set]:s.first[run.set+1]])
	counts := slices.Clone(s.count[s.first[run.set]:s.first[run.set+1]])
	g.fold(w.out)
	g.reset()
	run.set = g.intern(kinds, counts)
}

// add puts a task in progress.
func (w *walker) add(task, class int32, l *lane, work float64) {
	if len(l.List) == 0 {
		l.done = 0 // sums stay small
	}
	w.tally(class, 1)
	l.Push(mate{l.done + work, l.done, task})
}

// remove takes out a task that has ended or is abandoned.
func (w *walker) remove(task int32) {
	class := w.j.tasks[task]
	r, kind := w.h.group[class], w.h.kind[class]
	l := &w.lanes[w.runs[r].lane0+kind]
	w.tally(class, -1)
	w.out.work[class] += (l.done - l.Remove(int(w.where[task])).lag) / w.h.work[class]
	w.runs[r].set = w.h.groups[r].change(w.runs[r].set, kind, -1)
}

// tally counts the tasks of a class in progress.
func (w *walker) tally(class, by int32) {
	w.count[class] += by
	if !w.track {
		return
	}
	if w.count[class] > 0 {
		w.bits |= 1 << class
	} else {
		w.bits &^= 1 << class
	}
}

// All states of a job are visited if they are few and all service is exponential: then the time in a state and the probabilities
// of the next ends are known, and nothing must be sampled.
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

// newIdeals lists the states of a job, or returns nil if they must be sampled.
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

// ready reports whether a task is in progress when those of done have ended.
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

// fewIdeals excludes graphs that certainly have too many states: each level alone has a state for every set of its tasks.
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

// rateOf is the rate of a task in the active set of its group. A negative number is a set that has been counted.
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

package pipeline

import (
	"cmp"
	"slices"
)

// Classes are merged into kinds where their demands agree: always when they are equal, and where there are many classes
// when they are within mergeShare of each other, so that there are few active sets.
const (
	manyClasses = 64
	mergeShare  = 0.01
)

// mostTrials bounds the number of customers of other jobs that a distribution is made for.
const mostTrials = 1 << 30

// shape is a job's classes cut into groups.
type shape struct {
	groups []*group
	// By class: its group, its kind there, and the work of one task of it, in tasks of that kind.
	group []int32
	kind  []int32
	work  []float64
	// width is the largest number of tasks of one job at once.
	width int
}

// newShape cuts classes that meet at no center with a queue into groups.
func newShape(s *system, j *job) *shape {
	n := len(j.classes)
	h := &shape{group: make([]int32, n), kind: make([]int32, n), work: make([]float64, n), width: len(j.tasks)}
	if j.g != nil {
		h.width = cmp.Or(j.g.maxConcurrency, j.g.widthByLevels)
	}
	root := make([]int32, n) // a forest: the class that a group is known by
	for c := range root {
		root[c] = int32(c)
	}
	find := func(c int32) int32 {
		for root[c] != c {
			root[c] = root[root[c]]
			c = root[c]
		}
		return c
	}
	met := make([]int32, len(s.centers)) // a class at the center, plus one
	for c := range j.classes {
		for _, d := range j.classes[c].Demand {
			switch {
			case s.centers[d.Center].Kind == Delay || d.Seconds == 0:
			case met[d.Center] == 0:
				met[d.Center] = int32(c) + 1
			default:
				a, b := find(met[d.Center]-1), find(int32(c))
				root[max(a, b)] = min(a, b)
			}
		}
	}
	number := map[int32]int32{}
	var members [][]int
	for c := range int32(n) {
		id, ok := number[find(c)]
		if !ok {
			id = int32(len(members))
			number[find(c)] = id
			members = append(members, nil)
		}
		h.group[c], members[id] = id, append(members[id], int(c))
	}
	for _, list := range members {
		g := &group{}
		g.fill(s, j, list, h)
		h.groups = append(h.groups, g)
	}
	return h
}

// fill gives a group its kinds and centers.
func (g *group) fill(s *system, j *job, members []int, h *shape) {
	local := map[int]int32{}
	var kinds []int // the class that each kind is made of
	g.off = []int32{0}
	for _, c := range sortedByDemand(j, members) {
		class := &j.classes[c]
		if k := len(kinds) - 1; k >= 0 && alike(&j.classes[kinds[k]], class, len(j.classes) > manyClasses) {
			h.kind[c], h.work[c] = int32(k), j.total[c]/j.total[kinds[k]]
			continue
		}
		h.kind[c], h.work[c] = int32(len(kinds)), 1
		kinds = append(kinds, c)
		for _, d := range class.Demand {
			if d.Seconds == 0 {
				continue
			}
			k, ok := local[d.Center]
			if !ok {
				k = int32(len(g.centers))
				local[d.Center] = k
				g.centers = append(g.centers, int32(d.Center))
				g.discipline = append(g.discipline, s.centers[d.Center].Kind)
				g.servers = append(g.servers, s.centers[d.Center].Servers)
			}
			g.place, g.demand, g.scv = append(g.place, k), append(g.demand, d.Seconds), append(g.scv, class.SCV)
		}
		g.off = append(g.off, int32(len(g.place)))
		g.total = append(g.total, j.total[c])
	}
	n := len(g.centers)
	g.exact, g.memory = exactLimit(len(kinds), n), setsMemory
	g.queue, g.backlog, g.others = make([]float64, n), make([]float64, n), make([]pmf, n)
	g.residual, g.old = make([]float64, len(g.place)), make([]float64, len(g.place))
	for i := range g.work {
		g.work[i] = make([]float64, len(g.place))
	}
	g.reset()
}

// sortedByDemand orders classes so that those which are alike are neighbours.
func sortedByDemand(j *job, members []int) []int {
	center := func(a, b Demand) int { return cmp.Compare(a.Center, b.Center) }
	seconds := func(a, b Demand) int { return cmp.Compare(a.Seconds, b.Seconds) }
	list := slices.Clone(members)
	slices.SortFunc(list, func(a, b int) int {
		x, y := &j.classes[a], &j.classes[b]
		return cmp.Or(slices.CompareFunc(x.Demand, y.Demand, center), cmp.Compare(x.SCV, y.SCV), slices.CompareFunc(x.Demand, y.Demand, seconds), cmp.Compare(a, b))
	})
	return list
}

// alike tells whether two classes can be one kind: demands of the same centers that are equal, or nearly so.
func alike(a, b *Class, nearly bool) bool {
	return a.SCV == b.SCV && slices.EqualFunc(a.Demand, b.Demand, func(x, y Demand) bool {
		return x.Center == y.Center && (x.Seconds == y.Seconds || nearly && x.Seconds != 0 && relative(x.Seconds, y.Seconds) <= mergeShare)
	})
}

// begin starts a pass with the background of other jobs: queue and backlog by center of the system, the number of
// customers that other jobs have there at most, and the utilisation they make.
func (h *shape) begin(queue, backlog, utilisation []float64, others []int) {
	for _, g := range h.groups {
		g.pass++
		clear(g.sets.time)
		for k, center := range g.centers {
			g.queue[k], g.backlog[k] = queue[center], backlog[center]
			if g.servers[k] > 1 && g.discipline[k] != Delay {
				n := int(min(int64(h.width)*int64(others[center]), mostTrials))
				p := 0.0
				if n > 0 {
					p = min(1, queue[center]/float64(n))
				}
				g.others[k] = binomial(n, p, nil)
			}
		}
		for j, k := range g.place {
			g.residual[j] = 0
			if g.discipline[k] == FCFS && g.servers[k] == 1 {
				u := min(1, utilisation[g.centers[k]])
				g.residual[j] = (1 - min(g.scv[j], residualSCV)) / 2 * residualDamping(u)
			}
		}
	}
}

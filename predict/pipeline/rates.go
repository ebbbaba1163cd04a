package pipeline

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// exactSize is the largest active set whose residence times come from exact mean value analysis, with one customer for each task:
// it needs at most 2^exactSize smaller sets. The limit is lower for a group with so many kinds that more than manySets sets are
// of that size or less, or whose sets take much memory.
// manySets sets of that size or less, or where each takes much memory, the limit is lower.
const (
	exactSize   = 10
	manySets    = 20_000
	manyCenters = 2000
)

// exactLimit is the largest set that a group with so many kinds and centers solves exactly.
func exactLimit(kinds, centers int) int {
	if centers > manyCenters {
		return 1
	}
	sets, choose := 1, 1
	for size := 1; size <= exactSize; size++ {
		choose = choose * max(0, kinds-size+1) / size
		if sets += choose; sets > manySets {
			return max(1, size-1)
		}
	}
	return exactSize
}

// Residence times in larger sets are a fixed point.
const (
	fixedPointTolerance = 1e-9
	fixedPointRounds    = 500
)

// setsMemory bounds the memory of active sets in rates, in bytes. Above it all sets are dropped.
const setsMemory = 64 << 20

// group is a component of a job: kinds of tasks that share centers with queues, directly or through others. Tasks of different
// groups do not slow each other, so each group has its own active sets.
//
// A kind is the common form of classes with equal demands. Kinds and centers are numbered within the group.
type group struct {
	centers []int32 // number in the system
	off     []int32 // demands of kind c are off[c] to off[c+1] of place, demand, scv and residual
	place   []int32 // center
	demand  []float64
	scv     []float64 // of one visit, for the residual
	total   []float64 // seconds of a kind at all centers

	discipline []Kind
	servers    []int

	// Background of a pass, by center.
	queue, backlog []float64 // other jobs, all of them together
	others         []pmf     // of centers with several servers
	residual       []float64 // by demand: what is already done of the service of the customer in service, in units of its service

	exact  int // largest set that is solved exactly
	memory int // bytes that sets may take
	pass   uint32
	sets   sets
	work   [exactSize + 2][]float64 // residence times in progress, by size of the set
	old    []float64
}

// sets are the active sets of a group so far: multisets of kinds, with numbers in the order of their first use. Set 0 is empty.
type sets struct {
	index map[string]int32
	step  map[uint64]int32 // set, kind, and whether more, to the set with one more task of it, or one less
	first []int32          // kinds of set i are first[i] to first[i+1] of kind, count and rate
	kind  []int32
	count []int32
	rate  []float64 // of one task, in tasks per second
	size  []int32   // tasks
	done  []uint32  // the pass that set was solved in
	q     []float64 // by set and center: mean queue of the set itself
	l     []float64 // effective backlog of FCFS centers
	p     []float64 // probability that any task of the set is there
	time  []float64 // seconds per job that this set is the active one
	key   []byte
}

func (g *group) reset() {
	g.sets = sets{
		index: map[string]int32{}, step: map[uint64]int32{}, first: []int32{0}, key: g.sets.key,
	}
	g.intern(nil, nil)
}

// intern returns the number of a set with ascending kinds.
func (g *group) intern(kinds, counts []int32) int32 {
	s := &g.sets
	s.key = s.key[:0]
	for i, c := range kinds {
		s.key = binary.AppendUvarint(s.key, uint64(c))
		s.key = binary.AppendUvarint(s.key, uint64(counts[i]))
	}
	if id, ok := s.index[string(s.key)]; ok {
		return id
	}
	id := int32(len(s.size))
	s.index[string(s.key)] = id
	var size int32
	for _, n := range counts {
		size += n
	}
	s.kind = append(s.kind, kinds...)
	s.count = append(s.count, counts...)
	s.rate = append(s.rate, make([]float64, len(kinds))...)
	s.first = append(s.first, int32(len(s.kind)))
	s.size = append(s.size, size)
	s.done = append(s.done, 0)
	s.time = append(s.time, 0)
	zero := make([]float64, len(g.centers))
	s.q, s.l, s.p = append(s.q, zero...), append(s.l, zero...), append(s.p, zero...)
	return id
}

// full tells whether the sets take more memory than they may.
func (g *group) full() bool {
	s := &g.sets
	return len(s.size)*(3*8*len(g.centers)+200)+len(s.kind)*24 > g.memory
}

// change returns the set with by more tasks of a kind: 1 or -1.
func (g *group) change(id, kind, by int32) int32 {
	s := &g.sets
	key := uint64(id)<<32 | uint64(kind)<<1 | uint64(by+1)>>1
	if to, ok := s.step[key]; ok {
		return to
	}
	a, b := s.first[id], s.first[id+1]
	kinds, counts := slices.Clone(s.kind[a:b]), slices.Clone(s.count[a:b])
	i, found := slices.BinarySearch(kinds, kind)
	switch {
	case found && counts[i]+by > 0:
		counts[i] += by
	case found:
		kinds, counts = slices.Delete(kinds, i, i+1), slices.Delete(counts, i, i+1)
	default:
		kinds, counts = slices.Insert(kinds, i, kind), slices.Insert(counts, i, by)
	}
	to := g.intern(kinds, counts)
	s.step[key] = to
	return to
}

// rates returns the kinds of a set and the rate of one task of each. The slices are valid until the next new set.
func (g *group) rates(id int32) (kinds []int32, rate []float64) {
	g.solve(id)
	s := &g.sets
	a, b := s.first[id], s.first[id+1]
	return s.kind[a:b], s.rate[a:b]
}

// solve computes rates, queues and backlog of a set, from its smaller sets if these are few: in a closed network with one
// customer per task, an arriving customer sees the queues of the network without itself. The recursion is at most exactSize deep.
func (g *group) solve(id int32) {
	s := &g.sets
	if s.done[id] == g.pass {
		return
	}
	size := int(s.size[id])
	w := g.work[min(size, exactSize+1)]
	switch {
	case size > g.exact:
		g.iterate(id, w)
	default:
		for i := s.first[id]; i < s.first[id+1]; i++ {
			kind := s.kind[i]
			sub := g.change(id, kind, -1)
			g.solve(sub)
			k := int(sub) * len(g.centers)
			n := len(g.centers)
			g.residence(kind, s.q[k:k+n], s.l[k:k+n], size-1, w)
		}
	}
	g.aggregate(id, w)
	s.done[id] = g.pass
}

// residence stores in w the seconds that a task of a kind spends at its centers, given the queue q and the backlog l of n tasks
// of its own job, and the background.
func (g *group) residence(kind int32, q, l []float64, n int, w []float64) {
	for j := g.off[kind]; j < g.off[kind+1]; j++ {
		k, d := g.place[j], g.demand[j]
		switch {
		case g.discipline[k] == Delay || d == 0:
			w[j] = d
		case g.servers[k] > 1:
			var buf [64]float64
			own := pmf{0, buf[:1]}
			buf[0] = 1
			if n > 0 {
				own = binomial(n, q[k]/float64(n), buf[:0])
			}
			w[j] = d * slowdown(g.servers[k], own, q[k], g.others[k], g.queue[k])
		case g.discipline[k] == FCFS:
			w[j] = d * (1 + l[k] + g.backlog[k])
		default:
			w[j] = d * (1 + q[k] + g.queue[k])
		}
	}
}

// aggregate sets rates, queues, backlog and presence of a set from the residence times of its kinds.
func (g *group) aggregate(id int32, w []float64) {
	s, n := &g.sets, len(g.centers)
	q, l, p := s.q[int(id)*n:][:n], s.l[int(id)*n:][:n], s.p[int(id)*n:][:n]
	for k := range n {
		q[k], l[k], p[k] = 0, 0, 1 // p: of nobody there
	}
	for i := s.first[id]; i < s.first[id+1]; i++ {
		kind, count := s.kind[i], s.count[i]
		sum := g.sum(kind, w)
		s.rate[i] = 1 / sum
		for j := g.off[kind]; j < g.off[kind+1]; j++ {
			k, share := g.place[j], w[j]/sum
			q[k] += float64(float64(count) * share)
			l[k] += float64(float64(count) * g.ahead(j, w[j]) / sum)
			p[k] *= power(1-share, count)
		}
	}
	for k := range n {
		p[k] = 1 - p[k]
	}
}

func power(x float64, n int32) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y *= x
		}
		x *= x
	}
	return y
}

// sum is the seconds a task of a kind takes.
func (g *group) sum(kind int32, w []float64) float64 {
	var sum float64
	for j := g.off[kind]; j < g.off[kind+1]; j++ {
		sum += w[j]
	}
	return sum
}

// ahead is the time at an FCFS center for which a task delays those after it by a whole service: its residence less the residual
// of its own service.
func (g *group) ahead(j int32, w float64) float64 { return w - float64(g.residual[j]*g.demand[j]) }

// iterate finds the residence times of a large set as a fixed point. Each task sees the queues less its own share.
func (g *group) iterate(id int32, w []float64) {
	s, n := &g.sets, len(g.centers)
	for i := s.first[id]; i < s.first[id+1]; i++ {
		kind := s.kind[i]
		copy(w[g.off[kind]:g.off[kind+1]], g.demand[g.off[kind]:g.off[kind+1]])
	}
	q, l := make([]float64, n), make([]float64, n)
	for range fixedPointRounds {
		g.aggregate(id, w)
		copy(g.old, w)
		var change float64
		for i := s.first[id]; i < s.first[id+1]; i++ {
			kind := s.kind[i]
			sum := g.sum(kind, g.old)
			for j := g.off[kind]; j < g.off[kind+1]; j++ {
				at := int(id)*n + int(g.place[j])
				q[g.place[j]] = max(0, s.q[at]-g.old[j]/sum)
				l[g.place[j]] = s.l[at] - g.ahead(j, g.old[j])/sum
			}
			g.residence(kind, q, l, int(s.size[id])-1, w)
			for j := g.off[kind]; j < g.off[kind+1]; j++ {
				change = max(change, relative(w[j], g.old[j]))
			}
		}
		if change < fixedPointTolerance {
			return
		}
	}
}

// relative is the difference of two times as a share of the first.
func relative(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / a
}

// pmf is the distribution of a count, from first on. What is cut off on both sides has a probability below 1e-17.
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

// slowdown is the expected factor by which a customer of a center with m servers is slower than alone: E[max(1, (1+n)/m)]. n, the
// others at the center, is the sum of two independent counts with the given means.
func slowdown(m int, a pmf, meanA float64, b pmf, meanB float64) float64 {
	servers := float64(m)
	sum := (1 + meanA + meanB) / servers
	// If n+1 < m, nobody waits: (1+n)/m is too small there.
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

// Classes are merged into kinds if their demands agree: if they are equal, and in models with many classes if they differ by at
// most mergeShare, so that there are few active sets.
const (
	manyClasses = 64
	mergeShare  = 0.01
)

// mostTrials is the most customers of other jobs in a distribution.
const mostTrials = 1 << 30

// shape is the classes of a job, divided into groups.
type shape struct {
	groups []*group
	// By class: its group, its kind there, and the work of one task of it, in tasks of that kind.
	group []int32
	kind  []int32
	work  []float64
	// width is the largest number of tasks of one job at once.
	width int
}

// newShape divides classes into groups that share no center with a queue.
func newShape(s *system, j *job) *shape {
	n := len(j.classes)
	h := &shape{group: make([]int32, n), kind: make([]int32, n), work: make([]float64, n), width: len(j.tasks)}
	if j.g != nil {
		h.width = cmp.Or(j.g.maxConcurrency, j.g.widthByLevels)
	}
	root := make([]int32, n) // a forest: the root is the class that identifies a group
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

// sortedByDemand orders classes so that similar ones are neighbours.
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

// alike reports whether two classes can be one kind: demands of the same centers that are equal or, with nearly, differ little.
func alike(a, b *Class, nearly bool) bool {
	return a.SCV == b.SCV && slices.EqualFunc(a.Demand, b.Demand, func(x, y Demand) bool {
		return x.Center == y.Center && (x.Seconds == y.Seconds || nearly && x.Seconds != 0 && relative(x.Seconds, y.Seconds) <= mergeShare)
	})
}

// begin starts a pass.
func (h *shape) begin(b *background) {
	for _, g := range h.groups {
		g.pass++
		clear(g.sets.time)
		for k, center := range g.centers {
			g.queue[k], g.backlog[k] = b.queue[center], b.backlog[center]
			if g.servers[k] > 1 && g.discipline[k] != Delay {
				n := int(min(int64(h.width)*int64(b.others[center]), mostTrials))
				p := 0.0
				if n > 0 {
					p = min(1, b.queue[center]/float64(n))
				}
				g.others[k] = binomial(n, p, nil)
			}
		}
		for j, k := range g.place {
			g.residual[j] = 0
			if g.discipline[k] == FCFS && g.servers[k] == 1 {
				u := min(1, b.utilisation[g.centers[k]])
				g.residual[j] = (1 - min(g.scv[j], residualSCV)) / 2 * residualDamping(u)
			}
		}
	}
}

// Constants of walk that were fixed by experiment: on grids of pipelines (shared, own and mixed centers; light and heavy load;
// five laws of service; 448 scenarios) such that the error of the response against simulation is least. The random scenarios of
// the published accuracy were drawn after that. The constants are not derived from theory.

// residualSCV caps the variability that the residual of the customer in service of a FCFS center is computed from.
const residualSCV = 2.0

// clockShare is the weight of the work clock in the view of another job that spends the share running of its cycle running. The
// exponent is 2.
func clockShare(running float64) float64 { return square(running) }

// residualDamping is the factor of a residual at utilisation u. The exponent is 2.
func residualDamping(u float64) float64 { return 1 - square(u) }

// square is x times x, rounded before anything is added to it.
func square(x float64) float64 { return float64(x * x) }

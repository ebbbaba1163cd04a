package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Operator is the way in which the tree method composes the response of parallel parts.
type Operator string

// The operators.
const (
	OpExp   Operator = "exp"   // the largest of exponential times
	OpFJ    Operator = "fj"    // the harmonic number of parts times the slowest
	OpVarki Operator = "varki" // the harmonic number on service only, not on waiting
	OpTwo   Operator = "two"   // the largest of times with known mean and variance
)

// Operators lists them, the default first.
func Operators() []Operator { return []Operator{OpExp, OpFJ, OpVarki, OpTwo} }

const (
	treeTolerance = 1e-9
	treeRounds    = 5000
	maxPairs      = 4_000_000 // of tasks that may overlap
	maxTreeTasks  = 2_000_000
)

// The method tree is approximate mean value analysis on the level of tasks, from the literature on precedence graphs in queueing
// networks (Mak and Lundstrom, IEEE TPDS 1 (1990); Liang and Tripathi, IEEE TPDS 11 (2000)). A task finds at a center the tasks
// of its own job for the share of its time in which they overlap, and those of other jobs for the share of the time in which they
// are there. The method is here for comparison: walk is several times as accurate.

// branch is a node of the tree that the method works on. A graph becomes a tree by levels: all tasks with equally long paths to
// them are done at once, one level after the other. Levels of the same classes are one branch.
type branch struct {
	op    Op
	parts []int32
	leaf  int32   // of a Leaf
	times float64 // how often it is done in a row, of a part of a Series
	prob  float64 // of a part of a Choice

	law     law
	service float64 // at centers with queues
	start   float64 // on the mean
	weight  float64 // how often it is done in one job, as a share of its whole length if it is abandoned
}

// leaf is a task of the tree, or several equal ones that run at once.
type leaf struct {
	class int32
	count int32
	node  int32
	peers []peer
	need  []Demand // with centers of several servers replaced
	delay float64
	w     []float64 // by demand
	ahead []float64 // work found there
	total float64
}

// peer is a leaf that may overlap with another one.
type peer struct {
	leaf     int32
	together bool // both begin with their common parallel node
	or       bool // and it ends with the first of the parts
	prob     float64
}

// treeModel is a type that is being solved.
type treeModel struct {
	s      *system
	j      *job
	op     Operator
	nodes  []branch // parts follow their node
	leaves []leaf
	r      float64
	queue  []float64
	begun  bool
}

func newTreeModel(s *system, j *job, op Operator) (*treeModel, error) {
	m := &treeModel{s: s, j: j, op: op, queue: make([]float64, len(s.centers))}
	switch {
	case len(j.tasks) > maxTreeTasks:
		return nil, fmt.Errorf("%w: tree has at most %d tasks", ErrTooLarge, maxTreeTasks)
	case j.tree != nil:
		m.plant(j.tree)
	default:
		m.levels(j.g)
	}
	if err := m.pair(); err != nil {
		return nil, err
	}
	for i := range m.leaves {
		m.leaves[i].prepare(s, &j.classes[m.leaves[i].class])
	}
	return m, nil
}

func (m *treeModel) plant(t *Tree) {
	for v, n := range t.Nodes {
		b := branch{op: n.Op, times: 1, prob: n.Prob}
		for _, p := range n.Parts {
			b.parts = append(b.parts, int32(p))
		}
		if n.Op == Leaf {
			b.leaf = int32(len(m.leaves))
			m.leaves = append(m.leaves, leaf{class: int32(n.Class), count: 1, node: int32(v)})
		}
		m.nodes = append(m.nodes, b)
	}
}

// levels makes a series of parallel nodes from a graph.
func (m *treeModel) levels(g *graph) {
	members := make([]map[int32]int32, g.levels) // class to count
	for i, l := range g.levelOf {
		if members[l] == nil {
			members[l] = map[int32]int32{}
		}
		members[l][g.class[i]]++
	}
	m.nodes = append(m.nodes, branch{op: Series, times: 1})
	known := map[string]int32{}
	for _, counts := range members {
		key := fmt.Sprint(counts) // in order of classes
		if v, ok := known[key]; ok {
			m.nodes[v].times++
			continue
		}
		v := int32(len(m.nodes))
		known[key] = v
		m.nodes[0].parts = append(m.nodes[0].parts, v)
		m.nodes = append(m.nodes, branch{op: And, times: 1})
		for _, c := range slices.Sorted(maps.Keys(counts)) {
			p := int32(len(m.nodes))
			m.nodes[v].parts = append(m.nodes[v].parts, p)
			m.nodes = append(m.nodes, branch{op: Leaf, leaf: int32(len(m.leaves)), times: 1})
			m.leaves = append(m.leaves, leaf{class: c, count: counts[c], node: p})
		}
	}
}

// pair finds for every two leaves whether they may overlap: the lowest node that contains both must be parallel.
func (m *treeModel) pair() error {
	below := make([][]peer, len(m.nodes)) // leaves; together: that begin with the node
	pairs, tooMany := 0, fmt.Errorf("%w: tree has at most %d pairs of tasks side by side", ErrTooLarge, maxPairs)
	for v := len(m.nodes) - 1; v >= 0; v-- {
		n := &m.nodes[v]
		if n.op == Leaf {
			below[v] = []peer{{n.leaf, true, false, 1}}
			if l := &m.leaves[n.leaf]; l.count > 1 {
				l.peers = append(l.peers, below[v][0])
			}
		}
		for i, p := range n.parts {
			if n.op == And || n.op == Or {
				if len(below[p]) > (maxPairs-pairs)/max(1, len(below[v])) {
					return tooMany
				}
				pairs += len(below[p]) * len(below[v])
				for _, a := range below[p] {
					for _, b := range below[v] {
						both := a.together && b.together
						m.leaves[a.leaf].peers = append(m.leaves[a.leaf].peers, peer{b.leaf, both, n.op == Or, b.prob})
						m.leaves[b.leaf].peers = append(m.leaves[b.leaf].peers, peer{a.leaf, both, n.op == Or, a.prob})
					}
				}
			}
			for _, a := range below[p] {
				a.together = a.together && (n.op != Series || i == 0)
				if n.op == Choice {
					a.prob *= m.nodes[p].prob
				}
				below[v] = append(below[v], a)
			}
			below[p] = nil
		}
		if pairs += len(below[v]); pairs > maxPairs {
			return tooMany
		}
	}
	return nil
}

// prepare replaces centers with several servers by Seidmann's approximation.
func (l *leaf) prepare(s *system, c *Class) {
	for _, d := range c.Demand {
		servers := float64(s.centers[d.Center].Servers)
		if s.centers[d.Center].Kind != Delay && servers > 1 {
			l.delay += d.Seconds * (servers - 1) / servers
			d.Seconds /= servers
		}
		l.need = append(l.need, d)
		l.w = append(l.w, d.Seconds)
	}
	l.ahead = make([]float64, len(l.need))
}

// treeAnswers solves by tree. Every type sees the others as they were in the last round.
func (s *system) treeAnswers(a *Answer, out []TypeAnswer) error {
	types := make([]*treeModel, len(s.jobs))
	for i := range s.jobs {
		var err error
		if types[i], err = newTreeModel(s, &s.jobs[i], a.Options.Operator); err != nil {
			return err
		}
	}
	others := make([]float64, len(s.centers))
	converged := false
	for n := 0; n < treeRounds && !converged; n++ {
		var change float64
		for i, t := range types {
			clear(others)
			for r := range types {
				for k := range others {
					c := dealt(s.jobs[r].n, s.copies[k])
					if r == i {
						c--
					}
					others[k] += float64(float64(c) * types[r].queue[k])
				}
			}
			change = max(change, t.round(others))
		}
		converged = change < treeTolerance
	}
	if !converged {
		a.warn("tree did not settle within %d rounds", treeRounds)
	}
	for i, t := range types {
		j := &s.jobs[i]
		out[i].Response, out[i].queue = t.r, t.queue
		out[i].Throughput = float64(j.n) / (t.r + j.think)
	}
	return nil
}

// round composes the response of all parts, then updates what every task finds at its centers, with a mean of others[k] customers
// of other jobs there. It returns the largest relative change.
func (m *treeModel) round(others []float64) float64 {
	for i := range m.leaves {
		l := &m.leaves[i]
		l.total = l.delay
		for _, w := range l.w {
			l.total += w
		}
	}
	for v := len(m.nodes) - 1; v >= 0; v-- {
		m.compose(&m.nodes[v])
	}
	response := m.nodes[0].law.mean
	change := relative(response, m.r)
	if !m.begun {
		m.r, m.begun = response, true
	}
	m.r = (m.r + response) / 2
	m.place()
	for i := range m.leaves {
		change = max(change, m.update(int32(i), others))
	}
	clear(m.queue)
	for i := range m.leaves {
		l := &m.leaves[i]
		weight := float64(l.count) * m.nodes[l.node].weight
		for q, d := range l.need {
			m.queue[d.Center] += weight * l.w[q] / (m.r + m.j.think)
		}
	}
	return change
}

// place computes when every node begins, and how often it is done.
func (m *treeModel) place() {
	m.nodes[0].start, m.nodes[0].weight = 0, 1
	for v := range m.nodes {
		n := &m.nodes[v]
		at := n.start
		for _, p := range n.parts {
			b := &m.nodes[p]
			b.start, b.weight = at, float64(n.weight*b.times)
			switch n.op {
			case Series:
				at += float64(b.times * b.law.mean)
			case Choice:
				b.weight *= b.prob
			case Or:
				b.weight *= min(1, n.law.mean/b.law.mean)
			}
		}
	}
}

// update computes the residence times of a leaf.
func (m *treeModel) update(i int32, others []float64) float64 {
	l := &m.leaves[i]
	clear(l.ahead)
	for _, p := range l.peers {
		o := &m.leaves[p.leaf]
		share := m.share(l, o, p) * p.prob
		n := float64(o.count)
		if p.leaf == i {
			n--
		}
		for q := range l.need {
			for r := range o.need {
				if o.need[r].Center == l.need[q].Center {
					l.ahead[q] += share * n * o.w[r] / o.total
				}
			}
		}
	}
	var change float64
	for q, d := range l.need {
		if m.s.centers[d.Center].Kind == Delay {
			continue
		}
		l.ahead[q] += others[d.Center]
		w := float64(d.Seconds * (1 + l.ahead[q]))
		change = max(change, relative(w, l.w[q]))
		l.w[q] = (l.w[q] + w) / 2
	}
	return change
}

// nearlyConstant is the sum of two variabilities below which the operator with two moments treats times as constant.
const nearlyConstant = 0.3

// share is the part of l's time in which o is in progress too.
func (m *treeModel) share(l, o *leaf, p peer) float64 {
	switch {
	case p.or && p.together:
		return 1
	case p.together && m.op == OpTwo && m.j.scv[l.class]+m.j.scv[o.class] < nearlyConstant:
		return min(1, o.total/l.total)
	case p.together:
		return o.total / (l.total + o.total)
	}
	a, b := m.nodes[l.node].start, m.nodes[o.node].start
	return max(0, min(a+l.total, b+o.total)-max(a, b)) / l.total
}

// compose computes the time of a node from its parts.
func (m *treeModel) compose(n *branch) {
	n.law, n.service = law{}, 0
	switch n.op {
	case Leaf:
		l := &m.leaves[n.leaf]
		n.law = law{l.total, float64(m.j.scv[l.class] * square(l.total))}
		for _, d := range l.need {
			if m.s.centers[d.Center].Kind != Delay {
				n.service += d.Seconds
			}
		}
	case Series:
		for _, p := range n.parts {
			b := &m.nodes[p]
			n.law.mean += float64(b.times * b.law.mean)
			n.law.variance += float64(b.times * b.law.variance)
			n.service += float64(b.times * b.service)
		}
	case And:
		m.composeAnd(n)
	case Or:
		m.composeOr(n)
	case Choice:
		var second float64
		for _, p := range n.parts {
			b := &m.nodes[p]
			n.law.mean += float64(b.prob * b.law.mean)
			second += float64(b.prob * (b.law.variance + square(b.law.mean)))
			n.service += float64(b.prob * b.service)
		}
		n.law.variance = max(0, second-square(n.law.mean))
	}
}

// composeAnd is the time until the last part has ended.
func (m *treeModel) composeAnd(n *branch) {
	var means []float64
	var most float64
	laws := law{}
	for _, p := range n.parts {
		b := &m.nodes[p]
		count := int32(1)
		if b.op == Leaf {
			count = m.leaves[b.leaf].count
		}
		most, n.service = max(most, b.law.mean), max(n.service, b.service)
		for range count {
			if len(means) == 0 {
				laws = b.law
			} else if m.op == OpTwo {
				laws = clark(laws, b.law)
			}
			means = append(means, b.law.mean)
		}
	}
	h, h2 := harmonic(len(means))
	switch m.op {
	case OpExp:
		n.law = maxExponential(means)
	case OpFJ:
		n.law = law{h * most, square(most) * h2}
	case OpVarki:
		for _, p := range n.parts {
			b := &m.nodes[p]
			n.law.mean = max(n.law.mean, b.law.mean+float64((h-1)*b.service))
		}
		n.law.variance = square(most) * h2
	case OpTwo:
		n.law = laws
	}
}

// composeOr is the time until the first part has ended.
func (m *treeModel) composeOr(n *branch) {
	var rate float64
	laws := m.nodes[n.parts[0]].law
	n.service = m.nodes[n.parts[0]].service
	for i, p := range n.parts {
		b := &m.nodes[p]
		rate += 1 / b.law.mean
		n.service = min(n.service, b.service)
		if i > 0 {
			laws = least(laws, b.law)
		}
	}
	n.law = laws
	if m.op != OpTwo {
		n.law = law{1 / rate, 1 / square(rate)}
	}
}

// law is the mean and variance of a time.
type law struct{ mean, variance float64 }

// harmonic is H_n = 1 + 1/2 + ... + 1/n, and squares the same sum of squares.
func harmonic(n int) (sum, squares float64) {
	for i := n; i >= 1; i-- {
		sum += 1 / float64(i)
		squares += 1 / square(float64(i))
	}
	return sum, squares
}

// mostInclusion is the most branches for which the maximum of exponential times is computed over all subsets.
const mostInclusion = 12

// maxExponential is the law of the largest of independent exponential times.
func maxExponential(means []float64) law {
	low, high := means[0], means[0]
	for _, m := range means {
		low, high = min(low, m), max(high, m)
	}
	n := len(means)
	switch {
	case high-low <= 1e-9*high:
		h, h2 := harmonic(n)
		return law{means[0] * h, square(means[0]) * h2}
	case n > mostInclusion:
		return integrated(means)
	}
	var first, second float64
	for set := 1; set < 1<<n; set++ {
		var rate float64
		sign := -1.0
		for i, m := range means {
			if set>>i&1 == 1 {
				rate += 1 / m
				sign = -sign
			}
		}
		first += sign / rate
		second += sign * 2 / square(rate)
	}
	return law{first, max(0, second-square(first))}
}

// integrated is the law of the largest of many exponential times, by Simpson's rule on the probability that it is not over yet.
// Equal means are one factor. O(distinct means) for each of 1024 points.
func integrated(means []float64) law {
	const points = 1024
	list := slices.Sorted(slices.Values(means))
	end := list[len(list)-1] * (40 + logarithm(float64(len(list))))
	step := end / points
	var r law
	for i := range points + 1 {
		t := float64(float64(i) * step) // rounded: 2 t below must not become a fused sum
		over := 1.0
		for at := 0; at < len(list) && over > 0; {
			n := at
			for n < len(list) && list[n] == list[at] {
				n++
			}
			over = float64(over * power(1-exponent(-t/list[at]), int32(n-at)))
			at = n
		}
		weight := float64(2 + 2*(i%2))
		if i == 0 || i == points {
			weight = 1
		}
		left := (1 - over) * weight * step / 3
		r.mean += float64(left)
		r.variance += float64(2 * t * left)
	}
	r.variance = max(0, r.variance-square(r.mean))
	return r
}

// clark is the larger of two independent times, as if they were normal: Clark, The greatest of a finite set of random
// variables, Operations Research 9 (1961).
func clark(a, b law) law {
	spread := a.variance + b.variance
	if spread < 1e-18 {
		if a.mean >= b.mean {
			return a
		}
		return b
	}
	s := math.Sqrt(spread)
	z := (a.mean - b.mean) / s
	p := 0.5 * (1 + math.Erf(z/math.Sqrt2))
	density := exponent(-square(z)/2) / math.Sqrt(2*math.Pi)
	mean := float64(a.mean*p) + float64(b.mean*(1-p)) + float64(s*density)
	second := float64((square(a.mean)+a.variance)*p) + float64((square(b.mean)+b.variance)*(1-p)) +
		float64((a.mean+b.mean)*float64(s*density))
	return law{mean, max(0, second-square(mean))}
}

// least is the smaller of two independent times. It and the larger one have the same sum as the two times.
func least(a, b law) law {
	most := clark(a, b)
	mean := max(0, a.mean+b.mean-most.mean)
	second := a.variance + square(a.mean) + b.variance + square(b.mean) - most.variance - square(most.mean)
	return law{mean, max(0, second-square(mean))}
}

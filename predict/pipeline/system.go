package pipeline

import (
	"math"
	"slices"
)

// system is a validated model in the form that solvers use.
type system struct {
	centers []Center
	copies  []int // machines that each center is on, among which jobs are dealt
	jobs    []job
}

// job is one type of jobs.
type job struct {
	name    string
	n       int
	think   float64
	classes []Class
	scv     []float64 // of a whole task of each class, when alone
	total   []float64 // seconds of service of a task of each class
	g       *graph    // nil where parts can be given up or chosen
	tree    *Tree     // nil where the job was not given as a tree
	tasks   []int32   // class of each, of a tree from left to right
	count   []float64 // least expected number of tasks of each class in one job
	demand  []float64 // least expected seconds of one job at each center
	path    float64   // seconds of the longest path when no task waits: a lower bound of every response
	chunks  int       // of a pipeline
}

// compile turns a valid model into a system. Pipelines get their graph, so memory is that of the tasks. Where chunks are
// given, a pipeline is shortened to so many chunks of the size that they have, and the think time with it: the shares of
// the time that a job spends where stay those of the whole.
func (m *Model) compile(chunks []int) *system {
	s := &system{centers: m.Centers, copies: m.copies()}
	for i := range m.Types {
		n := 0
		if chunks != nil {
			n = chunks[i]
		}
		s.jobs = append(s.jobs, m.Types[i].compile(len(m.Centers), n))
	}
	return s
}

// copies is the number of machines that each center is on.
func (m *Model) copies() []int {
	list := make([]int, len(m.Centers))
	for k := range list {
		list[k] = 1
	}
	for _, g := range m.Machines {
		for _, k := range g.Centers {
			list[k] = g.Count
		}
	}
	return list
}

func (t *Type) compile(centers, chunks int) job {
	j := job{name: t.Name, n: t.Jobs, think: t.Think, tree: t.Tree, classes: t.Classes}
	switch p := t.Pipeline; {
	case p != nil:
		j.chunks, j.classes = p.Chunks, p.classes(p.Chunks)
		if chunks > 0 && chunks < p.Chunks {
			j.chunks = chunks
			j.think *= float64(chunks) / float64(p.Chunks)
		}
		j.g = p.graph(j.chunks)
	case t.Tree == nil:
		j.g = explicit(t.Tasks)
	case t.Tree.pure():
		j.g = t.Tree.graph()
	}
	j.describe(centers)
	return j
}

// describe computes what follows from classes and graph or tree. Demands of 0 are left out.
func (j *job) describe(centers int) {
	classes := make([]Class, len(j.classes))
	for i, c := range j.classes {
		c.Demand = slices.DeleteFunc(slices.Clone(c.Demand), func(d Demand) bool { return d.Seconds == 0 })
		classes[i] = c
	}
	j.classes = classes
	j.scv, j.total = make([]float64, len(j.classes)), make([]float64, len(j.classes))
	for i := range j.classes {
		j.total[i], j.scv[i] = j.classes[i].moments()
	}
	if j.g != nil {
		j.tasks, j.count = j.g.class, make([]float64, len(j.classes))
		for _, c := range j.tasks {
			j.count[c]++
		}
		_, end := j.g.spans(j.total)
		j.path = slices.Max(end)
	} else {
		for _, v := range j.tree.leaves() {
			j.tasks = append(j.tasks, int32(j.tree.Nodes[v].Class))
		}
		j.count, j.path = j.tree.least(j.total)
	}
	j.demand = make([]float64, centers)
	for i, c := range j.classes {
		for _, d := range c.Demand {
			j.demand[d.Center] += float64(j.count[i] * d.Seconds)
		}
	}
}

// moments returns the mean of a task when alone, in seconds, and its squared coefficient of variation. One visit to a
// center with mean d has variance SCV d^2; visits are independent.
func (c *Class) moments() (mean, scv float64) {
	v := float64(c.Visits)
	var pass float64 // variance of one pass over the centers
	for _, d := range c.Demand {
		mean += d.Seconds
		pass += float64(c.SCV * square(d.Seconds/v))
	}
	if mean <= 0 {
		return 0, 0
	}
	variance := float64(v * pass)
	if c.Geometric {
		variance += float64(v * (v - 1) * square(mean/v))
	}
	return mean, variance / square(mean)
}

// SCVOfTask sets SCV so that a whole task, when alone, has the given squared coefficient of variation: what is measured from
// a trace is that of tasks. It returns false where the number of passes alone varies more.
func (c *Class) SCVOfTask(scv float64) bool {
	v := float64(c.Visits)
	var mean, squares float64
	for _, d := range c.Demand {
		mean += d.Seconds
		squares += square(d.Seconds / v)
	}
	variance := float64(scv * square(mean))
	if c.Geometric {
		variance -= float64(v * (v - 1) * square(mean/v))
	}
	c.SCV = max(0, variance/float64(v*squares))
	return variance >= 0 && !math.IsNaN(c.SCV)
}

// least returns the expected number of tasks of each class that are certainly done to their end, and a lower bound of the
// mean response. The parts of an Or count as nothing: which one wins, and how far the others get, depends on times.
func (t *Tree) least(total []float64) (count []float64, path float64) {
	weight := make([]float64, len(t.Nodes))
	weight[0] = 1
	for v, n := range t.Nodes {
		for _, c := range n.Parts {
			switch n.Op {
			case Or:
				if len(n.Parts) == 1 {
					weight[c] = weight[v]
				}
			case Choice:
				weight[c] = float64(weight[v] * t.Nodes[c].Prob)
			default:
				weight[c] = weight[v]
			}
		}
	}
	count, bound := make([]float64, len(total)), make([]float64, len(t.Nodes))
	for v := len(t.Nodes) - 1; v >= 0; v-- {
		n := &t.Nodes[v]
		if n.Op == Leaf {
			count[n.Class] += weight[v]
			bound[v] = total[n.Class]
		}
		for _, c := range n.Parts {
			switch {
			case n.Op == Series, n.Op == Or && len(n.Parts) == 1:
				bound[v] += bound[c]
			case n.Op == And:
				bound[v] = max(bound[v], bound[c])
			case n.Op == Choice:
				bound[v] += float64(t.Nodes[c].Prob * bound[c])
			}
		}
	}
	return count, bound[0]
}

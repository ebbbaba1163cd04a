package pipeline

import (
	"math"
	"slices"
)

// graph is a precedence graph: tasks in topological order, with lists of their predecessors and successors. Task i comes after
// pred[predAt[i]:predAt[i+1]]. An entry takes 4 bytes.
type graph struct {
	class          []int32
	predAt, pred   []int32
	succAt, succ   []int32
	roots          []int32
	widthByLevels  int // most tasks of one level, where a level holds the tasks with equally long paths to them
	levelOf        []int32
	levels         int
	maxConcurrency int // tasks of one job that may be in progress at once; 0: not known
}

// preds and succs are the neighbours of task i.
func (g *graph) preds(i int32) []int32 { return g.pred[g.predAt[i]:g.predAt[i+1]] }

func (g *graph) tasks() int { return len(g.class) }

// finish completes a graph that has class, predAt and pred.
func (g *graph) finish() {
	n := len(g.class)
	g.succAt = make([]int32, n+1)
	for _, p := range g.pred {
		g.succAt[p+1]++
	}
	for i := range n {
		g.succAt[i+1] += g.succAt[i]
	}
	g.succ = make([]int32, len(g.pred))
	fill := make([]int32, n)
	g.levelOf = make([]int32, n)
	for i := range int32(n) {
		list := g.preds(i)
		if len(list) == 0 {
			g.roots = append(g.roots, i)
		}
		for _, p := range list {
			g.succ[g.succAt[p]+fill[p]] = i
			fill[p]++
			g.levelOf[i] = max(g.levelOf[i], g.levelOf[p]+1)
		}
		g.levels = max(g.levels, int(g.levelOf[i])+1)
	}
	count := fill[:0:0]
	count = append(count, make([]int32, g.levels)...)
	for _, l := range g.levelOf {
		count[l]++
		g.widthByLevels = max(g.widthByLevels, int(count[l]))
	}
}

// graph makes the tasks of a pipeline, chunk after chunk. Class s is stage s. Chunk c of a stage comes after the chunk that
// its worker had before, after chunk c of the stage before, and, where buffers are limited, after the chunk of the next
// stage that frees a place.
func (p *Pipeline) graph(chunks int) *graph {
	stages := len(p.Stages)
	n := chunks * stages
	g := &graph{class: make([]int32, 0, n), predAt: make([]int32, 1, n+1), pred: make([]int32, 0, 3*n)}
	task := func(s, c int) int32 { return int32(c*stages + s) }
	for c := range chunks {
		for s := range stages {
			g.class = append(g.class, int32(s))
			// In order of task numbers, each once.
			if b := p.buffer(s); b > 0 && s+1 < stages && c >= b {
				g.pred = append(g.pred, task(s+1, c-b))
			}
			if w := p.Stages[s].Workers; c >= w {
				g.pred = append(g.pred, task(s, c-w))
			}
			if s > 0 {
				g.pred = append(g.pred, task(s-1, c))
			}
			g.predAt = append(g.predAt, int32(len(g.pred)))
		}
	}
	g.finish()
	for _, s := range p.Stages {
		g.maxConcurrency += min(s.Workers, chunks)
	}
	return g
}

// buffer is the number of chunks by which a stage may be ahead of the next one; 0: any number.
func (p *Pipeline) buffer(stage int) int {
	switch b := p.Stages[stage].Buffer; b {
	case 0:
		return p.Buffer
	case Unbounded:
		return 0
	default:
		return b
	}
}

// classes are the kinds of chunks: a stage's demand by the number of chunks, and the overhead of one.
func (p *Pipeline) classes(chunks int) []Class {
	list := make([]Class, len(p.Stages))
	for i, s := range p.Stages {
		c := s.Class
		c.Demand = nil
		place := map[int]int{}
		for _, d := range s.Demand {
			place[d.Center] = len(c.Demand)
			c.Demand = append(c.Demand, Demand{d.Center, d.Seconds / float64(chunks)})
		}
		for _, d := range s.Overhead {
			j, has := place[d.Center]
			if !has {
				j = len(c.Demand)
				c.Demand = append(c.Demand, Demand{Center: d.Center})
			}
			c.Demand[j].Seconds += d.Seconds
		}
		list[i] = c
	}
	return list
}

// explicit makes a graph of explicit tasks. Edges that are given twice count once.
func explicit(tasks []Task) *graph {
	g := &graph{class: make([]int32, 0, len(tasks)), predAt: make([]int32, 1, len(tasks)+1)}
	seen := make([]int32, len(tasks)) // the task that last named this one, plus one
	for i, t := range tasks {
		g.class = append(g.class, int32(t.Class))
		for _, p := range t.After {
			if seen[p] != int32(i)+1 {
				seen[p] = int32(i) + 1
				g.pred = append(g.pred, int32(p))
			}
		}
		g.predAt = append(g.predAt, int32(len(g.pred)))
	}
	g.finish()
	return g
}

// spans returns the first begin and the last end of the tasks of each class, if each takes the time of its class and none waits.
func (g *graph) spans(seconds []float64) (begin, end []float64) {
	begin, end = slices.Repeat([]float64{math.Inf(1)}, len(seconds)), make([]float64, len(seconds))
	ends := make([]float64, g.tasks())
	for i, c := range g.class {
		var start float64
		for _, p := range g.preds(int32(i)) {
			start = max(start, ends[p])
		}
		ends[i] = start + seconds[c]
		begin[c], end[c] = min(begin[c], start), max(end[c], ends[i])
	}
	return begin, end
}

// ClassSpans returns from when to when the tasks of each class of a model's first type are in progress if none waits, for a type
// that is a pipeline or a graph. A long pipeline is shortened; its rate stays the same, and a span of the whole pipeline is scale
// times as long.
func (m *Model) ClassSpans() (begin, end []float64, scale float64) {
	short, _ := m.lengths()
	j := &m.compile(short).jobs[0]
	scale = 1
	if p := m.Types[0].Pipeline; p != nil {
		scale = float64(p.Chunks) / float64(short[0])
	}
	begin, end = j.g.spans(j.total)
	return begin, end, scale
}

// system is a validated model in the form that solvers use.
type system struct {
	centers []Center
	copies  []int // machines that each center has a copy on, to which jobs are dealt out
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
	g       *graph    // nil if parts can be abandoned or chosen
	tree    *Tree     // nil if the job was not given as a tree
	tasks   []int32   // class of each task; of a tree from left to right
	count   []float64 // least expected number of tasks of each class in one job
	demand  []float64 // least expected seconds of one job at each center
	path    float64   // seconds of the longest path when no task waits: a lower bound of every response
	chunks  int       // of a pipeline
}

// compile turns a valid model into a system. Memory: that of the tasks, since pipelines get their graphs. If chunks are given,
// pipelines are shortened to so many chunks of the same size, and the think time in proportion. The shares of a job's time at
// centers stay the same.
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

// copies returns the number of machines that have a copy of each center.
func (m *Model) copies() []int {
	list := slices.Repeat([]int{1}, len(m.Centers))
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

// describe computes what follows from classes and graph or tree. It removes demands of 0.
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

// SCVOfTask sets SCV so that a whole task, when alone, has the given squared coefficient of variation, since a trace shows whole
// tasks. It returns false if the random number of passes alone varies more.
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

// least returns the expected number of tasks of each class that are certainly completed, and a lower bound of the mean response.
// The parts of an Or count as nothing, because times decide which one wins and how far the others get.
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

// course is the progress of one job in its graph or tree. A task that ends starts others. In a tree it may also stop tasks that
// are abandoned.
type course struct {
	j       *job
	draw    *source // for choices
	left    int     // tasks, or 1 while a tree is in progress
	pend    []int32 // of a graph: predecessors that have not ended; of a tree: parts in progress, or the next part
	running []bool  // of a tree, by node
	up      []int32 // parent node
	leaf    []int32 // node of a task
	task    []int32 // task of a node that is a leaf

	started, stopped []int32 // by the last step
}

// newCourse allocates the memory for one job at a time.
func newCourse(j *job, draw *source) *course {
	c := &course{j: j, draw: draw}
	if j.g != nil {
		c.pend = make([]int32, j.g.tasks())
		return c
	}
	t := j.tree
	n := len(t.Nodes)
	c.pend, c.running, c.up, c.task = make([]int32, n), make([]bool, n), make([]int32, n), make([]int32, n)
	c.up[0] = -1
	for v, node := range t.Nodes {
		for _, p := range node.Parts {
			c.up[p] = int32(v)
		}
	}
	c.leaf = t.leaves()
	for i, v := range c.leaf {
		c.task[v] = int32(i)
	}
	return c
}

// begin starts a job; started has its first tasks.
func (c *course) begin() {
	c.started, c.stopped = c.started[:0], c.stopped[:0]
	g := c.j.g
	if g == nil {
		c.left = 1
		clear(c.running)
		c.start(0)
		return
	}
	c.left = g.tasks()
	for i := range c.pend {
		c.pend[i] = g.predAt[i+1] - g.predAt[i]
	}
	c.started = append(c.started, g.roots...)
}

// end ends a task. The job has ended when left is 0.
func (c *course) end(task int32) {
	c.started, c.stopped = c.started[:0], c.stopped[:0]
	g := c.j.g
	if g == nil {
		c.climb(c.leaf[task])
		return
	}
	c.left--
	for _, s := range g.succ[g.succAt[task]:g.succAt[task+1]] {
		if c.pend[s]--; c.pend[s] == 0 {
			c.started = append(c.started, s)
		}
	}
}

// start starts a node of the tree and what begins with it.
func (c *course) start(v int32) {
	node := &c.j.tree.Nodes[v]
	c.running[v] = true
	switch node.Op {
	case Leaf:
		c.started = append(c.started, c.task[v])
	case Series:
		c.pend[v] = 1
		c.start(int32(node.Parts[0]))
	case Choice:
		c.start(int32(c.choose(node)))
	default:
		c.pend[v] = int32(len(node.Parts))
		for _, p := range node.Parts {
			c.start(int32(p))
		}
	}
}

func (c *course) stop(v int32) {
	node := &c.j.tree.Nodes[v]
	if node.Op == Leaf && c.running[v] {
		c.running[v] = false
		c.stopped = append(c.stopped, c.task[v])
	}
	for _, p := range node.Parts {
		c.stop(int32(p))
	}
}

// choose draws a part of a choice.
func (c *course) choose(node *Node) int {
	u := c.draw.rng.Float64()
	for _, p := range node.Parts {
		if u -= c.j.tree.Nodes[p].Prob; u < 0 {
			return p
		}
	}
	// Rounding errors: take the last possible part.
	for i := len(node.Parts) - 1; ; i-- {
		if c.j.tree.Nodes[node.Parts[i]].Prob > 0 {
			return node.Parts[i]
		}
	}
}

// climb ends a node, and all nodes above it that end with it.
func (c *course) climb(v int32) {
	for {
		c.running[v] = false
		u := c.up[v]
		if u < 0 {
			c.left = 0
			return
		}
		node := &c.j.tree.Nodes[u]
		switch node.Op {
		case Series:
			if next := c.pend[u]; int(next) < len(node.Parts) {
				c.pend[u]++
				c.start(int32(node.Parts[next]))
				return
			}
		case And:
			if c.pend[u]--; c.pend[u] > 0 {
				return
			}
		case Or:
			c.stop(u)
		}
		v = u
	}
}

package pipeline

// course is how far one job has come in its graph or tree. A task that ends starts others; in a tree it may also end tasks
// that are given up.
type course struct {
	j     *job
	draw  *source // for choices
	left  int     // tasks, or 1 while a tree is in progress
	pend  []int32 // of a graph: tasks before that have not ended; of a tree: parts in progress, or the next part
	state []state // of a tree, by node
	up    []int32 // parent node
	leaf  []int32 // node of a task
	task  []int32 // task of a node that is a leaf
	lo    []int32 // tasks below a node are lo to hi
	hi    []int32

	started, stopped []int32 // by the last step
}

type state uint8

const (
	idle state = iota
	running
)

// newCourse prepares memory for one job at a time.
func newCourse(j *job, draw *source) *course {
	c := &course{j: j, draw: draw}
	if j.g != nil {
		c.pend = make([]int32, j.g.tasks())
		return c
	}
	t := j.tree
	n := len(t.Nodes)
	c.pend, c.state, c.up, c.task = make([]int32, n), make([]state, n), make([]int32, n), make([]int32, n)
	c.lo, c.hi = make([]int32, n), make([]int32, n)
	c.up[0] = -1
	for v, node := range t.Nodes {
		for _, p := range node.Parts {
			c.up[p] = int32(v)
		}
	}
	c.leaf = t.leaves()
	for v := range n {
		c.lo[v] = int32(n)
	}
	for i, v := range c.leaf {
		c.task[v], c.lo[v], c.hi[v] = int32(i), int32(i), int32(i)+1
	}
	for v := n - 1; v > 0; v-- {
		u := c.up[v]
		c.lo[u], c.hi[u] = min(c.lo[u], c.lo[v]), max(c.hi[u], c.hi[v])
	}
	return c
}

// begin starts a job: started are the tasks to begin with.
func (c *course) begin() {
	c.started, c.stopped = c.started[:0], c.stopped[:0]
	g := c.j.g
	if g == nil {
		c.left = 1
		clear(c.state)
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
	for _, s := range g.succs(task) {
		if c.pend[s]--; c.pend[s] == 0 {
			c.started = append(c.started, s)
		}
	}
}

// start starts a node of the tree and what begins with it.
func (c *course) start(v int32) {
	stack := []int32{v}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		node := &c.j.tree.Nodes[v]
		c.state[v] = running
		switch node.Op {
		case Leaf:
			c.started = append(c.started, c.task[v])
		case Series:
			c.pend[v] = 1
			stack = append(stack, int32(node.Parts[0]))
		case Choice:
			stack = append(stack, int32(c.choose(node)))
		default:
			c.pend[v] = int32(len(node.Parts))
			for i := len(node.Parts) - 1; i >= 0; i-- {
				stack = append(stack, int32(node.Parts[i]))
			}
		}
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
	// Rounding: the last one that is possible.
	for i := len(node.Parts) - 1; ; i-- {
		if c.j.tree.Nodes[node.Parts[i]].Prob > 0 {
			return node.Parts[i]
		}
	}
}

// climb ends a node, and those above it that end with it.
func (c *course) climb(v int32) {
	for {
		c.state[v] = idle
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
			for i := c.lo[u]; i < c.hi[u]; i++ {
				if c.state[c.leaf[i]] == running {
					c.state[c.leaf[i]] = idle
					c.stopped = append(c.stopped, i)
				}
			}
		}
		v = u
	}
}

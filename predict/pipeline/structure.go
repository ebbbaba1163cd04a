package pipeline

// Op says how the parts of a node of a tree belong together.
type Op uint8

// The operators.
const (
	Leaf   Op = iota // one task
	Series           // one part after the other
	And              // all at once, until the last has ended
	Or               // all at once, until the first has ended; the others are given up
	Choice           // one of them, with its probability
)

// Node is one node of a tree. Parts come later in the list than the node itself.
type Node struct {
	Op    Op
	Class int     // of a Leaf
	Parts []int   // indices in Tree.Nodes
	Prob  float64 // of a part of a Choice
}

// Tree is a job of series and parallel parts. Nodes[0] is the whole; every other node is a part of exactly one before it.
type Tree struct {
	Nodes []Node
}

// MaxNodes bounds a tree.
const MaxNodes = 1_000_000

// tree returns the number of tasks.
func (v *validation) tree(t *Tree, classes int, path string) (leaves int) {
	v.want(len(t.Nodes) > 0 && len(t.Nodes) <= MaxNodes, path, "there are %d nodes, not 1 to %d", len(t.Nodes), MaxNodes)
	part := make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		v.want(i == 0 || part[i], path, "a node is a part of none before it")
		if n.Op == Leaf {
			v.want(n.Class >= 0 && n.Class < classes, path, "a task has no class")
			leaves++
			continue
		}
		v.want(n.Op <= Choice && len(n.Parts) > 0, path, "a node has no known operator, or no parts")
		var sum float64
		for _, c := range n.Parts {
			if !v.want(c > i && c < len(t.Nodes) && !part[c], path, "a node is a part of none, or of two") {
				return 0
			}
			part[c] = true
			p := t.Nodes[c].Prob
			v.want(n.Op != Choice || p >= 0 && p <= 1, path, "%v is not a probability", p)
			sum += p
		}
		v.want(n.Op != Choice || sum > 1-1e-9 && sum < 1+1e-9, path, "the probabilities of ALT sum to %v, not to 1", sum)
	}
	return leaves
}

// pure tells whether the tree has only series and parallel parts, all of which are done.
func (t *Tree) pure() bool {
	for _, n := range t.Nodes {
		if n.Op == Or || n.Op == Choice {
			return false
		}
	}
	return true
}

// maxTreeEdges bounds the graph that a tree is turned into.
const maxTreeEdges = 4_000_000

// graph is the precedence graph of a pure tree: what ends a part comes before all that begins the next one. It is nil where
// there would be too many edges.
func (t *Tree) graph() *graph {
	n := len(t.Nodes)
	// Leaves in the order in which a walk from the left meets them, which is topological.
	order := t.leaves()
	number := make([]int32, n)
	for i, v := range order {
		number[v] = int32(i)
	}
	first, last := make([][]int32, n), make([][]int32, n)
	before := make([][]int32, len(order))
	edges := 0
	for v := n - 1; v >= 0; v-- { // parts come after their node
		node := &t.Nodes[v]
		switch node.Op {
		case Leaf:
			first[v] = []int32{number[v]}
			last[v] = first[v]
		case Series:
			for i, c := range node.Parts[1:] {
				ends := last[node.Parts[i]]
				if edges += len(ends) * len(first[c]); edges > maxTreeEdges {
					return nil
				}
				for _, b := range first[c] {
					before[b] = append(before[b], ends...)
				}
			}
			first[v], last[v] = first[node.Parts[0]], last[node.Parts[len(node.Parts)-1]]
		default:
			for _, c := range node.Parts {
				first[v] = append(first[v], first[c]...)
				last[v] = append(last[v], last[c]...)
			}
			if edges += len(first[v]) + len(last[v]); edges > maxTreeEdges {
				return nil // deep nests of wide nodes
			}
		}
	}
	g := &graph{predAt: make([]int32, 1, len(order)+1)}
	for i, v := range order {
		g.class = append(g.class, int32(t.Nodes[v].Class))
		g.pred = append(g.pred, before[i]...)
		g.predAt = append(g.predAt, int32(len(g.pred)))
	}
	g.finish()
	return g
}

// leaves lists the tasks from left to right.
func (t *Tree) leaves() []int32 {
	var list []int32
	stack := []int32{0}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		node := &t.Nodes[v]
		if node.Op == Leaf {
			list = append(list, v)
		}
		for i := len(node.Parts) - 1; i >= 0; i-- {
			stack = append(stack, int32(node.Parts[i]))
		}
	}
	return list
}

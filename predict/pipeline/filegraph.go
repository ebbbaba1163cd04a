package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
)

// tasks reads a graph and puts its tasks into an order in which each comes after those it waits for.
func (f *file) tasks(list []*entry, classes map[string]int) []Task {
	ids, class, after := make([]int64, len(list)), make([]int, len(list)), make([][]int, len(list))
	place := make(map[int64]int, len(list))
	for i, e := range list {
		f.known(e, "tasks", "id", "class", "after")
		id := f.field(e, "id", tomltree.Integer)
		if id == nil {
			f.fail(e, "a task without an id")
			return nil
		}
		ids[i] = id.Whole
		if _, ok := place[id.Whole]; ok {
			f.fail(id, "two tasks with id %d", id.Whole)
		}
		place[id.Whole] = i
		name := f.text(e, "class")
		var ok bool
		if class[i], ok = classes[name]; !ok {
			f.fail(e, "task %d: unknown class %q", id.Whole, name)
		}
	}
	for i, e := range list {
		for _, v := range f.list(e, "after") {
			p, ok := place[v.Whole]
			if !ok || v.Kind != tomltree.Integer {
				f.fail(v, "task %d: after names %d, which is not a task", ids[i], v.Whole)
			}
			after[i] = append(after[i], p)
		}
	}
	if f.err != nil {
		return nil
	}
	order := topological(after)
	if len(order) < len(list) {
		cycle := findCycle(after, order)
		var names []string
		for i := len(cycle) - 1; i >= 0 && len(names) < 10; i-- {
			names = append(names, fmt.Sprint(ids[cycle[i]]))
		}
		if len(cycle) > len(names) {
			names = append(names, "...")
		}
		f.fail(list[cycle[0]], "tasks wait for each other in a cycle: %s, %s", strings.Join(names, ", "), names[0])
		return nil
	}
	return inOrder(order, class, after)
}

// topological is the order of the list where that is possible: of the tasks whose predecessors are done it takes them as they
// come. Tasks on cycles, and after them, are missing.
func topological(after [][]int) []int {
	left, next := make([]int, len(after)), make([][]int32, len(after))
	order := make([]int, 0, len(after))
	for i := range after {
		left[i] = len(after[i])
		for _, p := range after[i] {
			next[p] = append(next[p], int32(i))
		}
		if left[i] == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, s := range next[order[at]] {
			if left[s]--; left[s] == 0 {
				order = append(order, int(s))
			}
		}
	}
	return order
}

// inOrder makes tasks in an order of them, renumbered.
func inOrder(order, class []int, after [][]int) []Task {
	number, out := make([]int, len(order)), make([]Task, len(order))
	for n, i := range order {
		number[i] = n
		out[n].Class = class[i]
		for _, p := range after[i] {
			out[n].After = append(out[n].After, number[p])
		}
	}
	return out
}

// findCycle goes back from a task that has no place in the order until it meets one again: those between wait for each other.
func findCycle(after [][]int, order []int) []int {
	done := make([]bool, len(after))
	for _, i := range order {
		done[i] = true
	}
	var path []int
	seen := make([]int, len(after)) // places in the path, plus one
	at := slices.Index(done, false)
	for seen[at] == 0 {
		path = append(path, at)
		seen[at] = len(path)
		at = after[at][slices.IndexFunc(after[at], func(p int) bool { return !done[p] })]
	}
	return path[seen[at]-1:]
}

var operators = map[string]Op{"S": Series, "P": And, "OR": Or, "ALT": Choice}

// tree reads nested lists: an operator, then its parts, each a class or another list. Parts of ALT are lists of a probability
// and the part.
func (f *file) tree(e *entry, classes map[string]int) *Tree {
	t := &Tree{}
	type todo struct {
		e      *entry
		parent int
		prob   float64
	}
	work := []todo{{e, -1, 0}}
	for len(work) > 0 && f.err == nil {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		v := len(t.Nodes)
		if x.parent >= 0 {
			t.Nodes[x.parent].Parts = append(t.Nodes[x.parent].Parts, v)
		}
		if x.e.Kind == tomltree.String {
			class, ok := classes[x.e.Text]
			if !ok {
				f.fail(x.e, "tree: unknown class %q", x.e.Text)
			}
			t.Nodes = append(t.Nodes, Node{Op: Leaf, Class: class, Prob: x.prob})
			continue
		}
		if x.e.Kind != tomltree.List || len(x.e.Items) < 2 || x.e.Items[0].Kind != tomltree.String {
			f.fail(x.e, "tree: not a list of an operator and its parts")
			return nil
		}
		op, ok := operators[x.e.Items[0].Text]
		if !ok {
			f.fail(x.e.Items[0], "tree: unknown operator %q; there are S, P, OR and ALT", x.e.Items[0].Text)
			return nil
		}
		t.Nodes = append(t.Nodes, Node{Op: op, Prob: x.prob})
		for i := len(x.e.Items) - 1; i >= 1; i-- {
			part, prob := x.e.Items[i], 0.0
			if op == Choice {
				if part.Kind != tomltree.List || len(part.Items) != 2 || part.Items[0].Kind != tomltree.Float && part.Items[0].Kind != tomltree.Integer {
					f.fail(part, "tree: a part of ALT is a list of a probability and the part")
					return nil
				}
				part, prob = part.Items[1], part.Items[0].Number
			}
			work = append(work, todo{part, v, prob})
		}
	}
	return t
}

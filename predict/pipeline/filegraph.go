package pipeline

import (
	"fmt"
	"strings"
)

// rawTask is a task as the file has it.
type rawTask struct {
	id    int64
	class int
	after []int // places in the list
}

// tasks reads a graph and puts its tasks into an order in which each comes after those it waits for.
func (f *file) tasks(list []*entry, classes map[string]int) []Task {
	raw := make([]rawTask, len(list))
	place := make(map[int64]int, len(list))
	for i, e := range list {
		f.known(e, "tasks", "id", "class", "after")
		id := f.field(e, "id", isInteger)
		if id == nil {
			f.fail(e, "a task without id")
			return nil
		}
		if _, ok := place[id.whole]; ok {
			f.fail(id, "two tasks with id %d", id.whole)
			return nil
		}
		name := f.text(e, "class")
		class, ok := classes[name]
		if !ok {
			f.fail(e, "task %d: unknown class %q", id.whole, name)
			return nil
		}
		place[id.whole] = i
		raw[i] = rawTask{id: id.whole, class: class}
	}
	for i, e := range list {
		after := f.field(e, "after", isList)
		if after == nil {
			continue
		}
		for _, v := range after.items {
			p, ok := place[v.whole]
			if !ok || v.kind != isInteger {
				f.fail(v, "task %d: after names %d, which is no task", raw[i].id, v.whole)
				return nil
			}
			raw[i].after = append(raw[i].after, p)
		}
	}
	if f.err != nil {
		return nil
	}
	order := sortTasks(raw)
	if len(order) < len(raw) {
		i, cycle := findCycle(raw, order)
		f.fail(list[i], "tasks wait for each other in a cycle: %s", cycle)
		return nil
	}
	number := make([]int, len(raw))
	for n, i := range order {
		number[i] = n
	}
	out := make([]Task, 0, len(raw))
	for _, i := range order {
		t := Task{Class: raw[i].class}
		for _, p := range raw[i].after {
			t.After = append(t.After, number[p])
		}
		out = append(out, t)
	}
	return out
}

// sortTasks is the order of the file where that is possible: of the tasks whose predecessors are done it takes them as they
// come. Tasks on cycles, and behind them, are missing.
func sortTasks(raw []rawTask) []int {
	pend, next := make([]int, len(raw)), make([][]int32, len(raw))
	var order []int
	for i := range raw {
		pend[i] = len(raw[i].after)
		for _, p := range raw[i].after {
			next[p] = append(next[p], int32(i))
		}
		if pend[i] == 0 {
			order = append(order, i)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, s := range next[order[at]] {
			if pend[s]--; pend[s] == 0 {
				order = append(order, int(s))
			}
		}
	}
	return order
}

// findCycle goes back from a task that has no place in the order until it meets one again. It returns a task of the cycle and
// at most ten ids of it.
func findCycle(raw []rawTask, order []int) (int, string) {
	done := make([]bool, len(raw))
	for _, i := range order {
		done[i] = true
	}
	at := 0
	for done[at] {
		at++
	}
	seen := make([]int, len(raw))
	var path []int
	for seen[at] == 0 {
		path = append(path, at)
		seen[at] = len(path)
		for _, p := range raw[at].after {
			if !done[p] {
				at = p
				break
			}
		}
	}
	cycle := path[seen[at]-1:]
	var names []string
	for i := len(cycle) - 1; i >= 0 && len(names) < 10; i-- {
		names = append(names, fmt.Sprint(raw[cycle[i]].id))
	}
	if len(cycle) > len(names) {
		names = append(names, "...")
	}
	return at, strings.Join(append(names, fmt.Sprint(raw[cycle[len(cycle)-1]].id)), ", ")
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
		if x.e.kind == isText {
			class, ok := classes[x.e.text]
			if !ok {
				f.fail(x.e, "tree: unknown class %q", x.e.text)
			}
			t.Nodes = append(t.Nodes, Node{Op: Leaf, Class: class, Prob: x.prob})
			continue
		}
		if x.e.kind != isList || len(x.e.items) < 2 || x.e.items[0].kind != isText {
			f.fail(x.e, "tree: not a list of an operator and its parts")
			return nil
		}
		op, ok := operators[x.e.items[0].text]
		if !ok {
			f.fail(x.e.items[0], "tree: unknown operator %q; there are S, P, OR and ALT", x.e.items[0].text)
			return nil
		}
		t.Nodes = append(t.Nodes, Node{Op: op, Prob: x.prob})
		for i := len(x.e.items) - 1; i >= 1; i-- {
			part, prob := x.e.items[i], 0.0
			if op == Choice {
				if part.kind != isList || len(part.items) != 2 || part.items[0].kind != isFloat && part.items[0].kind != isInteger {
					f.fail(part, "tree: a part of ALT is a list of a probability and the part")
					return nil
				}
				part, prob = part.items[1], part.items[0].number
			}
			work = append(work, todo{part, v, prob})
		}
	}
	return t
}

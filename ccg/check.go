package ccg

import (
	"fmt"
	"io"
	"iter"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Check checks every invariant of package graph for a graph and all its locations, in ascending P: canonical numbering, no content twice,
// fan-out, reachability, event counts, and that every column decodes to the values that its heads say and expands to events.
func Check(s *graph.Shared, locations iter.Seq2[*Location, error]) error {
	if err := checkContent(s); err != nil {
		return fmt.Errorf("call graph: %w", err)
	}
	c := numbering{s: s, seen: make([]bool, s.Nodes()+1), tuple: make([]bool, s.Graph.Tuples.Len())}
	r := &rowNumbering{s: s}
	if s.Classes != nil {
		r.next = make([]uint32, s.Nodes()+1)
	}
	last, any := trace.P(0), false
	for l, err := range locations {
		if err != nil {
			return err
		}
		if any && l.p <= last {
			return fmt.Errorf("call graph: location %d after %d: %w", l.p, last, graph.ErrCorrupt)
		}
		last, any = l.p, true
		if err := c.visit(l.root); err != nil {
			return fmt.Errorf("call graph: location %d: %w", l.p, err)
		}
		if err := l.check(r); err != nil {
			return err
		}
	}
	if err := r.finish(); err != nil {
		return fmt.Errorf("call graph: %w", err)
	}
	if int(c.nodes) != s.Nodes() || int(c.tuples) != s.Graph.Tuples.Len() {
		return fmt.Errorf("call graph: %d of %d nodes and %d of %d tuples are used: %w",
			c.nodes, s.Nodes(), c.tuples, s.Graph.Tuples.Len(), graph.ErrCorrupt)
	}
	return nil
}

// checkContent returns an error for equal nodes and invalid nodes. Tuples were compared when they were read.
func checkContent(s *graph.Shared) error {
	g := graph.Graph{Nodes: graph.NewStore(), Tuples: s.Graph.Tuples, Shapes: s.Graph.Shapes}
	from := s.Graph.Nodes
	for id := uint32(1); int(id) <= from.Len(); id++ {
		if err := g.CheckNode(id, from.Meta[id], from.Words(id), s.Opt.Fan); err != nil {
			return err
		}
		n, err := g.Nodes.Intern(from.Meta[id], from.Words(id))
		if err != nil {
			return err
		}
		if n != id {
			return fmt.Errorf("nodes %d and %d are equal: %w", n, id, graph.ErrCorrupt)
		}
	}
	if s.Classes != nil {
		c := graph.Classes{Tables: s.Classes.Tables}
		if r := c.Reindex(); r.Node != 0 {
			return fmt.Errorf("class %d of node %d is there twice: %w", r.Row, r.Node, graph.ErrCorrupt)
		}
	}
	return nil
}

// rowNumbering checks the order in which rows of class tables appear over all locations: a row of a node that appears for the first time
// must have the next number.
type rowNumbering struct {
	s    *graph.Shared
	next []uint32 // of each node
	err  error
}

// meet checks the row of the next instance of a node.
func (r *rowNumbering) meet(id, row uint32) {
	switch {
	case row == r.next[id]:
		r.next[id]++
	case row > r.next[id] && r.err == nil:
		r.err = fmt.Errorf("class %d of node %d comes as number %d: %w", row, id, r.next[id], graph.ErrCorrupt)
	}
}

// finish checks that every row has appeared.
func (r *rowNumbering) finish() error {
	for id, n := range r.next {
		if t := r.s.Classes.Tables[id]; t != nil && int(n) != t.Rows {
			return fmt.Errorf("%d of %d classes of node %d are used: %w", n, t.Rows, id, graph.ErrCorrupt)
		}
	}
	return nil
}

// numbering checks the canonical order of nodes over all locations.
type numbering struct {
	s      *graph.Shared
	seen   []bool
	tuple  []bool
	nodes  uint32
	tuples uint32
}

// visit visits what root reaches in post-order: a node that appears for the first time must have the next id, and its tuple must have
// appeared or have the next number.
func (c *numbering) visit(root uint32) error {
	nodes := c.s.Graph.Nodes
	return nodes.PostOrder(root, c.seen, func(id uint32) error {
		if c.nodes++; id != c.nodes {
			return fmt.Errorf("node %d comes as number %d: %w", id, c.nodes, graph.ErrCorrupt)
		}
		if t := nodes.Tuple(id); !c.tuple[t] {
			if t != c.tuples {
				return fmt.Errorf("tuple %d comes as number %d: %w", t, c.tuples, graph.ErrCorrupt)
			}
			c.tuple[t] = true
			c.tuples++
		}
		return nil
	})
}

// check decodes all columns and expands the location. It compares the marks with the times, and checks the order of rows.
func (l *Location) check(r *rowNumbering) error {
	for i := range l.cols {
		if err := l.cols[i].Verify(); err != nil {
			return l.columnError(i, err)
		}
	}
	x := l.Expand()
	if r.next != nil {
		x.walk.Numbers = func(id, row uint32) { r.meet(l.view.Ids[id], row) }
		x.walk.Init(l.view)
	}
	var b trace.Batch
	n := uint64(0)
	marks := &column.Cursor{}
	if l.view.Marks >= 0 {
		marks.Init(&l.cols[l.view.Marks])
	}
	mark := l.first
	for {
		err := x.Next(&b)
		for i := (graph.MarkEvery - n%graph.MarkEvery) % graph.MarkEvery; i < uint64(len(b.Events)); i += graph.MarkEvery {
			if n+i == 0 {
				continue
			}
			if mark += trace.Time(marks.Next()); mark != b.Events[i].Time {
				return fmt.Errorf("call graph: location %d, event %d: mark %d, time %d: %w", l.p, n+i, mark, b.Events[i].Time, graph.ErrCorrupt)
			}
		}
		n += uint64(len(b.Events))
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if r.err != nil {
		return fmt.Errorf("call graph: location %d: %w", l.p, r.err)
	}
	if n != l.Events() {
		return fmt.Errorf("call graph: location %d: %d events, %d announced: %w", l.p, n, l.Events(), graph.ErrCorrupt)
	}
	return nil
}

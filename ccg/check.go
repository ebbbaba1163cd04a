package ccg

import (
	"fmt"
	"io"
	"iter"

	"github.com/coppice-hpc/coppice/trace"
)

// Check tests every invariant of the package comment on a graph and all its
// locations, in ascending P: canonical numbering, no content twice, fan-out,
// reachability, event counts, and that every column decodes to what its heads
// say and expands to events.
func Check(s *Shared, locations iter.Seq2[*Location, error]) error {
	if err := s.checkContent(); err != nil {
		return fmt.Errorf("call graph: %w", err)
	}
	c := numbering{s: s, seen: make([]bool, s.Nodes()+1), tuple: make([]bool, s.graph.tuples.len())}
	r := newRowNumbering(s)
	last, any := trace.P(0), false
	for l, err := range locations {
		if err != nil {
			return err
		}
		if any && l.p <= last {
			return fmt.Errorf("call graph: location %d after %d: %w", l.p, last, ErrCorrupt)
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
	if int(c.nodes) != s.Nodes() || int(c.tuples) != s.graph.tuples.len() {
		return fmt.Errorf("call graph: %d of %d nodes and %d of %d tuples are used: %w",
			c.nodes, s.Nodes(), c.tuples, s.graph.tuples.len(), ErrCorrupt)
	}
	return nil
}

// checkContent looks for equal nodes and bad nodes; tuples were compared when
// they were read.
func (s *Shared) checkContent() error {
	g := graph{nodes: newStore(), tuples: s.graph.tuples, shapes: s.graph.shapes}
	from := s.graph.nodes
	for id := uint32(1); int(id) <= from.len(); id++ {
		if err := g.checkNode(id, from.meta[id], from.words(id), s.opt.Fan); err != nil {
			return err
		}
		n, err := g.nodes.intern(from.meta[id], from.words(id))
		if err != nil {
			return err
		}
		if n != id {
			return fmt.Errorf("nodes %d and %d are equal: %w", n, id, ErrCorrupt)
		}
	}
	if s.classes != nil {
		c := classes{tables: s.classes.tables}
		if r := c.reindex(); r.node != 0 {
			return fmt.Errorf("class %d of node %d is there twice: %w", r.row, r.node, ErrCorrupt)
		}
	}
	return nil
}

// rowNumbering follows the order in which classes appear over all locations:
// those of a node met for the first time must have the next number.
type rowNumbering struct {
	s    *Shared
	next []uint32 // by node
	err  error
}

func newRowNumbering(s *Shared) *rowNumbering {
	r := &rowNumbering{s: s}
	if s.classes != nil {
		r.next = make([]uint32, s.Nodes()+1)
	}
	return r
}

// meet takes the class of the next instance of a node.
func (r *rowNumbering) meet(id, row uint32) {
	switch {
	case row == r.next[id]:
		r.next[id]++
	case row > r.next[id] && r.err == nil:
		r.err = fmt.Errorf("class %d of node %d comes as number %d: %w", row, id, r.next[id], ErrCorrupt)
	}
}

// finish checks that every class was met.
func (r *rowNumbering) finish() error {
	for id, n := range r.next {
		if t := r.s.classes.tables[id]; t != nil && int(n) != t.rows {
			return fmt.Errorf("%d of %d classes of node %d are used: %w", n, t.rows, id, ErrCorrupt)
		}
	}
	return nil
}

// numbering follows the canonical order over all locations.
type numbering struct {
	s      *Shared
	seen   []bool
	tuple  []bool
	nodes  uint32
	tuples uint32
}

// visit walks what root reaches in post-order: every node met for the first
// time must have the next id, and its tuple be known or the next one.
func (c *numbering) visit(root uint32) error {
	nodes := c.s.graph.nodes
	return nodes.postOrder(root, c.seen, func(id uint32) error {
		if c.nodes++; id != c.nodes {
			return fmt.Errorf("node %d comes as number %d: %w", id, c.nodes, ErrCorrupt)
		}
		if t := nodes.tuple(id); !c.tuple[t] {
			if t != c.tuples {
				return fmt.Errorf("tuple %d comes as number %d: %w", t, c.tuples, ErrCorrupt)
			}
			c.tuple[t] = true
			c.tuples++
		}
		return nil
	})
}

// check decodes all columns and expands the location; it compares the marks with
// the times and numbers the classes that it meets.
func (l *Location) check(r *rowNumbering) error {
	for i := range l.cols {
		if err := l.cols[i].Verify(); err != nil {
			return l.columnError(i, err)
		}
	}
	x := l.Expand()
	if r.next != nil {
		x.walk.numbers = func(id, row uint32) { r.meet(l.view.ids[id], row) }
		x.walk.init(l.view)
	}
	var b trace.Batch
	n := uint64(0)
	marks := l.markCursor()
	mark := l.first
	for {
		err := x.Next(&b)
		for i := (markEvery - n%markEvery) % markEvery; i < uint64(len(b.Events)); i += markEvery {
			if n+i == 0 {
				continue
			}
			if mark += trace.Time(marks.Next()); mark != b.Events[i].Time {
				return fmt.Errorf("call graph: location %d, event %d: mark %d, time %d: %w", l.p, n+i, mark, b.Events[i].Time, ErrCorrupt)
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
		return fmt.Errorf("call graph: location %d: %d events, %d announced: %w", l.p, n, l.Events(), ErrCorrupt)
	}
	return nil
}

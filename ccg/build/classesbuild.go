package build

import (
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// AppendBinary appends the modes: a column of 0 and 1, one per node.
func (m ClassModes) AppendBinary(dst []byte) ([]byte, error) {
	bits := make([]uint64, len(m.table)-1)
	for i, t := range m.table[1:] {
		if t {
			bits[i] = 1
		}
	}
	p := graph.NewPartEncoder(false)
	p.Column(bits)
	return append(dst, p.Buf...), nil
}

// OpenClassModes reads what AppendBinary wrote for s.
func OpenClassModes(s *graph.Shared, src []byte) (ClassModes, error) {
	m := ClassModes{make([]bool, s.Nodes()+1)}
	r := graph.Read(src)
	p := graph.NewPartDecoder()
	defer p.Close()
	bits, err := p.Column(&r, nil, uint64(s.Nodes()))
	if err != nil || len(bits) != s.Nodes() || r.Len() != 0 {
		return m, fmt.Errorf("call graph: modes of classes: %w", graph.ErrCorrupt)
	}
	nodes := s.Graph.Nodes
	for i, b := range bits {
		id := uint32(i + 1)
		m.table[id] = b == 1
		bad := b > 1 || b == 1 && nodes.Kind(id) == graph.KindEvent
		for _, c := range nodes.Children(id) {
			bad = bad || b == 1 && !m.table[c] && nodes.Kind(c) != graph.KindEvent
		}
		if bad {
			return m, fmt.Errorf("call graph: mode of node %d: %w", id, graph.ErrCorrupt)
		}
	}
	return m, nil
}

// ClassBuilder collects the class tables of locations, in ascending P.
//
// A row that is known brings its children's rows with it, and those of a
// newcomer are appended in its order, so the numbers are those of one walk over
// all locations, however these were grouped before.
//
// Memory: 8 bytes per node, and per row 16, 8 per gap, 4 per child, with up to
// 22 of index; in use at most one row for about 16 instances, see
// [GapCounts.Choose].
type ClassBuilder struct {
	locator
	modes   ClassModes
	classes *graph.Classes
	walk    rowWalk
}

// NewClassBuilder returns empty tables for the nodes of s that m names.
func NewClassBuilder(s *graph.Shared, m ClassModes) *ClassBuilder {
	b := &ClassBuilder{locator: newLocator(s), modes: m, classes: graph.NewClasses(&s.Graph, s.Opt.Fan, m.table)}
	b.walk.find = b.classes.Intern
	return b
}

// Len returns the number of rows.
func (b *ClassBuilder) Len() int { return len(b.classes.Rows) }

// Add adds the classes of l's stored gaps: O(events).
func (b *ClassBuilder) Add(l *Local) (err error) {
	defer graph.Wrap(&err, "call graph: classes of location %d", l.p)
	v, err := b.open(l, b.classes)
	if err != nil {
		return err
	}
	in := stream{src: l.gaps}
	w := &b.walk
	w.begin(v)
	for !in.bad {
		switch st, _, slot := w.step(); st {
		case graph.StepEnd:
			return w.err
		case graph.StepCut, graph.StepRow:
		default:
			if gap := in.next(); v.Column[slot] < 0 {
				w.put(gap)
			}
		}
	}
	return errShort
}

// Parts encodes the tables in messages of about limit bytes.
func (b *ClassBuilder) Parts(limit int) iter.Seq[[]byte] {
	return graph.Messages(limit, graph.NewClassEncoder(&b.shared.Graph, b.classes, b.shared.Opt.Fan, false).Each)
}

// ClassReceiver joins the messages of another ClassBuilder, in order.
type ClassReceiver struct {
	b     *ClassBuilder
	dec   *graph.ClassDecoder
	remap [][]uint32 // by node: its rows there -> here
	kids  []uint32
	rows  int
	err   error
}

// Receive begins to join the tables of another ClassBuilder of the same graph
// and modes, whose locations follow those of b.
func (b *ClassBuilder) Receive() *ClassReceiver {
	g := &b.shared.Graph
	return &ClassReceiver{b: b, dec: graph.NewClassDecoder(g, b.shared.Opt.Fan), remap: make([][]uint32, g.Nodes.Len()+1)}
}

// Len returns the number of rows received.
func (r *ClassReceiver) Len() int { return r.rows }

// Add joins a message.
func (r *ClassReceiver) Add(msg []byte) error {
	for len(msg) > 0 && r.err == nil {
		msg, r.err = r.dec.Add(msg, r.row)
	}
	if r.err != nil {
		return fmt.Errorf("call graph: joining another rank's classes: %w", r.err)
	}
	return nil
}

func (r *ClassReceiver) row(id uint32, gaps []uint64, kids []uint32) error {
	if !r.b.modes.table[id] {
		return fmt.Errorf("node %d has no classes here: %w", id, graph.ErrCorrupt)
	}
	r.kids = append(r.kids[:0], kids...)
	g := &r.b.shared.Graph
	children := g.Nodes.Children(id)
	for i := range r.kids {
		if c := children[min(i, len(children)-1)]; g.Nodes.Kind(c) != graph.KindEvent {
			r.kids[i] = r.remap[c][kids[i]]
		}
	}
	n, err := r.b.classes.Intern(id, gaps, r.kids)
	r.remap[id] = append(r.remap[id], n)
	r.rows++
	return err
}

// Close ends the joining.
func (r *ClassReceiver) Close() error {
	r.dec.Close()
	if r.err == nil && !r.dec.Done() {
		r.err = fmt.Errorf("call graph: classes cut: %w", graph.ErrCorrupt)
	}
	return r.err
}

// Shared returns the graph with its class tables; b must not be used afterwards.
func (b *ClassBuilder) Shared() *graph.Shared {
	s := b.shared
	return &graph.Shared{Defs: s.Defs, Opt: s.Opt, Encoding: s.Encoding, Graph: s.Graph, Classes: b.classes}
}

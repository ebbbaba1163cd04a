package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// NodeKind is the kind of a node, as the package comment tells them.
type NodeKind uint8

// Kinds of nodes.
const (
	CallNode NodeKind = 1 + iota
	EventNode
	RootNode
	GroupNode
	RepeatNode
)

// Node is a node of the graph as one location uses it.
type Node struct {
	Kind     NodeKind
	Record   trace.Kind // of an Event; the enter of a Call
	Region   uint32     // of a Call; around an Event, trace.Undefined for none
	Children []uint32   // not to be changed
	Count    uint64     // of a Repeat: how often its child follows itself; else 1
}

// Structure reads the nodes of a location. It belongs to one goroutine.
type Structure struct {
	loc    *Location
	places *places
}

// Structure returns a reader of the location's nodes.
func (l *Location) Structure() *Structure {
	s := &Structure{loc: l, places: newPlaces(l.view.defs)}
	s.places.of(l.p)
	return s
}

// Len returns the number of nodes. They are numbered from 1 in the order of their ids in the Shared: children come before
// their parents, the Root is the last.
func (s *Structure) Len() uint32 { return s.loc.view.root }

// Node returns a node.
func (s *Structure) Node(n uint32) Node {
	v := s.loc.view
	h := v.shapeOf(n)
	x := Node{Kind: NodeKind(v.nodes.kind(n)), Record: h.kind, Region: h.ref, Children: v.nodes.children(n), Count: 1}
	switch x.Kind {
	case CallNode:
		x.Region = h.region(v.defs)
	case RepeatNode:
		x.Count = v.nodes.count(n)
	}
	return x
}

// ID returns the number of a node in the Shared, as a [Step] has it.
func (s *Structure) ID(n uint32) uint32 { return s.loc.view.ids[n] }

// Instances returns how often a node occurs in the location.
func (s *Structure) Instances(n uint32) uint64 { return s.loc.view.mult[n] }

// Partner says how a node names a rank, and so for which locations it names which.
type Partner uint8

// Ways to name a rank.
const (
	PartnerNone    Partner = iota // the field is not a rank
	PartnerOutside                // a number that the communicator does not have
	PartnerShift                  // by its distance, modulo the size
	PartnerXor                    // by its exclusive or with the own rank
	PartnerFixed                  // the same for all locations
)

// Field is a field of a record, as the graph keeps it.
type Field struct {
	Place trace.Place
	// Value is a hard field; the rank of a partner; of an id the difference to the one posted last, or the number of
	// postings since the one meant, where it has no column.
	Value   uint64
	Column  int32 // of the values, one an instance, as they are stored; -1 where Value is all
	Partner Partner
}

// Fields appends the fields of an Event, in the order of its record. Lists, attributes and surplus are left out.
func (s *Structure) Fields(dst []Field, n uint32) ([]Field, error) {
	v := s.loc.view
	h := v.shapeOf(n)
	if h.class != classEvent {
		return dst, nil
	}
	if h.kind == trace.Leave {
		return append(dst, Field{Place: trace.Hard, Value: v.tuples.at(v.nodes.tuple(n))[2], Column: -1}), nil
	}
	r, hard := &recipes[h.kind], v.tuples.at(v.nodes.tuple(n))[2:]
	slot, _ := v.valueSlots(h, n, stepEvent)
	for _, p := range r.places {
		f := Field{Place: p, Column: -1}
		far := p >= trace.PostMpi && p <= trace.UseIo && hard[0]&1 != 0
		if p == trace.Number || p == trace.FromStamp || far {
			f.Column = v.column[slot]
			slot++
		}
		switch {
		case p == trace.Number || p == trace.FromStamp:
			dst = append(dst, f)
			continue
		case p == trace.Hard:
			f.Value = hard[0]
		case p == trace.Rank:
			if err := s.partner(&f, h, v.tuples.at(v.nodes.tuple(n)), hard[0]); err != nil {
				return dst, err
			}
		default:
			f.Value = hard[0] >> 1
		}
		hard = hard[1:]
		dst = append(dst, f)
	}
	return dst, nil
}

// partner decodes a rank.
func (s *Structure) partner(f *Field, h *shape, w []uint64, word uint64) error {
	r := &recipes[h.kind]
	comm := uint32(w[r.hardAt(r.comm)])
	e := s.loc.shared.encoding.of(h, comm)
	var ok bool
	if f.Value, ok = s.places.at(comm, r.window).decode(e, word); !ok {
		return fmt.Errorf("call graph: location %d: a partner that cannot be: %w", s.loc.p, ErrCorrupt)
	}
	switch {
	case word&1 != 0:
		f.Partner = PartnerOutside
	case e == exclusive:
		f.Partner = PartnerXor
	case e == absolute:
		f.Partner = PartnerFixed
	default:
		f.Partner = PartnerShift
	}
	return nil
}

// Column returns a column of values, to be read by cursors. The values of Events that share a column are in it in the
// order of execution.
func (s *Structure) Column(c int32) *column.Column { return &s.loc.cols[c] }

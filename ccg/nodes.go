package ccg

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Node is a node of the graph as one location sees it.
type Node struct {
	Kind     graph.Kind
	Record   trace.Kind // of an Event; of a Call, its enter
	Region   uint32     // of a Call; for an Event the enclosing region, or trace.Undefined
	Children []uint32   // must not be changed
	Count    uint64     // of a Repeat: iterations of its child; else 1
}

// Structure reads the nodes of a location. It belongs to one goroutine.
type Structure struct {
	loc    *Location
	places *graph.Places
}

// Structure returns a reader of the location's nodes.
func (l *Location) Structure() *Structure {
	s := &Structure{loc: l, places: graph.NewPlaces(l.view.Defs)}
	s.places.Of(l.p)
	return s
}

// Len returns the number of nodes. They are numbered from 1, ordered by their ids in the Shared: children precede their parents, and the
// Root is the last.
func (s *Structure) Len() uint32 { return s.loc.view.Root }

// Node returns a node.
func (s *Structure) Node(n uint32) Node {
	v := s.loc.view
	h := v.ShapeOf(n)
	x := Node{Kind: v.Nodes.Kind(n), Record: h.Kind, Region: h.Ref, Children: v.Nodes.Children(n), Count: 1}
	switch x.Kind {
	case graph.KindCall:
		x.Region = h.Region(v.Defs)
	case graph.KindRepeat:
		x.Count = v.Nodes.Count(n)
	}
	return x
}

// ID returns the id of a node in the Shared, as in [Step].
func (s *Structure) ID(n uint32) uint32 { return s.loc.view.Ids[n] }

// Instances returns the number of instances of a node in the location.
func (s *Structure) Instances(n uint32) uint64 { return s.loc.view.Mult[n] }

// Partner says how a node stores a rank, which determines the locations that share it.
type Partner uint8

// Ways to name a rank.
const (
	PartnerNone    Partner = iota // the field is not a rank
	PartnerOutside                // a number that is not a rank of the communicator
	PartnerShift                  // by its distance, modulo the size
	PartnerXor                    // by its exclusive or with the own rank
	PartnerFixed                  // the same for all locations
)

// Field is a field of a record, as the graph keeps it.
type Field struct {
	Place trace.Place
	// Value is a hard field, or the rank of a partner. Of an id without a column it is the difference from the id posted last, or the
	// number of posts since the id was posted.
	Value   uint64
	Column  int32 // of the values, one for each instance, as they are stored; -1: all is in Value
	Partner Partner
}

// Fields appends the fields of an Event, in the order of its record. Lists, attributes and surplus are left out.
func (s *Structure) Fields(dst []Field, n uint32) ([]Field, error) {
	v := s.loc.view
	h := v.ShapeOf(n)
	if h.Class != graph.ClassEvent {
		return dst, nil
	}
	if h.Kind == trace.Leave {
		return append(dst, Field{Place: trace.Hard, Value: v.Tuples.At(v.Nodes.Tuple(n))[2], Column: -1}), nil
	}
	r, hard := &graph.Recipes[h.Kind], v.Tuples.At(v.Nodes.Tuple(n))[2:]
	slot, _ := v.ValueSlots(h, n, graph.StepEvent)
	for _, p := range r.Places {
		f := Field{Place: p, Column: -1}
		far := p >= trace.PostMpi && p <= trace.UseIo && hard[0]&1 != 0
		if p == trace.Number || p == trace.FromStamp || far {
			f.Column = v.Column[slot]
			slot++
		}
		switch {
		case p == trace.Number || p == trace.FromStamp:
			dst = append(dst, f)
			continue
		case p == trace.Hard:
			f.Value = hard[0]
		case p == trace.Rank:
			if err := s.partner(&f, h, v.Tuples.At(v.Nodes.Tuple(n)), hard[0]); err != nil {
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
func (s *Structure) partner(f *Field, h *graph.Shape, w []uint64, word uint64) error {
	r := &graph.Recipes[h.Kind]
	comm := uint32(w[r.HardAt(r.Comm)])
	e := s.loc.shared.Encoding.Of(h, comm)
	var ok bool
	if f.Value, ok = s.places.At(comm, r.Window).Decode(e, word); !ok {
		return fmt.Errorf("call graph: location %d: a partner that cannot be: %w", s.loc.p, graph.ErrCorrupt)
	}
	switch {
	case word&1 != 0:
		f.Partner = PartnerOutside
	case e == graph.Exclusive:
		f.Partner = PartnerXor
	case e == graph.Absolute:
		f.Partner = PartnerFixed
	default:
		f.Partner = PartnerShift
	}
	return nil
}

// Column returns a column of values. Values of Events that share a column are in it in the order of execution.
func (s *Structure) Column(c int32) *column.Column { return &s.loc.cols[c] }

package build

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// numbering finds the numbers that the tuples and nodes of another graph (a location, or the graph of another rank) have in a shared graph.
type numbering struct {
	places    *graph.Places
	encoding  *graph.Encodings
	findTuple func(w []uint64) (uint32, error)
	findNode  func(meta uint32, words []uint32) (uint32, error)
	words     []uint64
	tuple     []uint32 // from tuples of the other graph to those of the shared one
	ids       []uint32 // the same for nodes
	children  []uint32
}

// begin starts with another graph.
func (n *numbering) begin() { n.tuple, n.ids = n.tuple[:0], append(n.ids[:0], 0) }

// location numbers the tuples and nodes of a location.
func (n *numbering) location(l *Local) error {
	n.begin()
	n.places.Of(l.p)
	for t := range l.graph.Shapes {
		w, err := n.encoding.Relabel(n.places, &l.graph.Shapes[t], l.graph.Tuples.At(uint32(t)), n.words)
		if err != nil {
			return err
		}
		if len(w) > 0 && cap(n.words) < len(w) {
			n.words = make([]uint64, 0, 2*len(w))
		}
		if err := n.addTuple(w); err != nil {
			return fmt.Errorf("tuple %d: %w", t, err)
		}
	}
	s := l.graph.Nodes
	for id := uint32(1); int(id) <= s.Len(); id++ {
		if err := n.addNode(s.Meta[id], s.Words(id)); err != nil {
			return fmt.Errorf("node %d: %w", id, err)
		}
	}
	return nil
}

func (n *numbering) addTuple(w []uint64) error {
	to, err := n.findTuple(w)
	n.tuple = append(n.tuple, to)
	return err
}

// addNode numbers the next node of the other graph. meta and words have the numbers of that graph; its tuple and children are numbered
// already.
func (n *numbering) addNode(meta uint32, words []uint32) error {
	n.children = append(n.children[:0], words...)
	list := n.children
	if graph.Kind(meta>>graph.KindShift) == graph.KindRepeat {
		list = list[:1]
	}
	for i, c := range list {
		list[i] = n.ids[c]
	}
	id, err := n.findNode(meta&^graph.TupleMask|n.tuple[meta&graph.TupleMask], n.children)
	n.ids = append(n.ids, id)
	return err
}

// Union joins the structures of locations, in ascending P.
//
// A node that is known has known nodes below it. So the new nodes of a location are appended in the post-order of that location, and their
// ids are the canonical ones, however locations were grouped for joining.
type Union struct {
	defs  *trace.Definitions
	opt   graph.Options
	graph graph.Graph
	numbering
}

// NewUnion returns an empty union with partners encoded as e says.
func NewUnion(defs *trace.Definitions, e *graph.Encodings, o graph.Options) *Union {
	u := &Union{defs: defs, opt: o.Normal(), graph: graph.NewGraph()}
	u.numbering = numbering{places: graph.NewPlaces(defs), encoding: e, findTuple: u.graph.AddTuple, findNode: u.graph.Nodes.Intern}
	return u
}

// Len returns the number of nodes.
func (u *Union) Len() int { return u.graph.Nodes.Len() }

// Add joins the structure of l.
func (u *Union) Add(l *Local) (err error) {
	defer graph.Wrap(&err, "call graph: joining location %d", l.p)
	if l.opt != u.opt {
		return fmt.Errorf("built with other options %+v, want %+v: %w", l.opt, u.opt, graph.ErrForeign)
	}
	return u.location(l)
}

// Parts encodes the union as messages of about limit bytes, children first.
func (u *Union) Parts(limit int) iter.Seq[[]byte] {
	return graph.Messages(limit, graph.EachPart(&u.graph, false))
}

// Receiver joins the messages of another Union or ClassBuilder, in their order.
type Receiver struct {
	what string
	next func(msg []byte) (rest []byte, err error) // joins a part of a message
	end  func() error
	n    int
	err  error
}

// Len returns the number of nodes, or of rows, received.
func (r *Receiver) Len() int { return r.n }

// Add joins a message.
func (r *Receiver) Add(msg []byte) error {
	for len(msg) > 0 && r.err == nil {
		msg, r.err = r.next(msg)
	}
	if r.err != nil {
		return fmt.Errorf("call graph: joining another rank's%s: %w", r.what, r.err)
	}
	return nil
}

// Close ends the joining.
func (r *Receiver) Close() error {
	r.err = cmp.Or(r.err, r.end())
	return r.err
}

// Receive returns a Receiver for the messages of another union, whose locations must follow those of u. Only one Receiver of a union may be
// open, and Add must not be called while it is.
func (u *Union) Receive() *Receiver {
	u.begin()
	dec := graph.NewPartDecoder()
	r := &Receiver{end: func() error {
		dec.Close()
		return nil
	}}
	r.next = func(msg []byte) ([]byte, error) {
		k, rest, err := dec.Read(msg)
		if err != nil {
			return nil, err
		}
		if k == graph.PartTuples {
			return rest, dec.EachTuple(u.addTuple)
		}
		return rest, dec.EachNode(uint32(len(u.ids)), func(id, meta uint32, words []uint32) error {
			if int(meta&graph.TupleMask) >= len(u.tuple) {
				return fmt.Errorf("node %d: tuple %d: %w", id, meta&graph.TupleMask, graph.ErrCorrupt)
			}
			if err := u.addNode(meta, words); err != nil {
				return err
			}
			r.n++
			n, s := u.ids[id], u.graph.Nodes
			return u.graph.CheckNode(n, s.Meta[n], s.Words(n), u.opt.Fan)
		})
	}
	return r
}

// Shared returns the finished graph; u must not be used afterwards.
func (u *Union) Shared() *graph.Shared {
	return &graph.Shared{Defs: u.defs, Opt: u.opt, Encoding: u.encoding, Graph: u.graph}
}

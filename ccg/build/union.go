package build

import (
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/trace"
)

// Union joins the structure of locations, in ascending P.
//
// What is known already brings its whole subtree with it, so the new nodes of a
// location follow in that location's post-order: ids are the canonical ones,
// however the locations were grouped before.
type Union struct {
	defs     *trace.Definitions
	opt      graph.Options
	encoding *graph.Encodings
	places   *graph.Places
	graph    graph.Graph
	words    []uint64
	tuple    []uint32 // of the newcomer -> here
	ids      []uint32 // likewise
	children []uint32
}

// NewUnion returns an empty union that writes partners as e says.
func NewUnion(defs *trace.Definitions, e *graph.Encodings, o graph.Options) *Union {
	return &Union{defs: defs, opt: o.Normal(), encoding: e, places: graph.NewPlaces(defs), graph: graph.NewGraph()}
}

// Len returns the number of nodes.
func (u *Union) Len() int { return u.graph.Nodes.Len() }

// Add joins the structure of l.
func (u *Union) Add(l *Local) (err error) {
	defer graph.Wrap(&err, "call graph: joining location %d", l.p)
	if l.opt != u.opt {
		return fmt.Errorf("built with other options %+v, want %+v: %w", l.opt, u.opt, graph.ErrForeign)
	}
	u.places.Of(l.p)
	u.tuple = u.tuple[:0]
	for t := range l.graph.Shapes {
		w, err := u.encoding.Relabel(u.places, &l.graph.Shapes[t], l.graph.Tuples.At(uint32(t)), u.words)
		if err != nil {
			return err
		}
		if len(w) > 0 && cap(u.words) < len(w) {
			u.words = make([]uint64, 0, 2*len(w))
		}
		n, err := u.graph.AddTuple(w)
		if err != nil {
			return err
		}
		u.tuple = append(u.tuple, n)
	}
	u.ids = append(u.ids[:0], 0)
	s := l.graph.Nodes
	for id := uint32(1); int(id) <= s.Len(); id++ {
		if err := u.addNode(s.Meta[id], s.Words(id)); err != nil {
			return err
		}
	}
	return nil
}

// addNode interns a newcomer's node: its tuple and children in the newcomer's
// numbers, which are known by now.
func (u *Union) addNode(meta uint32, words []uint32) error {
	u.children = append(u.children[:0], words...)
	n := len(words)
	if graph.Kind(meta>>graph.KindShift) == graph.KindRepeat {
		n = 1
	}
	for i := range n {
		u.children[i] = u.ids[u.children[i]]
	}
	id, err := u.graph.Nodes.Intern(meta&^graph.TupleMask|u.tuple[meta&graph.TupleMask], u.children)
	if err != nil {
		return err
	}
	u.ids = append(u.ids, id)
	return nil
}

// Parts encodes the union in messages of about limit bytes, children first.
func (u *Union) Parts(limit int) iter.Seq[[]byte] {
	return graph.Messages(limit, graph.EachPart(&u.graph, false))
}

// Receiver joins the messages of another union, in order.
type Receiver struct {
	u   *Union
	dec *graph.PartDecoder
	err error
}

// Receive begins to join another union, whose locations follow those of u.
// Only one Receiver of a union may be open, and no Add may come between.
func (u *Union) Receive() *Receiver {
	r := &Receiver{u: u, dec: graph.NewPartDecoder()}
	u.tuple = u.tuple[:0]
	u.ids = append(u.ids[:0], 0)
	return r
}

// Len returns the number of nodes received.
func (r *Receiver) Len() int { return len(r.u.ids) - 1 }

// Add joins a message.
func (r *Receiver) Add(msg []byte) error {
	for len(msg) > 0 && r.err == nil {
		msg, r.err = r.add(msg)
	}
	if r.err != nil {
		return fmt.Errorf("call graph: joining another rank's: %w", r.err)
	}
	return nil
}

func (r *Receiver) add(msg []byte) (rest []byte, err error) {
	u := r.u
	k, rest, err := r.dec.Read(msg)
	if err != nil {
		return nil, err
	}
	if k == graph.PartTuples {
		return rest, r.dec.EachTuple(func(w []uint64) error {
			n, err := u.graph.AddTuple(w)
			u.tuple = append(u.tuple, n)
			return err
		})
	}
	return rest, r.dec.EachNode(uint32(len(u.ids)), func(id, meta uint32, words []uint32) error {
		if int(meta&graph.TupleMask) >= len(u.tuple) {
			return fmt.Errorf("node %d: tuple %d: %w", id, meta&graph.TupleMask, graph.ErrCorrupt)
		}
		if err := u.addNode(meta, words); err != nil {
			return err
		}
		n := u.ids[id]
		s := u.graph.Nodes
		return u.graph.CheckNode(n, s.Meta[n], s.Words(n), u.opt.Fan)
	})
}

// Close ends the joining.
func (r *Receiver) Close() error {
	r.dec.Close()
	return r.err
}

// Shared returns the finished graph; u must not be used afterwards.
func (u *Union) Shared() *graph.Shared {
	return &graph.Shared{Defs: u.defs, Opt: u.opt, Encoding: u.encoding, Graph: u.graph}
}

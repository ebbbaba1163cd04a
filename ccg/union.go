package ccg

import (
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/trace"
)

// Union joins the structure of locations, in ascending P.
//
// What is known already brings its whole subtree with it, so the new nodes of a
// location follow in that location's post-order: ids are the canonical ones,
// however the locations were grouped before.
type Union struct {
	defs     *trace.Definitions
	opt      Options
	encoding *Encodings
	places   *places
	graph    graph
	words    []uint64
	tuple    []uint32 // of the newcomer -> here
	ids      []uint32 // likewise
	children []uint32
}

// NewUnion returns an empty union that writes partners as e says.
func NewUnion(defs *trace.Definitions, e *Encodings, o Options) *Union {
	return &Union{defs: defs, opt: o.normal(), encoding: e, places: newPlaces(defs), graph: newGraph()}
}

// Nodes returns the number of nodes.
func (u *Union) Nodes() int { return u.graph.nodes.len() }

// relabel returns a tuple of a location with its partner written as chosen.
func (e *Encodings) relabel(pls *places, h *shape, w, scratch []uint64) ([]uint64, error) {
	at, comm, window, ok := h.rankWord(w)
	if !ok {
		return w, nil
	}
	c := e.chosen[partnerKey{h.kind, h.ref, comm}]
	pl := pls.at(comm, window)
	partner, ok := pl.decode(relative, w[at])
	if !ok {
		return nil, fmt.Errorf("partner outside communicator %d: %w", comm, ErrCorrupt)
	}
	if c == relative {
		return w, nil
	}
	w = append(scratch[:0], w...)
	w[at] = pl.encode(c, partner)
	return w, nil
}

// Add joins the structure of l.
func (u *Union) Add(l *Local) (err error) {
	defer wrap(&err, "call graph: joining location %d", l.p)
	if l.opt != u.opt {
		return fmt.Errorf("built with other options %+v, want %+v: %w", l.opt, u.opt, ErrForeign)
	}
	u.places.of(l.p)
	u.tuple = u.tuple[:0]
	for t := range l.graph.shapes {
		w, err := u.encoding.relabel(u.places, &l.graph.shapes[t], l.graph.tuples.at(uint32(t)), u.words)
		if err != nil {
			return err
		}
		if len(w) > 0 && cap(u.words) < len(w) {
			u.words = make([]uint64, 0, 2*len(w))
		}
		n, err := u.graph.addTuple(w)
		if err != nil {
			return err
		}
		u.tuple = append(u.tuple, n)
	}
	u.ids = append(u.ids[:0], 0)
	s := l.graph.nodes
	for id := uint32(1); int(id) <= s.len(); id++ {
		if err := u.addNode(s.meta[id], s.words(id)); err != nil {
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
	if kind(meta>>kindShift) == kindRepeat {
		n = 1
	}
	for i := range n {
		u.children[i] = u.ids[u.children[i]]
	}
	id, err := u.graph.nodes.intern(meta&^tupleMask|u.tuple[meta&tupleMask], u.children)
	if err != nil {
		return err
	}
	u.ids = append(u.ids, id)
	return nil
}

// Parts encodes the union in messages of about limit bytes, children first.
func (u *Union) Parts(limit int) iter.Seq[[]byte] { return messages(limit, eachPart(&u.graph, false)) }

// Receiver joins the messages of another union, in order.
type Receiver struct {
	u   *Union
	dec *partDecoder
	err error
}

// Receive begins to join another union, whose locations follow those of u.
// Only one Receiver of a union may be open, and no Add may come between.
func (u *Union) Receive() *Receiver {
	r := &Receiver{u: u, dec: newPartDecoder()}
	u.tuple = u.tuple[:0]
	u.ids = append(u.ids[:0], 0)
	return r
}

// Nodes returns the number of nodes received.
func (r *Receiver) Nodes() int { return len(r.u.ids) - 1 }

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
	k, rest, err := r.dec.read(msg)
	if err != nil {
		return nil, err
	}
	if k == partTuples {
		return rest, r.dec.eachTuple(func(w []uint64) error {
			n, err := u.graph.addTuple(w)
			u.tuple = append(u.tuple, n)
			return err
		})
	}
	return rest, r.dec.eachNode(uint32(len(u.ids)), func(id, meta uint32, words []uint32) error {
		if int(meta&tupleMask) >= len(u.tuple) {
			return fmt.Errorf("node %d: tuple %d: %w", id, meta&tupleMask, ErrCorrupt)
		}
		if err := u.addNode(meta, words); err != nil {
			return err
		}
		n := u.ids[id]
		s := u.graph.nodes
		return u.graph.checkNode(n, s.meta[n], s.words(n), u.opt.Fan)
	})
}

// Close ends the joining.
func (r *Receiver) Close() error {
	r.dec.close()
	return r.err
}

// Shared returns the finished graph; u must not be used afterwards.
func (u *Union) Shared() *Shared {
	return &Shared{defs: u.defs, opt: u.opt, encoding: u.encoding, graph: u.graph}
}

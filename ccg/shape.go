package ccg

import (
	"github.com/coppice-hpc/coppice/trace"
)

// Tuples are lists of words. Word 0 holds class, record kind and flags, word 1 a
// reference:
//
//	class 0, Root, Group, Repeat: enclosing region
//	class 1, Call: region or calling context | unwind distance (calling contexts)
//	         | attributes and surplus of the enter | calling context of the leave, if
//	         it is another one | attributes and surplus of the leave
//	class 2, Event: enclosing region | hard fields in the record's order
//	         | list (types, strings) | attributes and surplus
//
// Attributes are their number, then per attribute type<<32 | definition and, for
// references, the value. Surplus is its length in bytes. Both are there only if
// the flag is set. A rank is its code<<1, or the plain rank<<1 | 1 where the
// communicator does not have it; an id is its difference or distance<<1, or 1
// for "far": then the id is a value.
const (
	classList  = 0
	classCall  = 1
	classEvent = 2

	wordKind  = 8  // shift of the record kind in word 0
	wordFlags = 16 // of the flags of the record, or of the enter
	wordLeave = 24 // of the flags of the leave
	wordCut   = 1 << 32
)

// Lengths above these are refused in files: nothing writes them.
const (
	maxAttributes = 1 << 20
	maxSurplus    = 1 << 30
)

const eventFlags = trace.HasAttributes | trace.HasSurplus | trace.Estimated

// otherContext is a flag of the leave of a calling context: it names another one than the enter, of the same region.
const otherContext = 1 << 3

// recipe says how the fields of a record kind are taken apart. There is one for
// each kind, made from trace.Kind.Info.
type recipe struct {
	places []trace.Place
	signed []bool
	refs   []trace.RefKind
	list   trace.List
	rank   int // field with a rank, -1 if there is none
	comm   int // field with its communicator or window
	window bool
	hard   int // words of the tuple before the list
}

var recipes = newRecipes()

func newRecipes() (all [256]recipe) {
	for k := range all {
		info := trace.Kind(k).Info()
		r := recipe{list: info.List, rank: -1, comm: -1}
		for i, f := range info.Fields {
			r.places = append(r.places, f.Place)
			r.signed = append(r.signed, f.Width == trace.S64)
			r.refs = append(r.refs, f.Ref)
			switch {
			case f.Place == trace.Rank:
				r.rank = i
			case f.Place == trace.Hard && (f.Ref == trace.RefComm || f.Ref == trace.RefRmaWin):
				r.comm, r.window = i, f.Ref == trace.RefRmaWin
			}
			if f.Place != trace.Number && f.Place != trace.FromStamp {
				r.hard++
			}
		}
		if r.comm < 0 {
			r.rank = -1
		}
		all[k] = r
	}
	return all
}

// hardAt returns the word of field i in an event's tuple.
func (r *recipe) hardAt(i int) int {
	w := 2
	for _, p := range r.places[:i] {
		if p != trace.Number && p != trace.FromStamp {
			w++
		}
	}
	return w
}

// shape is what a tuple says about a node's streams.
type shape struct {
	class  uint8
	kind   trace.Kind
	flags  uint8 // of the record, or of the enter
	leave  uint8 // flags of the leave
	cut    bool
	ref    uint32
	unwind uint32
	left   uint32 // calling context of the leave

	values       uint32 // value slots of the record, or of the enter
	leaveValues  uint32
	payload      uint64 // words of the byte column, likewise
	leavePayload uint64
	enterList    uint32 // word where the attributes of the enter begin; list or attributes of an Event
	leaveList    uint32 // word where those of the leave begin
}

// region returns the region whose exclusive time the gaps of a node are.
func (h *shape) region(defs *trace.Definitions) uint32 {
	if h.class == classCall && h.kind == trace.CallingContextEnter {
		r, _ := defs.ContextRegion(h.ref)
		return r
	}
	return h.ref
}

// isSample reports whether a node is a sample. Its region is the innermost one.
func (h *shape) isSample() bool {
	return h.class == classEvent && h.kind == trace.CallingContextSample
}

// parseShape validates a tuple and says what it means.
func parseShape(w []uint64) (shape, bool) {
	if len(w) < 2 || w[1] > trace.Undefined {
		return shape{}, false
	}
	h := shape{
		class: uint8(w[0]), kind: trace.Kind(w[0] >> wordKind), flags: uint8(w[0] >> wordFlags),
		leave: uint8(w[0] >> wordLeave), cut: w[0]&wordCut != 0, ref: uint32(w[1]),
	}
	if w[0]>>33 != 0 || (h.flags|h.leave&^otherContext)&^eventFlags != 0 {
		return h, false
	}
	switch h.class {
	case classList:
		return h, len(w) == 2 && w[0] == classList
	case classCall:
		return h, h.parseCall(w)
	case classEvent:
		return h, h.parseEvent(w)
	}
	return h, false
}

func (h *shape) parseCall(w []uint64) bool {
	rest := w[2:]
	switch h.kind {
	case trace.Enter:
	case trace.CallingContextEnter:
		if len(rest) == 0 || rest[0] > trace.Undefined {
			return false
		}
		h.unwind, rest = uint32(rest[0]), rest[1:]
	default:
		return false
	}
	if h.cut && h.leave != 0 {
		return false
	}
	var ok bool
	h.enterList = uint32(len(w) - len(rest))
	if rest, h.values, h.payload, ok = parseTail(rest, h.flags); !ok {
		return false
	}
	h.left = h.ref
	if h.leave&otherContext != 0 {
		if h.kind != trace.CallingContextEnter || len(rest) == 0 || rest[0] > trace.Undefined {
			return false
		}
		h.left, rest = uint32(rest[0]), rest[1:]
	}
	h.leaveList = uint32(len(w) - len(rest))
	rest, h.leaveValues, h.leavePayload, ok = parseTail(rest, h.leave)
	return ok && len(rest) == 0
}

func (h *shape) parseEvent(w []uint64) bool {
	if h.leave != 0 || h.cut || h.flags&trace.Estimated != 0 || h.kind == trace.Enter || h.kind == trace.CallingContextEnter {
		return false
	}
	rest := w[2:]
	r := &recipes[h.kind]
	if len(rest) < r.hard {
		return false
	}
	at := 0
	for _, p := range r.places {
		switch p {
		case trace.Number, trace.FromStamp:
			h.values++
			continue
		case trace.Rank:
			// needs the place of its communicator, a 32-bit reference
			if comm := w[r.hardAt(r.comm)]; comm > trace.Undefined || rest[at]>>1 > 1<<33 {
				return false
			}
		case trace.PostMpi, trace.UseMpi, trace.PostRma, trace.UseRma, trace.PostIo, trace.UseIo:
			if rest[at]&1 != 0 {
				if rest[at] != 1 {
					return false
				}
				h.values++
			}
		}
		at++
	}
	rest = rest[r.hard:]
	h.enterList = uint32(len(w) - len(rest))
	if r.list != trace.NoList {
		n := w[h.enterList-1]
		switch {
		case r.list == trace.PayloadList:
			if n > maxSurplus {
				return false
			}
			h.payload = (n + 7) / 8
		case n > uint64(len(rest)):
			return false
		default:
			if r.list == trace.MetricList {
				h.values += uint32(n)
			}
			rest = rest[n:]
		}
	}
	rest, values, payload, ok := parseTail(rest, h.flags)
	h.values += values
	h.payload += payload
	return ok && len(rest) == 0
}

// parseTail reads attributes and surplus.
func parseTail(w []uint64, flags uint8) (rest []uint64, values uint32, payload uint64, ok bool) {
	if flags&trace.HasAttributes != 0 {
		if len(w) == 0 || w[0] > maxAttributes {
			return nil, 0, 0, false
		}
		n := w[0]
		w = w[1:]
		for range n {
			if len(w) == 0 {
				return nil, 0, 0, false
			}
			if attributeIsHard(w[0]) {
				w = w[1:]
			} else {
				values++
			}
			if len(w) == 0 {
				return nil, 0, 0, false
			}
			w = w[1:]
		}
	}
	if flags&trace.HasSurplus != 0 {
		if len(w) == 0 || w[0] > maxSurplus {
			return nil, 0, 0, false
		}
		payload = (w[0] + 7) / 8
		w = w[1:]
	}
	return w, values, payload, true
}

// attributeIsHard reports whether an attribute's value is a reference.
func attributeIsHard(word uint64) bool {
	return trace.ValueType(word>>32).Ref() != trace.RefNone
}

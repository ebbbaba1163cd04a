package graph

import "github.com/coppice-hpc/coppice/trace"

// Tuples are lists of words. Word 0 has class, record kind and flags, word 1 a reference:
//
//	class 0, Root, Group, Repeat: enclosing region
//	class 1, Call: region or calling context | unwind distance (calling contexts)
//	         | attributes and surplus of the enter | calling context of the leave, if
//	         it is another one | attributes and surplus of the leave
//	class 2, Event: enclosing region | hard fields in the record's order
//	         | list (types, strings) | attributes and surplus
//
// Attributes are their number, then for each attribute type<<32 | definition and, for references, the value. Surplus is its length in
// bytes. Each is there only if its flag is set. A rank is its code<<1, or the unencoded rank<<1 | 1 if the communicator does not have it.
// An id is its difference or distance<<1, or 1 for "far": then the id is a value.
const (
	ClassList  = 0
	ClassCall  = 1
	ClassEvent = 2

	WordKind  = 8  // shift of the record kind in word 0
	WordFlags = 16 // flags of the record, or of the enter
	WordLeave = 24 // flags of the leave
	WordCut   = 1 << 32
)

// Files with more than these are refused, because none are written.
const (
	MaxAttributes = 1 << 20
	MaxSurplus    = 1 << 30
)

const EventFlags = trace.HasAttributes | trace.HasSurplus | trace.Estimated

// OtherContext is a flag of the leave of a calling context: it has another context than the enter, of the same region.
const OtherContext = 1 << 3

// recipe says how the fields of a record kind are stored. There is one for each kind, made from trace.Kind.Info.
type recipe struct {
	Places []trace.Place
	Signed []bool
	refs   []trace.RefKind
	List   trace.List
	Rank   int // field with a rank, -1 if there is none
	Comm   int // field with the rank's communicator or window
	Window bool
	hard   int // words of the tuple before the list
}

var Recipes = newRecipes()

func newRecipes() (all [256]recipe) {
	for k := range all {
		info := trace.Kind(k).Info()
		r := recipe{List: info.List, Rank: -1, Comm: -1}
		for i, f := range info.Fields {
			r.Places = append(r.Places, f.Place)
			r.Signed = append(r.Signed, f.Width == trace.S64)
			r.refs = append(r.refs, f.Ref)
			switch {
			case f.Place == trace.Rank:
				r.Rank = i
			case f.Place == trace.Hard && (f.Ref == trace.RefComm || f.Ref == trace.RefRmaWin):
				r.Comm, r.Window = i, f.Ref == trace.RefRmaWin
			}
			if f.Place != trace.Number && f.Place != trace.FromStamp {
				r.hard++
			}
		}
		if r.Comm < 0 {
			r.Rank = -1
		}
		all[k] = r
	}
	return all
}

// HardAt returns the index of the word of field i in an event's tuple.
func (r *recipe) HardAt(i int) int {
	w := 2
	for _, p := range r.Places[:i] {
		if p != trace.Number && p != trace.FromStamp {
			w++
		}
	}
	return w
}

// Shape is the meaning of a tuple.
type Shape struct {
	Class  uint8
	Kind   trace.Kind
	Flags  uint8 // of the record, or of the enter
	Leave  uint8 // flags of the leave
	Cut    bool
	Ref    uint32
	Unwind uint32
	Left   uint32 // calling context of the leave

	Values       uint32 // number of value slots of the record, or of the enter
	LeaveValues  uint32
	Payload      uint64 // words in the byte column, of the record or enter
	LeavePayload uint64
	EnterList    uint32 // word at which the attributes of the enter begin; for an Event its list or attributes
	LeaveList    uint32 // word at which the attributes of the leave begin
}

// Region returns the region whose exclusive time a node's gaps are.
func (h *Shape) Region(defs *trace.Definitions) uint32 {
	if h.Class == ClassCall && h.Kind == trace.CallingContextEnter {
		r, _ := defs.ContextRegion(h.Ref)
		return r
	}
	return h.Ref
}

// IsSample reports whether a node is a sample. Its region is the innermost one.
func (h *Shape) IsSample() bool {
	return h.Class == ClassEvent && h.Kind == trace.CallingContextSample
}

// parseShape validates a tuple and returns its meaning.
func parseShape(w []uint64) (Shape, bool) {
	if len(w) < 2 || w[1] > trace.Undefined {
		return Shape{}, false
	}
	h := Shape{
		Class: uint8(w[0]), Kind: trace.Kind(w[0] >> WordKind), Flags: uint8(w[0] >> WordFlags),
		Leave: uint8(w[0] >> WordLeave), Cut: w[0]&WordCut != 0, Ref: uint32(w[1]),
	}
	if w[0]>>33 != 0 || (h.Flags|h.Leave&^OtherContext)&^EventFlags != 0 {
		return h, false
	}
	switch h.Class {
	case ClassList:
		return h, len(w) == 2 && w[0] == ClassList
	case ClassCall:
		return h, h.parseCall(w)
	case ClassEvent:
		return h, h.parseEvent(w)
	}
	return h, false
}

func (h *Shape) parseCall(w []uint64) bool {
	rest := w[2:]
	switch h.Kind {
	case trace.Enter:
	case trace.CallingContextEnter:
		if len(rest) == 0 || rest[0] > trace.Undefined {
			return false
		}
		h.Unwind, rest = uint32(rest[0]), rest[1:]
	default:
		return false
	}
	if h.Cut && h.Leave != 0 {
		return false
	}
	var ok bool
	h.EnterList = uint32(len(w) - len(rest))
	if rest, h.Values, h.Payload, ok = parseTail(rest, h.Flags); !ok {
		return false
	}
	h.Left = h.Ref
	if h.Leave&OtherContext != 0 {
		if h.Kind != trace.CallingContextEnter || len(rest) == 0 || rest[0] > trace.Undefined {
			return false
		}
		h.Left, rest = uint32(rest[0]), rest[1:]
	}
	h.LeaveList = uint32(len(w) - len(rest))
	rest, h.LeaveValues, h.LeavePayload, ok = parseTail(rest, h.Leave)
	return ok && len(rest) == 0
}

func (h *Shape) parseEvent(w []uint64) bool {
	if h.Leave != 0 || h.Cut || h.Flags&trace.Estimated != 0 || h.Kind == trace.Enter || h.Kind == trace.CallingContextEnter {
		return false
	}
	rest := w[2:]
	r := &Recipes[h.Kind]
	if len(rest) < r.hard {
		return false
	}
	at := 0
	for _, p := range r.Places {
		switch p {
		case trace.Number, trace.FromStamp:
			h.Values++
			continue
		case trace.Rank:
			// A place in its communicator is needed, whose reference has 32 bits.
			if comm := w[r.HardAt(r.Comm)]; comm > trace.Undefined || rest[at]>>1 > 1<<33 {
				return false
			}
		case trace.PostMpi, trace.UseMpi, trace.PostRma, trace.UseRma, trace.PostIo, trace.UseIo:
			if rest[at]&1 != 0 {
				if rest[at] != 1 {
					return false
				}
				h.Values++
			}
		}
		at++
	}
	rest = rest[r.hard:]
	h.EnterList = uint32(len(w) - len(rest))
	if r.List != trace.NoList {
		n := w[h.EnterList-1]
		switch {
		case r.List == trace.PayloadList:
			if n > MaxSurplus {
				return false
			}
			h.Payload = (n + 7) / 8
		case n > uint64(len(rest)):
			return false
		default:
			if r.List == trace.MetricList {
				h.Values += uint32(n)
			}
			rest = rest[n:]
		}
	}
	rest, values, payload, ok := parseTail(rest, h.Flags)
	h.Values += values
	h.Payload += payload
	return ok && len(rest) == 0
}

// parseTail reads attributes and surplus.
func parseTail(w []uint64, flags uint8) (rest []uint64, values uint32, payload uint64, ok bool) {
	if flags&trace.HasAttributes != 0 {
		if len(w) == 0 || w[0] > MaxAttributes {
			return nil, 0, 0, false
		}
		n := w[0]
		w = w[1:]
		for range n {
			if len(w) == 0 {
				return nil, 0, 0, false
			}
			if AttributeIsHard(w[0]) {
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
		if len(w) == 0 || w[0] > MaxSurplus {
			return nil, 0, 0, false
		}
		payload = (w[0] + 7) / 8
		w = w[1:]
	}
	return w, values, payload, true
}

// AttributeIsHard reports whether an attribute's value is a reference.
func AttributeIsHard(word uint64) bool {
	return trace.ValueType(word>>32).Ref() != trace.RefNone
}

// Leaves reports whether a record is a leave that ends no call.
func (h *Shape) Leaves() bool {
	return h.Kind == trace.Leave || h.Kind == trace.CallingContextLeave
}

// TailWord returns the index of the word at which attributes and surplus of an Event begin.
func (h *Shape) TailWord(w []uint64) uint32 {
	switch Recipes[h.Kind].List {
	case trace.MetricList, trace.StringList:
		return h.EnterList + uint32(w[h.EnterList-1])
	}
	return h.EnterList
}

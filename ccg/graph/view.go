package graph

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// View is the part of a graph that one location uses, and the columns of its slots.
//
// A node has a gap slot for each child (used if the child is a Call or Event), then the tail slot of a Call, then value slots. The layout
// of columns depends only on structure and root, so every reader and writer computes the same.
type View struct {
	Graph
	Defs   *trace.Definitions
	Root   uint32
	Order  []uint32 // nodes ordered by shared id
	Ids    []uint32 // of each node: its shared id
	Mult   []uint64 // of each node: instances in this location
	Slot   []uint32 // of each node: its first slot
	Extra  []uint8  // of each node: which values come with its gaps
	Column []int32  // of each slot: its column, -1 if it has no values
	Cols   []columnInfo
	Bytes  int // the column of payload words, -1 if there are none
	Marks  int // the column of marks, -1 if there are none
	Events uint64

	// Of a lossy graph only, else nil and -1.
	Class   []int32       // of each slot: column with the class rows of the child there, -1 if there is none
	Tables  []*ClassTable // of each node; nil in column mode
	RootRow int           // row of the root, -1 in column mode
}

// columnInfo describes a column before it is read.
type columnInfo struct {
	Count  uint64
	Gap    bool
	Region uint32 // of a gap column
	Child  uint32 // of a class column: node whose rows it has; else 0
}

// OwnColumn is the least number of instances for which a slot has its own column.
const OwnColumn = 64

// Values or bytes that come with the record or enter, or with the leave.
const (
	extraFirst = 1 << iota
	extraLeave
)

// slotKey identifies a shared column.
type slotKey struct {
	class  uint8 // 0 gaps, 1 values, 2 rows
	region uint32
	item   uint64
}

func (k slotKey) compare(o slotKey) int {
	return cmp.Or(cmp.Compare(k.class, o.class), cmp.Compare(k.region, o.region), cmp.Compare(k.item, o.item))
}

const tailItem = 3 << 32

// item returns a key for a child: calls by region or context, records by kind.
func (v *View) item(id uint32) uint64 {
	h := v.ShapeOf(id)
	if h.Class == ClassCall {
		return 1<<32 | uint64(h.Ref)
	}
	return 2<<32 | uint64(h.Kind)
}

// NewView counts instances and computes the layout of columns. order and ids are those of View.
//
// Every slot has a value, so a short blob cannot have many. limit is the most slots, checked before memory is allocated.
func NewView(g Graph, defs *trace.Definitions, c *Classes, root uint32, order, ids []uint32, limit uint64) (*View, error) {
	v := &View{Graph: g, Defs: defs, Root: root, Order: order, Ids: ids, Bytes: -1, Marks: -1, RootRow: -1}
	if c != nil {
		v.Tables = make([]*ClassTable, len(ids))
		for id := range v.Tables {
			v.Tables[id] = c.Tables[ids[id]]
		}
	}
	if err := v.multiply(); err != nil {
		return nil, err
	}
	return v, v.layout(min(limit, 1<<31))
}

// MaxEvents is the most events of a location: no count can overflow.
const MaxEvents = 1 << 56

// multiply counts the instances of each node: m(child) += m(parent).
func (v *View) multiply() error {
	s := v.Nodes
	v.Mult = make([]uint64, s.Len()+1)
	v.Mult[v.Root] = 1
	for id := v.Root; id > 0; id-- {
		m := v.Mult[id]
		if m > MaxEvents {
			return fmt.Errorf("node %d occurs more than %d times: %w", v.Ids[id], uint64(MaxEvents), ErrCorrupt)
		}
		if s.Kind(id) == KindRepeat {
			hi, lo := bits.Mul64(m, s.Count(id))
			if hi != 0 || lo > MaxEvents {
				return fmt.Errorf("node %d repeats %d times: %w", v.Ids[id], s.Count(id), ErrCorrupt)
			}
			body := s.Words(id)[0]
			if v.Mult[body] += lo; v.Mult[body] > MaxEvents {
				return fmt.Errorf("node %d occurs more than %d times: %w", v.Ids[body], uint64(MaxEvents), ErrCorrupt)
			}
			continue
		}
		for _, c := range s.Words(id) {
			v.Mult[c] += m // at most 2^56 * (nodes * fan): checked above
			if v.Mult[c] > MaxEvents {
				return fmt.Errorf("node %d occurs more than %d times: %w", v.Ids[c], uint64(MaxEvents), ErrCorrupt)
			}
		}
	}
	return nil
}

// Events returns the number of events of one instance of a node itself.
func (h *Shape) Events() uint64 {
	switch {
	case h.Class == ClassList:
		return 0
	case h.Class == ClassCall && !h.Cut:
		return 2
	}
	return 1
}

// Slots returns the number of gap slots and the number of all slots of a node.
func (v *View) Slots(id uint32) (gaps, all uint32) {
	h := v.ShapeOf(id)
	gaps = uint32(len(v.Nodes.Children(id)))
	if h.Class == ClassCall {
		gaps++
	}
	return gaps, gaps + h.Values + h.LeaveValues
}

// IsReal reports whether a node is a Call or Event.
func (v *View) IsReal(id uint32) bool { return v.Nodes.Kind(id) <= KindEvent }

// layout assigns columns to slots.
func (v *View) layout(limit uint64) error {
	v.Slot, v.Extra = make([]uint32, v.Nodes.Len()+1), make([]uint8, v.Nodes.Len()+1)
	total, payload := uint64(0), uint64(0)
	for _, id := range v.Order {
		_, all := v.Slots(id)
		v.Slot[id] = uint32(total)
		if total += uint64(all); total > limit {
			return fmt.Errorf("more than %d slots: %w", limit, ErrLimit)
		}
		h := v.ShapeOf(id)
		if h.Values != 0 || h.Payload != 0 {
			v.Extra[id] |= extraFirst
		}
		if h.LeaveValues != 0 || h.LeavePayload != 0 {
			v.Extra[id] |= extraLeave
		}
		hi, lo := bits.Mul64(v.Mult[id], h.Payload+h.LeavePayload)
		if payload += lo; hi != 0 || lo > MaxEvents || payload > MaxEvents {
			return fmt.Errorf("node %d: too many bytes: %w", v.Ids[id], ErrCorrupt)
		}
		if v.Events += v.Mult[id] * h.Events(); v.Events > MaxEvents {
			return fmt.Errorf("more than %d events: %w", uint64(MaxEvents), ErrCorrupt)
		}
	}
	v.Column = make([]int32, total)
	if v.Tables != nil {
		v.Class = make([]int32, total)
		for i := range v.Class {
			v.Class[i] = -1
		}
	}
	var shared sharedColumns
	for _, id := range v.Order {
		v.layoutNode(id, &shared)
	}
	own := int32(len(v.Cols))
	rank := shared.rank()
	for _, list := range [][]int32{v.Column, v.Class} {
		for i, c := range list {
			if c < -1 { // -2 - place of the key
				list[i] = own + rank[-2-c]
			}
		}
	}
	for _, n := range shared.sorted {
		v.Cols = append(v.Cols, shared.List[n].Val)
	}
	if payload > 0 {
		v.Bytes = len(v.Cols)
		v.Cols = append(v.Cols, columnInfo{Count: payload})
	}
	if n := v.MarkCount(); n > 0 {
		v.Marks = len(v.Cols)
		v.Cols = append(v.Cols, columnInfo{Count: n})
	}
	return nil
}

// sharedColumns collects slots with few instances.
type sharedColumns struct {
	Keyed[slotKey, columnInfo]
	sorted []uint32 // places ordered by key
}

// rank sorts the keys and returns the position of each place.
func (s *sharedColumns) rank() []int32 {
	s.sorted = make([]uint32, len(s.List))
	for i := range s.sorted {
		s.sorted[i] = uint32(i)
	}
	slices.SortFunc(s.sorted, func(a, b uint32) int { return s.List[a].Key.compare(s.List[b].Key) })
	rank := make([]int32, len(s.List))
	for i, n := range s.sorted {
		rank[n] = int32(i)
	}
	return rank
}

// add adds a slot to the column of key k. It returns -2 - its place.
func (s *sharedColumns) add(k slotKey, c columnInfo) int32 {
	n, added := s.Find(Mix(k.item*Factors[0]+(uint64(k.region)<<8|uint64(k.class))*Factors[1]), k)
	if sum := &s.List[n].Val; added {
		*sum = columnInfo{Gap: c.Gap, Region: k.region, Count: c.Count, Child: c.Child}
	} else {
		sum.Count += c.Count
	}
	return -2 - int32(n)
}

// layoutNode assigns columns to the slots of a node: a number, or -2 - the place of a shared column's key.
func (v *View) layoutNode(id uint32, shared *sharedColumns) {
	h, s := v.ShapeOf(id), v.Nodes
	m := v.Mult[id]
	at := v.Slot[id]
	children := s.Children(id)
	assign := func(k slotKey, c columnInfo) int32 {
		if c.Count < OwnColumn {
			return shared.add(k, c)
		}
		v.Cols = append(v.Cols, c)
		return int32(len(v.Cols) - 1)
	}
	if v.Tables != nil && v.Tables[id] != nil {
		for range len(children) {
			v.Column[at] = -1
			at++
		}
		if h.Class == ClassCall {
			v.Column[at] = -1
			at++
		}
	} else {
		var region uint32
		if len(children) > 0 || h.Class == ClassCall {
			region = h.Region(v.Defs)
		}
		n := m
		if s.Kind(id) == KindRepeat {
			n *= s.Count(id)
		}
		for _, c := range children {
			v.Column[at] = -1
			if v.IsReal(c) {
				v.Column[at] = assign(slotKey{0, region, v.item(c)}, columnInfo{Count: n, Gap: true, Region: region})
			}
			if v.Tables != nil && v.Tables[c] != nil {
				v.Class[at] = assign(slotKey{2, 0, uint64(v.Ids[c])}, columnInfo{Count: n, Child: c})
			}
			at++
		}
		if h.Class == ClassCall {
			v.Column[at] = -1
			if !h.Cut {
				v.Column[at] = assign(slotKey{0, region, tailItem}, columnInfo{Count: m, Gap: true, Region: region})
			}
			at++
		}
	}
	for i := range h.Values + h.LeaveValues {
		v.Column[at] = assign(slotKey{1, 0, uint64(h.Kind)<<32 | uint64(min(i, 255))}, columnInfo{Count: m})
		at++
	}
}

// ValueColumns returns the columns of the values of a record, enter or leave.
func (v *View) ValueColumns(id uint32, st Step) []int32 {
	if st == StepClose && v.Extra[id]&extraLeave == 0 || st != StepClose && v.Extra[id]&extraFirst == 0 {
		return nil
	}
	at, n := v.ValueSlots(v.ShapeOf(id), id, st)
	return v.Column[at : at+n]
}

// ValueSlots returns the first value slot of a record, enter or leave, and their
// number.
func (v *View) ValueSlots(h *Shape, id uint32, st Step) (at, n uint32) {
	s := v.Nodes
	at = v.Slot[id] + s.Off[id+1] - s.Off[id]
	if h.Class == ClassCall {
		at++
	}
	if st == StepClose {
		return at + h.Values, h.LeaveValues
	}
	return at, h.Values
}

// Count adds up own(id) for each node over one instance of it: O(edges). Sums of what occurs at most once for each event cannot overflow.
func (v *View) Count(own func(id uint32) uint64) []uint64 {
	s := v.Nodes
	n := make([]uint64, s.Len()+1)
	for _, id := range v.Order {
		n[id] = own(id)
		if s.Kind(id) == KindRepeat {
			n[id] += n[s.Pool[s.Off[id]]] * s.Count(id)
			continue
		}
		for _, c := range s.Words(id) {
			n[id] += n[c]
		}
	}
	return n
}

// ChildOf returns the child at a position of a node's rows.
func (v *View) ChildOf(id uint32, position int) uint32 {
	list := v.Nodes.Children(id)
	return list[min(position, len(list)-1)]
}

// Values returns the number of gaps and values of an instance of a node itself.
func (v *View) Values(id uint32) uint64 {
	h := v.ShapeOf(id)
	return uint64(h.Values) + uint64(h.LeaveValues) + h.Payload + h.LeavePayload + v.GapsOf(id)
}

// GapsOf returns the number of gaps of an instance of a node itself: before its Calls and Events, and before its leave.
func (v *View) GapsOf(id uint32) uint64 {
	n := uint64(0)
	for _, c := range v.Nodes.Children(id) {
		if v.IsReal(c) {
			n++
		}
	}
	switch h := v.ShapeOf(id); {
	case v.Nodes.Kind(id) == KindRepeat:
		n *= v.Nodes.Count(id)
	case h.Class == ClassCall && !h.Cut:
		n++
	}
	return n
}

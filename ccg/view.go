package ccg

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// view is the part of a graph that one location uses, with the columns that its
// slots go to.
//
// A node has a gap slot per child (used if the child is a Call or Event), then
// the tail slot of a Call, then value slots. The layout of the columns follows
// from structure and root alone, in every reader and writer alike.
type view struct {
	graph
	defs   *trace.Definitions
	root   uint32
	order  []uint32 // nodes in the order of their shared ids
	ids    []uint32 // by node: its shared id
	mult   []uint64 // by node: instances in this location
	slot   []uint32 // by node: its first slot
	extra  []uint8  // by node: what comes with its gaps
	column []int32  // by slot: column, -1 if it has no values
	cols   []columnInfo
	bytes  int // the column of payload words, -1 if there are none
	marks  int // the column of marks, -1 if there are none
	events uint64

	// of a lossy graph only, nil and -1 otherwise
	class   []int32       // by slot: column of the class rows of the child there, -1 if there is none
	tables  []*classTable // by node: its classes, nil in column mode
	rootRow int           // row of the root, -1 in column mode
}

// columnInfo is what is known of a column before it is read.
type columnInfo struct {
	count  uint64
	gap    bool
	region uint32 // of a gap column
	child  uint32 // the node whose rows a class column holds, 0 in others
}

// ownColumn is the number of instances from which a slot has its own column.
const ownColumn = 64

// Values or bytes come with the record or enter, or with the leave.
const (
	extraFirst = 1 << iota
	extraLeave
)

// slotKey names a shared column.
type slotKey struct {
	class  uint8 // 0 gaps, 1 values, 2 rows
	region uint32
	item   uint64
}

func (k slotKey) compare(o slotKey) int {
	return cmp.Or(cmp.Compare(k.class, o.class), cmp.Compare(k.region, o.region), cmp.Compare(k.item, o.item))
}

const tailItem = 3 << 32

// item names the class of a child: calls by region or context, records by kind.
func (v *view) item(id uint32) uint64 {
	h := v.shapeOf(id)
	if h.class == classCall {
		return 1<<32 | uint64(h.ref)
	}
	return 2<<32 | uint64(h.kind)
}

// newView counts instances and lays out columns. nodes, order and ids are set
// already.
//
// Every slot has a value, so a blob of few bytes cannot have many: limit bounds
// the slots before memory is taken for them.
func newView(g graph, defs *trace.Definitions, c *classes, root uint32, order, ids []uint32, limit uint64) (*view, error) {
	v := &view{graph: g, defs: defs, root: root, order: order, ids: ids, bytes: -1, marks: -1, rootRow: -1}
	if c != nil {
		v.tables = make([]*classTable, len(ids))
		for id := range v.tables {
			v.tables[id] = c.tables[ids[id]]
		}
	}
	if err := v.multiply(); err != nil {
		return nil, err
	}
	return v, v.layout(min(limit, 1<<31))
}

// maxEvents bounds a location, so that no count can overflow.
const maxEvents = 1 << 56

// multiply counts the instances of each node: m(child) += m(parent).
func (v *view) multiply() error {
	s := v.nodes
	v.mult = make([]uint64, s.len()+1)
	v.mult[v.root] = 1
	for id := v.root; id > 0; id-- {
		m := v.mult[id]
		if m > maxEvents {
			return fmt.Errorf("node %d occurs more than %d times: %w", v.ids[id], uint64(maxEvents), ErrCorrupt)
		}
		if s.kind(id) == kindRepeat {
			hi, lo := bits.Mul64(m, s.count(id))
			if hi != 0 || lo > maxEvents {
				return fmt.Errorf("node %d repeats %d times: %w", v.ids[id], s.count(id), ErrCorrupt)
			}
			body := s.words(id)[0]
			if v.mult[body] += lo; v.mult[body] > maxEvents {
				return fmt.Errorf("node %d occurs more than %d times: %w", v.ids[body], uint64(maxEvents), ErrCorrupt)
			}
			continue
		}
		for _, c := range s.words(id) {
			v.mult[c] += m // at most 2^56 * (nodes * fan), caught above
			if v.mult[c] > maxEvents {
				return fmt.Errorf("node %d occurs more than %d times: %w", v.ids[c], uint64(maxEvents), ErrCorrupt)
			}
		}
	}
	return nil
}

// eventsOf returns the events of one instance of a node by itself.
func (h *shape) events() uint64 {
	switch {
	case h.class == classList:
		return 0
	case h.class == classCall && !h.cut:
		return 2
	}
	return 1
}

// slots returns the numbers of gap slots and of all slots of a node.
func (v *view) slots(id uint32) (gaps, all uint32) {
	h := v.shapeOf(id)
	gaps = uint32(len(v.nodes.children(id)))
	if h.class == classCall {
		gaps++
	}
	return gaps, gaps + h.values + h.leaveValues
}

// isReal reports whether a node is a Call or Event.
func (v *view) isReal(id uint32) bool { return v.nodes.kind(id) <= kindEvent }

// layout assigns columns to slots.
func (v *view) layout(limit uint64) error {
	v.slot, v.extra = make([]uint32, v.nodes.len()+1), make([]uint8, v.nodes.len()+1)
	total, payload := uint64(0), uint64(0)
	for _, id := range v.order {
		_, all := v.slots(id)
		v.slot[id] = uint32(total)
		if total += uint64(all); total > limit {
			return fmt.Errorf("more than %d slots: %w", limit, ErrLimit)
		}
		h := v.shapeOf(id)
		if h.values != 0 || h.payload != 0 {
			v.extra[id] |= extraFirst
		}
		if h.leaveValues != 0 || h.leavePayload != 0 {
			v.extra[id] |= extraLeave
		}
		hi, lo := bits.Mul64(v.mult[id], h.payload+h.leavePayload)
		if payload += lo; hi != 0 || lo > maxEvents || payload > maxEvents {
			return fmt.Errorf("node %d: too many bytes: %w", v.ids[id], ErrCorrupt)
		}
		if v.events += v.mult[id] * h.events(); v.events > maxEvents {
			return fmt.Errorf("more than %d events: %w", uint64(maxEvents), ErrCorrupt)
		}
	}
	v.column = make([]int32, total)
	if v.tables != nil {
		v.class = make([]int32, total)
		for i := range v.class {
			v.class[i] = -1
		}
	}
	var shared sharedColumns
	for _, id := range v.order {
		v.layoutNode(id, &shared)
	}
	own := int32(len(v.cols))
	rank := shared.rank()
	for _, list := range [][]int32{v.column, v.class} {
		for i, c := range list {
			if c < -1 { // -2 - place of the key
				list[i] = own + rank[-2-c]
			}
		}
	}
	for _, n := range shared.sorted {
		v.cols = append(v.cols, shared.list[n].val)
	}
	if payload > 0 {
		v.bytes = len(v.cols)
		v.cols = append(v.cols, columnInfo{count: payload})
	}
	if n := v.markCount(); n > 0 {
		v.marks = len(v.cols)
		v.cols = append(v.cols, columnInfo{count: n})
	}
	return nil
}

// sharedColumns collects the slots with few instances.
type sharedColumns struct {
	keyed[slotKey, columnInfo]
	sorted []uint32 // places by key
}

// rank sorts the keys and returns their positions by place.
func (s *sharedColumns) rank() []int32 {
	s.sorted = make([]uint32, len(s.list))
	for i := range s.sorted {
		s.sorted[i] = uint32(i)
	}
	slices.SortFunc(s.sorted, func(a, b uint32) int { return s.list[a].key.compare(s.list[b].key) })
	rank := make([]int32, len(s.list))
	for i, n := range s.sorted {
		rank[n] = int32(i)
	}
	return rank
}

// add adds a slot to the column of key k and returns -2 - its place.
func (s *sharedColumns) add(k slotKey, c columnInfo) int32 {
	n, added := s.find(mix(k.item*factors[0]+(uint64(k.region)<<8|uint64(k.class))*factors[1]), k)
	if sum := &s.list[n].val; added {
		*sum = columnInfo{gap: c.gap, region: k.region, count: c.count, child: c.child}
	} else {
		sum.count += c.count
	}
	return -2 - int32(n)
}

// layoutNode assigns the slots of a node: a column number, or -2 - the place
// of a shared column's key.
func (v *view) layoutNode(id uint32, shared *sharedColumns) {
	h, s := v.shapeOf(id), v.nodes
	m := v.mult[id]
	at := v.slot[id]
	children := s.children(id)
	assign := func(k slotKey, c columnInfo) int32 {
		if c.count < ownColumn {
			return shared.add(k, c)
		}
		v.cols = append(v.cols, c)
		return int32(len(v.cols) - 1)
	}
	if v.tables != nil && v.tables[id] != nil {
		for range len(children) {
			v.column[at] = -1
			at++
		}
		if h.class == classCall {
			v.column[at] = -1
			at++
		}
	} else {
		var region uint32
		if len(children) > 0 || h.class == classCall {
			region = h.region(v.defs)
		}
		n := m
		if s.kind(id) == kindRepeat {
			n *= s.count(id)
		}
		for _, c := range children {
			v.column[at] = -1
			if v.isReal(c) {
				v.column[at] = assign(slotKey{0, region, v.item(c)}, columnInfo{count: n, gap: true, region: region})
			}
			if v.tables != nil && v.tables[c] != nil {
				v.class[at] = assign(slotKey{2, 0, uint64(v.ids[c])}, columnInfo{count: n, child: c})
			}
			at++
		}
		if h.class == classCall {
			v.column[at] = -1
			if !h.cut {
				v.column[at] = assign(slotKey{0, region, tailItem}, columnInfo{count: m, gap: true, region: region})
			}
			at++
		}
	}
	for i := range h.values + h.leaveValues {
		v.column[at] = assign(slotKey{1, 0, uint64(h.kind)<<32 | uint64(min(i, 255))}, columnInfo{count: m})
		at++
	}
}

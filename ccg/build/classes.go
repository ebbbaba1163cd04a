package build

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
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

// OpenClassModes parses what AppendBinary returned, for the graph s.
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

// ClassBuilder builds the class tables from locations in ascending P.
//
// A row that is known has known rows as its children, and the new rows of a location are appended in its order. So row numbers are those of
// one walk over all locations, however they were grouped before.
//
// Memory, in bytes: 8 for each node; for each row 16, 8 for each gap, 4 for each child, and up to 22 of index. There is at most one row for
// about 16 instances, see [GapCounts.Choose].
type ClassBuilder struct {
	locator
	modes   ClassModes
	classes *graph.Classes
	walk    rowWalk
}

// NewClassBuilder returns empty tables for the nodes of s that have one according to m.
func NewClassBuilder(s *graph.Shared, m ClassModes) *ClassBuilder {
	b := &ClassBuilder{locator: newLocator(s), modes: m, classes: graph.NewClasses(&s.Graph, s.Opt.Fan, m.table)}
	b.walk.find = b.classes.Intern
	return b
}

// Len returns the number of rows.
func (b *ClassBuilder) Len() int { return len(b.classes.Rows) }

// Add adds the classes of the stored gaps of l. It takes O(events).
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

// Parts encodes the tables as messages of about limit bytes.
func (b *ClassBuilder) Parts(limit int) iter.Seq[[]byte] {
	return graph.Messages(limit, graph.NewClassEncoder(&b.shared.Graph, b.classes, b.shared.Opt.Fan, false).Each)
}

// Receive returns a Receiver for the tables of another ClassBuilder of the same graph and modes. The locations of the other one must follow
// those of b.
func (b *ClassBuilder) Receive() *Receiver {
	g := &b.shared.Graph
	dec, remap, to := graph.NewClassDecoder(g, b.shared.Opt.Fan), make([][]uint32, g.Nodes.Len()+1), []uint32(nil) // by node: its rows there -> here
	r := &Receiver{what: " classes", end: func() error {
		dec.Close()
		if !dec.Done() {
			return fmt.Errorf("call graph: classes cut: %w", graph.ErrCorrupt)
		}
		return nil
	}}
	row := func(id uint32, gaps []uint64, kids []uint32) error {
		if !b.modes.table[id] {
			return fmt.Errorf("node %d has no classes here: %w", id, graph.ErrCorrupt)
		}
		to = append(to[:0], kids...)
		children := g.Nodes.Children(id)
		for i := range to {
			if c := children[min(i, len(children)-1)]; g.Nodes.Kind(c) != graph.KindEvent {
				to[i] = remap[c][kids[i]]
			}
		}
		n, err := b.classes.Intern(id, gaps, to)
		remap[id] = append(remap[id], n)
		r.n++
		return err
	}
	r.next = func(msg []byte) ([]byte, error) { return dec.Add(msg, row) }
	return r
}

// Shared returns the graph with its class tables; b must not be used afterwards.
func (b *ClassBuilder) Shared() *graph.Shared {
	s := b.shared
	return &graph.Shared{Defs: s.Defs, Opt: s.Opt, Encoding: s.Encoding, Graph: s.Graph, Classes: b.classes}
}

// ClassModes says for each node of a shared graph whether it has a class table.
type ClassModes struct {
	table []bool // by node id
}

// classMargin is log2 of the number of instances for each row, at least: 16.
const classMargin = 4 << logBits

// unbounded is greater than any entropy.
const unbounded = 1 << 40

// Choose returns the nodes that get class tables.
//
// N is the number of instances of a node in all locations, and H the entropy of the gaps below it, in bits per instance. A node can have a
// table if H is at most log2(N) - 4, so that there is a row for about 16 instances or more. Slots are taken as independent, so 2^H is
// typically the greatest number of rows. A node with a child in column mode is in column mode, and so is a Repeat of more than Fan
// iterations that could differ.
//
// Classes hold no fewer bits than the gaps that they stand for: what they save is the number of columns. So, from the roots down, a node
// keeps its table only if a node around it has one, or if its class columns take fewer bytes than its columns without a table.
func (c *GapCounts) Choose() ClassModes {
	s := c.shared.Graph.Nodes
	m, total := c.eligible()
	inside := make([]bool, s.Len()+1)   // a node around it has a table
	around := make([]uint64, s.Len()+1) // bytes of its class columns
	for id := uint32(s.Len()); id > 0; id-- {
		if m.table[id] && !inside[id] && around[id]+c.fewBytes(id) >= c.columnBytes(id) {
			m.table[id] = false
		}
		for _, child := range s.Children(id) {
			if m.table[id] {
				inside[child] = true
			} else {
				around[child] += c.classBytes(id, total[child])
			}
		}
	}
	return m
}

// eligible returns the nodes that can have tables, and for each node the entropy of the gaps below it, in units of 2^-logBits bits per
// instance.
func (c *GapCounts) eligible() (ClassModes, []uint64) {
	s := c.shared.Graph.Nodes
	own := c.entropies()
	total := make([]uint64, s.Len()+1)
	m := ClassModes{make([]bool, s.Len()+1)}
	for id := uint32(1); int(id) <= s.Len(); id++ {
		if s.Kind(id) == graph.KindEvent {
			continue
		}
		h, ok := uint64(0), true
		for i := c.first[id]; i < c.first[id+1]; i++ {
			h = min(h+own[i], unbounded)
		}
		for _, child := range s.Children(id) {
			h = min(h+total[child], unbounded)
			ok = ok && (m.table[child] || s.Kind(child) == graph.KindEvent)
		}
		if n := s.Kind(id); n == graph.KindRepeat && h > 0 {
			ok = ok && s.Count(id) <= uint64(c.shared.Opt.Fan)
			h = min(h*min(s.Count(id), unbounded>>20), unbounded)
		}
		total[id] = h
		m.table[id] = ok && h+classMargin <= log2Fixed(c.instances[id])
	}
	return m, total
}

// entropies returns the entropy of each slot, in units of 2^-logBits bits per value. It is unbounded for a slot with too many values.
func (c *GapCounts) entropies() []uint64 {
	h := make([]uint64, len(c.slots))
	sum := make([]uint64, len(c.slots)) // of counts
	for _, v := range c.values.List {
		sum[v.Key.slot] += v.Val
	}
	all := make([]graph.Total, len(c.slots))
	for _, v := range c.values.List { // sum count * log2(sum/count)
		slot := v.Key.slot
		all[slot] = all[slot].Plus(graph.Product(v.Val, log2Fixed(sum[slot])-log2Fixed(v.Val)))
	}
	for i, s := range c.slots {
		switch {
		case s.distinct > c.limit || all[i].Hi != 0 && all[i].Hi >= sum[i]:
			h[i] = unbounded
		case sum[i] > 0:
			h[i], _ = all[i].Divide(sum[i])
			if s.distinct > 1 {
				h[i] = max(h[i], 1) // more than one value
			}
		}
	}
	return h
}

// columnSize estimates the bytes of a column of a node in all locations, without the entropy of its values: the heads of its blocks, or a
// byte for each value if it shares a column with other slots.
func (c *GapCounts) columnSize(id uint32) (size uint64, shared bool) {
	const head = 9 // of a block of equal values
	n, locations := c.instances[id], c.locations[id]
	if c.shared.Graph.Nodes.Kind(id) == graph.KindRepeat {
		n *= c.shared.Graph.Nodes.Count(id)
	}
	if n < graph.OwnColumn*locations || locations == 0 {
		return n, true
	}
	return locations * (1 + head*(1+n/locations/column.BlockSize)), false
}

// columnBytes estimates the bytes of the columns of a node without a table.
func (c *GapCounts) columnBytes(id uint32) uint64 {
	n := uint64(0)
	for _, child := range c.shared.Graph.Nodes.Children(id) {
		k := c.shared.Graph.Nodes.Kind(child)
		if k <= graph.KindEvent {
			n++
		}
		if k != graph.KindEvent {
			n++
		}
	}
	if h := c.shared.Graph.ShapeOf(id); h.Class == graph.ClassCall && !h.Cut {
		n++
	}
	size, _ := c.columnSize(id)
	return n * size
}

// classBytes estimates the bytes of the class column of a child of a node; entropy is that of the child. Only slots of the same child share
// the column. So a value takes two bytes if there are several classes.
func (c *GapCounts) classBytes(id uint32, entropy uint64) uint64 {
	size, shared := c.columnSize(id)
	if shared && entropy > 0 {
		return 2 * size
	}
	return size
}

// fewBytes returns the bytes of such a column that a node with few instances always has.
func (c *GapCounts) fewBytes(id uint32) uint64 {
	const column = 3
	if c.instances[id] < graph.OwnColumn*c.locations[id] {
		return column * c.locations[id]
	}
	return 0
}

// Limits of GapCounts.
const (
	maxSlotValues = 256     // greatest number of distinct values that are kept of a slot
	minSlotValues = 4       // the same, in graphs of many slots
	maxGapValues  = 1 << 20 // of all slots together, if more than minSlotValues each
)

// GapCounts counts how often each value occurs in each gap slot of a shared graph, over any set of locations. Class tables are chosen from
// it. It does not depend on the order of locations.
//
// Memory, in bytes: 20 for each node, 8 for each gap slot, and 24 and up to 22 of index for each distinct value; there are at most
// max(2^20, 4 x slots) of these, and 256 of a slot.
type GapCounts struct {
	locator
	instances []uint64 // by node
	locations []uint64 // by node: locations that have it
	first     []uint32 // by node: its first slot; one more at the end
	limit     uint32   // greatest number of distinct values of a slot
	slots     []slotCounts
	values    graph.Keyed[gapAt, uint64] // how often
}

type slotCounts struct {
	distinct uint32 // limit + 1: there were more, and none is kept
	last     uint32 // the last value met, + 1
}

// gapAt is a gap in a slot.
type gapAt struct {
	gap  uint64
	slot uint32
}

// NewGapCounts returns empty counts.
func NewGapCounts(s *graph.Shared) *GapCounts {
	nodes := s.Graph.Nodes
	c := &GapCounts{
		locator: newLocator(s), instances: make([]uint64, nodes.Len()+1), locations: make([]uint64, nodes.Len()+1),
		first: make([]uint32, nodes.Len()+2),
	}
	n := uint32(0)
	for id := uint32(1); int(id) <= nodes.Len(); id++ {
		c.first[id] = n
		n += uint32(len(nodes.Children(id)))
		if nodes.Kind(id) == graph.KindCall {
			n++
		}
	}
	c.first[nodes.Len()+1] = n
	c.slots = make([]slotCounts, n)
	c.limit = min(max(maxGapValues/max(n, 1), minSlotValues), maxSlotValues)
	return c
}

// Add counts the stored gaps of l. It takes O(events).
func (c *GapCounts) Add(l *Local) (err error) {
	defer graph.Wrap(&err, "call graph: counting gaps of location %d", l.p)
	v, err := c.open(l, nil)
	if err != nil {
		return err
	}
	for _, id := range v.Order {
		c.instances[v.Ids[id]] += v.Mult[id]
		c.locations[v.Ids[id]]++
	}
	slot := make([]uint32, len(v.Column)) // from slots of the view to those of the counts
	for _, id := range v.Order {
		gaps, _ := v.Slots(id)
		for i := range gaps {
			slot[v.Slot[id]+i] = c.first[v.Ids[id]] + i
		}
	}
	in := stream{src: l.gaps}
	var w graph.Walker
	w.Init(v)
	for !in.bad {
		st, _, at := w.Next()
		switch st {
		case graph.StepEnd:
			return nil
		case graph.StepCut:
			continue
		}
		c.add(slot[at], in.next(), 1)
	}
	return errShort
}

func (c *GapCounts) add(slot uint32, gap, count uint64) {
	s := &c.slots[slot]
	if s.distinct > c.limit {
		return
	}
	k := gapAt{gap, slot}
	if s.last == 0 || c.values.List[s.last-1].Key != k {
		n, added := c.values.Find(graph.Mix(gap*graph.Factors[1]+uint64(slot)*graph.Factors[2]), k)
		if added {
			s.distinct++ // with more than limit values, the values of a slot are not used
		}
		s.last = uint32(n + 1)
	}
	c.values.List[s.last-1].Val += count
}

// Merge adds the counts of o, which must be of the same graph.
func (c *GapCounts) Merge(o *GapCounts) {
	for id, n := range o.instances {
		c.instances[id] += n
		c.locations[id] += o.locations[id]
	}
	for i, s := range o.slots {
		if s.distinct > o.limit {
			c.slots[i].distinct = c.limit + 1
		}
	}
	for _, v := range o.values.List {
		c.add(v.Key.slot, v.Key.gap, v.Val)
	}
}

// sorted returns the values of the slots with at most limit values, by slot and gap.
func (c *GapCounts) sorted() []graph.Pair[gapAt, uint64] {
	list := slices.DeleteFunc(slices.Clone(c.values.List), func(v graph.Pair[gapAt, uint64]) bool { return c.slots[v.Key.slot].distinct > c.limit })
	slices.SortFunc(list, func(a, b graph.Pair[gapAt, uint64]) int {
		return cmp.Or(cmp.Compare(a.Key.slot, b.Key.slot), cmp.Compare(a.Key.gap, b.Key.gap))
	})
	return list
}

// AppendBinary appends the counts as five columns, each after its length: instances and locations by node, distinct values by slot (limit +
// 1: more), and for each value its difference to the value before in its slot, and its count.
func (c *GapCounts) AppendBinary(dst []byte) ([]byte, error) {
	var cols [5][]uint64
	cols[0], cols[1] = c.instances[1:], c.locations[1:]
	for _, s := range c.slots {
		cols[2] = append(cols[2], uint64(s.distinct))
	}
	var last gapAt
	for i, v := range c.sorted() {
		if i > 0 && last.slot == v.Key.slot {
			cols[3] = append(cols[3], v.Key.gap-last.gap)
		} else {
			cols[3] = append(cols[3], v.Key.gap)
		}
		cols[4] = append(cols[4], v.Val)
		last = v.Key
	}
	p := graph.NewPartEncoder(false)
	for _, col := range cols {
		p.Column(col)
	}
	return append(dst, p.Buf...), nil
}

// OpenGapCounts parses what AppendBinary returned for the same graph.
func OpenGapCounts(s *graph.Shared, src []byte) (_ *GapCounts, err error) {
	defer graph.Wrap(&err, "call graph: gap counts")
	c := NewGapCounts(s)
	var cols [5][]uint64
	r := graph.Read(src)
	p := graph.NewPartDecoder()
	defer p.Close()
	nodes := uint64(s.Nodes())
	limits := [5]uint64{nodes, nodes, uint64(len(c.slots)), 0, 0}
	for i := range cols {
		if cols[i], err = p.Column(&r, nil, limits[i]); err != nil {
			return nil, err
		}
		if uint64(len(cols[i])) != limits[i] {
			return nil, fmt.Errorf("%d values, not %d: %w", len(cols[i]), limits[i], graph.ErrCorrupt)
		}
		if i == 2 {
			for _, n := range cols[2] {
				if n <= uint64(c.limit) {
					limits[3] += n
				}
			}
			limits[4] = limits[3]
		}
	}
	if r.Len() != 0 {
		return nil, fmt.Errorf("%d bytes after it: %w", r.Len(), graph.ErrCorrupt)
	}
	for id, n := range cols[0] {
		if n > graph.MaxEvents || cols[1][id] > n {
			return nil, fmt.Errorf("node %d: %d instances in %d locations: %w", id+1, n, cols[1][id], graph.ErrCorrupt)
		}
	}
	copy(c.instances[1:], cols[0])
	copy(c.locations[1:], cols[1])
	if err := c.readValues(cols[2], cols[3], cols[4]); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *GapCounts) readValues(distinct, gaps, counts []uint64) error {
	for slot, n := range distinct {
		if n > uint64(c.limit)+1 {
			return fmt.Errorf("%d values in slot %d: %w", n, slot, graph.ErrCorrupt)
		}
		if n > uint64(c.limit) {
			c.slots[slot].distinct = c.limit + 1
			continue
		}
		gap, sum := uint64(0), uint64(0)
		for i := range n {
			gap += gaps[i]
			sum += min(counts[i], graph.MaxEvents+1)
			if i > 0 && gaps[i] == 0 || gap < gaps[i] || counts[i] == 0 || sum > graph.MaxEvents {
				return fmt.Errorf("bad value of slot %d: %w", slot, graph.ErrCorrupt)
			}
			c.add(uint32(slot), gap, counts[i])
		}
		gaps, counts = gaps[n:], counts[n:]
	}
	return nil
}

// rowWalk walks through a location and finds the class of each instance in class mode from the gaps that put sets. Memory: the open levels
// and their rows.
type rowWalk struct {
	graph.Walker
	v     *graph.View
	find  func(id uint32, gaps []uint64, kids []uint32) (uint32, error) // returns the row of a shared node with this content
	rows  []openRow                                                     // of the open nodes in class mode
	gaps  []uint64
	kids  []uint32
	ended bool   // the last row is complete
	at    int    // index in gaps for the gap of the last step
	again bool   // another iteration of a Repeat, which has one entry for all, has set it already
	last  uint32 // the row of the last StepRow
	err   error
}

// openRow is the row of an instance that is not complete.
type openRow struct {
	id, slot   uint32 // slot of the node in its parent
	gaps, kids int    // index of the row's first gap and child
}

func (w *rowWalk) begin(v *graph.View) {
	w.v, w.Lists, w.ended, w.err = v, true, false, nil
	w.rows, w.gaps, w.kids = w.rows[:0], w.gaps[:0], w.kids[:0]
	w.Init(v)
	w.open(v.Root, 0)
}

// open begins the row of a node that is in class mode.
func (w *rowWalk) open(id, slot uint32) {
	if t := w.v.Tables[id]; t != nil {
		w.rows = append(w.rows, openRow{id, slot, len(w.gaps), len(w.kids)})
		w.gaps, w.kids = append(w.gaps, make([]uint64, t.GapsPerRow)...), append(w.kids, make([]uint32, t.KidsPerRow)...)
	}
}

// put sets the gap of the last step. Its slot has no column.
func (w *rowWalk) put(gap uint64) {
	if w.again && w.gaps[w.at] != gap {
		w.differ()
	}
	w.gaps[w.at] = gap
}

func (w *rowWalk) differ() {
	id := w.rows[len(w.rows)-1].id
	w.err = fmt.Errorf("node %d: iterations differ, but share a class: %w", w.v.Ids[id], graph.ErrForeign)
}

// step returns the next step, its node, and the slot of the gap before it; of a StepRow, the slot of the row. After an error it returns
// StepEnd.
func (w *rowWalk) step() (st graph.Step, id, slot uint32) {
	for w.err == nil {
		if w.ended {
			if id, slot = w.finish(); id != 0 {
				return graph.StepRow, id, slot
			}
			continue
		}
		st, id, slot = w.Next()
		switch st {
		case graph.StepOpen:
			w.locate(&w.Stack[len(w.Stack)-2])
			w.open(id, slot)
		case graph.StepEvent:
			w.locate(&w.Stack[len(w.Stack)-1])
		case graph.StepEnd:
			if w.ended = len(w.rows) > 0; !w.ended {
				return graph.StepEnd, id, slot
			}
			continue
		default:
			if t := w.v.Tables[id]; t != nil {
				w.ended, w.again, w.at = true, false, w.rows[len(w.rows)-1].gaps+t.GapsPerRow-1
			}
		}
		if w.v.IsReal(id) {
			return st, id, slot
		}
	}
	return graph.StepEnd, 0, 0
}

// locate finds the index in gaps for the child that level l entered last.
func (w *rowWalk) locate(l *graph.Level) {
	if t := w.v.Tables[l.Id]; t != nil {
		w.at = w.rows[len(w.rows)-1].gaps + graph.InRow(l.At-1, t.GapsPerRow)
		w.again = l.At > uint64(t.GapsPerRow)
	}
}

// finish completes the last row. It returns its node and slot, or node 0 if the row is a part of the row around it.
func (w *rowWalk) finish() (id, slot uint32) {
	r := w.rows[len(w.rows)-1]
	w.ended = false
	if w.last, w.err = w.find(w.v.Ids[r.id], w.gaps[r.gaps:], w.kids[r.kids:]); w.err != nil {
		return 0, 0
	}
	w.rows, w.gaps, w.kids = w.rows[:len(w.rows)-1], w.gaps[:r.gaps], w.kids[:r.kids]
	up := &w.Stack[len(w.Stack)-1]
	t := w.v.Tables[up.Id]
	if r.id == w.v.Root || t == nil {
		return r.id, r.slot
	}
	kid := &w.kids[w.rows[len(w.rows)-1].kids+graph.InRow(up.At-1, t.KidsPerRow)]
	if up.At > uint64(t.KidsPerRow) && *kid != w.last {
		w.differ()
	}
	*kid = w.last
	return 0, 0
}

package build

import (
	"math"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// entry is a run of equal nodes in an open call, or a folded loop.
type entry struct {
	id    uint32
	count uint32
	link  int32  // 1 + index of the entry before with the same node; 0: none
	loop  int32  // index of the nearest loop below it in the same frame; -1: none
	body  uint32 // of a loop: index of its first entry in bodies
	size  uint32 // of a loop: number of entries of its body; 0: this is not a loop
}

// Compares returns how many pairs of entries were compared to fold loops since the last Reset. This is the part of the time that does not
// follow from the number of events.
func (b *Builder) Compares() uint64 { return b.list.compares }

// entryStack has the entries of all open frames, one frame above the other.
type entryStack struct {
	entries  []entry
	last     []int32 // by node: 1 + index of the last entry with it; 0: none
	bodies   []uint64
	bodyOf   map[uint32]uint32 // from the Group of a loop's body to the index of its first entry in bodies
	fold     int               // K
	fan      int               // B
	compares uint64            // of entries, to fold loops
}

func (s *entryStack) reset(o graph.Options) {
	s.entries, s.bodies = s.entries[:0], s.bodies[:0]
	clear(s.last)
	s.last = s.last[:0]
	s.bodyOf = make(map[uint32]uint32)
	s.fold, s.fan, s.compares = max(o.Fold, 0), o.Fan, 0
}

// push adds an entry for a node to a frame whose entries begin at base, and returns it. It sets the fields one by one: a composite literal
// would be built elsewhere and copied in wider words than it was written.
func (s *entryStack) push(base int32, id, count uint32) *entry {
	n := len(s.entries)
	s.entries = graph.GrowOne(s.entries)
	loop := int32(-1)
	if n > int(base) {
		if t := &s.entries[n-1]; t.size != 0 {
			loop = int32(n - 1)
		} else {
			loop = t.loop
		}
	}
	for len(s.last) <= int(id) {
		s.last = append(s.last, 0)
	}
	last := &s.last[id]
	e := &s.entries[n]
	e.id, e.count, e.link, e.loop, e.body, e.size = id, count, *last, loop, 0, 0
	*last = int32(n + 1)
	return e
}

// pop removes the last n entries.
func (s *entryStack) pop(n int) {
	for range n {
		e := &s.entries[len(s.entries)-1]
		s.last[e.id] = e.link
		s.entries = s.entries[:len(s.entries)-1]
	}
}

// appendNode appends a node to the top frame, as a longer run or a new entry. Then it folds loops and limits the list.
func (b *Builder) appendNode(id uint32) error {
	f, s := &b.frames[len(b.frames)-1], &b.list
	var e *entry
	if n := len(s.entries); n > int(f.base) && s.entries[n-1].id == id && s.entries[n-1].count < math.MaxUint32 {
		e = &s.entries[n-1]
		e.count++
	} else {
		e = s.push(f.base, id, 1)
	}
	if s.fold > 0 && (e.link > f.base || e.loop >= f.base) { // else no earlier entry is equal
		if err := b.settle(f); err != nil {
			return err
		}
	}
	if len(s.entries)-int(f.base) >= 2*s.fold+s.fan {
		return b.carry(f)
	}
	return nil
}

// settle folds loops at the end of a frame's list as long as it finds any.
func (b *Builder) settle(f *frame) error {
	s := &b.list
	for {
		t := int32(len(s.entries)) - 1
		top := &s.entries[t]
		if l := top.loop; l >= f.base && uint32(t-l) == s.entries[l].size && s.entries[l].count < math.MaxUint32 && s.isBody(l) {
			s.pop(int(t - l))
			s.entries[l].count++
			continue
		}
		d := t - (top.link - 1)
		if top.link-1 < f.base || d < 2 || int(d) > s.fold || t-2*d+1 < f.base || !s.repeats(t, d) {
			return nil
		}
		if err := b.foldLoop(f, int(d)); err != nil {
			return err
		}
	}
}

// isBody returns whether the entries above loop l are equal to its body.
func (s *entryStack) isBody(l int32) bool {
	loop := &s.entries[l]
	body := s.bodies[loop.body : loop.body+loop.size]
	for i := len(body) - 1; i >= 0; i-- {
		s.compares++
		if e := &s.entries[int(l)+1+i]; uint64(e.id)<<32|uint64(e.count) != body[i] {
			return false
		}
	}
	return true
}

// repeats returns whether the d entries up to t are equal to the d entries before them.
func (s *entryStack) repeats(t, d int32) bool {
	for i := t; i > t-d; i-- {
		s.compares++
		if x, y := &s.entries[i], &s.entries[i-d]; x.id != y.id || x.count != y.count {
			return false
		}
	}
	return true
}

// foldLoop replaces the last 2d entries, which are d entries twice, by one loop.
func (b *Builder) foldLoop(f *frame, d int) error {
	s := &b.list
	body := s.entries[len(s.entries)-d:]
	ids, err := b.entryNodes(f, b.ids[:0], body)
	if b.ids = ids; err != nil {
		return err
	}
	ids, err = b.pack(f, ids)
	if err != nil {
		return err
	}
	tuple, err := b.listTuple(f)
	if err != nil {
		return err
	}
	id, err := b.store.Intern(uint32(graph.KindGroup)<<graph.KindShift|tuple, ids)
	if err != nil {
		return err
	}
	at, ok := s.bodyOf[id]
	if !ok {
		if uint64(len(s.bodies))+uint64(d) > math.MaxUint32 {
			return graph.ErrLimit
		}
		at = uint32(len(s.bodies))
		for i := range body {
			s.bodies = append(s.bodies, uint64(body[i].id)<<32|uint64(body[i].count))
		}
		s.bodyOf[id] = at
	}
	s.pop(2 * d)
	if n := len(s.entries); n > int(f.base) && s.entries[n-1].id == id && s.entries[n-1].count <= math.MaxUint32-2 {
		s.entries[n-1].count += 2
	} else {
		loop := s.push(f.base, id, 2)
		loop.body, loop.size = at, uint32(d)
	}
	return nil
}

// entryNodes appends the nodes of entries to dst. Runs become Repeats.
func (b *Builder) entryNodes(f *frame, dst []uint32, list []entry) ([]uint32, error) {
	for i := range list {
		if list[i].count == 1 {
			dst = append(dst, list[i].id)
			continue
		}
		tuple, err := b.listTuple(f)
		if err != nil {
			return dst, err
		}
		id, err := b.store.Intern(uint32(graph.KindRepeat)<<graph.KindShift|tuple, []uint32{list[i].id, list[i].count, 0})
		if err != nil {
			return dst, err
		}
		dst = append(dst, id)
	}
	return dst, nil
}

// pack combines ids from left to right into Groups of B, until at most B remain.
func (b *Builder) pack(f *frame, ids []uint32) ([]uint32, error) {
	for len(ids) > b.opt.Fan {
		tuple, err := b.listTuple(f)
		if err != nil {
			return nil, err
		}
		b.packed = b.packed[:0]
		for len(ids) > 1 {
			n := min(len(ids), b.opt.Fan)
			id, err := b.store.Intern(uint32(graph.KindGroup)<<graph.KindShift|tuple, ids[:n])
			if err != nil {
				return nil, err
			}
			b.packed = append(b.packed, id)
			ids = ids[n:]
		}
		b.packed = append(b.packed, ids...) // a single one stays as it is
		b.ids = append(b.ids[:0], b.packed...)
		ids = b.ids
	}
	return ids, nil
}

// finishFrame returns the children of a frame and removes its entries.
func (b *Builder) finishFrame(f *frame) ([]uint32, error) {
	s := &b.list
	ids := append(b.ids[:0], b.carried[f.carried:]...)
	ids, err := b.entryNodes(f, ids, s.entries[f.base:])
	if b.ids = ids; err != nil {
		return nil, err
	}
	s.pop(len(s.entries) - int(f.first))
	b.carried = b.carried[:f.carried]
	if f.levels != 0 {
		b.levels = b.levels[:f.levels-1]
	}
	return b.pack(f, ids)
}

// compactFrom is the number of carried entries above which compact removes them.
const compactFrom = 2048

// carry makes a Group of the oldest B entries of the top frame that are not carried. B Groups of a level become one of the next level.
func (b *Builder) carry(f *frame) error {
	s, fan := &b.list, b.opt.Fan
	ids, err := b.entryNodes(f, b.ids[:0], s.entries[f.base:int(f.base)+fan])
	if b.ids = ids; err != nil {
		return err
	}
	tuple, err := b.listTuple(f)
	if err != nil {
		return err
	}
	if f.levels == 0 {
		b.levels = append(b.levels, levelCounts{})
		f.levels = int32(len(b.levels))
	}
	counts := &b.levels[f.levels-1]
	for level := range counts {
		id, err := b.store.Intern(uint32(graph.KindGroup)<<graph.KindShift|tuple, ids)
		if err != nil {
			return err
		}
		b.carried = append(b.carried, id)
		counts[level]++
		if int(counts[level]) < fan || level == len(counts)-1 {
			break
		}
		counts[level] = 0
		n := len(b.carried) - fan
		ids = append(b.ids[:0], b.carried[n:]...)
		b.ids = ids
		b.carried = b.carried[:n]
	}
	if f.base += int32(fan); f.base-f.first >= compactFrom {
		s.compact(f)
	}
	return nil
}

// compact removes the carried entries of the top frame. Links to them are replaced by their links.
func (s *entryStack) compact(f *frame) {
	shift := f.base - f.first
	for i := f.base; i < int32(len(s.entries)); i++ {
		e := &s.entries[i]
		for e.link-1 >= f.first && e.link-1 < f.base {
			e.link = s.entries[e.link-1].link
		}
		if e.link-1 >= f.base {
			e.link -= shift
		}
		if s.last[e.id] == i+1 {
			s.last[e.id] = i + 1 - shift
		}
		e.loop = max(e.loop-shift, -1)
		if e.loop < f.first {
			e.loop = -1
		}
	}
	for i := f.base - 1; i >= f.first; i-- {
		if e := &s.entries[i]; s.last[e.id] == i+1 {
			s.last[e.id] = e.link
		}
	}
	n := copy(s.entries[f.first:], s.entries[f.base:])
	s.entries = s.entries[:int(f.first)+n]
	f.base = f.first
}

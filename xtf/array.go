package xtf

import (
	"hash/crc32"
	"math"
	"sync/atomic"
)

// Pos is the position of a row.
type Pos struct {
	Page uint64 // ordinal of the data page
	Slot int
	N    uint64
}

// Mode says which row a search returns.
type Mode uint8

// Search modes. lo is the first row with a key >= k, and hi is the first row with a key > k.
const (
	First Mode = iota // lo, if its key is k
	Last              // hi-1, if its key is k
	GE                // lo
	GT                // hi
	LE                // hi-1
	LT                // lo-1
)

// Side says at which end a step left the array.
type Side int8

// Sides.
const (
	Before Side = -1
	Inside Side = 0
	After  Side = 1
)

// Array is a handle of the array of one type and one location.
type Array struct{ pages }

// pages finds, reads, verifies and decodes the pages of an array.
type pages struct {
	f    *File
	proc Proc
	typ  *Type
	desc *descriptor
	base int64 // file offset to which the level starts are relative
	seed uint32
	cost *Stats // if set, counts the cost too; not safe for concurrent use

	slots *atomic.Pointer[slots] // belongs to the region head and is shared by all handles
}

// Counted returns a handle of the same array that also adds its cost to st. The handle must be used by one goroutine only.
func (a *Array) Counted(st *Stats) *Array {
	c := *a
	c.cost = st
	return &c
}

// Type describes the rows.
func (a *Array) Type() *Type { return a.typ }

// Proc is the array's location.
func (a *Array) Proc() Proc { return a.proc }

// Len returns the number of rows.
func (a *Array) Len() uint64 { return a.desc.rows }

// Bounds returns the first and the last key. ok is false if there are no rows.
func (a *Array) Bounds() (first, last uint64, ok bool) {
	return a.desc.first, a.desc.last, a.desc.rows > 0
}

// Height returns the number of levels, with the data pages.
func (a *Array) Height() int { return len(a.desc.levels) }

// StoredBytes returns the number of bytes of the array in the file.
func (a *Array) StoredBytes() uint64 { return a.desc.bytes }

// where adds the page to an error. If the error is ErrCorrupt, the file remembers it (File.Damage).
func (a *pages) where(err error, what string, ord uint64) error {
	return a.f.errorf(a.proc, "xtf: proc %d array %s %s %d: %w", a.proc, a.typ.Name, what, ord, err)
}

func (a *Array) pos(n uint64) Pos {
	z := uint64(a.typ.PageRows)
	return Pos{n / z, int(n % z), n}
}

// Search finds a row by its key. ok is false if there is none, or if the rows have no order.
func (a *Array) Search(key uint64, m Mode) (Pos, bool, error) {
	if a.desc.rows == 0 || a.typ.Role == RoleNone {
		return Pos{}, false, nil
	}
	n, at, err := a.bound(key, m == GT || m == LE || m == Last)
	if err != nil {
		return Pos{}, false, err
	}
	ok := n < a.desc.rows
	switch m {
	case First:
		ok = ok && at.next == key
	case Last:
		ok = n > 0 && at.before == key
		n--
	case LE, LT:
		ok = n > 0
		n--
	case GE, GT:
	default:
		ok = false
	}
	if !ok {
		return Pos{}, false, nil
	}
	return a.pos(n), true, nil
}

// SearchN returns the position of row n.
func (a *Array) SearchN(n uint64) (Pos, bool) {
	if n >= a.desc.rows {
		return Pos{}, false
	}
	return a.pos(n), true
}

// Rank returns lo(key), the number of rows before the first with a key >= key.
func (a *Array) Rank(key uint64) (uint64, error) {
	n, _, err := a.bound(key, false)
	return n, err
}

// RankAfter returns hi(key), the number of rows with keys <= key.
func (a *Array) RankAfter(key uint64) (uint64, error) {
	n, _, err := a.bound(key, true)
	return n, err
}

// Size returns the number of rows with k1 <= key < k2. It costs two descents, however many there are.
func (a *Array) Size(k1, k2 uint64) (uint64, error) { return a.size(k1, k2, false) }

// SizeClosed returns the number of rows with k1 <= key <= k2.
func (a *Array) SizeClosed(k1, k2 uint64) (uint64, error) { return a.size(k1, k2, true) }

func (a *Array) size(k1, k2 uint64, closed bool) (uint64, error) {
	if k1 > k2 {
		return 0, nil
	}
	lo, err := a.Rank(k1)
	if err != nil {
		return 0, err
	}
	hi, _, err := a.bound(k2, closed)
	if err != nil || hi < lo {
		return 0, err
	}
	return hi - lo, nil
}

// SizeN returns the number of rows with n1 <= N < n2.
func (a *Array) SizeN(n1, n2 uint64) uint64 {
	n1, n2 = min(n1, a.desc.rows), min(n2, a.desc.rows)
	if n2 < n1 {
		return 0
	}
	return n2 - n1
}

// NextN returns the row that is step rows after row n (before it, if step is negative). If there is none, it returns the side on which the
// step left the array.
func (a *Array) NextN(n uint64, step int64) (Pos, Side) {
	rows := a.desc.rows
	switch {
	case n >= rows:
		return Pos{}, After
	case step >= 0 && uint64(step) >= rows-n:
		return Pos{}, After
	case step >= 0:
		return a.pos(n + uint64(step)), Inside
	}
	back := uint64(-(step + 1)) + 1 // no overflow at the smallest int64
	if back > n {
		return Pos{}, Before
	}
	return a.pos(n - back), Inside
}

// Next returns the row that is step rows after the first row with this key. If no row has the key, it steps from the gap where the key
// would be: step 1 gives the row after the gap, -1 the row before it, and 0 gives none. ok is false if there is no such row; side then says
// on which side the step ended (Inside for step 0 in a gap).
func (a *Array) Next(key uint64, step int64) (pos Pos, side Side, ok bool, err error) {
	if a.desc.rows == 0 || a.typ.Role == RoleNone {
		return Pos{}, After, false, nil
	}
	n, at, err := a.bound(key, false)
	if err != nil {
		return Pos{}, Inside, false, err
	}
	if n < a.desc.rows && at.next == key {
		pos, side = a.NextN(n, step)
		return pos, side, side == Inside, nil
	}
	switch {
	case step == 0:
		return Pos{}, Inside, false, nil
	case step > 0 && n == a.desc.rows:
		return Pos{}, After, false, nil
	case step > 0:
		pos, side = a.NextN(n, step-1)
	case n == 0:
		return Pos{}, Before, false, nil
	default:
		pos, side = a.NextN(n-1, step+1)
	}
	return pos, side, side == Inside, nil
}

// around has the keys of the rows n-1 and n, if n is a bound.
type around struct{ before, next uint64 }

// bound descends to lo(key), or with upper to hi(key), and returns the row number and the keys around it. It reads no page for a key
// outside (first, last]. So each page that it visits has a first key below the bound, and slot 0 is never the answer there. If the answer
// is slot 0 of the next page, its key is the right separator that the descent has carried.
func (a *Array) bound(key uint64, upper bool) (uint64, around, error) {
	d := a.desc
	if d.rows == 0 || a.typ.Role == RoleNone {
		return 0, around{}, nil
	}
	if key < d.first || (!upper && key == d.first) {
		return 0, around{next: d.first}, nil
	}
	if key > d.last || (upper && key == d.last) {
		return d.rows, around{before: d.last}, nil
	}
	var t Stats
	n, at, err := a.descend(key, upper, &t)
	a.count(t)
	return n, at, err
}

func (a *pages) count(t Stats) { a.f.count(t, a.cost) }

// count adds the cost of a call to the file's counters and to st, unless it is
// nil. Reads from the file are counted where they happen.
func (f *File) count(t Stats, st *Stats) {
	if t.Hits > 0 {
		f.hits.Add(t.Hits)
	}
	if t.Comparisons > 0 {
		f.compares.Add(t.Comparisons)
	}
	if st != nil {
		st.Add(t)
	}
}

func (a *Array) descend(key uint64, upper bool, t *Stats) (uint64, around, error) {
	l, err := a.leaf(key, upper, t)
	if err != nil {
		return 0, around{}, err
	}
	var pg *page
	if l.parent == nil {
		pg, err = a.only(t)
	} else {
		pg, err = a.below(l.parent, l.entry, l.ord, t)
	}
	if err != nil {
		return 0, around{}, err
	}
	n := int(pg.count)
	slot := a.slotOf(pg, n, key, upper, t)
	at := around{before: pg.key(a.typ, slot-1), next: l.sep}
	if slot < n {
		at.next = pg.key(a.typ, slot)
	}
	return l.ord*uint64(a.typ.PageRows) + uint64(slot), at, nil
}

// leaf is a data page, as the index describes it.
type leaf struct {
	ord    uint64
	parent *page // of level 1, nil if the page has no index above it
	entry  int   // index in parent
	sep    uint64
}

// leaf descends to the last data page whose first key is below the bound, the
// first page if none is, without reading it. sep is the first key of the page
// after, Never if there is none.
func (a *pages) leaf(key uint64, upper bool, t *Stats) (l leaf, err error) {
	l.sep = Never
	crc, top := uint32(0), len(a.desc.levels)-1
	if top > 1 && resident(a.slot(top, 0)) == nil {
		a.expect(top-1, key)
	}
	for lv := top; lv > 0; lv-- {
		pg, err := a.index(lv, l.ord, crc, lv == top, t)
		if err != nil {
			return l, err
		}
		n := int(pg.count)
		i := lastBelow(pg.bytes, n, key, upper, t)
		if i+1 < n {
			l.sep = le.Uint64(pg.bytes[8*(i+1):])
		}
		crc = le.Uint32(pg.bytes[20*n+4*i:])
		l.ord = l.ord*uint64(a.typ.Fanout) + uint64(i)
		l.parent, l.entry = pg, i
	}
	return l, nil
}

// first returns the first key of the page.
func (l *leaf) first(a *Array) uint64 {
	if l.parent == nil {
		return a.desc.first
	}
	return le.Uint64(l.parent.bytes[8*l.entry:])
}

// lastBelow returns the last of n children whose first key is below the bound;
// child 0 is known to be.
func lastBelow(t0 []byte, n int, key uint64, upper bool, t *Stats) int {
	lo, hi := 0, n // t0[lo] is below, t0[hi] is not
	limit := key
	if upper && key != math.MaxUint64 {
		limit = key + 1 // first key < key+1 is first key <= key
	}
	all := upper && key == math.MaxUint64
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		t.Comparisons++
		if all || le.Uint64(t0[8*mid:]) < limit {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// slotOf returns the first slot of a data page whose key is not below the bound;
// slot 0 is known to be.
func (a *pages) slotOf(pg *page, n int, key uint64, upper bool, t *Stats) int {
	lo, hi := 0, n
	if upper {
		if key == math.MaxUint64 {
			return n
		}
		key++
	}
	if pg.codec == CodecPacked {
		k := &pg.keys
		for hi-lo > 1 {
			mid := int(uint(lo+hi) >> 1)
			t.Comparisons++
			if k.at(mid) < key {
				lo = mid
			} else {
				hi = mid
			}
		}
		return hi
	}
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		t.Comparisons++
		if pg.key(a.typ, mid) < key {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// key returns the key of a slot. A page of whole rows in one frame (CodecRows) has been decoded when it was loaded.
func (p *page) key(of *Type, slot int) uint64 {
	if slot < 0 {
		return 0
	}
	if p.codec == CodecPacked {
		return p.keys.at(slot)
	}
	return of.Columns[0].Value(p.plain()[slot*of.RowBytes:])
}

// plain returns the rows of a page that is decoded already.
func (p *page) plain() []byte {
	if p.codec == CodecRaw {
		return p.bytes
	}
	return *p.rows.Load()
}

func indexChild(b []byte, n, i int) child {
	return child{
		t0: le.Uint64(b[8*i:]), off: le.Uint64(b[8*(n+i):]),
		len: le.Uint32(b[16*n+4*i:]), crc: le.Uint32(b[20*n+4*i:]),
	}
}

// checkPage checks the header, the checksum and the position of a page that was read.
func (a *pages) checkPage(b []byte, want header, size int) (header, error) {
	var h header
	if err := h.parse(b); err != nil {
		return h, err
	}
	if uint64(h.stored) > uint64(len(b)-pageHeader) || (size >= 0 && int(h.stored) != size) {
		return h, corrupt("payload of %d bytes in %d", h.stored, len(b))
	}
	if crc32.Update(a.seed, castagnoli, b[8:pageHeader+int(h.stored)]) != h.crc && !a.f.unchecked {
		return h, corrupt("checksum mismatch")
	}
	if h.kind != want.kind || h.level != want.level || h.typ != a.desc.typ || h.proc != a.proc ||
		h.ordinal != want.ordinal || h.count != want.count || h.firstN != want.firstN || h.raw != want.raw || h.codec != want.codec {
		return h, corrupt("page of another place: level %d ordinal %d count %d", h.level, h.ordinal, h.count)
	}
	return h, nil
}

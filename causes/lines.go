package causes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// What a location does in a slab is a head and then pieces of time, in order:
//
//	head   begin of the wait under way | waits that are over | count | count times key, node, ticks before the slab
//	piece  number<<2 | flags | key and node of a new number | ticks
//
// A number is that of a key and node, in the order of the head, then as they come. A piece with no flag but pieceFirst says
// that a wait goes on behind the slab.
const (
	pieceWaits uint32 = 1 << iota // in a wait; the key is what it would be else
	pieceFirst                    // the wait begins with it
	pieceBits  = 2
)

// slotKey names time of a location: its path and activity, and its node.
type slotKey struct {
	key  uint64
	node uint32
}

func compareSlots(a, b slotKey) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
}

// lineWriter deals the time lines of locations, with their waits laid over them, out to slabs. Memory: 60 bytes for each
// (activity, path, node) that a location comes to.
type lineWriter struct {
	d      *delays
	out    parcelWriter // time lines
	waits  parcelWriter // waits
	slots  map[slotKey]int32
	keys   []slotKey
	totals []uint64
	number []uint32 // in the slab's part, and one; 0: not yet
	next   uint32
	recent [recentSlots]recentSlot

	// the location in hand
	p      trace.P
	line   *timeline
	rows   *causeRows
	met    *meetings
	done   uint64 // waits that are over
	inside bool   // the wait in hand has begun ...
	begun  uint64 // ... here
	first  bool   // the next piece is its first one
	k      int    // the slab in hand
	waited int32  // slot of ticks in waits
}

// recentSlots are the slots of the states that came last, by path.
const recentSlots = 64

type recentSlot struct {
	state
	slot int32
	set  bool
}

func (w *lineWriter) slot(s state) int32 {
	r := &w.recent[(s.path*xtf.NumActivities+s.activity)%recentSlots]
	if s.region = 0; !r.set || r.state != s { // slots know the path alone
		*r = recentSlot{s, w.find(slotKey{termKey(s.path, s.activity), s.node}), true}
	}
	return r.slot
}

func (w *lineWriter) find(k slotKey) int32 {
	i, ok := w.slots[k]
	if !ok {
		i = int32(len(w.keys))
		w.slots[k] = i
		w.keys, w.totals, w.number = append(w.keys, k), append(w.totals, 0), append(w.number, 0)
	}
	return i
}

// location writes one location.
func (w *lineWriter) location(p trace.P) error {
	l, err := w.d.run.Open(p)
	if err != nil {
		return err
	}
	c, err := w.d.run.Waits(p)
	if err != nil {
		return err
	}
	if w.met, err = w.d.run.meetings(p); err != nil {
		return err
	}
	if w.slots == nil {
		w.slots = map[slotKey]int32{}
	}
	clear(w.slots)
	w.keys, w.totals, w.number, w.recent = w.keys[:0], w.totals[:0], w.number[:0], [recentSlots]recentSlot{}
	w.p, w.line, w.rows = p, newTimeline(l, w.d.run.Derived), newCauseRows(c, p, w.d.locations())
	w.done, w.inside, w.first, w.k = 0, false, false, 0
	w.waited = w.find(slotKey{termKey(0, xtf.ActivityWait), 0})
	w.head()
	if err := w.settle(); err != nil {
		return err
	}
	for w.line.at < w.d.run.Last || w.rows.more {
		if err := w.piece(); err != nil {
			return err
		}
	}
	if err := w.d.trail.endLocation(p, w.line); err != nil {
		return err
	}
	return errors.Join(w.line.err(), w.rows.err(), w.met.rows.err())
}

// settle begins and ends waits at the instant of the walk: they do not overlap.
func (w *lineWriter) settle() error {
	for w.rows.more && w.rows.row.T <= w.line.at {
		if !w.inside {
			if w.rows.row.T < w.line.at {
				return fmt.Errorf("%w: waits of location %d overlap at %d", errDamaged, w.p, w.line.at)
			}
			w.inside, w.first, w.begun = true, true, w.rows.row.T
		}
		if w.rows.row.End > w.line.at {
			return nil
		}
		if err := w.over(); err != nil {
			return err
		}
	}
	return nil
}

// over ends the wait in hand.
func (w *lineWriter) over() error {
	row := &w.rows.row
	if w.rows.n >= mostWaits {
		return fmt.Errorf("location %d waits more than %d times", w.p, uint64(mostWaits))
	}
	met, err := w.met.last(trace.P(row.CauseP), row.T)
	if err != nil {
		return err
	}
	w.d.report.Waits++
	w.d.report.Ticks += row.End - row.T
	w.waits.at(uint32(w.p), w.out.to.slabs.at(row.End))
	w.waits.buf = varint.Append(w.waits.buf, w.done, row.T, row.End-row.T, met, uint64(row.CauseP), uint64(row.Pattern))
	w.inside, w.first = false, false
	w.done++
	w.rows.next()
	return nil
}

// piece goes on to where something changes, or to the end of the slab.
func (w *lineWriter) piece() error {
	limit := uint64(xtf.Never)
	if w.line.at < w.d.run.Last {
		limit = w.d.run.Last
	}
	switch {
	case w.inside:
		limit = min(limit, w.rows.row.End)
	case w.rows.more:
		limit = min(limit, w.rows.row.T)
	}
	if ends := w.out.to.slabs.ends; w.k < len(ends) {
		if w.line.at >= ends[w.k] {
			w.turn()
		}
		if w.k < len(ends) {
			limit = min(limit, ends[w.k])
		}
	}
	s, from, end := w.line.next(limit)
	if w.d.trail != nil {
		if err := w.d.trail.add(w.p, &s, from, end); err != nil {
			return err
		}
	}
	w.add(w.slot(s), end-from)
	return w.settle()
}

// add writes a piece.
func (w *lineWriter) add(i int32, ticks uint64) {
	w.out.at(uint32(w.p), w.k)
	flags := uint32(0)
	if w.inside {
		if flags = pieceWaits; w.first {
			flags |= pieceFirst
		}
		w.first = false
		w.totals[w.waited] += ticks
	} else {
		w.totals[i] += ticks
	}
	if w.number[i] > 0 {
		w.out.buf = varint.Append(w.out.buf, uint64((w.number[i]-1)<<pieceBits|flags), ticks)
		return
	}
	w.out.buf = varint.Append(w.out.buf, uint64(w.next<<pieceBits|flags), w.keys[i].key, uint64(w.keys[i].node), ticks)
	w.next++
	w.number[i] = w.next
}

// turn ends the part of a slab and begins the next one.
func (w *lineWriter) turn() {
	if w.inside && !w.first {
		w.out.at(uint32(w.p), w.k)
		w.out.buf = varint.Append(w.out.buf, uint64(pieceFirst))
	}
	w.k++
	w.head()
}

// head begins the part of a slab.
func (w *lineWriter) head() {
	w.out.at(uint32(w.p), w.k)
	clear(w.number)
	w.next = 0
	for i, v := range w.totals {
		if v > 0 {
			w.next++
			w.number[i] = w.next
		}
	}
	w.out.buf = varint.Append(w.out.buf, w.begun, w.done, uint64(w.next))
	for i, v := range w.totals {
		if v > 0 {
			w.out.buf = varint.Append(w.out.buf, w.keys[i].key, uint64(w.keys[i].node), v)
		}
	}
}

// lineSlab is what a location does in a slab. Memory: 12 bytes for each piece, and 8 for each total at every block of pieces.
type lineSlab struct {
	start uint64    // the instant behind which it begins
	begun uint64    // of a wait that is under way there
	done  uint64    // waits that are over there
	keys  []slotKey // in order
	base  []uint64  // ticks before the slab
	ends  []uint64  // of the pieces
	ids   []uint32  // place in keys, and flags
	goes  bool      // a wait goes on behind the slab
	wait  uint32    // place of ticks in waits
	block int       // pieces between two rows of sums
	sums  []uint64
}

// leastBlock is the least number of pieces of a block.
const leastBlock = 32

// parse reads the part of a location.
func (x *lineSlab) parse(b []byte, start uint64) error {
	r := varint.Read(b)
	*x = lineSlab{start: start, begun: r.Next(), done: r.Next(), keys: x.keys[:0], base: x.base[:0], ends: x.ends[:0], ids: x.ids[:0], sums: x.sums[:0]}
	for range r.Count(3) {
		x.keys, x.base = append(x.keys, slotKey{r.Next(), r.Uint32()}), append(x.base, r.Next())
	}
	at := start
	for r.Len() > 0 {
		h := r.Next()
		if h == uint64(pieceFirst) {
			x.goes = true
			continue
		}
		n, flags := h>>pieceBits, uint32(h)&(1<<pieceBits-1)
		if n == uint64(len(x.keys)) {
			x.keys, x.base = append(x.keys, slotKey{r.Next(), r.Uint32()}), append(x.base, 0)
		}
		at += r.Next()
		if n >= uint64(len(x.keys)) {
			return errDamaged
		}
		x.ends, x.ids = append(x.ends, at), append(x.ids, uint32(n)<<pieceBits|flags)
	}
	if r.Failed() {
		return errDamaged
	}
	for i := range x.keys {
		if activityOf(x.keys[i].key) >= xtf.NumActivities {
			return errDamaged
		}
	}
	x.order()
	x.sum()
	return nil
}

// order numbers the keys in their order.
func (x *lineSlab) order() {
	waits := slotKey{termKey(0, xtf.ActivityWait), 0}
	if !slices.Contains(x.keys, waits) {
		x.keys, x.base = append(x.keys, waits), append(x.base, 0)
	}
	list := make([]int, len(x.keys))
	for i := range list {
		list[i] = i
	}
	slices.SortFunc(list, func(a, b int) int { return compareSlots(x.keys[a], x.keys[b]) })
	keys, base, place := make([]slotKey, len(list)), make([]uint64, len(list)), make([]uint32, len(list))
	for n, i := range list {
		keys[n], base[n], place[i] = x.keys[i], x.base[i], uint32(n)
		if keys[n] == waits {
			x.wait = uint32(n)
		}
	}
	x.keys, x.base = keys, base
	for i, id := range x.ids {
		x.ids[i] = place[id>>pieceBits]<<pieceBits | id&(1<<pieceBits-1)
	}
}

// sum makes the sums at blocks of pieces.
func (x *lineSlab) sum() {
	n := len(x.keys)
	x.block = max(leastBlock, n)
	now, at := make([]uint64, n), x.start
	for i, end := range x.ends {
		if i%x.block == 0 {
			x.sums = append(x.sums, now...)
		}
		now[x.of(i)] += end - at
		at = end
	}
}

// of is the place in keys of a piece.
func (x *lineSlab) of(i int) uint32 {
	if x.ids[i]&pieceWaits != 0 {
		return x.wait
	}
	return x.ids[i] >> pieceBits
}

// from is the begin of a piece.
func (x *lineSlab) from(i int) uint64 {
	if i == 0 {
		return x.start
	}
	return x.ends[i-1]
}

// find is the first piece that ends behind an instant.
func (x *lineSlab) find(t uint64) int {
	lo, hi := 0, len(x.ends)
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); x.ends[m] > t {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// tally sums ticks by place.
type tally struct {
	ticks   []uint64
	touched []uint32
	set     []bool
}

func (a *tally) add(i uint32, ticks uint64) {
	if !a.set[i] {
		a.set[i] = true
		a.touched = append(a.touched, i)
	}
	a.ticks[i] += ticks
}

// begin makes room for n places.
func (a *tally) begin(n int) {
	if len(a.ticks) < n {
		a.ticks, a.set = make([]uint64, n), make([]bool, n)
	}
}

// span adds what the location does in [a, b), of the slab.
func (x *lineSlab) span(t *tally, a, b uint64) {
	if a >= b {
		return
	}
	i := x.find(a)
	end := min(x.find(b-1), max(len(x.ends), 1)-1) // the piece that holds b, or the last one
	if first, last := i/x.block+1, end/x.block; last > first {
		x.pieces(t, i, first*x.block, a, b)
		n := len(x.keys)
		was, is := x.sums[first*n:(first+1)*n], x.sums[last*n:(last+1)*n]
		for k, v := range is {
			if v > was[k] {
				t.add(uint32(k), v-was[k])
			}
		}
		i = last * x.block
		a = x.from(i)
	}
	x.pieces(t, i, len(x.ends), a, b)
}

// pieces adds those from i up to end, as far as they lie in [a, b).
func (x *lineSlab) pieces(t *tally, i, end int, a, b uint64) {
	for ; i < end && a < b; i++ {
		e := min(x.ends[i], b)
		if a < e {
			t.add(x.of(i), e-a)
		}
		a = e
	}
}

// before adds what the location did before the slab.
func (x *lineSlab) before(t *tally) {
	for i, v := range x.base {
		if v > 0 {
			t.add(uint32(i), v)
		}
	}
}

// take appends what was added, in the order of the keys, and clears it.
func (x *lineSlab) take(t *tally, dst []term) []term {
	slices.Sort(t.touched)
	for _, i := range t.touched {
		if v := t.ticks[i]; v > 0 {
			dst = append(dst, term{x.keys[i].key, x.keys[i].node, v})
		}
		t.ticks[i], t.set[i] = 0, false
	}
	t.touched = t.touched[:0]
	return dst
}

// state is what the location does up to an instant: the key, where a wait would be what it is laid over, and whether a wait
// is under way, which began at an instant.
func (x *lineSlab) state(t uint64) (k slotKey, waits bool, begun uint64) {
	i := x.find(t - 1)
	if i >= len(x.ids) {
		return k, false, 0
	}
	id := x.ids[i]
	k = x.keys[id>>pieceBits]
	if id&pieceWaits == 0 {
		return k, false, 0
	}
	if x.ends[i] == t {
		if waits = x.goes; i+1 < len(x.ids) {
			waits = x.ids[i+1]&(pieceWaits|pieceFirst) == pieceWaits
		}
		if !waits {
			return k, false, 0
		}
	}
	for i >= 0 && x.ids[i]&pieceFirst == 0 {
		i--
	}
	if i < 0 {
		return k, true, x.begun
	}
	return k, true, x.from(i)
}

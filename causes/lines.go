package causes

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// What a location does in a slab is a head and then pieces of time, in order:
//
//	head   begin of the wait under way | waits that are over | ticks in waits before | count | count times key, node, ticks before the slab
//	piece  number<<2 | flags | key and node of a new number | ticks
//
// A number is that of a key and node: 0 for waits, then in the order of the head, then as they come. A piece with no flag but pieceFirst says
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

// waitSlot is where time in waits goes.
var waitSlot = slotKey{termKey(0, xtf.ActivityWait), 0}

func compareSlots(a, b slotKey) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
}

// lineWriter deals the time lines of locations, with their waits laid over them, out to slabs. Memory: 60 bytes for each
// (activity, path, node) that a location comes to.
type lineWriter struct {
	d      *Delays
	out    parcelWriter // time lines
	waits  parcelWriter // waits
	slots  map[slotKey]int32
	keys   []slotKey
	totals []uint64 // of which the first is that of waits
	number []uint32 // in the slab's part; 0: not yet
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
	limit  uint64 // where the slab or the run ends, or a wait begins or ends
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
	script, err := w.d.replay.script(p)
	if err != nil {
		return err
	}
	w.p, w.line, w.rows = p, newTimeline(l, w.d.run.Derived, script), newCauseRows(c, p, w.d.locations())
	w.done, w.inside, w.first, w.k = 0, false, false, 0
	w.find(waitSlot)
	w.head()
	for more := true; more; {
		if more, err = w.border(); err != nil {
			return err
		}
		for more && w.line.at < w.limit {
			if err := w.piece(); err != nil {
				return err
			}
		}
	}
	if err := w.d.trail.endLocation(w); err != nil {
		return err
	}
	w.line.enterCalls(xtf.Never)
	return errors.Join(w.line.err(), w.rows.Err(), w.met.rows.Err(), script.end())
}

// settle begins and ends waits at the instant of the walk: they do not overlap.
func (w *lineWriter) settle() error {
	for w.rows.More && w.rows.Row.T <= w.line.at {
		if !w.inside {
			if w.rows.Row.T < w.line.at {
				return fmt.Errorf("%w: waits of location %d overlap at %d", errDamaged, w.p, w.line.at)
			}
			w.inside, w.first, w.begun = true, true, w.rows.Row.T
		}
		if w.rows.Row.End > w.line.at {
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
	row := &w.rows.Row
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

// border says how far pieces go from here; false at the end.
func (w *lineWriter) border() (more bool, err error) {
	at, last, ends := w.line.at, w.d.run.Last, w.out.to.slabs.ends
	if err := w.settle(); err != nil || at >= last && !w.rows.More {
		return false, err
	}
	if w.k < len(ends) && at >= ends[w.k] {
		w.turn()
	}
	w.limit = xtf.Never
	if at < last {
		w.limit = last
	}
	switch {
	case w.inside:
		w.limit = min(w.limit, w.rows.Row.End)
	case w.rows.More:
		w.limit = min(w.limit, w.rows.Row.T)
	}
	if w.k < len(ends) {
		w.limit = min(w.limit, ends[w.k])
	}
	return true, nil
}

// piece goes on to where something changes.
func (w *lineWriter) piece() error {
	s, from, end := w.line.next(w.limit)
	slot := w.slot(s)
	if w.d.trail.wants(w.p) && w.d.trail.begin < end {
		if err := w.d.trail.add(w.p, &s, slot, from, end); err != nil {
			return err
		}
	}
	w.add(slot, end-from)
	return nil
}

// add writes a piece.
func (w *lineWriter) add(i int32, ticks uint64) {
	if len(w.out.buf) >= parcelBlock {
		w.out.at(uint32(w.p), w.k)
	}
	flags := uint32(0)
	if w.inside {
		if flags = pieceWaits; w.first {
			flags |= pieceFirst
		}
		w.first = false
		w.totals[0] += ticks
	} else {
		w.totals[i] += ticks
	}
	if w.number[i] > 0 {
		w.out.buf = varint.Append(w.out.buf, uint64(w.number[i]<<pieceBits|flags), ticks)
		return
	}
	w.next++
	w.number[i] = w.next
	w.out.buf = varint.Append(w.out.buf, uint64(w.next<<pieceBits|flags), w.keys[i].key, uint64(w.keys[i].node), ticks)
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
	for i, v := range w.totals[1:] {
		if v > 0 {
			w.next++
			w.number[i+1] = w.next
		}
	}
	w.out.buf = varint.Append(w.out.buf, w.begun, w.done, w.totals[0], uint64(w.next))
	for i, v := range w.totals[1:] {
		if v > 0 {
			w.out.buf = varint.Append(w.out.buf, w.keys[i+1].key, uint64(w.keys[i+1].node), v)
		}
	}
}

// lineReader goes through what a location does in a slab.
type lineReader struct {
	varint.Reader
	begun  uint64    // of a wait that is under way at the slab's begin
	done   uint64    // waits that are over there
	keys   []slotKey // by number
	totals []uint64  // ticks up to the slab, and of new keys 0
	at     uint64    // end of the piece in hand
	from   uint64    // where totals are
	slot   uint32    // of the piece in hand
	goes   bool      // a wait goes on behind the slab
}

// open reads the head of a part that begins at an instant.
func (r *lineReader) open(b []byte, start uint64) {
	*r = lineReader{Reader: varint.Read(b), keys: append(r.keys[:0], waitSlot), totals: r.totals[:0], at: start, from: start}
	r.begun, r.done, r.totals = r.Next(), r.Next(), append(r.totals, r.Next())
	for i := range r.Count(3) {
		r.key()
		r.totals[i+1] = r.Next()
	}
}

// key reads a new key.
func (r *lineReader) key() {
	k := slotKey{r.Next(), r.Uint32()}
	if activityOf(k.key) >= xtf.NumActivities {
		r.Fail()
	}
	r.keys, r.totals = append(r.keys, k), append(r.totals, 0)
}

// piece takes the next piece, its number and flags; false at the end.
func (r *lineReader) piece() (id uint32, more bool) {
	for r.Len() > 0 {
		h := r.Next()
		if h == uint64(pieceFirst) {
			r.goes = true
			continue
		}
		n := h >> pieceBits
		if n == uint64(len(r.keys)) {
			r.key()
		}
		ticks := r.Next()
		if n >= uint64(len(r.keys)) || r.Failed() {
			r.Fail()
			return 0, false
		}
		r.at += ticks
		return uint32(h), true
	}
	return 0, false
}

// total is what the location did up to an instant, in order. Instants do not decrease.
func (r *lineReader) total(t uint64) []term {
	for r.from < t {
		if r.at <= r.from {
			id, more := r.piece()
			if !more {
				break
			}
			if r.slot = id >> pieceBits; id&pieceWaits != 0 {
				r.slot = 0
			}
		}
		to := min(t, r.at)
		r.totals[r.slot] += to - r.from
		r.from = to
	}
	var list []term
	for i, v := range r.totals {
		if v > 0 {
			list = append(list, term{r.keys[i].key, r.keys[i].node, v})
		}
	}
	slices.SortFunc(list, compareTerms)
	return list
}

// lineSlab is what a location does in a slab. Memory: 12 bytes for each piece, and 8 for each total at every block of pieces.
type lineSlab struct {
	reader lineReader
	start  uint64    // the instant behind which it begins
	keys   []slotKey // in order
	base   []uint64  // ticks before the slab
	ends   []uint64  // of the pieces
	ids    []uint32  // place in keys, and flags
	wait   uint32    // place of ticks in waits
	block  int       // pieces between two rows of sums
	sums   []uint64
	now    []uint64
	near   int // where an instant is looked for first
	list   []uint32
}

// leastBlock is the least number of pieces of a block.
const leastBlock = 32

// parse reads the part of a location.
func (x *lineSlab) parse(b []byte, start uint64) error {
	r := &x.reader
	r.open(b, start)
	x.start, x.ends, x.ids = start, x.ends[:0], x.ids[:0]
	for id, ok := r.piece(); ok; id, ok = r.piece() {
		x.ends, x.ids = append(x.ends, r.at), append(x.ids, id)
	}
	x.near = len(x.ends)
	x.order()
	x.sum()
	return failure(&r.Reader)
}

// order numbers the keys in their order.
func (x *lineSlab) order() {
	keys := x.reader.keys
	x.list = x.list[:0]
	for i := range keys {
		x.list = append(x.list, uint32(i))
	}
	slices.SortFunc(x.list, func(a, b uint32) int { return compareSlots(keys[a], keys[b]) })
	x.keys, x.base = x.keys[:0], x.base[:0]
	place := make([]uint32, len(keys))
	for n, i := range x.list {
		place[i] = uint32(n) << pieceBits
		x.keys, x.base = append(x.keys, keys[i]), append(x.base, x.reader.totals[i])
	}
	x.wait = place[0] >> pieceBits
	for i, id := range x.ids {
		x.ids[i] = place[id>>pieceBits] | id&(1<<pieceBits-1)
	}
}

// sum makes the sums at blocks of pieces.
func (x *lineSlab) sum() {
	n := len(x.keys)
	x.block, x.sums = max(leastBlock, n), x.sums[:0]
	x.now = slices.Grow(x.now[:0], n)[:n]
	now := x.now
	clear(now)
	at := x.start
	for i := 0; i < len(x.ends); {
		x.sums = append(x.sums, now...)
		for end := min(i+x.block, len(x.ends)); i < end; i++ {
			now[x.of(i)] += x.ends[i] - at
			at = x.ends[i]
		}
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

// find is the first piece that ends behind an instant. It takes little time where that is near the one found before.
func (x *lineSlab) find(t uint64) int {
	lo, hi := x.near, x.near
	for step := 1; lo > 0 && x.ends[lo-1] > t; step *= 2 {
		lo, hi = max(lo-step, 0), lo-1
	}
	for step := 1; hi < len(x.ends) && x.ends[hi] <= t; step *= 2 {
		lo, hi = hi+1, min(hi+step, len(x.ends))
	}
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); x.ends[m] > t {
			hi = m
		} else {
			lo = m + 1
		}
	}
	x.near = lo
	return lo
}

// tally sums ticks by place, of which it knows those that have some.
type tally struct {
	ticks []uint64
	set   []uint64 // a bit each
}

func (a *tally) add(i uint32, ticks uint64) {
	a.set[i/64] |= 1 << (i % 64)
	a.ticks[i] += ticks
}

// begin makes room for n places.
func (a *tally) begin(n int) {
	if len(a.ticks) < n {
		a.ticks, a.set = make([]uint64, n), make([]uint64, n/64+1)
	}
}

// span adds what the location does in [a, b), of the slab.
func (x *lineSlab) span(t *tally, a, b uint64) {
	if a >= b {
		return
	}
	end := min(x.find(b-1), max(len(x.ends), 1)-1) // the piece that holds b, or the last one
	i := x.find(a)
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
	for k, set := range t.set[:len(x.keys)/64+1] {
		t.set[k] = 0
		for ; set != 0; set &= set - 1 {
			i := k*64 + bits.TrailingZeros64(set)
			if v := t.ticks[i]; v > 0 {
				dst = append(dst, term{x.keys[i].key, x.keys[i].node, v})
			}
			t.ticks[i] = 0
		}
	}
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
		if waits = x.reader.goes; i+1 < len(x.ids) {
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
		return k, true, x.reader.begun
	}
	return k, true, x.from(i)
}

package causes

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Pass goes along one location after another, after those who find its messages, collectives and waits, and makes what the slabs
// get of them: time lines with the waits laid over them, the waits, the steps of the replay, and where the critical path may go
// over. Each goes to a sink as records, each with its length before it, which Deal gives to the slabs.
//
// Of each location, Begin comes first; then its messages, collectives and waits, each kind in its order, and To, which tells up to
// where these are known; End is the last. Memory: 60 bytes for each (activity, path, node) that a location comes to, and the rows
// that lie after the last To.
type Pass struct {
	run    *Run
	out    parcelWriter // time lines
	waits  parcelWriter
	jumps  parcelWriter
	script *replayScript
	sink   xtf.Sink
	record []byte

	slots  map[slotKey]int32
	keys   []slotKey
	totals []uint64 // of which the first is that of waits
	number []uint32 // in the slab's part; 0: not yet
	next   uint32
	recent [recentSlots]recentSlot

	// the location in hand
	p      trace.P
	of     *Location
	line   *timeline // nil before the first instant
	rows   queue[xtf.Wait]
	met    meetings
	done   uint64 // waits that are over
	inside bool   // the wait in hand has begun ...
	begun  uint64 // ... here
	first  bool   // the next piece is its first one
	region uint32 // of pieces, where it is not that of their path; else trace.Undefined
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

// NewPass prepares the pass over the locations of this rank.
func NewPass(r *Run) *Pass {
	x := &Pass{run: r, slots: map[slotKey]int32{}, met: meetings{defs: r.Defs}}
	writer := func(kind int) parcelWriter {
		return parcelWriter{slabs: &r.Slabs, kind: kind, kinds: passKinds, put: x.put}
	}
	x.out, x.waits, x.jumps = writer(lineParcels), writer(waitParcels), writer(jumpParcels)
	x.script = newScript(r.Defs, false, writer)
	return x
}

// put writes a record to the sink.
func (w *Pass) put(record []byte) error {
	w.record = append(binary.LittleEndian.AppendUint32(w.record[:0], uint32(len(record))), record...)
	_, err := w.sink.Append(w.record)
	return err
}

// Deal gives the slabs what Pass left in segments of this rank's locations. Collective.
func (r *Run) Deal(segment func(p trace.P) (Segment, error)) error {
	r.parcels = newParcels(r.Comm, &r.Storage, r.Slabs, passKinds)
	own := r.Ranges[r.Comm.Rank()]
	var err error
	for p := own.First; p < own.End && err == nil; p++ {
		var s Segment
		if s, err = segment(p); err == nil {
			err = r.parcels.putAll(s)
		}
	}
	return r.parcels.deliver(err)
}

// Segment is what Pass left of a location.
type Segment interface {
	io.ReaderAt
	Size() int64
}

// putAll puts the records of a segment.
func (x *parcels) putAll(s Segment) error {
	if x.in == nil {
		x.in = bufio.NewReaderSize(nil, keptBlock)
	}
	in := x.in
	in.Reset(io.NewSectionReader(s, 0, s.Size()))
	var record []byte
	for left := s.Size(); left > 0; {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		n := int64(binary.LittleEndian.Uint32(head[:]))
		if left -= 4 + n; left < 0 || n < parcelHead {
			return errDamaged
		}
		if int64(cap(record)) < n {
			record = make([]byte, n)
		}
		if _, err := io.ReadFull(in, record[:n]); err != nil {
			return err
		}
		if int(binary.LittleEndian.Uint32(record))/x.kinds >= x.slabs.count() {
			return errDamaged
		}
		if err := x.put(record[:n]); err != nil {
			return err
		}
	}
	return nil
}

// Begin begins a location.
func (w *Pass) Begin(p trace.P, l *Location, sink xtf.Sink) {
	clear(w.slots)
	w.keys, w.totals, w.number, w.recent = w.keys[:0], w.totals[:0], w.number[:0], [recentSlots]recentSlot{}
	w.p, w.of, w.line, w.sink, w.met.met = p, l, nil, sink, w.met.met[:0]
	w.done, w.inside, w.begun, w.first, w.region, w.k = 0, false, 0, false, trace.Undefined, 0
	w.script.begin(p)
	w.find(waitSlot)
	w.head()
}

// Message takes the next message of the location.
func (w *Pass) Message(m *xtf.Message) { w.script.message(m) }

// Collective takes the next collective.
func (w *Pass) Collective(c *xtf.Collective) {
	w.script.collective(c)
	w.met.add(c)
	w.jumpToSender(c)
}

// Wait takes the next wait, without its order.
func (w *Pass) Wait(x *xtf.Wait) {
	if x.T >= x.End || x.End == xtf.Never || uint64(x.CauseP) >= uint64(w.run.Defs.NumLocations()) || trace.P(x.CauseP) == w.p {
		return // no other location is the cause
	}
	*w.rows.push() = *x
	if x.Pattern&xtf.WaitPatternMask != xtf.WaitEarlyReduce {
		w.jump(x.End, x.CauseP)
	}
}

// To says that all messages, collectives and waits that begin before an instant are there.
func (w *Pass) To(t uint64) error { return w.to(t, false) }

// End ends the location.
func (w *Pass) End() error {
	if err := w.to(xtf.Never, true); err != nil {
		return err
	}
	w.line.enterIntervals(xtf.Never)
	w.line.enterCalls(xtf.Never)
	err := w.script.end()
	for _, out := range []*parcelWriter{&w.out, &w.waits, &w.jumps} {
		if out.flush(); err == nil {
			err = out.err
		}
	}
	if err == nil {
		err = w.line.err()
	}
	if err != nil {
		return fmt.Errorf("location %d: %w", w.p, err)
	}
	w.met.pass(xtf.Never)
	return nil
}

// to goes on before an instant, or to the end.
func (w *Pass) to(t uint64, last bool) error {
	if t == 0 {
		return nil
	}
	if w.line == nil {
		w.line = newTimeline(w.of, w.run.Derived, w.script)
	}
	for {
		more, err := w.border()
		if err != nil {
			return err
		}
		for more && w.line.at < w.limit {
			if more = last || min(w.limit, w.line.until) < t; more {
				w.piece()
			}
		}
		if !more {
			w.script.rowsBefore(w.line.at, xtf.Never)
			met := w.line.at
			if w.rows.more() {
				met = min(met, w.rows.head().T)
			}
			w.met.pass(met)
			return nil
		}
	}
}

func (w *Pass) slot(s state) int32 {
	r := &w.recent[(s.path*xtf.NumActivities+s.activity)%recentSlots]
	if s.region = 0; !r.set || r.state != s { // slots know the path alone
		*r = recentSlot{s, w.find(slotKey{termKey(s.path, s.activity), s.node}), true}
	}
	return r.slot
}

func (w *Pass) find(k slotKey) int32 {
	i, ok := w.slots[k]
	if !ok {
		i = int32(len(w.keys))
		w.slots[k] = i
		w.keys, w.totals, w.number = append(w.keys, k), append(w.totals, 0), append(w.number, 0)
	}
	return i
}

// settle begins and ends waits at the instant of the walk: they do not overlap.
func (w *Pass) settle() error {
	for w.rows.more() && w.rows.head().T <= w.line.at {
		row := w.rows.head()
		if !w.inside {
			if row.T < w.line.at {
				return fmt.Errorf("%w: waits of location %d overlap at %d", errDamaged, w.p, w.line.at)
			}
			w.inside, w.first, w.begun = true, true, row.T
		}
		if row.End > w.line.at {
			return nil
		}
		if err := w.over(row); err != nil {
			return err
		}
	}
	return nil
}

// over ends the wait in hand.
func (w *Pass) over(row *xtf.Wait) error {
	if w.done >= mostWaits {
		return fmt.Errorf("location %d waits more than %d times", w.p, uint64(mostWaits))
	}
	met := w.met.last(trace.P(row.CauseP), row.T)
	w.waits.at(uint32(w.p), w.run.Slabs.at(row.End))
	w.waits.buf = varint.Append(w.waits.buf, w.done, row.T, row.End-row.T, met, uint64(row.CauseP), uint64(row.Pattern))
	w.inside, w.first = false, false
	w.done++
	w.rows.pop()
	return nil
}

// border says how far pieces go from here; false at the end of what is known.
func (w *Pass) border() (more bool, err error) {
	at, last, ends := w.line.at, w.run.Last, w.run.Slabs.Ends
	if err := w.settle(); err != nil || at >= last && !w.rows.more() {
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
		w.limit = min(w.limit, w.rows.head().End)
	case w.rows.more():
		w.limit = min(w.limit, w.rows.head().T)
	}
	if w.k < len(ends) {
		w.limit = min(w.limit, ends[w.k])
	}
	return true, nil
}

// piece goes on to where something changes.
func (w *Pass) piece() {
	s, from, end := w.line.next(w.limit)
	if len(w.out.buf) >= parcelBlock {
		w.out.at(uint32(w.p), w.k)
	}
	region := uint32(trace.Undefined)
	if s.region != w.run.Regions[s.path] { // calls beyond the limits of call paths count for their callers
		region = s.region
	}
	if region != w.region {
		w.region = region
		w.out.buf = varint.Append(w.out.buf, uint64(pieceWaits), uint64(region))
	}
	w.add(w.slot(s), end-from)
}

// add writes a piece.
func (w *Pass) add(i int32, ticks uint64) {
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
func (w *Pass) turn() {
	if w.inside && !w.first {
		w.out.at(uint32(w.p), w.k)
		w.out.buf = varint.Append(w.out.buf, uint64(pieceFirst))
	}
	w.k++
	w.head()
}

// head begins the part of a slab.
func (w *Pass) head() {
	w.out.at(uint32(w.p), w.k)
	clear(w.number)
	w.next, w.region = 0, trace.Undefined
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

// jump notes where the critical path goes over to another location.
func (w *Pass) jump(end uint64, cause uint32) {
	w.jumps.at(uint32(w.p), w.run.Slabs.at(end))
	w.jumps.buf = varint.Append(w.jumps.buf, end, uint64(cause))
}

// jumpToSender notes the jump to the last sender of an operation of which the location is the root.
func (w *Pass) jumpToSender(c *xtf.Collective) {
	if trace.CollectiveClass(c.Flags&xtf.CollOpMask)&trace.ClassNToOne == 0 || c.Ordinal == xtf.Never || w.outside(c.Region) {
		return
	}
	x := &c.Cause
	end := min(x.LastT, c.End)
	if x.LastT == xtf.Never || end <= c.T || uint64(x.LastP) >= uint64(w.run.Defs.NumLocations()) || trace.P(x.LastP) == w.p {
		return
	}
	w.jump(end, x.LastP)
}

// outside reports whether a call counts as no wait.
func (w *Pass) outside(region uint32) bool {
	r := w.run.Defs.Region(region)
	return r != nil && w.run.Defs.Class(r)&trace.ClassInit != 0
}

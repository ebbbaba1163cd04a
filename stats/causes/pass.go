package causes

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Pass makes the records of the locations of this rank that the slabs need: time lines with the waits, the waits, the steps of the replay,
// and the jumps that the critical path can take. They go to a sink for each location, each with its length, u32, before it. Deal then
// gives them to the slabs.
//
// For each location, in order, the caller calls Begin; then Message, Collective and Wait for its rows, each kind in order, and now and
// then To with the instant up to which these are complete; then End. Memory: 60 bytes for each (activity, path, node) that a location
// comes to, the rows after the last To, and heldRows more.
type Pass struct {
	run    *Run
	out    parcelWriter // time lines
	waits  parcelWriter
	jumps  parcelWriter
	script *replayScript
	sink   xtf.Sink
	record []byte

	slots slotTable
	next  uint32 // newest number of a slot in the slab
	held  int    // rows since To advanced last
	most  int    // rows after which To advances

	// the current location
	p      trace.P
	of     *Location
	line   timeline
	begun  bool // line has begun
	rows   waitQueue
	met    meetings
	region uint32 // of pieces, where it is not that of their path; else trace.Undefined
	slab   currentSlab
}

// waitQueue is the waits that are not over.
type waitQueue struct {
	queue[xtf.Wait]
	done   uint64 // number of waits that are over
	inside bool   // the first one in the queue has begun
}

// currentSlab is a slab. limit is the next instant at which it or the run ends, or a wait begins or ends.
type currentSlab struct {
	k     int
	limit uint64
}

// heldRows is the number of rows that To lets come together, because each advance costs time.
const heldRows = 256

// NewPass prepares the pass over the locations of this rank.
func NewPass(r *Run) *Pass {
	x := &Pass{run: r, most: heldRows, met: meetings{defs: r.Defs}}
	writer := func(kind int) parcelWriter {
		return parcelWriter{slabs: &r.Slabs, kind: kind, kinds: passKinds, put: x.put}
	}
	x.out, x.waits, x.jumps = writer(lineParcels), writer(waitParcels), writer(jumpParcels)
	x.script = newScript(r.Defs, false, writer)
	x.script.probes = r.Probes
	return x
}

// put writes a record to the sink.
func (w *Pass) put(record []byte) error {
	w.record = append(binary.LittleEndian.AppendUint32(w.record[:0], uint32(len(record))), record...)
	_, err := w.sink.Append(w.record)
	return err
}

// Deal gives the records of Pass to the ranks of the slabs. segment returns those of a location of this rank; Deal or Drop drops it.
// Collective.
func (r *Run) Deal(segment func(p trace.P) (Segment, error)) error {
	r.parcels = newParcels(r.Comm, &r.Storage, r.Slabs, passKinds)
	own := r.Ranges[r.Comm.Rank()]
	r.parcels.first = own.First
	var err error
	for p := own.First; p < own.End && err == nil; p++ {
		var s Segment
		if s, err = segment(p); err == nil {
			err = r.parcels.putAll(p, s)
		}
	}
	return r.parcels.deliver(err)
}

// Segment is the records of Pass of a location.
type Segment interface {
	io.ReaderAt
	Size() int64
	Drop()
}

// putAll takes the segment of the next location of this rank and drops it. If this rank has all slabs, records stay in the segment.
func (x *parcels) putAll(p trace.P, s Segment) error {
	alone := x.end-x.own == x.slabs.count()
	if alone {
		x.kept = append(x.kept, s)
	} else {
		defer s.Drop()
	}
	var head [4 + parcelHead]byte
	for at, n := int64(0), int64(0); at < s.Size(); at += n {
		if err := readFull(s, head[:], at); err != nil {
			return err
		}
		at += 4
		n = int64(binary.LittleEndian.Uint32(head[:]))
		slab := int(binary.LittleEndian.Uint32(head[4:])) / x.kinds
		if n < parcelHead || n > s.Size()-at || slab >= x.slabs.count() || binary.LittleEndian.Uint32(head[8:]) != uint32(p) {
			return ErrDamaged
		}
		if alone {
			if err := x.keep(head[4:], n-parcelHead, ^(at + parcelHead)); err != nil {
				return err
			}
			continue
		}
		x.read = slices.Grow(x.read[:0], int(n))[:n]
		if err := readFull(s, x.read, at); err != nil {
			return err
		}
		if err := x.put(x.read); err != nil {
			return err
		}
	}
	return nil
}

// Begin begins a location, whose records go to sink.
func (w *Pass) Begin(p trace.P, l *Location, sink xtf.Sink) {
	w.slots.clear()
	w.p, w.of, w.begun, w.sink, w.met.met = p, l, false, sink, w.met.met[:0]
	w.rows.done, w.rows.inside, w.region, w.slab.k = 0, false, trace.Undefined, 0
	w.script.begin(p)
	w.beginLine()
}

// Message takes the next message of the location.
func (w *Pass) Message(m *xtf.Message) {
	w.held++
	w.script.message(m)
}

// Collective takes the next collective of the location.
func (w *Pass) Collective(c *xtf.Collective) {
	w.held++
	w.script.collective(c)
	w.met.add(c)
	w.jumpToSender(c)
}

// Wait takes the next wait of the location. It ignores waits that no other location caused.
func (w *Pass) Wait(x *xtf.Wait) {
	if x.T >= x.End || x.End == xtf.Never || uint64(x.CauseP) >= uint64(w.run.Defs.NumLocations()) || trace.P(x.CauseP) == w.p {
		return
	}
	w.held++
	*w.rows.push() = *x
	if x.Pattern&xtf.WaitPatternMask != xtf.WaitEarlyReduce {
		w.jump(x.End, x.CauseP)
	}
}

// To says that all messages, collectives and waits of the location that begin before instant t have come.
func (w *Pass) To(t uint64) error {
	if w.held < w.most {
		return nil
	}
	return w.advance(t, false)
}

// End ends the location.
func (w *Pass) End() error {
	if err := w.advance(xtf.Never, true); err != nil {
		return err
	}
	w.line.enterIntervals(xtf.Never)
	w.line.enterCalls(xtf.Never)
	w.line.device.around(xtf.Never)
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

// advance writes the time line up to instant t, or up to the end.
func (w *Pass) advance(t uint64, last bool) error {
	if t == 0 {
		return nil
	}
	w.held = 0
	x := &w.line
	if !w.begun {
		w.begun = true
		x.begin(w.of, w.run, w.script, &w.slots, w.onDevice())
	}
	for {
		more, err := w.nextLimit()
		if err != nil {
			return err
		}
		if more {
			stop := w.slab.limit
			if !last {
				stop = min(stop, t)
			}
			for x.until < stop {
				w.add(x.until - x.at)
				x.enter(x.until)
			}
			if more = last || w.slab.limit < t; more && x.at < w.slab.limit {
				w.add(w.slab.limit - x.at)
				if x.at = w.slab.limit; x.at == x.until {
					x.enter(x.at)
				}
			}
		}
		if !more {
			w.script.rowsBefore(x.at, xtf.Never)
			met := x.at
			if w.rows.more() {
				met = min(met, w.rows.head().T)
			}
			w.met.pass(met)
			return nil
		}
	}
}

// settle begins and ends waits at the current instant. Waits of a location must not overlap.
func (w *Pass) settle() error {
	for w.rows.more() && w.rows.head().T <= w.line.at {
		row := w.rows.head()
		if !w.rows.inside {
			if row.T < w.line.at {
				return fmt.Errorf("%w: waits of location %d overlap at %d", ErrDamaged, w.p, w.line.at)
			}
			w.rows.inside = true
		}
		if row.End > w.line.at {
			return nil
		}
		if err := w.endWait(row); err != nil {
			return err
		}
	}
	return nil
}

// endWait ends the current wait.
func (w *Pass) endWait(row *xtf.Wait) error {
	if w.rows.done >= mostWaits {
		return fmt.Errorf("location %d waits more than %d times", w.p, uint64(mostWaits))
	}
	met := w.met.last(trace.P(row.CauseP), row.T)
	k := w.run.Slabs.at(row.End)
	w.waits.at(uint32(w.p), k)
	x := slabWait{p: w.p, cause: trace.P(row.CauseP), pattern: row.Pattern, index: w.rows.done, begin: row.T, end: row.End, since: met}
	w.waits.buf = x.append(w.waits.buf, w.run.Slabs.start(k))
	w.rows.inside = false
	w.rows.done++
	w.rows.pop()
	return nil
}

// nextLimit sets slab.limit, up to which pieces go from here; more is false at the end of the run.
func (w *Pass) nextLimit() (more bool, err error) {
	at, last, ends := w.line.at, w.run.Last, w.run.Slabs.Ends
	if err := w.settle(); err != nil || at >= last && !w.rows.more() {
		return false, err
	}
	if w.slab.k < len(ends) && at >= ends[w.slab.k] {
		w.nextSlab()
	}
	w.slab.limit = xtf.Never
	if at < last {
		w.slab.limit = last
	}
	switch {
	case w.rows.inside:
		w.slab.limit = min(w.slab.limit, w.rows.head().End)
	case w.rows.more():
		w.slab.limit = min(w.slab.limit, w.rows.head().T)
	}
	if w.slab.k < len(ends) {
		w.slab.limit = min(w.slab.limit, ends[w.slab.k])
	}
	return true, nil
}

// add writes a piece of the current state of the time line.
func (w *Pass) add(ticks uint64) {
	if len(w.out.buf) >= parcelBlock {
		w.out.at(uint32(w.p), w.slab.k)
	}
	b := w.out.buf
	if w.line.region != w.region {
		w.region = w.line.region
		b = varint.Append(b, uint64(pieceWaits), uint64(w.region))
	}
	s, flags := &w.slots.list[w.line.slot], uint32(0)
	if w.rows.inside {
		flags = pieceWaits
		w.slots.list[0].total += ticks
	} else {
		s.total += ticks
	}
	if s.number > 0 {
		b = binary.AppendUvarint(b, uint64(s.number<<pieceBits|flags))
	} else {
		w.next++
		s.number = w.next
		b = varint.Append(b, uint64(w.next<<pieceBits|flags), s.key, uint64(s.node))
	}
	w.out.buf = binary.AppendUvarint(b, ticks)
}

// nextSlab ends the time line in a slab and begins it in the next one.
func (w *Pass) nextSlab() {
	if w.rows.inside {
		w.out.at(uint32(w.p), w.slab.k)
		w.out.buf = varint.Append(w.out.buf, 0, w.rows.head().T)
	}
	w.slab.k++
	w.beginLine()
}

// beginLine writes the head of the time line in the current slab.
func (w *Pass) beginLine() {
	w.out.at(uint32(w.p), w.slab.k)
	w.next, w.region = 0, trace.Undefined
	slots := w.slots.list[1:]
	for i := range slots {
		if slots[i].number = 0; slots[i].total > 0 {
			w.next++
			slots[i].number = w.next
		}
	}
	w.out.buf = varint.Append(w.out.buf, w.rows.done, w.slots.list[0].total, uint64(w.next))
	for i := range slots {
		if s := &slots[i]; s.total > 0 {
			w.out.buf = varint.Append(w.out.buf, s.key, uint64(s.node), s.total)
		}
	}
}

// jump writes that the critical path can go over to another location at an instant.
func (w *Pass) jump(end uint64, cause uint32) {
	w.jumps.at(uint32(w.p), w.run.Slabs.at(end))
	w.jumps.buf = varint.Append(w.jumps.buf, end, uint64(cause))
}

// jumpToSender writes the jump to the last sender of an N-to-1 operation whose root is the location.
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

// outside reports whether a region initializes MPI, which does not count as a wait.
func (w *Pass) outside(region uint32) bool {
	r := w.run.Defs.Region(region)
	return r != nil && w.run.Defs.Class(r)&trace.ClassInit != 0
}

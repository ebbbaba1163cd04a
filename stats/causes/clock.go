package causes

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Clocks repairs clocks that run apart, with a controlled logical clock: R. Rabenseifner, The controlled logical clock, PDP 1997; for
// collectives as logical messages D. Becker, R. Rabenseifner, F. Wolf, J. Linford, Scalable timestamp synchronization for event traces
// of message-passing applications, Parallel Computing 35 (2009).
//
// The call that completes a receive must not end before the call of its send is entered. A member of a collective that gets bytes must
// not leave before those members have entered that it depends on (see Ideal) and that give bytes. Nobody must leave a barrier before all
// have entered. alltoallv and alltoallw set no condition, because their bytes are not known by pairs. Where a leave violates this, it
// is raised to the enter that it needs. After that the location's clock is ahead. It is slowed down to 127/128 until it agrees with the
// trace again (forward amortisation): an instant t after a correction from t0 to t0' becomes max(t, t0' + floor((t - t0) * 127 / 128)).
// No event moves back, the order of the events of a location stays, and no violation is left.
//
// In the rows that Location takes, CallN is the number of the event at which the operation ends. Memory: that of Replay, and 3 KiB per
// location. The storage holds 24 bytes for each correction.
type Clocks struct {
	Replay
	script *replayScript
	place  []clockPlace // by own location
}

// ClockReport counts the corrections of a location.
type ClockReport struct {
	Corrections uint64
	Greatest    uint64 // most ticks by which an event was raised
}

// Run finds the corrections of all locations. If locations wait for each other in a cycle, the report has a Deadlock, and corrections are
// not complete. failed is an error of Location on this rank. Collective.
func (r *Clocks) Run(failed error) (*ReplayReport, error) {
	defer r.parcels.drop()
	if err := r.parcels.deliver(failed); err != nil {
		return nil, err
	}
	own := r.Ranges[r.Comm.Rank()]
	f, err := r.run()
	if err != nil {
		return nil, err
	}
	r.place = make([]clockPlace, own.Len())
	sorter := r.Storage.Sorter(fixedBytes, fixedKey)
	box := newOutbox(r.Comm, &r.Storage, sorter.Add)
	for i := range f.runs {
		for _, x := range f.runs[i].fixed {
			var b [fixedBytes]byte
			binary.BigEndian.PutUint32(b[:], x.p)
			binary.BigEndian.PutUint64(b[4:], x.c.event)
			x.c.append(b[:fixedKey])
			if perr := box.put(rankOf(r.Ranges, trace.P(x.p)), b[:]); err == nil {
				err = perr
			}
		}
	}
	if err := box.deliver(err); err != nil {
		return nil, err
	}
	return f.report, r.Comm.Agree(r.keep(sorter, own.First))
}

// NewClocks prepares the repair: first Location for each location of this rank, then Run.
func NewClocks(r *Run) *Clocks {
	r.parcels = newParcels(r.Comm, &r.Storage, r.Slabs, passKinds)
	return &Clocks{Replay: Replay{Run: r, clocks: true}, script: newScript(r.Defs, true, r.parcels.writer)}
}

// Abandon frees the storage instead of Run.
func (r *Clocks) Abandon() { r.parcels.drop() }

// Rows are the messages and collectives of a location, each kind in its order. A row is valid until the next call.
type Rows interface {
	NextMessage() *xtf.Message       // nil after the last one
	NextCollective() *xtf.Collective // the same
	Err() error
}

// Location makes the steps of a location from its rows.
func (r *Clocks) Location(p trace.P, rows Rows) error {
	s := r.script
	s.begin(p)
	m, c := rows.NextMessage(), rows.NextCollective()
	for m != nil || c != nil {
		t := xtf.Never
		if m != nil {
			t = m.T
		}
		if c != nil && c.T < t {
			t = c.T
		}
		for ; m != nil && m.T <= t; m = rows.NextMessage() {
			s.message(m)
		}
		for ; c != nil && c.T <= t; c = rows.NextCollective() {
			s.collective(c)
		}
		s.rowsBefore(t, xtf.Never)
	}
	return cmp.Or(rows.Err(), s.end())
}

// A correction on its way to its location is p u32, event u64, big-endian, the key by which it is sorted, then as it is stored.
const (
	fixedKey   = 12
	fixedBytes = fixedKey + correctionBytes
)

// keep stores the corrections of this rank's locations.
func (r *Clocks) keep(s Sorter, first trace.P) error {
	rows, err := s.Sort()
	if err != nil {
		return err
	}
	defer rows.Close()
	var x correction
	for rows.Next() {
		w := &r.place[trace.P(binary.BigEndian.Uint32(rows.Row()))-first]
		x.load(rows.Row()[fixedKey:])
		w.report.Corrections++
		w.report.Greatest = max(w.report.Greatest, x.raised-x.t)
		if w.buf = x.append(w.buf); len(w.buf) >= correctionBlock*correctionBytes {
			if err := w.flush(&r.Storage); err != nil {
				return err
			}
		}
	}
	for i := range r.place {
		if err := r.place[i].flush(&r.Storage); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Map returns the repaired clock of this rank's i-th location.
func (r *Clocks) Map(i int) (*ClockMap, ClockReport) {
	w := &r.place[i]
	return &ClockMap{scratch: w.stored, left: w.report.Corrections}, w.report
}

// Drop frees the storage of this rank's i-th location.
func (r *Clocks) Drop(i int) {
	if s := r.place[i].stored; s != nil {
		s.Drop()
	}
	r.place[i] = clockPlace{}
}

// correction raises an event, and those after it, from t to raised, in ticks.
//
//	event u64 | t u64 | raised u64     little-endian
type correction struct{ event, t, raised uint64 }

const (
	correctionBytes = 24
	correctionBlock = 128 // corrections stored at once
)

func (c *correction) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, c.event)
	b = binary.LittleEndian.AppendUint64(b, c.t)
	return binary.LittleEndian.AppendUint64(b, c.raised)
}

func (c *correction) load(b []byte) {
	_ = b[correctionBytes-1]
	c.event, c.t, c.raised = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
}

// at returns the repaired instant t after the correction. The zero correction changes nothing.
func (c *correction) at(t uint64) uint64 {
	if t < c.t {
		return max(t, c.raised)
	}
	d := t - c.t
	slow := d - d/128
	if d%128 != 0 {
		slow--
	}
	if slow > math.MaxUint64-c.raised {
		return math.MaxUint64
	}
	return max(t, c.raised+slow)
}

// clockPlace is the corrections of one location.
type clockPlace struct {
	report ClockReport
	buf    []byte
	stored Scratch
}

func (w *clockPlace) flush(st *Storage) error {
	if len(w.buf) == 0 {
		return nil
	}
	if w.stored == nil {
		w.stored = st.Scratch()
	}
	_, err := w.stored.Append(w.buf)
	w.buf = w.buf[:0]
	return err
}

// clockStep does one step of a location, false if it has to wait.
func (f *flow) clockStep(p uint32, x *walker) bool {
	o := x.op
	switch o.kind {
	case stepCall:
		x.enter, x.leave, x.need = o.t, o.key, 0
	case stepResume:
		if f.guess {
			x.enter, x.leave, x.need = o.t, o.key, 0
		}
	case stepSend:
		f.give(valueKey{o.peer, 0, o.key}, instant{x.last.at(o.t), o.t})
	case stepEnter:
		f.enter(p, o, instant{x.last.at(o.t), o.t})
	case stepAttend:
		f.enter(p, o, instant{})
	case stepNeed:
		v, ok := f.receive(p, valueKey{p, 0, o.key})
		if !ok {
			return false
		}
		x.need = max(x.need, v.v)
	case stepResult, stepIgnore:
		v, ok := f.result(p, o)
		if !ok {
			return false
		}
		if o.kind == stepResult {
			x.need = max(x.need, v.v)
		}
	case stepLeave:
		if x.need > x.last.at(x.leave) {
			x.last = correction{o.key, x.leave, x.need}
			f.run.fixed = append(f.run.fixed, placed{p, x.last})
		}
	}
	return true
}

// ClockMap maps the times of a location's events.
type ClockMap struct {
	scratch   Scratch
	off       int64
	left      uint64 // corrections not in buf
	buf       []byte
	now, next correction
	more      bool // next is valid
}

// At returns the repaired time of an event at t, in ticks. Events and times must not decrease from call to call.
func (m *ClockMap) At(event, t uint64) (uint64, error) {
	for {
		if !m.more {
			if err := m.read(); err != nil {
				return 0, err
			}
		}
		if !m.more || m.next.event > event {
			return m.now.at(t), nil
		}
		m.now, m.more = m.next, false
	}
}

// read loads the next correction, if there is one.
func (m *ClockMap) read() error {
	if len(m.buf) == 0 {
		if m.left == 0 {
			return nil
		}
		m.buf = make([]byte, min(m.left, correctionBlock)*correctionBytes)
		if _, err := m.scratch.ReadAt(m.buf, m.off); err != nil && err != io.EOF {
			return fmt.Errorf("corrections of a clock: %w", err)
		}
		m.off += int64(len(m.buf))
		m.left -= uint64(len(m.buf) / correctionBytes)
	}
	m.next.load(m.buf)
	m.buf, m.more = m.buf[correctionBytes:], true
	return nil
}

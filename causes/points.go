package causes

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// point is a synchronisation point of a pair of locations: the end of a wait of
// one of them for the other, as either sees it.
type point struct {
	p, partner trace.P // who sees it, and the other one
	end        uint64  // when the late one arrives
	delays     bool    // the partner waited, p is late
	index      uint64  // number of the wait among those of the waiting location
	begin      uint64  // of the wait
	pattern    uint32
}

// A stored point is, big-endian, p u32, partner u32, end u64, delays u8, index u64,
// which is its key, then begin u64, pattern u32.
const (
	pointBytes = 37
	pointKey   = 25
)

func (x *point) put(b []byte) {
	_ = b[pointBytes-1]
	binary.BigEndian.PutUint32(b[0:], uint32(x.p))
	binary.BigEndian.PutUint32(b[4:], uint32(x.partner))
	binary.BigEndian.PutUint64(b[8:], x.end)
	b[16] = 0
	if x.delays {
		b[16] = 1
	}
	binary.BigEndian.PutUint64(b[17:], x.index)
	binary.BigEndian.PutUint64(b[25:], x.begin)
	binary.BigEndian.PutUint32(b[33:], x.pattern)
}

func (x *point) load(b []byte) {
	_ = b[pointBytes-1]
	x.p = trace.P(binary.BigEndian.Uint32(b[0:]))
	x.partner = trace.P(binary.BigEndian.Uint32(b[4:]))
	x.end = binary.BigEndian.Uint64(b[8:])
	x.delays = b[16] != 0
	x.index = binary.BigEndian.Uint64(b[17:])
	x.begin = binary.BigEndian.Uint64(b[25:])
	x.pattern = binary.BigEndian.Uint32(b[33:])
}

// Kinds of steps, in the order in which those of one instant are taken.
const (
	stepDelay uint8 = iota // the vector of the late side of a wait, at its end
	stepWait               // the vector of the waiting side, at the wait's begin
	stepSync               // the pair has synchronised: a new instant to count from
)

// step is something that a location does at an instant of its walk for a pair.
type step struct {
	p       trace.P
	at      uint64
	kind    uint8
	partner trace.P
	index   uint64
	since   uint64 // the pair's previous synchronisation point, 0 for the start; to be released by stepSync
	begin   uint64 // of the wait
	end     uint64 // of the wait
	pattern uint32 // of the wait; of stepSync: 1 if the pair will synchronise again
}

// A stored step is, big-endian, p u32, at u64, kind u8, partner u32, index u64,
// which is its key, then since, begin, end u64, pattern u32.
const (
	stepBytes = 53
	stepKey   = 25
)

func (x *step) put(b []byte) {
	_ = b[stepBytes-1]
	binary.BigEndian.PutUint32(b[0:], uint32(x.p))
	binary.BigEndian.PutUint64(b[4:], x.at)
	b[12] = x.kind
	binary.BigEndian.PutUint32(b[13:], uint32(x.partner))
	binary.BigEndian.PutUint64(b[17:], x.index)
	binary.BigEndian.PutUint64(b[25:], x.since)
	binary.BigEndian.PutUint64(b[33:], x.begin)
	binary.BigEndian.PutUint64(b[41:], x.end)
	binary.BigEndian.PutUint32(b[49:], x.pattern)
}

func (x *step) load(b []byte) {
	_ = b[stepBytes-1]
	x.p = trace.P(binary.BigEndian.Uint32(b[0:]))
	x.at = binary.BigEndian.Uint64(b[4:])
	x.kind = b[12]
	x.partner = trace.P(binary.BigEndian.Uint32(b[13:]))
	x.index = binary.BigEndian.Uint64(b[17:])
	x.since = binary.BigEndian.Uint64(b[25:])
	x.begin = binary.BigEndian.Uint64(b[33:])
	x.end = binary.BigEndian.Uint64(b[41:])
	x.pattern = binary.BigEndian.Uint32(b[49:])
}

// exchangePoints tells every location of this rank its synchronisation points,
// those of its own waits and those of waits for it. Collective.
func (d *delays) exchangePoints() (Sorter, error) {
	points := d.run.Storage.Sorter(pointBytes, pointKey)
	var row [pointBytes]byte
	box := newOutbox(d.run, points.Add)
	var err error
	for p := d.own.First; p < d.own.End && err == nil; p++ {
		err = d.eachWait(p, func(x *point) error {
			x.put(row[:])
			if err := points.Add(row[:]); err != nil {
				return err
			}
			seen := *x
			seen.p, seen.partner, seen.delays = x.partner, x.p, true
			seen.put(row[:])
			return box.put(seen.p, row[:])
		})
	}
	if err = box.deliver(err); err != nil {
		return nil, err
	}
	d.report.Bytes += box.sent
	latest := []int64{int64(min(d.latest, math.MaxInt64))}
	err = d.run.Comm.AllreduceInt64(latest, mpi.Max)
	d.latest = uint64(latest[0])
	return points, err
}

// eachWait passes the waits of a location that have a cause.
func (d *delays) eachWait(p trace.P, f func(x *point) error) error {
	c, err := d.run.Waits(p)
	if err != nil {
		return err
	}
	rows := newCauseRows(c, p, d.locations())
	var x point // once: it is on the heap
	for ; rows.more; rows.next() {
		w := &rows.row
		if rows.n >= mostWaits {
			return fmt.Errorf("location %d waits more than %d times", p, uint64(mostWaits))
		}
		d.report.Waits++
		d.latest = max(d.latest, w.End)
		d.report.add(&d.report.Ticks, w.End-w.T)
		x = point{p: p, partner: trace.P(w.CauseP), end: w.End, index: rows.n, begin: w.T, pattern: w.Pattern}
		if err := f(&x); err != nil {
			return err
		}
	}
	return rows.err()
}

// plan turns the points of each pair into the steps of both locations' walks: a
// vector counts from the last instant at which the pair synchronised before.
func (d *delays) plan(points Sorter) (Sorter, error) {
	steps := d.run.Storage.Sorter(stepBytes, stepKey)
	rows, err := points.Sort()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var row [stepBytes]byte
	var x, before point
	var since uint64 // the pair's last instant before that of before
	sync := func(again bool) error {
		s := step{p: before.p, at: before.end, kind: stepSync, partner: before.partner, since: since}
		if again {
			s.pattern = 1
		}
		s.put(row[:])
		return steps.Add(row[:])
	}
	any := false
	for rows.Next() {
		x.load(rows.Row())
		pair := any && x.p == before.p && x.partner == before.partner
		if any && (!pair || x.end != before.end) {
			if err := sync(pair); err != nil {
				return nil, err
			}
		}
		switch {
		case !pair:
			since = 0
		case x.end != before.end:
			since = before.end
		}
		any, before = true, x
		s := step{p: x.p, at: x.begin, kind: stepWait, partner: x.partner, index: x.index, since: since, begin: x.begin, end: x.end, pattern: x.pattern}
		if x.delays {
			s.at, s.kind = x.end, stepDelay
		} else if x.begin < since {
			d.report.Reversed++
		}
		s.put(row[:])
		if err := steps.Add(row[:]); err != nil {
			return nil, err
		}
	}
	if any {
		err = sync(false)
	}
	if err == nil {
		err = rows.Err()
	}
	return steps, err
}

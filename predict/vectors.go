package predict

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/trace"
)

// Vectors are the computation vectors of a rank's processes, in ticks: entry i is the time between call i-1 and call i, or the
// first event where there is none, or the last event. What a call without actions took belongs to the entry before it.
//
// They are simnet's Calc, in ps, rounded down once for each entry. Memory: 32 bytes a process, and 1 byte for each 7 bits of an
// entry.
type Vectors struct {
	first      uint32
	resolution uint64 // ticks a second
	list       []vector
	bound      uint64 // ticks: largest possible error of a process's sum
}

// vector is one process's entries, as varints.
type vector struct {
	bytes   []byte
	entries uint64
	next    uint64 // entry that Fill expects
	at      int    // its place
}

func newVectors(first, end uint32, resolution uint64) *Vectors {
	return &Vectors{first: first, resolution: max(resolution, 1), list: make([]vector, end-first)}
}

// add walks through a location; calls is how many the program has of it.
func (v *Vectors) add(process uint32, l *ccg.Location, roles []ccg.Role, calls uint64) error {
	x := &v.list[process-v.first]
	s := l.Stretches(roles)
	var buf [512]uint64
	for {
		n, err := s.Next(buf[:])
		if err != nil {
			return err
		}
		for _, t := range buf[:n] {
			x.bytes = binary.AppendUvarint(x.bytes, t)
		}
		x.entries += uint64(n)
		if n < len(buf) {
			break
		}
	}
	if x.entries != calls+1 {
		return fmt.Errorf("process %d: %d entries of computation for %d calls: %w", process, x.entries, calls, ccg.ErrCorrupt)
	}
	v.bound = max(v.bound, l.Bound(uint64(lastTime(l)-l.First())))
	return nil
}

// lastTime returns the time of a location's last event.
func lastTime(l *ccg.Location) trace.Time {
	c := l.Cursor()
	if err := c.SeekEvent(l.Events()); err != nil {
		return l.First()
	}
	return c.Time()
}

// Entries returns the length of a process's vector.
func (v *Vectors) Entries(process uint32) uint64 { return v.list[process-v.first].entries }

// Bound returns how far the sum of a vector may be from the truth at most, ticks; 0 if the graph is exact.
func (v *Vectors) Bound() uint64 { return v.bound }

// Ticks writes entries first, first+1, ... to dst, as Fill does, in ticks.
func (v *Vectors) Ticks(process uint32, first uint64, dst []uint64) error {
	x := &v.list[process-v.first]
	if err := x.seek(first); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = x.take()
	}
	return nil
}

// Fill writes entries first, first+1, ... to dst, in ps. Calls for one process come from one goroutine at a time; those that
// go on where the last one ended, or begin at 0, cost nothing but their entries.
func (v *Vectors) Fill(process uint32, first uint64, dst []int64) error {
	x := &v.list[process-v.first]
	if err := x.seek(first); err != nil {
		return err
	}
	for i := range dst {
		ps, ok := picoseconds(x.take(), v.resolution)
		if !ok {
			return fmt.Errorf("process %d, entry %d: %w", process, first+uint64(i), ErrTooLong)
		}
		dst[i] = ps
	}
	return nil
}

// seek goes to an entry.
func (x *vector) seek(first uint64) error {
	if first > x.entries {
		return fmt.Errorf("entry %d of %d", first, x.entries)
	}
	if first < x.next {
		x.next, x.at = 0, 0
	}
	for x.next < first {
		x.take()
	}
	return nil
}

// take returns the next entry, 0 behind the last.
func (x *vector) take() uint64 {
	if x.next >= x.entries {
		return 0
	}
	x.next++
	if b := x.bytes[x.at]; b < 0x80 {
		x.at++
		return uint64(b)
	}
	t, n := binary.Uvarint(x.bytes[x.at:])
	x.at += n
	return t
}

// picoseconds converts ticks, rounded down; false if that is 2^63 ps or more.
func picoseconds(ticks, resolution uint64) (int64, bool) {
	hi, lo := bits.Mul64(ticks, PicosecondClock)
	if hi >= resolution {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, resolution)
	return int64(q), q <= math.MaxInt64
}

// Sum returns the sum of a process's vector, ticks. It cannot overflow: it is part of a time of the run.
func (v *Vectors) Sum(process uint32) (uint64, error) {
	x := v.list[process-v.first]
	x.next, x.at = 0, 0
	var sum uint64
	for x.next < x.entries {
		sum += x.take()
	}
	return sum, nil
}

package predict

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/trace"
)

// Vectors are the computation vectors of a rank's processes, in ticks: entry i is the time from call i-1 (or the first event) to call i
// (or the last event). The time of a call is not computation. If the network simulates nothing of the call, or only its waits for others,
// its time without these is stored next to the entry before it, see Kept.
//
// Vectors are a simnet.Calc, in ps, rounded down once for each entry. Memory: 80 bytes for each process; an entry takes 1 byte for each 7
// bits of its value and a flag. With segments the entries are there, and 512 bytes are in memory for each process that is read.
type Vectors struct {
	first uint32
	tick  platform.Scale // length of a tick, ps
	out   Segments
	list  []vector
	bound uint64 // ticks: largest possible error of the sum of a process
	kept  bool   // entries are kept times instead of computation
}

// vector is the entries of one process as varints: twice the computation, plus 1 if the time of the call follows.
type vector struct {
	bytes   []byte // all, or those that were read from segments
	from    io.Reader
	entries uint64
	next    uint64 // next entry
	at      int    // its position in bytes
	own     uint64 // kept time of the call before that
	waits   uint64 // time that the last call waited for others, see [Input.meet]
}

// windowBytes is how much of a vector in segments is read at a time.
const windowBytes = 512

// add adds the vector of a location with this many calls. Kept times are without the waits. It returns the kept time of the last call, and
// the time after it.
func (v *Vectors) add(process uint32, l *ccg.Location, roles []ccg.Role, waits [][2]uint64, calls uint64) (took, after uint64, err error) {
	x := &v.list[process-v.first]
	s := l.Stretches(roles, waits)
	var buf, own [512]uint64
	for next := uint64(0); ; {
		n, err := s.Next(buf[:], own[:])
		if err != nil {
			return 0, 0, err
		}
		for i, t := range buf[:n] {
			took, next, after = next, own[i], t
			if t > math.MaxInt64 {
				return 0, 0, fmt.Errorf("process %d, entry %d: %w", process, x.entries+uint64(i), ErrTooLong)
			}
			if own[i] == 0 {
				x.bytes = binary.AppendUvarint(x.bytes, t<<1)
				continue
			}
			x.bytes = binary.AppendUvarint(x.bytes, t<<1|1)
			x.bytes = binary.AppendUvarint(x.bytes, own[i])
		}
		x.entries += uint64(n)
		if v.out != nil {
			if err := v.out.Append(process, x.bytes); err != nil {
				return 0, 0, err
			}
			x.bytes = x.bytes[:0]
		}
		if n < len(buf) {
			break
		}
	}
	if v.out != nil {
		x.bytes = nil
	}
	if x.entries != calls+1 {
		return 0, 0, fmt.Errorf("process %d: %d entries of computation for %d calls: %w", process, x.entries, calls, graph.ErrCorrupt)
	}
	v.bound = max(v.bound, l.Bound(uint64(lastTime(l)-l.First())))
	return took, after, nil
}

// lastTime returns the time of a location's last event.
func lastTime(l *ccg.Location) trace.Time {
	c := l.Cursor()
	if err := c.SeekEvent(l.Events()); err != nil {
		return l.First()
	}
	return c.Time()
}

// Kept returns vectors with the kept times of calls instead of computation: entry i is the time of call i-1 without waits if the network
// simulates nothing else of it, and 0 for other calls. It can be read independently of v.
func (v *Vectors) Kept() *Vectors {
	k := *v
	k.kept, k.list = true, slices.Clone(v.list)
	for i := range k.list {
		x := &k.list[i]
		if x.next, x.at, x.own = 0, 0, 0; k.out != nil {
			x.bytes, x.from = nil, nil
		}
	}
	return &k
}

// Entries returns the length of a process's vector.
func (v *Vectors) Entries(process uint32) uint64 { return v.list[process-v.first].entries }

// shareBound sets the bound to the maximum of all ranks.
func (v *Vectors) shareBound(c mpi.Comm) error {
	b := []int64{int64(min(v.bound, math.MaxInt64))}
	err := c.AllreduceInt64(b, mpi.Max)
	v.bound = uint64(b[0])
	return err
}

// Bytes returns the memory of the vectors.
func (v *Vectors) Bytes() int64 {
	n := int64(0)
	for i := range v.list {
		n += int64(cap(v.list[i].bytes))
	}
	return n
}

// Bound returns the largest possible error of the sum of a process's vector, in ticks; 0 if the graph is exact.
func (v *Vectors) Bound() uint64 { return v.bound }

// Ticks writes entries first, first+1, ... to dst, as Fill does, in ticks.
func (v *Vectors) Ticks(process uint32, first uint64, dst []uint64) error {
	x, err := v.seek(process, first)
	if err != nil {
		return err
	}
	for i := range dst {
		if dst[i], err = v.take(x); err != nil {
			return err
		}
	}
	return nil
}

// Fill writes entries first, first+1, ... to dst, in ps. Only one goroutine at a time may call it for a process. A call that continues
// where the last one ended, or begins at 0, does not search.
func (v *Vectors) Fill(process uint32, first uint64, dst []int64) error {
	x, err := v.seek(process, first)
	if err != nil {
		return err
	}
	for i := range dst {
		t, err := v.take(x)
		if err != nil {
			return err
		}
		ps, ok := v.tick.Checked(t)
		if !ok {
			return fmt.Errorf("process %d, entry %d: %w", process, first+uint64(i), ErrTooLong)
		}
		dst[i] = ps
	}
	return nil
}

// Sum returns the sum of a process's vector in ticks. It cannot overflow, because it is part of a time of the run.
func (v *Vectors) Sum(process uint32) (uint64, error) {
	x, err := v.seek(process, 0)
	if err != nil {
		return 0, err
	}
	var sum uint64
	for x.next < x.entries {
		t, err := v.take(x)
		if err != nil {
			return 0, err
		}
		sum += t
	}
	return sum, nil
}

// seek moves to an entry of a process.
func (v *Vectors) seek(process uint32, first uint64) (*vector, error) {
	x := &v.list[process-v.first]
	if first < x.next || first == 0 {
		x.next, x.at, x.own = 0, 0, 0
		if v.out != nil {
			r, err := v.out.Reader(process)
			if err != nil {
				return nil, err
			}
			x.from, x.bytes = r, x.bytes[:0]
		}
	}
	for x.next < min(first, x.entries) {
		if _, _, err := x.take(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// take returns the next entry of a process, 0 after the last one.
func (v *Vectors) take(x *vector) (uint64, error) {
	t, own, err := x.take()
	if v.kept {
		t = own
	}
	return t, err
}

// take returns the next entry, and the kept time of the call before it.
func (x *vector) take() (t, own uint64, err error) {
	if x.next >= x.entries {
		return 0, 0, nil
	}
	if len(x.bytes)-x.at < 2*binary.MaxVarintLen64 && x.from != nil {
		if err := x.refill(); err != nil {
			return 0, 0, err
		}
	}
	x.next++
	t, n := binary.Uvarint(x.bytes[x.at:])
	if n > 0 && t&1 != 0 {
		x.at += n
		own, n = binary.Uvarint(x.bytes[x.at:])
	}
	if n <= 0 {
		return 0, 0, fmt.Errorf("a vector ends before entry %d: %w", x.next-1, io.ErrUnexpectedEOF)
	}
	x.at += n
	if x.next == x.entries-1 {
		own -= min(x.waits, own)
	}
	own, x.own = x.own, own
	return t >> 1, own, nil
}

func (x *vector) refill() error {
	if cap(x.bytes) < windowBytes {
		x.bytes = append(make([]byte, 0, windowBytes), x.bytes...)
	}
	n := copy(x.bytes, x.bytes[x.at:])
	more, err := io.ReadFull(x.from, x.bytes[n:windowBytes])
	x.bytes, x.at = x.bytes[:n+more], 0
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		x.from, err = nil, nil
	}
	return err
}

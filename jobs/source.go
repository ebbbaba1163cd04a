package jobs

import (
	"encoding/binary"
	"errors"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// OpenTrace opens a trace on all ranks: rank 0 reads the anchor and the global
// definitions, the others get the bytes. Collective.
func OpenTrace(c mpi.Comm, path string, clampTime bool) (trace.Source, error) {
	var b []byte
	var err error
	if c.Rank() == 0 {
		var f *otf2.Files
		if f, err = otf2.Load(path); err == nil {
			b = packFiles(f)
		}
	}
	if err := agree(c, err); err != nil {
		return nil, err
	}
	if b, err = c.Bcast(b, 0); err != nil {
		return nil, err
	}
	f, err := unpackFiles(b)
	var a *otf2.Archive
	if err == nil {
		a, err = otf2.Open(f.Path, f.Anchor, f.Defs)
	}
	if err := agree(c, err); err != nil {
		return nil, err
	}
	a.ClampTime(clampTime)
	return a, nil
}

func packFiles(f *otf2.Files) []byte {
	var b []byte
	for _, part := range [][]byte{[]byte(f.Path), f.Anchor, f.Defs} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

func unpackFiles(b []byte) (*otf2.Files, error) {
	var parts [3][]byte
	for i := range parts {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return nil, errors.New("the definitions arrived damaged from rank 0")
		}
		parts[i], b = b[w:w+int(n):w+int(n)], b[w+int(n):]
	}
	return &otf2.Files{Path: string(parts[0]), Anchor: parts[1], Defs: parts[2]}, nil
}

// Size is what the ranks found out about the trace together.
type Size struct {
	Weights []uint64   // bytes to read of each location
	Events  uint64     // announced by the data, 0 where they do not tell
	Bytes   uint64     // sum of Weights
	Largest uint64     // of Weights
	Longest uint64     // events of the location that has most, as announced
	Origin  trace.Time // the trace's earliest time
}

// MeasureTrace looks at every location without decoding it; each rank takes an
// equal share. Memory: 8 bytes per location on every rank. Collective.
func MeasureTrace(c mpi.Comm, src trace.Source) (*Size, error) {
	n := src.Definitions().NumLocations()
	lo, hi := n*c.Rank()/c.Size(), n*(c.Rank()+1)/c.Size()
	const noFirst = 1<<63 - 1
	events, first, longest := []int64{0}, []int64{noFirst}, []int64{0}
	own := make([]byte, 0, 8*(hi-lo))
	var err error
	for p := lo; p < hi && err == nil; p++ {
		var x trace.Extent
		if x, err = src.Measure(trace.P(p)); err != nil {
			break
		}
		own = binary.LittleEndian.AppendUint64(own, x.Bytes)
		events[0] += int64(min(x.Events, 1<<40))
		longest[0] = max(longest[0], int64(min(x.Events, 1<<40)))
		if x.HasFirst && uint64(x.First) < noFirst {
			first[0] = min(first[0], int64(x.First))
		}
	}
	if err := agree(c, err); err != nil {
		return nil, err
	}
	parts, err := c.Allgather(own)
	if err == nil {
		err = c.AllreduceInt64(events, mpi.Sum)
	}
	if err == nil {
		err = c.AllreduceInt64(first, mpi.Min)
	}
	if err == nil {
		err = c.AllreduceInt64(longest, mpi.Max)
	}
	if err != nil {
		return nil, err
	}
	s := &Size{Events: uint64(events[0]), Longest: uint64(longest[0])}
	for _, b := range parts {
		for ; len(b) >= 8; b = b[8:] {
			w := binary.LittleEndian.Uint64(b)
			s.Weights = append(s.Weights, w)
			s.Bytes += w
			s.Largest = max(s.Largest, w)
		}
	}
	s.Origin = origin(src.Definitions().Clock(), trace.Time(first[0]), first[0] != noFirst)
	return s, nil
}

// origin is the instant that becomes tick 0: the clock's global offset, unless
// an event lies before it or the trace has no clock.
func origin(clock trace.ClockProperties, first trace.Time, known bool) trace.Time {
	if !known {
		return trace.Time(clock.GlobalOffset)
	}
	if clock.TimerResolution == 0 || trace.Time(clock.GlobalOffset) > first {
		return first
	}
	return trace.Time(clock.GlobalOffset)
}

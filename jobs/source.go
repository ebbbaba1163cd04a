package jobs

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/trace/paraver"
	"github.com/coppice-hpc/coppice/trace/recording"
	"github.com/coppice-hpc/coppice/xtf"
)

// OpenTrace opens a trace on all ranks. Rank 0 reads the files that describe the whole trace, and the others get the bytes: of an archive
// the anchor and the global definitions; a Paraver trace rank 0 reads once. Collective.
func OpenTrace(c mpi.Comm, path string) (trace.Source, error) {
	b, err := FromRank(c, 0, func() ([]byte, error) { return loadInput(path) })
	if err != nil {
		return nil, err
	}
	src, err := openInput(b)
	return src, Agree(c, err)
}

// OpenPath opens a trace for one process.
func OpenPath(path string) (trace.Source, error) {
	b, err := loadInput(path)
	if err != nil {
		return nil, err
	}
	return openInput(b)
}

// Formats of an input, the first byte of what loadInput returns.
const (
	otf2Input byte = iota
	paraverInput
	recordingInput
)

// loadInput reads the files that describe a whole trace.
func loadInput(path string) ([]byte, error) {
	if recording.Is(path) {
		b, err := recording.Load(path)
		return PackParts(recordingInput, []byte(path), b), err
	}
	is, err := isParaver(path)
	if err != nil {
		return nil, err
	}
	if is {
		f, err := paraver.Load(path)
		if err != nil {
			return nil, err
		}
		return PackParts(paraverInput, []byte(f.Path), f.Head, f.Names, f.Rows, f.Index), nil
	}
	f, err := otf2.Load(path)
	if err != nil {
		return nil, err
	}
	return PackParts(otf2Input, []byte(f.Path), f.Anchor, f.Defs), nil
}

// openInput makes a source of the bytes of loadInput.
func openInput(b []byte) (trace.Source, error) {
	format, parts, err := UnpackParts(b)
	switch {
	case err != nil:
		return nil, err
	case format == otf2Input && len(parts) == 3:
		return otf2.Open(string(parts[0]), parts[1], parts[2])
	case format == recordingInput && len(parts) == 2:
		return recording.Open(string(parts[0]), parts[1])
	case format == paraverInput && len(parts) == 5:
		return paraver.Open(&paraver.Files{Path: string(parts[0]), Head: parts[1], Names: parts[2], Rows: parts[3], Index: parts[4]})
	}
	return nil, errPacked
}

// isParaver reports whether a regular file begins as a Paraver trace does. Other files are left to the reader of archives.
func isParaver(path string) (bool, error) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return paraver.Recognise(head[:n]), nil
}

// PackParts joins byte strings, each after a varint: its length + 1, or 0 for nil.
func PackParts(format byte, parts ...[]byte) []byte {
	b := []byte{format}
	for _, part := range parts {
		if part == nil {
			b = append(b, 0)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(part))+1)
		b = append(b, part...)
	}
	return b
}

var errPacked = errors.New("the definitions arrived damaged from rank 0")

// UnpackParts is the inverse of PackParts.
func UnpackParts(b []byte) (format byte, parts [][]byte, err error) {
	if len(b) == 0 {
		return 0, nil, errPacked
	}
	r := varint.Read(b[1:])
	for r.Len() > 0 {
		if n := r.Next(); n == 0 {
			parts = append(parts, nil)
		} else {
			parts = append(parts, r.Bytes(n-1))
		}
		if r.Failed() {
			return 0, nil, errPacked
		}
	}
	return b[0], parts, nil
}

// Size is the size of a trace.
type Size struct {
	Weights []uint64   // by location: bytes to read
	Events  uint64     // as announced by the data, 0 for unknown
	Bytes   uint64     // sum of Weights
	Largest uint64     // of Weights
	Longest uint64     // events of the location with most, as announced
	Origin  trace.Time // the instant of tick 0
}

// MeasureTrace measures all locations without decoding them, each rank an equal share. Memory: 8 bytes per location on every rank, eight
// times that meanwhile. Collective.
func MeasureTrace(c mpi.Comm, src trace.Source) (*Size, error) {
	n := src.Definitions().NumLocations()
	lo, hi := n*c.Rank()/c.Size(), n*(c.Rank()+1)/c.Size()
	s := &Size{}
	own := make([]byte, 0, 24*(hi-lo))
	var err error
	for p := lo; p < hi && err == nil; p++ {
		var x trace.Extent
		if x, err = src.Measure(trace.P(p)); err != nil {
			break
		}
		if !x.HasFirst {
			x.First = trace.Time(trace.Undefined64)
		}
		own = AppendWords(own, x.Bytes, x.Events, uint64(x.First))
	}
	parts, gerr := c.Allgather(own)
	var firsts []trace.Time
	for x := TakeWords[uint64](parts...); len(x) >= 3; x = x[3:] {
		if x[2] < 1<<63 {
			firsts = append(firsts, trace.Time(x[2]))
		}
		s.Weights = append(s.Weights, x[0])
		s.Bytes += x[0]
		s.Largest = max(s.Largest, x[0])
		events := min(x[1], 1<<40)
		s.Events += events
		s.Longest = max(s.Longest, events)
	}
	if gerr != nil || len(s.Weights) < n { // a rank failed
		return nil, Agree(c, errors.Join(err, gerr))
	}
	s.Origin = origin(src.Definitions().Clock(), firsts, xtf.Most(n))
	return s, nil
}

// origin returns the instant that becomes tick 0: the clock's global offset; but the first event if that is before the offset or more than
// most/2 ticks after it, or if there is no clock. firsts are the first times of all locations. One that is more than most ticks before the
// median is damaged, and ignored: otherwise all others would be left out.
func origin(clock trace.ClockProperties, firsts []trace.Time, most uint64) trace.Time {
	offset := trace.Time(clock.GlobalOffset)
	if len(firsts) == 0 {
		return offset
	}
	slices.Sort(firsts)
	middle := firsts[(len(firsts)-1)/2]
	first := firsts[slices.IndexFunc(firsts, func(t trace.Time) bool { return uint64(middle-t) <= most })]
	if clock.TimerResolution == 0 || offset > first || uint64(first-offset) > most/2 {
		return first
	}
	return offset
}

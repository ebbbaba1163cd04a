package predict

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// Segments keeps what is appended for each process of a rank, in memory or in files. Different processes may be appended at
// once.
type Segments interface {
	Append(process uint32, b []byte) error
	// Reader reads all that was appended.
	Reader(process uint32) (io.Reader, error)
}

// Times writes the simulated times of calls to segments, two a call, each as its distance from the one before: 6 to 8 bytes a
// call where calls are microseconds apart. It is a [simnet.Observer].
type Times struct {
	out   Segments
	first uint32
	last  []int64  // of each process
	calls []uint64 // of each process
	pool  sync.Pool
}

// NewTimes returns an observer for so many processes from the first one on.
func NewTimes(out Segments, first uint32, processes int) *Times {
	return &Times{out: out, first: first, last: make([]int64, processes), calls: make([]uint64, processes), pool: sync.Pool{New: func() any { return new([]byte) }}}
}

// Calls implements [simnet.Observer].
func (t *Times) Calls(process uint32, first uint64, times []int64) error {
	k := process - t.first
	if uint64(process) < uint64(t.first) || int(k) >= len(t.last) || t.calls[k] != first || len(times)%2 != 0 {
		return fmt.Errorf("process %d: times of %d calls from number %d on", process, len(times)/2, first)
	}
	buf := t.pool.Get().(*[]byte)
	defer t.pool.Put(buf)
	b, last := (*buf)[:0], t.last[k]
	for _, x := range times {
		if x < last {
			return fmt.Errorf("process %d: time %d ps after %d ps", process, x, last)
		}
		b = binary.AppendUvarint(b, uint64(x-last))
		last = x
	}
	t.last[k] = last
	t.calls[k] += uint64(len(times) / 2)
	*buf = b
	return t.out.Append(process, b)
}

// Finish appends the ends of the processes.
func (t *Times) Finish(r *simnet.Result) error {
	if r.First != t.first || len(r.Times) != len(t.last) {
		return fmt.Errorf("a result of %d processes from number %d on, times of %d from number %d on", len(r.Times), r.First, len(t.last), t.first)
	}
	for k := range r.Times {
		end := r.Times[k].Finish
		if end < t.last[k] {
			return fmt.Errorf("process %d ends at %d ps, before its last call at %d ps", t.first+uint32(k), end, t.last[k])
		}
		if err := t.out.Append(t.first+uint32(k), binary.AppendUvarint(nil, uint64(end-t.last[k]))); err != nil {
			return err
		}
	}
	return nil
}

// timeReader reads the times of one process, its end last.
type timeReader struct {
	from *bufio.Reader
	last int64
}

func newTimeReader(out Segments, process uint32) (*timeReader, error) {
	r, err := out.Reader(process)
	if err != nil {
		return nil, err
	}
	return &timeReader{from: bufio.NewReaderSize(r, 4096)}, nil
}

// next returns the next time, io.EOF after the last.
func (r *timeReader) next() (int64, error) {
	gap, err := binary.ReadUvarint(r.from)
	if err != nil {
		return 0, err
	}
	r.last += int64(gap)
	return r.last, nil
}

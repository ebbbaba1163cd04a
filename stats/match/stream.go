package match

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/xtf"
)

// Stream writes small rows in their order.
type Stream struct {
	sink xtf.Sink // nil: nobody wants them
	rows []byte
	err  error
}

// To returns a stream to a sink that uses the memory of this one.
func (s *Stream) To(sink xtf.Sink) Stream { return Stream{sink: sink, rows: s.rows[:0]} }

// streamBlock is how many bytes of rows are written at once.
const streamBlock = 16 << 10

// added is called after each row.
func (s *Stream) added() {
	if len(s.rows) >= streamBlock || s.sink == nil {
		s.write()
	}
}

func (s *Stream) write() {
	if len(s.rows) > 0 && s.err == nil && s.sink != nil {
		if _, err := s.sink.Append(s.rows); err != nil {
			s.err = fmt.Errorf("small rows: %w", err)
		}
	}
	s.rows = s.rows[:0]
}

// AddRow adds a row.
func (s *Stream) AddRow(row []byte) error {
	s.rows = append(s.rows, row...)
	s.added()
	return s.err
}

// Add adds a row of values, u64 little-endian.
func (s *Stream) Add(values ...uint64) {
	for _, v := range values {
		s.rows = binary.LittleEndian.AppendUint64(s.rows, v)
	}
	s.added()
}

// Flush writes what is left.
func (s *Stream) Flush() error {
	s.write()
	return s.err
}

// spanBytes is the size of a span of time: begin and end u64, little-endian.
const spanBytes = 16

// stayReader looks up stays of a location. Memory: a block of them.
type stayReader struct {
	data  io.ReaderAt
	n     uint64
	first uint64 // of the block
	block []byte
	err   error
}

// stayBlock is the number of stays that are read at once.
const stayBlock = 64

func (s *stayReader) at(i uint64) (enter, leave uint64) {
	if i < s.first || i >= s.first+uint64(len(s.block)/spanBytes) {
		s.first = i
		size := int(min(s.n-i, stayBlock)) * spanBytes
		s.block = slices.Grow(s.block[:0], size)[:size]
		if _, err := s.data.ReadAt(s.block, int64(i)*spanBytes); err != nil && err != io.EOF {
			s.err = fmt.Errorf("stays in MPI: %w", err)
		}
	}
	b := s.block[(i-s.first)*spanBytes:]
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
}

// after returns when the location, which is in MPI at an instant or not, is out of it
// from then on, and when it is back; Never where it is not back. Stays before the
// first one do not count.
func (s *stayReader) after(first, t uint64) (out, back uint64) {
	low, high := first, first // stays below low have ended by t, that of high has not
	for step := uint64(1); high < s.n; step *= 2 {
		if _, leave := s.at(high); leave > t {
			break
		}
		low = high + 1
		high = min(low+step, s.n)
	}
	i := low + uint64(sort.Search(int(high-min(low, high)), func(k int) bool {
		_, leave := s.at(low + uint64(k))
		return leave > t
	}))
	out, back = t, xtf.Never
	if i < s.n {
		enter, leave := s.at(i)
		if enter > t {
			return t, enter
		}
		out = leave
		if i+1 < s.n {
			back, _ = s.at(i + 1)
		}
	}
	return out, back
}

// received says for the sender of a message, which sends from an instant on, when its
// receive was posted, or, with the flag entryPosted, when its receiver was out of MPI
// after that instant; and when the receiver was back.
func (m *matcher) received(e *entry, sent uint64) (post, ready uint64, flags uint32) {
	posted := e.posted()
	post, ready = max(posted, sent), e.T
	if posted <= sent {
		flags = entryPosted
	}
	if s := m.stays[e.p]; s != nil && post < e.T {
		out, back := s.after(min(e.Stay, s.n), post)
		post, ready = out, min(ready, back)
		m.fail(s.err)
	}
	return post, ready, flags
}

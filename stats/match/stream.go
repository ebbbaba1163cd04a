package match

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/xtf"
)

// Stream collects small rows and writes them to a sink in blocks of streamBlock bytes.
type Stream struct {
	sink xtf.Sink // nil: rows are dropped
	rows []byte
	err  error
}

// To returns a stream to another sink, in the memory of this one.
func (s *Stream) To(sink xtf.Sink) Stream { return Stream{sink: sink, rows: s.rows[:0]} }

// streamBlock is how many bytes of rows are written at once.
const streamBlock = 16 << 10

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

// AddRow adds an encoded row.
func (s *Stream) AddRow(row []byte) error {
	s.rows = append(s.rows, row...)
	s.added()
	return s.err
}

// Add adds a row of u64, little-endian.
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

// spanBytes is the size of a stay: enter and leave u64, ticks, little-endian.
const spanBytes = 16

// stayReader looks up stays of a location, the spans of time that it was in MPI, ascending. Memory: stayBlock of them.
type stayReader struct {
	data  io.ReaderAt
	n     uint64
	first uint64 // number of the first stay in block
	block []byte
	err   error
}

// stayBlock is the number of stays read at once.
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

// after returns the first instant from t on at which the location is out of MPI, and when it comes back; Never if it does not.
// The search begins at stay number first.
func (s *stayReader) after(first, t uint64) (out, back uint64) {
	low, high := first, first // stays below low ended by t, stay high did not
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

// received returns what the sender of a message, who began to send at sent, learns of its receive e: post, the first instant from
// sent and from the posting on at which the receiver was out of MPI; ready, when it was back in MPI, at the latest in the call that
// completes the receive; and entryPosted if it had posted the receive by sent.
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

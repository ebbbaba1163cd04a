package match

import (
	"encoding/binary"
	"fmt"

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

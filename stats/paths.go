package stats

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/xtf"
)

// rowStream writes small rows in their order.
type rowStream struct {
	sink xtf.Sink // nil: nobody wants them
	rows []byte
	err  error
}

// to returns a stream to a sink that uses the memory of this one.
func (s *rowStream) to(sink xtf.Sink) rowStream { return rowStream{sink: sink, rows: s.rows[:0]} }

// streamBlock is how many bytes of rows are written at once.
const streamBlock = 16 << 10

// added is called after each row.
func (s *rowStream) added() {
	if len(s.rows) >= streamBlock || s.sink == nil {
		s.write()
	}
}

func (s *rowStream) write() {
	if len(s.rows) > 0 && s.err == nil && s.sink != nil {
		if _, err := s.sink.Append(s.rows); err != nil {
			s.err = fmt.Errorf("small rows: %w", err)
		}
	}
	s.rows = s.rows[:0]
}

// addRow adds a row.
func (s *rowStream) addRow(row []byte) error {
	s.rows = append(s.rows, row...)
	s.added()
	return s.err
}

// add adds a row of values, u64 little-endian.
func (s *rowStream) add(values ...uint64) {
	for _, v := range values {
		s.rows = binary.LittleEndian.AppendUint64(s.rows, v)
	}
	s.added()
}

// flush writes what is left.
func (s *rowStream) flush() error {
	s.write()
	return s.err
}

// path returns the call path of a region that is called now.
func (l *Loader) path(region uint32) uint32 {
	parent := uint32(0)
	if top := len(l.stack) - 1; top >= 0 {
		parent = l.stack[top].path
	}
	return l.paths.Child(parent, region)
}

// innermostPath is the call path of the outermost open MPI call, or else of the
// innermost call.
func (l *Loader) innermostPath() uint32 {
	switch {
	case l.mpi.depth > 0:
		return l.mpi.path
	case len(l.stack) > 0:
		return l.stack[len(l.stack)-1].path
	}
	return 0
}

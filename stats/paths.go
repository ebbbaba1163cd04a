package stats

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/xtf"
)

// pathStream is the call paths of staged rows, in their order: u32 each.
type pathStream struct {
	sink xtf.Sink
	rows []byte
	err  error
}

// pathBlock is how many bytes of paths are written at once.
const pathBlock = 16 << 10

func (s *pathStream) add(path uint32) {
	if s.sink == nil {
		return
	}
	if s.rows = binary.LittleEndian.AppendUint32(s.rows, path); len(s.rows) >= pathBlock {
		s.write()
	}
}

func (s *pathStream) write() {
	if len(s.rows) == 0 || s.err != nil {
		return
	}
	if _, err := s.sink.Append(s.rows); err != nil {
		s.err = fmt.Errorf("call paths: %w", err)
	}
	s.rows = s.rows[:0]
}

// flush writes what is left.
func (s *pathStream) flush() error {
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

package stats

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// stagedBytes is how many bytes of staged rows are written at once: they stay in the first level cache.
const stagedBytes = 16 << 10

// stage keeps rows of one location in the order of their T until their partners
// are known. The newest rows stay in memory, where late fields can be filled, until
// settle says that there are none. Memory: stagedBytes, and the rows of one call or marker.
type stage struct {
	sink  xtf.Appender
	width int
	rows  []byte // the newest ones
	base  uint64 // number of the first of them
	n     uint64 // number of rows
	err   error
}

// to returns an empty stage in the memory of s.
func (s *stage) to(sink xtf.Appender, width int) stage {
	return stage{sink: sink, width: width, rows: s.rows[:0]}
}

func (s *stage) len() uint64 { return s.n }

// add appends a row of undefined content.
func (s *stage) add() (row []byte, n uint64) {
	at := len(s.rows)
	s.rows = slices.Grow(s.rows, s.width)[:at+s.width]
	s.n++
	return s.rows[at:], s.n - 1
}

// row gives a row that is still in memory, else nil.
func (s *stage) row(n uint64) []byte {
	if n < s.base || n >= s.n {
		return nil
	}
	return s.rows[int(n-s.base)*s.width:][:s.width]
}

// settle says that the fields of all rows are filled.
func (s *stage) settle() {
	if len(s.rows) >= stagedBytes {
		s.finish()
	}
}

// finish writes what is left.
func (s *stage) finish() error {
	if s.err == nil && len(s.rows) > 0 {
		if _, err := s.sink.Append(s.rows); err != nil {
			s.err = fmt.Errorf("staging rows: %w", err)
		}
	}
	s.rows, s.base = s.rows[:0], s.n
	return s.err
}

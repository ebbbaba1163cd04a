package stats

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/xtf"
)

// stageBlock is the number of staged rows that are written at once. One block
// and the one being filled stay in memory for late fields.
const stageBlock = 4096

// stage keeps rows of one location in the order of their T until their partners
// are known. The newest rows stay in memory, in blocks, where late fields can be
// filled; older blocks go to the sink. Memory: two blocks, or as many as the
// rows of one call fill.
type stage struct {
	sink   xtf.Sink
	width  int
	blocks [][]byte // of stageBlock rows each, the last one filling
	base   uint64   // number of the first row in blocks
	n      uint64   // number of rows
	spare  []byte   // an empty block, for the next location in the end
	err    error
}

func (s *stage) len() uint64 { return s.n }

// add appends a row of undefined content; rows from keep on must stay in memory.
func (s *stage) add(keep uint64) (row []byte, n uint64) {
	at := int(s.n-s.base) % stageBlock
	if at == 0 {
		s.grow(keep)
	}
	n = s.n
	s.n++
	last := len(s.blocks) - 1
	b := s.blocks[last]
	if len(b) == cap(b) {
		b = append(make([]byte, 0, min(4*cap(b), stageBlock*s.width)), b...)
	}
	b = b[:(at+1)*s.width]
	s.blocks[last] = b
	return b[at*s.width:], n
}

// grow begins a block. The oldest one makes room for it when another full one
// stays and none of its rows is waited for.
func (s *stage) grow(keep uint64) {
	if len(s.blocks) >= 2 && keep >= s.base+stageBlock {
		oldest := s.blocks[0]
		s.write(oldest)
		s.base += stageBlock
		s.blocks = append(slices.Delete(s.blocks, 0, 1), oldest[:0])
		return
	}
	b := s.spare
	s.spare = nil
	if b == nil {
		b = make([]byte, 0, stageBlock/64*s.width)
	}
	s.blocks = append(s.blocks, b)
}

// row gives a row that is still in memory, else nil.
func (s *stage) row(n uint64) []byte {
	if n < s.base || n >= s.n {
		return nil
	}
	i := int(n - s.base)
	b := s.blocks[i/stageBlock]
	i %= stageBlock
	return b[i*s.width : (i+1)*s.width]
}

func (s *stage) write(b []byte) {
	if s.err != nil || len(b) == 0 {
		return
	}
	if _, err := s.sink.Append(b); err != nil {
		s.err = fmt.Errorf("staging rows: %w", err)
	}
}

// finish writes what is left.
func (s *stage) finish() error {
	for _, b := range s.blocks {
		s.write(b)
		s.spare = b[:0]
	}
	s.blocks, s.base = nil, s.n
	return s.err
}

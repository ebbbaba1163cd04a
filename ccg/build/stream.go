package build

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// stream decodes a stream of a location block by block. The first block has one value, the others MarkEvery, so that the sums of whole
// blocks of gaps are marks.
type stream struct {
	src   []byte   // not yet decoded
	block []uint64 // decoded
	at    int      // index in block of the next value
	sum   uint64   // of block
	bad   bool     // the stream was too short
	buf   [graph.MarkEvery]uint64
}

// next returns the next value, or 0 if there is none.
func (s *stream) next() uint64 {
	if s.at == len(s.block) {
		s.fill()
	}
	s.at++
	return s.block[s.at-1]
}

// take returns all values of the next block, or nil if there is none.
func (s *stream) take() []uint64 {
	if s.at = len(s.block); !s.fill() {
		return nil
	}
	s.at = len(s.block)
	return s.block
}

// left returns the last values of a block that take has returned to the stream.
func (s *stream) left(v []uint64) { s.at = len(s.block) - len(v) }

// fill decodes the next block. If there is none, it returns false and makes a block of one 0.
func (s *stream) fill() bool {
	block := s.buf[:]
	if s.block == nil {
		block = s.buf[:1]
	}
	src, sum, n := s.src, uint64(0), 0
	for n < len(block) && len(src) > 0 {
		v, size := uint64(src[0]), 1
		switch {
		case v < 0x80:
		case len(src) > 1 && src[1] < 0x80:
			v, size = v&0x7F|uint64(src[1])<<7, 2
		default:
			if v, size = binary.Uvarint(src); size <= 0 {
				n, src = 0, nil
				continue
			}
		}
		block[n] = v
		sum += v
		src = src[size:]
		n++
	}
	if s.src, s.at, s.sum, s.bad = src, 0, sum, n == 0; s.bad {
		s.buf[0], n = 0, 1
	}
	s.block = s.buf[:n]
	return !s.bad
}

// errShort says that the structure needs more values than a stream has.
var errShort = fmt.Errorf("streams shorter than the structure: %w", graph.ErrCorrupt)

// finished returns an error if values are left.
func (s *stream) finished() error {
	if s.at < len(s.block) || len(s.src) > 0 {
		return fmt.Errorf("streams longer than the structure: %w", graph.ErrCorrupt)
	}
	return nil
}

package build

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/ccg/graph"
)

// stream decodes one stream of a location, a block at a time: the first value by itself, then markEvery values, so that the
// sums of whole blocks of gaps are marks.
type stream struct {
	src   []byte   // not decoded
	block []uint64 // decoded
	at    int      // next of block
	sum   uint64   // of block
	bad   bool     // the stream was too short
	buf   [graph.MarkEvery]uint64
}

// next takes the next value, 0 where there is none.
func (s *stream) next() uint64 {
	if s.at == len(s.block) {
		s.fill()
	}
	s.at++
	return s.block[s.at-1]
}

// take takes all values of the next block, nil if there are none.
func (s *stream) take() []uint64 {
	if s.at = len(s.block); !s.fill() {
		return nil
	}
	s.at = len(s.block)
	return s.block
}

// left gives back values that take gave last.
func (s *stream) left(v []uint64) { s.at = len(s.block) - len(v) }

// fill decodes the next block; false, and a zero in its place, if there is none.
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

// errShort says that the structure needs more than a stream has.
var errShort = fmt.Errorf("streams shorter than the structure: %w", graph.ErrCorrupt)

// finished returns an error unless all was taken.
func (s *stream) finished() error {
	if s.at < len(s.block) || len(s.src) > 0 {
		return fmt.Errorf("streams longer than the structure: %w", graph.ErrCorrupt)
	}
	return nil
}

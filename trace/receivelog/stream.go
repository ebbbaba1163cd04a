package receivelog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

const (
	blockBytes = 1 << 20
	headBytes  = 32
	roomBytes  = blockBytes - headBytes // bytes of the stream in a block
)

var (
	// ErrNotLog says that a file is not a receive log.
	ErrNotLog = errors.New("not a receive log")
	// ErrVersion says that this version of coppice does not read a log of that version.
	ErrVersion = errors.New("version of the receive log is not supported")
	// ErrCorrupt says that a log was changed, or is not what the recorder writes.
	ErrCorrupt = errors.New("corrupt receive log")
	// ErrCut says that a log has no End record: the process was killed, or the disk was full.
	ErrCut = errors.New("the receive log is cut")
)

var (
	magic      = [8]byte{'C', 'P', 'R', 'L', 'O', 'G', '1', 0}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Recognise reports whether a file that begins with head is a receive log of any version.
func Recognise(head []byte) bool { return len(head) >= 6 && [6]byte(head[:6]) == [6]byte(magic[:6]) }

// stream reads the contents of the blocks, one block after the other.
type stream struct {
	file   io.ReaderAt
	size   int64
	block  []byte // the current block, head included
	rest   []byte // what is not read yet of it
	next   int64  // number of the next block
	offset uint64 // of rest in the stream
	calls  uint64 // begun before the current block, as its head says
	last   bool   // the current block is not full: none follows
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// turn reads and checks the next block: io.EOF if there is none, ErrCut if it is not whole.
func (s *stream) turn() error {
	at := s.next * blockBytes
	if at >= s.size {
		return io.EOF
	}
	if s.last {
		return corrupt("bytes after the last block")
	}
	n := min(blockBytes, s.size-at)
	if s.block == nil {
		s.block = make([]byte, n)
	}
	s.block = s.block[:n]
	if got, err := s.file.ReadAt(s.block, at); int64(got) < n {
		return fmt.Errorf("block %d: %w", s.next, err)
	}
	if err := s.head(); err != nil {
		return err
	}
	s.next++
	return nil
}

func (s *stream) head() error {
	b := s.block
	switch {
	case s.next == 0 && !Recognise(b):
		return ErrNotLog
	case len(b) < headBytes:
		return fmt.Errorf("%w in the head of block %d", ErrCut, s.next)
	case [8]byte(b) != magic && s.next == 0:
		return fmt.Errorf("%w: %q", ErrVersion, b[6:8])
	case [8]byte(b) != magic:
		return corrupt("block %d has no head", s.next)
	}
	length := uint64(binary.LittleEndian.Uint32(b[8:]))
	switch {
	case length == 0 || length > roomBytes:
		return corrupt("block %d has a length of %d bytes", s.next, length)
	case headBytes+length > uint64(len(b)):
		return fmt.Errorf("%w in block %d", ErrCut, s.next)
	case headBytes+length < uint64(len(b)):
		return corrupt("block %d: bytes after its end", s.next)
	case crc32.Checksum(b[16:], castagnoli) != binary.LittleEndian.Uint32(b[12:]):
		return corrupt("block %d: checksum mismatch", s.next)
	case binary.LittleEndian.Uint64(b[16:]) != uint64(s.next):
		return corrupt("block %d is in the place of block %d", binary.LittleEndian.Uint64(b[16:]), s.next)
	}
	s.calls = binary.LittleEndian.Uint64(b[24:])
	s.rest, s.last = b[headBytes:], length < roomBytes
	return nil
}

// left is the most that the stream can still hold.
func (s *stream) left() uint64 { return uint64(max(s.size-s.next*blockBytes, 0)) + uint64(len(s.rest)) }

func (s *stream) byte() (byte, error) {
	for len(s.rest) == 0 {
		if err := s.turn(); err != nil {
			return 0, err
		}
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	s.offset++
	return b, nil
}

// skip passes n bytes, and appends them to to unless that is nil.
func (s *stream) skip(n uint64, to *[]byte) error {
	for n > 0 {
		if len(s.rest) == 0 {
			if err := s.turn(); err != nil {
				return err
			}
		}
		part := min(n, uint64(len(s.rest)))
		if to != nil {
			*to = append(*to, s.rest[:part]...)
		}
		s.rest = s.rest[part:]
		s.offset += part
		n -= part
	}
	return nil
}

// body reads the body of a record, and nothing beyond it. After the first error, which stays, every read gives 0.
type body struct {
	*stream
	end uint64 // offset in the stream where the body ends
	err error
}

func (b *body) fail(format string, args ...any) {
	if b.err == nil {
		b.err = corrupt(format, args...)
	}
}

func (b *body) more() bool { return b.err == nil && b.offset < b.end }

func (b *body) byte() (c byte) {
	if b.more() {
		c, b.err = b.stream.byte()
		return c
	}
	b.fail("a record ends before its contents")
	return 0
}

// take passes n bytes, and appends them to to unless that is nil.
func (b *body) take(n uint64, to *[]byte) {
	if n > b.end-b.offset {
		b.fail("%d bytes in a record with %d left", n, b.end-b.offset)
	}
	if b.err == nil {
		b.err = b.skip(n, to)
	}
}

func (b *body) varint() (v uint64) {
	for shift := 0; ; shift += 7 {
		c := b.byte()
		if shift == 63 && c > 1 {
			b.fail("a number of more than 64 bits")
		}
		if b.err != nil {
			return 0
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
}

func (b *body) zigzag() int64 {
	v := b.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (b *body) text() string {
	var t []byte
	b.take(b.varint(), &t)
	return string(t)
}

func (b *body) real() float64 {
	t := make([]byte, 0, 8)
	if b.take(8, &t); b.err != nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(t))
}

package column

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Squeezer is the second stage: a general compressor over finished columns or
// tables, used only where it gains a tenth. It belongs to one goroutine.
//
//	raw bytes v | stored bytes v | stored bytes: a zstd frame if shorter than raw
type Squeezer struct {
	enc *zstd.Encoder
	buf []byte
}

// minSqueeze is the size below which a frame's head cannot pay.
const minSqueeze = 64

// NewSqueezer returns a Squeezer. Level and number of threads are fixed, so that
// equal input gives equal bytes.
func NewSqueezer() *Squeezer {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<17), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("column: options of the second stage: " + err.Error()) // they are constants
	}
	return &Squeezer{enc: enc}
}

// Append appends src, compressed if that saves a tenth.
func (s *Squeezer) Append(dst, src []byte) []byte {
	stored := src
	if len(src) >= minSqueeze {
		s.buf = s.enc.EncodeAll(src, s.buf[:0])
		if len(s.buf) <= len(src)-(len(src)+9)/10 {
			stored = s.buf
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(src)))
	dst = binary.AppendUvarint(dst, uint64(len(stored)))
	return append(dst, stored...)
}

// AppendPlain appends src as Append does, uncompressed.
func AppendPlain(dst, src []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(src)))
	dst = binary.AppendUvarint(dst, uint64(len(src)))
	return append(dst, src...)
}

// Unsqueezer reads what a Squeezer wrote. It belongs to one goroutine.
type Unsqueezer struct {
	limit uint64
	dec   *zstd.Decoder // made when the first compressed unit comes
}

// NewUnsqueezer returns an Unsqueezer that refuses units above limit bytes.
func NewUnsqueezer(limit uint64) *Unsqueezer { return &Unsqueezer{limit: limit} }

// Read returns the unit at the start of src and the bytes after it. The unit
// may share memory with src.
func (u *Unsqueezer) Read(src []byte) (unit, rest []byte, err error) {
	raw, src, ok := varint(src)
	if !ok {
		return nil, nil, fmt.Errorf("second stage: head cut: %w", ErrCorrupt)
	}
	stored, src, ok := varint(src)
	if !ok || stored > uint64(len(src)) || raw > u.limit || stored > raw {
		return nil, nil, fmt.Errorf("second stage: bad lengths: %w", ErrCorrupt)
	}
	data, rest := src[:stored], src[stored:]
	if stored == raw {
		return data, rest, nil
	}
	if u.dec == nil {
		if u.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(max(u.limit, 1<<20)), zstd.WithDecoderLowmem(true)); err != nil {
			panic("column: options of the second stage: " + err.Error())
		}
	}
	out, err := u.dec.DecodeAll(data, make([]byte, 0, min(raw, 64*stored+4096)))
	if err != nil || uint64(len(out)) != raw {
		return nil, nil, fmt.Errorf("second stage: frame of %d bytes does not give %d: %w", stored, raw, ErrCorrupt)
	}
	return out, rest, nil
}

// Close releases the decoder.
func (u *Unsqueezer) Close() {
	if u.dec != nil {
		u.dec.Close()
		u.dec = nil
	}
}

package column

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// TestDecodeBorders decodes blocks written by hand, each right at a border of what is allowed, and one step after it.
func TestDecodeBorders(t *testing.T) {
	cat := func(parts ...any) (b []byte) {
		for _, x := range parts {
			switch x := x.(type) {
			case int:
				b = append(b, byte(x))
			case uint64:
				b = binary.AppendUvarint(b, x)
			case Pipeline:
				b = append(b, byte(x))
			case []byte:
				b = append(b, x...)
			}
		}
		return b
	}
	// A block of codes with exceptions: pipeline, base, width, number of exceptions, each with index and upper bits, codes of the
	// lower bits. Three codes of 63 bits take 24 bytes (189 bits).
	codes := make([]byte, 24)
	for _, x := range []struct {
		name string
		src  []byte
		n    int
		want []uint64 // nil: corrupt
	}{
		{"as many exceptions as values", cat(Pfor, 10, 0, 3, 0, 1, 1, 2, 2, 3), 3, []uint64{11, 12, 13}},
		{"one exception more", cat(Pfor, 10, 0, 4, 0, 1, 1, 2, 2, 3, 3, 4), 3, nil},
		{"the last value", cat(Pfor, 10, 0, 1, 2, 5), 3, []uint64{10, 10, 15}},
		{"an index after it", cat(Pfor, 10, 0, 1, 3, 5), 3, nil},
		{"an index twice", cat(Pfor, 10, 0, 2, 1, 5, 1, 5), 3, nil},
		{"falling indexes", cat(Pfor, 10, 0, 2, 1, 5, 0, 5), 3, nil},
		{"an exception without its bits", cat(Pfor, 10, 0, 1, 2), 3, nil},
		{"bit 63", cat(Pfor, 0, 63, 1, 1, 1, codes), 3, []uint64{0, 1 << 63, 0}},
		{"bit 64", cat(Pfor, 0, 63, 1, 1, 2, codes), 3, nil},
		{"codes with exceptions and a byte less", cat(Pfor, 0, 63, 1, 1, 1, codes[:23]), 3, nil},
		{"codes of 64 bits", cat(For, 1, 64, codes), 3, []uint64{1, 1, 1}},
		{"of 65 bits", cat(For, 1, 65, codes, codes), 3, nil},
		{"of 64 bits and a byte less", cat(For, 1, 64, codes[:23]), 3, nil},
		{"index of 256 values takes one byte", cat(Pfor, 0, 0, 1, 255, 9), 256, append(make([]uint64, 255), 9)},
		{"of 257 values two", cat(Pfor, 0, 0, 1, 0, 1, 9), 257, append(make([]uint64, 256), 9)},
		{"first and differences of 2, no code has a bit", cat(DeltaFor, 7, ZigZag(2), 0), 3, []uint64{7, 9, 11}},
		{"a dictionary of half the values", cat(Dict, 2, 5, 3, 0b1001), 4, []uint64{8, 5, 5, 8}},
		{"of one more", cat(Dict, 2, 5, 3, 0b001), 3, nil},
		{"a code outside of the dictionary of 3", cat(Dict, 3, 5, 1, 1, 0b11_10_01_00, 0), 6, nil},
		{"the last of the dictionary of 3", cat(Dict, 3, 5, 1, 1, 0b10_10_01_00, 0), 6, []uint64{5, 6, 7, 7, 5, 5}},
		{"runs of 1 + 1 and 1 + 1", cat(RLE, 2, For, 4, 1, 0b10, Const, 1), 4, []uint64{4, 4, 5, 5}},
		{"runs of 1 + 2 and 1 + 2", cat(RLE, 2, For, 4, 1, 0b10, Const, 2), 4, nil},
		{"runs of 1 + 1 and 1 + 2", cat(RLE, 2, For, 4, 1, 0b10, For, 1, 1, 0b10), 4, nil},
		{"runs of 1 and 1", cat(RLE, 2, For, 4, 1, 0b10, Const, 0), 4, nil},
		{"8 bytes a value", cat(Raw, codes), 3, []uint64{0, 0, 0}},
		{"and a byte less", cat(Raw, codes[:23]), 3, nil},
		{"first 5, slope 3, differences 0", cat(Stride, 5, ZigZag(3), Const, 0), 3, []uint64{5, 8, 11}},
	} {
		dst := make([]uint64, x.n)
		if x.want == nil {
			if _, err := DecodeBlock(dst, x.src); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %d", x.name, dst)
			}
			continue
		}
		behind := []byte{0xEE}
		rest, err := DecodeBlock(dst, append(bytes.Clone(x.src), behind...))
		if err != nil || !slices.Equal(dst, x.want) || !bytes.Equal(rest, behind) {
			t.Errorf("%s: %d, %v, want %d", x.name, dst[:min(8, len(dst))], err, x.want[:min(8, len(x.want))])
		}
	}
}

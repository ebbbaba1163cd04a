package varint_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/internal/varint"
)

func TestNumbers(t *testing.T) {
	want := []uint64{0, 1, 127, 128, 1<<14 - 1, 1 << 14, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64}
	b := varint.Append([]byte("ab"), want...)
	r := varint.Read(b)
	if x, y := r.Byte(), r.Bytes(1); x != 'a' || string(y) != "b" || cap(y) != 1 {
		t.Errorf("bytes %q and %q", x, y)
	}
	for _, v := range want {
		if got := r.Next(); got != v {
			t.Errorf("%d instead of %d", got, v)
		}
	}
	if !r.Done() || r.Failed() || r.Len() != 0 {
		t.Errorf("done %v, failed %v, %d bytes left", r.Done(), r.Failed(), r.Len())
	}
}

// TestSameAsBinary compares with encoding/binary, for bytes of every length that a number can have.
func TestSameAsBinary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := make([]byte, rng.IntN(12))
		for i := range b {
			b[i] = byte(rng.UintN(256)) | 0x80
		}
		if len(b) > 0 {
			b[rng.IntN(len(b))] = byte(rng.UintN(4))
		}
		want, n := binary.Uvarint(b)
		r := varint.Read(b)
		if got := r.Next(); n > 0 && (got != want || r.Len() != len(b)-n) || r.Failed() != (n <= 0) {
			t.Fatalf("%x: %d and %d bytes left, instead of %d and %d", b, got, r.Len(), want, len(b)-n)
		}
	}
}

// TestFailure checks that each taker fails at what is cut or too large, and that nothing follows a failure.
func TestFailure(t *testing.T) {
	cut, long := []byte{0x80}, slices.Repeat([]byte{0xFF}, 11)
	for name, c := range map[string]struct {
		b    []byte
		take func(r *varint.Reader) bool // whether it took nothing
	}{
		"no number":      {nil, func(r *varint.Reader) bool { return r.Next() == 0 }},
		"cut number":     {cut, func(r *varint.Reader) bool { return r.Next() == 0 }},
		"65 bits":        {long, func(r *varint.Reader) bool { return r.Next() == 0 }},
		"above a limit":  {[]byte{8, 1}, func(r *varint.Reader) bool { return r.AtMost(7) == 0 }},
		"33 bits":        {varint.Append(nil, 1<<32), func(r *varint.Reader) bool { return r.Uint32() == 0 }},
		"no byte":        {nil, func(r *varint.Reader) bool { return r.Byte() == 0 }},
		"too few bytes":  {[]byte{1, 2}, func(r *varint.Reader) bool { return r.Bytes(3) == nil }},
		"all the memory": {varint.Append(nil, math.MaxUint64, 1), func(r *varint.Reader) bool { return r.Block() == nil }},
		"cut text":       {[]byte{3, 'a', 'b'}, func(r *varint.Reader) bool { return r.Text() == "" }},
		"long list":      {[]byte{2, 1, 1, 1}, func(r *varint.Reader) bool { return r.Count(2) == 0 }},
		"endless list":   {varint.Append(nil, math.MaxUint64, 1), func(r *varint.Reader) bool { return r.Count(1) == 0 }},
		"caller's word":  {[]byte{1}, func(r *varint.Reader) bool { r.Fail(); return true }},
	} {
		r := varint.Read(c.b)
		if !c.take(&r) || !r.Failed() || r.Done() || r.Len() != 0 {
			t.Errorf("%s: failed %v, done %v, %d bytes left", name, r.Failed(), r.Done(), r.Len())
		}
		if r.Next() != 0 || r.Byte() != 0 || r.Text() != "" || r.Count(1) != 0 || r.Bytes(0) != nil || !r.Failed() {
			t.Errorf("%s: something after the failure", name)
		}
	}
}

// TestLimits checks that what just fits is taken.
func TestLimits(t *testing.T) {
	r := varint.Read(append(varint.Append(nil, 7, math.MaxUint32, 2), 1, 1, 2, 'a', 'b', 0))
	if r.AtMost(7) != 7 || r.Uint32() != math.MaxUint32 || r.Count(3) != 2 || len(r.Bytes(2)) != 2 || r.Text() != "ab" ||
		len(r.Rest()) != 1 || r.Text() != "" || !r.Done() {
		t.Errorf("failed %v, %d bytes left", r.Failed(), r.Len())
	}
}

func Example() {
	b := append(varint.Append(nil, 300, 5), "graph"...)
	r := varint.Read(b)
	fmt.Println(r.Next(), r.Text(), r.Failed())
	// Output: 300 graph false
}

// BenchmarkRead reads numbers of which most take one byte, as those of ranks and segments do; "binary" is the bare loop.
func BenchmarkRead(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var src []byte
	const numbers = 4096
	for range numbers {
		src = varint.Append(src, rng.Uint64()>>(44+rng.UintN(20)))
	}
	sum := uint64(0)
	b.Run("reader", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(src)))
		for range b.N {
			for r := varint.Read(src); r.Len() > 0; {
				sum += r.Next()
			}
		}
	})
	b.Run("binary", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(src)))
		for range b.N {
			for rest := src; len(rest) > 0; {
				v, n := binary.Uvarint(rest)
				sum, rest = sum+v, rest[n:]
			}
		}
	})
	if sum == 0 {
		b.Fatal("nothing read")
	}
}

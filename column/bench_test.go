package column

import (
	"math/rand/v2"
	"testing"
)

// gapColumn looks like the gaps of one slot: a base, jitter, rare outliers.
func gapColumn(n int) []uint64 {
	r := rand.New(rand.NewPCG(9, 10))
	v := make([]uint64, n)
	for i := range v {
		v[i] = 12000 + uint64(r.IntN(500))
		if r.IntN(200) == 0 {
			v[i] += uint64(r.IntN(1 << 20))
		}
	}
	return v
}

func BenchmarkAppendBlock(b *testing.B) {
	var e Encoder
	v := gapColumn(64 * BlockSize)
	dst := make([]byte, 0, 16*BlockSize)
	b.SetBytes(8 * BlockSize)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		dst = e.AppendBlock(dst[:0], v[i*BlockSize:(i+1)*BlockSize])
		i = (i + 1) % 64
	}
}

// BenchmarkAppendBlockByPfor is encoding without the choice among pipelines.
func BenchmarkAppendBlockByPfor(b *testing.B) {
	var e Encoder
	v := gapColumn(64 * BlockSize)
	dst := make([]byte, 0, 16*BlockSize)
	b.SetBytes(8 * BlockSize)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		dst, _ = e.AppendBlockBy(dst[:0], v[i*BlockSize:(i+1)*BlockSize], Pfor)
		i = (i + 1) % 64
	}
}

func BenchmarkDecode(b *testing.B) {
	var e Encoder
	data := e.Append(nil, gapColumn(64*BlockSize))
	c, err := Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	var dst [BlockSize]uint64
	b.SetBytes(8 * BlockSize)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := c.Decode(i, dst[:]); err != nil {
			b.Fatal(err)
		}
		i = (i + 1) % 64
	}
}

func BenchmarkUnpack(b *testing.B) {
	v := gapColumn(BlockSize)
	src := append(pack(nil, v, 0, 20), make([]byte, 8)...)
	var dst [BlockSize]uint64
	b.SetBytes(8 * BlockSize)
	for b.Loop() {
		unpack(dst[:], src, 12000, 20)
	}
}

func BenchmarkWriter(b *testing.B) {
	var e Encoder
	var w Writer
	w.Init(&e)
	v := gapColumn(64 * BlockSize)
	var dst []byte
	b.SetBytes(8 * 64 * BlockSize)
	b.ReportAllocs()
	for b.Loop() {
		for _, x := range v {
			w.Add(x)
		}
		dst = w.AppendTo(dst[:0])
	}
}

func FuzzParse(f *testing.F) {
	var e Encoder
	r := rand.New(rand.NewPCG(11, 12))
	for range 40 {
		f.Add(e.Append(nil, randomColumn(r, 1+r.IntN(2500))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		if c.Verify() != nil {
			return
		}
		if c.Len() > 1<<20 {
			return
		}
		// what decodes must survive being encoded again
		v := make([]uint64, 0, c.Len())
		var k Cursor
		k.Init(&c)
		for range c.Len() {
			v = append(v, k.Next())
		}
		if k.Err() != nil {
			t.Fatal(k.Err())
		}
		checkColumn(t, e.Append(nil, v), v)
	})
}

func FuzzUnsqueeze(f *testing.F) {
	s := NewSqueezer()
	f.Add(s.Append(nil, make([]byte, 1000)))
	f.Add(s.Append(nil, []byte("short")))
	u := NewUnsqueezer(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte) {
		unit, rest, err := u.Read(data)
		if err == nil && (len(unit) > 1<<20 || len(rest) > len(data)) {
			t.Fatalf("%d bytes, rest %d of %d", len(unit), len(rest), len(data))
		}
	})
}

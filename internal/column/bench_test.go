package column

import (
	"math/rand/v2"
	"slices"
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

// noisyColumn looks like the gaps of a crowded machine: a clock of 10 ticks,
// lengths of three orders of magnitude.
func noisyColumn(n int) []uint64 {
	r := rand.New(rand.NewPCG(13, 14))
	v := make([]uint64, n)
	for i := range v {
		x := 7 + min(r.IntN(30), r.IntN(30))
		if r.IntN(20) == 0 {
			x <<= r.IntN(12)
		}
		v[i] = uint64(x) * 10015 / 1000
	}
	return v
}

func benchmarkAppend(b *testing.B, v []uint64, encode func(dst []byte, v []uint64) []byte) {
	dst := make([]byte, 0, 16*BlockSize)
	b.SetBytes(8 * BlockSize)
	b.ReportAllocs()
	i, size := 0, 0
	for b.Loop() {
		dst = encode(dst[:0], v[i*BlockSize:(i+1)*BlockSize])
		size += len(dst)
		i = (i + 1) % 64
	}
	b.ReportMetric(float64(size)/float64(b.N)/BlockSize, "B/value")
}

// BenchmarkAppendBlock is encoding with the choice among pipelines.
func BenchmarkAppendBlock(b *testing.B) {
	for _, c := range []struct {
		name string
		v    []uint64
		e    Encoder
	}{
		{"gaps", gapColumn(64 * BlockSize), Encoder{}},
		{"gaps-entropy", gapColumn(64 * BlockSize), Encoder{Entropy: true}},
		{"noisy", noisyColumn(64 * BlockSize), Encoder{}},
		{"noisy-entropy", noisyColumn(64 * BlockSize), Encoder{Entropy: true}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkAppend(b, c.v, c.e.AppendBlock) })
	}
}

// BenchmarkAppendBlockBy is encoding by a given pipeline.
func BenchmarkAppendBlockBy(b *testing.B) {
	for _, p := range []Pipeline{For, Pfor, Dict, Varbyte, Huffman} {
		b.Run(p.String(), func(b *testing.B) {
			var e Encoder
			v := gapColumn(64 * BlockSize)
			if p == Dict {
				v = noisyColumn(64 * BlockSize)
			}
			benchmarkAppend(b, v, func(dst []byte, v []uint64) []byte {
				dst, _ = e.appendBlockBy(dst, v, p)
				return dst
			})
		})
	}
}

func BenchmarkDecodeBlock(b *testing.B) {
	v := noisyColumn(BlockSize)
	sorted := noisyColumn(BlockSize)
	slices.Sort(sorted)
	for p := range numPipelines {
		b.Run(p.String(), func(b *testing.B) {
			var e Encoder
			src, ok := e.appendBlockBy(nil, v, p)
			if p == Const {
				src, ok = e.appendBlockBy(nil, make([]uint64, BlockSize), p)
			}
			if !ok {
				if src, ok = e.appendBlockBy(nil, sorted, p); !ok {
					b.Fatal("does not apply")
				}
			}
			src = append(src, make([]byte, 16)...)
			var dst [BlockSize]uint64
			b.SetBytes(8 * BlockSize)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeBlock(dst[:], src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode is PFOR through a column.
func BenchmarkDecode(b *testing.B) {
	var e Encoder
	c := open(b, &e, gapColumn(64*BlockSize))
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
	v := gapColumn(64 * BlockSize)
	var dst []byte
	b.SetBytes(8 * 64 * BlockSize)
	b.ReportAllocs()
	for b.Loop() {
		w.Init(&e, uint64(len(v)))
		for i := 0; i < len(v); i += BlockSize {
			w.Add(v[i : i+BlockSize])
		}
		dst = w.AppendTo(dst[:0])
	}
}

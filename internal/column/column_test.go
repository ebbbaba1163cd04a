package column

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

var lengths = []int{1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024}

// widthValues returns n values of up to w bits above base, some runs, some
// exceptions.
func widthValues(r *rand.Rand, n int, w uint, base uint64) []uint64 {
	v := make([]uint64, n)
	for i := range v {
		v[i] = base + r.Uint64()&mask(w)
	}
	return v
}

func TestBlockEveryPipelineWidthLength(t *testing.T) {
	var e Encoder
	r := rand.New(rand.NewPCG(1, 2))
	var got [BlockSize]uint64
	applied := map[Pipeline]int{}
	for _, n := range lengths {
		for w := uint(0); w <= 64; w++ {
			if testing.Short() && w%7 != uint(n)%7 {
				continue
			}
			for shape := range 4 {
				v := widthValues(r, n, w, uint64(shape)*77)
				switch shape {
				case 1:
					slices.Sort(v)
				case 2: // few distinct values, long runs
					for i := range v {
						v[i] = v[i/40*40%n]
					}
				case 3: // exceptions
					for i := 0; i < n; i += 19 {
						v[i] = r.Uint64()
					}
				}
				for p := range numPipelines {
					b, ok := e.appendBlockBy(nil, v, p)
					if !ok {
						continue
					}
					applied[p]++
					for _, tail := range []int{0, 1, 20} { // tails take other paths of unpack
						src := append(slices.Clone(b), make([]byte, tail)...)
						rest, err := DecodeBlock(got[:n], src)
						if err != nil || len(rest) != tail || !slices.Equal(got[:n], v) {
							t.Fatalf("%s, %d values of %d bits, shape %d: rest %d, %v", p, n, w, shape, len(rest), err)
						}
					}
				}
			}
		}
	}
	for p := range numPipelines {
		if applied[p] < 50 {
			t.Errorf("%s applied %d times only", p, applied[p])
		}
	}
}

// TestChoiceIsSmallest compares the choice with encoding by every pipeline.
func TestChoiceIsSmallest(t *testing.T) {
	for _, entropy := range []bool{false, true} {
		t.Run(fmt.Sprintf("entropy %v", entropy), func(t *testing.T) {
			e := Encoder{Entropy: entropy}
			r := rand.New(rand.NewPCG(3, 4))
			var chosen [numPipelines]int
			n := 4000
			if testing.Short() {
				n = 1000
			}
			for i := range n {
				v := randomColumn(r, 1+r.IntN(BlockSize))
				got := e.AppendBlock(nil, v)
				best, size := smallest(&e, v)
				chosen[got[0]]++
				if len(got) != size || Pipeline(got[0]) != best {
					t.Fatalf("case %d, %d values: chose %s with %d bytes, %s has %d", i, len(v), Pipeline(got[0]), len(got), best, size)
				}
				if len(got)-1 != e.choose(v).size {
					t.Fatalf("case %d: %s: computed %d bytes, wrote %d", i, Pipeline(got[0]), e.choose(v).size, len(got)-1)
				}
			}
			for p, n := range chosen {
				if p := Pipeline(p); n == 0 && p != Raw && (p != Huffman || entropy) {
					t.Errorf("%s never chosen", p)
				}
			}
		})
	}
}

// smallest encodes v by every pipeline and applies the rules of the choice.
func smallest(e *Encoder, v []uint64) (best Pipeline, size int) {
	if slices.Min(v) == slices.Max(v) { // equal values are const, whatever its size
		return Const, 1 + varLen(v[0])
	}
	best, size = numPipelines, math.MaxInt
	for p := range Huffman {
		if b, ok := e.appendBlockBy(nil, v, p); ok && len(b) < size {
			best, size = p, len(b)
		}
	}
	if b, ok := e.appendBlockBy(nil, v, Huffman); ok && e.Entropy && 16*(size-len(b)) >= size-1 {
		return Huffman, len(b)
	}
	return best, size
}

// randomColumn draws a column of one of several characters.
func randomColumn(r *rand.Rand, n int) []uint64 {
	v := make([]uint64, n)
	w := uint(r.IntN(65))
	base := r.Uint64() >> r.IntN(64)
	switch r.IntN(9) {
	case 0:
		for i := range v {
			v[i] = base
		}
	case 1:
		v = widthValues(r, n, w, base)
	case 2:
		v = widthValues(r, n, uint(r.IntN(20)), base)
		for range r.IntN(1 + n/10) {
			v[r.IntN(n)] = r.Uint64() >> r.IntN(64)
		}
	case 3: // few distinct
		d := widthValues(r, 2+r.IntN(12), 64, 0)
		for i := range v {
			v[i] = d[r.IntN(len(d))]
		}
	case 4: // runs
		x := r.Uint64()
		for i := range v {
			if r.IntN(20) == 0 {
				x = r.Uint64() >> r.IntN(64)
			}
			v[i] = x
		}
	case 5: // sloped, noisy
		step, noise := uint64(r.IntN(100000)+1), uint64(r.IntN(50)+1)
		for i := range v {
			base += step
			v[i] = base + r.Uint64N(noise)
		}
	case 6: // falling
		for i := range v {
			v[i] = base
			base -= r.Uint64N(1000)
		}
	case 7: // bytes of mixed length
		for i := range v {
			v[i] = r.Uint64() >> (20 + r.IntN(44))
		}
	case 8: // rising with jumps
		for i := range v {
			base += r.Uint64N(16)
			if r.IntN(50) == 0 {
				base += r.Uint64N(1 << 40)
			}
			v[i] = base
		}
	}
	return v
}

func TestColumnRoundTrip(t *testing.T) {
	e := Encoder{Entropy: true}
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 5000} {
		for range 20 {
			v := []uint64{}
			for len(v) < n {
				v = append(v, randomColumn(r, min(n-len(v), 1+r.IntN(2000)))...)
			}
			whole := e.Append(nil, v)
			checkColumn(t, whole, v)
			var w Writer
			w.Init(&e, uint64(n))
			for rest := v; w.Left() > 0; rest = rest[min(len(rest), BlockSize):] {
				w.Add(rest[:min(len(rest), BlockSize)])
			}
			bare := w.AppendBare(nil)
			c, err := ParseBare(bare, uint64(len(v)))
			if err != nil || c.Verify() != nil || !bytes.HasSuffix(whole, bare) {
				t.Fatalf("%d values: bare column: %v", n, err)
			}
		}
	}
}

func checkColumn(t *testing.T, data []byte, v []uint64) {
	t.Helper()
	c, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if c.Len() != uint64(len(v)) {
		t.Fatalf("length %d, want %d", c.Len(), len(v))
	}
	if err := c.Verify(); err != nil {
		t.Fatal(err)
	}
	var k Cursor
	k.Init(&c)
	var hi, lo uint64
	for i, x := range v {
		if got := k.Next(); got != x {
			t.Fatalf("value %d is %d, want %d (%v)", i, got, x, k.Err())
		}
		var carry uint64
		lo, carry = bits.Add64(lo, x, 0)
		hi += carry
	}
	if k.Err() != nil || !k.Done() {
		t.Fatalf("cursor at the end: done %v, %v", k.Done(), k.Err())
	}
	if k.Next(); !errors.Is(k.Err(), ErrCorrupt) {
		t.Fatalf("reading after the end gives %v", k.Err())
	}
	if gotHi, gotLo, err := c.Sum(); gotHi != hi || gotLo != lo || err != nil {
		t.Fatalf("sum %d:%d, want %d:%d (%v)", gotHi, gotLo, hi, lo, err)
	}
	for i, h := range c.Heads() {
		b := v[i*BlockSize : min(len(v), (i+1)*BlockSize)]
		if h.Min != slices.Min(b) || h.Max != slices.Max(b) || h.First != b[0] && len(v) > BlockSize {
			t.Fatalf("block %d: head %+v", i, h)
		}
	}
}

func TestSumsUpTo2To62(t *testing.T) {
	var e Encoder
	v := make([]uint64, 3000)
	for i := range v {
		v[i] = 1 << 62
		if i%7 == 0 {
			v[i] = math.MaxUint64
		}
	}
	checkColumn(t, e.Append(nil, v), v)
}

// TestDamage flips and cuts bytes: decoding must end with an error or with some
// values, never with a panic.
func TestDamage(t *testing.T) {
	var e Encoder
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 500 {
		e.Entropy = i%2 == 0
		v := randomColumn(r, 1+r.IntN(3000))
		data := e.Append(nil, v)
		for range 20 {
			bad := slices.Clone(data)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
			}
			if r.IntN(3) == 0 {
				bad = bad[:r.IntN(len(bad))]
			}
			c, err := Parse(bad)
			if err == nil {
				err = c.Verify()
			}
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error is not ErrCorrupt: %v", err)
			}
		}
	}
}

func TestGoldenBytes(t *testing.T) {
	var e Encoder
	for _, c := range []struct {
		p    Pipeline
		v    []uint64
		want string
	}{
		{Const, []uint64{300, 300, 300}, "00ac02"},
		{For, []uint64{10, 13, 11, 17}, "010a03580e"},
		{Pfor, []uint64{0, 1, 1, 900, 1, 0, 1, 1}, "0200010103c203d6"},
		{DeltaFor, []uint64{100, 103, 104, 110, 113, 117}, "036402034235"},
		{DeltaPfor, []uint64{5, 6, 7, 5000, 5001}, "0405020001028027"},
		{Dict, []uint64{7, 9, 7, 9, 9, 7}, "050207021a"},
		{RLE, []uint64{4, 4, 4, 9, 9, 9, 9}, "0602070409070203"},
		{Varbyte, []uint64{1, 300, 2}, "0701ac0202"},
		{Stride, []uint64{10, 20, 30, 41, 50}, "080a140100028000"},
		{Raw, []uint64{258}, "090201000000000000"},
		{Huffman, []uint64{70, 80, 70, 90, 70, 1000, 70, 80}, "0a46144017f67670b5267240"},
	} {
		got, ok := e.appendBlockBy(nil, c.v, c.p)
		if !ok {
			t.Errorf("%s does not apply", c.p)
		}
		if fmt.Sprintf("%x", got) != c.want {
			t.Errorf("%s: %x, want %s", c.p, got, c.want)
		}
	}
}

func ExampleParse() {
	var e Encoder
	data := e.Append(nil, []uint64{1000, 1003, 1001, 1002})
	c, err := Parse(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	var k Cursor
	k.Init(&c)
	for range c.Len() {
		fmt.Println(k.Next())
	}
	fmt.Println(len(data), "bytes")
	// Output:
	// 1000
	// 1003
	// 1001
	// 1002
	// 6 bytes
}

package column

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSymbols(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 20000 {
		x, s := r.Uint64()>>r.IntN(64), uint(1+r.IntN(64))
		n, low := symbolOf(x, s)
		start, gotLow, ok := symbolStart(n, s)
		if !ok || gotLow != low || start > x || x-start > mask(low) {
			t.Fatalf("%d at precision %d: symbol %d begins at %d with %d low bits", x, s, n, start, low)
		}
		if y := x + 1; y != 0 {
			if m, _ := symbolOf(y, s); m != n && (m != n+1 || x-start != mask(low)) {
				t.Fatalf("precision %d: %d has symbol %d, the next value %d", s, x, n, m)
			}
		}
		last, _ := symbolOf(1<<64-1, s)
		if _, _, ok := symbolStart(last+1, s); ok && last != 1<<64-1 {
			t.Fatalf("precision %d: there is a symbol after %d", s, last)
		}
	}
}

func TestLog2(t *testing.T) {
	for c, want := range map[uint32]uint32{1: 0, 2: 256, 3: 405, 5: 594, 1000: 2551, 1024: 2560} {
		if got := log2(c); got != want {
			t.Errorf("log2(%d) = %d / 256, want %d", c, got, want)
		}
	}
}

// twin returns the bits of an optimal code by merging the two lightest trees.
func twin(counts []uint32) (total uint32) {
	a := slices.Clone(counts)
	for len(a) > 1 {
		slices.Sort(a)
		a[1] += a[0]
		total += a[1]
		a = a[1:]
	}
	return total
}

func TestCodeLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	h := newHuffman()
	rounds := 2000
	if testing.Short() {
		rounds = 300
	}
	for i := range rounds {
		counts := make([]uint32, 2+r.IntN(1+r.IntN(maxSymbols-1)))
		for i := range counts {
			counts[i] = 1 + uint32(r.IntN(1+r.IntN(40)))
		}
		if i%4 == 0 { // codes of all lengths
			counts = counts[:min(len(counts), 15)]
			a, b := uint32(1), uint32(1)
			for i := range counts {
				counts[i] = a
				a, b = b, a+b
			}
		}
		h.symbols = h.symbols[:0]
		for _, c := range counts {
			h.symbols = append(h.symbols, symbol{count: c})
		}
		h.lengths()
		bitsUsed, kraft, longest := uint32(0), 0, uint8(0)
		for _, s := range h.symbols {
			bitsUsed += s.count * uint32(s.length)
			kraft += 1 << (codeBits - s.length)
			longest = max(longest, s.length)
		}
		if kraft != 1<<codeBits {
			t.Fatalf("%d symbols: code is not complete", len(counts))
		}
		if want := twin(counts); bitsUsed < want || longest < codeBits && bitsUsed != want || bitsUsed > want+want/50 {
			t.Fatalf("%v: %d bits, the optimum is %d", counts, bitsUsed, want)
		}
	}
}

// TestPrecisions makes blocks for which each precision is best, with outliers.
func TestPrecisions(t *testing.T) {
	var e Encoder
	r := rand.New(rand.NewPCG(35, 36))
	var got [BlockSize]uint64
	chosen := map[uint]int{}
	rounds := 3000
	if testing.Short() {
		rounds = 400
	}
	for i := range rounds {
		v := make([]uint64, 2+r.IntN(BlockSize-1))
		step, spread := 1+r.Uint64N(40), 1+r.IntN(300)
		shift := r.IntN(64)
		for i := range v {
			v[i] = step * uint64(r.IntN(spread)*r.IntN(spread)) << (shift / 3)
			if r.IntN(40) == 0 {
				v[i] = r.Uint64() >> shift
			}
		}
		b, ok := e.appendBlockBy(nil, v, Huffman)
		if !ok {
			continue
		}
		chosen[e.huffman.precision]++
		rest, err := DecodeBlock(got[:len(v)], b)
		if err != nil || len(rest) != 0 || !slices.Equal(got[:len(v)], v) {
			t.Fatalf("block %d of %d values at precision %d: %v", i, len(v), e.huffman.precision, err)
		}
		if want := 1 + e.huffmanSize(); len(b) != want {
			t.Fatalf("block %d: %d bytes, computed %d", i, len(b), want)
		}
		for cut := range len(b) {
			if testing.Short() && i%10 != 0 {
				break
			}
			if _, err := DecodeBlock(got[:len(v)], b[:cut]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("block %d cut to %d of %d bytes: %v", i, cut, len(b), err)
			}
			if len(b) > 200 && cut == 60 {
				break
			}
		}
	}
	for _, s := range precisions {
		if chosen[s] == 0 && !testing.Short() {
			t.Errorf("precision %d never chosen", s)
		}
	}
}

// TestTableRefusals builds heads and tables that no encoder writes.
func TestTableRefusals(t *testing.T) {
	type entry struct{ gap, unary uint64 }
	for _, c := range []struct {
		name      string
		precision uint64
		order     uint64
		symbols   []entry // unary: zig-zag of the difference to the length before
		ok        bool
	}{
		{"two codes of one bit", 1, 0, []entry{{0, 7}, {0, 0}}, true}, // 5 - 4 = 1
		{"incomplete", 1, 0, []entry{{0, 5}, {0, 0}}, false},
		{"too many codes", 1, 0, []entry{{0, 7}, {0, 0}, {0, 0}}, false},
		{"length 0", 1, 0, []entry{{0, 9}, {0, 0}}, false},
		{"length 11", 1, 0, []entry{{0, 12}, {0, 0}}, false},
		{"symbol after the last", 1, 0, []entry{{0, 7}, {64, 0}}, false},
		{"symbol beyond 64 bits", 64, 0, []entry{{0, 6}, {1<<64 - 2, 3}, {1, 0}}, false},
		{"order 63", 64, 63, []entry{{0, 7}, {1<<64 - 2, 0}}, true},
	} {
		var w bitWriter
		w.put(c.precision-1, 6)
		w.put(c.order, 6)
		w.put(uint64(len(c.symbols)-2), 9)
		for i, s := range c.symbols {
			if i > 0 {
				w.putGolomb(s.gap, uint(c.order))
			}
			w.putUnary(uint(s.unary))
		}
		w.put(0, 32)
		var table codeTable
		if ok := table.read(&bitReader{src: w.finish()}, 100); ok != c.ok {
			t.Errorf("%s: accepted %v", c.name, ok)
		}
	}
}

func TestBitStream(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 38))
	type item struct {
		v    uint64
		n    uint
		kind int
	}
	for range 300 {
		items := make([]item, r.IntN(200))
		var w bitWriter
		total := 0
		for i := range items {
			x := item{r.Uint64() >> r.IntN(64), uint(r.IntN(64)), r.IntN(4)}
			switch x.kind {
			case 0:
				x.v &= mask(x.n)
				w.putLong(x.v, x.n)
				total += int(x.n)
			case 1:
				x.v = min(x.v, 1<<64-2)
				w.putGolomb(x.v, x.n)
				total += golombLen(x.v, x.n)
			case 2:
				x.n %= maxSpread + 1
				w.putUnary(x.n)
				total += int(x.n) + 1
			case 3: // both, with the same number for order and length
				x.v, x.n = min(x.v, 1<<64-2), x.n%(maxSpread+1)
				w.putGolomb(x.v, x.n)
				w.putUnary(x.n)
				total += golombLen(x.v, x.n) + int(x.n) + 1
			}
			items[i] = x
		}
		b := w.finish()
		if len(b) != (total+7)/8 {
			t.Fatalf("%d bytes for %d bits", len(b), total)
		}
		rd := bitReader{src: append(b, 0xAA)}
		for i, x := range items {
			ok, v := true, x.v
			switch x.kind {
			case 0:
				v = rd.getLong(x.n)
			case 1:
				v, ok = rd.golomb(x.n)
			case 2:
				var n uint
				n, ok = rd.unary(maxSpread)
				v, x.v = uint64(n), uint64(x.n)
			case 3:
				var n uint
				v, n, ok = rd.entry(x.n, maxSpread)
				ok = ok && n == x.n
			}
			if !ok || v != x.v {
				t.Fatalf("item %d, %+v: got %d, %v", i, x, v, ok)
			}
		}
		if rest, ok := rd.rest(); !ok || len(rest) != 1 || bits.Len8(rest[0]) != 8 {
			t.Fatalf("rest %x, %v", rest, ok)
		}
	}
}

package build

import (
	"bytes"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
)

// checkBook tests what every codebook keeps: bins are legal, and ascend.
func checkBook(t *testing.T, c *Codebook) {
	t.Helper()
	for n := range c.keys {
		bins := c.bins[c.first[n]:c.first[n+1]]
		for i, b := range bins {
			if !b.legal(c.d) || i > 0 && b.low <= bins[i-1].high {
				t.Fatalf("bounds of %s: bin %+v", c.d, b)
			}
		}
	}
}

func reopenedBook(t *testing.T, c *Codebook) *Codebook {
	t.Helper()
	b, err := c.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenCodebook(c.defs, c.d, b)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := r.AppendBinary(nil); !bytes.Equal(b, again) || !slices.Equal(c.bins, r.bins) {
		t.Fatal("codebook differs after reading")
	}
	return r
}

// slowTickCost is tickCost in unbounded arithmetic.
func slowTickCost(cells []countedCell) *big.Int {
	all := new(big.Int)
	for _, c := range cells {
		all.Add(all, new(big.Int).Lsh(new(big.Int).SetUint64(c.Val.sum.Hi), 64))
		all.Add(all, new(big.Int).SetUint64(c.Val.sum.Lo))
	}
	if least := big.NewInt(1 << 32); all.Cmp(least) < 0 {
		all = least
	}
	return new(big.Int).Div(new(big.Int).Lsh(big.NewInt(1), 31+64), all)
}

// spreadCost is the last term of the cost of a bin.
func spreadCost(tick *big.Int, cells []countedCell, count uint64) uint64 {
	if len(cells) == 1 {
		return 0
	}
	last := cells[len(cells)-1]
	x := new(big.Int).SetUint64(last.Val.sum.Mean(last.Val.count) - cells[0].Val.sum.Mean(cells[0].Val.count))
	x.Mul(x, new(big.Int).SetUint64(count)).Mul(x, tick)
	return x.Rsh(x, 64).Uint64()
}

// exhaustive tries all cuts of cells into bins and returns the cost of the best.
func exhaustive(h *GapHistogram, cells []countedCell) graph.Total {
	n := uint64(0)
	for _, c := range cells {
		n += c.Val.count
	}
	var best graph.Total
	tick := slowTickCost(cells)
	for cut := range 1 << (len(cells) - 1) {
		cut |= 1 << (len(cells) - 1) // bit i: a bin ends with cell i
		cost, legal := graph.Total{}, true
		for i := 0; i < len(cells); {
			end := i + bits.TrailingZeros(uint(cut>>i))
			count, sum := uint64(0), graph.Total{}
			for _, c := range cells[i : end+1] {
				count, sum = count+c.Val.count, sum.Plus(c.Val.sum)
			}
			cost = cost.Plus(graph.Total{Lo: spreadCost(tick, cells[i:end+1], count)})
			legal = legal && gapBin{cells[i].Key.low, h.shifts.high(cells[end].Key.low), sum.Mean(count)}.legal(h.d)
			cost = cost.Plus(graph.Product(count, log2Fixed(n)-log2Fixed(count))).Plus(graph.Total{Hi: 0, Lo: binCost})
			i = end + 1
		}
		if legal && (best == graph.Total{} || cost.Compare(best) < 0) {
			best = cost
		}
	}
	return best
}

// TestChooseIsBest compares the dynamic program with all cuts.
func TestChooseIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	defs := ccgtest.Definitions(1)
	for range 150 {
		d := graph.Deviation{Abs: r.Uint64N(100), Num: r.Uint64N(40), Den: 100}.Normal()
		if d.Lossless() {
			continue
		}
		h := NewGapHistogram(defs, d)
		h.coarsen(gridRegion)
		n := h.context(gapContext{region: 5})
		at := r.Uint64N(1000)
		for range 1 + r.IntN(8) {
			at += 1 + r.Uint64N(max(2, d.Bound(at)))
			c := h.cell(n, h.shifts.low(at))
			count := 1 + r.Uint64()>>(32+r.IntN(32))
			c.count += count
			c.sum = c.sum.Plus(graph.Product(at, count))
		}
		cells := h.sorted()
		book := reopenedBook(t, h.Choose())
		checkBook(t, book)
		cost, counted, want := graph.Total{}, uint64(0), uint64(0)
		for _, c := range cells {
			want += c.Val.count
		}
		for _, b := range book.bins {
			count, sum := uint64(0), graph.Total{}
			var in []countedCell
			for _, c := range cells {
				if b.low <= c.Key.low && c.Key.low <= b.high {
					count, sum = count+c.Val.count, sum.Plus(c.Val.sum)
					in = append(in, c)
				}
			}
			cost = cost.Plus(graph.Total{Lo: spreadCost(slowTickCost(cells), in, count)})
			if mean, rest := sum.Divide(count); b.stored != mean && (b.stored != mean+1 || rest == 0) {
				t.Fatalf("%s: bin %+v is not stored as the mean of its gaps, %d + %d/%d", d, b, mean, rest, count)
			}
			counted += count
			cost = cost.Plus(graph.Product(count, log2Fixed(want)-log2Fixed(count))).Plus(graph.Total{Hi: 0, Lo: binCost})
		}
		if best := exhaustive(h, cells); counted != want || cost != best {
			t.Fatalf("%s, %d cells: cost %v, best %v; %d gaps of %d", d, len(cells), cost, best, counted, want)
		}
	}
}

// TestChooseTies: of equal cuts the one with the lower boundary.
func TestChooseTies(t *testing.T) {
	d := graph.Deviation{Abs: 1}
	h := NewGapHistogram(ccgtest.Definitions(1), d)
	h.coarsen(gridRegion)
	n := h.context(gapContext{})
	// four equal cells, three of which fit together: the first one is left alone
	for v := range uint64(4) {
		c := h.cell(n, 10+v)
		c.count, c.sum = 5, graph.Total{Hi: 0, Lo: 5 * (10 + v)}
	}
	want := []gapBin{{10, 10, 10}, {11, 13, 12}}
	if got := h.Choose().bins; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRoundingCancels: ten values of 0.5 ticks more than an integer each, and one
// of many more gaps: up and down in turn, the large one first.
func TestRoundingCancels(t *testing.T) {
	h := NewGapHistogram(ccgtest.Definitions(1), graph.Deviation{Abs: 1})
	h.coarsen(gridRegion)
	n := h.context(gapContext{})
	truth := graph.Total{}
	for i := range uint64(11) {
		count := uint64(100)
		if i == 7 {
			count = 100_000
		}
		for v := range uint64(2) {
			c := h.cell(n, 10*i+v)
			c.count, c.sum = count, graph.Product(10*i+v, count)
			truth = truth.Plus(c.sum)
		}
	}
	stored, ups := graph.Total{}, 0
	for i, b := range h.Choose().bins {
		count := uint64(200)
		if i == 7 {
			count = 200_000
		}
		stored = stored.Plus(graph.Product(b.stored, count))
		ups += int(b.stored - b.low)
	}
	// the large bin errs by 100 000, the others make up for 100 each
	if ups != 10 || truth.Minus(stored) != (graph.Total{Hi: 0, Lo: 100_000 - 1000}) {
		t.Errorf("%d bins rounded up, %v ticks became %v", ups, truth, stored)
	}
}

func BenchmarkChoose(b *testing.B) {
	defs := ccgtest.Definitions(8)
	d := graph.Deviation{Abs: 10, Num: 1, Den: 100}
	h := NewGapHistogram(defs, d)
	if err := h.Add(built(b, defs, 0, ccgtest.IrregularEvents(1<<18), graph.Options{Deviation: d}, 4096)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Choose()
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(h.cells.List)), "ns/cell")
	b.ReportMetric(float64(len(h.cells.List)), "cells")
}

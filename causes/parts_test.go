package causes

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
)

// weightsOf makes weights with many equal ones, some of them huge.
func weightsOf(r *rand.Rand, n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		switch r.IntN(4) {
		case 0:
			w[i] = 0
		case 1:
			w[i] = r.Uint64N(4)
		case 2:
			w[i] = r.Uint64N(1000)
		default:
			w[i] = r.Uint64() >> 8 / uint64(n)
		}
	}
	w[r.IntN(n)] = 1 + r.Uint64N(9)
	return w
}

// TestSplit compares with rational numbers.
func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var s splitter
	for range 2000 {
		weights := weightsOf(r, 1+r.IntN(80)>>r.IntN(4)+1)
		amount := r.Uint64() >> r.IntN(64)
		want := exactSplit(amount, weights)
		if got := s.split(amount, weights); !slices.Equal(got, want) {
			t.Fatalf("%d by %v: %v, want %v", amount, weights, got, want)
		}
	}
	if got := s.split(5, []uint64{0, 0}); got != nil {
		t.Errorf("5 by nothing: %v", got)
	}
}

// TestLargest compares with a sorted list, also where it gives up early.
func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	for range 2000 {
		n := 1 + r.IntN(300)
		list, most := make([]remainder, n), 1+r.Uint64N(400)
		for i := range list {
			list[i] = remainder{r.Uint64N(most), i}
		}
		r.Shuffle(n, func(a, b int) { list[a], list[b] = list[b], list[a] })
		want, k := slices.Clone(list), 1+r.IntN(n)
		order := func(a, b remainder) int { return cmp.Or(cmp.Compare(b.r, a.r), cmp.Compare(a.i, b.i)) }
		slices.SortFunc(want, order)
		largest(list, k, r.IntN(mostRounds))
		slices.SortFunc(list[:k], order)
		if !slices.Equal(list[:k], want[:k]) {
			t.Fatalf("%d of %d: %v, want %v", k, n, list[:k], want[:k])
		}
	}
}

// TestCosts adds to more costs than are held in memory, and compares with a map.
func TestCosts(t *testing.T) {
	s := heapStorage()
	c := newCosts(&s)
	r := rand.New(rand.NewPCG(2, 8))
	want := map[cost1][costKinds]uint64{}
	for range 4 * mostCosts {
		x := cost1{p: trace.P(r.Uint32N(3)), key: r.Uint64N(1 << 13), pattern: r.Uint32N(2), activity: r.Uint32N(2)}
		sum, kind := want[x], r.IntN(costKinds)
		sum[kind] += x.key
		want[x] = sum
		if err := c.add(&x, x.key, kind == longTerm); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) <= mostCosts {
		t.Fatalf("%d costs are no more than are held", len(want))
	}
	err := c.each(func(x *cost1, sum [costKinds]uint64) error {
		if want[*x] != sum {
			t.Fatalf("%+v: %d, want %d", *x, sum, want[*x])
		}
		delete(want, *x)
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Fatalf("%d costs are lost (%v)", len(want), err)
	}
}

// TestPassOn compares passing on to few waits and to more than fit a block.
func TestPassOn(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 100, spanBlock, spanBlock + 1, 3*spanBlock + 7} {
		d := &delays{spanFirst: []uint64{3}}
		d.spans.scratch = &heapScratch{}
		weights := weightsOf(r, n)
		total := uint64(0)
		for i := range 3 + n + 2 {
			w := uint64(7)
			if i >= 3 && i < 3+n {
				w = weights[i-3]
			}
			if err := d.addSpan(total, total+w, 1); err != nil {
				t.Fatal(err)
			}
			total += w
		}
		if err := d.spans.flush(); err != nil {
			t.Fatal(err)
		}
		var want []uint64
		for _, amount := range []uint64{1, uint64(n), 12345, r.Uint64() >> 3} {
			if err := d.passOn(&blame{over: uint64(n), ended: uint64(n)}, amount); err != nil {
				t.Fatal(err)
			}
			var s splitter
			for i, q := range s.split(amount, weights) {
				if len(want) <= i {
					want = append(want, 0)
				}
				want[i] += q
			}
		}
		for i := range uint64(n) {
			if _, got, _, err := d.span(0, i); err != nil || got != want[i] {
				t.Fatalf("%d waits, number %d: %d ticks, want %d (%v)", n, i, got, want[i], err)
			}
		}
	}
}

// TestHistory compares with a copy of all totals for each instant.
func TestHistory(t *testing.T) {
	h := newHistory()
	for seed := range uint64(30) {
		h.reset()
		r := rand.New(rand.NewPCG(seed, 1))
		slots := 1 + r.IntN(40)
		total := make([]uint64, slots)
		held := map[uint64][]uint64{0: slices.Clone(total)}
		var list []uint64
		for now := uint64(1); now < 3000; now++ {
			i := r.IntN(slots)
			h.add(h.slot(uint64(i)<<3, uint32(i%3)), now%5, now)
			total[i] += now % 5
			if r.IntN(3) == 0 {
				h.hold(now)
				held[now] = slices.Clone(total)
				list = append(list, now)
			}
			if len(list) > 0 && r.IntN(3) == 0 {
				k := r.IntN(len(list))
				at := list[k]
				list = slices.Delete(list, k, k+1)
				var want []term
				for s := range total {
					if more := total[s] - held[at][s]; more > 0 {
						want = append(want, term{uint64(s) << 3, uint32(s % 3), more})
					}
				}
				if got := h.since(nil, at); !slices.Equal(got, want) {
					t.Fatalf("since %d at %d: %v, want %v", at, now, got, want)
				}
				h.release(at)
			}
		}
		if most := 2*(len(list)+1)*slots + 1<<10; h.kept > most {
			t.Errorf("%d versions for %d instants and %d totals", h.kept, len(list), slots)
		}
		if got := h.since(nil, 0); len(got) > slots {
			t.Errorf("%d totals of %d", len(got), slots)
		}
	}
}

// TestOutbox sends records of all sizes between all ranks.
func TestOutbox(t *testing.T) {
	const locations = 11
	for _, ranks := range []int{1, 2, 5, 14} {
		var mu sync.Mutex
		got := map[string]int{}
		err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
			run := &Run{Comm: c, Ranges: partition.Ranges(make([]uint64, locations), ranks), Storage: heapStorage()}
			box := newOutbox(run, func(b []byte) error {
				to := trace.P(binary.LittleEndian.Uint32(b))
				if !run.Ranges[c.Rank()].Contains(to) {
					return fmt.Errorf("a record for location %d", to)
				}
				mu.Lock()
				got[string(b)]++
				mu.Unlock()
				return nil
			})
			box.most = 1 << 12
			r := rand.New(rand.NewPCG(uint64(c.Rank()), 9))
			var err error
			for i := range 300 * c.Rank() {
				to := r.Uint32N(locations)
				b := binary.LittleEndian.AppendUint32(nil, to)
				b = binary.LittleEndian.AppendUint32(b, uint32(c.Rank()<<16|i))
				if err == nil {
					err = box.put(trace.P(to), append(b, make([]byte, r.IntN(60))...))
				}
			}
			return box.deliver(err)
		})
		if err != nil {
			t.Fatal(err)
		}
		for k, n := range got {
			if n != 1 {
				t.Errorf("%d ranks: record %q came %d times", ranks, k, n)
			}
		}
		if want := 150 * ranks * (ranks - 1); len(got) != want {
			t.Errorf("%d ranks: %d records of %d", ranks, len(got), want)
		}
	}
}

// TestOutboxFails lets one rank fail: all return its error.
func TestOutboxFails(t *testing.T) {
	var mu sync.Mutex
	failed := 0
	_ = mpi.RunInProcess(3, func(c mpi.Comm) error {
		run := &Run{Comm: c, Ranges: partition.Ranges(make([]uint64, 3), 3), Storage: heapStorage()}
		box := newOutbox(run, func([]byte) error { return nil })
		var err error
		for p := range trace.P(3) {
			err = box.put(p, []byte("record"))
		}
		if c.Rank() == 1 {
			err = errDamaged
		}
		if err = box.deliver(err); err != nil {
			mu.Lock()
			failed++
			mu.Unlock()
		}
		return nil
	})
	if failed != 3 {
		t.Errorf("%d ranks of 3 got the error", failed)
	}
}

// TestBackwards reads records from the last to the first.
func TestBackwards(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	j := journal{scratch: &heapScratch{}}
	var want [][]byte
	for range 3000 {
		b := bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(40))
		if r.IntN(100) == 0 {
			b = make([]byte, r.IntN(9000))
		}
		want = append(want, b)
		if err := j.appendEnded(slices.Clone(b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.flush(); err != nil {
		t.Fatal(err)
	}
	x := backwards{src: j.scratch, end: j.size, most: 1 << 10}
	for i := len(want) - 1; i >= 0; i-- {
		if got, err := x.next(); err != nil || !bytes.Equal(got, want[i]) || got == nil {
			t.Fatalf("record %d: %d bytes, %v", i, len(got), err)
		}
	}
	if got, err := x.next(); got != nil || err != nil {
		t.Errorf("before the first: %v, %v", got, err)
	}
}

// FuzzRecords reads what passes keep in the storage from any bytes.
func FuzzRecords(f *testing.F) {
	b := blame{waiter: 3, end: 9, ended: 2, over: 4, places: []place{{8, 5, 2}}, spots: []spot{{1, 2}, {2, 3}}}
	b.excess[0] = 7
	f.Add(b.append(nil))
	f.Add(appendTerms(nil, []term{{1, 2, 3}, {9, 2, 3}}, true))
	totals, _ := encodeTotals(Totals{{Key: 1, Short: 2}})
	f.Add(totals)
	f.Fuzz(func(t *testing.T, in []byte) {
		var x, y blame
		if x.parse(in) == nil {
			if err := y.parse(x.append(nil)); err != nil {
				t.Errorf("%+v is not read back: %v", x, err)
			}
		}
		for _, nodes := range []bool{false, true} {
			if terms, err := parseTerms(nil, in, nodes); err == nil {
				again, err := parseTerms(nil, appendTerms(nil, terms, true), true)
				if err != nil || !slices.Equal(again, terms) {
					t.Errorf("%v are read back as %v: %v", terms, again, err)
				}
			}
		}
		if list, err := decodeTotals(in); err == nil {
			if again, _ := encodeTotals(list); len(again) != len(in) {
				t.Errorf("%d bytes of totals became %d", len(in), len(again))
			}
		}
		r := backwards{src: bytes.NewReader(in), end: int64(len(in)), most: 16}
		for {
			if b, err := r.next(); b == nil || err != nil {
				break
			}
		}
	})
}

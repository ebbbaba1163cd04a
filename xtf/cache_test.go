package xtf

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// slotted lists the pages of an array that lookups find without a lock.
func slotted(a *Array) []*page {
	var list []*page
	for i := range a.slots.Load().pages {
		pg := a.slots.Load().pages[i].Load()
		if pg == nil {
			continue
		}
		list = append(list, pg)
		for k := range pg.kids {
			if kid := pg.kids[k].Load(); kid != nil {
				list = append(list, kid)
			}
		}
	}
	return list
}

// cached lists the pages that the cache holds, and their cost.
func cached(c *cache) (pages map[*page]bool, cost int64) {
	pages = map[*page]bool{}
	for i := range c.shards {
		for _, e := range c.shards[i].items {
			pages[e.page] = true
			cost += e.cost
		}
	}
	return pages, cost
}

// TestSlots: what leaves the cache leaves its slot, so that the budget is what
// the file holds; what is asked for again and again stays.
func TestSlots(t *testing.T) {
	const budget = 256 << 10
	_, big, keys := bigArray(t, 300_000, Options{})
	file := big.f.r.(*memFile)
	f, err := Open(file, int64(len(file.b)), Options{CacheBytes: budget})
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Array(0, TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(9, uint64(g)))
			for range 500 {
				i := r.IntN(len(keys))
				if k, err := a.At(uint64(i)); err != nil || k != keys[i] {
					t.Error(i, k, err)
				}
				if n, err := a.Rank(keys[i]); err != nil || n != uint64(i) {
					t.Error(i, n, err)
				}
			}
		})
	}
	wg.Wait()
	pages, cost := cached(f.cache)
	if cost > budget || cost != f.cache.bytes() {
		t.Errorf("the cache holds %d bytes and says %d, budget %d", cost, f.cache.bytes(), budget)
	}
	for _, pg := range slotted(a) {
		if !pages[pg] {
			t.Errorf("page %d of level %d is not in the cache, yet in a slot", pg.ordinal, pg.level)
		}
	}
	if _, err := a.At(7); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(keys); i += 2000 { // a scan by rows, and one page in use
		if _, err := a.At(uint64(i)); err != nil {
			t.Fatal(err)
		}
		before := f.Stats().PageReads
		if _, err := a.At(7); err != nil {
			t.Fatal(err)
		}
		if f.Stats().PageReads != before {
			t.Fatalf("a page in use was evicted at row %d of a scan", i)
		}
	}
}

// A page at an offset that another one's entry names is refused, and takes no slot.
func TestSlotOfAnotherPage(t *testing.T) {
	keys := sortedKeys(rand.New(rand.NewPCG(1, 1)), 60, 1000)
	f := openMem(t, buildFile(t, tinyTypes(Packed, 3, 4), []testRegion{{p: 0, arrays: []testArray{{TypeMetric, metricRows(keys)}}}, {p: WholeRun}}))
	a, err := f.Array(0, TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	var cost Stats
	up, err := a.index(1, 0, 0, true, &cost)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = a.below(up, 0, 0, &cost); err != nil {
		t.Fatal(err)
	}
	wrong := indexChild(up.bytes, int(up.count), 0) // page 0, already in the cache
	if pg, err := a.dataAt(1, wrong, &up.kids[1], &cost); err == nil || pg != nil || up.kids[1].Load() != nil {
		t.Errorf("page 0 was taken for page 1: %v", err)
	}
	if up.kids[0].Load() == nil {
		t.Error("page 0 lost its slot")
	}
}

// TestShards: pages at any stride spread over the shards, and a small budget is
// not cut to pieces.
func TestShards(t *testing.T) {
	if n := len(newCache(256 << 10).shards); n != 1 {
		t.Errorf("256 KiB in %d shards", n)
	}
	c := newCache(0)
	if len(c.shards) < 4 {
		t.Fatalf("%d shards", len(c.shards))
	}
	for _, stride := range []int64{64, 4096, 16 << 10, 1 << 20} {
		pages := map[*cacheShard]int{}
		for i := range int64(8000) {
			pages[c.shard(i*stride)]++
		}
		for _, n := range pages {
			if mean := 8000 / len(c.shards); len(pages) != len(c.shards) || n < mean/2 || n > 2*mean {
				t.Errorf("stride %d: %d shards of %d, %d pages in one", stride, len(pages), len(c.shards), n)
			}
		}
	}
}

// bytes is what the cache holds now.
func (c *cache) bytes() int64 {
	var n int64
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += s.data.cost + s.index.cost
		s.mu.Unlock()
	}
	return n
}

package xtf

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// bigArray is an array of n METRIC rows whose keys rise by 1 to 16 at a time.
func bigArray(t testing.TB, n int, o Options) (*File, *Array, []uint64) {
	t.Helper()
	tt := StandardTypes(Packed)
	m := &memFile{}
	w := NewFileWriter(m, tt, testID, &MemorySink{})
	sink := &MemorySink{}
	b := NewArrayBuilder(NewEncoder(), tt.Lookup(TypeMetric), 0, sink)
	keys := make([]uint64, n)
	k := uint64(1 << 30)
	r := rand.New(rand.NewPCG(4, 4))
	for i := range keys {
		k += 1 + uint64(r.Uint32()&15)
		keys[i] = k
		row, _ := b.Append()
		(&Metric{T: k, Value: uint64(i), Metric: 3}).Put(row)
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Proc{0, WholeRun} {
		var arrays []FinishedArray
		if p == 0 {
			arrays = []FinishedArray{{Summary: sum, Data: sink}}
		}
		plan, err := PlanRegion(tt, p, arrays, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Region(plan, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(nil); err != nil {
		t.Fatal(err)
	}
	f, err := Open(m, int64(len(m.b)), o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Array(0, TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	return f, a, keys
}

// limits are the most that a primitive may cost.
type limits struct{ pages, compares uint64 }

// TestCostContract counts pages and comparisons of every primitive: none may
// depend on the length of an interval or of a step.
func TestCostContract(t *testing.T) {
	n, rounds := 10_000_000, 3000
	if testing.Short() {
		n, rounds = 1_500_000, 300
	}
	f, a, keys := bigArray(t, n, Options{CacheBytes: 1 << 20})
	if f.Stats().PageReads > 7 { // four to open, directory row, region head
		t.Errorf("open and first array took %d reads", f.Stats().PageReads)
	}
	h, w := uint64(a.Height()), worst(a)
	if h != 3 {
		t.Errorf("height %d", h)
	}
	var st Stats
	c := a.Counted(&st)
	within := func(what string, most limits) {
		t.Helper()
		if pages := st.PageReads + st.Hits; pages > most.pages || st.Comparisons > most.compares {
			t.Fatalf("%s visits %d pages and compares %d times, at most %d and %d are allowed", what, pages, st.Comparisons, most.pages, most.compares)
		}
		st = Stats{}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range rounds {
		i := r.IntN(n)
		for _, k := range []uint64{keys[i], keys[i] + 1} {
			pos, ok, err := c.Search(k, First)
			if err != nil || (ok && keys[pos.N] != k) || (ok != (k == keys[i] || i+1 < n && k == keys[i+1])) {
				t.Fatalf("Search(%d): %v %v %v", k, pos, ok, err)
			}
			within("search", limits{h, w})
			if pos, ok, err = c.Search(k, LE); !ok || err != nil || keys[pos.N] > k {
				t.Fatalf("Search(%d, LE): %v %v %v", k, pos, ok, err)
			}
			within("search le", limits{h, w})
			if _, _, _, err = c.Next(k, int64(r.IntN(n))-int64(n)/2); err != nil {
				t.Fatal(err)
			}
			within("next", limits{h + 2, w})
		}
		if pos, ok := c.SearchN(uint64(i)); !ok || pos.N != uint64(i) {
			t.Fatalf("SearchN(%d): %v %v", i, pos, ok)
		}
		within("search by number", limits{0, 0})
		j := min(n-1, i+1<<r.IntN(24))
		if got, err := c.Size(keys[i], keys[j]); err != nil || got != uint64(j-i) {
			t.Fatalf("Size: %d %v, want %d", got, err, j-i)
		}
		within("size", limits{2 * h, 2 * w})
		if k, err := c.At(uint64(i)); err != nil || k != keys[i] {
			t.Fatalf("At: %d %v", k, err)
		}
		within("at", limits{2, 0})
	}
	checkIntervals(t, f, a, keys)
}

// checkIntervals asks for the size of ten rows and of nearly all of them, both
// with nothing in the cache: the pages read are as many.
func checkIntervals(t *testing.T, f *File, a *Array, keys []uint64) {
	t.Helper()
	h := uint64(a.Height())
	cold := func(k1, k2 uint64) uint64 {
		f.cache = newCache(1 << 20)
		a.slots.Store(nil)
		var st Stats
		if _, err := a.Counted(&st).Size(k1, k2); err != nil {
			t.Fatal(err)
		}
		if st.PageReads+st.Hits > 2*h {
			t.Errorf("size(%d, %d) visits %d pages", k1, k2, st.PageReads+st.Hits)
		}
		return st.PageReads
	}
	near, far := len(keys)/2, len(keys)-1
	if few, all := cold(keys[near], keys[near+10]), cold(keys[1], keys[far]); few < h || all > 2*h-1 {
		t.Errorf("size of ten rows reads %d pages, of all rows %d, height %d", few, all, h)
	}
}

func TestSearchDoesNotAllocate(t *testing.T) {
	_, a, keys := bigArray(t, 200_000, Options{})
	i := 0
	search := func() {
		i = (i + 7919) % len(keys)
		if _, ok, err := a.Search(keys[i], First); !ok || err != nil {
			t.Fatal("not found")
		}
		if _, err := a.At(uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		search()
	}
	if n := testing.AllocsPerRun(1000, search); n > 0 {
		t.Errorf("%v allocations a search", n)
	}
}

// slowFile counts reads and takes its time, so that loads overlap.
type slowFile struct {
	memFile
	reads atomic.Int64
}

func (s *slowFile) ReadAt(p []byte, off int64) (int, error) {
	s.reads.Add(1)
	time.Sleep(time.Millisecond)
	return s.memFile.ReadAt(p, off)
}

func TestCache(t *testing.T) {
	_, a, keys := bigArray(t, 300_000, Options{})
	file := a.f.r.(*memFile)
	slow := &slowFile{memFile: *file}
	f, err := Open(slow, int64(len(file.b)), Options{CacheBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if a, err = f.Array(0, TypeMetric); err != nil {
		t.Fatal(err)
	}
	before := slow.reads.Load()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, ok, err := a.Search(keys[1000], First); !ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
	wg.Wait()
	if n := slow.reads.Load() - before; n != int64(a.Height()) {
		t.Errorf("16 searches at once read %d pages, want %d", n, a.Height())
	}
	for i := 0; i < len(keys); i += 1000 { // rows of every page: far more than the budget
		if _, err := a.Row(uint64(i), nil); err != nil {
			t.Fatal(err)
		}
		if n := f.cache.bytes(); n > 256<<10 {
			t.Fatalf("cache holds %d bytes", n)
		}
	}
	before = slow.reads.Load()
	if _, _, err := a.Search(keys[1000], First); err != nil {
		t.Fatal(err)
	}
	if n := slow.reads.Load() - before; n != 1 {
		t.Errorf("%d reads after a scan: index pages were evicted", n)
	}
}

// Concurrent readers of one small cache see the right rows.
func TestConcurrentReads(t *testing.T) {
	_, big, keys := bigArray(t, 100_000, Options{})
	file := big.f.r.(*memFile)
	f, err := Open(file, int64(len(file.b)), Options{CacheBytes: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			a, err := f.Array(0, TypeMetric)
			if err != nil {
				t.Error(err)
				return
			}
			var row []byte
			for range 300 {
				i := r.IntN(len(keys))
				pos, ok, err := a.Search(keys[i], First)
				if !ok || err != nil || pos.N != uint64(i) {
					t.Error(pos, ok, err)
				}
				if row, err = a.Row(uint64(i), row); err != nil || U64(row, 8) != uint64(i) {
					t.Error(i, err)
				}
			}
			n := uint64(0)
			for c := a.Rows(0, Never); c.Next(); n++ {
				if U64(c.Row(), 0) != keys[n] {
					t.Error("scan", n)
					break
				}
			}
		})
	}
	wg.Wait()
}

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

// TestCostContract counts pages and comparisons of every primitive: none may
// depend on the length of an interval or of a step.
func TestCostContract(t *testing.T) {
	n := 10_000_000
	if testing.Short() {
		n = 1_500_000
	}
	f, a, keys := bigArray(t, n, Options{CacheBytes: 1 << 20})
	if f.Stats().PageReads > 7 { // four to open, directory row, region head
		t.Errorf("open and first array took %d reads", f.Stats().PageReads)
	}
	h := uint64(a.Height())
	if h != 3 {
		t.Errorf("height %d", h)
	}
	var st Stats
	c := a.Counted(&st)
	pages := func() uint64 {
		p := st.PageReads + st.Hits
		if st.Comparisons > 2*worst(a) {
			t.Fatalf("%d comparisons, at most %d are allowed", st.Comparisons, worst(a))
		}
		st = Stats{}
		return p
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		i := r.IntN(n)
		for _, k := range []uint64{keys[i], keys[i] + 1} {
			pos, ok, err := c.Search(k, First)
			if p := pages(); err != nil || p > h || (ok && keys[pos.N] != k) || (ok != (k == keys[i] || i+1 < n && k == keys[i+1])) {
				t.Fatalf("Search(%d): %v %v %v, %d pages", k, pos, ok, err, p)
			}
			_, _, _, err = c.Next(k, int64(r.IntN(n))-int64(n)/2)
			if p := pages(); err != nil || p > h+2 {
				t.Fatalf("Next: %v, %d pages", err, p)
			}
		}
		j := min(n-1, i+1<<r.IntN(24))
		got, err := c.Size(keys[i], keys[j])
		if p := pages(); err != nil || got != uint64(j-i) || p > 2*h {
			t.Fatalf("Size: %d %v, want %d, %d pages", got, err, j-i, p)
		}
		k, err := c.At(uint64(i))
		if p := pages(); err != nil || k != keys[i] || p > 2 {
			t.Fatalf("At: %d %v, %d pages", k, err, p)
		}
	}
	cold := func(k1, k2 uint64) uint64 {
		f.cache = newCache(1 << 20)
		if _, err := c.Size(k1, k2); err != nil {
			t.Fatal(err)
		}
		return pages()
	}
	if few, all := cold(keys[10], keys[20]), cold(keys[1], keys[n-1]); all > few+2 || all > 2*h {
		t.Errorf("size of ten rows visits %d pages, of all rows %d", few, all)
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

const benchRows = 2_000_000

func BenchmarkSearch(b *testing.B) {
	_, a, keys := bigArray(b, benchRows, Options{CacheBytes: 256 << 20})
	r := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := a.Search(keys[r.IntN(len(keys))], First); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSize(b *testing.B) {
	_, a, keys := bigArray(b, benchRows, Options{CacheBytes: 256 << 20})
	r := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		i := r.IntN(len(keys) / 2)
		if n, err := a.Size(keys[i], keys[i+1_000_000-1]); n != 999_999 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	_, a, keys := bigArray(b, benchRows, Options{CacheBytes: 256 << 20})
	r := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		i := r.IntN(len(keys))
		if k, err := a.At(uint64(i)); k != keys[i] || err != nil {
			b.Fatal(k, err)
		}
	}
}

// BenchmarkRowCold reads a row of a page that is not in the cache.
func BenchmarkRowCold(b *testing.B) {
	_, a, keys := bigArray(b, benchRows, Options{CacheBytes: 64 << 10})
	r := rand.New(rand.NewPCG(1, 1))
	var row []byte
	var err error
	b.ReportAllocs()
	for b.Loop() {
		if row, err = a.Row(uint64(r.IntN(len(keys))), row); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for _, id := range []TypeID{TypeCall, TypeP2P} {
		tt := StandardTypes(Packed)
		b.Run(tt.Lookup(id).Name, func(b *testing.B) {
			rows := loopRows(id, 1<<18)
			f := openMem(b, buildFile(b, tt, []testRegion{{p: 0, arrays: []testArray{{id, rows}}}, {p: WholeRun}}))
			a, err := f.Array(0, id)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(rows)))
			b.ReportAllocs()
			for b.Loop() {
				c := a.Rows(0, Never)
				n := 0
				for c.Next() {
					n++
				}
				if n != 1<<18 || c.Err() != nil {
					b.Fatal(n, c.Err())
				}
			}
		})
	}
}

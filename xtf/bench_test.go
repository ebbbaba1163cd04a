package xtf

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

const benchRows = 2_000_000

// perOp runs op and reports, next to its time, what the counters of the file say.
func perOp(b *testing.B, f *File, op func(r *rand.Rand) error) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 { // what fits into the cache is there
		if err := op(r); err != nil {
			b.Fatal(err)
		}
	}
	before := f.Stats()
	b.ReportAllocs()
	for b.Loop() {
		if err := op(r); err != nil {
			b.Fatal(err)
		}
	}
	after, n := f.Stats(), float64(b.N)
	b.ReportMetric(float64(after.PageReads-before.PageReads)/n, "reads/op")
	b.ReportMetric(float64(after.Hits-before.Hits)/n, "hits/op")
	b.ReportMetric(float64(after.Comparisons-before.Comparisons)/n, "compares/op")
}

// BenchmarkResident asks an array that is in the cache.
func BenchmarkResident(b *testing.B) {
	f, a, keys := bigArray(b, benchRows, Options{CacheBytes: 256 << 20})
	var row []byte
	for _, x := range []struct {
		name string
		op   func(r *rand.Rand) error
	}{
		{"search", func(r *rand.Rand) error {
			_, ok, err := a.Search(keys[r.IntN(len(keys))], First)
			if !ok && err == nil {
				err = fmt.Errorf("not found")
			}
			return err
		}},
		{"size", func(r *rand.Rand) error {
			i := r.IntN(len(keys) / 2)
			n, err := a.Size(keys[i], keys[i+1_000_000-1])
			if n != 999_999 && err == nil {
				err = fmt.Errorf("%d rows", n)
			}
			return err
		}},
		{"next", func(r *rand.Rand) error {
			_, _, _, err := a.Next(keys[r.IntN(len(keys))], 1000)
			return err
		}},
		{"at", func(r *rand.Rand) error {
			i := r.IntN(len(keys))
			k, err := a.At(uint64(i))
			if k != keys[i] && err == nil {
				err = fmt.Errorf("key %d", k)
			}
			return err
		}},
		{"row", func(r *rand.Rand) (err error) {
			row, err = a.Row(uint64(r.IntN(len(keys))), row)
			return err
		}},
	} {
		b.Run(x.name, func(b *testing.B) { perOp(b, f, x.op) })
	}
}

// BenchmarkParallel asks it from all cores at once.
func BenchmarkParallel(b *testing.B) {
	_, a, keys := bigArray(b, benchRows, Options{CacheBytes: 256 << 20})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := rand.New(rand.NewPCG(rand.Uint64(), 1))
		for pb.Next() {
			if _, ok, err := a.Search(keys[r.IntN(len(keys))], First); !ok || err != nil {
				b.Error(ok, err)
			}
		}
	})
}

// BenchmarkCold asks for pages that are not in the cache; the system has the file
// in memory.
func BenchmarkCold(b *testing.B) {
	_, big, keys := bigArray(b, benchRows, Options{})
	f, _ := onDisk(b, big.f.r.(*memFile), Options{CacheBytes: 128 << 10})
	a, err := f.Array(0, TypeMetric)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("search", func(b *testing.B) {
		perOp(b, f, func(r *rand.Rand) error {
			_, _, err := a.Search(keys[r.IntN(len(keys))], First)
			return err
		})
	})
	var row []byte
	b.Run("row", func(b *testing.B) {
		perOp(b, f, func(r *rand.Rand) (err error) {
			row, err = a.Row(uint64(r.IntN(len(keys))), row)
			return err
		})
	})
}

// BenchmarkColdCall reads calls, whose rows have all transforms, of pages that
// are not in the cache.
func BenchmarkColdCall(b *testing.B) {
	const n = 1 << 18
	tt := StandardTypes(Packed)
	m := buildFile(b, tt, []testRegion{{p: 0, arrays: []testArray{{TypeCall, loopRows(TypeCall, n)}}}, {p: WholeRun}})
	f, err := Open(m, int64(len(m.b)), Options{CacheBytes: 128 << 10})
	if err != nil {
		b.Fatal(err)
	}
	a, err := f.Array(0, TypeCall)
	if err != nil {
		b.Fatal(err)
	}
	var row []byte
	perOp(b, f, func(r *rand.Rand) (err error) {
		row, err = a.Row(r.Uint64N(n), row)
		return err
	})
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

package xtf

import (
	"hash/crc32"
	"io"
	"math/rand/v2"
	"sort"
	"testing"
)

// memFile is a file in memory.
type memFile struct{ b []byte }

func (m *memFile) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}

func (m *memFile) ReadAt(p []byte, off int64) (int, error) {
	if off > int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// tinyTypes are the standard types with so few rows a page that small arrays
// have many levels.
func tinyTypes(p Profile, z, s int) *TypeTable {
	tt := StandardTypes(p)
	for i := range tt.types {
		if tt.types[i].ID != TypeDirectory {
			tt.types[i].PageRows, tt.types[i].Fanout = z, s
		}
	}
	return tt
}

// testArray is what a test file shall hold.
type testArray struct {
	typ  TypeID
	rows []byte // whole rows
}

type testRegion struct {
	p      Proc
	arrays []testArray
	blobs  []Blob
}

var testID = [16]byte{1, 2, 3, 4, 5, 6, 7, 8}

func buildArray(t testing.TB, tt *TypeTable, p Proc, a testArray) FinishedArray {
	t.Helper()
	sink := &MemorySink{}
	typ := tt.Lookup(a.typ)
	b := NewArrayBuilder(NewEncoder(), typ, p, sink)
	for o := 0; o < len(a.rows); o += typ.RowBytes {
		row, _ := b.Append()
		copy(row, a.rows[o:])
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return FinishedArray{Summary: sum, Data: sink}
}

// buildFile composes a file; the last region must be the whole run.
func buildFile(t testing.TB, tt *TypeTable, regions []testRegion) *memFile {
	t.Helper()
	m := &memFile{}
	w := NewFileWriter(m, tt, testID, &MemorySink{})
	for _, r := range regions {
		var arrays []FinishedArray
		for _, a := range r.arrays {
			arrays = append(arrays, buildArray(t, tt, r.p, a))
		}
		plan, err := PlanRegion(tt, r.p, arrays, r.blobs)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Region(plan, uint32(r.p), 0, 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit([]Blob{
		BytesBlob(KindDefinitions, 1, 0, []byte("definitions")),
		BytesBlob(KindProvenance, 1, 0, []byte(`{"tool":"test"}`)),
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

func openMem(t testing.TB, m *memFile) *File {
	t.Helper()
	f, err := Open(m, int64(len(m.b)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// metricRows makes METRIC rows with the given keys.
func metricRows(keys []uint64) []byte {
	b := make([]byte, len(keys)*MetricRowBytes)
	for i, k := range keys {
		(&Metric{T: k, Value: uint64(i) * 3, Metric: uint32(i % 5)}).Put(b[i*MetricRowBytes:])
	}
	return b
}

// callRows makes a random well-nested call tree of n calls.
func callRows(r *rand.Rand, n int) []byte {
	b := make([]byte, n*CallRowBytes)
	var stack []int
	var child []uint64
	t := r.Uint64N(1000)
	leave := func() {
		top := len(stack) - 1
		row := b[stack[top]*CallRowBytes:]
		t += r.Uint64N(40)
		SetU64(row, CallEnd, t)
		span := t - U64(row, CallT)
		SetU64(row, CallExclusive, span-child[top])
		stack, child = stack[:top], child[:top]
		if top > 0 {
			child[top-1] += span
		}
	}
	for i := range n {
		for len(stack) > 1 && r.IntN(3) > 0 {
			leave()
		}
		c := Call{T: t, Parent: Never, Region: r.Uint32N(20), Depth: uint32(len(stack))}
		if len(stack) > 0 {
			c.Parent = uint64(stack[len(stack)-1])
		}
		if r.IntN(3) == 0 {
			c.Class = ClassMPI | 1<<(1+r.IntN(8))
			c.Flags = FlagOutermostMPI
		}
		c.Put(b[i*CallRowBytes:])
		stack, child = append(stack, i), append(child, 0)
		t += r.Uint64N(30)
	}
	for len(stack) > 0 {
		leave()
	}
	return b
}

// sortedKeys makes n rising keys with many duplicates.
func sortedKeys(r *rand.Rand, n int, spread uint64) []uint64 {
	k := make([]uint64, n)
	for i := range k {
		k[i] = r.Uint64N(spread)
	}
	sort.Slice(k, func(i, j int) bool { return k[i] < k[j] })
	return k
}

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

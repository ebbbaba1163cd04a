package xtf

import (
	"os"
	"path/filepath"
	"testing"
)

// sparseFile is a file with one array of METRIC rows that is far larger than what
// is written of it: its head, and the pages from the root to one row. Row n has
// the key 10n.
type sparseFile struct {
	f    *os.File
	tt   *TypeTable
	typ  *Type
	desc descriptor
	base int64
}

// sparseStride is where packed pages of the sparse file begin, one after the
// other: more than one takes.
const sparseStride = 16 << 10

// newSparse lays out an array of so many full pages and writes all but pages.
func newSparse(t *testing.T, prof Profile, pages uint64) (*sparseFile, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.xtf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	x := &sparseFile{f: f, tt: StandardTypes(prof)}
	x.typ = x.tt.Lookup(TypeMetric)
	n := pages * uint64(x.typ.PageRows)
	x.desc = descriptor{typ: TypeMetric, rows: n, last: 10 * (n - 1), codec: x.typ.Codec}
	at := uint64(0)
	for lv, count := range Geometry(n, x.typ.PageRows, x.typ.Fanout) {
		x.desc.levels = append(x.desc.levels, level{start: at, auxStart: Never, pages: uint32(count)})
		at += count * x.stride(lv)
	}
	x.desc.bytes = at
	region := &RegionPlan{align: x.tt.align, arrays: []arrayPlan{{desc: x.desc, typ: x.typ}}}
	if err := region.place(); err != nil {
		t.Fatal(err)
	}
	whole, err := PlanRegion(x.tt, WholeRun, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := FirstRegion(x.tt)
	x.base = first + int64(len(region.head))
	sink := &MemorySink{}
	dir := NewArrayBuilder(NewEncoder(), x.tt.Lookup(TypeDirectory), WholeRun, sink)
	behind := first + region.Size()
	for _, d := range []DirRow{region.DirRow(first, testID), whole.DirRow(behind, testID)} {
		row, _ := dir.Append()
		d.Put(row)
	}
	sum, err := dir.Finish()
	if err != nil {
		t.Fatal(err)
	}
	out := NewBlockWriter(f, behind)
	if err := whole.WriteTo(out, testID); err != nil {
		t.Fatal(err)
	}
	tail := Tail{Types: x.tt, FileID: testID, Dir: FinishedArray{Summary: sum, Data: sink}}
	sb, err := tail.WriteTo(out, out.Offset())
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		t.Skipf("no file of %d bytes here: %v", behind, err)
	}
	x.write(t, region.head, first)
	x.write(t, sb.Encode(), 0)
	return x, path
}

func (x *sparseFile) write(t *testing.T, b []byte, off int64) {
	t.Helper()
	if _, err := x.f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

func (x *sparseFile) stride(lv int) uint64 {
	if s := pageStride(x.typ, x.typ.Codec, lv, x.tt.align); s > 0 {
		return uint64(s)
	}
	return sparseStride
}

// path writes the pages from row n's up to the root.
func (x *sparseFile) path(t *testing.T, n uint64) {
	t.Helper()
	z := uint64(x.typ.PageRows)
	ord := n / z
	keys := make([]uint64, z)
	for i := range keys {
		keys[i] = 10 * (ord*z + uint64(i))
	}
	sink := &MemorySink{}
	b := NewArrayBuilder(NewEncoder(), x.typ, 0, sink)
	for rows := metricRows(keys); len(rows) > 0; rows = rows[MetricRowBytes:] {
		row, _ := b.Append()
		copy(row, rows[:MetricRowBytes])
	}
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	kid := x.seal(t, 0, ord, int(z), int(z)*x.typ.RowBytes, sink.b)
	for lv := 1; lv < len(x.desc.levels); lv++ {
		below := x.desc.levels[lv-1]
		up := ord / uint64(x.typ.Fanout)
		count := childCount(uint64(below.pages), x.typ.Fanout, up)
		body := make([]byte, count*indexEntry)
		for i := range count {
			child := up*uint64(x.typ.Fanout) + uint64(i)
			le.PutUint64(body[8*i:], 10*child*levelRows(x.typ, lv-1))
			le.PutUint64(body[8*(count+i):], below.start+child*x.stride(lv-1))
			le.PutUint32(body[16*count+4*i:], uint32(pageHeader+len(sink.b)))
			if child == ord {
				le.PutUint32(body[20*count+4*i:], kid)
			}
		}
		kid, ord = x.seal(t, lv, up, count, len(body), body), up
	}
}

// seal writes a page and returns its checksum.
func (x *sparseFile) seal(t *testing.T, lv int, ord uint64, count, raw int, body []byte) uint32 {
	t.Helper()
	h := header{
		kind: pageIndex, level: uint8(lv), typ: TypeMetric, count: uint32(count), stored: uint32(len(body)), raw: uint32(raw),
		ordinal: ord, firstN: ord * levelRows(x.typ, lv), prev: Never, next: Never,
	}
	if lv == 0 {
		h.kind, h.codec = pageData, x.typ.Codec
	}
	page := append(make([]byte, pageHeader), body...)
	h.magic = pageMagic
	h.Put(page)
	crc := sealPage(page, page[pageHeader:], pageSeed(testID, 0, TypeMetric))
	x.write(t, page, x.base+int64(x.desc.levels[lv].start+ord*x.stride(lv)))
	return crc
}

// TestSparseTerabyte opens a file of 1 TiB of which little is there: whatever is
// read next to the path to a row would be a hole, and an error.
func TestSparseTerabyte(t *testing.T) {
	for _, x := range []struct {
		name   string
		prof   Profile
		pages  uint64
		height int
	}{
		{"packed", Packed, 1 << 26, 4},
		{"raw pages of 4 KiB", Raw4K, 1 << 28, 5},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, path := newSparse(t, x.prof, x.pages)
			target := s.desc.rows/3*2 + 77
			s.path(t, target)
			f, err := OpenFile(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f.size < 1<<40 || f.Stats().PageReads > 5 {
				t.Errorf("%d bytes, opened in %d reads", f.size, f.Stats().PageReads)
			}
			a, err := f.Array(0, TypeMetric)
			if err != nil || a.Height() != x.height {
				t.Fatalf("height %d: %v", a.Height(), err)
			}
			checkSparse(t, f, a, target)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func checkSparse(t *testing.T, f *File, a *Array, target uint64) {
	t.Helper()
	h := uint64(a.Height())
	for _, q := range []struct {
		name  string
		pages uint64
		ask   func(a *Array) (uint64, error)
		want  uint64
	}{
		{"search", h, func(a *Array) (uint64, error) { p, _, err := a.Search(10*target, First); return p.N, err }, target},
		{"search past the end", h, func(a *Array) (uint64, error) { p, _, err := a.Search(10*target+1, GE); return p.N, err }, target + 1},
		{"size of ten rows", 2 * h, func(a *Array) (uint64, error) { return a.Size(10*target, 10*target+100) }, 10},
		{"size of half the array", 2 * h, func(a *Array) (uint64, error) { return a.Size(0, 10*target) }, target},
		{"size of all", 2 * h, func(a *Array) (uint64, error) { return a.Size(0, Never) }, a.Len()},
		{"next", h + 2, func(a *Array) (uint64, error) { p, _, _, err := a.Next(10*target, 1<<30); return p.N, err }, target + 1<<30},
		{"at", 2, func(a *Array) (uint64, error) { return a.At(target) }, 10 * target},
	} {
		f.cache = newCache(0)
		var st Stats
		b := *a
		b.cost = &st
		got, err := q.ask(&b)
		if err != nil || got != q.want || st.PageReads+st.Hits > q.pages || st.Comparisons > 2*worst(a) {
			t.Errorf("%s: %d %v, want %d; cost %+v, height %d", q.name, got, err, q.want, st, h)
		}
	}
}

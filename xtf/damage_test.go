package xtf

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// smallFile holds several types, levels, codecs, blobs in few bytes.
func smallFile(t testing.TB, p Profile) *memFile {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	tt := tinyTypes(p, 4, 3)
	bins := make([]byte, 3*TimeBinRowBytes)
	for i := range 3 {
		(&TimeBin{Key: BinKey(1, uint64(i)), Count: 5}).Put(bins[i*TimeBinRowBytes:])
	}
	return buildFile(t, tt, []testRegion{
		{p: 0, arrays: []testArray{{TypeCall, callRows(r, 45)}, {TypeMetric, metricRows(sortedKeys(r, 7, 9))}}, blobs: []Blob{BytesBlob(KindCCGColumns, 1, 0, []byte("columns of 0"))}},
		{p: 1},
		{p: 2, arrays: []testArray{{TypeCall, callRows(r, 3)}}},
		{p: WholeRun, arrays: []testArray{{TypeTimeBin, bins}}},
	})
}

// contents reads everything a file holds through the public calls.
func contents(f *File) ([]byte, error) {
	var b bytes.Buffer
	d, err := f.Digest()
	if err != nil {
		return nil, err
	}
	b.Write(d[:])
	for _, s := range f.Sections() {
		if s.Kind == KindDirectory || s.Kind == KindTypes {
			continue
		}
		c, err := f.SectionBytes(s.Kind)
		if err != nil {
			return nil, err
		}
		b.Write(c)
	}
	for p := range f.Procs() {
		row, err := f.Dir(Proc(p))
		if err != nil {
			return nil, err
		}
		b.Write(le.AppendUint64(nil, row.Events))
		blobs, err := f.Blobs(Proc(p))
		if err != nil {
			return nil, err
		}
		for _, s := range blobs {
			c, err := f.BlobBytes(Proc(p), s.Kind)
			if err != nil {
				return nil, err
			}
			b.Write(c)
		}
	}
	return b.Bytes(), nil
}

// named says whether an error is one a caller can decide on.
func named(err error) bool {
	for _, s := range []error{ErrNotXTF, ErrNotCommitted, ErrCorrupt, ErrVersion, ErrNoProc, ErrNoSection, ErrNoTimes} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

func TestCheckSound(t *testing.T) {
	for _, p := range []Profile{Packed, Raw4K} {
		f := openMem(t, smallFile(t, p))
		passed := uint64(0)
		res, err := Check(f, func(bytes uint64) { passed += bytes })
		if err != nil || res.Found != 0 || passed != res.Bytes {
			t.Fatalf("Check = %+v %v, %d bytes passed", res, err, passed)
		}
		if res.Rows != 45+7+3+3+4 || res.Regions != 4 {
			t.Errorf("%d rows in %d regions", res.Rows, res.Regions)
		}
	}
}

// TestCheckDirectory writes rows of the directory that contradict their regions,
// with sound checksums.
func TestCheckDirectory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tt := tinyTypes(Packed, 4, 3)
	for name, order := range map[string][][2]uint32{
		"sound":           {{0, 0}, {0, 1}, {2, 0}},
		"equal places":    {{0, 0}, {0, 0}, {2, 0}},
		"threads fall":    {{0, 0}, {1, 5}, {1, 2}},
		"processes fall":  {{0, 0}, {3, 0}, {2, 0}},
		"times of others": {{0, 0}, {0, 1}, {2, 0}},
	} {
		m := &memFile{}
		w := NewFileWriter(m, tt, testID, &MemorySink{})
		for p := range Proc(4) {
			if p == 3 {
				p = WholeRun
			}
			plan, err := PlanRegion(tt, p, []FinishedArray{buildArray(t, tt, p, testArray{TypeMetric, metricRows(sortedKeys(r, 5, 9))})}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if name == "times of others" && p == 1 {
				plan.last++
			}
			place := order[min(p, 2)]
			if err := w.Region(plan, place[0], place[1], 7); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(nil); err != nil {
			t.Fatal(err)
		}
		res, err := Check(openMem(t, m), nil)
		if err != nil || (res.Found == 0) != (name == "sound") {
			t.Errorf("%s: %v %v", name, res.Problems, err)
		}
	}
}

func TestDigestIndependentOfCodec(t *testing.T) {
	a, err := openMem(t, smallFile(t, Packed)).Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Profile{Raw4K, Raw16K, Raw64K} {
		if b, err := openMem(t, smallFile(t, p)).Digest(); err != nil || a != b {
			t.Errorf("digest of profile %v: %x %v, want %x", p, b, err, a)
		}
	}
}

// TestDamagedIndex damages an index page: who reads from the start follows the links of the data pages, and loses no row.
func TestDamagedIndex(t *testing.T) {
	for _, prof := range []Profile{Packed, Raw4K} {
		keys := sortedKeys(rand.New(rand.NewPCG(5, 6)), 100, 9)
		m := buildFile(t, tinyTypes(prof, 4, 3), []testRegion{{p: 0, arrays: []testArray{{TypeMetric, metricRows(keys)}}}, {p: WholeRun}})
		a, err := openMem(t, m).Array(0, TypeMetric)
		if err != nil {
			t.Fatal(err)
		}
		m.b[a.base+int64(a.desc.levels[1].start)+pageHeader] ^= 1
		f := openMem(t, m)
		if a, err = f.Array(0, TypeMetric); err != nil {
			t.Fatal(err)
		}
		n := 0
		c := a.Rows(0, Never)
		for ; c.Next(); n++ {
			if k := U64(c.Row(), 0); k != keys[n] {
				t.Errorf("row %d has the key %d, not %d", n, k, keys[n])
			}
		}
		if n != len(keys) || c.Err() != nil || len(f.Damage()) > 0 {
			t.Errorf("%d rows of %d, %v, %v", n, len(keys), c.Err(), f.Damage())
		}
		if res, err := Check(f, nil); err != nil || res.Found == 0 || res.LostRows > 0 {
			t.Errorf("Check: %+v %v", res, err)
		}
		if c := a.Rows(8, 12); c.Next() || !errors.Is(c.Err(), ErrCorrupt) || len(f.Damage()) == 0 {
			t.Errorf("rows in the middle: %v, %v", c.Err(), f.Damage())
		}
	}
}

// fewTypes holds one array of two levels in the fewest bytes: most of a small file
// is its type table.
func fewTypes(t testing.TB) *memFile {
	t.Helper()
	tt := tinyTypes(Packed, 4, 3)
	kept := tt.types[:0]
	for _, typ := range tt.types {
		if typ.ID == TypeCall || typ.ID == TypeDirectory {
			typ.Sums = typ.Sums[:min(len(typ.Sums), 2)]
			kept = append(kept, typ)
		}
	}
	tt.types = kept
	return buildFile(t, tt, []testRegion{
		{p: 0, arrays: []testArray{{TypeCall, callRows(rand.New(rand.NewPCG(3, 4)), 9)}}, blobs: []Blob{BytesBlob(KindCCGColumns, 1, 0, []byte("columns"))}},
		{p: WholeRun},
	})
}

// TestEveryBitFlip flips every bit of a small file, and bits all over files with
// all types and profiles.
func TestEveryBitFlip(t *testing.T) {
	for _, x := range []struct {
		m           *memFile
		step, short int // primes, so that all positions of a byte come up
	}{
		{fewTypes(t), 1, 61},
		{smallFile(t, Packed), 37, 151},
		{smallFile(t, Raw4K), 37 * 17, 151 * 17},
	} {
		m := x.m
		want, err := contents(openMem(t, m))
		if err != nil {
			t.Fatal(err)
		}
		step := x.step
		if testing.Short() {
			step = x.short
		}
		for bit := 0; bit < 8*len(m.b); bit += step {
			if step > 1 && m.b[bit/8] == 0 && bit%8 > 1 && blankAround(m.b, bit/8) {
				continue // deep in padding: a few bits of each byte will do
			}
			m.b[bit/8] ^= 1 << (bit % 8)
			checkDamaged(t, m, want, bit, m.b[bit/8]^1<<(bit%8))
			m.b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func blankAround(b []byte, i int) bool { return blank(b[max(0, i-32):min(len(b), i+32)]) }

// checkDamaged opens a file with one flipped bit in a byte that was old.
func checkDamaged(t *testing.T, m *memFile, want []byte, bit int, old byte) {
	t.Helper()
	f, err := Open(m, int64(len(m.b)), Options{})
	if err != nil {
		if !named(err) {
			t.Fatalf("bit %d: Open: %v", bit, err)
		}
		return
	}
	res, err := Check(f, nil)
	if err != nil {
		t.Fatalf("bit %d: Check: %v", bit, err)
	}
	if f, err = Open(m, int64(len(m.b)), Options{}); err != nil {
		t.Fatalf("bit %d: Open again: %v", bit, err)
	}
	got, err := contents(f)
	if errors.Is(err, ErrCorrupt) != (len(f.Damage()) > 0) {
		t.Fatalf("bit %d: reading says %v, the file remembers %v", bit, err, f.Damage())
	}
	switch {
	case err != nil && !named(err):
		t.Fatalf("bit %d: unnamed error %v", bit, err)
	case err == nil && !bytes.Equal(got, want):
		t.Fatalf("bit %d: other contents without an error", bit)
	case res.Found == 0 && (err != nil || old != 0):
		t.Fatalf("bit %d of byte %#x: Check found nothing, reading says %v", bit, old, err)
	}
}

func TestTruncated(t *testing.T) {
	m := smallFile(t, Packed)
	for n := range m.b {
		c := &memFile{b: m.b[:n]}
		_, err := Open(c, int64(n), Options{})
		if !errors.Is(err, ErrNotCommitted) && !errors.Is(err, ErrNotXTF) {
			t.Fatalf("%d of %d bytes: %v", n, len(m.b), err)
		}
	}
	for name, b := range map[string][]byte{"empty": nil, "json": []byte(`{"a":1}`), "text": bytes.Repeat([]byte("x"), 9000)} {
		if _, err := Open(&memFile{b: b}, int64(len(b)), Options{}); !errors.Is(err, ErrNotXTF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// exercise calls every primitive on everything a file claims to hold.
func exercise(f *File) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	_, err := Check(f, nil)
	note(err)
	_, err = contents(f)
	note(err)
	for n := range min(f.Procs(), 4) + 1 {
		p := Proc(n)
		if n == f.Procs() {
			p = WholeRun
		}
		ids, err := f.Arrays(p)
		note(err)
		for _, id := range ids {
			a, err := f.Array(p, id)
			if err != nil {
				note(err)
				continue
			}
			lo, hi, _ := a.Bounds()
			for _, k := range []uint64{0, lo, lo + 1, (lo + hi) / 2, hi, Never} {
				for m := First; m <= LT; m++ {
					_, _, err = a.Search(k, m)
					note(err)
				}
				_, _, _, err = a.Next(k, 3)
				note(err)
				_, err = a.Size(lo, k)
				note(err)
			}
			_, err = a.Sums().Between(lo, (lo+hi)/2)
			note(err)
			_, _, _, err = a.Sums().Limits(lo+1, hi)
			note(err)
			note(a.Overlapping((lo+hi)/2, hi, func(uint64, []byte) bool { return true }))
			note(a.Stack((lo+hi)/2, func(uint64, []byte) bool { return true }))
			for _, n := range []uint64{0, a.Len() / 2, a.Len() - 1, a.Len()} {
				_, err = a.At(n)
				if n < a.Len() {
					note(err)
				}
				row, err := a.Row(n, nil)
				if n < a.Len() {
					note(err)
				}
				for _, c := range amounts[id] {
					if err == nil && le.Uint64(row[c:]) > Most(1) {
						return fmt.Errorf("row %d of %d has %d in column %d", n, id, le.Uint64(row[c:]), c)
					}
				}
			}
		}
	}
	return first
}

// patched applies a list of changes to a copy of b: 3 bytes of offset and one to
// xor each, then a cut to a share of the length.
func patched(b, patch []byte, cut byte) []byte {
	b = bytes.Clone(b)
	for ; len(patch) >= 4; patch = patch[4:] {
		b[(int(patch[0])|int(patch[1])<<8|int(patch[2])<<16)%len(b)] ^= patch[3]
	}
	return b[:len(b)-len(b)*int(cut)/255]
}

func FuzzOpen(f *testing.F) {
	packed, plain := smallFile(f, Packed).b, smallFile(f, Raw4K).b
	f.Add([]byte{}, byte(0), byte(0))
	f.Add([]byte{10, 0, 0, 1, 70, 16, 0, 255}, byte(0), byte(1))
	f.Add([]byte(nil), byte(77), byte(2))
	f.Add(packed[:128], byte(0), byte(3))
	f.Fuzz(func(t *testing.T, b []byte, cut, base byte) {
		switch base % 3 {
		case 0:
			b = patched(packed, b, cut)
		case 1:
			b = patched(plain, b, cut)
		}
		x, err := Open(bytes.NewReader(b), int64(len(b)), Options{CacheBytes: 1 << 16})
		if err == nil {
			err = exercise(x)
		}
		if err != nil && !named(err) {
			t.Fatalf("unnamed error: %v", err)
		}
	})
}

// FuzzInside mutates a file and reads it without checksums, so that what lies
// after them is reached.
func FuzzInside(f *testing.F) {
	packed, plain := smallFile(f, Packed).b, smallFile(f, Raw4K).b
	f.Add([]byte{8, 16, 0, 1, 70, 0, 0, 255}, false)
	f.Add([]byte{80, 16, 0, 1, 64, 16, 0, 255}, true)
	f.Fuzz(func(t *testing.T, patch []byte, raw bool) {
		m := &memFile{b: patched(packed, patch, 0)}
		if raw {
			m.b = patched(plain, patch, 0)
		}
		lenient := &File{r: m, size: int64(len(m.b)), cache: newCache(1 << 16), unchecked: true}
		lenient.decoders.New = func() any { return newDecoder() }
		err := lenient.open()
		if err == nil {
			err = exercise(lenient)
		}
		if err != nil && !named(err) {
			t.Fatalf("unnamed error: %v", err)
		}
	})
}

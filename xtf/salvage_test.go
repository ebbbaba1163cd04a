package xtf

import (
	"bytes"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestRewind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	undo := backwards()
	for range 1000 {
		b := make([]byte, r.IntN(100))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		before := r.Uint32()
		if got := rewind(crc32.Update(before, castagnoli, b), b, undo); got != before {
			t.Fatalf("%x comes back as %x", before, got)
		}
	}
}

// longFile holds arrays of several pages of the standard types.
func longFile(t testing.TB, p Profile) *memFile {
	t.Helper()
	r := rand.New(rand.NewPCG(6, 6))
	return buildFile(t, StandardTypes(p), []testRegion{
		{p: 0, arrays: []testArray{{TypeCall, callRows(r, 3000)}, {TypeMetric, metricRows(sortedKeys(r, 5000, 90))}}},
		{p: 1},
		{p: 2, arrays: []testArray{{TypeCall, callRows(r, 10)}}},
		{p: WholeRun},
	})
}

func salvaged(t *testing.T, b []byte) *SalvageResult {
	t.Helper()
	res, err := Salvage(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestSalvageWhole damages what a file needs to open, and nothing else: all rows
// are found, in the same arrays.
func TestSalvageWhole(t *testing.T) {
	for name, m := range map[string]*memFile{
		"packed": smallFile(t, Packed), "raw": smallFile(t, Raw4K), "raw 16K": smallFile(t, Raw16K),
		"long": longFile(t, Packed), "long raw": longFile(t, Raw4K),
	} {
		f := openMem(t, m)
		check, err := Check(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		types, err := f.section(KindTypes)
		if err != nil {
			t.Fatal(err)
		}
		standard := name[0] == 'l'
		for _, damage := range []struct {
			name string
			do   func(b []byte)
			lose bool // the type table is lost
		}{
			{"superblock never written", func(b []byte) { clear(b[:SuperblockSize]) }, false},
			{"superblock damaged", func(b []byte) { b[20] ^= 1 }, false},
			{"footer damaged", func(b []byte) { b[len(b)-5] ^= 1 }, false},
			{"type table and superblock lost", func(b []byte) {
				clear(b[:SuperblockSize])
				clear(b[types.Offset : types.Offset+types.Size])
			}, true},
		} {
			if damage.lose && !standard {
				continue
			}
			b := bytes.Clone(m.b)
			damage.do(b)
			if _, err := Open(bytes.NewReader(b), int64(len(b)), Options{}); err == nil {
				t.Fatalf("%s, %s: opens", name, damage.name)
			}
			res := salvaged(t, b)
			if res.Rows != check.Rows || res.LostRows != 0 || res.Regions != check.Regions+1 || res.Found != 0 {
				t.Errorf("%s, %s: %d rows of %d in %d regions, %d lost: %v", name, damage.name, res.Rows, check.Rows, res.Regions, res.LostRows, res.Problems)
			}
			for _, x := range res.Parts[:len(res.Parts)-1] {
				ids, err := f.Arrays(x.P)
				if err != nil || len(ids) != len(x.Arrays) {
					t.Errorf("%s, %s: region %d has %d arrays, not %d: %v", name, damage.name, x.P, len(x.Arrays), len(ids), err)
				}
			}
		}
	}
}

// TestSalvageCut cuts files everywhere: the longer the piece, the more can be
// read, and never more than there is.
func TestSalvageCut(t *testing.T) {
	for _, p := range []Profile{Packed, Raw4K} {
		m := longFile(t, p)
		check, err := Check(openMem(t, m), nil)
		if err != nil {
			t.Fatal(err)
		}
		step := len(m.b) / 150
		if testing.Short() {
			step *= 5
		}
		rows, some := uint64(0), 0
		for n := SuperblockSize + 200; n < len(m.b); n += step {
			res, err := Salvage(bytes.NewReader(m.b[:n]), int64(n))
			if errors.Is(err, ErrNotXTF) && rows == 0 {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if res.Rows < rows || res.Rows > check.Rows {
				t.Fatalf("%d bytes: %d rows, %d of less bytes, %d of all", n, res.Rows, rows, check.Rows)
			}
			if rows = res.Rows; rows > 0 && rows < check.Rows {
				some++
			}
		}
		if some < 10 || rows == 0 {
			t.Errorf("profile %v: %d cuts left some rows, the last %d", p, some, rows)
		}
	}
}

// TestSalvagePage damages one page next to the superblock: its rows are lost, and
// named.
func TestSalvagePage(t *testing.T) {
	m := longFile(t, Packed)
	a, err := openMem(t, m).Array(0, TypeCall)
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(m.b)
	clear(b[:SuperblockSize])
	b[a.base+100] ^= 4
	res := salvaged(t, b)
	if res.LostRows != uint64(a.typ.PageRows) || len(res.Problems) == 0 || res.Problems[0].Type != TypeCall || !strings.Contains(res.Problems[0].Err.Error(), "CALL page 0") {
		t.Errorf("%d rows lost: %v", res.LostRows, res.Problems)
	}
}

// TestSalvageNothing gives bytes without a region.
func TestSalvageNothing(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("text"), make([]byte, 10_000), bytes.Repeat([]byte("XTFr"), 5000)} {
		if _, err := Salvage(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrNotXTF) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

func FuzzSalvage(f *testing.F) {
	packed, plain := smallFile(f, Packed).b, smallFile(f, Raw4K).b
	f.Add([]byte{10, 0, 0, 1, 70, 16, 0, 255}, byte(0), true)
	f.Add([]byte(nil), byte(77), false)
	f.Fuzz(func(t *testing.T, patch []byte, cut byte, raw bool) {
		b := patched(packed, patch, cut)
		if raw {
			b = patched(plain, patch, cut)
		}
		clear(b[:min(len(b), len(patch)%2*128)])
		res, err := Salvage(bytes.NewReader(b), int64(len(b)))
		if err != nil && !errors.Is(err, ErrNotXTF) && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("unnamed error: %v", err)
		}
		if err == nil && res.Rows > 70 {
			t.Fatalf("%d rows of 62 and the directory's", res.Rows)
		}
	})
}

package xtf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// reseal writes a superblock over the one of a file.
func reseal(b []byte, change func(*Superblock)) []byte {
	b = bytes.Clone(b)
	sb, err := parseSuperblock(b, int64(len(b)))
	if err != nil {
		panic(err)
	}
	change(&sb)
	copy(b, sb.Encode())
	return b
}

// TestVersions opens files of other versions: docs/format/xtf.md, "Versions".
func TestVersions(t *testing.T) {
	b := smallFile(t, Packed).b
	for name, x := range map[string]struct {
		change func(*Superblock)
		want   error
	}{
		"this one":             {func(*Superblock) {}, nil},
		"a higher minor":       {func(s *Superblock) { s.Minor = 7 }, nil},
		"the earlier form":     {func(s *Superblock) { s.Incompat = featureViews }, nil},
		"a compatible feature": {func(s *Superblock) { s.Compat = 1 << 63 }, nil},
		"another major":        {func(s *Superblock) { s.Major = 2 }, ErrVersion},
		"an unknown feature":   {func(s *Superblock) { s.Incompat |= features + 1 }, ErrVersion},
		"no version":           {func(s *Superblock) { s.Major = 0 }, ErrNotCommitted},
	} {
		b := reseal(b, x.change)
		if _, err := Open(bytes.NewReader(b), int64(len(b)), Options{}); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for flags, want := range map[uint32]error{0: nil, SectionCritical: ErrVersion} {
		b := laterFile(t, flags).b
		if _, err := Open(bytes.NewReader(b), int64(len(b)), Options{}); !errors.Is(err, want) {
			t.Errorf("a section of unknown kind, flags %d: %v", flags, err)
		}
	}
}

// laterFile is a file as a later minor version may write it: a type that this
// version does not know, a column and a sum after those that it does, a section
// of another kind, longer entries of the footer, a feature.
func laterFile(t *testing.T, flags uint32) *memFile {
	t.Helper()
	tt := tinyTypes(Packed, 4, 3)
	call := tt.Lookup(TypeCall)
	call.Columns = append(call.Columns[:len(call.Columns):len(call.Columns)], Column{"energy", CallRowBytes, 8, TransformDelta})
	call.Sums = append(call.Sums[:len(call.Sums):len(call.Sums)], Sum{"energy", len(call.Columns) - 1, -1, RuleAtT, nil})
	call.RowBytes += 8
	n := len(tt.types) - 1
	tt.types = append(tt.types[:n], Type{
		ID: 50, Name: "LATER", RowBytes: 10, PageRows: 4, Fanout: 3, Codec: CodecPacked, Role: RoleKey, End: -1,
		Columns: []Column{{"key", 0, 8, TransformNone}, {"value", 8, 2, TransformDelta}},
	}, tt.types[n])
	var calls, later []byte
	for i := range uint64(30) {
		row := make([]byte, CallRowBytes)
		(&Call{T: 10 * i, End: 10*i + 5, Parent: Never, Exclusive: 5, Region: 3}).Put(row)
		calls = le.AppendUint64(append(calls, row...), 100+i)
		later = le.AppendUint16(le.AppendUint64(later, i), uint16(3*i))
	}
	m := buildFile(t, tt, []testRegion{
		{p: 0, arrays: []testArray{{TypeCall, calls}}},
		{p: WholeRun, arrays: []testArray{{50, later}}, blobs: []Blob{BytesBlob(77, 3, 0, []byte("a blob of a later version"))}},
	})
	sb, err := parseSuperblock(m.b, int64(len(m.b)))
	if err != nil {
		t.Fatal(err)
	}
	// the section goes where the footer stood, which is written anew after it
	old := m.b[sb.FooterOff:]
	content := []byte("a section of a later version")
	at := alignUp(int64(sb.FooterOff), smallAlign)
	m.b = append(m.b[:sb.FooterOff:sb.FooterOff], make([]byte, at-int64(sb.FooterOff))...)
	m.b = append(m.b, content...)
	footer := le.AppendUint32(nil, le.Uint32(old)+1)
	footer = le.AppendUint32(footer, footerEntry+8)
	entries := append(bytes.Clone(old[8:]), (&SectionInfo{60, 1, at, int64(len(content)), crcOf(content), flags}).Append(nil)...)
	for ; len(entries) > 0; entries = entries[footerEntry:] {
		footer = append(append(footer, entries[:footerEntry]...), "something"[:8]...)
	}
	sb.Minor, sb.Compat = 9, 1<<5
	sb.FooterOff, sb.FooterLen, sb.FooterCRC = uint64(len(m.b)), uint64(len(footer)), crcOf(footer)
	sb.FileEnd = sb.FooterOff + sb.FooterLen
	m.b = append(m.b, footer...)
	copy(m.b, sb.Encode())
	return m
}

// TestLaterMinor reads a file of version 1.9: all that this version knows, as it
// means it, and the rest by its description.
func TestLaterMinor(t *testing.T) {
	path := filepath.Join("testdata", "v1.9-packed.xtf.bin")
	if *update {
		if err := os.WriteFile(path, laterFile(t, 0).b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if res, err := Check(f, nil); err != nil || res.Found > 0 || res.Rows != 30+30+2 {
		t.Errorf("%d rows, %v, %v", res.Rows, res.Problems, err)
	}
	a, err := f.Array(0, TypeCall)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	err = a.Stack(52, func(n uint64, row []byte) bool {
		var c Call
		c.Load(row)
		calls++
		return n == 5 && c.T == 50 && c.Region == 3 && U64(row, CallRowBytes) == 105
	})
	if err != nil || calls != 1 {
		t.Errorf("%d calls open (%v)", calls, err)
	}
	sums, err := a.Sums().Between(100, 200)
	if err != nil || sums[0] != 10 || sums[len(sums)-1] != 10*115-5 {
		t.Errorf("sums %v (%v)", sums, err)
	}
	if a, err = f.Array(WholeRun, 50); err != nil {
		t.Fatal(err)
	}
	if row, err := a.Row(7, nil); err != nil || le.Uint16(row[8:]) != 21 {
		t.Errorf("row %x (%v)", row, err)
	}
	if b, err := f.SectionBytes(60); err != nil || len(b) != 28 {
		t.Errorf("section %q (%v)", b, err)
	}
}

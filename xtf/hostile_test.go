package xtf

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// Files whose checksums are all right and whose contents are made to harm.

// TestRowsOfVersion1 describes rows of version 1 as no file of it does. Whoever
// reads rows takes their columns from fixed offsets, so such a file must not open.
func TestRowsOfVersion1(t *testing.T) {
	for name, x := range map[string]struct {
		id     TypeID
		change func(*Type)
		ok     bool
	}{
		"as they are": {TypeGroup, func(*Type) {}, true},
		"a column too far": {TypeP2P, func(t *Type) {
			t.Columns, t.RowBytes = append(t.Columns[:len(t.Columns):len(t.Columns)], Column{"cost", 96, 8, TransformDelta}), 104
		}, true},
		"shorter rows": {TypeGroup, func(t *Type) { t.Columns, t.RowBytes = t.Columns[:1], 8 }, false},
		"narrow column": {TypeMember, func(t *Type) {
			t.Columns = []Column{{"key", 0, 8, 0}, {"class", 8, 2, 0}, {"group", 10, 2, 0}, {"rest", 12, 4, 0}}
		}, false},
		"another order": {TypeGroup, func(t *Type) { t.Role = RoleT }, false},
		"no end": {TypeCall, func(t *Type) {
			t.End, t.Sums = -1, nil
			t.Columns = []Column{{"T", 0, 8, 0}, {"rest", 8, 8, 0}}
			t.RowBytes = 16
		}, false},
		"columns lapped": {TypeID(50), func(t *Type) { t.Columns[1].Offset = 0 }, false},
		"T not first":    {TypeID(50), func(t *Type) { t.Columns[0].Offset, t.Columns[1].Offset = 8, 0 }, false},
	} {
		tt := tinyTypes(Packed, 4, 3)
		typ := tt.Lookup(x.id)
		if typ == nil { // a type that this version does not know
			tt.types = append(tt.types[:len(tt.types)-1], Type{
				ID: x.id, Name: "NEW", RowBytes: 16, PageRows: 4, Fanout: 3, Codec: CodecPacked, Role: RoleT, End: -1,
				Columns: []Column{{"T", 0, 8, 0}, {"value", 8, 8, 0}},
			}, tt.types[len(tt.types)-1])
			typ = tt.Lookup(x.id)
		}
		x.change(typ)
		m := buildFile(t, tt, []testRegion{{p: 0}, {p: WholeRun, arrays: []testArray{{x.id, make([]byte, 3*typ.RowBytes)}}}})
		f, err := Open(m, int64(len(m.b)), Options{})
		if x.ok != (err == nil) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		if res, err := Check(f, nil); err != nil || res.Found != 0 {
			t.Errorf("%s: %v %v", name, res.Problems, err)
		}
		if _, err := f.Classes(); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// countingFile counts the bytes that are read.
type countingFile struct {
	r io.ReaderAt
	n int64
}

func (c *countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(b, off)
	c.n += int64(n)
	return n, err
}

// TestCheckOverlaps lets many structures claim the same bytes: a check reads those
// a few times, not once for each claim.
func TestCheckOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tt := tinyTypes(Packed, 4, 3)
	content := make([]byte, 64<<10)
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	for name, build := range map[string]func() []byte{
		"regions":  func() []byte { return lappedRegions(t, tt, content) },
		"blobs":    func() []byte { return lappedBlobs(t, tt, content) },
		"sections": func() []byte { return lappedSections(t, tt, content) },
		"pages":    func() []byte { return lappedPages(t) },
	} {
		b := build()
		c := &countingFile{r: bytes.NewReader(b)}
		f, err := Open(c, int64(len(b)), Options{})
		if err == nil {
			var res *CheckResult
			if res, err = Check(f, nil); err == nil && res.Found == 0 {
				t.Errorf("%s: nothing found", name)
			}
		} else if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if c.n > 8*int64(len(b)) {
			t.Errorf("%s: %d bytes read of a file of %d", name, c.n, len(b))
		}
	}
}

// commitRows completes a file with the directory rows given, the last one of the
// whole run.
func commitRows(t *testing.T, w *FileWriter, rows []DirRow) {
	t.Helper()
	for i := range rows {
		row, _ := w.dir.Append()
		rows[i].Put(row)
	}
	if err := w.Commit(nil); err != nil {
		t.Fatal(err)
	}
}

// lappedRegions has the heads of many regions one after the other; the blob of
// each is the same bytes after them, up to which every region reaches.
func lappedRegions(t *testing.T, tt *TypeTable, content []byte) []byte {
	const n = 64
	m := &memFile{}
	w := NewFileWriter(m, tt, testID, &MemorySink{})
	var rows []DirRow
	for p := range Proc(n + 1) {
		if p == n {
			p = WholeRun
		}
		blob := BytesBlob(KindUser, 1, 0, content)
		plan, err := PlanRegion(tt, p, nil, []Blob{blob})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, plan.DirRow(w.out.Offset(), testID))
		head := plan.head
		if p != WholeRun { // moves the blob after the other heads
			body := plan.head[regionHead:plan.used]
			raw := bytes.Clone(body)
			if uint32(len(body)) < le.Uint32(head[12:]) {
				raw, err = newDecoder().inflate(nil, body, int(le.Uint32(head[12:])))
				if err != nil {
					t.Fatal(err)
				}
			}
			ahead := uint64(n-int(p)) * 128
			le.PutUint64(raw[8:], ahead)
			head = make([]byte, 128)
			copy(head, plan.head[:regionHead])
			le.PutUint32(head[16:], uint32(len(raw)))
			copy(head[regionHead:], raw)
			plan.head, plan.used = head, regionHead+len(raw)
			d := &rows[len(rows)-1]
			d.HeadLen, d.HeadCRC, d.RegionBytes = uint32(plan.used), plan.headCRC(testID), 128+ahead+uint64(len(content))
			if _, err := w.out.Write(head); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := plan.WriteTo(w.out, testID); err != nil {
			t.Fatal(err)
		}
	}
	commitRows(t, w, rows)
	return m.b
}

// lappedBlobs has a region with many blobs of the same bytes.
func lappedBlobs(t *testing.T, tt *TypeTable, content []byte) []byte {
	m := &memFile{}
	w := NewFileWriter(m, tt, testID, &MemorySink{})
	blobs := make([]Blob, 64)
	for i := range blobs {
		blobs[i] = BytesBlob(KindUser, 1, 0, nil)
	}
	blobs[len(blobs)-1] = BytesBlob(KindUser, 1, 0, content)
	plan, err := PlanRegion(tt, WholeRun, nil, blobs)
	if err != nil {
		t.Fatal(err)
	}
	var body []byte
	for range blobs {
		body = (&SectionInfo{Kind: KindUser, Version: 1, Size: plan.blobs[len(blobs)-1].Size, CRC: plan.blobs[len(blobs)-1].CRC}).Append(body)
	}
	head := make([]byte, alignUp(int64(regionHead+len(body)), smallAlign))
	copy(head, plan.head[:regionHead])
	le.PutUint32(head[16:], uint32(len(body)))
	copy(head[regionHead:], body)
	plan.size += int64(len(head) - len(plan.head))
	plan.head, plan.used = head, regionHead+len(body)
	rows := []DirRow{plan.DirRow(w.out.Offset(), testID)}
	if err := plan.WriteTo(w.out, testID); err != nil {
		t.Fatal(err)
	}
	commitRows(t, w, rows)
	return m.b
}

// lappedSections has a footer that names the same bytes again and again.
func lappedSections(t *testing.T, tt *TypeTable, content []byte) []byte {
	m := &memFile{}
	w := NewFileWriter(m, tt, testID, &MemorySink{})
	plan, err := PlanRegion(tt, WholeRun, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Region(plan, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit([]Blob{BytesBlob(KindUser, 1, 0, content)}); err != nil {
		t.Fatal(err)
	}
	sb, err := parseSuperblock(m.b, int64(len(m.b)))
	if err != nil {
		t.Fatal(err)
	}
	footer := bytes.Clone(m.b[sb.FooterOff:])
	user := footer[8+footerEntry:][:footerEntry] // after the types
	for range 64 {
		footer = append(footer, user...)
	}
	le.PutUint32(footer, le.Uint32(footer)+64)
	sb.FooterLen, sb.FooterCRC = uint64(len(footer)), crcOf(footer)
	sb.FileEnd = sb.FooterOff + sb.FooterLen
	b := append(m.b[:sb.FooterOff:sb.FooterOff], footer...)
	copy(b, sb.Encode())
	return b
}

// lappedPages has an index each of whose entries begins before the one before it
// and reaches to the end of all pages.
func lappedPages(t *testing.T) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	tt := tinyTypes(Packed, 4, 680)
	m := buildFile(t, tt, []testRegion{{p: WholeRun, arrays: []testArray{{TypeMetric, metricRows(sortedKeys(r, 4*600, 1e6))}}}})
	a, err := openMem(t, m).Array(WholeRun, TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	page := m.b[a.base+int64(a.desc.levels[1].start):]
	body := page[pageHeader:][:600*indexEntry]
	for i := range 600 {
		le.PutUint64(body[8*(600+i):], a.desc.levels[1].start-64*uint64(i+2))
		le.PutUint32(body[16*600+4*i:], 64*uint32(i+2))
	}
	sealPage(page[:pageHeader], body, a.seed)
	return m.b
}

// TestCheckLost counts regions that cannot be read once.
func TestCheckLost(t *testing.T) {
	sound := smallFile(t, Packed)
	f := openMem(t, sound)
	d, err := f.Dir(1)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		at   int64
		lost uint64
	}{
		"a head": {int64(d.HeadOff) + 20, 1}, "the directory": {f.dir.base + pageHeader, 4}, "a page": {int64(d.HeadOff) - 64, 0},
	} {
		m := &memFile{b: bytes.Clone(sound.b)}
		m.b[x.at]++
		res, err := Check(openMem(t, m), nil)
		if err != nil || res.Lost != x.lost || res.Lost+res.Regions != 4 {
			t.Errorf("%s: %d regions lost, %d found, %v %v", name, res.Lost, res.Regions, res.Problems, err)
		}
	}
}

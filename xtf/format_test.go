package xtf

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// docRow is a row of a table of docs/format/xtf.md.
type docRow []string

// documented returns the rows of the tables whose header begins with these cells.
func documented(t *testing.T, header ...string) [][]docRow {
	t.Helper()
	b, err := os.ReadFile("../docs/format/xtf.md")
	if err != nil {
		t.Fatal(err)
	}
	var tables [][]docRow
	lines := strings.Split(string(b), "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "| "+strings.Join(header, " | ")+" |") {
			continue
		}
		var rows []docRow
		for i += 2; strings.HasPrefix(lines[i], "|"); i++ {
			cells := strings.Split(strings.Trim(lines[i], "|"), "|")
			for k := range cells {
				cells[k] = strings.TrimSpace(cells[k])
			}
			rows = append(rows, cells)
		}
		tables = append(tables, rows)
	}
	if len(tables) == 0 {
		t.Fatalf("no table of %v", header)
	}
	return tables
}

// TestDocumentedStructures reads structures by the offsets of the document. The
// values differ in every byte that is not zero.
func TestDocumentedStructures(t *testing.T) {
	sb := Superblock{0x0201, 0x0403, superblockBytes, [16]byte{5, 6}, 0x1716151413121110, 0x2726252423222120, 0x33323130, 0, 0x4746454443424140, 0x57, 0x67}
	h := header{kind: 1, level: 2, codec: 3, typ: 0x13121110, proc: 0x23222120, count: 0x33323130, stored: 4, raw: 0x53525150, ordinal: 6, firstN: 7, prev: 8, next: 9}
	page := make([]byte, pageHeader)
	h.magic = pageMagic
	h.Put(page)
	crc := uint64(sealPage(page, nil, 5))
	d := descriptor{
		typ: 0x13121110, rows: 2, first: 3, last: 4, maxEnd: 5, base: 6, bytes: 7, codec: CodecRows,
		totals: []uint64{71, 72}, levels: []level{{81, 82, 83, 0}},
	}
	desc := d.append(nil)
	plan, err := PlanRegion(StandardTypes(Packed), 0x13121110, nil, []Blob{{Kind: 0x33323130, Size: 0x41}})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		b    []byte
		want map[string]uint64 // by the words before the first comma, colon or bracket; else it is zero
	}{
		"field": {sb.Encode()[:superblockBytes], map[string]uint64{
			"magic `89 58 54 46 0D 0A 1A 0A`": le.Uint64(fileMagic), "major": 0x0201, "minor": 0x0403, "size of this structure": superblockBytes,
			"fileID": 0x0605, "footer: offset": sb.FooterOff, "footer: length": sb.FooterLen, "footer: CRC": uint64(sb.FooterCRC),
			"fileEnd": sb.FileEnd, "incompatible features": 0x57, "compatible features": 0x67,
			"CRC of bytes 0 to 123": uint64(crcOf(sb.Encode()[:124])),
		}},
		"entry": {(&SectionInfo{0x13121110, 2, 3, 4, 5, 6}).Append(nil), map[string]uint64{
			"kind": 0x13121110, "version": 2, "offset": 3, "length": 4, "CRC": 5, "flags": 6,
		}},
		"head": {plan.head[:regionHead], map[string]uint64{
			"magic `XTFr`": uint64(le.Uint32(regionMagic)), "P": 0x13121110, "blobs": 1, "arrays": 0,
			"raw length of what follows the head": footerEntry, "stored length": uint64(plan.used - regionHead),
		}},
		"descriptor": {desc[:descriptorHead], map[string]uint64{
			"type": 0x13121110, "flags": 0, "rows N": 2, "first key": 3, "last key": 4, "largest End": 5, "base": 6, "bytes": 7, "levels": 1,
			"codec": 3, "sums K": 2,
		}},
		"level": {desc[descriptorHead+16:], map[string]uint64{"start of its pages": 81, "aux start": 82, "pages": 83}},
		"page": {page, map[string]uint64{
			"magic `XTFp`": uint64(le.Uint32(pageMagic[:])), "CRC over [8": crc, "kind": 1, "level": 2, "codec": 3, "type": 0x13121110,
			"count of rows": 0x33323130, "stored payload": 4, "raw payload": 0x53525150, "P": 0x23222120, "ordinal in its level": 6,
			"number of its first row": 7, "start of the page before": 8, "start of the page after": 9,
		}},
	} {
		at := 0
		for _, row := range documented(t, "offset", "size", name)[0] {
			off, err1 := strconv.Atoi(row[0])
			size, err2 := strconv.Atoi(row[1])
			if err1 != nil || err2 != nil || off != at || off+size > len(x.b) {
				t.Fatalf("%s: row %q does not follow %d, of %d bytes", name, row, at, len(x.b))
			}
			at += size
			got := uint64(0)
			for i := range size {
				got |= uint64(x.b[off+i]) << (8 * min(i, 7)) // of 16 bytes the last ones are zero
			}
			want, ok := x.want[row[2]]
			if !ok {
				key, _, _ := strings.Cut(row[2], ",")
				if want, ok = x.want[key]; !ok {
					key, _, _ = strings.Cut(key, ":")
					want, ok = x.want[key]
				}
				row[2] = key
			}
			delete(x.want, row[2])
			if got != want || !ok && row[2] != "zero" {
				t.Errorf("%s: %q at %d is %#x, not %#x", name, row[2], off, got, want)
			}
		}
		if at != len(x.b) || len(x.want) > 0 {
			t.Errorf("%s: %d of %d bytes, without %v", name, at, len(x.b), x.want)
		}
	}
}

// TestDocumentedTypes compares the table of types with the code; with -update it writes the table.
func TestDocumentedTypes(t *testing.T) {
	const doc, header = "../docs/format/xtf.md", "| id, name | R | Z | order | columns | sums |\n|---|---|---|---|---|---|\n"
	roles := map[Role]string{RoleNone: "-", RoleT: "T", RoleKey: "key"}
	transforms := []string{"", " Δ", " −T", " N−", " span−"}
	rules := []string{" atT", " atEnd", " span"}
	var want strings.Builder
	for _, typ := range StandardTypes(Packed).types {
		var columns, sums []string
		for _, c := range typ.Columns {
			columns = append(columns, fmt.Sprintf("%s u%d%s", c.Name, 8*c.Width, transforms[c.Transform]))
		}
		for _, s := range typ.Sums {
			sums = append(sums, s.Name+rules[s.Rule])
		}
		fmt.Fprintf(&want, "| %d %s | %d | %d | %s | %s | %s |\n",
			typ.ID, typ.Name, typ.RowBytes, typ.PageRows, roles[typ.Role], strings.Join(columns, ", "), strings.Join(sums, ", "))
	}
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	before, table, ok := strings.Cut(string(b), header)
	table, after, end := strings.Cut(table, "\n\n")
	if !ok || !end {
		t.Fatalf("no table of types in %s", doc)
	}
	if *update {
		if err := os.WriteFile(doc, []byte(before+header+want.String()+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table+"\n" != want.String() {
		t.Errorf("got\n%s\nwant\n%s", table, want.String())
	}
}

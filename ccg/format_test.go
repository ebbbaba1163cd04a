package ccg

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/internal/varint"
)

// documented returns the rows of the first table below a heading of
// docs/format/ccg.md.
func documented(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile("../docs/format/ccg.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("no heading %q", heading)
	}
	_, text, _ = strings.Cut(text, "|---|---|---|\n")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

var formToken = regexp.MustCompile("`[^`]+`|u8|u32|v")

// takeForm reads what a form says and returns its numbers. A list in quotes after
// "each" is there as often as the number before it says.
func takeForm(t *testing.T, r *varint.Reader, form string) (values []uint64) {
	t.Helper()
	once, list, _ := strings.Cut(form, " then each ")
	for _, token := range formToken.FindAllString(once, -1) {
		switch token {
		case "v":
			values = append(values, r.Next())
		case "u8":
			values = append(values, uint64(r.Byte()))
		case "u32":
			for range 4 {
				values = append(values, uint64(r.Byte()))
			}
		default:
			if got := string(r.Bytes(4)); got != strings.Trim(token, "`") {
				t.Fatalf("%q, not %s", got, token)
			}
		}
	}
	if list != "" {
		for range values[len(values)-1] {
			values = append(values, takeForm(t, r, strings.Trim(list, "`"))...)
		}
	}
	return values
}

// takeTable reads the rows of a table, up to one without form, by field.
func takeTable(t *testing.T, r *varint.Reader, rows [][]string, lossy bool) map[string][]uint64 {
	t.Helper()
	got := map[string][]uint64{}
	for _, row := range rows {
		if row[1] == "" {
			break
		}
		if strings.HasPrefix(row[2], "mode 1 only") && !lossy {
			continue
		}
		times := uint64(1)
		if row[1] == "v each" {
			times = got["columns"][0]
		}
		for range times {
			got[row[0]] = append(got[row[0]], takeForm(t, r, row[1])...)
		}
	}
	if r.Failed() {
		t.Fatal("the bytes end before the table")
	}
	return got
}

// TestDocumented reads sections and blobs by the tables of the document.
func TestDocumented(t *testing.T) {
	for _, o := range []graph.Options{{Fan: 5, Fold: 77}, {Fan: 5, Fold: 77, Deviation: graph.Deviation{Num: 1, Den: 10, Abs: 20}}} {
		m := &made{defs: ccgtest.Definitions(3)}
		for p := range uint32(3) {
			m.streams = append(m.streams, boundLengths(ccgtest.NewScript(5, p, 3, true).Stream(1500)))
		}
		m.finish(t, o)
		lossy := !o.Deviation.Lossless()
		r := varint.Read(m.shared.Encode())
		got := takeTable(t, &r, documented(t, "Shared section"), lossy)
		s := m.shared
		want := map[string][]uint64{
			"magic": nil, "version, mode": {2, uint64(o.Deviation.Mode())}, "B, K": {5, 77}, "tuples, nodes": {uint64(s.Graph.Tuples.Len()), uint64(s.Nodes())},
		}
		if lossy {
			want["bounds"] = []uint64{20, 1, 10, 0}
		}
		want["encodings"] = []uint64{0}
		for _, k := range graph.SortedKeys(s.Encoding.Chosen) {
			if e := s.Encoding.Chosen[k]; e != graph.Relative {
				want["encodings"][0]++
				want["encodings"] = append(want["encodings"], uint64(k.Kind), uint64(k.Region), uint64(k.Comm), uint64(e))
			}
		}
		compareFields(t, got, want)
		for r.Len() > 0 && !r.Failed() { // part: raw bytes v, stored bytes v, the stored bytes, CRC
			r.Next()
			r.Block()
			r.Bytes(4)
		}
		if !r.Done() {
			t.Error("bytes after the parts")
		}
		for p, blob := range m.blobs {
			l := m.locs[p]
			r := varint.Read(blob)
			got := takeTable(t, &r, documented(t, "Blob of a location"), lossy)
			size := uint64(4)
			for _, n := range got["lengths"] {
				size += n
			}
			want := map[string][]uint64{
				"magic": nil, "version, mode": {2, uint64(o.Deviation.Mode())}, "P, root": {uint64(l.p), uint64(l.root)},
				"first time, events": {uint64(l.first), l.Events()}, "columns": {uint64(len(l.cols))}, "lengths": got["lengths"],
			}
			if lossy {
				want["class, errors"] = []uint64{uint64(l.view.RootRow + 1), l.errors.Largest, l.errors.SumHi, l.errors.SumLo}
			}
			compareFields(t, got, want)
			if size != uint64(r.Len()) {
				t.Errorf("%d bytes of columns and check sum, %d are there", size, r.Len())
			}
		}
	}
}

func compareFields(t *testing.T, got, want map[string][]uint64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("fields %v, want %v", got, want)
	}
	for field, values := range want {
		if !slices.Equal(got[field], values) {
			t.Errorf("%s: %d, want %d", field, got[field], values)
		}
	}
}

package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// void are the elements of HTML without an end tag.
var void = []string{"meta", "br", "hr", "img", "link", "input"}

// tag is a start or end tag; names in texts have no < that is not escaped.
var tag = regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][-a-zA-Z0-9:]*(?:="[^"<]*")?)*)\s*(/?)>`)

// checkPage fails unless a page is balanced and refers to nothing outside of itself.
func checkPage(t *testing.T, page string) {
	t.Helper()
	style, script := between(t, page, "<style>", "</style>"), between(t, page, "<script>", "</script>")
	for _, x := range []string{style, script} {
		sum := sha256.Sum256([]byte(x))
		if !strings.Contains(page, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Error("the policy does not name the style or the script of the page")
		}
	}
	if n := strings.Count(strings.ToLower(page), "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	rest := strings.Replace(strings.Replace(page, style, "", 1), script, "", 1)
	rest = strings.TrimPrefix(rest, "<!DOCTYPE html>")
	balanced(t, rest)
	if left := tag.ReplaceAllString(rest, ""); strings.ContainsAny(left, "<>") {
		i := strings.IndexAny(left, "<>")
		t.Errorf("a bracket outside of tags: %q", left[max(0, i-40):min(len(left), i+40)])
	}
	if m := regexp.MustCompile(`(?i)https?:|//[a-z]|\bsrc=|@import|data:|javascript:|\son[a-z]+=`).FindString(regexp.MustCompile(`//[^\n]*\n`).ReplaceAllString(script, "\n") + style + tagsOf(rest)); m != "" {
		t.Errorf("the page refers to %q", m)
	}
	for _, m := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") {
			t.Errorf("url(%s)", m[1])
		}
	}
}

func between(t *testing.T, page, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, from)
	inside, _, end := strings.Cut(rest, to)
	if !ok || !end {
		t.Fatalf("no %s", from)
	}
	return inside
}

// tagsOf joins the tags of a page, without texts and labels.
func tagsOf(page string) string {
	return regexp.MustCompile(`aria-label="[^"]*"`).ReplaceAllString(strings.Join(tag.FindAllString(page, -1), ""), "aria-label")
}

// balanced fails unless each start tag has its end tag, ids are unique and links
// lead to them.
func balanced(t *testing.T, page string) {
	t.Helper()
	var open []string
	ids, links := map[string]bool{}, []string{}
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		name := strings.ToLower(m[2])
		for _, a := range regexp.MustCompile(`\s(id|href)="([^"]*)"`).FindAllStringSubmatch(m[3], -1) {
			if a[1] == "href" {
				links = append(links, a[2])
			} else if ids[a[2]] {
				t.Errorf("id %s twice", a[2])
			} else {
				ids[a[2]] = true
			}
		}
		switch {
		case m[1] == "/" && (len(open) == 0 || open[len(open)-1] != name):
			t.Fatalf("</%s> inside of %v", name, open)
		case m[1] == "/":
			open = open[:len(open)-1]
		case m[4] != "/" && !slices.Contains(void, name):
			open = append(open, name)
		}
		if name == "svg" && m[1] == "" && !strings.Contains(m[3], `aria-hidden="true"`) && !strings.Contains(m[3], `role="img" aria-label="`) {
			t.Errorf("a picture without words: %s", m[0])
		}
	}
	if len(open) > 0 {
		t.Errorf("open at the end: %v", open)
	}
	for _, l := range links {
		if !ids[strings.TrimPrefix(l, "#")] || l[0] != '#' {
			t.Errorf("a link to %s", l)
		}
	}
}

// nasty are names that break pages which do not escape them.
var nasty = []string{
	`<script>alert("x")</script>`, `"><img src=x onerror=alert(1)>`, `</style><script>1</script>`, `{{.Name}}`, `' onclick='x`,
	`javascript:alert(1)`, "a\x00b\x1b[31m\u202e", `&lt;b&gt;`, `]]><!--`, strings.Repeat("<b>", 200),
}

// nastyRun has such names in all its definitions, and rows for every part of a page.
func nastyRun(t testing.TB) *results.Run {
	t.Helper()
	r, _ := lateRun(t)
	d := r.Defs
	for i := range d.Strings {
		d.Strings[i].Value = nasty[i%len(nasty)]
	}
	d.Seal()
	a, b := process(100, 90, 10, 0), process(90, 45, 45, 0)
	b[xtf.ItemLateSender], b[xtf.ItemWaitNxN], b[xtf.ItemBytesOut], b[xtf.ItemSends] = 30, 10, 1<<20, 3
	a[xtf.ItemEvents], b[xtf.ItemEvents], a[xtf.ItemExecutions], b[xtf.ItemExecutions] = 2, 2, 1, 1
	inner := func(parent, level uint32, name string) writtenNode {
		return writtenNode{Interval: xtf.Interval{Parent: parent, Level: level, ExeMax: 1, ExeMin: 1, LastEnd: 50, SumMax: 50}, name: name, file: nasty[1], processes: map[uint32]items{0: a, 1: b}}
	}
	w := &written{defs: d, nodes: []writtenNode{rootNode(a, b), inner(0, 1, nasty[0]), inner(1, 2, nasty[2]), inner(0, 1, nasty[4])}, rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	first, second := d.Regions[0].Ref, d.Regions[1].Ref
	w.rows[0] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(20, 0), Region: first, Count: 2, Inclusive: 90, Exclusive: 90})
		put(array(xtf.TypeTile), &xtf.Tile{Key: xtf.TileKey(0, 0, 1), Share: [8]uint8{0, 255}, Region: first, Rows: 1})
		put(array(xtf.TypeTile), &xtf.Tile{Key: xtf.TileKey(0, 20, 0), Share: [8]uint8{100, 30}, Region: first, Rows: 2})
		put(array(xtf.TypeChannel), &xtf.Channel{Key: xtf.ChannelKey(1, 0), Direction: xtf.ChannelSend, Count: 3, Bytes: 1 << 20})
	}
	w.rows[xtf.WholeRun] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		put(array(xtf.TypePath), &xtf.Path{Region: trace.Undefined})
		put(array(xtf.TypePath), &xtf.Path{Key: 1, Region: first, Level: 1})
		put(array(xtf.TypeWaitTotal), &xtf.WaitTotal{Key: xtf.NodeKey(0, 1), Pattern: xtf.WaitLateSender, WorstP: 1, Count: 1, Ticks: 25, Worst: 25})
		put(array(xtf.TypeDelayTotal), &xtf.DelayTotal{Key: xtf.NodeKey(0, 1), Pattern: xtf.WaitLateSender, Activity: xtf.ActivityCPU, Short: 40, Long: 5, Worst: 45})
		put(array(xtf.TypePathTotal), &xtf.PathTotal{Key: xtf.NodeKey(0, 1), Activity: xtf.ActivityCPU, Ticks: 90, Worst: 90})
		put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(20, 0), Region: first, Count: 2, Inclusive: 200, Exclusive: 135})
		put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(20, 0), Region: second, Class: xtf.ClassMPI | xtf.ClassP2P, Count: 2, Inclusive: 65, Exclusive: 45})
		put(array(xtf.TypeDiag), &xtf.Diag{Code: uint32(trace.DiagUnmatchedSend), Count: 3, Worst: 1, Event: 1, Detail: xtf.DiagTotal})
	}
	return w.write(t, 2)
}

// pageOf is the page of a run.
func pageOf(t testing.TB, r *results.Run) string {
	t.Helper()
	list, err := PageSections(r)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(r, Options{Sections: list})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, d, "html", table.Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHTML(t *testing.T) {
	r := nastyRun(t)
	page := pageOf(t, r)
	checkPage(t, page)
	if again := pageOf(t, r); again != page {
		t.Error("the same run gives another page")
	}
	at := 0
	for _, want := range []string{
		`id="summary"`, "Parallel efficiency", "load balance × communication = mean useful time / runtime", `id="ranks"`, `id="timeline"`, `id="intervals"`, "Tree of intervals", `id="i1"`,
		`id="waits"`, "Causes of waits", "Critical path by region", `id="pop"`, `id="profile"`, `id="comm"`, "Pairs with most bytes",
		`id="diagnostics"`, "unmatched", `id="reproduce"`, "coppice analyze TRACE -o RUN.xtf", "written by",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("%s is missing, or before what is above it", want)
		}
		at += i
	}
	if got := strings.Count(between(t, page, `<ol class="headline">`, "</ol>"), "Evidence"); got != 2 {
		t.Errorf("%d sentences in the headline", got)
	}
	for _, name := range nasty[:3] {
		if strings.Contains(page, name) {
			t.Errorf("%q is not escaped", name)
		}
	}
}

// TestHTMLWithout writes pages of runs that have few results: none of a section leads
// nowhere.
func TestHTMLWithout(t *testing.T) {
	t.Parallel()
	for _, list := range [][]items{{process(100, 100, 0, 0)}, {process(0, 0, 0, 0)}, {process(100, 90, 10, 0), process(50, 50, 0, 0)}} {
		page := pageOf(t, build(t, list))
		checkPage(t, page)
		if strings.Contains(page, "Bytes from each rank to each") {
			t.Error("a matrix of no messages")
		}
	}
}

// TestHTMLSize draws what is largest: every cell of each picture differs from its
// neighbours.
func TestHTMLSize(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	cells := func(rows, columns, classes int) [][]int8 {
		out := make([][]int8, rows)
		for i := range out {
			for range columns {
				out[i] = append(out[i], int8(rnd.IntN(classes)))
			}
		}
		return out
	}
	shares := make([][]int, xtf.NumShares)
	for k := range shares {
		for range timelineColumns {
			shares[k] = append(shares[k], rnd.IntN(250))
		}
	}
	rows := make([]timelineRow, timelineRows)
	for i, c := range cells(timelineRows, timelineColumns, xtf.NumShares) {
		rows[i].cells = c
	}
	timeline, _ := drawTimeline(shares, rows, [xtf.NumShares]string{}, runSpan{0, 1 << 40}, numbers.Units{Resolution: 1e9})
	list := make([]rankTime, 100_003)
	for i := range list {
		list[i].rank = uint32(i)
		for k := range list[i].parts {
			list[i].parts[k] = rnd.Uint64N(1e6)
		}
	}
	ranks, _ := drawRanks(list, (len(list)+rankColumns-1)/rankColumns, 1e7, numbers.Units{Resolution: 1e9})
	var matrix table.Drawing
	matrix.Mosaic(0, 0, 560, 560, cells(matrixCells, matrixCells, len(matrixClasses)), matrixClasses)
	const most = 1_600_000 // of 2 MB; the rest is for tables and texts, whose rows are bounded
	if n := len(timeline) + len(ranks) + len(matrix.String()); n > most {
		t.Errorf("pictures of %d bytes: %d, %d, %d", n, len(timeline), len(ranks), len(matrix.String()))
	}
	balanced(t, string(timeline+ranks))
}

func TestAxisMarks(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		span, resolution uint64
		want             string
	}{
		{12_345_678_901, 1e9, "0 s 2 s 4 s 6 s 8 s 10 s 12 s"},
		{2_400_000, 1e9, "0 ms 0.5 ms 1 ms 1.5 ms 2 ms"},
		{90, 1e9, "0 µs 0.02 µs 0.04 µs 0.06 µs 0.08 µs"},
		{700, 0, "0 100 200 300 400 500 600 700"},
		{1, 0, "0 1"},
		{0, 1e9, ""},
		{xtf.Never, 1, ""},
	} {
		var list []string
		for _, m := range table.AxisMarks(x.span, numbers.Units{Resolution: x.resolution}) {
			list = append(list, m.Text)
			if m.At < 0 || m.At > 1000 {
				t.Errorf("%d of %d: a mark at %d", x.span, x.resolution, m.At)
			}
		}
		if got := strings.Join(list, " "); got != x.want {
			t.Errorf("%d ticks at %d a second: %s, want %s", x.span, x.resolution, got, x.want)
		}
	}
}

func TestAlive(t *testing.T) {
	t.Parallel()
	s := runSpan{100, 200}
	got := s.alive(10, []lifetime{{0, 100, 200, false}, {1, 0, 130, false}, {2, 150, 1 << 60, false}, {3, 170, 160, false}})
	if want := "[500 500 500 250 250 500 500 500 500 500]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestReproduce(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		options map[string]string
		want    string
		note    bool
	}{
		{nil, "coppice analyze TRACE -o RUN.xtf", false},
		{map[string]string{"events": "none", "deviation": "10%,1000ticks", "pages": "packed", "clock_repair": "true"}, "coppice analyze TRACE -o RUN.xtf --events none --deviation 10%,1000ticks --clock-repair", false},
		{map[string]string{"intervals": `interval=region:"so*lve" slice-count=3`, "classes": "threshold=50000ppm,linkage=complete,metric=l2,representative=mean,dendrogram"}, "coppice analyze TRACE -o RUN.xtf --interval 'region:so*lve' --slice-count 3 --classes 5% --metric l2 --dendrogram", false},
		{map[string]string{"intervals": "wrong=1"}, "coppice analyze TRACE -o RUN.xtf", true},
		{map[string]string{"deviation": "a';b"}, `coppice analyze TRACE -o RUN.xtf --deviation 'a'\'';b'`, false},
	} {
		p := results.Provenance{Options: x.options}
		if got, note := p.Command(1e9); got != x.want || (note != "") != x.note {
			t.Errorf("%s\n%s\n%q", got, x.want, note)
		}
	}
}

// TestHTMLLost lists what was left out: never more than fits, and never less than is said.
func TestHTMLLost(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		n, lines int
		more     string
	}{
		{1, 1, ""},
		{table.PageRows, table.PageRows, ""},
		{table.PageRows + 1, table.PageRows, "and 1 part more: coppice --limit 41"},
		{table.PageRows + 2, table.PageRows, "and 2 parts more: coppice --limit 42"},
	} {
		var lost []table.Lost
		for i := range x.n {
			lost = append(lost, table.Lost{Location: uint64(i), Section: "comm", Error: "gone"})
		}
		list := table.LostTable(lost).Html(table.PageRows, "coppice")
		if len(list.Rows) != x.lines || list.More != x.more || list.Rows[0].Cells[1].Text != "location 0 (process 0, thread 0)" {
			t.Errorf("%d: %d lines, %q", x.n, len(list.Rows), list.More)
		}
	}
	if table.LostTable(nil).Html(table.PageRows, "") != nil {
		t.Error("a table of nothing")
	}
}

// TestMatrixSteps gives the largest value the strongest colour and the least a fainter one, and says no more steps than there are.
func TestMatrixSteps(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		values []uint64
		want   []int8
		legend int
	}{
		{"nothing", []uint64{0, 0, 0, 0}, []int8{svg.NoCell, svg.NoCell, svg.NoCell, svg.NoCell}, 1},
		{"equal", []uint64{0, 5, 5, 0}, []int8{svg.NoCell, 7, 7, svg.NoCell}, 1},
		{"two powers", []uint64{1 << 20, 1 << 21, 0, 0}, []int8{3, 7, svg.NoCell, svg.NoCell}, 2},
		{"eight powers", []uint64{1, 2, 4, 128}, []int8{0, 1, 2, 7}, 8},
		{"far apart", []uint64{1, 1 << 30, 1 << 60, 3}, []int8{0, 3, 7, 0}, 8},
	} {
		sums := make([]uint64, 4)
		for i, v := range x.values {
			sums[i] += v
		}
		s := newMatrixSteps(sums)
		if got := slices.Concat(s.rows(sums, 2)...); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
		if got := s.legend(numbers.Count); len(got) != x.legend || got[len(got)-1].Class != "h8" {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// TestEvidence: a finding of a page links to the chapter that shows it, and to none that the page does not have.
func TestEvidence(t *testing.T) {
	r := nastyRun(t)
	links := regexp.MustCompile(`<a href="#([a-z]+)">Evidence</a>`)
	page := pageOf(t, r)
	found := links.FindAllStringSubmatch(page, -1)
	for _, m := range found {
		if !strings.Contains(page, `<section id="`+m[1]+`">`) {
			t.Errorf("no chapter %s", m[1])
		}
	}
	d, err := New(r, Options{Sections: []Section{SectionSummary}})
	if err != nil {
		t.Fatal(err)
	}
	var alone bytes.Buffer
	if err := table.Write(&alone, d, "html", table.Style{}); err != nil {
		t.Fatal(err)
	}
	if n := len(links.FindAllString(alone.String(), -1)); len(found) == 0 || n != 0 {
		t.Errorf("%d links to chapters, and %d of a page with the summary alone", len(found), n)
	}
}

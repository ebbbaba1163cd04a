package table

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// Threshold is the efficiency below which POP recommends a closer look.
const Threshold = 0.8

//go:embed html
var htmlFiles embed.FS

// htmlTemplates are the parts of a page, parsed once.
var htmlTemplates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").ParseFS(htmlFiles, "html/*.tmpl")
})

// Card is a number in the headline of a page.
type Card struct {
	Name, Value, Note, Grade string
}

// Figure is a picture on a page, with its table.
type Figure struct {
	Picture template.HTML
	Caption string
	Legend  []LegendKey
	Notes   []string
	Table   *Table
}

// LegendKey is a colour of a legend.
type LegendKey struct {
	Class, Text string
}

// The page in the form of its templates.
type (
	htmlPage struct {
		*Book
		Title                 string
		Policy, Style, Script template.HTML
		Chapters              []htmlChapter
		Lost                  *htmlTable
	}
	htmlChapter struct {
		*Chapter
		Blocks []htmlBlock
	}
	htmlItem struct {
		Text string
		Finding
	}
	htmlBlock struct {
		Line   string
		Items  []htmlItem
		Found  bool
		Table  *htmlTable
		Inner  *htmlChapter
		Figure *Figure
		Below  *htmlTable // of the figure
		Cards  []Card
	}
	htmlTable struct {
		*Table
		Label, More string
		Head        []Column
		Rows        []htmlRow
	}
	htmlRow struct {
		Level int
		Cells []htmlCell
	}
	htmlCell struct {
		Cell
		Left, Tree bool
	}
)

// Left reports whether the column has texts that are aligned left.
func (c Column) Left() bool { return c.AlignLeft && c.Kind == TextColumn }

// embed puts style and script into the page, and names them in its policy by their digests, which lets a browser load nothing and run
// nothing else.
func (p *htmlPage) embed() error {
	css, err := htmlFiles.ReadFile("html/style.css")
	if err != nil {
		return err
	}
	js, err := htmlFiles.ReadFile("html/script.js")
	if err != nil {
		return err
	}
	hash := func(b []byte) string {
		sum := sha256.Sum256(b)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	p.Policy = template.HTML(fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; style-src %s; script-src %s">`, hash(css), hash(js)))
	p.Style, p.Script = template.HTML("<style>"+string(css)+"</style>"), template.HTML("<script>"+string(js)+"</script>") // our own files
	return nil
}

// writeHTML writes one HTML file that needs no other file and no network. Pictures are SVG inside it, and tables are complete
// without its small script. Its size does not grow with the run: long tables are cut, pictures merge rows and columns. The same
// result gives the same bytes.
func (b *Book) writeHTML(out io.Writer, style Style) error {
	t, err := htmlTemplates()
	if err != nil {
		return err
	}
	p := &htmlPage{Book: b, Title: numbers.Clean(b.Name, 80) + ": " + b.Subtitle, Lost: LostTable(b.Lost).Html(PageRows, "coppice report")}
	if err := p.embed(); err != nil {
		return err
	}
	ids := map[string]bool{}
	for _, c := range b.Chapters {
		ids[c.Id] = true
	}
	for _, c := range b.Chapters {
		for i := range c.Blocks {
			if !ids[c.Blocks[i].See] {
				c.Blocks[i].See = "" // it is not on the page
			}
		}
		p.Chapters = append(p.Chapters, c.html(cmp.Or(style.Limit, PageRows), c.Command, ""))
	}
	return t.ExecuteTemplate(out, "page.tmpl", p)
}

// html returns the chapter in the form of the templates.
func (c *Chapter) html(rows int, command, of string) htmlChapter {
	x := htmlChapter{Chapter: c}
	kind := sentenceLine
	for _, b := range c.Blocks {
		y := htmlBlock{Cards: b.Cards}
		switch {
		case b.Table != nil:
			if y.Table = b.Table.Html(rows, command); y.Table == nil {
				continue
			}
			y.Table.Label += of
		case b.Inner != nil:
			inner := b.Inner.html(rows, command, ", "+b.Inner.Title)
			y.Inner = &inner
		case b.figure != nil:
			if y.Figure = b.figure; b.figure.Table != nil {
				y.Below = b.figure.Table.Html(rows, command)
			}
		case b.Cards != nil:
		case b.kind == GapLine:
			continue
		case b.kind != sentenceLine && b.kind == kind:
			last := &x.Blocks[len(x.Blocks)-1]
			last.Items = append(last.Items, htmlItem{sentence(b.line), b.Finding})
			continue
		case b.kind != sentenceLine:
			y.Items, y.Found = []htmlItem{{sentence(b.line), b.Finding}}, b.kind == FindingLine
		default:
			y.Line = sentence(b.line)
		}
		kind = b.kind
		x.Blocks = append(x.Blocks, y)
	}
	return x
}

// Html returns the table in the form of the templates, nil if it has no rows.
func (t *Table) Html(rows int, command string) *htmlTable {
	limit := t.limit(rows)
	columns, list := t.shown(limit, true)
	if len(columns) == 0 {
		return nil
	}
	x := &htmlTable{Table: t, Label: t.Title, Head: columns, More: t.more(limit, command)}
	for _, row := range list {
		y := htmlRow{}
		for k := range row {
			c := htmlCell{row[k], columns[k].Left(), t.Folds && k == 0}
			if c.Grade.Defined {
				c.Class = "word " + GradeClass(c.Grade)
			}
			if c.bar {
				c.Picture = htmlBar(c.Grade)
			}
			y.Level = max(y.Level, c.Level)
			y.Cells = append(y.Cells, c)
		}
		x.Rows = append(x.Rows, y)
	}
	return x
}

// Indent has an element for each level of the cell, at most 24.
func (c *htmlCell) Indent() []struct{} { return make([]struct{}, min(max(c.Level, 0), 24)) }

// Sort is the number to sort by, "" for a text.
func (c *htmlCell) Sort() string {
	if _, err := strconv.ParseFloat(c.Value, 64); err != nil {
		return ""
	}
	return c.Value
}

// Heading is the name for a heading.
func (b *Book) Heading() string { return numbers.Clean(b.Name, 120) }

// htmlBar draws a ratio as a bar next to its number.
func htmlBar(r numbers.Ratio) template.HTML {
	if !r.Defined {
		return ""
	}
	v := int(float64(min(max(r.Value, 0), 1)*100) + 0.5)
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="10"/><rect class="%s" width="%d" height="10"/></svg>`, GradeClass(r), v))
}

// GradeClass is the style class of a ratio: below POP's threshold, or far below it.
func GradeClass(r numbers.Ratio) string {
	switch {
	case !r.Defined:
		return "none"
	case r.Value >= Threshold:
		return "good"
	case r.Value >= 0.6:
		return "fair"
	}
	return "poor"
}

// GradeWord says the grade in a word, for those who do not see colours.
func GradeWord(r numbers.Ratio) string {
	return map[string]string{"none": "not known", "good": "good", "fair": "below 0.8", "poor": "poor, below 0.6"}[GradeClass(r)]
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	r := []rune(text)
	text = strings.ToUpper(string(r[:1])) + string(r[1:])
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// Drawing is a picture of a page that is being drawn.
type Drawing struct{ svg.Picture }

// Open begins a picture; words are its text alternative, for those who do not see
// it and for screen readers.
func (w *Drawing) Open(width, height int, class, name, words string) {
	w.Add(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %d %d" role="img" aria-label="%s">`, class, width, height, svg.Escape(numbers.Clean(words, 600)))
	w.Add(`<title>%s</title>`, svg.Escape(numbers.Clean(name, 120)))
}

// HTML ends the picture and returns it for a page of HTML, where the namespace is
// not written.
func (w *Drawing) HTML() template.HTML {
	w.Add(`</svg>`)
	return template.HTML(strings.Replace(w.String(), ` xmlns="http://www.w3.org/2000/svg"`, "", 1)) // texts are escaped
}

// Label writes at most limit characters.
func (w *Drawing) Label(x, y int, anchor, text string, limit int) {
	w.Text(float64(x), float64(y), anchor, numbers.Clean(text, limit))
}

// axisMark is a mark of a time axis.
type axisMark struct {
	At   int // thousandths of the axis
	Text string
}

// AxisMarks are round times on an axis of span ticks that begins at 0: eight steps
// of 1, 2 or 5 times a power of ten at most.
func AxisMarks(span uint64, u numbers.Units) []axisMark {
	fine, name, digits, scale := span, "", 0, uint64(1) // of what is counted: nanoseconds, or ticks
	if u.Resolution > 0 {
		switch fine = uint64(max(numbers.Divide64(span, u.Resolution).Times(1e9).Round(), 0)); {
		case fine >= 1e9:
			name, digits, scale = " s", 9, 1e9
		case fine >= 1e6:
			name, digits, scale = " ms", 6, 1e6
		default:
			name, digits, scale = " µs", 3, 1e3
		}
	}
	if fine == 0 || fine > 1<<54 {
		return nil
	}
	step := uint64(1)
	for factor := 0; fine/step >= 8; factor = (factor + 1) % 3 {
		step = step / [...]uint64{1, 2, 1}[factor] * [...]uint64{2, 5, 2}[factor]
	}
	var list []axisMark
	for v := uint64(0); v <= fine; v += step {
		text := numbers.Divide64(v, scale).Fixed(digits)
		if digits > 0 {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		list = append(list, axisMark{int(v * 1000 / fine), text + name})
	}
	return list
}

// Axis draws the marks below a picture that ends at y.
func (w *Drawing) Axis(x, y, width int, list []axisMark) {
	for _, m := range list {
		at := x + m.At*width/1000
		w.Add(`<path class="tick" d="M%d %dv5"/>`, at, y)
		w.Label(at, y+17, "middle", m.Text, 20)
	}
}

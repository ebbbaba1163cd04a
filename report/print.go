package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Printable is a result that Write prints: a Document, a Diff, a Scaling or a Prediction.
type Printable interface {
	// book is the result for people and programs, of trees so many rows, all below 0. A page has pictures, and what text has no room for.
	book(page bool, rows int) (*book, error)
}

// Write prints a result as text, csv, md (Markdown) or html.
func Write(out io.Writer, x Printable, format string, style Style) error {
	rows := cmp.Or(style.Limit, map[string]int{"csv": -1, "html": pageRows}[format], textRows)
	b, err := x.book(format == "html", rows)
	if err != nil {
		return err
	}
	switch format {
	case "csv":
		return b.writeCSV(out)
	case "md":
		return b.writeMarkdown(out, style)
	case "html":
		return b.writeHTML(out, style)
	}
	return b.writeText(out, style)
}

// book is a result as people read it: chapters of sentences, tables, findings and pictures.
type book struct {
	heads    []string // lines about the whole: bold in text
	notes    []string // and remarks on it
	unit     unit
	page     bool // of HTML
	rows     int  // of trees, below 0 all
	mixed    bool // no table for programs
	chapters []*chapter
	lost     []Lost

	// Of a page:
	name, subtitle string
	about          [][2]string // how the result came to be, and the commands that make it again
	commands       []string
}

// chapter is a part of a book: a section, or what is known of one interval.
type chapter struct {
	id      string // its address on a page
	heading string // there
	title   string // its first line
	command string // that prints its tables whole
	folded  bool   // a page shows it when asked
	blocks  []block
}

// block is one thing in a chapter.
type block struct {
	line   string
	kind   lineKind
	table  *Table
	inner  *chapter
	figure *figure
	cards  []card
}

// lineKind is what a line is.
type lineKind uint8

const (
	sentenceLine lineKind = iota
	findingLine
	itemLine // of a list
	gapLine  // between lines of text
)

// chapter begins a chapter.
func (b *book) chapter(id, heading, title string) *chapter {
	c := &chapter{id: id, heading: heading, title: title}
	b.chapters = append(b.chapters, c)
	return c
}

func (c *chapter) say(format string, args ...any) { c.line(sentenceLine, fmt.Sprintf(format, args...)) }

func (c *chapter) line(kind lineKind, text string) {
	c.blocks = append(c.blocks, block{line: text, kind: kind})
}

// table adds a table; one without rows is not shown.
func (c *chapter) table(t *Table) { c.blocks = append(c.blocks, block{table: t}) }

// figure adds a picture, nil for none.
func (c *chapter) figure(f *figure) {
	if f != nil {
		c.blocks = append(c.blocks, block{figure: f})
	}
}

// tables are the tables of a chapter, with those of the chapters in it.
func (c *chapter) tables() []*Table {
	var list []*Table
	for _, b := range c.blocks {
		switch {
		case b.table != nil:
			list = append(list, b.table)
		case b.inner != nil:
			list = append(list, b.inner.tables()...)
		}
	}
	return list
}

// Style is the look of a text report.
type Style struct {
	Color bool // escape codes for a terminal
	Bars  bool // bars next to ratios
	Limit int  // rows of long tables, 0 for the default
}

// Rows of long tables: of text, and of a page.
const (
	textRows = 20
	pageRows = 40
)

// writer collects the lines of a report.
type writer struct {
	strings.Builder
	style Style
}

func (w *writer) line(format string, args ...any) {
	w.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// gap writes an empty line after one that is not.
func (w *writer) gap() {
	if text := w.String(); text != "" && !strings.HasSuffix(text, "\n\n") {
		w.line("")
	}
}

// title writes a line that stands out.
func (w *writer) title(text string) {
	if w.style.Color {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	w.line("%s", text)
}

// writeText prints for a terminal.
func (b *book) writeText(out io.Writer, style Style) error {
	w := &writer{style: style}
	for _, h := range b.heads {
		w.title(h)
	}
	for _, n := range b.notes {
		w.line("%s", n)
	}
	for _, c := range b.chapters {
		x := &writer{style: style}
		if x.chapter(c); x.Len() > 0 {
			w.gap()
		}
		w.WriteString(x.String())
	}
	for i := range b.lost {
		l := &b.lost[i]
		w.line("left out of %s: %s: %s", l.Section, l.where(), clean(l.Error, 300))
	}
	_, err := io.WriteString(out, w.String())
	return err
}

func (w *writer) chapter(c *chapter) {
	if c.title != "" {
		w.title(c.title)
	}
	tables := false
	for _, b := range c.blocks {
		switch {
		case b.table != nil:
			tables = w.table(b.table, tables) || tables
		case b.inner != nil:
			w.gap()
			w.chapter(b.inner)
		case b.figure != nil, b.cards != nil:
		case b.kind == findingLine:
			w.line("> %s", b.line)
		case b.kind == itemLine:
			w.line("  %s", b.line)
		case b.kind == gapLine:
			w.gap()
		default:
			w.line("%s", b.line)
		}
	}
}

// limit is how many rows of a table are shown.
func (t *Table) limit(rows int) int {
	if t.most > 0 {
		return t.most
	}
	return max(rows, t.least)
}

// more says how many rows were left out.
func (t *Table) more(limit int, command string) string {
	all, left := t.size(limit)
	switch {
	case left == 0:
		return ""
	case t.whole != "":
		return fmt.Sprintf("and %s more: %s", plural(left, t.of), t.whole)
	case command != "":
		return fmt.Sprintf("and %s more: %s --limit %d", plural(left, t.of), command, all)
	}
	return fmt.Sprintf("and %s more: --limit %d shows all", plural(left, t.of), all)
}

// table prints a table in columns two spaces apart, after an empty line where another one is before it, and reports whether it has rows.
func (w *writer) table(t *Table, space bool) bool {
	limit := t.limit(cmp.Or(w.style.Limit, textRows))
	columns, rows := t.shown(limit, false)
	if len(columns) == 0 {
		return false
	}
	if t.dashed {
		w.line(" ---%s---", t.Title)
	} else if space {
		w.gap()
	}
	if t.Lead != "" {
		w.line("%s", t.Lead)
	}
	if !t.entries {
		w.columns(columns, rows)
	}
	for _, row := range rows {
		if t.entries {
			w.line("%s", entry(strings.Repeat("---", row[0].level)+row[0].Text, row[1:]))
		}
	}
	if text := t.more(limit, ""); text != "" {
		w.line("%s", text)
	}
	for _, n := range t.Notes {
		w.line("%s", n)
	}
	return true
}

func (w *writer) columns(columns []Column, rows [][]Cell) {
	lines := make([][]string, len(rows)+1)
	width := make([]int, len(columns))
	for k, c := range columns {
		lines[0] = append(lines[0], c.Name)
		for r, row := range rows {
			lines[r+1] = append(lines[r+1], w.cell(&row[k]))
		}
		for _, l := range lines {
			width[k] = max(width[k], visible(l[k]))
		}
	}
	for r, l := range lines {
		text := ""
		for k, c := range columns {
			pad := strings.Repeat(" ", width[k]-visible(l[k]))
			if k > 0 {
				text += "  "
			}
			if c.left {
				text += l[k] + pad
			} else {
				text += pad + l[k]
			}
		}
		if r > 0 || strings.TrimSpace(text) != "" {
			w.line("%s", text)
		}
	}
}

// cell is a cell with its colour and bar.
func (w *writer) cell(c *Cell) string {
	text := strings.Repeat("  ", c.level) + c.Text
	if !c.grade.Defined {
		return text
	}
	if w.style.Color {
		color := map[string]string{"good": "32", "fair": "33", "poor": "31"}[gradeClass(c.grade)]
		text = "\x1b[" + color + "m" + text + "\x1b[0m"
	}
	if c.bar && w.style.Bars {
		text = bar(c.grade.Value) + text
	}
	return text
}

// bar draws a share in ten cells.
func bar(share float64) string {
	eighths := int(float64(min(max(share, 0), 1)*80) + 0.5)
	b := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		b += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return b + strings.Repeat(" ", 10-utf8.RuneCountInString(b)) + " "
}

// visible is the number of characters that a terminal shows of s.
func visible(s string) int {
	n, escape := 0, false
	for _, c := range s {
		switch {
		case c == '\x1b':
			escape = true
		case escape:
			escape = c != 'm'
		default:
			n++
		}
	}
	return n
}

// lostTable lists what was left out.
func lostTable(lost []Lost) *Table {
	t := &Table{Title: "Left out, because the file is damaged there", Columns: []Column{words("section", ""), words("place", ""), words("error", "")}}
	fill(t, "part", lost, func(l *Lost) []Cell { return []Cell{word(l.Section), word(l.where()), word(clean(l.Error, 300))} })
	return t
}

// print writes what build puts into a chapter.
func (u unit) print(out io.Writer, limit int, lost []Lost, build func(c *chapter)) error {
	b := &book{unit: u, lost: lost}
	build(b.chapter("", "", ""))
	return b.writeText(out, Style{Limit: limit})
}

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return count(uint64(n)) + " " + what + "es"
	}
	return count(uint64(n)) + " " + what + "s"
}

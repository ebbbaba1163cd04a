package table

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// valueColumn is the column of values in the interval layout, from 0; labels are left of it.
const valueColumn = 29

// Printable is a result that Write prints: a Document, a Diff, a Scaling or a Prediction.
type Printable interface {
	// Book is the result for people and programs. Trees have at most rows rows, all if it is below 0. A page has pictures, and
	// what text has no room for.
	Book(page bool, rows int) (*Book, error)
}

// Write prints a result as text, csv, md (Markdown) or html.
func Write(out io.Writer, x Printable, format string, style Style) error {
	rows := cmp.Or(style.Limit, map[string]int{"csv": -1, "html": PageRows}[format], textRows)
	b, err := x.Book(format == "html", rows)
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

// Book is a result as people read it: chapters of sentences, tables, findings and pictures.
type Book struct {
	Heads    []string // lines about the whole result: bold in text
	Notes    []string // and remarks about it
	Unit     numbers.Units
	Page     bool // the book is for a page of HTML
	Rows     int  // rows of trees, below 0: all
	Mixed    bool // there is no table for programs
	Chapters []*Chapter
	Lost     []Lost

	// Of a page:
	Name, Subtitle string
	About          [][2]string // how the result was made, and the commands to make it again
	Commands       []string
}

// Chapter is a part of a book: a section, or what is known of one interval.
type Chapter struct {
	Id      string // its address on a page
	Heading string // there
	Title   string // its first line
	Command string // prints its tables whole
	Folded  bool   // a page shows it only on request
	Blocks  []Block
}

// Block is one thing in a chapter.
type Block struct {
	line string
	kind lineKind
	Finding
	Table  *Table
	Inner  *Chapter
	figure *Figure
	Cards  []Card
}

type lineKind uint8

const (
	sentenceLine lineKind = iota
	FindingLine
	ItemLine // of a list
	GapLine  // between lines of text
)

// Chapter begins a chapter.
func (b *Book) Chapter(id, heading, title string) *Chapter {
	c := &Chapter{Id: id, Heading: heading, Title: title}
	b.Chapters = append(b.Chapters, c)
	return c
}

// Say adds a sentence.
func (c *Chapter) Say(format string, args ...any) { c.Line(sentenceLine, fmt.Sprintf(format, args...)) }

// Line adds a line of a kind.
func (c *Chapter) Line(kind lineKind, text string) {
	c.Blocks = append(c.Blocks, Block{line: text, kind: kind})
}

// Finding is a finding with lines of its own.
type Finding struct {
	Facts  []string
	Advice string // a sentence
	See    string // id of the chapter with the evidence
}

// Found adds a finding from a sentence. The sentence has what the finding is, then a percentage in parentheses and a colon or
// semicolon, then the facts. advice may be "". see is the id of the chapter with the evidence.
func (c *Chapter) Found(sentence, advice, see string) {
	x := Finding{Facts: strings.Split(sentence, "; "), See: see}
	text, first, ok := strings.Cut(x.Facts[0], " %): ")
	if ok {
		text, x.Facts[0] = text+" %)", first
	} else {
		x.Facts = x.Facts[1:]
	}
	if advice != "" {
		x.Advice = strings.ToUpper(advice[:1]) + advice[1:] + "."
	}
	c.Blocks = append(c.Blocks, Block{line: text, kind: FindingLine, Finding: x})
}

// Table adds a table. A table without rows is not shown.
func (c *Chapter) Table(t *Table) { c.Blocks = append(c.Blocks, Block{Table: t}) }

// Figure adds a picture, nil for none.
func (c *Chapter) Figure(f *Figure) {
	if f != nil {
		c.Blocks = append(c.Blocks, Block{figure: f})
	}
}

// tables returns the tables of a chapter and of the chapters in it.
func (c *Chapter) tables() []*Table {
	var list []*Table
	for _, b := range c.Blocks {
		switch {
		case b.Table != nil:
			list = append(list, b.Table)
		case b.Inner != nil:
			list = append(list, b.Inner.tables()...)
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
	PageRows = 40
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

// title writes a heading.
func (w *writer) title(text string) {
	if w.style.Color {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	w.line("%s", text)
}

// writeText prints for a terminal.
func (b *Book) writeText(out io.Writer, style Style) error {
	w := &writer{style: style}
	for _, h := range b.Heads {
		w.title(h)
	}
	for _, n := range b.Notes {
		w.line("%s", n)
	}
	for _, c := range b.Chapters {
		x := &writer{style: style}
		if x.chapter(c); x.Len() > 0 {
			w.gap()
		}
		w.WriteString(x.String())
	}
	for i := range b.Lost {
		l := &b.Lost[i]
		w.line("left out of %s: %s: %s", l.Section, l.where(), numbers.Clean(l.Error, 300))
	}
	_, err := io.WriteString(out, w.String())
	return err
}

func (w *writer) chapter(c *Chapter) {
	if c.Title != "" {
		w.title(c.Title)
	}
	tables := false
	for _, b := range c.Blocks {
		switch {
		case b.Table != nil:
			tables = w.table(b.Table, tables) || tables
		case b.Inner != nil:
			w.gap()
			w.chapter(b.Inner)
		case b.figure != nil, b.Cards != nil:
		case b.kind == FindingLine:
			w.title("> " + b.line)
			for _, f := range b.Facts {
				w.line("    %s", f)
			}
			if b.Advice != "" {
				w.line("    -> %s", b.Advice)
			}
		case b.kind == ItemLine:
			w.line("  %s", b.line)
		case b.kind == GapLine:
			w.gap()
		default:
			w.line("%s", b.line)
		}
	}
}

// limit is the number of rows of a table that are shown.
func (t *Table) limit(rows int) int {
	if t.Most > 0 {
		return t.Most
	}
	return max(rows, t.Least)
}

// more says how many rows were left out.
func (t *Table) more(limit int, command string) string {
	all, left := t.size(limit)
	switch {
	case left == 0:
		return ""
	case t.Whole != "":
		return fmt.Sprintf("and %s more: %s", numbers.Plural(left, t.of), t.Whole)
	case command != "":
		return fmt.Sprintf("and %s more: %s --limit %d", numbers.Plural(left, t.of), command, all)
	}
	return fmt.Sprintf("and %s more: --limit %d shows all", numbers.Plural(left, t.of), all)
}

// table prints a table in columns two spaces apart, with an empty line before it if another table is above. It reports whether
// the table has rows.
func (w *writer) table(t *Table, space bool) bool {
	limit := t.limit(cmp.Or(w.style.Limit, textRows))
	columns, rows := t.shown(limit, false)
	if len(columns) == 0 {
		return false
	}
	if t.Dashed {
		w.line(" ---%s---", t.Title)
	} else if space {
		w.gap()
	}
	if t.Lead != "" {
		w.line("%s", t.Lead)
	}
	if !t.Entries {
		w.columns(columns, rows)
		rows = nil
	}
	for _, row := range rows {
		label := strings.Repeat("---", row[0].Level) + row[0].Text
		if len(row) > 1 {
			label += strings.Repeat(" ", max(1, valueColumn-utf8.RuneCountInString(label))) + row[1].Text
		}
		w.line("%s", label)
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
			if c.AlignLeft {
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

// cell prints a cell with its colour and bar.
func (w *writer) cell(c *Cell) string {
	text := strings.Repeat("  ", c.Level) + c.Text
	if !c.Grade.Defined {
		return text
	}
	if w.style.Color {
		color := map[string]string{"good": "32", "fair": "33", "poor": "31"}[GradeClass(c.Grade)]
		text = "\x1b[" + color + "m" + text + "\x1b[0m"
	}
	if c.bar && w.style.Bars {
		text = bar(c.Grade.Value) + text
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

// LostTable lists what was left out.
func LostTable(lost []Lost) *Table {
	return Fill(&Table{Title: "Left out, because the file is damaged there", Columns: []Column{Words("section", ""), Words("place", ""), Words("error", "")}}, "part", lost, func(l *Lost) []Cell {
		return []Cell{Word(l.Section), Word(l.where()), Word(numbers.Clean(l.Error, 300))}
	})
}

// WriteText writes the chapter that build fills.
func WriteText(u numbers.Units, out io.Writer, limit int, lost []Lost, build func(c *Chapter)) error {
	b := &Book{Unit: u, Lost: lost}
	build(b.Chapter("", "", ""))
	return b.writeText(out, Style{Limit: limit})
}

// Lost is a location that was left out of a result, or data about all locations.
type Lost struct {
	Location uint64 `json:"location"` // id in the trace
	Process  uint32 `json:"process"`
	Thread   uint32 `json:"thread"`
	WholeRun bool   `json:"whole_run,omitempty"` // not a location: Location and the fields after it are 0
	Section  string `json:"section"`
	Error    string `json:"error"`
}

// where names what was lost.
func (l *Lost) where() string {
	if l.WholeRun {
		return "a part about the whole run"
	}
	return fmt.Sprintf("location %d (process %d, thread %d)", l.Location, l.Process, l.Thread)
}

// WriteTable writes rows in columns, two spaces apart. A heading that begins with < aligns its column left.
func WriteTable(w io.Writer, head []string, rows [][]string) error {
	t := &Table{}
	for _, h := range head {
		name, left := strings.CutPrefix(h, "<")
		t.Columns = append(t.Columns, Column{Name: name, AlignLeft: left})
	}
	for _, row := range rows {
		cells := make([]Cell, len(row))
		for i, text := range row {
			cells[i] = Word(text)
		}
		t.Add(cells...)
	}
	return WriteText(numbers.Units{}, w, 0, nil, func(c *Chapter) { c.Table(t) })
}

// WriteJSON writes one document, indented.
func WriteJSON[T any](w io.Writer, v T) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// ErrCSV says that a document is not a single table.
var ErrCSV = fmt.Errorf("not one table: choose one section that has a table of its own")

// Data returns the table for programs: the columns with a key of all tables of a result. If the tables have rows of several
// kinds, the first column is the kind.
func Data(x Printable) ([]Column, iter.Seq2[[]string, error], error) {
	b, err := x.Book(false, -1)
	if err != nil {
		return nil, nil, err
	}
	return b.data()
}

func (b *Book) data() ([]Column, iter.Seq2[[]string, error], error) {
	var tables []*Table
	var columns []Column
	kinds := false
	for _, c := range b.Chapters {
		for _, t := range c.tables() {
			if t.merge(&columns) {
				tables = append(tables, t)
				kinds = kinds || t.Kind != ""
			}
		}
	}
	if len(tables) == 0 || b.Mixed {
		return nil, nil, ErrCSV
	}
	if kinds {
		columns = slices.Insert(columns, 0, Words("", "kind"))
	}
	return columns, func(yield func([]string, error) bool) {
		for _, t := range tables {
			for cells := range t.rows(-1) {
				if len(cells) > 0 && cells[0].Sum {
					continue
				}
				row := make([]string, len(columns))
				if kinds {
					row[0] = t.Kind
				}
				for i, c := range t.Columns {
					if c.Key != "" && i < len(cells) {
						row[columnOf(columns, c.Key)] = cells[i].Value
					}
				}
				if !yield(row, nil) {
					return
				}
			}
			if t.Failed != nil {
				yield(nil, t.Failed)
				return
			}
		}
	}, nil
}

func columnOf(columns []Column, key string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Key == key })
}

// merge adds the columns for programs to those of other tables, each after its predecessor, and reports whether there are any.
func (t *Table) merge(to *[]Column) (any bool) {
	at := len(*to)
	for _, c := range t.Columns {
		if c.Key == "" {
			continue
		}
		any = true
		if i := columnOf(*to, c.Key); i >= 0 {
			at = i + 1
			continue
		}
		*to = slices.Insert(*to, at, c)
		at++
	}
	return any
}

// writeCSV writes the table for programs, with a heading.
func (b *Book) writeCSV(out io.Writer) error {
	columns, rows, err := b.data()
	if err != nil {
		return err
	}
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.Key
	}
	w := csvwriter.New(out)
	if err := w.Write(head); err != nil {
		return err
	}
	for row, err := range rows {
		if err == nil {
			err = w.Write(row)
		}
		if err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// marks escapes what Markdown would interpret anywhere in a line.
var marks = strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "&", "&amp;", "[", "\\[", "#", "\\#", "~", "\\~")

// beginning matches what Markdown interprets at the begin of a line as a list or a quotation.
var beginning = regexp.MustCompile(`^(?:([0-9]+)([.)] )|([-+=>]))`)

// line escapes a text at the begin of a line of Markdown.
func line(text string) string {
	return beginning.ReplaceAllString(marks.Replace(strings.TrimLeft(text, " ")), `$1\$2$3`)
}

// writeMarkdown prints for inclusion in another text.
func (b *Book) writeMarkdown(out io.Writer, style Style) error {
	var w strings.Builder
	for i, h := range b.Heads {
		fmt.Fprintf(&w, "%s %s\n\n", "##"[:1+min(i, 1)], marks.Replace(h))
	}
	for _, n := range b.Notes {
		fmt.Fprintf(&w, "%s\n\n", line(n))
	}
	for _, c := range b.Chapters {
		c.markdown(&w, style, 2)
	}
	LostTable(b.Lost).markdown(&w, style)
	_, err := io.WriteString(out, strings.TrimRight(w.String(), "\n")+"\n")
	return err
}

func (c *Chapter) markdown(w *strings.Builder, style Style, level int) {
	fmt.Fprintf(w, "%s %s\n\n", strings.Repeat("#", level), marks.Replace(cmp.Or(c.Heading, c.Title)))
	if c.Heading != "" && c.Title != "" {
		fmt.Fprintf(w, "%s\n\n", line(c.Title))
	}
	for i, b := range c.Blocks {
		switch {
		case b.Table != nil:
			b.Table.markdown(w, style)
		case b.Inner != nil:
			b.Inner.markdown(w, style, level+1)
		case b.figure != nil, b.Cards != nil, b.kind == GapLine:
		case b.kind == sentenceLine:
			fmt.Fprintf(w, "%s\n\n", line(b.line))
		default:
			fmt.Fprintf(w, "* %s\n", line(b.line))
			for _, f := range b.Facts {
				fmt.Fprintf(w, "  * %s\n", line(f))
			}
			if b.Advice != "" {
				fmt.Fprintf(w, "  * **%s**\n", marks.Replace(b.Advice))
			}
			if i+1 == len(c.Blocks) || c.Blocks[i+1].kind != b.kind {
				w.WriteByte('\n')
			}
		}
	}
}

func (t *Table) markdown(w *strings.Builder, style Style) {
	limit := t.limit(cmp.Or(style.Limit, textRows))
	columns, rows := t.shown(limit, true)
	if len(columns) == 0 {
		return
	}
	for _, text := range []string{t.Title, t.Lead} {
		if text != "" {
			fmt.Fprintf(w, "%s\n\n", line(text))
		}
	}
	head, rule := "|", "|"
	for _, c := range columns {
		head += " " + marks.Replace(c.Name) + " |"
		rule += map[bool]string{true: " --- |", false: " ---: |"}[c.AlignLeft]
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, row := range rows {
		w.WriteByte('|')
		for _, c := range row {
			fmt.Fprintf(w, " %s%s |", strings.Repeat("&emsp;", c.Level), marks.Replace(c.Text))
		}
		w.WriteByte('\n')
	}
	w.WriteByte('\n')
	for _, text := range append([]string{t.more(limit, "")}, t.Notes...) {
		if text != "" {
			fmt.Fprintf(w, "%s\n\n", line(text))
		}
	}
}

// WriteFacts writes lines of a name and its text, below a title. It leaves out lines without a text.
func WriteFacts(w io.Writer, title string, rows [][]string) error {
	if _, err := fmt.Fprintln(w, title); err != nil {
		return err
	}
	return WriteTable(w, []string{"<", "<"}, slices.DeleteFunc(rows, func(r []string) bool { return r[1] == "" }))
}

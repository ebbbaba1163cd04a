package table

import (
	"html/template"
	"iter"
	"strconv"

	"github.com/coppice-hpc/coppice/report/numbers"
)

// Off is how far a time may be off, nothing where it is exact.
func Off(u numbers.Units, v *uint64) Cell {
	if v == nil {
		return None()
	}
	return Time(u, *v)
}

// Table is what a section says in rows. A section fills it once; text, CSV, Markdown and HTML are printed from it. Times are
// ticks, and what programs get of them; people get seconds.
type Table struct {
	Title   string // what its rows are
	Kind    string // of its rows, where the CSV of a section has those of several tables
	Columns []Column
	Lead    string   // a line that introduces it
	Notes   []string // lines that explain it

	Entries bool   // text has a line for each row: a label, and the value from a fixed column on
	Dashed  bool   // text has its title between dashes
	Folds   bool   // a page can fold its tree
	Least   int    // rows that are shown at least
	Most    int    // rows that are shown in any case and no more; 0: as of other tables
	Whole   string // the command that shows all, where it is another one than this
	of      string // what a row is
	Parts   []Part
	Failed  error // that ended the rows
}

// Column is the head of a column. A column without any text in its rows is not shown to people.
type Column struct {
	Name      string // for people
	Key       string // in CSV; "": programs do not get it
	Kind      ColumnKind
	AlignLeft bool
	View      view
}

// ColumnKind is what the values of a column are for programs; an empty one stands for none.
type ColumnKind uint8

// Kinds of columns.
const (
	IntegerColumn ColumnKind = iota // not negative
	DecimalColumn
	TextColumn
)

// view is who sees a column.
type view uint8

const (
	viewAll   view = iota
	ViewWide       // not text, which has no room for it
	viewTable      // programs alone
)

// Words is a column of texts.
func Words(name, key string) Column {
	return Column{Name: name, Key: key, Kind: TextColumn, AlignLeft: true}
}

// whole numbers, and numbers of ticks.
func Ints(name, key string) Column { return Column{Name: name, Key: key} }

// Reals is a column of quotients.
func Reals(name, key string) Column { return Column{Name: name, Key: key, Kind: DecimalColumn} }

// Ranks is a column of processes.
func Ranks(name, key string) Column { return Column{Name: name, Key: key, AlignLeft: true} }

// Hidden is a column that only programs get.
func (c Column) Hidden() Column { c.View = viewTable; return c }

// Wide is a column for which text has no room.
func (c Column) Wide() Column { c.View = ViewWide; return c }

// Cell is a value of a table.
type Cell struct {
	Text  string // for people
	Value string // for programs and to sort by: all its digits

	Level   int           // of a tree
	Sum     bool          // the first of a row that adds up others of the same table: programs do not get the row
	Grade   numbers.Ratio // an efficiency: its colour
	bar     bool          // and a bar
	Class   string        // its colour on a page
	Note    string        // smaller, on a page
	Link    string        // to a part of the page
	Picture template.HTML // the same to look at
}

// Part is some rows of a table, made when they are printed.
type Part struct {
	N     int
	fixed bool // always shown
	Rows  iter.Seq[[]Cell]
}

// Add adds a row that is always shown.
func (t *Table) Add(cells ...Cell) {
	t.Each(func(yield func([]Cell) bool) { yield(cells) })
}

// Each adds rows that are all shown, made when they are printed.
func (t *Table) Each(rows iter.Seq[[]Cell]) { t.Parts = append(t.Parts, Part{fixed: true, Rows: rows}) }

// Fill adds a row for each element of a list to a table, and returns it. People see the first ones; of is what a row is.
func Fill[T any](t *Table, of string, list []T, row func(x *T) []Cell) *Table {
	t.of = of
	t.Parts = append(t.Parts, Part{len(list), false, func(yield func([]Cell) bool) {
		for i := range list {
			if !yield(row(&list[i])) {
				return
			}
		}
	}})
	return t
}

// rows are the first rows, all with a limit below 0.
func (t *Table) rows(limit int) iter.Seq[[]Cell] {
	return func(yield func([]Cell) bool) {
		for _, p := range t.Parts {
			n := 0
			for row := range p.Rows {
				if n++; !p.fixed && limit >= 0 && n > limit {
					break
				}
				if !yield(row) {
					return
				}
			}
		}
	}
}

// size is how long the longest list of the table is, and how many rows a limit leaves out.
func (t *Table) size(limit int) (all, left int) {
	for _, p := range t.Parts {
		if !p.fixed {
			all, left = max(all, p.N), left+max(p.N-limit, 0)
		}
	}
	return all, left
}

// shown are the columns and rows that people see: columns of theirs with any text.
func (t *Table) shown(limit int, room bool) (columns []Column, rows [][]Cell) {
	var theirs []int
	for i, c := range t.Columns {
		if c.View == viewAll || c.View == ViewWide && room {
			theirs = append(theirs, i)
		}
	}
	if len(theirs) == 0 {
		return nil, nil
	}
	used := make([]bool, len(theirs))
	for row := range t.rows(limit) {
		cells := make([]Cell, len(theirs))
		for k, i := range theirs {
			if i < len(row) {
				cells[k] = row[i]
				used[k] = used[k] || row[i].Text != "" || row[i].Picture != ""
			}
		}
		rows = append(rows, cells)
	}
	for k, i := range theirs {
		if !used[k] {
			continue
		}
		for _, row := range rows {
			row[len(columns)] = row[k]
		}
		columns = append(columns, t.Columns[i])
	}
	for r := range rows {
		rows[r] = rows[r][:len(columns)]
	}
	return columns, rows
}

// integers are those that are not below 0.
type integers interface{ ~int | ~uint32 | ~uint64 }

// Word is a text.
func Word(text string) Cell { return Cell{Text: text, Value: text} }

// Named is a text that people see and one that programs get.
func Named(text, value string) Cell { return Cell{Text: text, Value: value} }

// Tree is a label at a level.
func Tree(text string, level int) Cell { return Cell{Text: text, Value: text, Level: level} }

// None is not a value.
func None() Cell { return Cell{} }

// Number is a number of things.
func Number[T integers](v T) Cell {
	return Cell{Text: numbers.Count(uint64(v)), Value: strconv.FormatUint(uint64(v), 10)}
}

// PlainNumber is a number that names something.
func PlainNumber[T integers](v T) Cell {
	text := strconv.FormatUint(uint64(v), 10)
	return Cell{Text: text, Value: text}
}

// AtRank is the process that has the value before it.
func AtRank[T integers](p T) Cell {
	text := strconv.FormatUint(uint64(p), 10)
	return Cell{Text: "@" + text, Value: text}
}

// Size is a number of bytes.
func Size(v uint64) Cell { return Cell{Text: numbers.Bytes(v), Value: strconv.FormatUint(v, 10)} }

// Share is a quotient in per cent.
func Share(r numbers.Ratio) Cell { return Cell{Text: r.Percent(), Value: r.Csv()} }

// Quotient is a quotient with so many digits.
func Quotient(r numbers.Ratio, digits int) Cell { return Cell{Text: r.Text(digits), Value: r.Csv()} }

// Graded is an efficiency, whose colour says whether it is good.
func Graded(r numbers.Ratio) Cell { return Cell{Text: r.Text(3), Value: r.Csv(), Grade: r} }

// Barred is one with a bar.
func Barred(r numbers.Ratio, digits int) Cell {
	return Cell{Text: r.Text(digits), Value: r.Csv(), Grade: r, bar: true}
}

// ticks is a time.
func Time(u numbers.Units, v uint64) Cell {
	return Cell{Text: u.Ticks(v), Value: strconv.FormatUint(v, 10)}
}

// Ticks is a sum of times; null is a sum that is not known.
func Ticks(u numbers.Units, v numbers.Sum) Cell { return Cell{Text: u.Big(v), Value: v.JSON()} }

// Exact is a fraction of ticks.
func Exact(u numbers.Units, f numbers.Fraction) Cell {
	if f.IsInt() {
		return Cell{Text: u.Fraction(f), Value: strconv.FormatInt(f.Floor(), 10)}
	}
	return Cell{Text: u.Fraction(f), Value: numbers.Nearest(f).Csv()}
}

// Mean is a mean of times.
func Mean(u numbers.Units, r numbers.Ratio) Cell { return Cell{Text: u.Real(r), Value: r.Csv()} }

// Of names a number of ticks in the unit.
func Of(u numbers.Units, what string) string { return what + " " + u.Name() }

// Shortened cuts a text that is too long.
func Shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:n-3] + "..."
}

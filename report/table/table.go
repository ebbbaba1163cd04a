package table

import (
	"html/template"
	"iter"
	"strconv"

	"github.com/coppice-hpc/coppice/report/numbers"
)

// Off prints how far a time may be off, nothing if it is exact.
func Off(u numbers.Units, v *uint64) Cell {
	if v == nil {
		return None()
	}
	return Time(u, *v)
}

// Table is what a section says in rows. A section fills it once; text, CSV, Markdown and HTML are printed from it. Times are
// ticks. Programs get ticks, people get seconds.
type Table struct {
	Title   string // what its rows are, in a heading
	Kind    string // of its rows, where the CSV of a section joins several tables
	Columns []Column
	Lead    string   // a line that introduces it
	Notes   []string // lines that explain it

	Entries bool   // text has a line for each row: a label, and the value from a fixed column on
	Dashed  bool   // text has its title between dashes
	Folds   bool   // a page can fold its tree
	Least   int    // at least so many rows are shown
	Most    int    // exactly so many rows are shown; 0: the default
	Whole   string // the command that shows all rows, if it is not the current one
	of      string // what a row is
	Parts   []Part
	Failed  error // the error that ended the rows
}

// Column is the head of a column. People do not see a column whose cells are all empty.
type Column struct {
	Name      string // for people
	Key       string // in CSV; "": programs do not get it
	Kind      ColumnKind
	AlignLeft bool
	View      view
}

// ColumnKind is the type of a column's values for programs. Empty values mean none.
type ColumnKind uint8

// Kinds of columns.
const (
	IntegerColumn ColumnKind = iota // not negative
	DecimalColumn
	TextColumn
)

// view says who sees a column.
type view uint8

const (
	viewAll   view = iota
	ViewWide       // not in text, which has no room for it
	viewTable      // programs only
)

// Words is a column of texts.
func Words(name, key string) Column {
	return Column{Name: name, Key: key, Kind: TextColumn, AlignLeft: true}
}

// Ints is a column of whole numbers, or of numbers of ticks.
func Ints(name, key string) Column { return Column{Name: name, Key: key} }

// Reals is a column of quotients.
func Reals(name, key string) Column { return Column{Name: name, Key: key, Kind: DecimalColumn} }

// Ranks is a column of processes.
func Ranks(name, key string) Column { return Column{Name: name, Key: key, AlignLeft: true} }

// Hidden makes a column visible to programs only.
func (c Column) Hidden() Column { c.View = viewTable; return c }

// Wide makes a column invisible in text, which has no room for it.
func (c Column) Wide() Column { c.View = ViewWide; return c }

// Cell is a value of a table.
type Cell struct {
	Text  string // for people
	Value string // for programs and to sort by: all its digits

	Level   int           // of a tree
	Sum     bool          // in the first cell of a row that adds up others of the table: programs do not get the row
	Grade   numbers.Ratio // an efficiency: its colour
	bar     bool          // and a bar
	Class   string        // its colour on a page
	Note    string        // smaller, on a page
	Link    string        // to a part of the page
	Picture template.HTML // a picture of the value
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

// Each adds rows that are always shown. They are made when they are printed.
func (t *Table) Each(rows iter.Seq[[]Cell]) { t.Parts = append(t.Parts, Part{fixed: true, Rows: rows}) }

// Fill adds a row for each element of a list to a table, and returns the table. People see the first rows; of says what a row is.
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

// rows are the first rows; all if limit is below 0.
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

// size returns the length of the longest list of the table, and how many rows a limit leaves out.
func (t *Table) size(limit int) (all, left int) {
	for _, p := range t.Parts {
		if !p.fixed {
			all, left = max(all, p.N), left+max(p.N-limit, 0)
		}
	}
	return all, left
}

// shown returns the columns and rows that people see. Columns without any text are left out.
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

// integers are the types of numbers that are never negative.
type integers interface{ ~int | ~uint32 | ~uint64 }

// Word is a cell with a text.
func Word(text string) Cell { return Cell{Text: text, Value: text} }

// Named is a cell with one text for people and another one for programs.
func Named(text, value string) Cell { return Cell{Text: text, Value: value} }

// Tree is a cell with a label at a level of a tree.
func Tree(text string, level int) Cell { return Cell{Text: text, Value: text, Level: level} }

// None is an empty cell.
func None() Cell { return Cell{} }

// Number is a cell with a number of things.
func Number[T integers](v T) Cell {
	return Cell{Text: numbers.Count(uint64(v)), Value: strconv.FormatUint(uint64(v), 10)}
}

// PlainNumber is a cell with a number that identifies something.
func PlainNumber[T integers](v T) Cell {
	text := strconv.FormatUint(uint64(v), 10)
	return Cell{Text: text, Value: text}
}

// AtRank is a cell with the process that has the value in the cell before.
func AtRank[T integers](p T) Cell {
	text := strconv.FormatUint(uint64(p), 10)
	return Cell{Text: "@" + text, Value: text}
}

// Size is a cell with a number of bytes.
func Size(v uint64) Cell { return Cell{Text: numbers.Bytes(v), Value: strconv.FormatUint(v, 10)} }

// Share is a cell with a quotient in per cent.
func Share(r numbers.Ratio) Cell { return Cell{Text: r.Percent(), Value: r.Csv()} }

// Quotient is a cell with a quotient to so many digits.
func Quotient(r numbers.Ratio, digits int) Cell { return Cell{Text: r.Text(digits), Value: r.Csv()} }

// Graded is a cell with an efficiency. Its colour says how good that is.
func Graded(r numbers.Ratio) Cell { return Cell{Text: r.Text(3), Value: r.Csv(), Grade: r} }

// Barred is a graded cell with a bar.
func Barred(r numbers.Ratio, digits int) Cell {
	return Cell{Text: r.Text(digits), Value: r.Csv(), Grade: r, bar: true}
}

// Time is a cell with a time in ticks.
func Time(u numbers.Units, v uint64) Cell {
	return Cell{Text: u.Ticks(v), Value: strconv.FormatUint(v, 10)}
}

// Ticks is a cell with a sum of times. Its value is null for a sum that is not known.
func Ticks(u numbers.Units, v numbers.Sum) Cell { return Cell{Text: u.Big(v), Value: v.JSON()} }

// Exact is a cell with a fraction of ticks.
func Exact(u numbers.Units, f numbers.Fraction) Cell {
	if f.IsInt() {
		return Cell{Text: u.Fraction(f), Value: strconv.FormatInt(f.Floor(), 10)}
	}
	return Cell{Text: u.Fraction(f), Value: numbers.Nearest(f).Csv()}
}

// Mean is a cell with a mean of times in ticks.
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

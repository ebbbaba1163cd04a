package report

import (
	"html/template"
	"iter"
	"strconv"
)

// Table is what a section says in rows. A section fills it once; text, CSV, Markdown and HTML are printed from it. Times are
// ticks, and what programs get of them; people get seconds.
type Table struct {
	Title   string // what its rows are
	Kind    string // of its rows, where the CSV of a section has those of several tables
	Columns []Column
	Lead    string   // a line that introduces it
	Notes   []string // lines that explain it

	entries bool   // text has a line for each row: a label, and the value from a fixed column on
	dashed  bool   // text has its title between dashes
	folds   bool   // a page can fold its tree
	least   int    // rows that are shown at least
	most    int    // rows that are shown in any case and no more; 0: as of other tables
	whole   string // the command that shows all, where it is another one than this
	of      string // what a row is
	parts   []part
	failed  error // that ended the rows
}

// Column is the head of a column. A column without any text in its rows is not shown to people.
type Column struct {
	Name string // for people
	Key  string // in CSV; "": programs do not get it
	Kind ColumnKind
	left bool
	view view
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
	viewWide       // not text, which has no room for it
	viewTable      // programs alone
)

// words is a column of texts.
func words(name, key string) Column {
	return Column{Name: name, Key: key, Kind: TextColumn, left: true}
}

// whole numbers, and numbers of ticks.
func ints(name, key string) Column { return Column{Name: name, Key: key} }

// reals is a column of quotients.
func reals(name, key string) Column { return Column{Name: name, Key: key, Kind: DecimalColumn} }

// ranks is a column of processes.
func ranks(name, key string) Column { return Column{Name: name, Key: key, left: true} }

// hidden is a column that only programs get.
func (c Column) hidden() Column { c.view = viewTable; return c }

// wide is a column for which text has no room.
func (c Column) wide() Column { c.view = viewWide; return c }

// Cell is a value of a table.
type Cell struct {
	Text  string // for people
	Value string // for programs and to sort by: all its digits

	level   int           // of a tree
	grade   Ratio         // an efficiency: its colour
	bar     bool          // and a bar
	class   string        // its colour on a page
	note    string        // smaller, on a page
	link    string        // to a part of the page
	picture template.HTML // the same to look at
}

// part is some rows of a table, made when they are printed.
type part struct {
	n     int
	fixed bool // always shown
	rows  iter.Seq[[]Cell]
}

// add adds a row that is always shown.
func (t *Table) add(cells ...Cell) {
	t.each(func(yield func([]Cell) bool) { yield(cells) })
}

// each adds rows that are all shown, made when they are printed.
func (t *Table) each(rows iter.Seq[[]Cell]) { t.parts = append(t.parts, part{fixed: true, rows: rows}) }

// fill adds a row for each element of a list, of which people see the first; of is what a row is.
func fill[T any](t *Table, of string, list []T, row func(x *T) []Cell) {
	t.of = of
	t.parts = append(t.parts, part{len(list), false, func(yield func([]Cell) bool) {
		for i := range list {
			if !yield(row(&list[i])) {
				return
			}
		}
	}})
}

// rows are the first rows, all with a limit below 0.
func (t *Table) rows(limit int) iter.Seq[[]Cell] {
	return func(yield func([]Cell) bool) {
		for _, p := range t.parts {
			n := 0
			for row := range p.rows {
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
	for _, p := range t.parts {
		if !p.fixed {
			all, left = max(all, p.n), left+max(p.n-limit, 0)
		}
	}
	return all, left
}

// shown are the columns and rows that people see: columns of theirs with any text.
func (t *Table) shown(limit int, room bool) (columns []Column, rows [][]Cell) {
	var theirs []int
	for i, c := range t.Columns {
		if c.view == viewAll || c.view == viewWide && room {
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
				used[k] = used[k] || row[i].Text != "" || row[i].picture != ""
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

// word is a text.
func word(text string) Cell { return Cell{Text: text, Value: text} }

// named is a text that people see and one that programs get.
func named(text, value string) Cell { return Cell{Text: text, Value: value} }

// tree is a label at a level.
func tree(text string, level int) Cell { return Cell{Text: text, Value: text, level: level} }

// none is not a value.
func none() Cell { return Cell{} }

// number is a number of things.
func number[T integers](v T) Cell {
	return Cell{Text: count(uint64(v)), Value: strconv.FormatUint(uint64(v), 10)}
}

// plainNumber is a number that names something.
func plainNumber[T integers](v T) Cell {
	text := strconv.FormatUint(uint64(v), 10)
	return Cell{Text: text, Value: text}
}

// atRank is the process that has the value before it.
func atRank[T integers](p T) Cell {
	text := strconv.FormatUint(uint64(p), 10)
	return Cell{Text: "@" + text, Value: text}
}

// size is a number of bytes.
func size(v uint64) Cell { return Cell{Text: Bytes(v), Value: strconv.FormatUint(v, 10)} }

// share is a quotient in per cent.
func share(r Ratio) Cell { return Cell{Text: r.percent(), Value: r.csv()} }

// quotient is a quotient with so many digits.
func quotient(r Ratio, digits int) Cell { return Cell{Text: r.text(digits), Value: r.csv()} }

// graded is an efficiency, whose colour says whether it is good.
func graded(r Ratio) Cell { return Cell{Text: r.text(3), Value: r.csv(), grade: r} }

// barred is one with a bar.
func barred(r Ratio, digits int) Cell {
	return Cell{Text: r.text(digits), Value: r.csv(), grade: r, bar: true}
}

// ticks is a time.
func (u unit) time(v uint64) Cell { return Cell{Text: u.ticks(v), Value: strconv.FormatUint(v, 10)} }

// sum is a sum of times; null is a sum that is not known.
func (u unit) sum(v Sum) Cell { return Cell{Text: u.big(v), Value: v.json()} }

// exact is a fraction of ticks.
func (u unit) exact(f Fraction) Cell {
	if f.IsInt() {
		return Cell{Text: u.fraction(f), Value: strconv.FormatInt(f.Floor(), 10)}
	}
	return Cell{Text: u.fraction(f), Value: ratioOf(f).csv()}
}

// mean is a mean of times.
func (u unit) mean(r Ratio) Cell { return Cell{Text: u.real(r), Value: r.csv()} }

// of names a number of ticks in the unit.
func (u unit) of(what string) string { return what + " " + u.name() }

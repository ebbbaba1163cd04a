package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// table is a Markdown table whose columns line up as plain text too.
type table struct {
	cells [][]string
}

func newTable(head ...string) *table { return &table{cells: [][]string{head}} }

// ticks is a time of so many nanoseconds.
type ticks uint64

func (t ticks) String() string {
	switch {
	case t == 0:
		return "0"
	case t < 1000:
		return fmt.Sprintf("%d ns", uint64(t))
	case t < 1_000_000:
		return fmt.Sprintf("%.1f us", float64(t)/1e3)
	}
	return fmt.Sprintf("%.1f ms", float64(t)/1e6)
}

// row adds a row. Floats get three significant digits at least.
func (t *table) row(values ...any) {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = fmt.Sprint(v)
		if f, ok := v.(float64); ok {
			cells[i] = number(f)
		}
	}
	t.cells = append(t.cells, cells)
}

func number(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 0.1:
		return fmt.Sprintf("%.2f", f)
	}
	digits := int(2 - math.Floor(math.Log10(f)))
	return fmt.Sprintf("%.*f", min(digits, 6), f)
}

// print writes the table and an empty line.
func (t *table) print(w io.Writer) {
	width := make([]int, len(t.cells[0]))
	for _, row := range t.cells {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for r, row := range t.cells {
		for i, c := range row {
			fmt.Fprintf(w, "| %s%s ", c, strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)))
		}
		fmt.Fprintln(w, "|")
		if r == 0 {
			for i := range row {
				fmt.Fprintf(w, "|%s", strings.Repeat("-", width[i]+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
	fmt.Fprintln(w)
}

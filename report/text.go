package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is the look of a text report.
type Style struct {
	Color bool // escape codes for a terminal
	Bars  bool // bars beside ratios
	Limit int  // rows of long tables, 0 for the default
}

const defaultRows = 20

func (s Style) rows() int {
	if s.Limit > 0 {
		return s.Limit
	}
	return defaultRows
}

// writer collects the lines of a report.
type writer struct {
	bytes.Buffer
	style Style
	unit  unit
}

func (w *writer) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.WriteString(strings.TrimRight(text, " "))
	w.WriteByte('\n')
}

// title writes the heading of a section.
func (w *writer) title(text string) {
	if w.style.Color {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	w.line("%s", text)
}

// flush writes everything to out.
func (w *writer) flush(out io.Writer) error {
	_, err := out.Write(w.Bytes())
	return err
}

// bar draws a ratio in ten cells, "" without bars.
func (w *writer) bar(r Ratio) string {
	if !w.style.Bars || !r.Defined {
		return ""
	}
	eighths := int(float64(min(max(r.Value, 0), 1)*80) + 0.5)
	b := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		b += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return b + strings.Repeat(" ", 10-utf8.RuneCountInString(b)) + " "
}

// grade colours a ratio by its class.
func (w *writer) grade(r Ratio, text string) string {
	if !w.style.Color || !r.Defined {
		return text
	}
	color := map[string]string{"good": "32", "fair": "33", "poor": "31"}[gradeClass(r)]
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// unit turns ticks into what people read.
type unit struct {
	resolution uint64 // ticks per second, 0: ticks stay
}

// name is "s" or "ticks".
func (u unit) name() string {
	if u.resolution == 0 {
		return "ticks"
	}
	return "s"
}

// big prints ticks as seconds with 6 decimals, rounded half away from zero.
// n/a for a sum that is not known.
func (u unit) big(ticks Sum) string {
	return u.fraction(whole(ticks))
}

func (u unit) ticks(v uint64) string { return u.fraction(fraction64(v, 1)) }

// fraction prints an exact fraction of ticks.
func (u unit) fraction(f Fraction) string {
	if u.resolution == 0 {
		return group(f.Fixed(0))
	}
	return grouped(f.Div(u.resolution).Fixed(6))
}

// real prints a mean of ticks.
func (u unit) real(r Ratio) string { return grouped(u.plainReal(r)) }

// plainReal is real without groups of digits.
func (u unit) plainReal(r Ratio) string {
	switch {
	case !r.Defined:
		return "n/a"
	case u.resolution == 0:
		return strconv.FormatFloat(r.Value, 'f', 1, 64)
	}
	return strconv.FormatFloat(r.Value/float64(u.resolution), 'f', 6, 64)
}

// perCall prints the time of one of n calls, in microseconds.
func (u unit) perCall(t, n uint64) string {
	r := ratio64(t, n)
	switch {
	case !r.Defined:
		return "n/a"
	case u.resolution == 0:
		return r.mean()
	}
	return grouped(strconv.FormatFloat(float64(r.Value*1e6)/float64(u.resolution), 'f', 3, 64))
}

// perCallName is the heading of such a column.
func (u unit) perCallName() string {
	if u.resolution == 0 {
		return "ticks/call"
	}
	return "µs/call"
}

// span prints a short time in the unit that suits it, with four digits.
func (u unit) span(ticks uint64) string {
	if u.resolution == 0 {
		return plural(int(min(ticks, math.MaxInt64)), "tick")
	}
	v := float64(ticks) / float64(u.resolution)
	if v >= 9999.5 {
		return group(strconv.FormatFloat(v, 'f', 0, 64)) + " s"
	}
	for _, x := range []struct {
		scale float64
		name  string
	}{{1, "s"}, {1e3, "ms"}, {1e6, "µs"}} {
		if v := float64(v * x.scale); v >= 0.9995 {
			return strconv.FormatFloat(v, 'g', 4, 64) + " " + x.name
		}
	}
	return strconv.FormatFloat(float64(v*1e9), 'g', 4, 64) + " ns"
}

// group puts a space between groups of three digits.
func group(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// grouped groups the digits before the point.
func grouped(text string) string {
	whole, rest, ok := strings.Cut(text, ".")
	if !ok {
		return text
	}
	return group(whole) + "." + rest
}

func count(v uint64) string { return group(strconv.FormatUint(v, 10)) }

// Bytes prints a number of bytes in decimal units with three digits.
func Bytes(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10) + " B"
	}
	v := float64(n)
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		v /= 1000
		if v < 999.5 {
			return strconv.FormatFloat(v, 'g', 3, 64) + " " + u
		}
	}
	return strconv.FormatFloat(v/1000, 'f', 1, 64) + " PB"
}

// clean makes a name from a file safe to print: no control characters, and not
// longer than limit.
func clean(name string, limit int) string {
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, name)
	if utf8.RuneCountInString(name) > limit {
		return string([]rune(name)[:limit-1]) + "…"
	}
	return name
}

// table is text in columns.
type table struct {
	head []string // a head that begins with < is aligned left
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// table writes t, columns two spaces apart. Nothing is written without rows.
func (w *writer) table(t *table) {
	if len(t.rows) == 0 {
		return
	}
	left := make([]bool, len(t.head))
	width := make([]int, len(t.head))
	head := make([]string, len(t.head))
	for i, h := range t.head {
		head[i], left[i] = strings.CutPrefix(h, "<")
	}
	for _, row := range append([][]string{head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], visible(c))
		}
	}
	for k, row := range append([][]string{head}, t.rows...) {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-visible(c))
			if i > 0 {
				b.WriteString("  ")
			}
			if left[i] {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		if k == 0 && strings.TrimSpace(b.String()) == "" {
			continue
		}
		w.line("%s", b.String())
	}
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

package report

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"math/big"
	"strings"
)

// drawing is an SVG picture under way. Coordinates are whole numbers or have a
// fixed number of decimals, so the bytes are the same everywhere.
type drawing struct {
	b strings.Builder
}

// open begins a picture; words are its text alternative, for those who do not see
// it and for screen readers.
func (w *drawing) open(width, height int, class, name, words string) {
	w.add(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %d %d" role="img" aria-label="%s">`, class, width, height, escaped(words, 600))
	w.add(`<title>%s</title>`, escaped(name, 120))
}

// html ends the picture and returns it for a page of HTML, where the namespace is
// not written.
func (w *drawing) html() template.HTML {
	w.add(`</svg>`)
	return template.HTML(strings.Replace(w.b.String(), ` xmlns="http://www.w3.org/2000/svg"`, "", 1)) // texts are escaped
}

func (w *drawing) add(format string, args ...any) {
	fmt.Fprintf(&w.b, format+"\n", args...)
}

// escaped makes a text from a file safe inside of XML and HTML, not longer than limit.
func escaped(text string, limit int) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(clean(text, limit))) // to memory
	return b.String()
}

// text writes at most limit characters.
func (w *drawing) text(x, y int, anchor, text string, limit int) {
	w.add(`<text x="%d" y="%d" text-anchor="%s">%s</text>`, x, y, anchor, escaped(text, limit))
}

// noCell is a cell of a mosaic that stays empty.
const noCell = int8(-1)

// mosaic draws rows of cells at (x, y) in width by height. A cell has a number of
// classes, whose colours the style sheet knows. There is one path for each class, of
// strokes as thick as a cell: neighbours of one class in a row are one stroke, in 5
// to 8 bytes.
func (w *drawing) mosaic(x, y, width, height int, rows [][]int8, classes []string) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return
	}
	type pen struct {
		path strings.Builder
		row  int // that it is in, counted from 1
		at   int
	}
	pens := make([]pen, len(classes))
	for i, row := range rows {
		for k := 0; k < len(row); {
			n := k + 1
			for n < len(row) && row[n] == row[k] {
				n++
			}
			if c := row[k]; c >= 0 && int(c) < len(pens) {
				p := &pens[c]
				if p.row == i+1 {
					fmt.Fprintf(&p.path, "m%d 0h%d", k-p.at, n-k)
				} else {
					fmt.Fprintf(&p.path, "M%d %dh%d", k, i, n-k)
				}
				p.row, p.at = i+1, n
			}
			k = n
		}
	}
	w.add(`<g class="mosaic" transform="translate(%d %d) scale(%s %s) translate(0 0.5)" shape-rendering="crispEdges">`, x, y, perCell(width, len(rows[0])), perCell(height, len(rows)))
	for c := range pens {
		if pens[c].path.Len() > 0 {
			w.add(`<path class="%s" d="%s"/>`, classes[c], pens[c].path.String())
		}
	}
	w.add(`</g>`)
}

// perCell is a / b with four decimals, rounded down.
func perCell(a, b int) string {
	v := int64(a) * 10000 / int64(b)
	return fmt.Sprintf("%d.%04d", v/10000, v%10000)
}

// stack draws columns of shares at (x, y) in width by height, from the lower edge
// up: parts[k][i] is the share of class k in column i, in thousandths. Coordinates
// are tenths: a hatched class must not be scaled.
func (w *drawing) stack(x, y, width, height int, parts [][]int, classes []string) {
	if len(parts) == 0 || len(parts[0]) == 0 {
		return
	}
	columns := len(parts[0])
	floor := make([]int, columns)
	for i := range floor {
		floor[i] = 1000
	}
	for k, values := range parts {
		var path strings.Builder
		for i, v := range values {
			v = min(v, floor[i])
			if v <= 0 {
				continue
			}
			bottom := floor[i] * height / 100
			floor[i] -= v
			top := floor[i] * height / 100
			left, right := i*width*10/columns, (i+1)*width*10/columns
			if top < bottom && left < right {
				fmt.Fprintf(&path, "M%s %sH%sV%sH%sz", tenth(int64(10*x+left)), tenth(int64(10*y+top)), tenth(int64(10*x+right)), tenth(int64(10*y+bottom)), tenth(int64(10*x+left)))
			}
		}
		if path.Len() > 0 {
			w.add(`<path class="%s" d="%s" shape-rendering="crispEdges"/>`, classes[k], path.String())
		}
	}
}

// axisMark is a mark of a time axis.
type axisMark struct {
	at   int // thousandths of the axis
	text string
}

// axisMarks are round times on an axis of span ticks that begins at 0: eight steps
// of 1, 2 or 5 times a power of ten at most.
func axisMarks(span uint64, u unit) []axisMark {
	fine, name, digits := span, "", 0 // of what is counted: nanoseconds, or ticks
	if u.resolution > 0 {
		v := roundQuotient(times(integer(span), 1e9), integer(u.resolution))
		if !v.IsUint64() {
			return nil
		}
		switch fine = v.Uint64(); {
		case fine >= 1e9:
			name, digits = " s", 9
		case fine >= 1e6:
			name, digits = " ms", 6
		default:
			name, digits = " µs", 3
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
		text := Fraction{integer(v), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)}.fixed(digits)
		if digits > 0 {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		list = append(list, axisMark{int(v * 1000 / fine), text + name})
	}
	return list
}

// axis draws the marks below a picture that ends at y.
func (w *drawing) axis(x, y, width int, list []axisMark) {
	for _, m := range list {
		at := x + m.at*width/1000
		w.add(`<path class="tick" d="M%d %dv5"/>`, at, y)
		w.text(at, y+17, "middle", m.text, 20)
	}
}

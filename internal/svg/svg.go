// Package svg writes pictures as SVG: text, mosaics, stacks of shares, and line charts, which are files of their own.
//
// The same calls give the same bytes on every machine: coordinates are rounded to tenths before they are written, and no product
// of floats is added to without rounding. Texts may be anything; they are escaped. A Picture belongs to one goroutine.
package svg

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Picture is the text of a picture.
type Picture struct{ b strings.Builder }

// Add writes a line of SVG as it is.
func (p *Picture) Add(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// String returns the text.
func (p *Picture) String() string { return p.b.String() }

// Text writes a text at (x, y); anchor is start, middle or end.
func (p *Picture) Text(x, y float64, anchor, text string) {
	p.Add(`<text x="%s" y="%s" text-anchor="%s">%s</text>`, Number(x), Number(y), anchor, Escape(text))
}

// Escape makes a text safe inside of XML and HTML. Characters that XML does not know are replaced.
func Escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // to memory
	return b.String()
}

// Number prints a coordinate, in tenths.
func Number(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// NoCell is a cell of a mosaic that stays empty.
const NoCell = int8(-1)

// Mosaic draws rows of cells at (x, y) in width by height. A cell has a number of
// classes, whose colours the style sheet knows. There is one path for each class, of
// strokes as thick as a cell: neighbours of one class in a row are one stroke, in 5
// to 8 bytes.
func (p *Picture) Mosaic(x, y, width, height int, rows [][]int8, classes []string) {
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
	p.Add(`<g class="mosaic" transform="translate(%d %d) scale(%s %s) translate(0 0.5)" shape-rendering="crispEdges">`, x, y, perCell(width, len(rows[0])), perCell(height, len(rows)))
	for c := range pens {
		if pens[c].path.Len() > 0 {
			p.Add(`<path class="%s" d="%s"/>`, classes[c], pens[c].path.String())
		}
	}
	p.Add(`</g>`)
}

// perCell returns a / b with four decimals, rounded down.
func perCell(a, b int) string {
	v := int64(a) * 10000 / int64(b)
	return fmt.Sprintf("%d.%04d", v/10000, v%10000)
}

// Stack draws columns of shares at (x, y) in width by height, from the lower edge
// up: parts[k][i] is the share of class k in column i, in thousandths. Coordinates
// are tenths: a hatched class must not be scaled.
func (p *Picture) Stack(x, y, width, height int, parts [][]int, classes []string) {
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
				fmt.Fprintf(&path, "M%s %sH%sV%sH%sz", tenth(10*x+left), tenth(10*y+top), tenth(10*x+right), tenth(10*y+bottom), tenth(10*x+left))
			}
		}
		if path.Len() > 0 {
			p.Add(`<path class="%s" d="%s" shape-rendering="crispEdges"/>`, classes[k], path.String())
		}
	}
}

func tenth(v int) string { return fmt.Sprintf("%d.%d", v/10, v%10) }

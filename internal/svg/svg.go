// Package svg writes pictures as SVG: text, mosaics, stacks of shares, and charts of lines that are alone as a file.
//
// The same calls give the same bytes on every machine: coordinates are rounded to tenths before they are written, and no
// product of floats is added to without being rounded first. Texts may be anything; they are escaped. A Picture belongs to one
// goroutine.
package svg

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Picture is the text of a picture in progress.
type Picture struct{ b strings.Builder }

// Add writes a line of SVG as it is.
func (p *Picture) Add(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// String is what was written.
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

// Number is a coordinate, in tenths.
func Number(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

package table

import (
	"html/template"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// Drawing is a picture of a page in progress.
type Drawing struct{ svg.Picture }

// Open begins a picture; words are its text alternative, for those who do not see
// it and for screen readers.
func (w *Drawing) Open(width, height int, class, name, words string) {
	w.Add(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %d %d" role="img" aria-label="%s">`, class, width, height, svg.Escape(numbers.Clean(words, 600)))
	w.Add(`<title>%s</title>`, svg.Escape(numbers.Clean(name, 120)))
}

// HTML ends the picture and returns it for a page of HTML, where the namespace is
// not written.
func (w *Drawing) HTML() template.HTML {
	w.Add(`</svg>`)
	return template.HTML(strings.Replace(w.String(), ` xmlns="http://www.w3.org/2000/svg"`, "", 1)) // texts are escaped
}

// Label writes at most limit characters.
func (w *Drawing) Label(x, y int, anchor, text string, limit int) {
	w.Text(float64(x), float64(y), anchor, numbers.Clean(text, limit))
}

// axisMark is a mark of a time axis.
type axisMark struct {
	At   int // thousandths of the axis
	Text string
}

// AxisMarks are round times on an axis of span ticks that begins at 0: eight steps
// of 1, 2 or 5 times a power of ten at most.
func AxisMarks(span uint64, u numbers.Units) []axisMark {
	fine, name, digits, scale := span, "", 0, uint64(1) // of what is counted: nanoseconds, or ticks
	if u.Resolution > 0 {
		switch fine = uint64(max(numbers.Divide64(span, u.Resolution).Times(1e9).Round(), 0)); {
		case fine >= 1e9:
			name, digits, scale = " s", 9, 1e9
		case fine >= 1e6:
			name, digits, scale = " ms", 6, 1e6
		default:
			name, digits, scale = " µs", 3, 1e3
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
		text := numbers.Divide64(v, scale).Fixed(digits)
		if digits > 0 {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		list = append(list, axisMark{int(v * 1000 / fine), text + name})
	}
	return list
}

// Axis draws the marks below a picture that ends at y.
func (w *Drawing) Axis(x, y, width int, list []axisMark) {
	for _, m := range list {
		at := x + m.At*width/1000
		w.Add(`<path class="tick" d="M%d %dv5"/>`, at, y)
		w.Label(at, y+17, "middle", m.Text, 20)
	}
}

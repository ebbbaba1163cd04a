package report

import (
	"fmt"
	"io"
	"math/bits"
	"strings"
)

// The plot of a sweep, in pixels.
const (
	plotWidth, plotHeight   = 760, 420
	plotLeft, plotRight     = 90, 560
	plotTop, plotBottom     = 30, 360
	plotLines, plotLineText = 16, 30 // lines in the legend, characters of each
)

// plotColours are those of Okabe and Ito, which everybody can tell apart; dashes tell the next eight from the first.
var plotColours = [...]string{"#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#999999"}

// WriteSVG draws the sweep: the first axis to the right, the predicted runtime upwards, a line for each combination of the other
// axes. Coordinates are whole tenths of pixels, so the bytes are the same everywhere.
func (s *PredictedSweep) WriteSVG(out io.Writer, title string) error {
	w := &svg{sweep: s}
	w.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, plotWidth, plotHeight, plotWidth, plotHeight)
	w.add(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	w.text(plotLeft, 18, "start", title, 90)
	w.text(10, 18, "start", "runtime, s", 20)
	w.scale()
	w.axes()
	if len(s.Axes) > 0 {
		n := len(s.Axes[0].Values)
		for line := range len(s.Points) / max(n, 1) {
			w.line(line, n)
		}
	}
	w.add(`</svg>`)
	_, err := io.WriteString(out, w.b.String())
	return err
}

// svg is a plot under way.
type svg struct {
	drawing
	sweep *PredictedSweep
	top   uint64 // ps at the upper end
	step  uint64 // between two marks
}

// scale chooses marks of 1, 2 or 5 times a power of ten, seven at most.
func (w *svg) scale() {
	largest := uint64(1)
	for _, x := range w.sweep.Points {
		if x.Makespan != nil {
			largest = max(largest, *x.Makespan)
		}
	}
	w.step = 1
	for _, factor := 1, 0; largest/w.step >= 7; factor = (factor + 1) % 3 {
		w.step = w.step / [...]uint64{1, 2, 1}[factor] * [...]uint64{2, 5, 2}[factor]
	}
	w.top = (largest/w.step + 1) * w.step
}

// tenth writes tenths of pixels.
func tenth(v int64) string { return fmt.Sprintf("%d.%d", v/10, v%10) }

// x is the place of value i of n, in tenths of pixels.
func (w *svg) x(i, n int) int64 {
	if n < 2 {
		return 10 * (plotLeft + plotRight) / 2
	}
	return 10*(plotLeft+20) + int64(i)*10*(plotRight-plotLeft-40)/int64(n-1)
}

// y is the place of a time of at most top, in tenths of pixels.
func (w *svg) y(ps uint64) int64 {
	hi, lo := bits.Mul64(ps, 10*(plotBottom-plotTop))
	q, _ := bits.Div64(hi, lo, w.top)
	return 10*plotBottom - int64(q)
}

// axes draws frame, marks and names.
func (w *svg) axes() {
	w.add(`<path d="M%d %dV%dH%d" fill="none" stroke="#444444"/>`, plotLeft, plotTop, plotBottom, plotRight)
	for v := uint64(0); v <= w.top; v += w.step {
		y := w.y(v)
		w.add(`<path d="M%d %sH%d" stroke="#dddddd"/>`, plotLeft, tenth(y), plotRight)
		w.text(plotLeft-6, int(y/10)+4, "end", seconds(v), 20)
	}
	if len(w.sweep.Axes) == 0 {
		return
	}
	a := &w.sweep.Axes[0]
	every := (len(a.Values) + 11) / 12
	for i, v := range a.Values {
		if i%every == 0 {
			w.text(int(w.x(i, len(a.Values))/10), plotBottom+18, "middle", v, 12)
		}
	}
	w.text((plotLeft+plotRight)/2, plotBottom+40, "middle", a.Name, 40)
}

// seconds writes ps exactly.
func seconds(ps uint64) string {
	text := fmt.Sprintf("%d.%012d", ps/Picoseconds, ps%Picoseconds)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// line draws one combination of the axes but the first. A deadlock is a cross on the lower edge.
func (w *svg) line(k, n int) {
	colour, dash := plotColours[k%len(plotColours)], ""
	if k/len(plotColours)%2 == 1 {
		dash = ` stroke-dasharray="5 3"`
	}
	others := len(w.sweep.Points) / n
	var path strings.Builder
	open := false
	for i := range n {
		p := &w.sweep.Points[i*others+k]
		x := w.x(i, n)
		if p.Makespan == nil {
			open = false
			w.text(int(x/10), plotBottom-2, "middle", "×", 1)
			continue
		}
		y := w.y(*p.Makespan)
		move := "L"
		if !open {
			move = "M"
		}
		open = true
		fmt.Fprintf(&path, "%s%s %s", move, tenth(x), tenth(y))
		w.add(`<circle cx="%s" cy="%s" r="2.5" fill="%s"/>`, tenth(x), tenth(y), colour)
	}
	if path.Len() > 0 {
		w.add(`<path d="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>`, path.String(), colour, dash)
	}
	if k >= plotLines || len(w.sweep.Axes) < 2 {
		return
	}
	var names []string
	for i, v := range w.sweep.Points[k].Values[1:] {
		names = append(names, w.sweep.Axes[i+1].Name+" "+v)
	}
	y := plotTop + 18*k
	w.add(`<path d="M%d %dh18" stroke="%s" stroke-width="1.5"%s/>`, plotRight+16, y, colour, dash)
	w.text(plotRight+40, y+4, "start", strings.Join(names, ", "), plotLineText)
}

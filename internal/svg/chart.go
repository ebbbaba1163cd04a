package svg

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Chart is a diagram of lines. Both axes begin at 0.
type Chart struct {
	Title, X, Y string
	Places      []string // along the horizontal axis instead of numbers: X of lines are indexes from 0
	Gap         string   // label at the lower edge where a line has no value
	Lines       []Line
	Marks       []Mark
}

// Line is one line of a chart. It has a gap where a coordinate is not finite.
type Line struct {
	Name   string
	X, Y   []float64
	Dashed bool
}

// Mark is a vertical line.
type Mark struct {
	X    float64
	Text string
}

// Bar is shares of a whole, drawn as one bar.
type Bar struct {
	Title string
	Parts []Part
}

// Part is a part of a bar.
type Part struct {
	Name  string
	Share float64
}

// Size of a chart and its margins, and limits of its labels.
const (
	chartWidth, chartHeight = 760, 320
	marginLeft, marginRight = 80, 200
	marginTop, marginBottom = 34, 46
	right, bottom           = chartWidth - marginRight, chartHeight - marginBottom
	namedLines, nameLength  = 15, 30
	namedParts              = 12 // of a bar; other parts are not named
	namedPlaces, placeName  = 12, 12
)

// colors can be told apart by people with colour blindness too (Okabe and Ito). Dashes distinguish the next eight lines from the
// first.
var colors = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31"}

// File is a picture of charts, one below the other, and of a bar, if there is one.
func File(charts []Chart, bar *Bar) []byte {
	height := chartHeight * len(charts)
	if bar != nil {
		height += 60 + 18*min(len(bar.Parts), namedParts)
	}
	var p Picture
	p.Add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, chartWidth, height, chartWidth, height)
	p.Add(`<rect width="%d" height="%d" fill="white"/>`, chartWidth, height)
	for i := range charts {
		p.Add(`<g transform="translate(0,%d)">`, i*chartHeight)
		charts[i].draw(&p)
		p.Add(`</g>`)
	}
	if bar != nil {
		p.Add(`<g transform="translate(0,%d)">`, len(charts)*chartHeight)
		bar.draw(&p)
		p.Add(`</g>`)
	}
	p.Add(`</svg>`)
	return []byte(p.String())
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// step returns a round distance of ticks, such that there are at most 8 up to x.
func step(x float64) float64 {
	if !(x > 0) {
		return 1
	}
	s := 1.0
	for s > x/8 && s > 1e-300 {
		s /= 10
	}
	for s < x/80 && s < 1e300 {
		s *= 10
	}
	for _, f := range []float64{1, 2, 5, 10} {
		if s*f >= x/8 {
			return s * f
		}
	}
	return s * 10
}

// Tick is the label of a number.
func Tick(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

func (p *Picture) segment(x1, y1, x2, y2 float64, style string) {
	p.Add(`<line x1="%s" y1="%s" x2="%s" y2="%s" %s/>`, Number(x1), Number(y1), Number(x2), Number(y2), style)
}

// scale turns values into coordinates.
type scale struct{ stepX, stepY, endX, endY float64 }

func (s *scale) x(v float64) float64 { return marginLeft + float64(v/s.endX*(right-marginLeft)) }
func (s *scale) y(v float64) float64 { return bottom - float64(v/s.endY*(bottom-marginTop)) }

// scale returns a scale that contains all points and ends on ticks.
func (c *Chart) scale() *scale {
	var mostX, mostY float64
	for _, l := range c.Lines {
		for i := range l.X {
			if finite(l.X[i]) && finite(l.Y[i]) {
				mostX, mostY = max(mostX, l.X[i]), max(mostY, l.Y[i])
			}
		}
	}
	s := &scale{stepX: step(mostX), stepY: step(mostY)}
	s.endX, s.endY = max(s.stepX*math.Ceil(mostX/s.stepX), s.stepX), max(s.stepY*math.Ceil(mostY/s.stepY), s.stepY)
	if n := len(c.Places); n > 0 {
		s.endX = max(float64(n-1), 1)
	}
	return s
}

const gridStyle = `stroke="#dddddd"`

func (c *Chart) draw(p *Picture) {
	s := c.scale()
	p.Text(6, 14, "start", c.Title)
	c.drawX(p, s)
	for i := 0; float64(i)*s.stepY <= s.endY*1.0001; i++ {
		v := float64(i) * s.stepY
		p.segment(marginLeft, s.y(v), right, s.y(v), gridStyle)
		p.Text(marginLeft-6, s.y(v)+4, "end", Tick(v))
	}
	p.Text((marginLeft+right)/2, chartHeight-10, "middle", c.X)
	p.Text(6, marginTop-6, "start", c.Y)
	for _, m := range c.Marks {
		if finite(m.X) && m.X >= 0 && m.X <= s.endX {
			p.segment(s.x(m.X), marginTop, s.x(m.X), bottom, `stroke="#888888" stroke-dasharray="2 3"`)
			p.Text(s.x(m.X)+3, marginTop+12, "start", m.Text)
		}
	}
	for i := range c.Lines {
		c.drawLine(p, s, i)
	}
}

// drawX draws the ticks of the horizontal axis: its numbers, or as many of its places as are legible.
func (c *Chart) drawX(p *Picture, s *scale) {
	tick := func(v float64, text string) {
		p.segment(s.x(v), marginTop, s.x(v), bottom, gridStyle)
		p.Text(s.x(v), bottom+16, "middle", text)
	}
	if c.Places == nil {
		for i := 0; float64(i)*s.stepX <= s.endX*1.0001; i++ {
			tick(float64(i)*s.stepX, Tick(float64(i)*s.stepX))
		}
		return
	}
	every := (len(c.Places) + namedPlaces - 1) / namedPlaces
	for i := 0; i < len(c.Places); i += every {
		tick(float64(i), shortened(c.Places[i], placeName))
	}
}

// drawLine draws line k with its name. Values at places have a dot.
func (c *Chart) drawLine(p *Picture, s *scale, k int) {
	l := &c.Lines[k]
	style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, colors[k%len(colors)])
	if l.Dashed || k/len(colors)%2 == 1 {
		style += ` stroke-dasharray="6 4"`
	}
	var path strings.Builder
	move := "M"
	for i := range l.X {
		if !finite(l.X[i]) || !finite(l.Y[i]) {
			move = "M"
			if c.Gap != "" && finite(l.X[i]) {
				p.Text(s.x(l.X[i]), bottom-2, "middle", c.Gap)
			}
			continue
		}
		x, y := Number(s.x(l.X[i])), Number(s.y(l.Y[i]))
		fmt.Fprintf(&path, "%s%s %s", move, x, y)
		move = "L"
		if c.Places != nil {
			p.Add(`<circle cx="%s" cy="%s" r="2.5" fill="%s"/>`, x, y, colors[k%len(colors)])
		}
	}
	if path.Len() > 0 {
		p.Add(`<path d="%s" %s/>`, path.String(), style)
	}
	if l.Name != "" && k < namedLines {
		y := float64(marginTop + 8 + 16*k)
		p.segment(right+8, y, right+28, y, style)
		p.Text(right+34, y+4, "start", shortened(l.Name, nameLength))
	}
}

// shortened shortens a text to n characters.
func shortened(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

func (b *Bar) draw(p *Picture) {
	p.Text(marginLeft, 20, "start", b.Title)
	const width = chartWidth - marginLeft - 20
	at := 0.0
	for i, x := range b.Parts[:min(len(b.Parts), namedParts)] {
		color := colors[i%len(colors)]
		p.Add(`<rect x="%s" y="28" width="%s" height="16" fill="%s" fill-opacity="%s"/>`,
			Number(marginLeft+float64(at*width)), Number(x.Share*width), color, Number(1-float64(0.4*float64(i/len(colors)))))
		at += x.Share
		y := 62 + 18*i
		p.Add(`<rect x="%d" y="%d" width="10" height="10" fill="%s"/>`, marginLeft, y-9, color)
		p.Text(marginLeft+16, float64(y), "start", fmt.Sprintf("%.1f %%  %s", 100*x.Share, x.Name))
	}
}

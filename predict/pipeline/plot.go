package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Line is one line of a chart.
type Line struct {
	Name   string
	X, Y   []float64 // numbers that are not finite are left out
	Dashed bool
}

// Chart is a diagram of lines. Both axes begin at 0.
type Chart struct {
	Title, X, Y string
	Lines       []Line
	Marks       []Mark
}

// Mark is a vertical line.
type Mark struct {
	X    float64
	Text string
}

// Bars are shares of a whole, drawn as one bar.
type Bars struct {
	Title string
	Parts []Occupancy
}

// Size of a chart in SVG units, and of its margins.
const (
	chartWidth, chartHeight = 720, 320
	marginLeft, marginRight = 70, 150
	marginTop, marginBottom = 34, 46
)

// colors are told apart by those who do not see all colors too (Okabe and Ito).
var colors = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31"}

// SVG draws charts one below the other, then the bars. The same input gives the same bytes.
func SVG(charts []Chart, bars *Bars) []byte {
	height := chartHeight * len(charts)
	if bars != nil {
		height += 60 + 18*min(len(bars.Parts), mostBars)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n",
		chartWidth, height, chartWidth, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", chartWidth, height)
	for i := range charts {
		fmt.Fprintf(&b, "<g transform=\"translate(0,%d)\">\n", i*chartHeight)
		charts[i].draw(&b)
		b.WriteString("</g>\n")
	}
	if bars != nil {
		fmt.Fprintf(&b, "<g transform=\"translate(0,%d)\">\n", len(charts)*chartHeight)
		bars.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\"", "&quot;")

// escape makes text safe inside of XML: characters that XML does not know are left out.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return escaper.Replace(s)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// step is a round distance between ticks, so that there are at most 8 up to x.
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

// tick is the label of a number.
func tick(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

func text(b *strings.Builder, x, y float64, anchor, s string) {
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, escape(s))
}

func segment(b *strings.Builder, x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style)
}

func (c *Chart) draw(b *strings.Builder) {
	var mostX, mostY float64
	for _, l := range c.Lines {
		for i := range l.X {
			if finite(l.X[i]) && finite(l.Y[i]) {
				mostX, mostY = max(mostX, l.X[i]), max(mostY, l.Y[i])
			}
		}
	}
	stepX, stepY := step(mostX), step(mostY)
	endX, endY := stepX*math.Ceil(mostX/stepX), stepY*math.Ceil(mostY/stepY)
	endX, endY = max(endX, stepX), max(endY, stepY)
	const right, bottom = chartWidth - marginRight, chartHeight - marginBottom
	px := func(x float64) float64 { return marginLeft + float64(x/endX*(right-marginLeft)) }
	py := func(y float64) float64 { return bottom - float64(y/endY*(bottom-marginTop)) }
	text(b, marginLeft, 20, "start", c.Title)
	const grid = "stroke=\"#dddddd\""
	for i := 0; float64(i)*stepX <= endX*1.0001; i++ {
		x := px(float64(i) * stepX)
		segment(b, x, marginTop, x, bottom, grid)
		text(b, x, bottom+16, "middle", tick(float64(i)*stepX))
	}
	for i := 0; float64(i)*stepY <= endY*1.0001; i++ {
		y := py(float64(i) * stepY)
		segment(b, marginLeft, y, right, y, grid)
		text(b, marginLeft-6, y+4, "end", tick(float64(i)*stepY))
	}
	text(b, (marginLeft+right)/2, chartHeight-10, "middle", c.X)
	text(b, 6, marginTop-8, "start", c.Y)
	for _, m := range c.Marks {
		if finite(m.X) && m.X >= 0 && m.X <= endX {
			segment(b, px(m.X), marginTop, px(m.X), bottom, "stroke=\"#888888\" stroke-dasharray=\"2 3\"")
			text(b, px(m.X)+3, marginTop+12, "start", m.Text)
		}
	}
	for i, l := range c.Lines {
		l.draw(b, i, px, py)
	}
}

func (l *Line) draw(b *strings.Builder, number int, px, py func(float64) float64) {
	color := colors[number%len(colors)]
	dash := ""
	if l.Dashed {
		dash = " stroke-dasharray=\"6 4\""
	}
	var points []string
	for i := range l.X {
		if finite(l.X[i]) && finite(l.Y[i]) {
			points = append(points, fmt.Sprintf("%.1f,%.1f", px(l.X[i]), py(l.Y[i])))
		}
	}
	fmt.Fprintf(b, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"%s\"/>\n", color, dash, strings.Join(points, " "))
	y := float64(marginTop + 8 + 16*number)
	segment(b, chartWidth-marginRight+8, y, chartWidth-marginRight+28, y, "stroke=\""+color+"\" stroke-width=\"2\""+dash)
	text(b, chartWidth-marginRight+34, y+4, "start", l.Name)
}

// mostBars is the number of parts that are named; the others are one.
const mostBars = 12

func (s *Bars) draw(b *strings.Builder) {
	text(b, marginLeft, 20, "start", s.Title)
	const width = chartWidth - marginLeft - 20
	at := 0.0
	for i, p := range s.Parts[:min(len(s.Parts), mostBars)] {
		color := colors[i%len(colors)]
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"28\" width=\"%.1f\" height=\"16\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n",
			marginLeft+float64(at*width), float64(p.Share*width), color, 1-float64(0.4*float64(i/len(colors))))
		at += p.Share
		y := float64(62 + 18*i)
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", marginLeft, y-9, color)
		text(b, marginLeft+16, y, "start", fmt.Sprintf("%.1f %%  %s", 100*p.Share, strings.Join(p.Classes, " + ")))
	}
}

// Curves are the charts of an answer with one type: response and throughput by the number of jobs, with the bounds that they
// approach and the number of jobs where the first center saturates. Nil where the answer has no curve.
func (a *Answer) Curves() []Chart {
	if len(a.Types) != 1 || a.Types[0].Curve == nil {
		return nil
	}
	t := &a.Types[0]
	perJob := t.Bounds.Work / float64(t.Jobs) // seconds, of the center that saturates first
	var n, response, throughput, alone, saturated, offered, most []float64
	for _, p := range t.Curve {
		jobs := float64(p.Jobs)
		n = append(n, jobs)
		response, throughput = append(response, p.Response), append(throughput, p.Throughput)
		alone, saturated = append(alone, t.Bounds.Alone), append(saturated, max(0, float64(jobs*perJob)-t.Think))
		offered = append(offered, jobs/(t.Bounds.Alone+t.Think))
		most = append(most, 1/perJob) // infinite where nothing saturates
	}
	marks := []Mark{{t.Bounds.SaturatesAt, "N* = " + tick(t.Bounds.SaturatesAt)}}
	if t.Bounds.Bottleneck < 0 {
		marks, saturated, most = nil, nil, nil
	}
	upper := Chart{Title: "Response by jobs", X: "jobs", Y: "seconds", Marks: marks, Lines: []Line{{"response", n, response, false}, {"alone", n, alone, true}}}
	lower := Chart{Title: "Throughput by jobs", X: "jobs", Y: "jobs per second", Marks: marks, Lines: []Line{{"throughput", n, throughput, false}, {"no waiting", n, offered, true}}}
	if saturated != nil {
		upper.Lines = append(upper.Lines, Line{"saturated", n, saturated, true})
		lower.Lines = append(lower.Lines, Line{"saturated", n, most, true})
		for i := range offered {
			offered[i] = min(offered[i], 1.2/perJob)
		}
	}
	return []Chart{upper, lower}
}

// mostLines bounds the lines of a chart.
const mostLines = 8

// SweepChart draws the response of the first type over the knob with the most values, with a line for each combination of the
// others, the first mostLines of them.
func SweepChart(knobs []Knob, rows []Row) Chart {
	x := 0
	for i, k := range knobs {
		if len(k.Values) > len(knobs[x].Values) {
			x = i
		}
	}
	c := Chart{Title: "Response", Y: "seconds"}
	if len(knobs) == 0 {
		return c
	}
	c.X = knobs[x].Name
	index := map[string]int{}
	for _, r := range rows {
		var name []string
		for i, k := range knobs {
			if i != x {
				name = append(name, k.Name+" "+tick(r.Values[i]))
			}
		}
		key := strings.Join(name, " ")
		i, ok := index[key]
		if !ok {
			i = len(c.Lines)
			if i == mostLines {
				continue
			}
			index[key] = i
			c.Lines = append(c.Lines, Line{Name: key})
		}
		l := &c.Lines[i]
		l.X, l.Y = append(l.X, r.Values[x]), append(l.Y, r.Response[0])
	}
	return c
}

package pipeline

import (
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
)

// Curves are the charts of an answer with one type: response and throughput by the number of jobs, with the bounds that they
// approach and the number of jobs where the first center saturates. Nil where the answer has no curve.
func (a *Answer) Curves() []svg.Chart {
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
	marks := []svg.Mark{{X: t.SaturatesAt, Text: "N* = " + svg.Tick(t.SaturatesAt)}}
	if t.Bounds.Bottleneck == Nowhere {
		marks, saturated, most = nil, nil, nil
	}
	upper := svg.Chart{Title: "Response by jobs", X: "jobs", Y: "seconds", Marks: marks, Lines: []svg.Line{{Name: "response", X: n, Y: response}, {Name: "alone", X: n, Y: alone, Dashed: true}}}
	lower := svg.Chart{Title: "Throughput by jobs", X: "jobs", Y: "jobs per second", Marks: marks, Lines: []svg.Line{{Name: "throughput", X: n, Y: throughput}, {Name: "no waiting", X: n, Y: offered, Dashed: true}}}
	if saturated != nil {
		upper.Lines = append(upper.Lines, svg.Line{Name: "saturated", X: n, Y: saturated, Dashed: true})
		lower.Lines = append(lower.Lines, svg.Line{Name: "saturated", X: n, Y: most, Dashed: true})
		for i := range offered {
			if offered[i] > 1.2/perJob { // far above all other lines
				offered[i] = math.NaN()
			}
		}
	}
	return []svg.Chart{upper, lower}
}

// OccupancyBar draws which stages are in progress together, of an answer with one type; nil where that is not known.
func (a *Answer) OccupancyBar() *svg.Bar {
	if len(a.Types) != 1 || len(a.Types[0].Occupancy) == 0 {
		return nil
	}
	b := &svg.Bar{Title: "Share of the response by stages in progress"}
	for _, o := range a.Types[0].Occupancy {
		b.Parts = append(b.Parts, svg.Part{Name: strings.Join(o.Classes, " + "), Share: o.Share})
	}
	return b
}

// mostLines bounds the lines of a chart.
const mostLines = 8

// SweepChart draws the response of the first type over the knob with the most values, with a line for each combination of the
// others, the first mostLines of them.
func SweepChart(knobs []Knob, rows []Row) svg.Chart {
	x := 0
	for i, k := range knobs {
		if len(k.Values) > len(knobs[x].Values) {
			x = i
		}
	}
	c := svg.Chart{Title: "Response", Y: "seconds"}
	if len(knobs) == 0 {
		return c
	}
	c.X = knobs[x].Name
	index := map[string]int{}
	for _, r := range rows {
		var name []string
		for i, k := range knobs {
			if i != x {
				name = append(name, k.Name+" "+svg.Tick(r.Values[i]))
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
			c.Lines = append(c.Lines, svg.Line{Name: key})
		}
		l := &c.Lines[i]
		l.X, l.Y = append(l.X, r.Values[x]), append(l.Y, r.Response[0])
	}
	return c
}

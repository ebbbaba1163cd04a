package predicted

import (
	"io"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// WriteSVG draws the sweep: the first axis to the right, the predicted runtime upwards, a line for each combination of the other
// axes. A deadlock is a cross on the lower edge, and a gap.
func (s *PredictedSweep) WriteSVG(out io.Writer, title string) error {
	c := svg.Chart{Title: numbers.Clean(title, 90), Y: "runtime, s", Gap: "×"}
	if len(s.Axes) > 0 {
		c.X = numbers.Clean(s.Axes[0].Name, 40)
		for _, v := range s.Axes[0].Values {
			c.Places = append(c.Places, numbers.Clean(v, 40))
		}
		for k := range len(s.Points) / max(len(c.Places), 1) {
			c.Lines = append(c.Lines, s.line(k, len(c.Places)))
		}
	}
	_, err := out.Write(svg.File([]svg.Chart{c}, nil))
	return err
}

// line is combination k of the axes but the first, which has n values.
func (s *PredictedSweep) line(k, n int) svg.Line {
	others := len(s.Points) / n
	var names []string
	for i, v := range s.Points[k].Values[1:] {
		names = append(names, numbers.Clean(s.Axes[i+1].Name+" "+v, 40))
	}
	l := svg.Line{Name: strings.Join(names, ", ")}
	for i := range n {
		y := math.NaN()
		if m := s.Points[i*others+k].Makespan; m != nil {
			y = float64(*m) / Picoseconds
		}
		l.X, l.Y = append(l.X, float64(i)), append(l.Y, y)
	}
	return l
}

package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestMosaic(t *testing.T) {
	t.Parallel()
	var w Picture
	w.Mosaic(10, 20, 40, 30, [][]int8{{0, 0, 1, NoCell}, {1, 0, 0, 0}, {1, 1, 1, 0}}, []string{"a", "b"})
	want := `<g class="mosaic" transform="translate(10 20) scale(10.0000 10.0000) translate(0 0.5)" shape-rendering="crispEdges">
<path class="a" d="M0 0h2M1 1h3M3 2h1"/>
<path class="b" d="M2 0h1M0 1h1M0 2h3"/>
</g>
`
	if got := w.String(); got != want {
		t.Errorf("%s", got)
	}
	w = Picture{}
	w.Mosaic(0, 0, 3, 1, [][]int8{{0, 1, 0}}, []string{"a", "b"})
	if got := w.String(); !strings.Contains(got, `d="M0 0h1m1 0h1"`) {
		t.Errorf("%s", got)
	}
}

func TestStack(t *testing.T) {
	t.Parallel()
	var w Picture
	w.Stack(10, 20, 100, 50, [][]int{{500, 0}, {600, 250}}, []string{"a", "b"}) // what is above the whole is cut
	want := `<path class="a" d="M10.0 45.0H60.0V70.0H10.0z" shape-rendering="crispEdges"/>
<path class="b" d="M10.0 20.0H60.0V45.0H10.0zM60.0 57.5H110.0V70.0H60.0z" shape-rendering="crispEdges"/>
`
	if got := w.String(); got != want {
		t.Errorf("%s", got)
	}
}

func TestStep(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]float64{0: 1, -1: 1, math.NaN(): 1, 1: 0.2, 8: 1, 9: 2, 79: 10, 81: 20, 1e-12: 2e-13, 3e12: 5e11} {
		if got := step(x); math.Abs(got-want) > want/1e9 {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}

// TestFile draws numbers and names that are hard: the picture is well-formed, and lines have gaps where there are no values.
func TestFile(t *testing.T) {
	t.Parallel()
	hard := "<b> & \x00\x1b \xff \" ' ]]> " + strings.Repeat("x", 100)
	nan, inf := math.NaN(), math.Inf(1)
	charts := []Chart{
		{},
		{Title: hard, X: hard, Y: hard, Lines: []Line{{Name: hard, X: []float64{0, 1, 2, 3}, Y: []float64{1, nan, 3, 4}}, {X: []float64{inf}, Y: []float64{1}}}, Marks: []Mark{{nan, hard}, {1, hard}}},
		{Places: []string{hard, "", "c"}, Gap: "×", Lines: []Line{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{1e300, nan, 1e-300}}}},
	}
	b := File(charts, &Bar{Title: hard, Parts: []Part{{hard, 0.5}, {"", 0.5}}})
	circles, words := 0, ""
	for d := xml.NewDecoder(strings.NewReader(string(b))); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if e.Name.Local == "circle" {
				circles++
			}
		case xml.CharData:
			words += string(e)
		}
	}
	if circles != 2 || strings.Count(words, "×") != 1 {
		t.Errorf("%d points, texts %q", circles, words)
	}
	if got := string(b); strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error(got)
	}
}

// TestManyLines names as many lines as there is room for.
func TestManyLines(t *testing.T) {
	t.Parallel()
	c := Chart{}
	for range 40 {
		c.Lines = append(c.Lines, Line{Name: "name", X: []float64{0, 1}, Y: []float64{0, 1}})
	}
	if n := strings.Count(string(File([]Chart{c}, nil)), ">name<"); n != namedLines {
		t.Errorf("%d names", n)
	}
}

package svg_test

import (
	"bytes"
	"fmt"

	"github.com/coppice-hpc/coppice/internal/svg"
)

// A chart of one line. Names are texts of the file, never markup.
func ExampleFile() {
	b := svg.File([]svg.Chart{{
		Title: "response", X: "jobs", Y: "seconds",
		Lines: []svg.Line{{Name: "<walk>", X: []float64{1, 2, 4}, Y: []float64{1, 1.5, 3}}},
	}}, nil)
	fmt.Println(bytes.Contains(b, []byte("&lt;walk&gt;")), bytes.Contains(b, []byte("<walk>")))
	// Output: true false
}

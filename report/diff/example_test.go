package diff_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report/diff"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// A program before and after its solver became slower.
func ExampleNew() {
	before, done := jobtest.Opened(program)
	defer done()
	after, done := jobtest.Opened(strings.NewReplacer("60", "90", "100", "130").Replace(program))
	defer done()
	d, err := diff.New(before, after, diff.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range d.Worse {
		fmt.Println(x.Interval, x.Metric, x.Ratio.Fixed(2))
	}
	// Output:
	// whole program measured_execution 1.30
}

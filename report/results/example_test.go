package results_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report/results"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// How long the whole program takes, and what of it computes.
func ExampleOpen() {
	run, done := jobtest.Opened(program) // opens what an analysis wrote
	defer done()
	s, err := run.Summary(results.Rules{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Ticks.Runtime, s.Ticks.CPU, s.Efficiency.Text(2))
	// Output:
	// 100 100 1.00
}

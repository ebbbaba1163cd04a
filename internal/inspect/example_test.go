package inspect_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/jobs"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// A result is sound to its last page. The parts of the check take about these shares of its time.
func ExampleCheck() {
	run, done := jobtest.Opened(program)
	defer done()
	_, clean, err := inspect.Check(run.Path, inspect.KindRun, 1, func(p jobs.Progress) {
		if p.End {
			fmt.Printf("%s %.2f to %.2f, %t\n", p.Stage, p.From, p.To, p.Total > 0)
		}
	})
	fmt.Println(clean, err)
	// Output:
	// pages 0.00 to 0.15, true
	// graph 0.15 to 0.28, true
	// rows 0.28 to 1.00, true
	// true <nil>
}

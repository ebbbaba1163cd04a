package inspect_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/inspect"
	"github.com/coppice-hpc/coppice/internal/jobtest"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// A result is sound to its last page.
func ExampleCheck() {
	run, done := jobtest.Opened(program)
	defer done()
	_, clean, err := inspect.Check(run.Path, inspect.KindRun, 1)
	fmt.Println(clean, err)
	// Output:
	// true <nil>
}

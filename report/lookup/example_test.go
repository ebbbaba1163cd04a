package lookup_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// What is open at tick 50.
func ExampleNewStack() {
	run, done := jobtest.Opened(program)
	defer done()
	s, err := lookup.NewStack(run, 0, 50, results.SourceGraph, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range s.Calls {
		fmt.Println(c.Depth, c.Name, c.Begin)
	}
	// Output:
	// 0 main 0
	// 1 solve 10
}

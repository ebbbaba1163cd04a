package verify_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report/verify"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// A file agrees with itself.
func ExampleNew() {
	run, done := jobtest.Opened(program)
	defer done()
	v, err := verify.New(run, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Calls, v.Graphs, v.Found)
	// Output:
	// 2 1 0
}

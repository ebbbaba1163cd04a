package verify_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report/verify"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// A file agrees with itself. What is compared of its only location are all bytes of that.
func ExampleNew() {
	run, done := jobtest.Opened(program)
	defer done()
	compared := uint64(0)
	v, err := verify.New(run, 1, func(bytes uint64) { compared += bytes })
	if err != nil {
		log.Fatal(err)
	}
	dir, err := run.File.Dir(0)
	fmt.Println(v.Calls, v.Graphs, v.Found, compared == dir.RegionBytes, err)
	// Output:
	// 2 1 0 true <nil>
}

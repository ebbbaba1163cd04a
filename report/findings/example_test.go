package findings_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/report/results"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// What a trace without MPI cannot tell.
func ExampleNewUntold() {
	run, done := jobtest.Opened(program)
	defer done()
	s, err := run.Summary(results.Rules{})
	if err != nil {
		log.Fatal(err)
	}
	u, err := findings.NewUntold(run, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(u.Missing[0].Text)
	// Output:
	// no MPI calls: time in communication, and who waits for whom, is not known
}

package analyze_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// A trace is analysed by two ranks, and the file says how long processes waited for late senders.
func ExampleAnalyze() {
	src, err := tracetest.Parse(`
-- program --
processes 2
-- events --
0 0 ENTER main
1 0 ENTER main
1 10 ENTER MPI_Recv
0 100 ENTER MPI_Send
0 101 MPI_SEND 1 MPI_COMM_WORLD 7 1024
0 110 LEAVE MPI_Send
1 130 MPI_RECV 0 MPI_COMM_WORLD 7 1024
1 135 LEAVE MPI_Recv
0 200 LEAVE main
1 200 LEAVE main
`)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	o := analyze.Options{Source: src, Output: filepath.Join(dir, "run.xtf")}
	if err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := analyze.Run(c, o)
		return err
	}); err != nil {
		log.Fatal(err)
	}
	f, err := xtf.OpenFile(o.Output, xtf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	waits, err := f.Array(1, xtf.TypeWait)
	if err != nil {
		log.Fatal(err)
	}
	for rows := waits.Rows(0, waits.Len()); rows.Next(); {
		var w xtf.Wait
		w.Load(rows.Row())
		fmt.Printf("from tick %d to %d for location %d: %s\n", w.T, w.End, w.CauseP, xtf.PatternItem(w.Pattern))
	}
	// Output:
	// from tick 10 to 100 for location 0: late_sender
}

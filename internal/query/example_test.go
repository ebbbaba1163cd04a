package query_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/query"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// open analyses a trace of one process.
func open(dir string) *results.Run {
	src, err := tracetest.Parse("-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "run.xtf")
	if err := mpi.RunInProcess(1, func(c mpi.Comm) error {
		_, err := analyze.Run(c, analyze.Options{Source: src, Output: path})
		return err
	}); err != nil {
		log.Fatal(err)
	}
	run, err := results.Open(path, xtf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return run
}

// What is open at tick 50, and a question that makes no sense.
func ExampleAsk() {
	dir, err := os.MkdirTemp("", "query")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run := open(dir)
	defer run.Close()
	answer, err := query.Ask(run, &query.Question{Primitive: "search", Time: "#50", Mode: "le", Limit: 20})
	if err != nil {
		log.Fatal(err)
	}
	if err := answer.Text(os.Stdout, 20); err != nil {
		log.Fatal(err)
	}
	_, err = query.Ask(run, &query.Question{Primitive: "next"})
	fmt.Println(err)
	// Output:
	// search in CALL of process 0, thread 0 (location 0): 2 rows, index of height 1
	// row 1, page 0, slot 1
	// n   T  End  parentN  exclusive  region   depth  class  flags
	// 1  10   60        0         50  1 solve      1      0      0
	// cost: 0 pages read, 0 in the cache, 0 comparisons; rows: 1 pages read, 0 in the cache
	// next needs --time, --key or --n
}

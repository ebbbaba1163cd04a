package query_test

import (
	"fmt"
	"log"
	"os"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/query"
)

// What is open at tick 50, and a question that makes no sense.
func ExampleAsk() {
	run, done := jobtest.Opened("-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n")
	defer done()
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

package oracle_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
)

func ExampleAnalyze() {
	src, err := tracetest.ParseCalls(tracetest.GoldenG1)
	if err != nil {
		log.Fatal(err)
	}
	r, err := oracle.Analyze(src, oracle.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Messages)
	for p, l := range r.Locations {
		for _, w := range l.Waits {
			fmt.Printf("location %d waits from %d to %d for location %d: %s\n", p, w.From, w.To, w.Cause, w.Pattern)
		}
	}
	// Output:
	// [{0 1 2 16 2 16}]
	// location 0 waits from 40 to 60 for location 1: late_receiver
	// location 1 waits from 10 to 20 for location 0: late_sender
}

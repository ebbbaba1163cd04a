package table_test

import (
	"log"
	"os"

	"github.com/coppice-hpc/coppice/report/table"
)

// One table for people and for programs.
func ExampleWriteTable() {
	if err := table.WriteTable(os.Stdout, []string{"<region", "calls"}, [][]string{{"main", "1"}, {"MPI_Send", "320"}}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// region    calls
	// main          1
	// MPI_Send    320
}

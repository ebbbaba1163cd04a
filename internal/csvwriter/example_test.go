package csvwriter_test

import (
	"log"
	"os"

	"github.com/coppice-hpc/coppice/internal/csvwriter"
)

// A name that a spreadsheet would take for a formula gets a quote.
func Example() {
	w := csvwriter.New(os.Stdout)
	if err := w.WriteAll([][]string{{"region", "calls"}, {"=SUM(A1)", "3"}, {"f(int, int)", "4"}}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// region,calls
	// '=SUM(A1),3
	// "f(int, int)",4
}

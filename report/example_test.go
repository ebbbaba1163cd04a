package report_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/table"
)

// program is a process that solves half of its time.
const program = "-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 10 ENTER solve\n0 60 LEAVE solve\n0 100 LEAVE main\n"

// The regions of a run as a table.
func ExampleNew() {
	run, done := jobtest.Opened(program)
	defer done()
	doc, err := report.New(run, report.Options{Sections: []report.Section{report.SectionProfile}})
	if err != nil {
		log.Fatal(err)
	}
	columns, rows, err := table.Data(doc)
	if err != nil {
		log.Fatal(err)
	}
	for row := range rows {
		fmt.Println(columns[0].Key, row[0], columns[5].Key, row[5])
	}
	// Output:
	// name main exclusive 50
	// name solve exclusive 50
}

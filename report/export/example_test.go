package export_test

import (
	"log"
	"os"

	"github.com/coppice-hpc/coppice/report/export"
)

func ExampleNewTable() {
	schema := &export.Schema{Columns: []export.Column{
		{Name: "region", Type: export.Text, Dict: []string{"main", "MPI_Send"}},
		{Name: "calls", Type: export.Uint64},
		{Name: "seconds", Type: export.Float64, Nullable: true},
	}}
	w, err := export.NewTable(os.Stdout, "csv", schema)
	if err != nil {
		log.Fatal(err)
	}
	b := export.NewBatch(schema)
	b.Append(export.Number(0), export.Number(1), export.Real(1.5))
	b.Append(export.Number(1), export.Number(320), export.Cell{None: true})
	if err := w.Write(b); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// region,calls,seconds
	// main,1,1.5
	// MPI_Send,320,
}

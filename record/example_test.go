package record_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/record"
)

// A vector is the computation of a process between its MPI calls, as a replay on another machine measured it.
func ExampleReadVector() {
	dir, err := os.MkdirTemp("", "vector")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "0.csv")
	const text = "sequence,function,count,cpu_ns,wall_ns\n0,MPI_Init,1,1000,1100\n1,MPI_Send,1,5000,5200\nsum,,2,6000,6300\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
	v, err := record.ReadVector(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(v), "pieces, the last before", v[1].Function, "with", v.CPU(), "ns of processor time in all")
	// Output: 2 pieces, the last before MPI_Send with 6000 ns of processor time in all
}

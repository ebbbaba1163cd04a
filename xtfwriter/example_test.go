package xtfwriter_test

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Rows of 8 bytes are sorted in so little memory that most of them go through the store, and from there into a file.
func ExampleSorter() {
	dir, err := os.MkdirTemp("", "sorter")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st := xtfwriter.NewStore(filepath.Join(dir, "segments"), 64<<10)
	defer st.Close(false)
	s := xtfwriter.NewSorter(st, 8, 8, 64<<10)
	const rows = 100_000
	for i := range uint64(rows) {
		s.Add(binary.BigEndian.AppendUint64(nil, i*7919%rows))
	}
	sorted, err := s.Sort()
	if err != nil {
		log.Fatal(err)
	}
	defer sorted.Close()
	n := uint64(0)
	for sorted.Next() && binary.BigEndian.Uint64(sorted.Row()) == n {
		n++
	}
	fmt.Println(n, "rows in order,", sorted.Err())
	// Output: 100000 rows in order, <nil>
}

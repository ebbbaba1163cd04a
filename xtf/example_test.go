package xtf_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/xtftest"
	"github.com/coppice-hpc/coppice/xtf"
)

// Calls of a location are searched by time.
func Example() {
	dir, err := os.MkdirTemp("", "xtf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.xtf")
	twoCalls(path)

	f, err := xtf.OpenFile(path, xtf.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	calls, err := f.Array(0, xtf.TypeCall)
	if err != nil {
		log.Fatal(err)
	}
	pos, found, err := calls.Search(140, xtf.LE)
	if err != nil {
		log.Fatal(err)
	}
	var c xtf.Call
	data, err := calls.Row(pos.N, nil)
	if err != nil {
		log.Fatal(err)
	}
	c.Load(data)
	fmt.Println(found, pos.N, c.Region, c.T, c.End)
	// Output: true 1 2 120 150
}

func ExampleOpen() {
	if _, err := xtf.Open(bytes.NewReader([]byte(`{"not": "xtf"}`)), 14, xtf.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output: xtf: not an XTF file
}

func ExampleGeometry() {
	fmt.Println(xtf.Geometry(1677721600, 64, 170))
	// Output: [26214400 154203 908 6 1]
}

// twoCalls writes a file with two calls of one location.
func twoCalls(path string) {
	out, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}

	types := xtf.StandardTypes(xtf.Packed)
	sink := &xtftest.MemorySink{}
	b := xtf.NewArrayBuilder(xtf.NewEncoder(), types.Lookup(xtf.TypeCall), 0, sink)
	row, main := b.Open() // the enter of main: its end is not known yet
	(&xtf.Call{T: 100, Parent: xtf.Never, Region: 1}).Put(row)
	row, _ = b.Append()
	(&xtf.Call{T: 120, End: 150, Parent: main, Exclusive: 30, Region: 2, Depth: 1}).Put(row)
	xtf.SetU64(b.Row(main), xtf.CallEnd, 200)
	xtf.SetU64(b.Row(main), xtf.CallExclusive, 70)
	b.Close(main)
	sum, err := b.Finish()
	if err != nil {
		log.Fatal(err)
	}

	w := xtftest.NewFileWriter(out, types, [16]byte{1}, &xtftest.MemorySink{})
	for _, p := range []xtf.Proc{0, xtf.WholeRun} {
		var arrays []xtf.FinishedArray
		if p == 0 {
			arrays = []xtf.FinishedArray{{Summary: sum, Data: sink}}
		}
		plan, err := xtf.PlanRegion(types, p, arrays, nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := w.Region(plan, 0, 0, 4); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Commit([]xtf.Blob{xtf.BytesBlob(xtf.KindProvenance, 1, 0, []byte("{}"))}); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}

package otf2_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// write makes a small archive: two regions, entered one in the other.
func write(dir string) error {
	d := &trace.Definitions{}
	for i, s := range []string{"thread", "main", "solve"} {
		*d.Add(trace.DefString).(*trace.String) = trace.String{Ref: uint32(i), Value: s}
	}
	*d.Add(trace.DefLocation).(*trace.Location) = trace.Location{Ref: 0, Type: trace.CPUThread}
	for i := range uint32(2) {
		*d.Add(trace.DefRegion).(*trace.Region) = trace.Region{Ref: i, Name: i + 1, CanonicalName: i + 1}
	}
	d.Seal()
	w, err := otf2.Create(dir, "traces", d, otf2.Options{})
	if err != nil {
		return err
	}
	l, err := w.Location(0)
	if err != nil {
		return err
	}
	var b trace.Batch
	b.Append(100, trace.Enter, 0)
	b.Append(110, trace.Enter, 1)
	b.Append(190, trace.Leave, 1)
	b.Append(200, trace.Leave, 0)
	return errors.Join(l.Add(&b), l.Close(), w.Close())
}

func Example() {
	dir, err := os.MkdirTemp("", "otf2")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := write(dir); err != nil {
		log.Fatal(err)
	}
	a, err := otf2.OpenPath(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	st, err := a.Stream(0)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	var b trace.Batch
	for i := range st.Chunks() {
		r, err := st.Chunk(i)
		if err != nil {
			log.Fatal(err)
		}
		for {
			if err := r.Next(&b); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				log.Fatal(err)
			}
			for i := range b.Events {
				e := &b.Events[i]
				fmt.Println(e.Time, e.Kind, a.Definitions().Text(a.Definitions().Region(e.Ref).Name))
			}
		}
		r.Close()
	}
	// Output:
	// 100 Enter main
	// 110 Enter solve
	// 190 Leave solve
	// 200 Leave main
}

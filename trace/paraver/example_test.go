package paraver_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/paraver"
)

// A trace of one thread, which runs for 300 ns and then is in a call for 700.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "paraver")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.prv")
	text := "#Paraver (01/02/2026 at 10:11):1000_ns:1(1):1:1(1:1)\n2:1:1:1:1:300:50000003:31\n2:1:1:1:1:1000:50000003:0\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
	f, err := paraver.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	t, err := paraver.Open(f)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	if err := t.Gather(0, 1, dir); err != nil {
		log.Fatal(err)
	}
	st, err := t.Stream(0)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	r, err := st.Chunk(0)
	if err != nil {
		log.Fatal(err)
	}
	var b trace.Batch
	for err = r.Next(&b); err == nil; err = r.Next(&b) {
		for i := range b.Events {
			e := &b.Events[i]
			fmt.Println(e.Time, e.Kind.Info().Name)
		}
	}
	if !errors.Is(err, io.EOF) {
		log.Fatal(err)
	}
	// Output:
	// 300 Enter
	// 1000 Leave
}

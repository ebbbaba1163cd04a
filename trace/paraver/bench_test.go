package paraver

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// exchange is a trace of two processes that send to each other again and again,
// with counters, as Extrae writes it; about 100 bytes a record.
func exchange(steps int) string {
	var out strings.Builder
	out.WriteString(two)
	for i := range steps {
		t := 100 * i
		for p := 1; p <= 2; p++ {
			fmt.Fprintf(&out, "1:%d:1:%d:1:%d:%d:1\n", p, p, t, t+10)
			fmt.Fprintf(&out, "2:%d:1:%d:1:%d:50000001:41:42000050:%d:42000059:%d\n", p, p, t+10, 7*i+p, 9*i)
			fmt.Fprintf(&out, "3:%d:1:%d:1:%d:%d:%d:1:%d:1:%d:%d:1024:7\n", p, p, t+10, t+10, 3-p, 3-p, t+10, t+90)
			fmt.Fprintf(&out, "1:%d:1:%d:1:%d:%d:16\n", p, p, t+10, t+90)
		}
		for p := 1; p <= 2; p++ {
			fmt.Fprintf(&out, "2:%d:1:%d:1:%d:50000001:0:42000050:%d:42000059:%d\n", p, p, t+90, 5*i+p, 3*i)
		}
	}
	return out.String()
}

// BenchmarkPasses measures the pass that makes the index, the one that splits
// the records by thread, and the events of a thread.
func BenchmarkPasses(b *testing.B) {
	text := []byte(exchange(20000))
	x, err := inMemory(text, []byte(pcf))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("index", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			f := &Files{Names: []byte(pcf)}
			if err := f.scan(bytes.NewReader(text), uint64(len(text))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("split", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if err := x.Gather(0, 2, b.TempDir()); err != nil {
				b.Fatal(err)
			}
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("events", func(b *testing.B) {
		if err := x.Gather(0, 2, b.TempDir()); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text) / 2))
		b.ReportAllocs()
		st, err := x.Stream(0)
		if err != nil {
			b.Fatal(err)
		}
		var batch trace.Batch
		for b.Loop() {
			r, err := st.Chunk(0)
			for err == nil {
				err = r.Next(&batch)
			}
			if err != io.EOF {
				b.Fatal(err)
			}
		}
	})
}

package build

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/ccgtest"
	"github.com/coppice-hpc/coppice/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden keeps the bytes of the format: two processes that exchange
// messages, with a request, a metric, an attribute and an unknown record. A
// change of these bytes needs a new format version.
func TestGolden(t *testing.T) {
	defs := ccgtest.Definitions(2)
	var locals []*Local
	for p := range uint64(2) {
		b := &trace.Batch{}
		b.Append(1000, trace.Enter, 1)
		b.AppendAttributes(trace.EventAttribute{Ref: 2, Type: trace.TypeUint32, Value: 40 + p})
		for i := range uint64(70) {
			at := trace.Time(1100 + 100*i)
			b.Append(at, trace.Enter, 2)
			b.Append(at+5, trace.MpiIsend, 0, 1-p, 0, 9, 4096+i%3, 10+i)
			b.Append(at+9, trace.Leave, 2)
			b.Append(at+20, trace.MpiIsendComplete, 0, 10+i)
		}
		b.Append(9000, trace.Metric, 0, 0, 2, uint64(trace.TypeUint64), 77, uint64(trace.TypeDouble), 1<<62)
		b.Append(9001, trace.Kind(200), 0, 5, 0x0504030201)
		b.Append(9002, trace.Leave, 1)
		locals = append(locals, built(t, defs, trace.P(p), b, graph.Options{}, 50))
	}
	s := join(t, defs, locals, graph.Options{})
	var text strings.Builder
	fmt.Fprintf(&text, "section\n%x\n", s.Encode())
	for p, l := range locals {
		blob, err := NewDistributor(s).Distribute(l)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "location %d\n%x\n", p, blob)
	}
	fmt.Fprintf(&text, "nodes\n%s", table(&s.Graph))
	path := filepath.Join("testdata", "golden-v2.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}

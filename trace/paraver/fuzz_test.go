package paraver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// FuzzTrace reads any text as a trace with any names: calls nest, times do not
// run backwards, references are there, and small pieces give the same events.
func FuzzTrace(f *testing.F) {
	f.Add([]byte(small), []byte(pcf))
	f.Add([]byte(two+"2:1:1:1:1:10:50000002:7:50100001:8:50100002:0:50100004:2:50100003:1\n2:2:1:2:1:10:60000006:3\n"), []byte(pcf))
	f.Add([]byte("#Paraver (x):9:1(2):2:2(1:1,2:1):1(1:1)\nc:1:1:2:2:1\ni:1:7:1:1:1:1\n3:1:1:1:1:10:10:1:2:1:1:10:20:64:7\n2:1:1:2:2:5:42000050:1:80000001:3\n"), []byte(pcf))
	f.Add([]byte("#Paraver (x):9:1(2):1:1(1:1)\n2:1:1:1:1:5:50000001:4\n3:1:1:1:1:5:6:1:1:1:1:6:9:1:-1\n2:1:1:1:1:6:50000001:124\n2:1:1:1:1:9:50000001:0"), []byte("VALUES\n1 x\nEVENT_TYPE\n1"))
	f.Add([]byte(two+"1:1:1:1:1:10:20:3\n1:1:1:1:1:5:30:13\n1:1:1:1:1:20:20:4\n2:1:1:1:1:15:1000:1\n"), []byte(pcf))
	f.Add([]byte(applications+"2:1:1:1:1:10:50000001:1\n3:1:1:1:1:10:10:2:1:2:1:12:20:64:7\n2:5:2:3:1:52:50000002:8:50100001:0:50100002:0:50100004:2\n"), []byte(pcf))
	f.Fuzz(func(t *testing.T, prv, pcf []byte) {
		x, err := inMemory(prv, pcf)
		if err != nil {
			if !errors.Is(err, trace.ErrNotTrace) && !errors.Is(err, trace.ErrCorrupt) && !errors.Is(err, trace.ErrUnsupported) {
				t.Fatalf("error of no known kind: %v", err)
			}
			return
		}
		defer x.Close()
		y, err := inMemory(prv, pcf)
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		y.limits = limits{64, 5}
		d := x.Definitions()
		if d.NumLocations() > 64 {
			return // as many streams would take too long
		}
		for p := range trace.P(d.NumLocations()) {
			one, other := judge(t, x, p), judge(t, y, p)
			if !bytes.Equal(one, other) {
				t.Fatalf("location %d differs in small pieces", p)
			}
		}
	})
}

// judge passes over a location and returns its events as bytes.
func judge(t *testing.T, x *Trace, p trace.P) []byte {
	var all []byte
	var open []uint32
	d := x.Definitions()
	last := trace.Time(0)
	_, err := each(x, p, func(b *trace.Batch, e *trace.Event) {
		if e.Time < last {
			t.Fatalf("time %d after %d", e.Time, last)
		}
		last = e.Time
		switch e.Kind {
		case trace.Enter:
			open = append(open, e.Ref)
			if d.Region(e.Ref) == nil {
				t.Fatalf("no region %d", e.Ref)
			}
		case trace.Leave:
			if len(open) == 0 || open[len(open)-1] != e.Ref {
				t.Fatalf("leave of region %d, open are %v", e.Ref, open)
			}
			open = open[:len(open)-1]
		case trace.ParameterUnsignedInt:
			if b.Words(e)[0] >= uint64(len(d.Parameters)) {
				t.Fatal("no such parameter")
			}
		case trace.Metric:
			if b.Words(e)[0] >= uint64(len(d.MetricClasses)) {
				t.Fatal("no such set of counters")
			}
		}
		all = append(all, byte(e.Kind))
		for _, w := range append(slices.Clone(b.Words(e)), uint64(e.Time), uint64(e.Ref)) {
			all = append(all, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// FuzzIndex reads any bytes as an index.
func FuzzIndex(f *testing.F) {
	x, err := inMemory([]byte(small), []byte(pcf))
	if err != nil {
		f.Fatal(err)
	}
	b, err := x.index.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := parseIndex(b)
		if err != nil {
			return
		}
		b, err = x.encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseIndex(b); err != nil || !reflect.DeepEqual(again, x) {
			t.Errorf("what was read is not written back: %v", err)
		}
	})
}

// FuzzLines compares lines with those of a plain cut, whatever pieces a reader gives.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		l := &lines{r: bufio.NewReaderSize(&pieces{b, int(step)%7 + 1}, readAtOnce), limit: longestHead}
		var got [][]byte
		for {
			line, long, err := l.next()
			if err != nil {
				break
			}
			if long {
				t.Fatal("a short line is long")
			}
			got = append(got, bytes.Clone(line))
		}
		want := bytes.Split(b, []byte("\n"))
		if n := len(want) - 1; len(want[n]) == 0 {
			want = want[:n]
		}
		if len(got) != len(want) || l.number != uint64(len(want)) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], bytes.TrimSuffix(want[i], []byte("\r"))) {
				t.Fatalf("line %d: %q, want %q", i+1, got[i], want[i])
			}
		}
	})
}

// pieces reads a few bytes at once.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(p.n, len(b))], p.b)
	p.b = p.b[n:]
	return n, nil
}

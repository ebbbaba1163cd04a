package report

import (
	"fmt"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

func TestDetail(t *testing.T) {
	t.Parallel()
	texts := []byte("\x03abc\x02de\xff\xff\xff\xff\x0f")
	for _, x := range []struct {
		at   uint32
		want string
	}{{0, ""}, {1, "abc"}, {5, "de"}, {8, ""}, {9, ""}, {12, ""}, {99, ""}, {xtf.DiagTotal, ""}} {
		if got := results.Detail(texts, x.at); got != x.want {
			t.Errorf("text at %d: %q, want %q", x.at, got, x.want)
		}
	}
}

func FuzzDetail(f *testing.F) {
	f.Add([]byte("\x03abc\x02de"), uint32(1))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), uint32(1))
	f.Fuzz(func(t *testing.T, texts []byte, at uint32) {
		if got := results.Detail(texts, at); len(got) > len(texts) {
			t.Errorf("%d bytes of %d", len(got), len(texts))
		}
	})
}

// TestKeepFirst keeps the earliest of each code, by time, then location.
func TestKeepFirst(t *testing.T) {
	t.Parallel()
	var list []results.Occurrence
	for i := range 40 {
		list = append(list, results.Occurrence{Code: trace.DiagCorrupt, Time: uint64(100 - i/2), P: trace.P(i % 2), Count: 1})
	}
	list = append(list, results.Occurrence{Code: trace.DiagMissingEvents, Time: 999})
	got := results.KeepFirst(list)
	if len(got) != results.KeptOccurrences+1 || got[0].Code != trace.DiagMissingEvents {
		t.Fatalf("%d kept, first %+v", len(got), got[0])
	}
	for i, o := range got[1:] {
		if want := uint64(81 + i/2); o.Time != want || o.P != trace.P(i%2) {
			t.Errorf("occurrence %d at %d in %d, want at %d in %d", i, o.Time, o.P, want, i%2)
		}
	}
}

func TestJoinPairs(t *testing.T) {
	t.Parallel()
	got := joinPairs([]Pair{{From: 2, To: 1, Messages: 1, Bytes: 10}, {From: 0, To: 3, Received: 5}, {From: 2, To: 1, Received: 1, ReceivedBytes: 9}, {From: 0, To: 3, Messages: 6}})
	want := []Pair{{From: 0, To: 3, Messages: 6, Received: 5}, {From: 2, To: 1, Messages: 1, Bytes: 10, Received: 1, ReceivedBytes: 9}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
	if joinPairs(nil) != nil {
		t.Error("no pairs are some pairs")
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		n    uint64
		want string
	}{{0, "0"}, {7, "7"}, {999, "999"}, {1000, "1.0k"}, {9_940, "9.9k"}, {9_999, "10k"}, {999_499, "999k"}, {999_500, "1.0M"}, {9_500_000_000_000_000, "9.5P"}, {1 << 63, "huge"}} {
		if got := short(x.n); got != x.want {
			t.Errorf("%d: %q, want %q", x.n, got, x.want)
		}
	}
}

func ExampleParseRanks() {
	src, err := synthetic.New(synthetic.Options{Processes: 32, Iterations: 1})
	if err != nil {
		panic(err)
	}
	ranks, err := results.ParseRanks("0-3,8,16-31:4", src.Definitions())
	fmt.Println(ranks, err)
	// Output: 0-3,8,16,20,24,28 <nil>
}

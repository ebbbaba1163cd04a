package export

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// bothForms draws a source in both forms, checks each by its rules, and that they say the same.
func bothForms(t *testing.T, s *Source) (*lanes, *Drawn) {
	t.Helper()
	b, x := drawnAs(t, s, "perfetto")
	c, y := drawnAs(t, s, "chrome")
	p, q := readPerfetto(t, b), readChrome(t, c)
	if diff := cmp.Diff(p.list, q.list); diff != "" {
		t.Errorf("the forms differ (-perfetto +chrome):\n%s", diff)
	}
	if diff := cmp.Diff(p.starts, q.starts) + cmp.Diff(p.ends, q.ends); diff != "" {
		t.Errorf("the flows differ:\n%s", diff)
	}
	x.Bytes, y.Bytes = 0, 0
	if *x != *y || p.values != q.values || int(x.Flows) != len(p.ends) || int(x.Counters) != p.values {
		t.Errorf("perfetto %+v with %d values, chrome %+v with %d; %d flows", x, p.values, y, q.values, len(p.ends))
	}
	again, _ := drawnAs(t, s, "perfetto")
	if !bytes.Equal(b, again) {
		t.Error("other bytes the second time")
	}
	return p, x
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	d, list := pingPong(2)
	s := source(t, d, list)
	s.Nodes = []string{"whole program", "loop\x80"}
	got, x := bothForms(t, s)
	want := map[string][]string{
		"1/1": {
			"B 5 main cpu", "B 60 MPI_Send p2p", "E 80", "B 100 MPI_Recv \"x\"\n\x01 p2p", "E 140", "E 150", "b 25 loop\uFFFD interval", "e 75",
		},
		"2/2": {
			"B 5 main cpu", "B 50 MPI_Recv \"x\"\n\x01 p2p", "E 90", "B 110 MPI_Send p2p", "E 130", "E 150", "b 25 loop\uFFFD interval", "e 75",
		},
	}
	if diff := cmp.Diff(want, got.list); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if *x != (Drawn{Slices: 8, Flows: 2, Counters: 4}) {
		t.Errorf("%+v", x)
	}
	text, _ := drawnAs(t, s, "chrome")
	for _, part := range []string{`"args":{"peer":1,"bytes":0,"tag":0,"comm":"all, \"of\" them"}`, `"wait_ns":10,"wait":"late_sender","late_rank":0`, `"name":"Master ` + "\uFFFD" + ` \"thread\""`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("nowhere %s in\n%s", part, text)
		}
	}
}

// TestTimelineWindows draws windows: slices are cut, and messages flow only with both ends inside.
func TestTimelineWindows(t *testing.T) {
	t.Parallel()
	d, list := pingPong(10)
	s := source(t, d, list)
	second := func(p trace.P) bool { return p == 1 }
	for _, c := range []struct {
		name     string
		w        results.Span
		selected func(trace.P) bool
		want     Drawn
	}{
		{"empty", results.Span{Begin: 300, End: 300}, nil, Drawn{}},
		{"after", results.Span{Begin: 1 << 40, End: 1 << 41}, nil, Drawn{}},
		{"between", results.Span{Begin: 190, End: 195}, nil, Drawn{Slices: 4}}, // main and the interval
		{"inside of both calls", results.Span{Begin: 330, End: 350}, nil, Drawn{Slices: 6, OneEnded: 2}},
		{"one message", results.Span{Begin: 300, End: 400}, nil, Drawn{Slices: 6, Flows: 1, Counters: 2}},
		{"begin of one end", results.Span{Begin: 310, End: 400}, nil, Drawn{Slices: 6, OneEnded: 2}},
		{"one process", results.Span{Begin: 300, End: 400}, second, Drawn{Slices: 3, OneEnded: 1, Counters: 1}},
		{"execution", results.Span{Of: &results.Execution{Node: 1}}, nil, Drawn{Slices: 4 + 10, Flows: 5, Counters: 10}},
		{"no such execution", results.Span{Of: &results.Execution{Node: 1, K: 3}}, nil, Drawn{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			part := *s
			part.Window, part.Selected = c.w, c.selected
			_, x := bothForms(t, &part)
			if *x != c.want {
				t.Errorf("%+v, want %+v", *x, c.want)
			}
		})
	}
}

// TestTimelineHostile draws rows that no analysis writes: what comes out is balanced and in order all the same.
func TestTimelineHostile(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		d := definitions(2, "a", "b", "")
		list := []rows{{}, {}}
		for p := range list {
			at := uint64(0)
			for range rng.IntN(40) {
				at += rng.Uint64N(20)
				list[p][xtf.TypeCall] = append(list[p][xtf.TypeCall], &xtf.Call{T: at, End: rng.Uint64N(900), Region: rng.Uint32N(5), Depth: rng.Uint32N(4), Class: rng.Uint32(), Flags: rng.Uint32N(4)})
				list[p][xtf.TypeIval] = append(list[p][xtf.TypeIval], &xtf.Ival{T: at, End: rng.Uint64N(900), Node: rng.Uint32N(4)})
				list[p][xtf.TypeWait] = append(list[p][xtf.TypeWait], &xtf.Wait{T: at, End: rng.Uint64N(900), CauseP: rng.Uint32N(4), Pattern: rng.Uint32N(1 << 10)})
				list[p][xtf.TypeMetric] = append(list[p][xtf.TypeMetric], &xtf.Metric{T: at, Value: rng.Uint64(), Metric: 4, Flags: uint32(trace.TypeUint64) + rng.Uint32N(2)<<8})
				list[p][xtf.TypeColl] = append(list[p][xtf.TypeColl], &xtf.Coll{T: at, End: at, CallN: rng.Uint64N(50), Comm: rng.Uint32N(9), Root: rng.Uint32()})
				list[p][xtf.TypeP2P] = append(list[p][xtf.TypeP2P], &xtf.P2P{T: at, End: at, CallN: rng.Uint64N(60) - 5, MateN: xtf.Never, Comm: 7, Peer: rng.Uint32N(5), Kind: rng.Uint32N(3)})
			}
		}
		s := source(t, d, list)
		s.Window = results.Span{Begin: rng.Uint64N(200), End: rng.Uint64N(900)}
		bothForms(t, s)
	}
	d := definitions(1, "a")
	s := source(t, d, []rows{{xtf.TypeCall: {&xtf.Call{T: 5, End: xtf.Never - 1}}}})
	if _, err := s.Timeline(io.Discard, "perfetto", 1<<30); err != nil {
		t.Errorf("a time of 63 bits of ns: %v", err)
	}
	d.Clocks[0].TimerResolution = 1
	if _, err := s.Timeline(io.Discard, "chrome", 1<<30); !errors.Is(err, ErrRun) {
		t.Errorf("a time beyond 63 bits of ns: %v", err)
	}
	d.Clocks[0].TimerResolution = 0
	if _, err := s.Timeline(io.Discard, "perfetto", 1<<30); !errors.Is(err, ErrRun) {
		t.Errorf("without a clock: %v", err)
	}
	if _, err := s.Timeline(io.Discard, "svg", 1<<30); !errors.Is(err, ErrRun) {
		t.Errorf("unknown form: %v", err)
	}
}

// TestTimelineLimit stops at the limit, and estimates before.
func TestTimelineLimit(t *testing.T) {
	t.Parallel()
	d, list := pingPong(12_000)
	s := source(t, d, list)
	for _, form := range []string{"perfetto", "chrome"} {
		e, err := s.Estimate(form)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Timeline(io.Discard, form, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if e.Slices < x.Slices*9/10 || e.Slices > x.Slices+2 || e.Bytes < x.Bytes*8/10 || e.Bytes > x.Bytes*12/10 {
			t.Errorf("%s: estimate %+v, it is %+v", form, e, x)
		}
		var b bytes.Buffer
		if _, err := s.Timeline(&b, form, x.Bytes-1); !errors.Is(err, ErrTooLarge) || int64(b.Len()) >= x.Bytes {
			t.Errorf("%s: %d bytes: %v", form, b.Len(), err)
		}
		if _, err := s.Timeline(&b, form, x.Bytes); err != nil {
			t.Errorf("%s: exactly as large as allowed: %v", form, err)
		}
	}
}

func BenchmarkTimeline(b *testing.B) {
	d, list := pingPong(20_000)
	s := source(b, d, list)
	for _, form := range []string{"perfetto", "chrome"} {
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x, err := s.Timeline(io.Discard, form, 1<<30)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(x.Bytes)
			}
		})
	}
}

package tracetest

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/trace"
)

// TestFaults plants every fault alone and all together in every program.
func TestFaults(t *testing.T) {
	for _, base := range []string{
		"stencil:procs=5,iterations=20,jitter=30", "ring:procs=2,iterations=9,io", "wavefront:procs=6,iterations=9,metrics",
		"masterworker:procs=6,iterations=30,jitter=100", "irregular:procs=7,iterations=10,threads=2", "stencil:procs=3,events=6",
	} {
		faults := []string{"all"}
		for d := Defects(1); d < allDefects; d <<= 1 {
			faults = append(faults, d.String())
		}
		for _, f := range faults {
			spec := fmt.Sprintf("%s,chunk=200,broken=%s", base, f)
			t.Run(spec, func(t *testing.T) { checkFaults(t, spec) })
		}
	}
}

func checkFaults(t *testing.T, spec string) {
	s := open(t, spec)
	r, err := Reference(s)
	if err != nil {
		t.Fatal(err)
	}
	truth := s.Truth()
	if d := cmp.Diff(truth.Facts, r.Facts); d != "" {
		t.Errorf("truth (-) and reference (+) differ:\n%s", d)
	}
	if d := cmp.Diff(truth.Problems, r.Problems); d != "" {
		t.Errorf("problems: truth (-) and reference (+) differ:\n%s", d)
	}
	wrong, empty := 0, 0
	for p := range trace.P(s.Definitions().NumLocations()) {
		e, err := s.Measure(p)
		if err != nil {
			t.Fatal(err)
		}
		if e.Events != r.Events[p] {
			t.Errorf("location %d: measured %d events, found %d", p, e.Events, r.Events[p])
		}
		if s.Definitions().Location(p).Events != e.Events {
			wrong++
		}
		if e.Chunks == 0 {
			empty++
		}
	}
	if want := bits.OnesCount32(uint32(truth.Planted & WrongCount)); wrong != want {
		t.Errorf("%d wrong event counts announced, want %d", wrong, want)
	}
	if want := bits.OnesCount32(uint32(truth.Planted & EmptyLocation)); empty != want {
		t.Errorf("%d empty locations, want %d", empty, want)
	}
	chunkOrder(t, s)
}

// chunkOrder reads all chunks backwards; chunks checks their event numbers.
func chunkOrder(t *testing.T, s *Source) {
	for p := range trace.P(s.Definitions().NumLocations()) {
		chunks(t, s, p, true)
	}
}

// TestClock checks that raw times, corrected as readers do, give the times of
// the stream back, and that clocks differ.
func TestClock(t *testing.T) {
	s := open(t, "ring:procs=6,iterations=300,jitter=50,offset=5M,drift=90k")
	distinct := map[ClockOffset]bool{}
	for p := range trace.P(s.Definitions().NumLocations()) {
		c := s.Clock(p)
		distinct[c[0]] = true
		events, err := readAll(s, p)
		if err != nil {
			t.Fatal(err)
		}
		var before trace.Time
		for _, e := range events {
			raw := s.RawTime(p, e.time)
			if correct(c, raw) != e.time {
				t.Fatalf("location %d: time %d stored as %d is read as %d", p, e.time, raw, correct(c, raw))
			}
			if raw < before {
				t.Fatalf("location %d: raw times run backwards at %d", p, e.time)
			}
			before = raw
		}
		if c[0].Time > s.RawTime(p, events[0].time) || c[1].Time < s.RawTime(p, events[len(events)-1].time) {
			t.Errorf("location %d: events outside the measurements", p)
		}
	}
	if len(distinct) != 6 {
		t.Errorf("%d different clocks, want 6", len(distinct))
	}
	if c := open(t, "ring:procs=2").Clock(0); c != nil {
		t.Errorf("clock without offset or drift: %v", c)
	}
}

// TestSkew checks that uncorrected clock errors break causality but not Truth.
func TestSkew(t *testing.T) {
	s := open(t, "stencil:procs=6,iterations=50,jitter=20,skew=1M")
	r, err := Reference(s)
	if err != nil {
		t.Fatal(err)
	}
	truth := s.Truth()
	if d := cmp.Diff(truth.Facts, r.Facts); d != "" {
		t.Errorf("truth (-) and reference (+) differ:\n%s", d)
	}
	if r.Problems[trace.DiagClockViolation] == 0 || r.WorstReverse == 0 {
		t.Error("no message was received before it was sent")
	}
	c := s.Definitions().Clock()
	for p := range trace.P(6) {
		events, err := readAll(s, p)
		if err != nil {
			t.Fatal(err)
		}
		first, last := uint64(events[0].time), uint64(events[len(events)-1].time)
		if first < c.GlobalOffset || last-c.GlobalOffset > c.TraceLength {
			t.Errorf("location %d: [%d, %d] outside the clock properties %+v", p, first, last, c)
		}
	}
}

package synthetic

import (
	"math/bits"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic/specs"
	"github.com/coppice-hpc/coppice/trace"
)

// TestFaults plants every fault alone and all together in every program.
func TestFaults(t *testing.T) {
	alone := Defects(0)
	for _, spec := range specs.Faulty() {
		t.Run(spec, func(t *testing.T) {
			s := open(t, spec)
			planted := s.Options().Broken
			if bits.OnesCount32(uint32(planted)) == 1 {
				alone |= planted
			}
			wrong, empty := 0, 0
			for p := range trace.P(s.Definitions().NumLocations()) {
				e, err := s.Measure(p)
				if err != nil {
					t.Fatal(err)
				}
				n := uint64(0)
				for _, c := range chunks(t, s, p, true) { // checks event numbers
					n += uint64(len(c))
				}
				if e.Events != n {
					t.Errorf("location %d: measured %d events of %d", p, e.Events, n)
				}
				if s.Definitions().Location(p).Events != e.Events {
					wrong++
				}
				if e.Chunks == 0 {
					empty++
				}
			}
			if want := bits.OnesCount32(uint32(planted & WrongCount)); wrong != want {
				t.Errorf("%d wrong event counts announced, want %d", wrong, want)
			}
			if want := bits.OnesCount32(uint32(planted & EmptyLocation)); empty != want {
				t.Errorf("%d empty locations, want %d", empty, want)
			}
		})
	}
	if alone != allDefects {
		t.Errorf("faults %v are not there alone", allDefects&^alone)
	}
}

// TestClock checks that clocks differ and that their measurements frame the run.
func TestClock(t *testing.T) {
	s := open(t, "ring:procs=6,iterations=300,jitter=50,offset=5M,drift=90k")
	distinct := map[ClockOffset]bool{}
	for p := range trace.P(s.Definitions().NumLocations()) {
		c := s.Clock(p)
		distinct[c[0]] = true
		events := readAll(t, s, p)
		if first, last := events[0].time, events[len(events)-1].time; c[0].Time+trace.Time(c[0].Offset) > first || c[1].Time+trace.Time(c[1].Offset) < last {
			t.Errorf("location %d: events from %d to %d outside the measurements %+v", p, first, last, c)
		}
	}
	if len(distinct) != 6 {
		t.Errorf("%d different clocks, want 6", len(distinct))
	}
	if c := open(t, "ring:procs=2").Clock(0); c != nil {
		t.Errorf("clock without offset or drift: %v", c)
	}
}

// TestSkewBounds checks that the clock properties hold where clocks are wrong.
func TestSkewBounds(t *testing.T) {
	s := open(t, specs.Skewed)
	c := s.Definitions().Clock()
	for p := range trace.P(6) {
		events := readAll(t, s, p)
		first, last := uint64(events[0].time), uint64(events[len(events)-1].time)
		if first < c.GlobalOffset || last-c.GlobalOffset > c.TraceLength {
			t.Errorf("location %d: [%d, %d] outside the clock properties %+v", p, first, last, c)
		}
	}
}

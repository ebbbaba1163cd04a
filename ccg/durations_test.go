package ccg

import (
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

func TestDurationBins(t *testing.T) {
	next := uint64(0)
	for bin := range DurationBins {
		least, most := DurationRange(bin)
		if least != next || DurationBin(least) != bin || DurationBin(most) != bin {
			t.Fatalf("bin %d is %d to %d, want from %d", bin, least, most, next)
		}
		next = most + 1
	}
	if next != 0 || DurationBin(1<<64-1) != DurationBins-1 {
		t.Error("the bins do not cover all durations")
	}
}

func TestDurationsEqualEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		calls, gaps := map[uint32]*Durations{}, map[uint32]*Durations{}
		of := func(all map[uint32]*Durations, region uint32) *Durations {
			if all[region] == nil {
				all[region] = &Durations{}
			}
			return all[region]
		}
		for p := range m.streams {
			o := tell(m.defs, m.streams[p])
			for _, c := range o.calls() {
				of(calls, c.Region).add(uint64(c.end-c.Begin), 1)
			}
			for i, s := range o.steps {
				region := uint32(trace.Undefined)
				if n := len(o.open[i]); n > 0 {
					region = o.open[i][n-1].Region
				}
				last := s.Time
				if i > 0 {
					last = o.steps[i-1].Time
				}
				of(gaps, region).add(uint64(s.Time-last), 1)
			}
		}
		for _, region := range []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, trace.Undefined} {
			var gotCalls, gotGaps Durations
			for _, l := range m.locs {
				d, err := l.Index().CallDurations(region)
				if err != nil {
					t.Fatal(err)
				}
				if err := gotCalls.Add(d); err != nil {
					t.Fatal(err)
				}
				if d, err = l.GapDurations(region); err != nil {
					t.Fatal(err)
				}
				if err := gotGaps.Add(d); err != nil {
					t.Fatal(err)
				}
			}
			for name, c := range map[string]struct{ got, want *Durations }{
				"calls": {&gotCalls, of(calls, region)}, "gaps": {&gotGaps, of(gaps, region)},
			} {
				c.got.Bound, c.got.SumBound = 0, 0
				if *c.got != *c.want {
					t.Errorf("%s of region %d: %d from %d to %d, sum %d; want %d from %d to %d, sum %d", name, region,
						c.got.Count, c.got.Min, c.got.Max, c.got.Sum, c.want.Count, c.want.Min, c.want.Max, c.want.Sum)
				}
			}
		}
	})
}

package tracetest

import (
	"math"

	"github.com/coppice-hpc/coppice/trace"
)

// ClockOffset is a measurement of a location's clock, as an archive records it:
// Offset is to be added to the clock's Time.
type ClockOffset struct {
	Time   trace.Time // of the location's own clock
	Offset int64
	StdDev float64
}

// Clock returns the measurements of a location's clock at the begin and end of
// the run, nil if the options ask for neither offset nor drift. A location's
// events are to be stored with RawTime; corrected by these measurements (linear
// between them, rounded half to even) they are what Stream delivers.
func (s *Source) Clock(p trace.P) []ClockOffset {
	proc, _, _ := s.place(p)
	if s.m.o.Offset == 0 && s.m.o.Drift == 0 {
		return nil
	}
	c := s.m.clock(min(proc, s.m.n-1))
	return c[:]
}

// RawTime returns what the clock of location p showed at time t.
func (s *Source) RawTime(p trace.P, t trace.Time) trace.Time {
	c := s.Clock(p)
	if c == nil {
		return t
	}
	// The clock runs fast, so corrected time takes every value.
	raw := t - trace.Time(c[0].Offset)
	raw += trace.Time(int64(math.RoundToEven(-slope(c) * float64(int64(raw-c[0].Time)))))
	for correct(c, raw) < t {
		raw++
	}
	for correct(c, raw) > t {
		raw--
	}
	return raw
}

// clock makes the measurements of a process's clock, which runs fast or right.
func (m *model) clock(proc uint32) [2]ClockOffset {
	offset := int64(mix(m.o.Seed, uint64(proc), 0, saltOffset)%(2*m.o.Offset+1)) - int64(m.o.Offset)
	drift := mix(m.o.Seed, uint64(proc), 0, saltDrift) % (m.o.Drift + 1)
	length := uint64(m.end() + gap - origin)
	gain := length/1_000_000_000*drift + length%1_000_000_000*drift/1_000_000_000
	first := origin - trace.Time(offset)
	return [2]ClockOffset{
		{Time: first, Offset: offset},
		{Time: first + trace.Time(length+gain), Offset: offset - int64(gain)},
	}
}

func slope(c []ClockOffset) float64 {
	return float64(c[1].Offset-c[0].Offset) / float64(int64(c[1].Time-c[0].Time))
}

// correct is the correction that readers of archives apply.
func correct(c []ClockOffset, raw trace.Time) trace.Time {
	return raw + trace.Time(c[0].Offset) + trace.Time(int64(math.RoundToEven(slope(c)*float64(int64(raw-c[0].Time)))))
}

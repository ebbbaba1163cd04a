package synthetic

import "github.com/coppice-hpc/coppice/trace"

// ClockOffset is a measurement of a location's clock, as an archive records it:
// Offset is to be added to the clock's Time.
type ClockOffset struct {
	Time   trace.Time // of the location's own clock
	Offset int64
}

// Clock returns the measurements of a location's clock at the begin and end of
// the run, nil if the options ask for neither offset nor drift. Stream
// delivers corrected times: an archive has to store what these measurements
// correct to them, linear between the two and rounded half to even.
func (s *Source) Clock(p trace.P) []ClockOffset {
	proc, _, _ := s.place(p)
	if s.m.o.Offset == 0 && s.m.o.Drift == 0 {
		return nil
	}
	c := s.m.clock(min(proc, s.m.n-1))
	return c[:]
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

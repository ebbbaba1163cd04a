package stats

import (
	"errors"

	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
)

// overheadSpans writes the spans in which the tracer was busy with itself or switched off. They ascend and do not overlap.
type overheadSpans struct {
	match.Stream
	begin, end uint64           // the current span
	off        trace.Diagnostic // the measurement was off; Count 0 for never
}

// close writes the current span.
func (s *overheadSpans) close() {
	if s.begin < s.end {
		s.Add(s.begin, s.end)
	}
}

// measured takes a record about the measurement: from now on it is off or on, and the tracer is busy up to an instant.
func (g *ledger) measured(off bool, busy uint64) {
	g.cut()
	s := &g.overhead
	switch {
	case g.off:
		s.end = max(s.end, g.at.now)
	case g.at.now > s.end:
		s.close()
		s.begin, s.end = g.at.now, g.at.now
	}
	s.end = max(s.end, busy)
	if off && !g.off {
		s.off = trace.Diagnostic{Code: trace.DiagOff, Time: trace.Time(g.at.now), Event: g.at.event, Count: s.off.Count + 1, Worst: s.off.Worst}
	}
	g.off, g.flushed = off, max(g.flushed, busy)
}

// endSpans writes what is left of overhead, stays and notes, at the last event.
func (l *Loader) endSpans() error {
	s := &l.ledger.overhead
	if l.ledger.off {
		s.end, s.off.Detail = max(s.end, l.at.now), trace.OffToEnd
	}
	if s.off.Count > 0 {
		l.at.diags.Add(s.off)
	}
	s.close()
	return errors.Join(s.Flush(), l.ops.stays.Flush(), l.notes.Flush())
}

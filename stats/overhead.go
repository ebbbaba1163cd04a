package stats

import "errors"

// overheadSpans is when records say that the tracer was busy with itself or switched
// off, in order and apart.
type overheadSpans struct {
	rowStream
	begin, end uint64 // the span in hand
}

// close ends the span in hand.
func (s *overheadSpans) close() {
	if s.begin < s.end {
		s.add(s.begin, s.end)
	}
}

// measured takes a record about the measurement itself: from now on it is off or on,
// and busy up to an instant.
func (l *Loader) measured(off bool, busy uint64) {
	l.cut()
	g, s := &l.ledger, &l.overhead
	switch {
	case g.off:
		s.end = max(s.end, l.now)
	case l.now > s.end:
		s.close()
		s.begin, s.end = l.now, l.now
	}
	s.end = max(s.end, busy)
	g.off, g.flushed = off, max(g.flushed, busy)
}

// endSpans writes what is left of overhead, stays and notes at the last event.
func (l *Loader) endSpans() error {
	s := &l.overhead
	if l.ledger.off {
		s.end = max(s.end, l.now)
	}
	s.close()
	return errors.Join(s.flush(), l.stays.flush(), l.notes.flush())
}

package ccg

import (
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/trace"
)

// Spans tells when the calls of a location begin and end, without the values of its events. Calls that follow each other cost
// a step an event; to go elsewhere costs O(nodes), and a block of each column that is read there. It belongs to one goroutine.
//
// Memory: 12 bytes per node, 4 to 64 per child, 65 per column, 8 KiB per column of gaps that it reads, and 100 KiB.
type Spans struct {
	c       *Cursor // finds places
	program program // of gaps
	kinds   []step  // by column: what its gaps are before; stepEvent: neither begin nor end of a call
	gaps    []column.Cursor
	steps   []uint32 // of program: what comes next
	next    uint64   // number of the event after, the begin of a call
	err     error

	columns []uint32 // of the gaps before some events
	ticks   []uint64 // these gaps
	now     uint64   // ticks since the begin of the first call asked for
	open    []int    // calls that have begun and not ended
}

// NeverEnds stands for the end of a call that lies after what was asked for.
const NeverEnds = math.MaxUint64

// Spans returns a reader of the location's calls. Times must be exact.
func (l *Location) Spans() (*Spans, error) {
	if !l.Deviation().Lossless() {
		return nil, fmt.Errorf("call graph: location %d: its times are bounded, not exact: %w", l.p, ErrRange)
	}
	s := &Spans{c: l.Cursor(), gaps: l.cursors(), next: math.MaxUint64, kinds: make([]step, len(l.cols))}
	v := l.view
	err := s.program.compile(v, func(id, slot uint32, st step) []int32 {
		if st == stepCut {
			return nil
		}
		if st == stepOpen && v.nodes.kind(id) == kindEvent {
			if st = stepEvent; v.shapeOf(id).leaves() {
				st = stepClose
			}
		}
		s.kinds[v.column[slot]] = st // all gaps of a column are before the same
		return v.column[slot : slot+1]
	})
	return s, err
}

// Read writes down when the calls begin and end that begin with event number event and after it, in ticks since that event,
// which must be the begin of a call. A leave ends the newest of these calls that has not ended. The end is NeverEnds where it is
// not before the begin of the call after the last one.
func (s *Spans) Read(event uint64, begin, end []uint64) error {
	if s.err == nil && event != s.next {
		s.seek(event)
	}
	s.now, s.open = 0, s.open[:0]
	wanted, n := len(begin), 0
	for more := s.err == nil; more && s.err == nil; {
		more = s.pass(event, &wanted)
		n = s.fill(begin, end, n)
	}
	return s.failure()
}

// batch is how many events are passed at once, and a run of the program.
const batch = 4096

// pass goes past some events, at most up to the begin of the call after those that are wanted, and writes down the columns of their
// gaps: what follows from structure alone. It returns false at the end.
func (s *Spans) pass(event uint64, wanted *int) bool {
	first := s.next == event
	s.columns = s.columns[:0]
	for len(s.columns) < batch {
		if len(s.steps) == 0 {
			if s.steps = s.program.next(); len(s.steps) == 0 {
				if *wanted > 0 {
					s.err = s.c.x.damaged(fmt.Sprintf("%d calls fewer than there should be from event %d on", *wanted, event))
				}
				s.next = math.MaxUint64
				return false
			}
		}
		for i, c := range s.steps {
			if s.kinds[c] == stepOpen {
				if *wanted == 0 {
					s.steps = s.steps[i:]
					s.next += uint64(len(s.columns))
					return false
				}
				*wanted--
			} else if first && len(s.columns) == 0 {
				s.err = s.c.x.damaged(fmt.Sprintf("event %d is not the begin of a call", event))
				return false
			}
			s.columns = append(s.columns, c)
		}
		s.steps = nil
	}
	s.next += uint64(len(s.columns))
	return true
}

// fill reads the gaps of events, after n calls. Where each is does not depend on the one before, so that waits for memory overlap.
func (s *Spans) fill(begin, end []uint64, n int) int {
	s.ticks = slices.Grow(s.ticks[:0], len(s.columns))[:len(s.columns)]
	for i, column := range s.columns {
		s.ticks[i] = s.gaps[column].Next()
	}
	for i, column := range s.columns {
		if n > 0 {
			s.now += s.ticks[i]
		}
		switch s.kinds[column] {
		case stepOpen:
			begin[n], end[n] = s.now, NeverEnds
			s.open = append(s.open, n)
			n++
		case stepClose:
			if k := len(s.open) - 1; k >= 0 {
				end[s.open[k]] = s.now
				s.open = s.open[:k]
			}
		}
	}
	return n
}

// failure returns what is wrong with the values read so far.
func (s *Spans) failure() error {
	for i := range s.gaps {
		if err := s.gaps[i].Err(); err != nil && s.err == nil {
			s.err = s.c.x.columnError(int32(i), err)
		}
	}
	return s.err
}

// seek goes to before an event.
func (s *Spans) seek(event uint64) {
	v := s.c.x.loc.view
	if event >= v.events {
		s.err = fmt.Errorf("call graph: location %d: event %d of %d: %w", s.c.x.loc.p, event, v.events, ErrRange)
		return
	}
	s.next = event
	s.c.enterAt(event)
	if s.err = s.c.err; s.err != nil {
		return
	}
	s.steps = s.program.resume(v, s.c.walk.stack)
	for i := range s.gaps {
		if v.cols[i].gap {
			s.gaps[i].Seek(s.c.pos[i])
		}
	}
}

// leaves says whether a record is a leave that closes nothing.
func (h *shape) leaves() bool {
	return h.kind == trace.Leave || h.kind == trace.CallingContextLeave
}

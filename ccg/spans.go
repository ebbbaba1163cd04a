package ccg

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/column"
)

// Spans returns when calls of a location begin and end, without reading other values. Consecutive calls take one step for each event;
// moving elsewhere takes O(nodes) and reads a part of each column. It belongs to one goroutine.
//
// Memory: 12 bytes for each node, 4 to 64 for each child, 65 for each column, and at most 8 KiB for each column of gaps that it reads.
type Spans struct {
	c       *Cursor       // finds positions
	program graph.Program // of gaps
	kinds   []graph.Step  // of each column: what follows its gaps; StepEvent: neither begin nor end of a call
	gaps    []column.Cursor
	read    []int32  // indexes of gaps with gaps
	steps   []uint32 // of program: the next ones
	next    uint64   // number of the next event, which is the begin of a call
	err     error

	open []int // calls that have begun and not ended
}

// NeverEnds is the end of a call that ends after the calls that were asked for.
const NeverEnds = math.MaxUint64

// Spans returns a reader of the location's calls. The graph must be lossless.
func (l *Location) Spans() (*Spans, error) {
	if !l.Deviation().Lossless() {
		return nil, fmt.Errorf("call graph: location %d: its times are bounded, not exact: %w", l.p, ErrRange)
	}
	s := &Spans{c: l.Cursor(), gaps: l.cursors(), next: math.MaxUint64, kinds: make([]graph.Step, len(l.cols))}
	v := l.view
	for i := range v.Cols {
		if v.Cols[i].Gap {
			s.read = append(s.read, int32(i))
		}
	}
	err := s.program.Compile(v, func(id, slot uint32, st graph.Step) []int32 {
		if st == graph.StepCut {
			return nil
		}
		if st == graph.StepOpen && v.Nodes.Kind(id) == graph.KindEvent {
			if st = graph.StepEvent; v.ShapeOf(id).Leaves() {
				st = graph.StepClose
			}
		}
		s.kinds[v.Column[slot]] = st // the same for all gaps of a column
		return v.Column[slot : slot+1]
	})
	return s, err
}

// Read stores when the calls from event on begin and end, in ticks. event must be the begin of a call, which begins at first. A leave ends
// the newest of these calls that has not ended. The end of a call is NeverEnds if it is not before the begin of the call after the last
// one.
func (s *Spans) Read(event, first uint64, begin, end []uint64) error {
	if s.err == nil && event != s.next {
		s.seek(event)
	}
	now, n := first, 0
	open := s.open[:0]
	for s.err == nil {
		if len(s.steps) == 0 {
			if s.steps = s.program.Next(); len(s.steps) == 0 {
				if s.next = math.MaxUint64; n < len(begin) {
					s.err = s.c.x.loc.damaged(fmt.Sprintf("%d calls fewer than there should be from event %d on", len(begin)-n, event))
				}
				break
			}
		}
		more := true
		i, steps := 0, s.steps
		for ; i < len(steps); i++ {
			column := steps[i]
			kind := s.kinds[column]
			if kind == graph.StepOpen {
				if n == len(begin) {
					more = false
					break
				}
			} else if n == 0 {
				s.err = s.c.x.loc.damaged(fmt.Sprintf("event %d is not the begin of a call", event))
				break
			}
			ticks := s.gaps[column].Next()
			if n > 0 {
				now += ticks
			}
			switch kind {
			case graph.StepOpen:
				begin[n], end[n] = now, NeverEnds
				open = append(open, n)
				n++
			case graph.StepClose:
				if k := len(open) - 1; k >= 0 {
					end[open[k]] = now
					open = open[:k]
				}
			}
		}
		s.steps = steps[i:]
		s.next += uint64(i)
		if !more {
			break
		}
	}
	s.open = open
	return s.failure()
}

// failure returns the first error of the values read so far.
func (s *Spans) failure() error {
	for _, i := range s.read {
		if err := s.gaps[i].Err(); err != nil && s.err == nil {
			s.err = s.c.x.columnError(i, err)
		}
	}
	return s.err
}

// seek moves before an event.
func (s *Spans) seek(event uint64) {
	v := s.c.x.loc.view
	if event >= v.Events {
		s.err = fmt.Errorf("call graph: location %d: event %d of %d: %w", s.c.x.loc.p, event, v.Events, ErrRange)
		return
	}
	s.next = event
	s.c.enterAt(event)
	if s.err = s.c.err; s.err != nil {
		return
	}
	s.steps = s.program.Resume(v, s.c.walk.Stack)
	for _, i := range s.read {
		s.gaps[i].Seek(s.c.pos[i])
	}
}

package interval

import (
	"errors"

	"github.com/coppice-hpc/coppice/xtf"
)

// Executions are the rows of an IVAL array, in order. *xtf.Cursor implements it.
type Executions interface {
	Next() bool
	Row() []byte
	Err() error
}

// Sums adds what happens on one location to the components of the nodes whose executions contain it. One Sums is for one of the rules
// Point, Completion and Span, and time must not run backwards. The sums must stay below 2^64, see xtf.Most. An execution of all events
// (xtf.IvalWhole) also contains what happens at its first and last instant.
type Sums struct {
	comps  *Components
	items  []xtf.Item
	slot   [xtf.NumItems]int // index in items, -1 for none
	totals []uint64          // of the location so far, by slot
	spans  running
	open   map[uint32][]uint64 // by node: totals at the begin of its open execution
	spare  [][]uint64
	due    uint64 // time of the next border, xtf.Never for none
	rows   reading
	err    error
}

// NewSums prepares sums of items over executions, which it adds to comps.
func NewSums(ivals Executions, comps *Components, items ...xtf.Item) *Sums {
	s := &Sums{comps: comps, items: items, totals: make([]uint64, len(items)), open: map[uint32][]uint64{}, rows: newReading(ivals)}
	s.spans.active, s.spans.list.Before = make([]uint64, len(items)), span.before
	for i := range s.slot {
		s.slot[i] = -1
	}
	for i, x := range items {
		s.slot[x] = i
	}
	s.err = s.rows.read()
	s.due = s.rows.due()
	return s
}

// Point adds v at t to the executions with begin <= t < end.
func (s *Sums) Point(t uint64, item xtf.Item, v uint64) {
	if t >= s.due {
		s.pass(func(b *border) bool { return b.t < t || b.t == t && !(b.whole && b.end) })
	}
	s.totals[s.slot[item]] += v
}

// Completion adds v at t to the executions with begin < t <= end.
func (s *Sums) Completion(t uint64, item xtf.Item, v uint64) {
	if t >= s.due {
		s.pass(func(b *border) bool { return b.t < t || b.t == t && b.whole && !b.end })
	}
	s.totals[s.slot[item]] += v
}

// Span adds to each execution the length of its common part with [x, y). Spans may overlap.
func (s *Sums) Span(x, y uint64, item xtf.Item) {
	if y <= x {
		return
	}
	if x >= s.due {
		s.pass(func(b *border) bool { return b.t <= x })
	}
	slot := s.slot[item]
	if y <= s.due {
		s.totals[slot] += y - x
		return
	}
	s.spans.begin(s.totals, x, y, slot)
}

// Flush ends all executions. It returns an error if the rows could not be read, or are not executions.
func (s *Sums) Flush() error {
	s.pass(func(*border) bool { return true })
	return s.err
}

// border is the begin or end of an execution.
type border struct {
	t     uint64
	node  uint32
	end   bool
	whole bool // IvalWhole
}

var errBorders = errors.New("interval: an execution of a node begins before the one before has ended, or ends twice")

// pass takes the next borders as long as due reports true.
func (s *Sums) pass(due func(*border) bool) {
	for s.err == nil && s.due != xtf.Never {
		b := s.rows.next()
		if !due(&b) {
			return
		}
		s.spans.advance(s.totals, b.t)
		if b.end {
			s.close(b.node)
		} else {
			s.begin(b.node)
		}
		if err := s.rows.take(); s.err == nil {
			s.err = err
		}
		s.due = s.rows.due()
	}
}

func (s *Sums) begin(node uint32) {
	if _, twice := s.open[node]; twice || node >= MaxNodes {
		s.err = errBorders
		return
	}
	var snap []uint64
	if n := len(s.spare); n > 0 {
		snap, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		snap = make([]uint64, len(s.items))
	}
	copy(snap, s.totals)
	s.open[node] = snap
}

func (s *Sums) close(node uint32) {
	snap, ok := s.open[node]
	if !ok {
		s.err = errBorders
		return
	}
	delete(s.open, node)
	s.spare = append(s.spare, snap)
	for i, v := range s.totals {
		s.comps.Add(node, s.items[i], v-snap[i])
	}
}

package export

import (
	"errors"
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Source is what to export: an open run, and the chosen part of it.
type Source struct {
	*results.Run
	// Nodes are the names of the interval tree's nodes, by their number.
	Nodes []string
	// Selected tells which locations are chosen; nil chooses all.
	Selected func(p trace.P) bool
	// Window chooses what overlaps it.
	Window results.Span
}

// Everything is the window that leaves nothing out.
var Everything = results.Span{End: math.MaxUint64}

// ErrRun says that a run cannot be exported in the form asked for.
var ErrRun = errors.New("cannot be exported")

func (s *Source) selected(p trace.P) bool { return s.Selected == nil || s.Selected(p) }

// window returns the span of location p; ok is false where it has none.
func (s *Source) window(p trace.P) (begin, end uint64, ok bool, err error) {
	w := s.Window
	if w.Of == nil {
		return w.Begin, w.End, w.Begin < w.End, nil
	}
	for _, iv := range results.Begun[xtf.Ival](s.Run, p, 0, xtf.Never, &err) {
		if iv.Node == w.Of.Node && iv.Execution == w.Of.K {
			end = iv.End
			if iv.Flags&xtf.IvalWhole != 0 && end < math.MaxUint64 {
				end++ // its last instant is inside
			}
			return iv.T, end, iv.T < end, nil
		}
	}
	return 0, 0, false, err
}

// eachWindow calls f with the window of each chosen location that has one.
func (s *Source) eachWindow(f func(p trace.P, begin, end uint64) error) error {
	for p := range trace.P(s.Defs.NumLocations()) {
		if !s.selected(p) {
			continue
		}
		begin, end, ok, err := s.window(p)
		if err == nil && ok {
			err = f(p, begin, end)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) array(p trace.P, t xtf.TypeID) (*xtf.Array, error) {
	a, err := s.File.Array(xtf.Proc(p), t)
	if err != nil {
		return nil, s.at(p, err)
	}
	return a, nil
}

func (s *Source) at(p trace.P, err error) error {
	return fmt.Errorf("location %d: %w", s.Defs.Location(p).Ref, err)
}

// overlapping visits the rows of an array that overlap [begin, end), in their order: first those that began before and are still
// open, then those that begin inside. A row without an end is at its time. Rows that only end at begin are outside. It costs two
// descents in addition to the rows.
func (s *Source) overlapping(p trace.P, t xtf.TypeID, begin, end uint64, visit func(n uint64, row []byte) error) error {
	a, err := s.array(p, t)
	if err != nil {
		return err
	}
	var failed error
	err = a.Overlapping(begin, begin, func(n uint64, row []byte) bool {
		failed = visit(n, row)
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return s.at(p, err)
	}
	first, last, err := s.between(a, begin, end)
	if err != nil {
		return s.at(p, err)
	}
	c := a.Rows(first, last)
	for c.Next() {
		if err := visit(c.N(), c.Row()); err != nil {
			return s.at(p, err)
		}
	}
	if err := c.Err(); err != nil {
		return s.at(p, err)
	}
	return nil
}

// between returns the numbers of the rows that begin in [begin, end).
func (s *Source) between(a *xtf.Array, begin, end uint64) (first, last uint64, err error) {
	if first, err = a.Rank(begin); err != nil {
		return 0, 0, err
	}
	if end == math.MaxUint64 {
		return first, a.Len(), nil
	}
	last, err = a.Rank(end)
	return first, max(first, last), err
}

// clock converts ticks to nanoseconds. Both count from the begin of the trace on.
type clock struct{ resolution uint64 }

func (s *Source) clock() clock { return clock{s.Defs.Clock().TimerResolution} }

// ns returns t ticks in nanoseconds, rounded down. ok is false if that exceeds 63 bits, or if the trace does not have the clock's
// resolution.
func (c clock) ns(t uint64) (v uint64, ok bool) {
	if c.resolution == 0 {
		return 0, false
	}
	v, _ = exact.MulDiv(t, 1e9, c.resolution)
	return v, v <= math.MaxInt64
}

// named are the texts of a column of references.
type named struct {
	dict Dictionary
	by   map[uint32]Cell
	none Cell // for references without definition
}

func (n *named) cell(ref uint32) Cell {
	if c, ok := n.by[ref]; ok {
		return c
	}
	return n.none
}

func (s *Source) regionNames() *named {
	n := &named{by: make(map[uint32]Cell, len(s.Defs.Regions)+1), none: Absent}
	for i := range s.Defs.Regions {
		ref := s.Defs.Regions[i].Ref
		n.by[ref] = n.dict.Cell(s.Defs.RegionLabel(ref))
	}
	n.by[trace.Undefined] = Absent
	return n
}

func (s *Source) comms() *named {
	n := &named{by: map[uint32]Cell{}}
	for _, ref := range s.Defs.CommRefs() {
		n.by[ref] = n.dict.Cell(s.CommName(ref))
	}
	n.none = n.dict.Cell("(undefined)")
	return n
}

// states are the states of regions, by their reference.
type states map[uint32]trace.State

func (s *Source) states() states {
	m := make(states, len(s.Defs.Regions))
	for i := range s.Defs.Regions {
		m[s.Defs.Regions[i].Ref] = s.Defs.StateOf(&s.Defs.Regions[i])
	}
	return m
}

// of returns the state in a call, by its class, which rows have even for regions without definition.
func (m states) of(x *xtf.Call) trace.State {
	if x.Class != 0 {
		return trace.StateOfClass(trace.CallClass(x.Class))
	}
	return m[x.Region]
}

// stateNames returns the names of states, by their number.
func stateNames() []string {
	names := make([]string, trace.NumStates)
	for s := range names {
		names[s] = trace.State(s).String()
	}
	return names
}

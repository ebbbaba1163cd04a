package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Cut counts what a slice leaves out or cuts because another part of it is outside of the window.
type Cut struct {
	Messages    uint64 `json:"messages"`    // sides of messages in the window, left out
	Collectives uint64 `json:"collectives"` // members of collectives in the window, left out
	Requests    uint64 `json:"requests"`    // records of requests that began outside, or whose operation is left out
	Calls       uint64 `json:"calls"`       // calls that are cut at a border of the window
}

// Window is the part [Begin, End) of a run, in ticks since its begin.
type Window struct{ Begin, End uint64 }

// errNoRows says that a slice needs rows.
var errNoRows = errors.New("a part of the time needs to know which messages have both their ends in it, and the file has no rows of events: it was analyzed with --events none. Export the whole run without --time, or analyze the archive without --events none")

// errLossy says that a slice needs exact times.
var errLossy = errors.New("a part of the time needs the exact times of the events, and the call graph of the file has others: it was analyzed with --deviation. Export the whole run without --time, or analyze the archive without --deviation")

// openWindow sets the window on all ranks, before the output is touched.
func (x *export) openWindow() error {
	if x.o.Window == nil {
		return nil
	}
	b, err := jobs.FromRank(x.c, 0, func() ([]byte, error) {
		w, err := x.o.Window()
		switch {
		case err != nil:
		case x.rowless:
			err = jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", x.o.Run, errNoRows))
		case !x.res.Deviation.Lossless():
			err = jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", x.o.Run, errLossy))
		}
		return jobs.AppendWords(nil, w.Begin, w.End), err
	})
	if err != nil {
		return err
	}
	w := jobs.TakeWords[uint64](b)
	x.window = &Window{w[0], w[1]}
	x.members = map[uint32]bool{}
	return nil
}

// whole reports whether all known members of a communicator are selected, so that its collectives are complete.
func (x *export) whole(comm uint32) bool {
	if x.o.Select == nil {
		return true
	}
	all, known := x.members[comm]
	if !known {
		all = true
		list := x.defs.Processes()
		for _, m := range x.defs.CommMembers(comm) {
			if uint64(m) < uint64(len(list)) && !x.selected(list[m].First) {
				all = false
				break
			}
		}
		x.members[comm] = all
	}
	return all
}

// messageInside reports whether a message belongs to the slice: the calls of both sides begin in the window, on selected processes. The
// result is the same for both sides. For a message without a partner its own call decides.
func (x *export) messageInside(m *xtf.P2P) bool {
	w := x.window
	if m.T < w.Begin || m.T >= w.End {
		return false
	}
	if m.MateN == xtf.Never {
		return true
	}
	return uint64(m.MateP) < uint64(x.defs.NumLocations()) && m.MateT >= w.Begin && m.MateT < w.End && x.selected(trace.P(m.MateP))
}

// collectiveInside reports whether a collective operation belongs to the slice, the same for all members: the last member enters in the
// window, and none left before the window. A nonblocking one belongs to the slice if no member ends before the window and the last
// one ends in it.
func (x *export) collectiveInside(r *xtf.Coll) bool {
	w := x.window
	enter, first, last := r.LastEnter, r.FirstLeave, r.LastLeave
	if r.Ordinal == xtf.Never { // other members are unknown
		enter, first, last = r.T, r.End, r.End
	}
	if first < w.Begin || !x.whole(r.Comm) {
		return false
	}
	if r.Flags&xtf.CollNonBlocking != 0 {
		return last <= w.End
	}
	return enter >= w.Begin && enter < w.End
}

// writeSlice writes the part of a location in the window. It walks over the location's events twice, so that the second walk knows at a
// posting whether its operation belongs to the slice. Memory: the open requests, and 8 bytes, in sets, for each request in the window
// whose operation is left out, or that was posted before the window.
func (x *export) writeSlice(l *otf2.LocationWriter, loc *ccg.Location) error {
	if loc.Events() == 0 || x.window.Begin >= x.window.End {
		return nil
	}
	origin, err := callview.Origin(x.file, loc)
	if err != nil {
		return err
	}
	var plan slicePlan
	var cut Cut
	for pass := range 2 {
		s := &slicer{
			x: x, plan: &plan, first: pass == 0, mpi: -1, requests: map[uint64]sliceRequest{},
			begin: later(origin, x.window.Begin), end: later(origin, x.window.End),
		}
		if err := s.open(xtf.Proc(loc.P())); err != nil {
			return err
		}
		if err := s.walk(loc, func(b *trace.Batch) error {
			if pass == 0 || len(b.Events) == 0 {
				return nil
			}
			x.last = max(x.last, b.Events[len(b.Events)-1].Time)
			return l.Add(b)
		}); err != nil {
			return err
		}
		cut = s.cut
	}
	x.res.Cut.Messages += cut.Messages
	x.res.Cut.Collectives += cut.Collectives
	x.res.Cut.Requests += cut.Requests
	x.res.Cut.Calls += cut.Calls
	return nil
}

// later adds ticks to a time. It returns the greatest time if the sum overflows.
func later(t trace.Time, ticks uint64) trace.Time {
	if s := t + trace.Time(ticks); s >= t {
		return s
	}
	return trace.Undefined64
}

// sliceRequest is a request in progress.
type sliceRequest struct {
	event  uint64 // its number in the stream
	kind   trace.Kind
	inside bool // posted in the window
	kept   bool // of sends: the send belongs to the slice
}

// slicePlan is what the second walk needs from the first one. Postings are named by their event.
type slicePlan struct {
	doomed map[uint64]bool // postings in the window whose operation is not in the slice
	early  map[uint64]bool // postings before the window whose operation is in the slice
	posts  []slicePost     // those of early, in order
}

type slicePost struct {
	event, id uint64
	kind      trace.Kind
}

// tooFew returns the error for an operation without a row.
func tooFew(err error) error {
	return cmp.Or(err, fmt.Errorf("the call graph has more operations than the rows: %w", xtf.ErrCorrupt))
}

// open opens the rows of messages and collectives, which are in the order of their records.
func (s *slicer) open(p xtf.Proc) error {
	messages, err := s.x.file.Array(p, xtf.TypeP2P)
	if err != nil {
		return err
	}
	colls, err := s.x.file.Array(p, xtf.TypeColl)
	if err != nil {
		return err
	}
	s.messages, s.colls = xtf.RowsOf[xtf.P2P](messages.Rows(0, messages.Len())), xtf.RowsOf[xtf.Coll](colls.Rows(0, colls.Len()))
	s.messages.Next()
	s.colls.Next()
	return nil
}

// walk reads the events up to the end of the window, and of the MPI call that is open there.
func (s *slicer) walk(loc *ccg.Location, write func(*trace.Batch) error) error {
	r := loc.Expand()
	var in trace.Batch
	for n := uint64(0); ; {
		s.out.Reset()
		err := r.Next(&in)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil
		for i := range in.Events {
			if last || s.done {
				break
			}
			if err := s.event(&in, &in.Events[i], n); err != nil {
				return err
			}
			n++
		}
		if last || s.done {
			s.finish()
		}
		if err := write(&s.out); err != nil {
			return err
		}
		if last || s.done {
			return nil
		}
	}
}

// describeWindow returns the properties of the slice.
func (r *Result) describeWindow() []otf2.Property {
	if r.Window == nil {
		return nil
	}
	return []otf2.Property{
		{Name: "COPPICE::WINDOW", Value: fmt.Sprintf("%d..%d", r.Window.Begin, r.Window.End)},
		{Name: "COPPICE::CUT", Value: fmt.Sprintf("messages=%d,collectives=%d,requests=%d,calls=%d", r.Cut.Messages, r.Cut.Collectives, r.Cut.Requests, r.Cut.Calls)},
	}
}

// sliceError gives an error of reading the file the exit code of input, and one of writing that of output.
func (x *export) sliceError(err error) error {
	if err == nil || jobs.Unreadable(err) {
		return jobs.InputError(x.o.Run, err)
	}
	return xtfwriter.OutputError("", err)
}

package archive

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// slicer cuts the events of one location to a window. It enters calls that are open at the begin of the window there, and leaves calls that
// are open at its end there. Records of messages and collectives that belong to the slice, but are outside of the window in a call that
// reaches into it, move to the border; so do requests of these that were posted before the window.
type slicer struct {
	x          *export
	plan       *slicePlan
	first      bool // this is the walk that makes the plan
	begin, end trace.Time
	messages   xtf.Rows[xtf.P2P]
	colls      xtf.Rows[xtf.Coll]
	out        trace.Batch
	cut        Cut

	calls    []sliceCall // open ones
	mpi      int         // index of the outermost MPI call in calls, -1 for none
	tail     int         // after the window: number of open calls
	requests map[uint64]sliceRequest
	begun    bool        // a collective has begun before the window
	ended    []sliceCall // records of collectives of the slice before the window, in calls that may be open at its begin
	entered  bool        // the begin of the window is written
	past     bool        // the end of the window is reached
	done     bool
}

// sliceCall is a record to write again: the enter of an open call, or a record of a collective.
type sliceCall struct {
	kind    trace.Kind
	ref     uint32
	words   []uint64
	context bool
}

// event takes event number n of the location.
func (s *slicer) event(b *trace.Batch, e *trace.Event, n uint64) error {
	if e.Flags&trace.Estimated != 0 {
		return nil
	}
	if !s.entered && e.Time >= s.begin {
		s.enterWindow()
	}
	if !s.past && e.Time >= s.end {
		s.past, s.tail = true, len(s.calls)
		s.done = s.mpi < 0
		if s.done {
			return nil
		}
	}
	w := b.Words(e)
	switch e.Kind {
	case trace.Enter, trace.CallingContextEnter:
		s.enter(b, e, w)
	case trace.Leave, trace.CallingContextLeave:
		s.leave(b, e)
	case trace.MpiSend, trace.MpiIsend, trace.MpiRecv, trace.MpiIrecv:
		return s.message(b, e, w, n)
	case trace.MpiCollectiveBegin:
		switch {
		case !s.entered:
			s.begun = true
		case s.nextCollective():
			s.copy(b, e)
		}
	case trace.MpiCollectiveEnd, trace.NonBlockingCollectiveComplete:
		return s.collective(b, e, w)
	case trace.RmaCollectiveEnd:
		return s.onWindow(b, e, w)
	case trace.MpiIrecvRequest, trace.NonBlockingCollectiveRequest:
		id := w[0]
		s.requests[id] = sliceRequest{event: n, kind: e.Kind, inside: s.entered}
		switch {
		case !s.entered:
		case !s.plan.doomed[n]:
			s.copy(b, e)
		case s.inside():
			s.cut.Requests++
		}
	case trace.MpiIsendComplete, trace.MpiRequestTest, trace.MpiRequestCancelled:
		s.use(b, e, w[0])
	default:
		if s.inside() {
			s.copy(b, e)
		}
	}
	return nil
}

// inside reports whether the current event is in the window.
func (s *slicer) inside() bool { return s.entered && !s.past }

// copy writes an event, at the border of the window if it is outside.
func (s *slicer) copy(b *trace.Batch, e *trace.Event) {
	c := *e
	c.Arg = uint32(len(s.out.Args))
	c.Time = min(max(c.Time, s.begin), s.end)
	s.out.Events = append(s.out.Events, c)
	s.out.Args = append(s.out.Args, b.Words(e)...)
}

// enterWindow writes the calls and operations in progress at the begin of the window.
func (s *slicer) enterWindow() {
	s.entered = true
	for i := range s.calls {
		c := &s.calls[i]
		s.out.Append(s.begin, c.kind, c.ref, c.words...)
		s.cut.Calls++
	}
	for _, p := range s.plan.posts {
		if !s.first {
			s.out.Append(s.begin, p.kind, 0, p.id)
		}
	}
	for _, r := range s.ended {
		s.out.Append(s.begin, r.kind, 0, r.words...)
	}
	if s.begun && s.nextCollective() {
		s.out.Append(s.begin, trace.MpiCollectiveBegin, 0)
	}
}

func (s *slicer) enter(b *trace.Batch, e *trace.Event, words []uint64) {
	if s.past {
		s.tail++
		return
	}
	c := sliceCall{kind: e.Kind, ref: e.Ref}
	region := e.Ref
	if e.Kind == trace.CallingContextEnter {
		c.context = true
		region, _ = s.x.defs.ContextRegion(uint32(words[0]))
		c.words = append([]uint64(nil), words[:len(e.Kind.Info().Fields)]...)
	}
	if s.mpi < 0 && s.x.defs.IsMPI(s.x.defs.Region(region)) {
		s.mpi = len(s.calls)
	}
	s.calls = append(s.calls, c)
	if s.entered {
		s.copy(b, e)
	}
}

func (s *slicer) leave(b *trace.Batch, e *trace.Event) {
	if s.past {
		s.tail--
		s.done = s.tail <= s.mpi
		return
	}
	if k := len(s.calls); k > 0 {
		s.calls = s.calls[:k-1]
	}
	if s.mpi >= len(s.calls) {
		s.mpi = -1
	}
	if s.entered {
		s.copy(b, e)
	}
}

// message takes a message, whose row says whether it belongs to the slice.
func (s *slicer) message(b *trace.Batch, e *trace.Event, w []uint64, n uint64) error {
	for s.messages.More && s.messages.Row.Kind&xtf.P2PNotice != 0 { // notices have other records
		s.messages.Next()
	}
	if !s.messages.More {
		return tooFew(s.messages.Err())
	}
	m, k := s.messages.Row, s.messages.Cursor.N()
	s.messages.Next()
	receive := e.Kind == trace.MpiRecv || e.Kind == trace.MpiIrecv
	if m.Bytes != w[3] || uint64(m.Tag) != w[2] || uint64(m.Comm) != w[1] || receive != (m.Kind&xtf.P2PKindMask == xtf.P2PRecv) {
		return fmt.Errorf("event %d of the call graph is not the message of row %d: %w", n, k, xtf.ErrCorrupt)
	}
	keep := s.x.messageInside(&m)
	if e.Kind == trace.MpiIsend && !s.past {
		s.requests[w[4]] = sliceRequest{event: n, kind: e.Kind, inside: s.entered, kept: keep}
	}
	if e.Kind == trace.MpiIrecv {
		s.completes(w[4], keep)
	}
	switch {
	case keep:
		s.copy(b, e)
		if e.Kind == trace.MpiIsend && s.past {
			s.out.Append(s.end, trace.MpiIsendComplete, 0, w[4])
		}
	case s.inside():
		s.cut.Messages++
	}
	return nil
}

// completes ends request id of a receive or collective. keep says whether the operation belongs to the slice.
func (s *slicer) completes(id uint64, keep bool) {
	r, ok := s.requests[id]
	delete(s.requests, id)
	if !ok || !s.first {
		return
	}
	switch {
	case keep && !r.inside:
		if s.plan.early == nil {
			s.plan.early = map[uint64]bool{}
		}
		s.plan.early[r.event] = true
		s.plan.posts = append(s.plan.posts, slicePost{r.event, id, r.kind})
	case !keep && r.inside:
		s.doom(r.event)
	}
}

// doom notes that the posting with this event is left out.
func (s *slicer) doom(event uint64) {
	if s.plan.doomed == nil {
		s.plan.doomed = map[uint64]bool{}
	}
	s.plan.doomed[event] = true
}

// nextCollective reports whether the next collective row is a blocking one that belongs to the slice.
func (s *slicer) nextCollective() bool {
	s.skipOthers()
	r := &s.colls.Row
	return s.colls.More && r.Flags&xtf.CollNonBlocking == 0 && s.x.collectiveInside(r)
}

// skipOthers skips rows of collective operations that have other records: on files and windows.
func (s *slicer) skipOthers() {
	for s.colls.More && trace.Unnumbered(s.colls.Row.Flags&xtf.CollOpMask) {
		s.colls.Next()
	}
}

func (s *slicer) collective(b *trace.Batch, e *trace.Event, w []uint64) error {
	if s.skipOthers(); !s.colls.More {
		return tooFew(s.colls.Err())
	}
	r, k := s.colls.Row, s.colls.Cursor.N()
	s.colls.Next()
	if uint64(r.Comm) != w[1] || r.Sent != w[3] || r.Received != w[4] {
		return fmt.Errorf("collective of the call graph is not that of row %d: %w", k, xtf.ErrCorrupt)
	}
	keep := s.x.collectiveInside(&r)
	begun := s.begun
	if e.Kind == trace.NonBlockingCollectiveComplete {
		s.completes(w[5], keep)
		begun = false
	} else {
		s.begun = false
	}
	s.member(b, e, w, keep, begun)
	return nil
}

// onWindow takes the end of a collective operation on a window. It has a row if several processes take part and it is in an MPI call.
func (s *slicer) onWindow(b *trace.Batch, e *trace.Event, w []uint64) error {
	comm, known := s.x.defs.WindowComm(uint32(w[2]))
	op, ok := trace.OnWindow(w[0])
	if !ok || !known || s.mpi < 0 || s.x.defs.CommSize(comm) < 2 {
		if s.inside() {
			s.copy(b, e)
		}
		return nil
	}
	for s.colls.More && s.colls.Row.Flags&xtf.CollOpMask != op {
		s.colls.Next()
	}
	if !s.colls.More {
		return tooFew(s.colls.Err())
	}
	keep := s.x.collectiveInside(&s.colls.Row)
	s.colls.Next()
	s.member(b, e, w, keep, false)
	return nil
}

// member writes the end of a collective operation, if keep says that it belongs to the slice.
func (s *slicer) member(b *trace.Batch, e *trace.Event, w []uint64, keep, begun bool) {
	switch {
	case keep && s.entered:
		s.copy(b, e)
	case keep:
		if begun {
			s.ended = append(s.ended, sliceCall{kind: trace.MpiCollectiveBegin})
		}
		s.ended = append(s.ended, sliceCall{kind: e.Kind, words: append([]uint64(nil), w[:len(e.Kind.Info().Fields)]...)})
	case s.inside():
		s.cut.Collectives++
	}
}

// use takes a record that uses a request. It writes the record if it wrote the posting of the request.
func (s *slicer) use(b *trace.Batch, e *trace.Event, id uint64) {
	if s.past {
		return
	}
	r, ok := s.requests[id]
	if e.Kind != trace.MpiRequestTest {
		delete(s.requests, id)
	}
	if !s.entered {
		return
	}
	there := r.kept
	if r.kind != trace.MpiIsend {
		there = r.inside && !s.plan.doomed[r.event] || s.plan.early[r.event]
	}
	if ok && there {
		s.copy(b, e)
	} else {
		s.cut.Requests++
	}
}

// finish completes sends and leaves calls that are open at the end of the window. In the first walk it completes the plan.
func (s *slicer) finish() {
	if s.first {
		for _, r := range s.requests {
			if r.kind != trace.MpiIsend && r.inside {
				s.doom(r.event)
			}
		}
		p := s.plan
		slices.SortFunc(p.posts, func(a, b slicePost) int { return cmp.Compare(a.event, b.event) })
	}
	if !s.entered {
		return
	}
	// Sends complete in the order in which they began.
	var open []slicePost
	for id, r := range s.requests {
		if r.kind == trace.MpiIsend && r.kept {
			open = append(open, slicePost{event: r.event, id: id})
		}
	}
	slices.SortFunc(open, func(a, b slicePost) int { return cmp.Compare(a.event, b.event) })
	for _, p := range open {
		s.out.Append(s.end, trace.MpiIsendComplete, 0, p.id)
	}
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := &s.calls[i]
		if c.context {
			s.out.Append(s.end, trace.CallingContextLeave, 0, c.words[0])
		} else {
			s.out.Append(s.end, trace.Leave, c.ref)
		}
		s.cut.Calls++
	}
}

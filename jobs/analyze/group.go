package analyze

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// A long location is loaded by a team of ranks. Its owner, the rank that holds it, passes all events through a loader that
// counts rows, and cuts them into groups; the rows of each group are made by some rank of the team from what the owner knew
// at the begin of the group, and the call graph by one of the others. The owner adds the parts in order. Which rank makes a
// group decides nothing: cuts depend on the data alone.

// groupEvents is after how many events a group ends at the next begin of a chunk, if somebody gives it no other number.
// It ends anywhere after groupChunks times as many, where chunks are large.
const (
	groupEvents = 1 << 18
	groupChunks = 4
)

// place is where a group begins in the events of its location.
type place struct {
	chunk int
	skip  uint64     // events of the chunk before it
	event uint64     // number of its first event
	last  trace.Time // of the event before, the origin of times if there is none
}

// groupPages is how many pages an array of a group holds in memory.
const groupPages = 16

// groupTask is a group of events.
type groupTask struct {
	number int
	from   place
	events uint64
	last   bool // nothing follows
	state  []byte
}

func (t *groupTask) encode() []byte {
	last := uint64(0)
	if t.last {
		last = 1
	}
	b := []byte{teamGroup}
	b = varint.Append(b,
		uint64(t.number), uint64(t.from.chunk), t.from.skip, t.from.event, uint64(t.from.last), t.events, last,
	)
	return append(b, t.state...)
}

func parseTask(b []byte) (*groupTask, error) {
	var v [7]uint64
	r := varint.Read(b)
	for i := range v {
		v[i] = r.Next()
	}
	if r.Failed() {
		return nil, errTeam
	}
	return &groupTask{
		number: int(v[0]), from: place{int(v[1]), v[2], v[3], trace.Time(v[4])}, events: v[5], last: v[6] == 1, state: r.Rest(),
	}, nil
}

// cutter passes the events of a location to a loader that counts, and cuts them into groups, each at the first event at
// which the loader is quiet once the group has enough.
type cutter struct {
	loader *stats.Loader
	group  uint64 // events
	task   groupTask
	due    bool   // the next quiet event begins a group
	chunk  int    // read last
	events uint64 // read so far
	emit   func(*groupTask) error
}

func newCutter(loader *stats.Loader, origin trace.Time, group uint64, emit func(*groupTask) error) *cutter {
	return &cutter{loader: loader, group: group, emit: emit, task: groupTask{from: place{last: origin}, state: loader.State().Bytes()}}
}

// add takes a batch whose first event is at a place.
func (c *cutter) add(at place, b *trace.Batch) error {
	c.due = c.due || at.chunk > c.chunk && at.event-c.task.from.event >= c.group
	all := b.Events
	c.chunk, c.events = at.chunk, at.event+uint64(len(all))
	var err error
	for err == nil && len(b.Events) > 0 {
		most := c.task.from.event + groupChunks*c.group // due in any case
		switch {
		case !c.due && at.event < most:
			err = c.pass(&at, b, min(uint64(len(b.Events)), most-at.event))
		case !c.loader.Quiet():
			err = c.pass(&at, b, 1)
		default:
			err = c.cut(at)
		}
	}
	b.Events = all
	return err
}

// pass passes n events of a batch on.
func (c *cutter) pass(at *place, b *trace.Batch, n uint64) error {
	rest := b.Events[n:]
	b.Events = b.Events[:n]
	err := c.loader.Add(b)
	*at = place{at.chunk, at.skip + n, at.event + n, b.Events[n-1].Time}
	b.Events, b.First = rest, at.event
	return err
}

// cut ends the group in progress before the event at a place.
func (c *cutter) cut(at place) error {
	c.due = false
	if err := c.end(at); err != nil {
		return err
	}
	c.task = groupTask{number: c.task.number + 1, from: at, state: c.loader.State().Bytes()}
	return nil
}

func (c *cutter) end(at place) error {
	c.task.events = at.event - c.task.from.event
	t := c.task
	return c.emit(&t)
}

// finish ends the last group.
func (c *cutter) finish() error {
	c.task.last = true
	return c.end(place{event: c.events})
}

// groupTypes are the arrays whose rows groups make.
var groupTypes = []xtf.TypeID{xtf.TypeCall, xtf.TypeIO, xtf.TypeRMA, xtf.TypeMetric}

// groupSegments are what groups leave next to arrays: staged rows, channel entries in order, late results.
const (
	groupP2P = iota
	groupColl
	groupEntries
	groupLate
	groupSegments
)

// groupRows is what a group leaves.
type groupRows struct {
	parts []*xtf.Part          // of groupTypes
	pages []*xtfwriter.Segment // the payloads of their pages
	rest  []*xtfwriter.Segment
}

// segments are those that there are, pages first.
func (g *groupRows) segments() (list []*xtfwriter.Segment) {
	list = append(append(list, g.pages...), g.rest...)
	return slices.DeleteFunc(list, func(s *xtfwriter.Segment) bool { return s == nil })
}

func (g *groupRows) drop() {
	for _, s := range g.segments() {
		s.Drop()
	}
}

func (g *groupRows) seal() {
	for _, s := range g.segments() {
		s.Seal()
	}
}

// loadGroup makes the rows of a group.
func (a *loads) loadGroup(p trace.P, t *groupTask) (*groupRows, error) {
	state, err := stats.ParseState(t.state)
	if err != nil {
		return nil, err
	}
	g := &groupRows{}
	var arrays []*xtf.ArrayBuilder
	scratch := a.store.Scratch()
	defer scratch.Drop()
	for i, first := range [...]uint64{state.Calls, state.IO, state.RMA, state.Metrics} {
		pages := a.store.Scratch()
		b := xtf.NewPartBuilder(a.enc, a.types.Lookup(groupTypes[i]), xtf.Proc(p), first, pages)
		b.SpillPinned(scratch, groupPages)
		if groupTypes[i] == xtf.TypeCall {
			a.leaveTimes(b)
		}
		g.pages, arrays = append(g.pages, pages), append(arrays, b)
	}
	for range groupSegments {
		g.rest = append(g.rest, a.store.Scratch())
	}
	loader, err := stats.NewGroupLoader(a.tables, p, stats.Outputs{
		Calls: arrays[0], IO: arrays[1], RMA: arrays[2], Metrics: arrays[3], P2P: a.stagedRows(xtf.TypeP2P, g.rest[groupP2P]), Coll: a.stagedRows(xtf.TypeColl, g.rest[groupColl]),
		Sorted: g.rest[groupEntries], Scratch: a.scratch, Late: g.rest[groupLate],
	}, state)
	if err == nil {
		err = a.passGroup(p, t, loader)
	}
	for _, b := range arrays {
		if err != nil {
			break
		}
		var part *xtf.Part
		part, err = b.FinishPart()
		g.parts = append(g.parts, part)
	}
	if err != nil {
		g.drop()
		return nil, fmt.Errorf("events from %d on: %w", t.from.event, err)
	}
	g.seal()
	return g, nil
}

// passGroup passes the events of a group through its loader.
func (a *loads) passGroup(p trace.P, t *groupTask, loader *stats.Loader) error {
	stream, err := a.src.Stream(p)
	if err != nil {
		return err
	}
	defer stream.Close()
	left := t.events
	if left > 0 {
		_, err = a.pass(stream, a.guard(t.from.last), t.from, func(_ place, b *trace.Batch) error {
			b.Events = b.Events[:min(uint64(len(b.Events)), left)]
			left -= uint64(len(b.Events))
			if err := loader.Add(b); err != nil || left > 0 {
				return err
			}
			return errEnough
		}, func() { a.meter.Add(0) }) // a sign of life
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err == nil && left > 0 {
		err = jobs.Fail(jobs.ExitInput, fmt.Errorf("%d events fewer than before; does somebody change the trace?", left))
	}
	if err != nil {
		return err
	}
	return loader.FinishGroup(t.last)
}

var errEnough = errors.New("no more events are wanted")

// pass reads the events of a location from a place on. add gets each batch with the place of its first event; its error
// ends the reading. ended is called after each chunk. It returns what was found wrong with the chunks that were read.
func (a *loads) pass(stream trace.Stream, g *guard, at place, add func(at place, b *trace.Batch) error, ended func()) (*trace.Diagnostics, error) {
	found := &trace.Diagnostics{}
	for skip := at.skip; at.chunk < stream.Chunks(); at.chunk++ {
		r, err := stream.Chunk(at.chunk)
		if err != nil {
			return nil, err
		}
		for at.skip = 0; err == nil; {
			if err = r.Next(&a.batch); err == nil {
				err = passBatch(&a.batch, g, &at, &skip, add)
			}
			if err == nil {
				err = a.pace.poll()
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, r.Close())
		}
		found.AddAll(r.Diagnostics())
		if err := r.Close(); err != nil {
			return nil, err
		}
		ended()
	}
	return found, nil
}

// passBatch passes the events of a batch on but for those that are skipped, and moves the place after them.
func passBatch(b *trace.Batch, g *guard, at *place, skip *uint64, add func(at place, b *trace.Batch) error) error {
	all := b.Events
	n := min(*skip, uint64(len(all)))
	*skip -= n
	b.Events = all[n:]
	b.First, at.skip, at.last = at.event, at.skip+n, g.last
	g.check(b)
	var err error
	kept := uint64(len(b.Events))
	if kept > 0 {
		err = add(*at, b)
	}
	at.skip, at.event = at.skip+uint64(len(all))-n, at.event+kept
	b.Events = all
	return err
}

// groupSinks take what groups leave next to arrays and channel entries.
func (l *loading) groupSinks() [groupSegments]func([]byte) error {
	return [groupSegments]func([]byte) error{
		groupP2P: appendTo(l.staged[0]), groupColl: appendTo(l.staged[1]), groupLate: appendTo(l.staged[4]),
	}
}

// join adds the rows of a group to the location; what of it goes to sinks may have gone there already.
func (l *loading) join(g *groupRows) error {
	sinks := l.groupSinks()
	for i, t := range groupTypes {
		if err := l.arrays[t].AddPart(g.parts[i], g.pages[i]); err != nil {
			return err
		}
		g.pages[i].Drop()
	}
	for i, s := range g.rest {
		if s == nil || i == groupEntries {
			continue
		}
		if err := eachPiece(s, sinks[i]); err != nil {
			return err
		}
		s.Drop()
	}
	l.loader.AddEntries(g.rest[groupEntries])
	return nil
}

// pieceBytes bounds a piece of a segment.
const pieceBytes = 1 << 20

// eachPiece passes a segment on in pieces.
func eachPiece(s *xtfwriter.Segment, f func([]byte) error) error {
	buf := make([]byte, min(s.Size(), pieceBytes))
	for at := int64(0); at < s.Size(); {
		b := buf[:min(int64(len(buf)), s.Size()-at)]
		if _, err := s.ReadAt(b, at); err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

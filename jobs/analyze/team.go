package analyze

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Messages of a team. A helper does what its owner says, in order, and answers only when it is asked: so a group is under
// way only when the owner takes it, and an owner that fails leaves nobody waiting.
const (
	tagTeam   = 41 // from the owner: one of the words below
	tagAnswer = 42 // from a helper: a word, then pieces

	teamGroup byte = iota // make the rows of a group; a groupTask follows
	teamFetch             // send the rows of a group; its number follows
	teamGraph             // send the call graph
	teamSums              // send sums, trees and executions
	teamEnd               // that was all
)

// Answers of a helper, the first byte.
const (
	answerDone byte = iota
	answerFailed
	answerStopped
)

var (
	errTeam   = errors.New("a damaged message between ranks that load one location")
	errHelper = errors.New("a rank that helped to load it failed")
)

// Costs of an event, relative to each other (bench/analyze measures them): a rank that loads alone does all in one pass. They
// decide who does what, never what comes out.
const (
	costCount = 4 // to count rows, and to join those of groups
	costBoth  = 5 // the same, and to make the sums
	costSums  = 4
	costGraph = 4
	costRows  = 11
	costAlone = 15
)

// teamCost is what partition has to know.
func (a *job) teamCost() partition.Cost {
	c := partition.Cost{Alone: costAlone, Serial: costCount, Shared: costCount + costSums + costGraph + costRows, Least: leastBytes * a.o.groupEvents()}
	if a.o.GraphOnly {
		c.Alone, c.Serial, c.Shared = costSums+costGraph, costSums, costSums+costGraph
	}
	if _, mixed := a.src.(trace.Interleaved); mixed || a.o.ClockRepair || a.tables.NamesTasks() || len(a.defs.CallingContexts) > 0 {
		c = partition.Cost{} // each rank reads what it holds; only the owner knows the clock, which calls are left out, and the frames
	}
	return c
}

// leastBytes is how much data a location needs for a team, for each event of a group: that of two groups, roughly.
const leastBytes = 24

func (o *Options) groupEvents() uint64 {
	return cmp.Or(o.GroupEvents, groupEvents)
}

// teamOf returns the team that this rank leads for a location, nil if there is none.
func (a *loads) teamOf(p trace.P) *partition.Team {
	for i := range a.teams {
		if a.teams[i].P == p {
			return &a.teams[i]
		}
	}
	return nil
}

// leader is the owner's side of a team.
type leader struct {
	*loads
	team   *partition.Team
	load   []uint64 // what each member has to do: the owner, then helpers
	own    []*groupTask
	makers []int // of each group, as index of load
	sent   []*mpi.Request
}

// give gives a group to the member that has least to do.
func (l *leader) give(t *groupTask) error {
	least := 0
	for i := range l.load {
		if l.load[i] < l.load[least] {
			least = i
		}
	}
	l.load[least] += costRows * t.events
	l.makers = append(l.makers, least)
	if least == 0 {
		l.own = append(l.own, t)
		return nil
	}
	return l.tell(least, t.encode())
}

// tell sends a word to a helper without waiting for it.
func (l *leader) tell(member int, b []byte) error {
	q, err := l.c.Isend(b, l.team.Helpers[member-1], tagTeam)
	l.sent = append(l.sent, q)
	return err
}

// dismiss ends the team, whatever has happened: err is what did.
func (l *leader) dismiss(err error) error {
	var told error
	for i := range l.team.Helpers {
		told = errors.Join(told, l.tell(i+1, []byte{teamEnd}))
	}
	return cmp.Or(err, errors.Join(told, l.c.Wait(l.sent...)))
}

// loadTeam runs the unit of one location with a team.
func (a *loads) loadTeam(t *partition.Team) error {
	a.led[t.P] = true
	lead := &leader{loads: a, team: t, load: make([]uint64, len(t.Helpers)+1)}
	return lead.dismiss(lead.run())
}

func (l *leader) run() error {
	p := l.team.P
	work, err := l.newLoading(p, stats.Outputs{Counts: true, NoSums: l.sumsApart(l.team)})
	if err != nil {
		return err
	}
	found, err := l.count(work)
	if err != nil {
		return err
	}
	if err := l.join(work); err != nil {
		return err
	}
	var sums *stats.Loaded
	if l.sumsApart(l.team) {
		if sums, err = l.fetchSums(work); err != nil {
			return err
		}
	}
	loaded, err := work.finish(l.loads)
	if err != nil {
		return err
	}
	if sums != nil {
		sums.Peers, loaded = loaded.Peers, sums
	}
	graph, err := l.ask(graphMaker, []byte{teamGraph})
	if err != nil {
		return err
	}
	return l.endLocation(p, loaded, found, graph)
}

// count passes all events through the loader that counts, and gives the groups out.
func (l *leader) count(work *loading) (*trace.Diagnostics, error) {
	p := l.team.P
	if l.o.GraphOnly {
		return l.decode(p, func(_ place, b *trace.Batch) error { return work.loader.Add(b) })
	}
	events := min(l.defs.Location(p).Events, l.size.Weights[p]) // as announced
	l.load[0], l.load[graphMaker] = costBoth*events, costGraph*events
	if l.sumsApart(l.team) {
		l.load[0], l.load[sumMaker] = costCount*events, costSums*events
	}
	c := newCutter(work.loader, l.size.Origin, l.o.groupEvents(), l.give)
	found, err := l.decode(p, c.add)
	if err != nil {
		return nil, err
	}
	return found, c.finish()
}

// join makes the owner's own groups and adds all groups in order.
func (l *leader) join(work *loading) error {
	own := map[int]*groupRows{}
	for _, t := range l.own {
		g, err := l.loadGroup(l.team.P, t)
		if err != nil {
			return err
		}
		own[t.number] = g
	}
	for number, maker := range l.makers {
		g := own[number]
		if maker > 0 {
			var err error
			if g, err = l.fetch(work, number, maker); err != nil {
				return err
			}
		}
		if err := work.join(g); err != nil {
			return err
		}
	}
	return nil
}

// ask asks a helper and takes the first message of its answer.
func (l *leader) ask(member int, b []byte) ([]byte, error) {
	if err := l.tell(member, b); err != nil {
		return nil, err
	}
	return l.answer(member)
}

// answer takes the first message of an answer.
func (l *leader) answer(member int) ([]byte, error) {
	b, _, err := l.c.Recv(l.team.Helpers[member-1], tagAnswer)
	switch {
	case err != nil:
		return nil, err
	case len(b) == 0:
		return nil, errTeam
	case b[0] == answerStopped:
		return nil, jobs.ErrStopped
	case b[0] != answerDone: // the helper's own error says more
		return nil, jobs.Fail(jobs.ExitFound, errHelper)
	}
	return b[1:], nil
}

// fetch takes a group from the helper that made it. All messages are taken, whatever fails.
func (l *leader) fetch(work *loading, number, member int) (*groupRows, error) {
	b, err := l.ask(member, binary.AppendUvarint([]byte{teamFetch}, uint64(number)))
	if err != nil {
		return nil, err
	}
	g, sizes, err := l.parseGroup(b)
	if err != nil {
		return nil, err
	}
	sinks := work.groupSinks()
	var failed error
	for i, size := range sizes {
		var put func([]byte) error
		switch k := i - len(groupTypes); {
		case k < 0:
			put = appendTo(g.pages[i])
		case k == groupEntries:
			put = appendTo(g.rest[k])
		default:
			put = sinks[k]
		}
		perr, err := l.pieces(member, size, put)
		if err != nil {
			return nil, err
		}
		failed = errors.Join(failed, perr)
	}
	g.seal()
	return g, failed
}

// pieces takes so many bytes of an answer, all of them even if put fails. err is one of the communicator.
func (l *leader) pieces(member int, size uint64, put func([]byte) error) (failed, err error) {
	for got := uint64(0); got < size; {
		b, _, err := l.c.Recv(l.team.Helpers[member-1], tagAnswer)
		if err != nil {
			return nil, err
		}
		if got += uint64(len(b)); failed == nil {
			failed = put(b)
		}
	}
	return failed, nil
}

func appendTo(s *xtfwriter.Segment) func([]byte) error {
	return func(b []byte) error { _, err := s.Append(b); return err }
}

// encode describes a group: its parts, and the sizes of the segments that follow.
func (g *groupRows) encode() []byte {
	b := []byte{answerDone}
	for _, p := range g.parts {
		b = p.AppendBinary(b)
	}
	for _, s := range g.segments() {
		b = binary.AppendUvarint(b, uint64(s.Size()))
	}
	return b
}

// parseGroup reads what encode wrote. Of the segments the group gets those that are not passed on at once.
func (l *leader) parseGroup(b []byte) (g *groupRows, sizes []uint64, err error) {
	g = &groupRows{rest: make([]*xtfwriter.Segment, groupSegments)}
	for _, t := range groupTypes {
		var p *xtf.Part
		if p, b, err = xtf.ParsePart(l.types.Lookup(t), b); err != nil {
			return nil, nil, err
		}
		g.parts = append(g.parts, p)
		g.pages = append(g.pages, l.store.Scratch())
	}
	g.rest[groupEntries] = l.store.Scratch()
	r := varint.Read(b)
	for range len(groupTypes) + groupSegments {
		sizes = append(sizes, r.Next())
	}
	if r.Failed() {
		return nil, nil, errTeam
	}
	return g, sizes, nil
}

// endTeams dismisses the teams of locations that this rank does not load after all, because an earlier run did or because
// of err, and does the work of the team that this rank helps.
func (a *loads) endTeams(err error) error {
	for i := range a.teams {
		t := &a.teams[i]
		if t.Owner == a.c.Rank() && !a.led[t.P] {
			err = (&leader{loads: a, team: t}).dismiss(err)
		}
		for _, h := range t.Helpers {
			if h == a.c.Rank() {
				x := &helper{loads: a, team: t, done: map[uint64]*groupRows{}, err: err}
				return x.run()
			}
		}
	}
	return err
}

// helper is the other side of a team.
type helper struct {
	*loads
	team  *partition.Team
	done  map[uint64]*groupRows
	graph []byte
	sums  *loadSums
	err   error // the first one: nothing more is done, but questions are answered
}

func (h *helper) run() error {
	defer func() {
		for _, g := range h.done {
			g.drop()
		}
	}()
	h.begin()
	for {
		b, _, err := h.c.Recv(h.team.Owner, tagTeam)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return errTeam
		}
		switch b[0] {
		case teamGroup:
			if h.err == nil {
				h.err = h.group(b[1:])
			}
		case teamFetch:
			err = h.send(b[1:])
		case teamGraph:
			err = h.answer(append([]byte{answerDone}, h.graph...))
		case teamSums:
			err = h.sendSums()
		case teamEnd:
			return h.err
		}
		if err != nil {
			return err
		}
	}
}

func (h *helper) group(b []byte) error {
	t, err := parseTask(b)
	if err != nil {
		return err
	}
	g, err := h.loadGroup(h.team.P, t)
	if err == nil {
		h.done[uint64(t.number)] = g
	}
	return err
}

// answer sends the first message of an answer, or says that this rank failed.
func (h *helper) answer(b []byte) error {
	if errors.Is(h.err, jobs.ErrStopped) {
		b = []byte{answerStopped}
	} else if h.err != nil {
		b = []byte{answerFailed}
	}
	return h.c.Send(b, h.team.Owner, tagAnswer)
}

// send sends a group and forgets it.
func (h *helper) send(b []byte) error {
	number, _ := binary.Uvarint(b)
	g := h.done[number]
	if h.err == nil && g == nil {
		h.err = errTeam
	}
	if h.err != nil {
		return h.answer(nil)
	}
	if err := h.answer(g.encode()); err != nil {
		return err
	}
	for _, s := range g.segments() {
		if err := eachPiece(s, func(b []byte) error { return h.c.Send(b, h.team.Owner, tagAnswer) }); err != nil {
			return err
		}
	}
	g.drop()
	delete(h.done, number)
	return nil
}

// makeGraph makes the call graph of a location, as a segment has it.
func (a *loads) makeGraph(p trace.P) ([]byte, error) {
	graph := ccg.NewBuilder(a.defs, p, a.graphs)
	if _, err := a.decode(p, func(_ place, b *trace.Batch) error { return graph.Add(b) }); err != nil {
		return nil, fmt.Errorf("call graph of location %d: %w", p, err)
	}
	return graph.AppendBinary(nil)
}

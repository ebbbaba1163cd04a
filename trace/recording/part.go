package recording

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// part is the part of a run that is recorded of a process. Messages and collectives are matched by their order, so a process counts
// those that are over before its part begins, in a table of its own. What has another side that is not recorded is left out of the
// events of the Source: then the others meet as in the whole run.
type part struct {
	is           bool   // not all is recorded
	late         bool   // it begins after MPI_Init
	nothing      bool   // not even a part is
	begins, ends uint64 // ns since the end of MPI_Init; never where it does not end early
	latest       bool   // it is what was kept of the latest events, if some were given up
	started      uint64 // then: the process's time at the end of MPI_Init
	lost         bool   // what was before it is not known
	messages     uint64 // that are left out
	collectives  uint64
}

// What defPart says.
const (
	partNothing = iota
	partWaits
	partBegins
	partEnds
	partLatest
)

// partState is what an event of a part says of a window that begins; a name above it is a region that is open there.
const partState = 2

const never = math.MaxUint64

func (q *part) tell(what, ns uint64) {
	if !q.is && !q.latest {
		q.ends = never
	}
	if q.is = q.is || what != partLatest; !q.is {
		q.latest, q.started = true, ns
		return
	}
	switch what {
	case partLatest:
		q.latest, q.started = true, ns
	case partNothing:
		q.nothing = true
	case partWaits:
		q.nothing, q.late = true, true
	case partBegins:
		q.nothing, q.begins = false, ns
	case partEnds:
		q.ends = ns
	}
}

// text says what is recorded of a process, and what is left out of that.
func (q *part) text() string {
	var list []string
	switch {
	case q.nothing && q.late:
		list = append(list, "nothing is recorded: the part that was asked for did not begin")
	case q.nothing:
		list = append(list, "nothing is recorded, as was asked for")
	case q.late:
		list = append(list, fmt.Sprintf("recorded from %.6f s after MPI_Init on", float64(q.begins)/1e9))
	}
	if q.is && q.ends != never {
		list = append(list, fmt.Sprintf("recorded until %.6f s after MPI_Init", float64(q.ends)/1e9))
	}
	if q.messages+q.collectives > 0 {
		list = append(list, fmt.Sprintf("left out are sides of %d messages and %d collectives: others are not recorded", q.messages, q.collectives))
	}
	return strings.Join(list, "; ")
}

// Unrecorded returns the processes of which nothing is recorded. With late, these are the ones whose part did not begin; else the
// ones that were not asked for.
func (s *Source) Unrecorded(late bool) (ranks []int) {
	for _, p := range s.processes {
		if p.part.nothing && p.part.late == late {
			ranks = append(ranks, p.rank)
		}
	}
	return ranks
}

// line is a channel: messages of a tag from a process to another on a communicator, or the collectives that a process is a member of.
type line struct {
	comm          uint64 // its number everywhere
	from, to, tag uint32 // world ranks; to is everybody for collectives
}

const everybody = math.MaxUint32

// ends says how many operations of a line a process had before its part, and how many within it.
type ends struct{ before, within uint64 }

const (
	sends = iota // of collectives, the only side
	receives
)

// operation is one in the events of a process.
type operation struct {
	line   line
	side   int
	t      uint64 // when it was asked for
	events [2]place
	n      int  // of events
	late   bool // it was over after the part
}

type place struct {
	thread, window int
	event          uint32 // in the window, from 0
}

// edges finds operations whose other side is not recorded.
type edges struct {
	s       *Source
	lists   map[uint64]*comm // of members
	lines   map[line]*[2]ends
	between map[uint64][2]uint64 // collectives of a communicator that all members recorded: first number, end
}

// leaveOut marks the events that the Source leaves out because their other side is not recorded.
func (s *Source) leaveOut() error {
	for _, p := range s.processes {
		if err := p.findLatest(); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(s.processes, func(p *process) bool { return p.part.is }) {
		return nil
	}
	e := &edges{s, membersOf(s.processes), map[line]*[2]ends{}, map[uint64][2]uint64{}}
	for _, p := range s.processes {
		if err := e.readTable(p); err != nil {
			return err
		}
		c := scan{e: e, p: p, before: func(l line, side int) { e.ends(l, side).before++ }, skip: func(place) {}}
		c.take = func(o *operation) { e.ends(o.line, o.side).within++ }
		if err := c.process(); err != nil {
			return err
		}
	}
	for _, p := range s.processes {
		if err := e.mark(p); err != nil {
			return err
		}
	}
	return nil
}

func (e *edges) ends(l line, side int) *ends {
	x := e.lines[l]
	if x == nil {
		x = new([2]ends)
		e.lines[l] = x
	}
	return &x[side]
}

// of narrows the range of numbers of a line that a process recorded.
func (e *edges) of(rank uint32, x ends, lo, hi uint64) (uint64, uint64) {
	if uint64(rank) >= uint64(len(e.s.processes)) { // not a process of the run
		return lo, hi
	}
	q := &e.s.processes[rank].part
	if q.nothing || q.lost {
		return lo, 0
	}
	if q.is && q.ends != never {
		hi = min(hi, x.before+x.within)
	}
	return max(lo, x.before), hi
}

// recorded returns the numbers of operations of a line that all recorded who take part, counted from the begin of the run.
func (e *edges) recorded(l line) (lo, hi uint64) {
	if l.to != everybody {
		x := e.lines[l]
		lo, hi = e.of(l.from, x[sends], 0, never)
		return e.of(l.to, x[receives], lo, hi)
	}
	if r, ok := e.between[l.comm]; ok {
		return r[0], r[1]
	}
	hi = never
	if list := e.lists[l.comm]; list != nil {
		for _, m := range list.members {
			m := uint32(min(m, math.MaxUint32))
			x := ends{}
			if known := e.lines[line{l.comm, m, everybody, 0}]; known != nil {
				x = known[sends]
			}
			lo, hi = e.of(m, x, lo, hi)
		}
	}
	e.between[l.comm] = [2]uint64{lo, hi}
	return lo, hi
}

// mark notes the events of a process that are to be left out.
func (e *edges) mark(p *process) error {
	skip := func(at place) {
		f := &p.files[at.thread]
		if f.skip == nil {
			f.skip = map[int][]uint32{}
		}
		f.skip[at.window] = append(f.skip[at.window], at.event)
	}
	var list []*operation // operations of lines that lose some
	c := scan{e: e, p: p, before: func(line, int) {}, skip: skip}
	c.take = func(o *operation) {
		x := e.ends(o.line, o.side)
		if lo, hi := e.recorded(o.line); x.before >= lo && x.before+x.within <= hi && !o.late {
			return
		}
		list = append(list, o)
	}
	if err := c.process(); err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b *operation) int { // in the order in which they were asked for
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.events[0].thread, b.events[0].thread), cmp.Compare(a.events[0].window, b.events[0].window), cmp.Compare(a.events[0].event, b.events[0].event))
	})
	next := make(map[line]*[2]uint64)
	for _, o := range list {
		if next[o.line] == nil {
			x := e.lines[o.line]
			next[o.line] = &[2]uint64{x[sends].before, x[receives].before}
		}
		number := &next[o.line][o.side]
		if lo, hi := e.recorded(o.line); *number < lo || *number >= hi || o.late {
			for _, at := range o.events[:o.n] {
				skip(at)
			}
			if o.line.to == everybody {
				p.part.collectives++
			} else {
				p.part.messages++
			}
		}
		*number++
	}
	for i := range p.files {
		for w, list := range p.files[i].skip {
			slices.Sort(list)
			p.files[i].skip[w] = slices.Compact(list)
		}
	}
	return nil
}

// The table of a process: 32 bytes of which the first 8 are not 0 if it was full, and slots: kind u32, tag u32, communicator's number
// here u64, other process u64, count u64. A slot of kind 0 is free.
const (
	tableHead  = 32
	tableSlots = 1 << 16
)

func (e *edges) readTable(p *process) error {
	if !p.part.late {
		return nil
	}
	h, err := os.Open(filepath.Join(e.s.dir, fmt.Sprintf("%d.left", p.rank)))
	if errors.Is(err, fs.ErrNotExist) {
		p.part.lost = true
		return nil
	} else if err != nil {
		return err
	}
	defer h.Close()
	r := bufio.NewReader(h)
	var b [32]byte
	for i := range 1 + tableSlots {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			p.part.lost = true
			return nil
		}
		kind, tag, n := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[8:])
		peer, count := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		switch {
		case i == 0:
			p.part.lost = kind != 0 || tag != 0
			continue
		case kind == 0 || kind > 3 || count > math.MaxInt64:
			continue
		}
		side := sends
		if kind == 2 {
			side = receives
		}
		if kind == 3 {
			peer = never
		}
		if l, ok := e.line(p, n, peer, tag, side); ok {
			e.ends(l, side).before = count
		}
	}
	return nil
}

// line returns the line of an operation of a process, with a rank of a communicator that has a number there, or never.
func (e *edges) line(p *process, n, peer uint64, tag uint32, side int) (line, bool) {
	if n == 0 || n > uint64(len(p.comms)) {
		return line{}, false
	}
	c := &p.comms[n-1]
	l := line{comm: c.global, from: uint32(p.rank), to: everybody}
	if peer == never {
		return l, true
	}
	list := e.lists[c.global]
	if list == nil {
		return line{}, false
	}
	others := list.members[:min(list.size, uint64(len(list.members)))]
	if c.inter && slices.Contains(others, uint64(p.rank)) {
		others = list.members[len(others):]
	}
	if peer >= uint64(len(others)) {
		return line{}, false
	}
	l.to, l.tag = uint32(min(others[peer], math.MaxUint32-1)), tag
	if side == receives {
		l.from, l.to = l.to, l.from
	}
	return l, true
}

// scan looks at the events of a process.
type scan struct {
	e      *edges
	p      *process
	take   func(o *operation)     // called with an operation, which gets the events that follow
	before func(l line, side int) // called for one that was asked for before the part
	skip   func(at place)         // called for an event that has no other event

	asked map[uint64]*operation // requests
	begun map[[2]uint64]bool    // operations of windows and of files
	open  *place                // the collective in hand
	lead  bool                  // inside of a call whose begin was given up
	calls int                   // that are open, where begins were given up
	teams [2]int                // of OpenMP that are, begun by the thread, with it as a member
	after bool                  // the part is over
}

func (c *scan) process() error {
	c.asked, c.begun = map[uint64]*operation{}, map[[2]uint64]bool{}
	for thread := range c.p.files {
		c.after, c.open = false, nil
		if err := c.thread(thread); err != nil {
			return err
		}
	}
	for _, o := range c.asked {
		if c.p.part.is && o.side != sends { // whose message or collective is not known
			c.skip(o.events[0])
		}
	}
	return nil
}

func (c *scan) thread(thread int) error {
	f := &c.p.files[thread]
	c.lead, c.calls, c.teams = false, 0, [2]int{}
	return c.p.eachWindow(f, f.first, func(w int, r *reader) {
		if f.first > 0 && w == f.first {
			f.opens = []uint64{}
			c.lead = inCall(*r)
		}
		at := place{thread: thread, window: w}
		for x := range r.events {
			if f.first > 0 {
				c.begins(f, x, at)
			}
			if c.lead {
				c.earlier(x)
				c.skip(at)
				c.lead = x.kind != evLeave
			} else {
				if f.first > 0 {
					c.ends(x, at)
				}
				c.event(x, at)
			}
			at.event++
		}
	})
}

// operates calls take for an operation that has its last event, or its only one.
func (c *scan) operates(o *operation, comm, peer, tag uint64, at place) {
	var ok bool
	if o.line, ok = c.e.line(c.p, comm, peer, uint32(tag), o.side); !ok {
		return
	}
	o.add(at)
	o.late = c.after
	c.take(o)
}

func (o *operation) add(at place) {
	if o.n < len(o.events) {
		o.events[o.n] = at
		o.n++
	}
}

// done ends a request. It returns nil for a request from before the part, and for an unknown one.
func (c *scan) done(id uint64, at place) *operation {
	o := c.asked[id]
	delete(c.asked, id)
	if o == nil && c.p.part.late {
		c.skip(at)
	}
	return o
}

func (c *scan) event(x *raw, at place) {
	n := &x.n
	if c.after {
		c.skip(at)
	}
	switch x.kind {
	case evSend:
		c.operates(&operation{side: sends, t: x.t}, n[1], n[0], n[2], at)
	case evIsend:
		o := &operation{side: sends, t: x.t}
		c.operates(o, n[1], n[0], n[2], at)
		c.asked[n[4]] = o
	case evIsendDone:
		if o := c.done(n[0], at); o != nil {
			o.add(at)
		}
	case evRecv:
		c.operates(&operation{side: receives, t: x.t}, n[1], n[0], n[2], at)
	case evIrecvRequest, evNBCRequest:
		o := &operation{side: receives, t: x.t}
		o.add(at)
		c.asked[n[0]] = o
	case evIrecv:
		if o := c.done(n[4], at); o != nil {
			c.operates(o, n[1], n[0], n[2], at)
		} else if c.p.part.late {
			c.earlier(x)
		}
	case evCancelled:
		c.done(n[0], at)
	case evCollBegin:
		c.open = &at
	case evCollEnd:
		o := &operation{side: sends, t: x.t}
		if c.open != nil {
			o.add(*c.open)
		}
		c.open = nil
		c.operates(o, n[1], never, 0, at)
	case evNBCEnd:
		if o := c.done(n[5], at); o != nil {
			o.side = sends
			c.operates(o, n[1], never, 0, at)
		} else if c.p.part.late {
			c.earlier(x)
		}
	case evRMA:
		const synchronised = 9
		if what := n[0] & 0xff; what == synchronised && n[0]>>8&0xff != 0 { // with the one of the same number of another process
			c.skip(at)
		} else {
			c.moves(evRMA, n[5], what >= 2 && what <= 4, what == 5, at)
		}
	case evFile:
		what := n[0] & 0xff
		c.moves(evFile, n[4], what == 4, what >= 5 && what <= 7, at)
	case evPart:
		c.after = n[0] == 0
	}
}

// earlier counts an operation that was asked for before the part.
func (c *scan) earlier(x *raw) {
	peer, tag, side := x.n[0], x.n[2], sends
	switch x.kind {
	case evSend, evIsend:
	case evRecv, evIrecv:
		side = receives
	case evCollEnd, evNBCEnd:
		peer, tag = never, 0
	default:
		return
	}
	if l, ok := c.e.line(c.p, x.n[1], peer, uint32(tag), side); ok {
		c.before(l, side)
	}
}

// begins finds where the events of a stream begin whose first windows were given up, and what is open there.
func (c *scan) begins(f *file, x *raw, at place) {
	state := x.kind == evPart && x.n[0] >= partState
	if state && at.window == f.first && (x.n[0] > partState || at.thread == 0) {
		f.opens = append(f.opens, x.n[0]-partState)
	}
	if c.lead && x.kind == evLeave || !c.lead && state && at.window == f.first && x.n[0] == partState {
		f.begin = at
		if at.thread == 0 && x.t > c.p.part.started {
			c.p.part.begins = x.t - c.p.part.started
		}
	}
}

// ends leaves out ends of constructs, teams and locks of a thread whose begins were given up.
func (c *scan) ends(x *raw, at place) {
	closes := func(n *int) {
		if *n == 0 {
			c.skip(at)
		} else {
			*n--
		}
	}
	lock := [2]uint64{evThread, x.n[1]<<32 | x.n[2]&mask}
	switch what := x.n[0] & 0xff; {
	case x.kind == evEnter:
		c.calls++
	case x.kind == evLeave:
		closes(&c.calls)
	case x.kind == evThread && (what == 0 || what == 2):
		c.teams[what/2]++
	case x.kind == evThread && (what == 1 || what == 3):
		closes(&c.teams[what/2])
	case x.kind == evThread && what == 4:
		c.begun[lock] = true
	case x.kind == evThread && what == 5 && !c.begun[lock]:
		c.skip(at)
	}
}

// inCall reports whether events begin inside of a call.
func inCall(r reader) bool {
	for x := range r.events {
		switch x.kind {
		case evLeave:
			return true
		case evEnter, evRegionEnter, evRegionLeave:
			return false
		}
	}
	return false
}

// findLatest finds the first windows that were kept of a process.
func (p *process) findLatest() error {
	for i := range p.files {
		if !p.part.latest {
			break
		}
		f := &p.files[i]
		h, err := os.Open(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		defer h.Close()
		var b [windowHead]byte
		for n := windows(f.size); f.first+1 < n; f.first++ {
			if k, err := h.ReadAt(b[:], int64(f.first)*windowBytes); err != nil && err != io.EOF {
				return err
			} else if k == windowHead && isHead(b[:], uint64(f.first)) {
				break
			}
		}
		if f.first > 0 {
			p.part.is, p.part.late = true, true
		}
	}
	return nil
}

// moves takes an operation of a window or a file that begins or goes on.
func (c *scan) moves(kind byte, id uint64, begins, goes bool, at place) {
	key := [2]uint64{uint64(kind), id}
	switch {
	case begins:
		c.begun[key] = true
	case goes && !c.begun[key] && c.p.part.late:
		c.skip(at)
	}
}

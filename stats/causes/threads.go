package causes

import (
	"bufio"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Kinds of waits of threads: for others at a barrier, for tasks, for locks, for the end of another one, for what else.
const (
	waitBarrier = iota
	waitTasks
	waitLock
	waitJoin
	waitOther
	waitKinds
)

// mostGiven bounds what threads of a process gave and nobody took yet; what comes after is not known. Memory: about 64 bytes each.
const mostGiven = 1 << 20

// threadCall is an open call of a thread in which it waits, or a parallel region.
type threadCall struct {
	end      uint64
	depth    uint32
	kind     uint8
	parallel bool
}

// waitKind is how a thread waits in a region; waitKinds for not at all.
func (d *Within) waitKind(region uint32) uint8 {
	switch d.run.state(d.states, region) {
	case trace.StateLock, trace.StateCritical:
		return waitLock
	case trace.StateThreadWait:
		x := d.run.Defs.Region(region)
		name := strings.ToLower(d.run.Defs.Text(x.Name))
		switch {
		case x.Role == trace.RoleBarrier, x.Role == trace.RoleImplicitBarrier, strings.Contains(name, "barrier"):
			return waitBarrier
		case x.Role == trace.RoleTaskWait, strings.Contains(name, "taskwait"), strings.Contains(name, "taskgroup"):
			return waitTasks
		case strings.Contains(name, "join"):
			return waitJoin
		}
		return waitOther
	}
	return waitKinds
}

// thread takes a call of a thread: when it waits, in pieces between the calls inside of that, and its parallel regions.
func (d *Within) thread(p trace.P, rank uint32, c *xtf.Call) (err error) {
	put := func(what uint8, t uint64, kind uint8) {
		if err == nil && t != xtf.Never {
			err = d.put(p, rank, what, t, 0, 0, kind)
		}
	}
	open := d.open
	for n := len(open); n > 0 && (open[n-1].depth >= c.Depth || open[n-1].end <= c.T); n-- {
		open = open[:n-1]
	}
	if n := len(open); n > 0 && open[n-1].depth+1 == c.Depth && !open[n-1].parallel && c.T < c.End {
		put(threadPauses, c.T, 0)
		if c.End < open[n-1].end {
			put(threadWaits, c.End, open[n-1].kind)
		}
	}
	if x := (threadCall{end: c.End, depth: c.Depth, kind: d.waitKind(c.Region)}); c.T < c.End {
		r := d.run.Defs.Region(c.Region)
		if x.parallel = r != nil && r.Paradigm == trace.ParadigmOpenMP && r.Role == trace.RoleParallel; x.parallel {
			nested := uint8(0)
			for i := range open {
				if open[i].parallel {
					nested = 1
				}
			}
			put(threadForks, c.T, nested)
			put(threadJoins, c.End, nested)
			open = append(open, x)
		} else if x.kind < waitKinds {
			put(threadWaits, c.T, x.kind)
			put(threadReturns, c.End, x.kind)
			open = append(open, x)
		}
	}
	d.open = open
	return err
}

// notes takes what a thread did for others of its process.
func (d *Within) notes(p trace.P, rank uint32, notes io.Reader) error {
	if notes == nil {
		return nil
	}
	in := bufio.NewReader(notes)
	whats := [...]uint8{trace.NoteGives: threadGives, trace.NoteTakes: threadTakes, trace.NoteDone: threadDone}
	for {
		var b [trace.NoteBytes]byte
		if _, err := io.ReadFull(in, b[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		n, t := trace.ReadNote(b[:])
		if int(n.What) >= len(whats) {
			return ErrDamaged
		}
		if err := d.put(p, rank, whats[n.What], t, n.A, n.B, uint8(n.Class)); err != nil {
			return err
		}
	}
}

// given is when a thread did what others may wait for.
type given struct {
	t uint64
	p uint32
}

// noteName names what is given and taken.
type noteName struct {
	a     uint64
	b     uint32
	class uint8 // trace.NoteClass; of waits their kind
}

// waitOfThread is the wait that a thread is in, or was in last.
type waitOfThread struct {
	since, end uint64 // end: Never while it waits
	kind       uint8
	done       given         // the newest task of another thread that was complete meanwhile
	before     *waitOfThread // that is not over where this one begins: it ends at that instant, or this one is inside of it
}

// threadsNow is the threads of a process at an instant.
type threadsNow struct {
	waits   map[uint32]*waitOfThread
	given   map[noteName]given
	arrived [2]given        // the newest at a barrier, and the newest of another thread
	rooted  map[uint32]bool // in a parallel region, or started by another thread
	forker  uint32
	forks   int // open parallel regions, by thread
	nested  int // those inside of others
}

// waker is who let a thread go that waited until t for what no record tells: the only other one that did not wait all the time meanwhile, or
// had ended. It is at 0 where that could be several.
func (n *threadsNow) waker(p uint32, since, t uint64) (g given) {
	for other := range n.rooted { // the order does not matter
		w := n.waits[other]
		switch {
		case other == p || w != nil && w.end == xtf.Never && w.since <= since:
		case g.t > 0:
			return given{}
		case w != nil && w.end == xtf.Never:
			g = given{w.since, other}
		default:
			g = given{t, other}
		}
	}
	return g
}

// step goes on to what a thread does; jump says that its path goes over to another one at an instant.
func (n *threadsNow) step(what uint8, t uint64, p uint32, name noteName, jump func(t uint64, cause uint32) error) error {
	w := n.waits[p]
	if w != nil && w.before != nil && what >= threadTakes && what <= threadReturns { // records of the wait that ends come after the begin of this one
		before := w.before
		if what != threadTakes || w.since < t {
			w.before = nil
		}
		if w.since == t {
			w = before
		}
	}
	waited := func(g given, class trace.NoteClass) bool {
		if w == nil || g.p == p || g.t <= w.since || g.t > w.end || !n.rooted[g.p] && class != trace.NoteEnd {
			return false
		}
		switch class {
		case trace.NoteLock:
			return w.kind == waitLock
		case trace.NoteEnd:
			return w.kind == waitJoin
		}
		return w.kind == waitBarrier || w.kind == waitTasks
	}
	switch what {
	case threadGives:
		if name.class == uint8(trace.NoteEnd) {
			n.waits[p] = &waitOfThread{since: t, end: xtf.Never, kind: waitKinds} // for nothing any more
		}
		if _, ok := n.given[name]; ok || len(n.given) < mostGiven {
			n.given[name] = given{t, p}
		}
	case threadDone:
		for other, w := range n.waits {
			if w.end == xtf.Never && other != p {
				w.done = given{t, p}
			}
		}
	case threadWaits:
		var before *waitOfThread
		if w == nil {
			w = &waitOfThread{}
			n.waits[p] = w
		} else if w.end == xtf.Never && w.kind < waitKinds {
			before = &waitOfThread{since: w.since, end: w.end, kind: w.kind, done: w.done}
		}
		*w = waitOfThread{since: t, end: xtf.Never, kind: name.class, before: before}
		if w.kind == waitBarrier {
			if n.arrived[0].p != p {
				n.arrived[1] = n.arrived[0]
			}
			n.arrived[0] = given{t, p}
		}
	case threadTakes:
		g, ok := n.given[name]
		if name.class != uint8(trace.NoteLock) {
			delete(n.given, name)
		}
		switch {
		case name.class == uint8(trace.NoteBegin) && ok && g.p != p:
			n.rooted[p] = true
			delete(n.waits, p)
			return jump(t, g.p)
		case ok && waited(g, trace.NoteClass(name.class)):
			return jump(g.t, g.p)
		}
	case threadPauses, threadReturns:
		if w == nil || w.end != xtf.Never {
			break
		}
		w.end = t
		if what == threadPauses || n.nested > 0 {
			break
		}
		if w.kind == waitOther {
			if g := n.waker(p, w.since, t); g.t > w.since {
				return jump(g.t, g.p)
			}
			break
		}
		last := n.arrived[0]
		if last.p == p {
			last = n.arrived[1]
		}
		switch {
		case w.kind == waitBarrier && waited(last, trace.NoteTask):
			return jump(last.t, last.p)
		case w.kind == waitTasks && waited(w.done, trace.NoteTask):
			return jump(w.done.t, w.done.p)
		}
	case threadForks:
		if name.class > 0 {
			n.nested++
			break
		}
		if n.forks++; n.forks == 1 {
			n.forker = p
			break
		}
		if p != n.forker {
			n.rooted[p] = true
			return jump(t, n.forker)
		}
	case threadJoins:
		if name.class > 0 {
			n.nested--
		} else {
			n.forks--
		}
	}
	return nil
}

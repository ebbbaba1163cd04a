package causes

import (
	"bufio"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Kinds of waits of threads.
const (
	waitBarrier = iota
	waitTasks
	waitLock
	waitJoin  // for the end of another thread
	waitOther // such as a condition
	waitKinds
)

// mostGiven bounds threadsNow.given; what threads give beyond it is lost. Memory: about 64 bytes each.
const mostGiven = 1 << 20

// threadCall is an open call of a thread in which it waits, or an open parallel region.
type threadCall struct {
	end      uint64
	depth    uint32
	kind     uint8
	parallel bool
}

// waitKind returns how a thread waits in a region; waitKinds if it does not.
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

// thread makes the records of a call of a thread: its waits, cut at calls inside of them, and its parallel regions.
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

// notes makes records of the notes of a thread: what it did for others of its process.
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

// given is when, and which thread, did what others may wait for.
type given struct {
	t uint64
	p uint32
}

// noteName names what one thread gives and another one takes, such as a lock.
type noteName struct {
	a     uint64
	b     uint32
	class uint8 // trace.NoteClass; of waits their kind
}

// waitOfThread is the wait that a thread is in, or was in last.
type waitOfThread struct {
	since, end uint64 // end: Never while it waits
	kind       uint8
	done       given         // the last task of another thread that was complete meanwhile
	before     *waitOfThread // a wait not over when this one begins: it ends at that instant, or this one is inside of it
}

// threadsNow is the state of the threads of a process at an instant.
type threadsNow struct {
	waits   map[uint32]*waitOfThread // by thread
	given   map[noteName]given       // not taken yet
	arrived [2]given                 // the last thread that came to a barrier, and the last one before of another thread
	rooted  map[uint32]bool          // threads from which the path can come back: in a parallel region, or started by another thread
	forker  uint32                   // the thread that was in a parallel region first
	forks   int                      // open parallel regions of all threads
	nested  int                      // open parallel regions inside of others
}

// waker returns which thread let thread p go, that waited from since until t for what no record names, and since when that thread did not
// wait: the only other one that did not wait all the time. It returns zero if there are several.
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

// step takes a record of a thread. It calls jump if the path goes over from it to another one at an instant.
func (n *threadsNow) step(what uint8, t uint64, p uint32, name noteName, jump func(t uint64, cause uint32) error) error {
	w := n.waits[p]
	if w != nil && w.before != nil && what >= threadTakes && what <= threadReturns { // records of the wait before come after the begin of this one
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

package causes

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// threadRegions are what threads of random runs call; the first ones wait, in the way of that number.
var threadRegions = []struct {
	name string
	role trace.RegionRole
}{
	waitBarrier: {"barrier", trace.RoleImplicitBarrier}, waitTasks: {"taskwait", trace.RoleTaskWait}, waitLock: {"critical", trace.RoleCritical},
	waitJoin: {"pthread_join", trace.RoleFunction}, waitOther: {"pthread_cond_wait", trace.RoleFunction}, waitKinds: {"work", trace.RoleFunction},
	waitKinds + 1: {"parallel", trace.RoleParallel},
}

// threadEvent is what a thread does at an instant of its own.
type threadEvent struct {
	t    uint64
	p    uint32
	what uint8 // of a record of Within
	kind uint8 // of a wait; 1: a parallel region inside of another one of the thread
	note trace.ThreadNote
}

// threadRun is the threads of one process.
type threadRun struct {
	events []threadEvent
	calls  [][]xtf.Call
	notes  [][]byte
	last   uint64
}

// threadNow is a thread while a run is made.
type threadNow struct {
	open  []int // calls, the innermost one last
	ended bool
}

func randomThreads(r *rand.Rand, threads, steps int) *threadRun {
	x := &threadRun{calls: make([][]xtf.Call, threads), notes: make([][]byte, threads)}
	now := make([]threadNow, threads)
	for range steps {
		x.last++
		p := r.IntN(threads)
		if s := &now[p]; !s.ended {
			x.step(r, uint32(p), s)
		}
	}
	for p := range now {
		for len(now[p].open) > 0 {
			x.last++
			x.leave(uint32(p), &now[p])
		}
	}
	return x
}

func (x *threadRun) add(p uint32, what, kind uint8) {
	x.events = append(x.events, threadEvent{t: x.last, p: p, what: what, kind: kind})
}

func (x *threadRun) note(p uint32, what uint8, n trace.ThreadNote) {
	x.events = append(x.events, threadEvent{t: x.last, p: p, what: what, note: n})
	x.notes[p] = n.Append(x.notes[p], x.last)
}

// region is that of the innermost call of a thread, waitKinds for none.
func (x *threadRun) region(p uint32, s *threadNow) uint32 {
	if len(s.open) == 0 {
		return waitKinds
	}
	return x.calls[p][s.open[len(s.open)-1]].Region
}

func (x *threadRun) parallel(p uint32, s *threadNow) bool {
	return slices.ContainsFunc(s.open, func(i int) bool { return x.calls[p][i].Region == waitKinds+1 })
}

func (x *threadRun) enter(p uint32, s *threadNow, region uint32) {
	s.open = append(s.open, len(x.calls[p]))
	x.calls[p] = append(x.calls[p], xtf.Call{T: x.last, Region: region, Depth: uint32(len(s.open) - 1)})
}

// leave ends the innermost call of a thread.
func (x *threadRun) leave(p uint32, s *threadNow) {
	region := x.region(p, s)
	x.calls[p][s.open[len(s.open)-1]].End = x.last
	s.open = s.open[:len(s.open)-1]
	switch up := x.region(p, s); {
	case region < waitKinds:
		x.add(p, threadReturns, uint8(region))
	case region == waitKinds+1:
		x.add(p, threadJoins, map[bool]uint8{true: 1}[x.parallel(p, s)])
	case up < waitKinds:
		x.add(p, threadWaits, uint8(up))
	}
}

func (x *threadRun) step(r *rand.Rand, p uint32, s *threadNow) {
	region := x.region(p, s)
	waits := region < waitKinds
	note := trace.ThreadNote{Class: trace.NoteClass(r.IntN(4)), A: r.Uint64N(3), B: r.Uint32N(2)}
	switch k := r.IntN(10); {
	case k < 3 && len(s.open) > 0:
		x.leave(p, s)
	case k < 5 && !waits && len(s.open) < 3:
		kind := r.Uint32N(waitKinds)
		x.add(p, threadWaits, uint8(kind))
		x.enter(p, s, kind)
	case k == 5 && !waits && len(s.open) < 3 && region != waitKinds:
		x.add(p, threadForks, map[bool]uint8{true: 1}[x.parallel(p, s)])
		x.enter(p, s, waitKinds+1)
	case k == 5 && !waits && len(s.open) == 0:
		x.add(p, threadForks, 0)
		x.enter(p, s, waitKinds+1)
	case k == 6 && waits && region != waitBarrier:
		x.add(p, threadPauses, 0)
		x.enter(p, s, waitKinds)
	case k == 7:
		if note.Class == trace.NoteEnd {
			if len(s.open) > 0 {
				return
			}
			s.ended = true
		}
		note.What = trace.NoteGives
		x.note(p, threadGives, note)
	case k == 8:
		note.What = trace.NoteDone
		x.note(p, threadDone, note)
	default:
		note.What = trace.NoteTakes
		x.note(p, threadTakes, note)
	}
}

// threadWait is a wait of a thread, from index i of the events until it is paused or returns, which is index end.
type threadWait struct {
	begin, end int
	kind       uint8
}

// waitBefore is the newest wait of a thread before an event, which may be over.
func (x *threadRun) waitBefore(p uint32, i int) (w threadWait, ok bool) {
	for k, e := range x.events[:i] {
		switch {
		case e.p != p:
		case e.what == threadWaits:
			w, ok = threadWait{k, i, e.kind}, true
		case (e.what == threadPauses || e.what == threadReturns) && w.end == i:
			w.end = k
		case e.what == threadTakes && e.note.Class == trace.NoteBegin && x.given(k) >= 0 && x.events[x.given(k)].p != p:
			ok = false
		}
	}
	return w, ok
}

// given is the event that gives what an event takes, -1 for none. Only locks are taken more than once.
func (x *threadRun) given(i int) int {
	found, e := -1, x.events[i]
	for k, g := range x.events[:i] {
		n := g.note
		switch {
		case n.Class != e.note.Class || n.A != e.note.A || n.B != e.note.B:
		case g.what == threadGives:
			found = k
		case g.what == threadTakes && n.Class != trace.NoteLock:
			found = -1
		}
	}
	return found
}

// forked says of the begin of a thread's parallel region which thread was in one first, and how many regions inside of others are open.
func (x *threadRun) forked(i int) (first uint32, open, nested int) {
	for _, e := range x.events[:i] {
		n := map[uint8]int{threadForks: 1, threadJoins: -1}[e.what]
		if e.kind > 0 {
			nested += n
			continue
		}
		if open += n; n > 0 && open == 1 {
			first = e.p
		}
	}
	return first, open, nested
}

// rooted reports whether the path can come back from a thread: it is the first one, was started, or was in a parallel region of another one.
func (x *threadRun) rooted(p uint32, i int) bool {
	for k, e := range x.events[:i] {
		if e.p != p {
			continue
		}
		if g := -1; e.what == threadTakes && e.note.Class == trace.NoteBegin {
			if g = x.given(k); g >= 0 && x.events[g].p != p {
				return true
			}
		}
		if first, open, _ := x.forked(k); e.what == threadForks && e.kind == 0 && open > 0 && first != p {
			return true
		}
	}
	return p == 0
}

// slowJump says where the path goes over from the thread of an event.
func (x *threadRun) slowJump(i int) (r withinRow, ok bool) {
	e := x.events[i]
	to := func(t uint64, cause uint32) (withinRow, bool) {
		return withinRow{p: e.p, begin: t, end: t, cause: cause, kind: pathJump}, true
	}
	if e.what == threadForks && e.kind == 0 {
		if first, open, _ := x.forked(i); open > 0 && first != e.p {
			return to(e.t, first)
		}
		return r, false
	}
	w, waited := x.waitBefore(e.p, i)
	in := func(k int) bool { // the event lies in the wait, and the path can come back
		return waited && k > w.begin && k <= w.end && x.events[k].p != e.p && x.rooted(x.events[k].p, i)
	}
	switch _, _, nested := x.forked(i); {
	case e.what == threadTakes:
		g := x.given(i)
		if g < 0 || x.events[g].p == e.p {
			return r, false
		}
		switch e.note.Class {
		case trace.NoteBegin:
			return to(e.t, x.events[g].p)
		case trace.NoteEnd:
			ok = waited && w.kind == waitJoin && g > w.begin && g <= w.end
		case trace.NoteLock:
			ok = w.kind == waitLock && in(g)
		case trace.NoteTask:
			ok = (w.kind == waitBarrier || w.kind == waitTasks) && in(g)
		}
		if ok {
			return to(x.events[g].t, x.events[g].p)
		}
	case e.what == threadReturns && nested == 0 && waited && w.end == i:
		if w.kind == waitOther {
			return x.slowWaker(i, &w)
		}
		what, kind := map[uint8]uint8{waitBarrier: threadWaits, waitTasks: threadDone}[w.kind], w.kind
		for k := i - 1; k >= 0 && what > 0; k-- {
			if v := x.events[k]; v.p != e.p && v.what == what && (what == threadDone || v.kind == kind) {
				if in(k) {
					return to(v.t, v.p)
				}
				break
			}
		}
	}
	return r, false
}

// slowWaker is the only other thread that did something while a thread waited for what no record names: until it began to wait itself.
func (x *threadRun) slowWaker(i int, w *threadWait) (r withinRow, ok bool) {
	e := x.events[i]
	for p := range uint32(len(x.calls)) {
		if p == e.p || !x.rooted(p, i) {
			continue
		}
		at, waits := e.t, false
		if v, has := x.waitBefore(p, i); has && v.end == i {
			at, waits = x.events[v.begin].t, true
		}
		for k, g := range x.events[:i] {
			if g.p == p && g.what == threadGives && g.note.Class == trace.NoteEnd {
				at, waits = x.events[k].t, true
			}
		}
		if waits && at <= x.events[w.begin].t {
			continue
		}
		if ok {
			return r, false
		}
		r, ok = withinRow{p: e.p, begin: at, end: at, cause: p, kind: pathJump}, true
	}
	return r, ok
}

// TestWithinThreads compares where the path leaves the threads of random runs with a search of all that happened before.
func TestWithinThreads(t *testing.T) {
	jumps := map[uint8]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 23))
		x := randomThreads(r, 2+r.IntN(3), 20+r.IntN(150))
		var want []withinRow
		for i := range x.events {
			if row, ok := x.slowJump(i); ok {
				want = append(want, row)
				jumps[x.events[i].what]++
			}
		}
		got, err := x.find(t)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, compareRows)
		slices.SortFunc(got, compareRows)
		if d := gocmp.Diff(want, got, gocmp.AllowUnexported(withinRow{})); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
	}
	if jumps[threadTakes]*jumps[threadReturns]*jumps[threadForks] == 0 {
		t.Errorf("the runs miss a case: %v", jumps)
	}
}

func compareRows(a, b withinRow) int { return bytes.Compare(a.append(nil), b.append(nil)) }

// find runs Within.
func (x *threadRun) find(tb testing.TB) (list []withinRow, err error) {
	d := &trace.Definitions{SystemTreeNodes: []trace.SystemTreeNode{{Parent: trace.Undefined}}, LocationGroups: []trace.LocationGroup{{Type: 1, Creator: trace.Undefined}}}
	for i, region := range threadRegions {
		paradigm := trace.ParadigmOpenMP
		if region.role == trace.RoleFunction {
			paradigm = trace.ParadigmPthread
		}
		d.Strings = append(d.Strings, trace.String{Ref: uint32(i), Value: region.name})
		d.Regions = append(d.Regions, trace.Region{Ref: uint32(i), Name: uint32(i), Role: region.role, Paradigm: paradigm})
	}
	for p := range x.calls {
		d.Locations = append(d.Locations, trace.Location{Ref: uint64(p), Type: trace.CPUThread})
	}
	d.Seal()
	run := &Run{Comm: mpi.Serial(), Defs: d, Ranges: []partition.Range{{End: trace.P(len(x.calls))}}, Storage: heapStorage(), Last: x.last}
	w := NewWithin(run, true)
	defer w.Close()
	for p, calls := range x.calls {
		if e := w.Location(trace.P(p), packed(tb, xtf.TypeCall, calls), nil, bytes.NewReader(x.notes[p]), callpath.New(), nil); err == nil {
			err = e
		}
	}
	if err := w.Match(err); err != nil {
		return nil, err
	}
	for p := range trace.P(len(x.calls)) {
		for {
			r, err := w.take(p, xtf.Never)
			if err != nil {
				return nil, err
			}
			if r == nil {
				break
			}
			list = append(list, *r)
		}
	}
	return list, nil
}

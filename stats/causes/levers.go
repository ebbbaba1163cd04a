package causes

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Whole is the share that leaves a time as it is.
const Whole Share = 1_000_000

// Share is the part of a time that is left, in units of 1/Whole.
type Share uint64

// Of returns what is left of a time, rounded down. A caller that cuts a time into parts takes differences of Of, so that they add up.
func (s Share) Of(ticks uint64) uint64 {
	hi, lo := bits.Mul64(ticks, uint64(s))
	q, _ := bits.Div64(hi%uint64(Whole), lo, uint64(Whole))
	return q
}

// Place is where a location spends time outside of MPI calls.
type Place struct {
	P        trace.P
	Path     uint32 // of the run
	Activity uint32
	Node     uint32
}

// Lever is a change of the program. A nil function changes nothing.
type Lever struct {
	Work func(x Place) Share           // what is left of time outside of MPI calls
	Call func(path uint32) ChangedCall // how the outermost MPI calls of a path change
}

// ChangedCall is how an outermost MPI call changes.
type ChangedCall struct {
	Removed  bool  // it does nothing, and nobody waits for it
	Waitless bool  // it waits for nobody
	Answered bool  // a send that waits for its receive waits only until the receiver is in a call, as if the receive were posted early
	Own      Share // what is left of its time, apart from waiting
}

// Moved is how long the calls of a path waited in the trace, and how much longer they wait in the replay; ticks, modulo 2^64.
type Moved struct {
	Path          uint32
	Waited, Later uint64
}

// Outcome is what a lever does to the run.
type Outcome struct {
	Runtime uint64  // ticks from 0 to the last event of a location with MPI calls
	Moved   []Moved // by path
	Ignored uint64  // dependencies that the trace contradicts
}

// Levers replays a run with changes of the program, from its measured times:
//
//	time outside of MPI calls   what the lever leaves of it
//	MPI call                    it waits until the last instant that it depends on, as in Ideal, then takes as long as it took in
//	                            the trace after that instant
//	nonblocking send            the call that completes it also waits for the receiver, if in the trace it left soon after the receiver
//	                            came or began any call, and no other dependency explains why it stayed
//	member of a collective      it also waits for all members, if in the trace it left soon after the last one came, and no other
//	                            dependency explains why it stayed; in a nonblocking collective it waits until the last member comes to
//	                            complete it, if a member shows that it had to
//
// So the replay of the unchanged run gives its runtime, to the tick. If a call waits for something for which it did not wait in the
// trace, its transfer takes no time. Levers change neither which messages a program receives nor how often it tests; threads do not wait
// for each other.
//
// Try and Times come after Pass and Deal for all locations, without waits. Memory: that of Replay with 32 bytes for each step of a slab
// and 12 for each piece of its time lines, once; and for each lever tried at once what Replay has for locations and values, 16 bytes for
// each path and 40 for each (activity, path, node) of each location.
type Levers struct {
	Replay
	Lasts []uint64 // by location: its last event, 0 without MPI calls; of all, on all ranks
}

// leverPlan is a lever that is tried.
type leverPlan struct {
	*Lever
	calls []ChangedCall // by path

	answers bool // some calls are Answered
}

// answer marks a key, a message row: its value is the instant until which an Answered send waits.
const answer = 1 << 63

// removes reports whether the lever removes an operation that the current call begins.
func (l *leverPlan) removes(x *position, o *replayOp) bool {
	return o.t == x.enter && l.calls[x.path].Removed
}

// waited is how long calls of a path wait in the replay, late, and in the trace, need; modulo 2^64.
type waited struct {
	path       uint32
	late, need uint64
}

// AtOnce returns how many levers to try at once, so that crossings take less than 256 MiB.
func (r *Levers) AtOnce() int {
	const most, place = 32, 104 // levers; bytes of a location in a crossing
	slabs := r.parcels.slabs.count()/r.Comm.Size() + 2
	return max(min(most, 256<<20/(slabs*max(r.Defs.NumLocations(), 1)*place)), 1)
}

// Try replays the run with each of several levers alone. Collective.
func (r *Levers) Try(list ...*Lever) (out []*Outcome, err error) {
	fs := make(flows, len(list))
	read := &slabSteps{}
	for i, l := range list {
		fs[i] = r.plan(l)
		fs[i].read = read
	}
	last, err := fs.runSlabs(r.Defs.NumLocations())
	if err != nil {
		return nil, err
	}
	for i, f := range fs {
		var end *crossing
		if last != nil {
			end = last[i]
		}
		x, err := r.outcome(f, end)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// plan prepares a replay with a lever.
func (r *Levers) plan(l *Lever) *flow {
	plan := &leverPlan{Lever: l, calls: make([]ChangedCall, len(r.Regions))}
	for path := range plan.calls {
		plan.calls[path].Own = Whole
		if l.Call != nil {
			plan.calls[path] = l.Call(uint32(path))
			plan.answers = plan.answers || plan.calls[path].Answered
		}
	}
	x := r.Replay
	x.lever = plan
	f := x.begin()
	f.waited = make([]waited, len(r.Regions))
	return f
}

// outcome adds up what a replay found over the ranks. last is the crossing at its end, on the rank that has it, else nil.
func (r *Levers) outcome(f *flow, last *crossing) (*Outcome, error) {
	out := &Outcome{}
	sums := make([]int64, 2*len(r.Regions)+1)
	for i := range f.runs {
		for _, w := range f.runs[i].waited {
			sums[2*w.path] += int64(w.late)
			sums[2*w.path+1] += int64(w.need)
		}
		sums[len(sums)-1] += int64(f.runs[i].ignored)
	}
	if err := r.Comm.AllreduceInt64(sums, mpi.Sum); err != nil {
		return nil, err
	}
	for path := range r.Regions {
		if w := sums[2*path:]; w[0] != 0 || w[1] != 0 {
			out.Moved = append(out.Moved, Moved{uint32(path), uint64(w[1]), uint64(w[0] - w[1])})
		}
	}
	out.Ignored = uint64(sums[len(sums)-1])
	end := []int64{0}
	if last != nil {
		for p := range last.places {
			if t := r.Lasts[p]; t > 0 {
				end[0] = max(end[0], int64(t-last.places[p].lag()))
			}
		}
	}
	err := r.Comm.AllreduceInt64(end, mpi.Max)
	out.Runtime = uint64(end[0])
	return out, err
}

// work is the time line of a location in a slab, and what a lever leaves of it.
type work struct {
	line  *lineSlab
	i     int      // current piece
	at    uint64   // the time before was taken
	share []Share  // by number of a key; nil: Whole for all
	ticks []uint64 // by number of a key: ticks so far
	knots *knots   // nil: nobody asks for them
}

// beginWork begins the time lines of the slab.
func (f *flow) beginWork() {
	for p := range f.places {
		x, line := &f.places[p].work, &f.read.lines[p]
		*x = work{line: line, at: line.start}
		if f.knots != nil {
			x.knots = &f.knots[p]
		}
		if f.run.active[p] = true; f.r.lever.Work == nil {
			continue
		}
		for n, k := range line.keys {
			share := Whole
			switch activity := activityOf(k.key); activity {
			case xtf.ActivityMPI, xtf.ActivityMarker, xtf.ActivityWait, xtf.ActivityOutside:
			default:
				share = f.r.lever.Work(Place{trace.P(p), uint32(k.key >> activityBits), activity, k.node})
			}
			if share != Whole && x.share == nil {
				x.share, x.ticks = slices.Repeat([]Share{Whole}, len(line.keys)), slices.Clone(line.base)
			}
			if x.share != nil {
				x.share[n] = share
			}
		}
	}
}

// shorten takes the time up to instant t, and returns how much shorter the lever makes it. lag is how much later it is in the trace than
// in the replay.
func (x *work) shorten(t, lag uint64) (less uint64) {
	if x.share == nil {
		return 0
	}
	ends, ids := x.line.ends, x.line.ids
	for x.i < len(ends) && x.at < t {
		e, id := min(ends[x.i], t), ids[x.i]
		if s := x.share[id>>pieceBits]; s != Whole && id&pieceWaits == 0 {
			is, n := &x.ticks[id>>pieceBits], e-x.at
			x.knots.add(x.at, x.at-lag-less)
			less += n - (s.Of(*is+n) - s.Of(*is))
			x.knots.add(e, e-lag-less)
			*is += n
		}
		if x.at = e; e == ends[x.i] {
			x.i++
		}
	}
	return less
}

// leverStep does one step of a location, false if it has to wait.
func (f *flow) leverStep(p uint32, x *walker) bool {
	o := x.op
	switch o.kind {
	case stepCall:
		x.workTo(o.t)
		x.before, x.enter, x.leave, x.told = x.lag(), o.t, o.key, false
		if x.work.knots != nil {
			x.work.knots.call(x.enter, x.enter-x.before, false)
		}
		f.beginCall(x, o.peer)
	case stepResume:
		if f.guess {
			x.before, x.enter, x.leave = 0, o.t, o.key
			f.beginCall(x, o.peer)
		}
	case stepSend:
		x.early(o.t)
		f.give(valueKey{o.peer, 0, o.key}, x.moment(o.t))
	case stepNeed, stepDrop:
		v, ok := f.receive(p, valueKey{p, 0, o.key})
		if !ok {
			return false
		}
		if f.r.lever.answers {
			if a, ok := f.read.values.take(valueKey{p, 0, o.key | answer}); ok && f.r.lever.calls[x.path].Answered {
				v.v = min(v.v, a.v)
			}
		}
		if o.kind == stepNeed && (o.coll != onPath || v.m > x.enter+x.need && soonAfter(x.enter, v.m, x.leave)) {
			f.depend(x, v)
		}
	case stepAnswer:
		if o.coll == onPath {
			f.give(valueKey{o.peer, 0, o.key}, instant{x.enter - x.before, x.enter})
		} else if k := (valueKey{o.peer, 0, o.key | answer}); f.r.lever.answers && uint64(o.peer) < uint64(len(f.places)) {
			x.early(o.t)
			f.read.values.put(k, x.moment(o.t))
		}
	case stepProbe:
		k := valueKey{p, 0, o.key}
		v, ok := f.receive(p, k)
		if !ok {
			return false
		}
		if v != (instant{}) {
			f.read.values.put(k, v)
		}
		f.depend(x, v)
	case stepEnter, stepJoin, stepAttend:
		x.early(o.t)
		f.enter(p, o, x.moment(o.t))
	case stepResult, stepMeet:
		if f.r.lever.calls[x.path].Removed {
			return true
		}
		if o.kind == stepMeet && o.key&atEnd == 0 {
			o = o.ofAll()
		}
		v, ok := f.result(p, o)
		if !ok {
			return false
		}
		if x.op.kind == stepResult || v.m > x.enter+x.need || o.key&atEnd != 0 { // what it needs does not say why it stayed so long
			f.depend(x, v)
		}
	}
	return true
}

// early takes the time before an operation that begins after the last call.
func (x *walker) early(t uint64) {
	if t > x.leave {
		x.workTo(t)
	}
}

// workTo takes the time after the last call up to an instant.
func (x *walker) workTo(t uint64) {
	if t >= x.leave && (x.work.share != nil || x.work.knots != nil) {
		lag := x.lag()
		if x.leave > 0 && !x.told {
			x.work.knots.call(x.leave, x.leave-lag, true)
			x.told = true
		}
		x.before += x.work.shorten(t, lag)
	}
}

// beginCall begins a call on a path.
func (f *flow) beginCall(x *walker, path uint32) {
	if uint64(path) >= uint64(len(f.waited)) {
		path = 0 // of a file that is damaged
	}
	x.need, x.late, x.path = 0, 0, path
	f.lasts(x)
}

// lasts sets how long the current call lasts: it waits, and then takes what the lever leaves of the time after the wait in the trace.
func (f *flow) lasts(x *walker) {
	c := &f.r.lever.calls[x.path]
	switch own := x.leave - x.enter - x.need; {
	case c.Removed:
		x.wait = 0
	case c.Own == Whole:
		x.wait = x.late + own
	default:
		x.wait = x.late + c.Own.Of(own)
	}
}

// depend makes the current call wait for an instant. It ignores an instant after the end of the call in the trace: the call did not
// wait for that.
func (f *flow) depend(x *walker, v instant) {
	if v.m > x.leave {
		f.run.ignored++
		return
	}
	late, need := x.late, x.need
	if from := x.enter - x.before; v.v > from && !f.r.lever.calls[x.path].Waitless {
		x.late = max(x.late, v.v-from)
	}
	if v.m > x.enter {
		x.need = max(x.need, v.m-x.enter)
	}
	if x.late == late && x.need == need {
		return
	}
	sum := &f.waited[x.path]
	if *sum == (waited{}) {
		f.moved = append(f.moved, x.path)
	}
	*sum = waited{x.path, sum.late + x.late - late, sum.need + x.need - need}
	f.lasts(x)
}

// goOn releases, among the locations that wait, that whose call ended first in the trace; what it waits for comes later. It reports
// whether there is one.
func (f *flow) goOn() bool {
	first := -1
	for p := range f.places {
		if x := &f.places[p]; x.held && !x.skipped && (first < 0 || x.leave < f.places[first].leave) {
			first = p
		}
	}
	if first < 0 {
		return false
	}
	f.places[first].skipped = true
	f.run.ignored++
	f.push(uint32(first))
	return true
}

// Own iterates over the places of the current location, after End, and the ticks that it spent there.
func (w *Pass) Own() iter.Seq2[Place, uint64] {
	return func(yield func(Place, uint64) bool) {
		for _, s := range w.slots.list[1:] {
			if s.total > 0 && !yield(Place{w.p, uint32(s.key >> activityBits), activityOf(s.key), s.node}, s.total) {
				return
			}
		}
	}
}

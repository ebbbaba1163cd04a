package trace

import (
	"math"
	"math/bits"
	"slices"
)

// Frames adds to the events of one location the calls that only calling contexts tell of: frames that a tracer found on the
// stack, of a sample or above a call that it recorded. What it adds are events Enter and Leave with the flag Estimated, so
// that whoever reads them sees one stack of calls. Recorded events stay as they are and in their order.
//
// A sample or a recorded enter has a path of frames, which is on the stack at its time. Frames of the path that are not open are
// entered then, and open frames that are not in it are left then: the path of a sample holds until the next record of a calling
// context. Score-P does the same where it turns calling contexts into enters and leaves. But a thread that sleeps has no samples
// of a timer of processor time, and it sleeps elsewhere than where it computed before. So frames are left ten periods after the
// newest sample, where the record that does not show them any more comes later.
//
// If k of n samples have a path, it holds for k of n periods. Whether a path holds for the time after its sample or for the time
// before makes no difference to that expected value, except where recorded calls without a context end the path: see pieces.
//
// Frames that two paths have in common stay open, as far as the unwind distance allows. Tracers that do not follow frames write a
// distance by which all frames above the innermost recorded call are new. It is only a bound: there the regions decide, and calls
// that follow each other count as one.
//
// Calls between records of plain Enter and Leave have no frames: nothing says from which frame they were called. After a switch
// of tasks no frames are added, since contexts do not say whose they are.
//
// Memory: 8 bytes for each open call, mostFrameEvents events. It keeps no batch.
type Frames struct {
	defs  *Definitions
	stack []frameCall
	base  int      // calls up to the innermost recorded one; frames above it can be left
	path  []uint32 // regions of the newest calling context, outermost first
	off   bool     // tasks switch
	calls uint64   // recorded since then, and still open
	last  Time
	prior Time // of the event before
	seen  Time // of the newest record of a calling context
	held  Time // ticks for which its frames hold that the next record does not show; 0: until that record
	timer uint64
	piece pieces
	next  uint64 // number of the next event
	args  []uint64
	out   Batch
	add   func(*Batch) error
	err   error
}

type frameCall struct {
	region   uint32
	recorded bool
}

// Bounds of what a record may cost.
const (
	mostContexts    = 1 << 10 // of a path; a longer one tells nothing
	mostFrameEvents = 1 << 12 // that are passed on at once, or a few more
)

// mostPeriods is the number of periods for which the path of a sample holds without another record.
const mostPeriods = 10

// NewFrames prepares the pass over one location. add gets the events, in batches that are valid until it returns.
func NewFrames(defs *Definitions, add func(*Batch) error) *Frames {
	return &Frames{defs: defs, add: add, timer: math.MaxUint64}
}

// Add takes the next events of the location, as they were recorded.
func (f *Frames) Add(b *Batch) error {
	f.args = b.Args
	for i := range b.Events {
		e := &b.Events[i]
		f.prior, f.last = f.last, e.Time
		f.piece.spare += mostAdded
		f.before(b, e)
		f.put(*e)
		if f.err != nil {
			return f.err
		}
	}
	f.flush()
	return f.err
}

// Finish leaves the frames that are open at the last event, except those below recorded calls that are open too.
func (f *Frames) Finish() error {
	f.leaveTo(f.base)
	f.flush()
	return f.err
}

// before adds what happens before an event, and follows the event itself.
func (f *Frames) before(b *Batch, e *Event) {
	switch e.Kind {
	case Enter:
		f.endPiece(e)
		f.leaveTo(f.base)
		f.enter(Joined(f.defs, e.Ref))
		f.piece.begin(e)
	case Leave:
		f.endPiece(e)
		f.leave(Joined(f.defs, e.Ref))
		f.piece.begin(e)
	case CallingContextEnter:
		f.piece.open = false
		w := b.Words(e)
		parent := uint32(Undefined)
		if c := f.defs.Context(uint32(w[0])); c != nil {
			parent = c.Parent
		}
		f.unwind(parent, max(w[1], 1)-1, f.last)
		region, _ := f.defs.ContextRegion(uint32(w[0]))
		f.enter(region)
		f.seen = f.last
	case CallingContextLeave:
		f.piece.open = false
		region, _ := f.defs.ContextRegion(uint32(b.Words(e)[0]))
		f.leave(region)
		f.seen = f.last
	case CallingContextSample:
		w := b.Words(e)
		f.unwind(uint32(w[0]), w[1], f.piece.sample(uint32(w[0]), w[1], f.last, f.prior))
		f.seen = f.last
		f.hold(w[2])
	case OmpTaskSwitch, ThreadTaskSwitch:
		f.piece.open = false
		f.leaveTo(f.base)
		f.off = true
	}
}

// endPiece ends a piece of own code before an event, and adds frames to a piece without a sample.
func (f *Frames) endPiece(e *Event) {
	until := f.last
	if f.held > 0 && until-f.seen > f.held {
		until = f.seen + f.held
	}
	if s := f.piece.end(e, until); s != nil {
		f.unwind(s.context, s.distance, f.prior)
		f.piece.spare -= 2 * int64(len(f.stack)-f.base)
		f.seen = f.last
	}
}

// enter follows a recorded call.
func (f *Frames) enter(region uint32) {
	if f.off {
		f.calls++
		return
	}
	f.stack = append(f.stack, frameCall{region, true})
	f.base = len(f.stack)
}

// leave follows the end of a recorded call; without an open one it does nothing.
func (f *Frames) leave(region uint32) {
	if f.calls > 0 {
		f.calls--
		return
	}
	f.leaveTo(f.base)
	if f.base == 0 || f.stack[f.base-1].region != region {
		return
	}
	f.base--
	f.stack = f.stack[:f.base]
	for f.base > 0 && !f.stack[f.base-1].recorded {
		f.base--
	}
}

// unwind makes the frames above the innermost recorded call those of a calling context, and enters the new ones at an instant.
func (f *Frames) unwind(context uint32, distance uint64, since Time) {
	tail, ok := f.above(context)
	if !ok || f.off {
		f.leaveTo(f.base)
		return
	}
	most := len(tail) // frames that may stay open
	if entered := max(distance, 1) - 1; entered < uint64(len(tail)) {
		most -= int(entered)
	}
	open := f.stack[f.base:]
	kept := 0
	for kept < min(most, len(open), len(tail)) && open[kept].region == tail[kept] {
		kept++
	}
	f.leaveTo(f.base + kept)
	for _, region := range tail[kept:] {
		f.stack = append(f.stack, frameCall{region, false})
		f.put(Event{Time: since, Kind: Enter, Ref: region, Flags: Estimated})
	}
}

// above returns the regions of a calling context above the innermost recorded call, and false where the recorded calls are
// not in it, in their order.
func (f *Frames) above(context uint32) ([]uint32, bool) {
	f.path = f.path[:0]
	for c := f.defs.Context(context); c != nil; c = f.defs.Context(c.Parent) {
		if len(f.path) == mostContexts {
			return nil, false
		}
		f.path = append(f.path, Joined(f.defs, c.Region))
	}
	slices.Reverse(f.path)
	at := 0
	for at < min(f.base, len(f.path)) && f.path[at] == f.stack[at].region {
		at++
	}
	if at == f.base {
		return f.path[at:], true
	}
	at = 0 // calls without a context lie on frames that no record names
	for _, c := range f.stack[:f.base] {
		if !c.recorded {
			continue
		}
		for at < len(f.path) && f.path[at] != c.region {
			at++
		}
		if at == len(f.path) {
			return nil, false
		}
		at++
	}
	return f.path[at:], true
}

// hold notes for how long the frames of a sample hold, by the generator that interrupted the thread.
func (f *Frames) hold(generator uint64) {
	if generator == f.timer {
		return
	}
	f.timer, f.held, f.piece.period = generator, 0, 0
	for i := range f.defs.InterruptGenerators {
		g := &f.defs.InterruptGenerators[i]
		if ticks, ok := f.defs.PeriodTicks(g); ok && uint64(g.Ref) == generator && ticks < math.MaxUint64/mostPeriods {
			f.held = Time(ticks * mostPeriods)
			if ticks < mostPeriod {
				f.piece.period = int64(ticks)
			}
		}
	}
}

// leaveTo leaves frames until n calls are open.
func (f *Frames) leaveTo(n int) {
	at := f.last
	if f.held > 0 && at > f.seen && at-f.seen > f.held {
		at = max(f.seen+f.held, f.prior)
	}
	for i := len(f.stack) - 1; i >= n; i-- {
		f.put(Event{Time: at, Kind: Leave, Ref: f.stack[i].region, Flags: Estimated})
	}
	f.stack = f.stack[:n]
}

func (f *Frames) put(e Event) {
	f.out.Events = append(f.out.Events, e)
	if len(f.out.Events) >= mostFrameEvents {
		f.flush()
	}
}

// flush passes on the events that are waiting.
func (f *Frames) flush() {
	if f.err == nil && len(f.out.Events) > 0 {
		f.out.First, f.out.Args = f.next, f.args
		f.err = f.add(&f.out)
		f.next += uint64(len(f.out.Events))
	}
	f.out.Events = f.out.Events[:0]
}

// PeriodTicks returns how many ticks lie between two interrupts of a generator, and false where it counts something else
// than time.
func (d *Definitions) PeriodTicks(g *InterruptGenerator) (uint64, bool) {
	if g.Mode != 0 || g.Base > 1 || g.Exponent < -64 || g.Exponent > 64 {
		return 0, false
	}
	high, ticks := bits.Mul64(g.Period, d.Clock().TimerResolution)
	base := uint64(2 + 8*g.Base)
	for range max(g.Exponent, 0) {
		if high == 0 {
			high, ticks = bits.Mul64(ticks, base)
		}
	}
	for range max(-g.Exponent, 0) {
		ticks /= base
	}
	return ticks, high == 0 && ticks > 0
}

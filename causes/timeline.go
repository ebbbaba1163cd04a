package causes

import (
	"cmp"
	"encoding/binary"
	"io"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Paths is the call paths of one location, numbered as they appear.
type Paths interface {
	// Child returns the path of a call of region from path parent; 0 is outside all calls.
	Child(parent, region uint32) uint32
}

// Location is what a pass reads of a location. Cursors are nil where there are no
// rows.
type Location struct {
	Calls     *xtf.Cursor // CALL
	Intervals *xtf.Cursor // IVAL
	Paths     Paths       // empty; calls are added in their order
	Global    []uint32    // of each of these paths, its number in the whole run

	Overhead io.Reader // when records tell overhead of the measurement: begin, end u64 little-endian, in order and apart; nil for never

	First, Last uint64 // its events, ticks
}

// state is what a location does for a while.
type state struct {
	region, activity, path, node uint32
}

// timeline says what a location does at each instant: its activity is that of the
// outermost MPI call or marker, else overhead where records tell it, else that of the
// outermost call with an activity of its own; its path that of the innermost
// call, its node the innermost interval made by markers. Before its first event and
// after its last one it is outside, in no call and in the root. Memory: 32 bytes per open
// call, 16 per open interval.
type timeline struct {
	state
	at        uint64 // the state holds from here ...
	until     uint64 // ... to here, where something changes
	location  *Location
	derived   []bool
	calls     xtf.Rows[xtf.Call]
	intervals xtf.Rows[xtf.Ival]
	stack     []openCall
	nodes     []openNode
	busy      [2]uint64 // overhead: the span in hand, or the next one; Never after the last
	busyErr   error
	script    *replayScript // gets the MPI calls and the executions
}

type openCall struct {
	end   uint64
	local uint32
	state state // without its node
}

type openNode struct {
	end  uint64
	node uint32
}

// newTimeline begins at tick 0. Intervals whose node is derived have no part in
// the state.
func newTimeline(l *Location, derived []bool, script *replayScript) *timeline {
	x := &timeline{location: l, derived: derived, script: script}
	x.calls = xtf.RowsOf[xtf.Call](l.Calls.Only(xtf.CallEnd, xtf.CallRegion, xtf.CallDepth, xtf.CallFlags))
	x.intervals = xtf.RowsOf[xtf.Ival](l.Intervals.Only(xtf.IvalEnd, xtf.IvalNode))
	x.calls.Next()
	x.intervals.Next()
	x.nextBusy()
	x.enter(0)
	return x
}

// nextBusy takes the next span of overhead.
func (x *timeline) nextBusy() {
	var b [16]byte
	err := io.EOF
	if x.location.Overhead != nil {
		_, err = io.ReadFull(x.location.Overhead, b[:])
	}
	if err != nil {
		x.busy = [2]uint64{xtf.Never, xtf.Never}
		if err != io.EOF {
			x.busyErr = err
		}
		return
	}
	x.busy = [2]uint64{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// enterOverhead makes the state overhead where records tell it at instant t, but in
// calls of MPI and outside of the events.
func (x *timeline) enterOverhead(t uint64) {
	for x.busy[1] <= t && x.busy[1] != xtf.Never {
		x.nextBusy()
	}
	if t < x.busy[0] {
		x.until = min(x.until, x.busy[0])
		return
	}
	x.until = min(x.until, x.busy[1])
	switch x.activity {
	case xtf.ActivityMPI, xtf.ActivityMarker, xtf.ActivityOutside:
	default:
		x.activity = xtf.ActivityOverhead
	}
}

// enter makes the state that of instant t, at which something changes.
func (x *timeline) enter(t uint64) {
	x.at = t
	x.enterIntervals(t)
	x.enterCalls(t)
	x.until = xtf.Never
	x.state = state{region: trace.Undefined}
	switch {
	case t < x.location.First:
		x.activity, x.until = xtf.ActivityOutside, x.location.First
	case t < x.location.Last:
		x.until = x.location.Last
	default:
		x.activity = xtf.ActivityOutside
	}
	if x.calls.More {
		x.until = min(x.until, x.calls.Row.T)
	}
	if n := len(x.stack); n > 0 {
		x.until, x.state = min(x.until, x.stack[n-1].end), x.stack[n-1].state
	}
	x.enterOverhead(t)
	if x.intervals.More {
		x.until = min(x.until, x.intervals.Row.T)
	}
	if n := len(x.nodes); n > 0 {
		x.until, x.node = min(x.until, x.nodes[n-1].end), x.nodes[n-1].node
	}
}

// enterCalls opens and closes calls up to instant t. Calls are nested and come in
// the order of their enters, so those opened at t decide before those that end.
func (x *timeline) enterCalls(t uint64) {
	for x.calls.More && x.calls.Row.T <= t {
		c := &x.calls.Row
		x.stack = x.stack[:min(int(c.Depth), len(x.stack))]
		o := openCall{end: c.End}
		if n := len(x.stack); n > 0 {
			o.local, o.state = x.stack[n-1].local, x.stack[n-1].state
			o.end = min(o.end, x.stack[n-1].end)
		}
		o.local = x.location.Paths.Child(o.local, c.Region)
		if uint64(o.local) < uint64(len(x.location.Global)) {
			o.state.path = x.location.Global[o.local]
		}
		o.state.region = c.Region
		switch {
		case c.Flags&xtf.FlagMarker != 0:
			o.state.activity = xtf.ActivityMarker
		case c.Flags&xtf.FlagOutermostMPI != 0:
			o.state.activity = xtf.ActivityMPI
			x.script.call(c.T, c.End, x.calls.Cursor.N())
		default:
			if len(xtf.InsideOf(c.Flags)) > 0 {
				o.state.activity = xtf.ActivityCPU
			}
			if s := xtf.AsideOf(c.Flags); s != trace.StateOwn {
				o.state.activity = xtf.States[s].Activity
			}
		}
		x.stack = append(x.stack, o)
		x.calls.Next()
	}
	for n := len(x.stack); n > 0 && x.stack[n-1].end <= t; n = len(x.stack) {
		x.stack = x.stack[:n-1]
	}
}

// enterIntervals opens and closes intervals up to instant t. The root is not
// among the open ones.
func (x *timeline) enterIntervals(t uint64) {
	for x.intervals.More && x.intervals.Row.T <= t {
		i := &x.intervals.Row
		x.script.ivals.push(execution{i.T, i.End, x.intervals.Cursor.N(), i.Node})
		if i.Node != 0 && (uint64(i.Node) >= uint64(len(x.derived)) || !x.derived[i.Node]) {
			for n := len(x.nodes); n > 0 && x.nodes[n-1].end <= i.T; n = len(x.nodes) {
				x.nodes = x.nodes[:n-1]
			}
			x.nodes = append(x.nodes, openNode{i.End, i.Node})
		}
		x.intervals.Next()
	}
	for n := len(x.nodes); n > 0 && x.nodes[n-1].end <= t; n = len(x.nodes) {
		x.nodes = x.nodes[:n-1]
	}
}

// next returns the next piece of a constant state that ends at instant to at the
// latest, which lies after x.at. The state afterwards is that at the piece's end.
func (x *timeline) next(to uint64) (s state, from, end uint64) {
	s, from, end = x.state, x.at, min(to, x.until)
	if end == x.until {
		x.enter(end)
	} else {
		x.at = end
	}
	return s, from, end
}

func (x *timeline) err() error {
	if err := x.calls.Err(); err != nil {
		return err
	}
	return cmp.Or(x.intervals.Err(), x.busyErr)
}

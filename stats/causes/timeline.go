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
	Transfers *xtf.Cursor // RMA, of a stream
	Intervals *xtf.Cursor // IVAL
	Paths     Paths       // empty; calls are added in their order
	Global    []uint32    // of each of these paths, its number in the whole run

	Overhead io.Reader // when records tell overhead of the measurement: begin, end u64 little-endian, in order and apart; nil for never

	First, Last uint64 // its events, ticks
}

// timeline says what a location does at each instant: its activity is that of the
// outermost MPI call or marker, else overhead where records tell it, else that of the
// outermost call with an activity of its own; its path that of the innermost
// call, its node the innermost interval made by markers. Before its first event and
// after its last one it is outside, in no call and in the root. Memory: 32 bytes per open
// call, 16 per open interval, columns of a page of calls, and 32 bytes for each (activity, path, node) that it comes to.
type timeline struct {
	at        uint64   // the state holds from here ...
	until     uint64   // ... to here, where something changes
	slot      int32    // of the state
	region    uint32   // of the innermost call, as openCall has it
	change    uint64   // where something other than calls does
	alone     openCall // outside of calls
	outside   openCall // the caller of calls that have none
	node      uint32   // outside of calls
	busyNow   bool     // records tell overhead
	location  *Location
	run       *Run
	calls     [5][]uint64    // of a page, see callColumns
	call      int            // the next one there
	first     uint64         // number of the first one
	known     [256]knownCall // calls that were opened lately, by hash
	intervals xtf.Rows[xtf.Ival]
	stack     []openCall
	nodes     []openNode
	busy      [2]uint64 // overhead: the span in hand, or the next one; Never after the last
	busyErr   error
	device    onDevice
	script    *replayScript // gets the MPI calls and the executions
	slots     *slotTable
}

// callColumns are what a time line reads of calls.
var callColumns = []int{xtf.CallT, xtf.CallEnd, xtf.CallRegion, xtf.CallDepth, xtf.CallFlags}

// openCall is a call, or what is outside of calls. Memory: 32 bytes.
type openCall struct {
	end      uint64
	local    uint32
	path     uint32
	activity uint32 // overhead of records aside
	region   uint32 // where it is not that of the path: calls beyond the limits of call paths count for their callers; else undefined
	slot     int32
	found    uint32 // slot is that of an interval and overhead ago; see slotTable.around
}

type openNode struct {
	end  uint64
	node uint32
}

// slotKey names time of a location: its path and activity, and its node.
type slotKey struct {
	key  uint64
	node uint32
}

// slotTable numbers them, as they come.
type slotTable struct {
	list   []slot
	number map[slotKey]int32
	recent [64]int32 // by hash of path and activity
	around uint32    // how often what is around calls has changed
}

type slot struct {
	slotKey
	total  uint64 // ticks, waits apart, which are those of the first one
	number uint32 // in the slab's part; 0: not yet
}

// clear leaves the slot of waits alone.
func (x *slotTable) clear() {
	if x.number == nil {
		x.number = map[slotKey]int32{}
	}
	clear(x.number)
	x.list, x.recent, x.around = x.list[:0], [64]int32{}, 0
	x.find(waitSlot.key, waitSlot.node)
}

func (x *slotTable) find(key uint64, node uint32) int32 {
	k := slotKey{key, node}
	recent := &x.recent[key*0x9E3779B97F4A7C15>>58]
	if i := *recent; int(i) < len(x.list) && x.list[i].slotKey == k {
		return i
	}
	i, ok := x.number[k]
	if !ok {
		i = int32(len(x.list))
		x.number[k] = i
		x.list = append(x.list, slot{slotKey: k})
	}
	*recent = i
	return i
}

// newTimeline begins at tick 0. Intervals whose node is derived have no part in
// the state.
func newTimeline(l *Location, run *Run, script *replayScript, slots *slotTable, device onDevice) *timeline {
	x := &timeline{location: l, run: run, script: script, slots: slots, device: device, outside: openCall{end: xtf.Never, activity: device.idle}}
	x.intervals = xtf.RowsOf[xtf.Ival](l.Intervals.Only(xtf.IvalEnd, xtf.IvalNode))
	x.page()
	x.intervals.Next()
	x.nextBusy()
	x.enter(0)
	return x
}

// page takes the next page of calls in hand; a call at Never, which nothing reaches, is after the last one.
func (x *timeline) page() {
	x.call = 0
	if x.location.Calls != nil {
		if n, ok := x.location.Calls.NextColumns(x.calls[:], callColumns); ok {
			x.first = n
			return
		}
	}
	x.calls = [5][]uint64{{xtf.Never}, {0}, {0}, {0}, {0}}
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

// enter makes the state that of instant t, at which something changes.
func (x *timeline) enter(t uint64) {
	x.at = t
	if t >= x.change {
		x.around(t)
	}
	begins := x.calls[0]
	if begins[x.call] <= t {
		x.enterCalls(t)
		begins = x.calls[0]
	}
	x.until = min(x.change, begins[x.call])
	top := &x.alone
	for n := len(x.stack); n > 0; n = len(x.stack) {
		if c := &x.stack[n-1]; c.end > t {
			top, x.until = c, min(x.until, c.end)
			break
		}
		x.stack = x.stack[:n-1]
	}
	if top.found != x.slots.around {
		x.place(top)
	}
	x.slot, x.region = top.slot, top.region
	if x.device.holds(top.activity) {
		x.region = trace.Undefined
	}
}

// place finds the slot of a call.
func (x *timeline) place(c *openCall) {
	path, activity := c.path, c.activity
	if x.device.holds(activity) {
		path, activity = x.device.path, workActivity[x.device.kind]
	}
	if x.busyNow {
		switch activity {
		case xtf.ActivityMPI, xtf.ActivityMarker, xtf.ActivityOutside:
		default:
			activity = xtf.ActivityOverhead
		}
	}
	c.slot, c.found = x.slots.find(termKey(path, activity), x.node), x.slots.around
}

// around is what holds at instant t and up to the next change, calls apart.
func (x *timeline) around(t uint64) {
	x.enterIntervals(t)
	x.slots.around++
	x.alone, x.node, x.change = openCall{region: trace.Undefined}, 0, x.device.around(t)
	x.alone.activity = x.device.alone
	switch {
	case t < x.location.First:
		x.alone.activity, x.change = xtf.ActivityOutside, min(x.change, x.location.First)
	case t < x.location.Last:
		x.change = min(x.change, x.location.Last)
	default:
		x.alone.activity = xtf.ActivityOutside
	}
	for x.busy[1] <= t && x.busy[1] != xtf.Never {
		x.nextBusy()
	}
	if x.busyNow = t >= x.busy[0]; x.busyNow {
		x.change = min(x.change, x.busy[1])
	} else {
		x.change = min(x.change, x.busy[0])
	}
	if x.intervals.More {
		x.change = min(x.change, x.intervals.Row.T)
	}
	if n := len(x.nodes); n > 0 {
		x.change, x.node = min(x.change, x.nodes[n-1].end), x.nodes[n-1].node
	}
}

// enterCalls opens calls up to instant t. Calls are nested and come in
// the order of their enters, so those opened at t decide before those that end.
func (x *timeline) enterCalls(t uint64) {
	for x.calls[0][x.call] <= t && x.calls[0][x.call] != xtf.Never {
		begin, end, region, flags := x.calls[0][x.call], x.calls[1][x.call], uint32(x.calls[2][x.call]), x.calls[4][x.call]
		n := min(int(x.calls[3][x.call]), len(x.stack))
		up := &x.outside
		if n > 0 {
			up = &x.stack[n-1]
		}
		key := callKey{uint64(region)<<32 | flags, up.local, up.activity}
		k := &x.known[(key.call*0x9E3779B97F4A7C15+uint64(up.local)*0xC2B2AE3D27D4EB4F)>>56]
		if k.callKey != key || !k.set {
			*k = knownCall{key, x.callOf(*up, region, x.activityOf(region, uint32(flags))), true, x.movesMessages(region)}
		}
		if k.found != x.slots.around {
			x.place(&k.openCall)
		}
		if uint32(flags)&(xtf.FlagOutermostMPI|xtf.FlagMarker) == xtf.FlagOutermostMPI {
			x.script.call(begin, end, x.first+uint64(x.call), k.moves)
		}
		end = min(end, up.end)
		x.stack = append(x.stack[:n], k.openCall)
		x.stack[n].end = end // in place: a copy that was written in part is slow to read as a whole
		if x.call++; x.call == len(x.calls[0]) {
			x.page()
		}
	}
}

// movesMessages reports whether a region is a call in which libraries move messages of other calls too.
func (x *timeline) movesMessages(region uint32) bool {
	var c trace.CallClass
	if r := x.run.Defs.Region(region); r != nil {
		c = x.run.Defs.Class(r)
	}
	return c&(trace.ClassP2P|trace.ClassColl) != 0 && c&trace.ClassStart == 0
}

// callOf makes a call out of what is around it: its path, and the activity of its own, if any.
func (x *timeline) callOf(o openCall, region, activity uint32) openCall {
	o.local, o.region, o.found = x.location.Paths.Child(o.local, region), region, 0
	if uint64(o.local) < uint64(len(x.location.Global)) {
		o.path = x.location.Global[o.local]
	}
	if region == x.run.Regions[o.path] {
		o.region = trace.Undefined
	}
	if activity < xtf.NumActivities {
		o.activity = activity
	}
	return o
}

// activityOf is the activity of a call of its own: on a stream that of its region.
func (x *timeline) activityOf(region, flags uint32) uint32 {
	if !x.device.stream {
		return ownActivity(flags)
	}
	if kind := workKind(x.run.state(x.device.states, region)); kind < deviceKinds {
		return workActivity[kind]
	}
	return xtf.NumActivities
}

// callKey is what decides what a call is: its region and flags, and the path and activity of its caller.
type callKey struct {
	call            uint64
	local, activity uint32
}

type knownCall struct {
	callKey
	openCall
	set   bool
	moves bool // libraries move messages of others in it
}

// ownActivity is the activity of a call with these flags, where it is not that of its caller; else xtf.NumActivities.
func ownActivity(flags uint32) uint32 {
	switch {
	case flags&xtf.FlagMarker != 0:
		return xtf.ActivityMarker
	case flags&xtf.FlagOutermostMPI != 0:
		return xtf.ActivityMPI
	}
	if s := xtf.AsideOf(flags); s != trace.StateOwn {
		return xtf.States[s].Activity
	}
	if len(xtf.InsideOf(flags)) > 0 {
		return xtf.ActivityCPU
	}
	return xtf.NumActivities
}

// enterIntervals opens and closes intervals up to instant t. The root is not
// among the open ones.
func (x *timeline) enterIntervals(t uint64) {
	for x.intervals.More && x.intervals.Row.T <= t {
		i := &x.intervals.Row
		*x.script.ivals.push() = execution{i.T, i.End, x.intervals.Cursor.N(), i.Node}
		if i.Node != 0 && (uint64(i.Node) >= uint64(len(x.run.Derived)) || !x.run.Derived[i.Node]) {
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

func (x *timeline) err() error {
	if x.location.Calls != nil && x.location.Calls.Err() != nil {
		return x.location.Calls.Err()
	}
	return cmp.Or(x.intervals.Err(), x.busyErr, x.device.err)
}

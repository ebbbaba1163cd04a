package causes

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Paths is the call paths of one location, numbered as they appear.
type Paths interface {
	// Child returns the path of a call of region from path parent; 0 is outside all calls.
	Child(parent, region uint32) uint32
}

// Location is the input of Pass for a location. Cursors are nil if there are no rows.
type Location struct {
	Calls     *xtf.Cursor // CALL
	Transfers *xtf.Cursor // RMA, of a stream
	Intervals *xtf.Cursor // IVAL
	Paths     Paths       // empty; Pass adds the calls in their order
	Global    []uint32    // by number in Paths: number of the path in the run

	Overhead io.Reader // spans of overhead of the measurement: begin, end u64, little-endian, in order and apart; nil for none

	First, Last uint64 // first and last event, ticks
}

// timeline walks through the time line of a location (package comment). Memory: 32 bytes per open call, 16 per open interval, columns of
// a page of calls, and 32 bytes for each (activity, path, node) that it comes to.
type timeline struct {
	at        uint64   // the state holds from here ...
	until     uint64   // ... to here, where it changes
	slot      int32    // of the state
	region    uint32   // of the innermost call, as in openCall
	change    uint64   // until here only calls change
	alone     openCall // the state outside of calls
	outside   openCall // the caller of calls without one
	node      uint32   // of the innermost interval
	location  *Location
	run       *Run
	in        callPage
	known     []knownCall // calls opened lately, by hash
	intervals xtf.Rows[xtf.Ival]
	stack     []openCall
	nodes     []openNode
	overhead  overhead
	device    onDevice
	script    *replayScript // gets the MPI calls and the executions
	slots     *slotTable
}

// callPage is a page of calls.
type callPage struct {
	calls   [5][]uint64 // see callColumns
	columns [5][]uint64 // memory of calls
	call    int         // index of the next call
	first   uint64      // number of the first call
}

// overhead is the spans in which the tracer was busy with itself or off.
type overhead struct {
	now  bool
	busy [2]uint64 // the current span, or the next one; Never after the last
	err  error
}

// callColumns are the columns of calls that a time line reads.
var callColumns = []int{xtf.CallT, xtf.CallEnd, xtf.CallRegion, xtf.CallDepth, xtf.CallFlags}

// openCall is an open call, or the state outside of calls. Memory: 32 bytes.
type openCall struct {
	end      uint64
	local    uint32 // path of the location
	path     uint32 // path of the run
	activity uint32 // without overhead
	region   uint32 // undefined if it is that of the path; a call beyond the limits of call paths has the path of its caller
	slot     int32  // valid if found is slotTable.around
	found    uint32
}

type openNode struct {
	end  uint64
	node uint32
}

// slotKey is a state of a location: path and activity, as in term, and node.
type slotKey struct {
	key  uint64
	node uint32
}

// slotTable numbers the states of a location as they come.
type slotTable struct {
	list   []slot // the first one is waitSlot
	number map[slotKey]int32
	recent [64]int32 // by hash of path and activity
	around uint32    // number of changes of the state around calls: overhead, intervals, devices
}

type slot struct {
	slotKey
	total  uint64 // ticks so far; those in waits count for the first slot
	number uint32 // in the slab; 0: none yet
}

// clear removes all slots except that of waits.
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

// knownCalls is the size of timeline.known.
const knownCalls = 256

// begin begins a location at tick 0, and reuses the memory.
func (x *timeline) begin(l *Location, run *Run, script *replayScript, slots *slotTable, device onDevice) {
	known := slices.Grow(x.known[:0], knownCalls)[:knownCalls]
	clear(known)
	*x = timeline{
		location: l, run: run, script: script, slots: slots, device: device, outside: openCall{end: xtf.Never, activity: device.idle},
		in: callPage{columns: x.in.columns}, known: known, stack: x.stack[:0], nodes: x.nodes[:0],
	}
	x.intervals = xtf.RowsOf[xtf.Ival](l.Intervals.Only(xtf.IvalEnd, xtf.IvalNode))
	x.page()
	x.intervals.Next()
	x.nextBusy()
	x.enter(0)
}

// noCalls is the page after the last call: a call at Never, which the walk does not reach.
var noCalls = [5][]uint64{{xtf.Never}, {0}, {0}, {0}, {0}}

// page reads the next page of calls.
func (x *timeline) page() {
	x.in.call = 0
	if x.location.Calls != nil {
		if n, ok := x.location.Calls.NextColumns(x.in.columns[:], callColumns); ok {
			x.in.calls, x.in.first = x.in.columns, n
			return
		}
	}
	x.in.calls = noCalls
}

// nextBusy reads the next span of overhead.
func (x *timeline) nextBusy() {
	var b [16]byte
	err := io.EOF
	if x.location.Overhead != nil {
		_, err = io.ReadFull(x.location.Overhead, b[:])
	}
	if err != nil {
		x.overhead.busy = [2]uint64{xtf.Never, xtf.Never}
		if err != io.EOF {
			x.overhead.err = err
		}
		return
	}
	x.overhead.busy = [2]uint64{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
}

// enter sets the state to that at instant t, at which it changes.
func (x *timeline) enter(t uint64) {
	x.at = t
	if t >= x.change {
		x.around(t)
	}
	begins := x.in.calls[0]
	if begins[x.in.call] <= t {
		x.enterCalls(t)
		begins = x.in.calls[0]
	}
	x.until = min(x.change, begins[x.in.call])
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

// place sets the slot of a call.
func (x *timeline) place(c *openCall) {
	path, activity := c.path, c.activity
	if x.device.holds(activity) {
		path, activity = x.device.path, workActivity[x.device.kind]
	}
	if x.overhead.now {
		switch activity {
		case xtf.ActivityMPI, xtf.ActivityMarker, xtf.ActivityOutside:
		default:
			activity = xtf.ActivityOverhead
		}
	}
	c.slot, c.found = x.slots.find(termKey(path, activity), x.node), x.slots.around
}

// around sets the part of the state at instant t that does not depend on calls, and when it changes next.
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
	for x.overhead.busy[1] <= t && x.overhead.busy[1] != xtf.Never {
		x.nextBusy()
	}
	if x.overhead.now = t >= x.overhead.busy[0]; x.overhead.now {
		x.change = min(x.change, x.overhead.busy[1])
	} else {
		x.change = min(x.change, x.overhead.busy[0])
	}
	if x.intervals.More {
		x.change = min(x.change, x.intervals.Row.T)
	}
	if n := len(x.nodes); n > 0 {
		x.change, x.node = min(x.change, x.nodes[n-1].end), x.nodes[n-1].node
	}
}

// enterCalls opens calls up to instant t. Calls are nested and come in the order of their enters.
func (x *timeline) enterCalls(t uint64) {
	for x.in.calls[0][x.in.call] <= t && x.in.calls[0][x.in.call] != xtf.Never {
		begin, end, region, flags := x.in.calls[0][x.in.call], x.in.calls[1][x.in.call], uint32(x.in.calls[2][x.in.call]), x.in.calls[4][x.in.call]
		n := min(int(x.in.calls[3][x.in.call]), len(x.stack))
		up := &x.outside
		if n > 0 {
			up = &x.stack[n-1]
		}
		key := callKey{uint64(region)<<32 | flags, up.local, up.activity}
		k := &x.known[(key.call*0x9E3779B97F4A7C15+uint64(up.local)*0xC2B2AE3D27D4EB4F)>>56%knownCalls]
		if k.callKey != key || !k.set {
			*k = knownCall{key, x.callOf(*up, region, x.activityOf(region, uint32(flags))), true, x.movesMessages(region)}
		}
		if k.found != x.slots.around {
			x.place(&k.openCall)
		}
		if uint32(flags)&(xtf.FlagOutermostMPI|xtf.FlagMarker) == xtf.FlagOutermostMPI {
			x.script.call(begin, end, x.in.first+uint64(x.in.call), k.path, k.moves)
		}
		end = min(end, up.end)
		x.stack = append(x.stack[:n], k.openCall)
		x.stack[n].end = end // in place: to read a struct as a whole right after a store to a part of it is slow
		if x.in.call++; x.in.call == len(x.in.calls[0]) {
			x.page()
		}
	}
}

// movesMessages reports whether MPI libraries move messages of other calls in calls of a region.
func (x *timeline) movesMessages(region uint32) bool {
	var c trace.CallClass
	if r := x.run.Defs.Region(region); r != nil {
		c = x.run.Defs.Class(r)
	}
	return c&(trace.ClassP2P|trace.ClassColl) != 0 && c&trace.ClassStart == 0
}

// callOf returns a call of a region in caller o, with the activity of its own, if any.
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

// activityOf returns the activity of its own that a call has, on a stream that of its region; xtf.NumActivities for none.
func (x *timeline) activityOf(region, flags uint32) uint32 {
	if !x.device.stream {
		return ownActivity(flags)
	}
	if kind := workKind(x.run.state(x.device.states, region)); kind < deviceKinds {
		return workActivity[kind]
	}
	return xtf.NumActivities
}

// callKey determines an openCall: region and flags of the call, and path and activity of its caller.
type callKey struct {
	call            uint64
	local, activity uint32
}

type knownCall struct {
	callKey
	openCall
	set   bool
	moves bool // see movesMessages
}

// ownActivity returns the activity of a call with these flags; xtf.NumActivities if it is that of its caller.
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

// enterIntervals opens and closes intervals up to instant t, except the root and those of derived nodes.
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
	return cmp.Or(x.intervals.Err(), x.overhead.err, x.device.err)
}

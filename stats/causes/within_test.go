package causes

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/callpath"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Regions of deviceRun.
const (
	regionWork = iota
	regionKernel
	regionCopy
	regionWait
	regionLaunch
	regionMove
	regionMoveAsync
	deviceRegions
)

// deviceRun is hosts and streams of some processes.
type deviceRun struct {
	defs   *trace.Definitions
	calls  [][]xtf.Call
	moves  [][]xtf.RMA // of streams
	last   uint64
	union  *callpath.Tree
	own    []*callpath.Tree
	global [][]uint32
}

func (x *deviceRun) stream(p int) bool {
	return x.defs.Location(trace.P(p)).Type == trace.AcceleratorStream
}

func (x *deviceRun) process(p int) uint32 {
	process, _ := x.defs.Process(trace.P(p))
	return process
}

// randomDevices makes processes with up to two threads and up to three streams each.
func randomDevices(r *rand.Rand) *deviceRun {
	d := &trace.Definitions{SystemTreeNodes: []trace.SystemTreeNode{{Parent: trace.Undefined}}}
	for i, name := range []string{"work", "solve", "copy", "hipDeviceSynchronize", "hipLaunchKernel", "hipMemcpy", "hipMemcpyAsync"} {
		region := trace.Region{Ref: uint32(i), Name: uint32(i), Paradigm: trace.ParadigmHIP, Role: trace.RoleWrapper}
		switch i {
		case regionWork:
			region.Paradigm, region.Role = trace.ParadigmUser, trace.RoleFunction
		case regionKernel:
			region.Role = trace.RoleKernel
		case regionCopy:
			region.Role = trace.RoleDataTransfer
		}
		d.Strings = append(d.Strings, trace.String{Ref: uint32(i), Value: name})
		d.Regions = append(d.Regions, region)
	}
	for p := range uint32(1 + r.IntN(3)) {
		d.LocationGroups = append(d.LocationGroups,
			trace.LocationGroup{Ref: 2 * p, Type: 1, Creator: trace.Undefined}, trace.LocationGroup{Ref: 2*p + 1, Type: 2, Creator: 2 * p})
		for range 1 + r.IntN(2) {
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(len(d.Locations)), Type: 1, Group: 2 * p})
		}
		for range r.IntN(4) {
			d.Locations = append(d.Locations, trace.Location{Ref: uint64(len(d.Locations)), Type: trace.AcceleratorStream, Group: 2*p + 1})
		}
	}
	d.Seal()
	x := &deviceRun{defs: d, last: 60 + r.Uint64N(90), union: callpath.New()}
	for p := range d.NumLocations() {
		regions, moves := []uint32{regionWork, regionWait, regionLaunch, regionMove, regionMoveAsync}, []xtf.RMA(nil)
		if x.stream(p) {
			regions = []uint32{regionKernel, regionCopy, regionKernel}
			for t := r.Uint64N(x.last); r.IntN(3) > 0 && t < x.last; t += r.Uint64N(30) {
				moves = append(moves, xtf.RMA{T: t, End: t + r.Uint64N(min(20, x.last-t+1))})
			}
		}
		x.calls, x.moves = append(x.calls, randomNested(r, x.last, regions)), append(x.moves, moves)
		tree := callpath.New()
		walkPaths(x.calls[p], tree)
		x.own = append(x.own, tree)
		x.union.Merge(tree)
	}
	x.union.Number()
	for _, tree := range x.own {
		x.global = append(x.global, x.union.Locate(tree))
	}
	return x
}

// walkPaths returns the path of each call.
func walkPaths(calls []xtf.Call, tree *callpath.Tree) (list []uint32) {
	stack := []uint32{0}
	for _, c := range calls {
		stack = stack[:c.Depth+1]
		n := tree.Child(stack[c.Depth], c.Region)
		stack, list = append(stack, n), append(list, n)
	}
	return list
}

// randomNested makes calls of some regions, some inside of others, with the flags of the outermost ones.
func randomNested(r *rand.Rand, last uint64, regions []uint32) (list []xtf.Call) {
	flags := map[uint32]uint32{
		regionWait: xtf.FlagOutermostDeviceWait, regionLaunch: xtf.FlagOutermostDeviceCall, regionMove: xtf.FlagOutermostDeviceCall, regionMoveAsync: xtf.FlagOutermostDeviceCall,
	}
	var fill func(from, to uint64, depth uint32, inside bool)
	fill = func(from, to uint64, depth uint32, inside bool) {
		for from += r.Uint64N(8); from < to; from += r.Uint64N(6) {
			c := xtf.Call{T: from, End: min(to, from+r.Uint64N(24)), Region: regions[r.IntN(len(regions))], Depth: depth}
			if !inside {
				c.Flags = flags[c.Region]
			}
			list = append(list, c)
			if depth < 2 && r.IntN(3) == 0 {
				fill(c.T, c.End, depth+1, inside || c.Flags != 0)
			}
			from = c.End
		}
	}
	fill(0, last, 0, false)
	return list
}

// deviceWork is a kernel or transfer.
type deviceWork struct {
	begin, end uint64
	p, path    uint32
	kind       uint8
	call       uint64 // CALL row, Never for a one-sided operation
	before     uint64 // when the stream was busy last
	overlaps   bool   // another one of the stream begins in it
}

// works are the kernels and transfers of a stream, by begin.
func (x *deviceRun) works(p int) (list []deviceWork) {
	for _, m := range x.moves[p] {
		list = append(list, deviceWork{begin: m.T, end: m.End, p: uint32(p), kind: deviceTransfer, call: xtf.Never})
	}
	within, paths := uint64(0), walkPaths(x.calls[p], x.own[p])
	for i, c := range x.calls[p] {
		if c.T >= within {
			within = c.End
			list = append(list, deviceWork{
				begin: c.T, end: c.End, p: uint32(p), path: x.global[p][paths[i]], kind: map[uint32]uint8{regionKernel: deviceKernel, regionCopy: deviceTransfer}[c.Region], call: uint64(i),
			})
		}
	}
	list = slices.DeleteFunc(list, func(w deviceWork) bool { return w.begin >= w.end })
	slices.SortStableFunc(list, func(a, b deviceWork) int { return cmp.Compare(a.begin, b.begin) })
	busy := uint64(0)
	for i := range list {
		w := &list[i]
		w.before, busy = busy, max(busy, w.end)
		w.overlaps = slices.ContainsFunc(list[i+1:], func(v deviceWork) bool { return v.begin < w.end })
	}
	return list
}

// later orders work by end; what ends at one instant by stream and begin.
func (w *deviceWork) later(v *deviceWork) int {
	return cmp.Or(cmp.Compare(w.end, v.end), cmp.Compare(w.p, v.p), cmp.Compare(w.begin, v.begin), cmp.Compare(w.path, v.path))
}

// launch is the last call before some work begins that launches such work; nil if there is none.
func (x *deviceRun) launch(w *deviceWork) (by int, at uint64, ok bool) {
	for p, calls := range x.calls {
		if x.stream(p) || x.process(p) != x.process(int(w.p)) {
			continue
		}
		for _, c := range calls {
			launches := c.Region == regionLaunch
			if w.kind == deviceTransfer {
				launches = c.Region == regionMove || c.Region == regionMoveAsync
			}
			if launches && c.T <= w.begin && (!ok || c.T >= at) {
				by, at, ok = p, c.T, true
			}
		}
	}
	return by, at, ok
}

// hostWait is a call in which a host waits for work that ends in it.
type hostWait struct {
	n    uint64 // CALL row
	call xtf.Call
	path uint32
	work []deviceWork
}

func (x *deviceRun) waits(p int) (list []hostWait) {
	if x.stream(p) {
		return nil
	}
	paths := walkPaths(x.calls[p], x.own[p])
	for i, c := range x.calls[p] {
		if c.Flags == 0 || c.Region != regionWait && c.Region != regionMove {
			continue
		}
		h := hostWait{n: uint64(i), call: c, path: x.global[p][paths[i]]}
		for q := range x.calls {
			if !x.stream(q) || x.process(q) != x.process(p) {
				continue
			}
			for _, w := range x.works(q) {
				if c.T < w.end && w.end <= c.End && (c.Region == regionWait || w.kind == deviceTransfer) {
					h.work = append(h.work, w)
				}
			}
		}
		if len(h.work) > 0 {
			slices.SortFunc(h.work, func(a, b deviceWork) int { return a.later(&b) })
			list = append(list, h)
		}
	}
	return list
}

// during is the work that a host waits for at an instant: of what is in progress then, what ends last.
func (h *hostWait) during(t uint64) (found *deviceWork) {
	for i := range h.work {
		if w := &h.work[i]; w.begin <= t && t < w.end && h.call.T <= t && t < h.call.End {
			found = w
		}
	}
	return found
}

// deviceFound is what Within finds for a location.
type deviceFound struct {
	Ticks map[uint64]withinRow // of a host, at each tick in which it waits for work; begin and end are 0
	Jumps []withinRow
	Waits []xtf.Wait
	Calls []uint64         // of Waits
	Own   map[Place]uint64 // ticks
}

// slowly works out the same, instant by instant.
func (x *deviceRun) slowly(p int) deviceFound {
	f := deviceFound{Ticks: map[uint64]withinRow{}, Own: map[Place]uint64{}}
	jump := func(t uint64, cause uint32) {
		f.Jumps = append(f.Jumps, withinRow{p: uint32(p), begin: t, end: t, cause: cause, kind: pathJump})
	}
	waits := x.waits(p)
	for _, h := range waits {
		for t := h.call.T; t < h.call.End; t++ {
			if w := h.during(t); w != nil {
				f.Ticks[t] = withinRow{p: uint32(p), cause: w.p, path: w.path, kind: w.kind}
			}
		}
		w := &h.work[len(h.work)-1]
		jump(w.end, w.p)
		wait := xtf.Wait{T: h.call.T, End: w.end, RecN: w.call, CauseP: w.p, Pattern: xtf.WaitLateKernel, Path: h.path}
		switch _, at, ok := x.launch(w); {
		case !ok || w.overlaps:
		case at > h.call.T:
			wait.Pattern |= xtf.WaitLaunchLate
		case at < w.before:
			wait.Pattern |= xtf.WaitLaunchQueued
		}
		f.Waits, f.Calls = append(f.Waits, wait), append(f.Calls, h.n)
	}
	if x.stream(p) {
		for _, w := range x.works(p) {
			by, at, ok := x.launch(&w)
			if !ok {
				by = int(x.defs.Processes()[x.process(p)].First)
			} else if at < w.before {
				continue
			}
			jump(w.begin, uint32(by))
		}
	}
	slices.SortFunc(f.Jumps, compareJumps)
	x.ownTicks(p, f.Own, waits)
	return f
}

func compareJumps(a, b withinRow) int {
	return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.cause, b.cause))
}

// ownTicks adds what a location does at each tick.
func (x *deviceRun) ownTicks(p int, own map[Place]uint64, waits []hostWait) {
	paths := walkPaths(x.calls[p], x.own[p])
	for t := range x.last {
		place := Place{P: trace.P(p)}
		if x.stream(p) {
			place.Activity = xtf.ActivityDeviceIdle
			if slices.ContainsFunc(x.moves[p], func(m xtf.RMA) bool { return m.T <= t && t < m.End }) {
				place.Activity = xtf.ActivityTransfer
			}
		}
		for i, c := range x.calls[p] {
			if t < c.T || c.End <= t {
				continue
			}
			place.Path = x.global[p][paths[i]]
			switch {
			case c.Region == regionKernel:
				place.Activity = xtf.ActivityKernel
			case c.Region == regionCopy:
				place.Activity = xtf.ActivityTransfer
			case c.Flags == xtf.FlagOutermostDeviceCall:
				place.Activity = xtf.ActivityDeviceCall
			case c.Flags == xtf.FlagOutermostDeviceWait:
				place.Activity = xtf.ActivityDeviceWait
			}
		}
		for i := range waits {
			if w := waits[i].during(t); w != nil {
				place.Path, place.Activity = w.path, [...]uint32{deviceKernel: xtf.ActivityKernel, deviceTransfer: xtf.ActivityTransfer}[w.kind]
			}
		}
		own[place]++
	}
}

// find runs Within on some ranks, and then the pass over the time lines, or reads what it found.
func (x *deviceRun) find(t *testing.T, ranks int) []deviceFound {
	t.Helper()
	out := make([]deviceFound, len(x.calls))
	ranges := partition.Ranges(make([]uint64, len(x.calls)), ranks)
	var mu sync.Mutex
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		mu.Lock() // t is not for many goroutines
		run := &Run{Comm: c, Defs: x.defs, Ranges: ranges, Storage: heapStorage(), Last: x.last, Derived: []bool{false}}
		for n := range x.union.Len() {
			run.Regions = append(run.Regions, x.union.Path(uint32(n)).Region)
		}
		mu.Unlock()
		own := ranges[c.Rank()]
		for _, lines := range []bool{false, true} {
			run.Within = NewWithin(run, false)
			if run.Within != nil {
				var err error
				for p := own.First; p < own.End; p++ {
					if run.Within.Has(p) && err == nil {
						err = run.Within.Location(p, packed(t, xtf.TypeCall, x.calls[p]), packed(t, xtf.TypeRMA, x.moves[p]), nil, x.own[p], x.global[p])
					}
				}
				if err := run.Within.Match(err); err != nil {
					return err
				}
			}
			pass := NewPass(run)
			for p := own.First; p < own.End; p++ {
				f := &out[p]
				if lines {
					l := &Location{Calls: packed(t, xtf.TypeCall, x.calls[p]), Transfers: packed(t, xtf.TypeRMA, x.moves[p]), Paths: x.own[p], Global: x.global[p], Last: x.last}
					pass.Begin(p, l, &heapScratch{})
					if err := pass.End(); err != nil {
						return err
					}
					f.Own = map[Place]uint64{}
					for place, ticks := range pass.Own() {
						f.Own[place] = ticks
					}
					continue
				}
				if err := f.read(run.Within, p); err != nil {
					return err
				}
			}
			run.Within.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// read takes what Within found for a location.
func (f *deviceFound) read(d *Within, p trace.P) error {
	f.Ticks = map[uint64]withinRow{}
	for d != nil {
		r, err := d.take(p, xtf.Never)
		if err != nil {
			return err
		}
		if r == nil {
			break
		}
		if r.kind == pathJump {
			f.Jumps = append(f.Jumps, *r)
			continue
		}
		for t := r.begin; t < r.end; t++ {
			f.Ticks[t] = withinRow{p: r.p, cause: r.cause, path: r.path, kind: r.kind}
		}
	}
	for {
		w, call, ok, err := d.Wait(p)
		if err != nil || !ok {
			slices.SortFunc(f.Jumps, compareJumps)
			return err
		}
		f.Waits, f.Calls = append(f.Waits, w), append(f.Calls, call)
	}
}

// TestWithinDevices compares what hosts and streams of random runs wait for, and do, with a look at each instant.
func TestWithinDevices(t *testing.T) {
	for seed := range uint64(30) {
		x := randomDevices(rand.New(rand.NewPCG(seed, 19)))
		var want []deviceFound
		for p := range x.calls {
			want = append(want, x.slowly(p))
		}
		for _, ranks := range []int{1, 3} {
			if got := x.find(t, ranks); !reflect.DeepEqual(want, got) { // go-cmp takes much longer where nothing differs
				t.Fatalf("seed %d, %d ranks (-want +got):\n%s", seed, ranks, gocmp.Diff(want, got, gocmp.AllowUnexported(withinRow{})))
			}
		}
	}
}

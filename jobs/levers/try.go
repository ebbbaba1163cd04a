package levers

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/threads"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Kinds of targets.
const (
	kindFunction   = "function"
	kindInterval   = "interval"
	kindThreads    = "threads"
	kindKernel     = "kernel"
	kindPattern    = "pattern"
	kindWait       = "wait"
	kindCollective = "collective"
	kindTransfer   = "transfer"
	kindNetwork    = "network"
	kindChange     = "change"
)

// placeKey is a causes.Place without its location.
type placeKey struct{ path, activity, node uint32 }

// target is a part of the program whose changes are tried.
type target struct {
	Target
	is  func(path, activity, node uint32) bool // whether time outside of MPI belongs to it; nil: no time does
	own []int64                                // by location: ticks of that time
	// parts has two numbers of ticks by process, one after the other. Of devices: how long hosts wait for streams, how long streams work. Of
	// threads: how much balance would save, how much if none waited for others.
	parts []int64
	paths map[uint32]bool // its call paths; nil: all calls that communicate
	asked *Change         // nil: the user did not ask for it
	late  bool            // it has waits for a late receiver
	tenth *change
}

// changeable reports whether levers of functions and intervals change time in an activity.
func changeable(activity uint32) bool {
	switch activity {
	case xtf.ActivityMPI, xtf.ActivityMarker, xtf.ActivityWait, xtf.ActivityOutside, xtf.ActivityOverhead, xtf.ActivityDeviceIdle:
		return false
	}
	return !onDevice(activity)
}

// onDevice reports whether in an activity a stream of a device works, or a host waits for that.
func onDevice(activity uint32) bool {
	return activity == xtf.ActivityKernel || activity == xtf.ActivityTransfer
}

func (x *search) try() error {
	if err := x.longest(); err != nil {
		return err
	}
	both := target{Target: Target{Kind: kindChange, Name: "all of these"}}
	choose := x.targets
	if len(x.o.Changes) > 0 {
		choose = x.asked
	}
	list, err := choose()
	if errors.Is(err, ErrChange) || errors.Is(err, results.ErrInterval) {
		err = jobs.Fail(jobs.ExitUsage, err)
	}
	if err := jobs.Agree(x.c, x.input(err)); err != nil {
		return err
	}
	if err := x.measure(list); err != nil {
		return err
	}
	all := []change{{}}
	for i := range list {
		all = append(all, list[i].changes(x)...)
	}
	whole := combined(all)
	if len(x.o.Changes) > 1 {
		all = append(all, change{*whole, &both, &both.Gone, true})
	}
	x.begin("replay", len(all))
	var base *causes.Outcome
	if err := x.replay(all, &base); err != nil {
		return err
	}
	all = all[:0]
	for i := range list {
		if c := list[i].tenth; c != nil && !list[i].between(base.Runtime) {
			all = append(all, *c)
		}
	}
	x.begin("once more", len(all))
	if err := x.replay(all, &base); err != nil {
		return err
	}
	for _, t := range x.levers.Lasts {
		x.res.Runtime = max(x.res.Runtime, t)
	}
	if err := x.unknown(base); err != nil {
		return err
	}
	x.res.Runtime -= min(x.first, x.res.Runtime)
	x.res.Replayed, x.res.Ignored = base.Runtime-min(x.first, base.Runtime), base.Ignored
	for i := range list {
		x.res.Targets = append(x.res.Targets, list[i].Target)
	}
	if both.Gone != nil {
		x.res.Targets = append(x.res.Targets, both.Target)
	}
	x.res.Name, x.res.Resolution = x.run.Name, x.run.Units().Resolution
	n := trace.CountLocations(x.run.Defs)
	x.res.Threads, x.res.Devices = uint64(n.CPU) > uint64(len(x.run.Defs.Processes())), n.Accelerator > 0
	x.res.sort()
	if x.o.Output == "" {
		return nil
	}
	var texts []string
	for i := range x.o.Changes {
		texts = append(texts, x.o.Changes[i].String())
	}
	return x.save(whole, strings.Join(texts, ", "))
}

// replay tries changes, and sets how much each saves. If base is nil the first change must be none, and sets it.
func (x *search) replay(all []change, base **causes.Outcome) error {
	for some := range slices.Chunk(all, x.levers.AtOnce()) {
		var levers []*causes.Lever
		for i := range some {
			levers = append(levers, &some[i].lever)
		}
		out, err := x.levers.Try(levers...)
		if err != nil {
			return err
		}
		if *base == nil {
			*base = out[0]
		}
		for i, c := range some {
			if c.of == nil {
				continue
			}
			v := int64((*base).Runtime) - int64(out[i].Runtime)
			if c.of.Kind == kindPattern {
				v = min(v, int64(c.of.Time)) // its call sites may wait for other reasons too
			}
			if *c.saved = &v; c.says {
				c.of.goes(x, *base, out[i])
			}
		}
		x.meter.Add(x.sizes[0] * uint64(len(some)))
	}
	return nil
}

// unknown sets the fields of the report about what the replay does not know. Collective.
func (x *search) unknown(base *causes.Outcome) error {
	var regions []uint32
	for i := range x.run.Defs.Regions {
		regions = append(regions, x.run.Defs.Regions[i].Ref)
	}
	paths, r := len(x.paths.regions), len(regions)
	sums := make([]int64, paths+2*r+2)
	for _, own := range x.own {
		for at, ticks := range own {
			if at.activity == xtf.ActivityMPI && x.communicates(at.path) {
				sums[at.path] += int64(ticks)
			}
		}
	}
	for i, region := range regions {
		if t := x.turns[region]; t != nil {
			copy(sums[paths+2*i:], []int64{t.apart, t.against})
		}
	}
	own := x.ranges[x.c.Rank()]
	for p := own.First; p < own.End; p++ {
		sums[paths+2*r] += int64(x.levers.Lasts[p])
	}
	sums[paths+2*r+1] = int64(x.tests)
	if err := x.c.AllreduceInt64(sums, mpi.Sum); err != nil {
		return err
	}
	for _, m := range base.Moved {
		if x.communicates(m.Path) {
			sums[m.Path] -= int64(m.Waited)
		}
	}
	all, most := int64(0), 0
	for path, ticks := range sums[:paths] {
		if all += ticks; ticks > sums[most] {
			most = path
		}
	}
	if 20*all > sums[paths+2*r] {
		x.res.Unexplained, x.res.UnexplainedPath, x.res.AllTime = uint64(all), results.PathLabel(x.paths.Names(uint32(most))), uint64(sums[paths+2*r])
	}
	for i, region := range regions {
		if t := sums[paths+2*i:]; t[0] > 0 && 5*t[1] < t[0] && x.run.Defs.IsCall(x.run.Defs.Region(region), "recv", "mrecv", "waitany", "waitsome", "testany", "testsome") {
			x.res.InTurn = append(x.res.InTurn, x.function(region))
		}
	}
	slices.Sort(x.res.InTurn)
	x.res.InTurn = slices.Compact(x.res.InTurn)
	x.res.Tests = uint64(sums[paths+2*r+1])
	return nil
}

// between sets how much 10 % less time saves, if the savings of 50 % and 100 % determine it to 10^-5 of the runtime; else it returns false.
// The runtime is a convex function of a time that is scaled (a maximum of sums), so it is between a chord and the extension of another one.
func (t *target) between(runtime uint64) bool {
	least := *t.Half / 5
	most := *t.Half - (*t.Gone-*t.Half)*4/5
	if uint64(max(most-least, 0)) > runtime/100_000 {
		return false
	}
	t.Tenth = &least
	return true
}

// longest sets functions and intervals: the most ticks of each on one location. Targets are chosen by these too, because the critical path
// misses what matters where the analysis does not know who waits for whom. Memory: 16 bytes for each call path and interval. Collective.
func (x *search) longest() error {
	first := map[uint32]uint32{} // path of a function
	for path, region := range x.paths.functions {
		if _, ok := first[region]; !ok {
			first[region] = uint32(path)
		}
	}
	n := len(x.paths.regions)
	most := make([]int64, n+len(x.nodes))
	for _, own := range x.own {
		sums := map[uint32]int64{}
		for at, ticks := range own {
			if changeable(at.activity) && uint64(at.node) < uint64(len(x.nodes)) {
				sums[first[x.paths.functions[at.path]]] += int64(ticks)
				sums[uint32(n)+at.node] += int64(ticks)
			}
		}
		for i, ticks := range sums {
			most[i] = max(most[i], ticks)
		}
	}
	if err := x.c.AllreduceInt64(most, mpi.Max); err != nil {
		return err
	}
	x.functions, x.intervals = map[uint32]uint64{}, map[uint32]uint64{}
	for region, path := range first {
		x.functions[region] = uint64(most[path])
	}
	for node, ticks := range most[n:] {
		x.intervals[uint32(node)] = uint64(ticks)
	}
	return nil
}

// targets chooses targets: those that take most of the critical path or of a location, and those that wait most.
func (x *search) targets() ([]target, error) {
	functions, kernels, nodes, sites := map[uint32]uint64{}, map[uint32]uint64{}, map[uint32]uint64{}, map[uint32]uint64{}
	err := results.Load(x.run, xtf.WholeRun, func(t *xtf.PathTotal) {
		path, node := uint32(t.Key), uint32(t.Key>>32)
		switch {
		case uint64(path) >= uint64(len(x.paths.regions)):
		case changeable(t.Activity):
			functions[x.paths.functions[path]] += t.Ticks
			nodes[node] += t.Ticks
		case onDevice(t.Activity) && x.paths.regions[path] != trace.Undefined:
			kernels[x.paths.regions[path]] += t.Ticks
		case t.Activity == xtf.ActivityMPI:
			sites[path] += t.Ticks
		}
	})
	if err != nil {
		return nil, err
	}
	waits, late := map[uint32]uint64{}, map[uint32]bool{}
	patterns, of := map[uint32]uint64{}, map[uint32]map[uint32]bool{}
	err = results.Load(x.run, xtf.WholeRun, func(t *xtf.WaitTotal) {
		if path := uint32(t.Key); uint64(path) < uint64(len(x.paths.regions)) && !results.IsApart(t.Pattern) {
			k := t.Pattern & xtf.WaitPatternMask
			if of[k] == nil {
				of[k] = map[uint32]bool{}
			}
			waits[path] += t.Ticks
			patterns[k] += t.Ticks
			of[k][path], late[path] = true, late[path] || k == xtf.WaitLateReceiver
		}
	})
	if err != nil {
		return nil, err
	}
	var list []target
	add := func(kind, name string) *target {
		list = append(list, target{Target: Target{Kind: kind, Name: name}})
		return &list[len(list)-1]
	}
	for _, region := range most(greater(functions, x.functions), x.o.Targets) {
		t := add(kindFunction, x.function(region))
		t.Critical = functions[region]
		t.is = func(path, activity, _ uint32) bool { return changeable(activity) && x.paths.functions[path] == region }
	}
	labels, err := results.NodeLabels(x.run)
	if err != nil {
		return nil, err
	}
	for _, node := range most(greater(nodes, x.intervals), x.o.Targets) {
		if node > 0 && uint64(node) < uint64(len(x.nodes)) && !x.levers.Derived[node] {
			t := add(kindInterval, labels[node])
			t.Critical, t.is = nodes[node], inNode(node)
		}
	}
	if paths := x.parallel(); len(paths) > 0 {
		add(kindThreads, "parallel regions").is = func(path, activity, _ uint32) bool { return changeable(activity) && paths[path] }
	}
	for _, region := range most(kernels, x.o.Targets) {
		t := add(kindKernel, x.function(region))
		t.Critical = kernels[region]
		t.is = func(path, activity, _ uint32) bool { return onDevice(activity) && x.paths.regions[path] == region }
	}
	maps.DeleteFunc(patterns, func(k uint32, _ uint64) bool { return len(of[k]) == 1 }) // the same as its call site
	for _, k := range most(patterns, x.o.Targets) {
		t := add(kindPattern, results.PatternLabel(results.PatternName(k)))
		t.Time, t.paths, t.late = patterns[k], of[k], k == xtf.WaitLateReceiver
	}
	site := func(kind string, path uint32) *target {
		names := x.paths.Names(path)
		t := add(kind, results.PathLabel(names))
		t.Path, t.paths = names, map[uint32]bool{path: true}
		return t
	}
	for _, path := range most(waits, x.o.Targets) {
		t := site(kindWait, path)
		t.Time, t.late = waits[path], late[path]
	}
	own := maps.Clone(sites)
	maps.DeleteFunc(own, func(path uint32, _ uint64) bool { return !x.communicates(path) })
	for path, ticks := range waits {
		sites[path] += ticks
	}
	maps.DeleteFunc(sites, func(path uint32, _ uint64) bool {
		r := x.run.Defs.Region(x.paths.regions[path])
		return r == nil || !collective(x.run.Defs, r)
	})
	for _, path := range most(sites, x.o.Targets) {
		site(kindCollective, path).Time = sites[path]
	}
	all, moves, data := uint64(0), map[uint32]bool{}, uint64(0) // calls that move data, or may
	for path, ticks := range own {
		all += ticks
		if r := x.run.Defs.Region(x.paths.regions[path]); x.run.Defs.Class(r)&trace.ClassBarrier == 0 {
			moves[path] = true
			data += ticks
		}
	}
	add(kindTransfer, "all messages and collective operations").Critical = all
	for _, path := range most(own, x.o.Targets) {
		site(kindTransfer, path).Critical = own[path]
	}
	if data > 0 {
		t := add(kindNetwork, "twice the bandwidth, at most")
		t.Critical, t.paths = data, moves
	}
	return list, nil
}

// inNode returns a function that reports whether time outside of MPI is in an interval.
func inNode(n uint32) func(path, activity, node uint32) bool {
	return func(_, activity, node uint32) bool { return changeable(activity) && node == n }
}

// communicates reports whether a call path is that of a message or collective operation.
func (x *search) communicates(path uint32) bool {
	r := x.run.Defs.Region(x.paths.regions[path])
	return r != nil && x.run.Defs.Class(r)&(trace.ClassP2P|trace.ClassColl) != 0
}

// greater returns the greater value of each key.
func greater(a, b map[uint32]uint64) map[uint32]uint64 {
	a = maps.Clone(a)
	for k, v := range b {
		a[k] = max(a[k], v)
	}
	return a
}

// parallel returns the call paths in parallel regions of OpenMP.
func (x *search) parallel() map[uint32]bool {
	roles, paths := threads.NewRoles(x.run.Defs), map[uint32]bool{}
	for n := uint32(1); int(n) < x.paths.Len(); n++ { // callers come first
		if paths[x.paths.Parent(n)] || roles.Parallel(x.paths.regions[n]) {
			paths[n] = true
		}
	}
	return paths
}

// idle sets the parts of target "parallel regions" for this rank's processes: how much shorter their regions would be if the work of
// threads were balanced, and if no thread waited.
func (x *search) idle(parts []int64) error {
	own := x.ranges[x.c.Rank()]
	for p := own.First; p < own.End; p++ {
		process, thread := x.run.Defs.Process(p)
		if thread > 0 {
			continue
		}
		n := uint64(0)
		for q := p; int(q) < x.run.Defs.NumLocations(); q++ {
			if of, _ := x.run.Defs.Process(q); of != process {
				break
			}
			if x.run.Defs.Location(q).Type.OnHost() {
				n++
			}
		}
		v, err := x.run.Components(p)
		if err != nil {
			return err
		}
		uneven, n := v[xtf.ItemThreadImbalance], max(n, 1)
		parts[process], parts[len(parts)/2+int(process)] = int64(uneven/n), int64((uneven+v[xtf.ItemThreadScheduling])/n)
	}
	return nil
}

// function returns the name of a region, or of the time outside of all.
func (x *search) function(region uint32) string {
	if region == trace.Undefined {
		return results.PathLabel(nil)
	}
	return results.CallName(x.run, region)
}

// collective reports whether a region is a blocking collective operation that is not set-up.
func collective(d *trace.Definitions, r *trace.Region) bool {
	c := d.Class(r)
	return c&(trace.ClassColl|trace.ClassStart) == trace.ClassColl
}

// most returns the keys of the n largest values, the largest first, without values of 0.
func most(of map[uint32]uint64, n int) []uint32 {
	list := slices.SortedFunc(maps.Keys(of), func(a, b uint32) int { return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b)) })
	list = slices.DeleteFunc(list, func(k uint32) bool { return of[k] == 0 })
	return list[:min(n, len(list))]
}

// measure sets the ticks of targets by location, and their parts. Collective.
func (x *search) measure(list []target) error {
	first, locations := x.ranges[x.c.Rank()].First, x.run.Defs.NumLocations()
	for i := range list {
		t, processes := &list[i], 0
		if t.is == nil {
			continue
		}
		if x.levers.Within != nil || t.Kind == kindThreads {
			processes = len(x.run.Defs.Processes())
		}
		all := make([]int64, locations+2*processes)
		for k, own := range x.own {
			for at, ticks := range own {
				if !t.is(at.path, at.activity, at.node) {
					continue
				}
				to := int(first) + k
				if onDevice(at.activity) {
					process, _ := x.run.Defs.Process(trace.P(to))
					if to = locations + int(process); x.run.Defs.Location(first+trace.P(k)).Type == trace.AcceleratorStream {
						to += processes
					}
				}
				all[to] += int64(ticks)
			}
		}
		var err error
		if t.Kind == kindThreads {
			err = x.idle(all[locations:])
		}
		if err := jobs.Agree(x.c, x.input(err)); err != nil {
			return err
		}
		if err := x.c.AllreduceInt64(all, mpi.Sum); err != nil {
			return err
		}
		t.own, t.parts = all[:locations], all[locations:]
		for i, ticks := range all {
			if i < locations || i >= locations+processes && t.Kind != kindThreads {
				t.Time += uint64(ticks)
			}
		}
	}
	return nil
}

// share returns what is left of the time of location i, or of the streams of process i.
type share func(i int, devices bool) causes.Share

func every(s causes.Share) share { return func(int, bool) causes.Share { return s } }

// streams returns how long streams work, by process.
func (t *target) streams() []int64 { return t.parts[len(t.parts)/2:] }

// left returns what is left of a host's wait for its streams if these only take share s of their time: the wait is shorter by as many
// ticks as the streams' work.
func (t *target) left(process uint32, s share) causes.Share {
	waited, takes := t.parts[process], t.streams()[process]
	wait := waited - takes + int64(s(int(process), true).Of(uint64(takes)))
	return shareOf(wait, waited)
}

// shareOf returns the share of some ticks in others, rounded up.
func shareOf(ticks, of int64) causes.Share {
	return causes.Share(math.Ceil(float64(max(ticks, 0)) / float64(max(of, 1)) * float64(causes.Whole)))
}

// change is a change of a target.
type change struct {
	lever causes.Lever
	of    *target
	saved **int64 // the field for how much it saves
	says  bool    // it sets Goes of the target
}

// changes returns the changes of a target to try.
func (t *target) changes(x *search) (list []change) {
	work := func(to **int64, says bool, s share) {
		list = append(list, change{t.work(x, s), t, to, says})
	}
	calls := func(to **int64, says bool, c causes.ChangedCall) {
		list = append(list, change{t.calls(x, c), t, to, says})
	}
	switch t.Kind {
	case kindFunction, kindInterval, kindKernel:
		work(&t.Half, true, every(causes.Whole/2))
		work(&t.Balanced, false, t.balance())
		work(&t.Gone, false, every(0))
		work(&t.Tenth, false, every(causes.Whole*9/10))
	case kindChange:
		return []change{{t.lever(x), t, &t.Gone, true}}
	case kindThreads:
		for half, to := range []**int64{&t.Balanced, &t.Gone} {
			work(to, half == 0, func(p int, _ bool) causes.Share {
				process, thread := x.run.Defs.Process(trace.P(p))
				if less := t.parts[half*len(t.parts)/2+int(process)]; thread == 0 && less > 0 && t.own[p] > 0 {
					return shareOf(t.own[p]-less, t.own[p])
				}
				return causes.Whole
			})
		}
	case kindPattern, kindWait:
		calls(&t.Gone, true, causes.ChangedCall{Waitless: true, Own: causes.Whole})
		if t.late {
			calls(&t.Earlier, false, causes.ChangedCall{Answered: true, Own: causes.Whole})
		}
	case kindCollective:
		calls(&t.Gone, true, causes.ChangedCall{Removed: true})
	case kindTransfer, kindNetwork:
		calls(&t.Half, true, causes.ChangedCall{Own: causes.Whole / 2})
		if t.paths != nil {
			return list
		}
		calls(&t.Gone, false, causes.ChangedCall{Own: 0})
		calls(&t.Tenth, false, causes.ChangedCall{Own: causes.Whole * 9 / 10})
	}
	if n := len(list) - 1; n >= 0 && list[n].saved == &t.Tenth {
		t.tenth, list = &list[n], list[:n]
	}
	return list
}

// calls returns a lever that changes the calls of the target.
func (t *target) calls(x *search, c causes.ChangedCall) causes.Lever {
	return causes.Lever{Call: func(path uint32) causes.ChangedCall {
		if t.paths[path] || t.paths == nil && x.communicates(path) {
			return c
		}
		return causes.ChangedCall{Own: causes.Whole}
	}}
}

// work returns a lever that changes the time outside of MPI that belongs to the target.
func (t *target) work(x *search, s share) causes.Lever {
	return causes.Lever{Work: func(at causes.Place) causes.Share {
		switch {
		case !t.is(at.Path, at.Activity, at.Node):
			return causes.Whole
		case onDevice(at.Activity):
			process, _ := x.run.Defs.Process(at.P)
			return t.left(process, s)
		}
		return s(int(at.P), false)
	}}
}

// balance returns a share that makes the target take the mean time on all locations that have some, and on the streams of all processes.
func (t *target) balance() share {
	mean := func(of []int64) float64 {
		n, sum := int64(0), int64(0)
		for _, ticks := range of {
			if ticks > 0 {
				n, sum = n+1, sum+ticks
			}
		}
		return float64(sum) / float64(n)
	}
	hosts, streams := mean(t.own), mean(t.streams())
	return func(i int, devices bool) causes.Share {
		own, all := t.own, hosts
		if devices {
			own, all = t.streams(), streams
		}
		if own[i] == 0 {
			return causes.Whole
		}
		return causes.Share(all / float64(own[i]) * float64(causes.Whole))
	}
}

// goes sets the call site whose waiting grows most.
func (t *target) goes(x *search, base, out *causes.Outcome) {
	t.Goes, t.GoesTo = "", 0
	was := map[uint32]uint64{}
	for _, m := range base.Moved {
		was[m.Path] = m.Waited + m.Later
	}
	most, at := int64(0), uint32(0)
	for _, m := range out.Moved {
		if more := int64(m.Waited + m.Later - was[m.Path]); more > most {
			most, at = more, m.Path
		}
	}
	if most > 0 {
		names := x.paths.Names(at)
		t.Goes, t.GoesTo = results.PathLabel(names[max(len(names)-2, 0):]), uint64(most)
	}
}

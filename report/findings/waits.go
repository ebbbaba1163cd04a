package findings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// place is where times add up: an interval and a call path and, for a cause, an activity.
type place struct {
	path, activity uint32
}

// placeSum is a sum over the rows of a place.
type placeSum struct {
	place
	node  uint32 // of the row with the largest value
	most  numbers.Sum
	parts map[uint32]numbers.Sum // by call path
	inner map[uint32]numbers.Sum // of here, in libraries of the system, by function
	here  numbers.Sum            // waits of a pattern, or their direct costs
	long  numbers.Sum            // costs that waits of any pattern passed on
}

// line is the unit in which locations are compared: waits of a pattern in a place, or their costs.
type line struct {
	place
	item  xtf.Item // NumItems: costs that waits of any pattern passed on
	waits bool
}

// names joins call paths that end in the same call, because a sentence names only the call.
type names struct {
	causes *results.Causes
	first  map[string]uint32 // first path with a name
	of     map[place]uint32  // the same by place
}

// place returns the place at which a cost is reported. Computing counts for the program's own function. A call counts together
// with all calls of its name, because a reader of a name means them all.
func (n *names) place(path, activity uint32) place {
	p := place{n.own(path, activity), activity}
	first, ok := n.of[p]
	if !ok {
		name := n.sentence(p, 0)
		if first, ok = n.first[name]; !ok {
			first = p.path
			n.first[name] = first
		}
		n.of[p] = first
	}
	return place{first, activity}
}

// own returns, for computing, the path up to the program's own function; else the path.
func (n *names) own(path, activity uint32) uint32 {
	if activity == xtf.ActivityCPU {
		return n.causes.Paths.Own(path)
	}
	return path
}

// sentence names a cause and the process with most of it.
func (n *names) sentence(p place, rank uint32) string {
	c := results.Cause{Activity: results.ActivityName(p.activity), Region: n.causes.Paths.Region(p.path), Rank: rank}
	return c.Who(n.causes.R)
}

// below finds the innermost function, other than the main program, that contains at least three quarters of the computing of the
// given places. If the computing is in many functions, these work for that one. It returns its path (0 for none), the computing
// below it, and all computing.
func (n *names) below(list []*placeSum) (path uint32, of, all numbers.Sum) {
	sums, paths := map[uint32]numbers.Sum{}, n.causes.Paths
	for _, p := range list {
		if p.activity != xtf.ActivityCPU {
			continue
		}
		for at, v := range p.parts {
			all = numbers.Add(all, v)
			for depth := 0; at != 0 && depth < results.MaxPathDepth; depth++ {
				sums[at] = numbers.Add(sums[at], v)
				at = paths.Parent(at)
			}
		}
	}
	for at, v := range sums { // functions with so much are nested; parents have lower numbers
		if v >= all-all/4 && at > path && paths.Parent(at) != 0 && results.CallName(n.causes.R, paths.Region(at)) != "main" {
			path, of = at, v
		}
	}
	return path, of, all
}

// lines finds the location with most of each line.
type lines struct {
	names *names
	here  numbers.Largest[line]
	all   numbers.Largest[line] // costs including passed-on ones
	costs map[line]bool         // lines of the current location
}

func (l *lines) wait(x *xtf.WaitSum) {
	l.here.Add(line{place{path: l.names.causes.Paths.Own(uint32(x.Key))}, xtf.PatternItem(x.Pattern), true}, x.Ticks)
}

func (l *lines) cost(x *xtf.Delay) {
	p := l.names.place(uint32(x.Key), x.Activity)
	if x.Short > 0 {
		k := line{p, xtf.PatternItem(x.Pattern), false}
		l.here.Add(k, x.Short)
		l.costs[k] = true
	}
	l.here.Add(line{p, xtf.NumItems, false}, x.Long)
}

func (l *lines) end(p trace.P) {
	for k := range l.costs { // the order does not matter
		l.all.Add(k, l.here.Own(k))
		l.all.Add(k, l.here.Own(line{k.place, xtf.NumItems, false}))
	}
	clear(l.costs)
	l.here.End(uint32(p))
	l.all.End(uint32(p))
}

// most returns the largest part that a location has in a place: costs of a pattern and passed-on costs.
func (l *lines) most(p place, item xtf.Item) numbers.OfOne {
	part, handed := l.all.Of(line{p, item, false}), l.here.Of(line{p, xtf.NumItems, false})
	if handed.Ticks > part.Ticks || handed.Ticks == part.Ticks && handed.P < part.P {
		return handed
	}
	return part
}

// places adds up costs by place. For waits, which have no activity, it adds up by call path. of returns the values of a row.
func places(n *names, rows results.PlaceSums, waits bool, of func(k results.CauseKey, s results.CauseSum) (here, long numbers.Sum)) []*placeSum {
	at := map[place]*placeSum{}
	var list []*placeSum
	for k, s := range rows.Sorted() {
		here, long := of(k, s)
		v := numbers.Add(here, long)
		if v == 0 {
			continue
		}
		path := uint32(k.Key)
		p := place{path: n.causes.Paths.Own(path)}
		if !waits {
			p = n.place(path, k.Activity)
		}
		if at[p] == nil {
			at[p] = &placeSum{place: p, parts: map[uint32]numbers.Sum{}, inner: map[uint32]numbers.Sum{}}
			list = append(list, at[p])
		}
		x := at[p]
		own, inner := n.own(path, k.Activity), n.causes.Paths.Region(path)
		x.parts[own] = numbers.Add(x.parts[own], v)
		if n.causes.Paths.Region(own) != inner {
			x.inner[inner] = numbers.Add(x.inner[inner], v)
		}
		x.here, x.long = numbers.Add(x.here, here), numbers.Add(x.long, long)
		if v > x.most {
			x.most, x.node = v, uint32(k.Key>>32)
		}
	}
	return list
}

// mostOf returns the largest of some parts, of equal ones the one with the lowest key, in any order.
func mostOf(parts map[uint32]numbers.Sum) (at uint32, most numbers.Sum) {
	for k, v := range parts {
		if v > most || v == most && k < at {
			at, most = k, v
		}
	}
	return at, most
}

// worst returns the process with the largest part, of equal ones the lowest.
func worst(ranks map[uint32]uint64) (rank uint32, ticks uint64) {
	rank = trace.Undefined
	for r, v := range ranks { // the order does not matter
		if v > ticks || v == ticks && r < rank {
			rank, ticks = r, v
		}
	}
	return rank, ticks
}

// waitKinds are the kinds of findings whose names differ from their pattern.
var waitKinds = map[xtf.Item]string{xtf.ItemWaitBarrier: kindBarrier, xtf.ItemWaitNxN: kindNxN}

// waits makes a finding of each pattern of waits. The run could be shorter by at most the largest sum of the pattern on a
// process, and by at most what every process could gain: the time in which it waits, makes others wait, is idle, or is in set-up.
func (f *finder) waits() error {
	if f.causes == nil {
		return nil
	}
	for _, item := range results.WaitItems {
		sum, waiting := f.waitsOf(item)
		if sum.Max == 0 {
			continue
		}
		ticks := min(sum.Max, f.each.slack, f.runtime)
		if !f.matters(ticks) {
			continue
		}
		kind := cmp.Or(waitKinds[item], item.String())
		x := Finding{Kind: kind, Ticks: ticks, Query: f.query("waits"), facts: FindingFacts{pattern: item.String()}}
		x.Basis = fmt.Sprintf("largest sum of these waits on one process, rank %d", sum.MaxP)
		if ticks < sum.Max {
			x.Basis = fmt.Sprintf("what rank %d could end earlier by: its waits, the waits that it causes, set-up and idle time; the largest sum of these waits on one process is more, %s %s on rank %d",
				f.each.slackRank, f.u.Ticks(sum.Max), f.u.Name(), sum.MaxP)
		}
		if err := f.placeWaits(&x, item, sum, waiting); err != nil {
			return err
		}
		f.blame(&x, item)
		if x.Cause != nil && x.Cause.Activity == results.ActivityName(xtf.ActivityMPI) {
			if err := cmp.Or(f.lastMember(&x, x.facts.causeRegion, x.Cause.Process, true), queued(f, &x, x.facts.causeRegion, x.Cause.Process)); err != nil {
				return err
			}
		}
		interrupted, err := f.seldom(&x, item, waiting)
		if err != nil {
			return err
		}
		if x.Cause != nil && x.Cause.Activity == "cpu" && !interrupted && !results.WaitsForThreads(f.r, x.facts.causeRegion) {
			without := f.starved(x.Cause.Process)
			x.facts.starved = without != ""
			x.Evidence += without
		}
		f.busy(&x)
		if x.Cause != nil && x.Cause.Activity == "cpu" {
			asleep, err := f.sleeps(x.Cause.Process, x.Ticks)
			if err != nil {
				return err
			}
			x.Evidence += asleep
		}
		if err := f.heavy(&x); err != nil {
			return err
		}
		what := results.PatternLabel(item.String())
		if interrupted {
			x.Kind, what = kindInterruptions, "interruptions"
			x.Where.Processes = []uint32{x.Cause.Process}
		}
		f.add(x, what, ": "+x.Evidence)
	}
	slices.SortStableFunc(f.list, func(a, b Finding) int { return cmp.Compare(b.Ticks, a.Ticks) })
	return nil
}

// waitsOf returns the spread of a pattern over the processes, and the location that waits longest. That is the first thread of a
// process, or another thread that waits longer than all first threads, if the first thread of its process mostly waits at least
// as long.
func (f *finder) waitsOf(item xtf.Item) (results.Spread, trace.P) {
	sum, o := *f.s.Item(item), f.others[item]
	sum.Sum = numbers.Add(sum.Sum, o.sum)
	if o.most > sum.Max {
		sum.Max = o.most
		sum.MaxP, _ = f.r.Defs.Process(o.where)
		return sum, o.where
	}
	if uint64(sum.MaxP) >= uint64(len(f.r.Defs.Processes())) {
		return sum, 0
	}
	return sum, f.r.Defs.Processes()[sum.MaxP].First
}

// placeWaits says where most of the time of a pattern is spent.
func (f *finder) placeWaits(x *Finding, item xtf.Item, sum results.Spread, waiting trace.P) error {
	x.Where.Processes = []uint32{sum.MaxP}
	x.Evidence = fmt.Sprintf("%s %s waited on all processes together, %s on rank %d", f.u.Big(sum.Sum), f.u.Name(), f.u.Ticks(sum.Max), sum.MaxP)
	if _, thread := f.r.Defs.Process(waiting); thread > 0 {
		x.Where.Thread = &thread
		x.Evidence += fmt.Sprintf(", thread %d", thread)
	}
	rows, err := f.waitsAt(item, sum.Sum, waiting)
	if err != nil {
		return err
	}
	of, own := "it", rows != nil
	if own {
		of = fmt.Sprintf("that of rank %d", sum.MaxP)
	} else {
		rows = f.causes.Waits
	}
	list := places(f.lines.names, rows, true, func(k results.CauseKey, s results.CauseSum) (here, long numbers.Sum) {
		if xtf.PatternItem(k.Pattern) != item {
			return 0, 0
		}
		return numbers.Integer(s.Ticks), 0
	})
	if len(list) == 0 {
		return nil
	}
	all := numbers.Sum(0) // of all threads
	for _, p := range list {
		all = numbers.Add(all, p.here)
	}
	top := slices.MaxFunc(list, func(a, b *placeSum) int { return cmp.Compare(a.here, b.here) })
	x.Where.Path = f.causes.Paths.Names(top.path)
	x.Where.Region, x.Where.Place = f.called(top.path, xtf.ActivityMPI)
	x.facts.path = top.path
	x.Where.Interval = f.interval(top.node)
	x.facts.Region = x.Where.Region
	part := numbers.Quotient(top.here, all).Percent()
	if x.Where.Place == "" {
		x.Evidence += fmt.Sprintf("; %s of %s in %s", part, of, results.PathLabel(x.Where.Path))
	} else {
		path := slices.Clone(x.Where.Path[:len(x.Where.Path)-1])
		last := len(path) - 1
		path[last] = strings.TrimSuffix(path[last], " ("+x.Where.Place+")")
		x.Evidence += fmt.Sprintf("; %s of %s in %s, in %s", part, of, at(x.Where.Region, x.Where.Place), results.PathLabel(path))
	}
	if err := cmp.Or(f.lastToCome(x, item, top.path, waiting), elsewhere(f, x, item, list, top, own)); err != nil || item != xtf.ItemLateSender {
		return err
	}
	same, other := f.s.Item(xtf.ItemLateSenderSame).Sum, f.s.Item(xtf.ItemLateSenderOther).Sum
	if r := numbers.Quotient(numbers.Add(same, other), sum.Sum); r.Defined && r.Value >= 0.5 && !isCall(f.r, f.causes.Paths.Region(top.path), takeFirst...) {
		x.Kind = KindWrongOrder
		x.facts.SameSource = same > 0 && same >= other
		x.Evidence += fmt.Sprintf("; in %s of it a message that was sent earlier is received later", r.Percent())
	}
	return nil
}

// waitsAt returns the waits of a location by place if the waits of all locations, which the sums of places include, are more than
// the finding counts; else nil.
func (f *finder) waitsAt(item xtf.Item, counted numbers.Sum, p trace.P) (rows results.PlaceSums, err error) {
	all := numbers.Sum(0)
	for k, s := range f.causes.Waits {
		if xtf.PatternItem(k.Pattern) == item {
			all = numbers.Add(all, numbers.Integer(s.Ticks))
		}
	}
	if all <= counted {
		return nil, nil
	}
	rows = results.PlaceSums{}
	err = results.Load(f.r, xtf.Proc(p), func(x *xtf.WaitSum) {
		rows.Add(results.CauseKey{Key: x.Key, Pattern: x.Pattern}, results.CauseSum{Ticks: x.Ticks, Worst: x.Ticks, WorstP: uint32(p)})
	})
	return rows, beyond(err)
}

// called names the innermost call of a path in an activity, and its place in the source.
func (f *finder) called(path, activity uint32) (region, place string) {
	ref := f.causes.Paths.Region(path)
	if place = results.CallPlace(f.r, ref); place != "" && activity != xtf.ActivityOutside {
		return numbers.Clean(results.CallName(f.r, ref), 60), place
	}
	return numbers.Clean(f.causes.Name(results.CriticalKey{Region: ref, Activity: activity}), 60), ""
}

// takeFirst are calls that end with the first message that comes: their caller cannot change the order.
var takeFirst = []string{"waitany", "waitsome", "testany", "testsome"}

// interval is the label of a node, "" for the whole program.
func (f *finder) interval(n uint32) string {
	if n == 0 || uint64(n) >= uint64(len(f.nodes)) {
		return ""
	}
	return f.nodes[n].Label()
}

// blame finds who makes others wait. A short cost has the pattern of the wait that it causes. A long cost has the pattern of an
// earlier wait that passed the lateness on. Of long costs a pattern gets at least the part that all other waits cannot have
// passed on.
func (f *finder) blame(x *Finding, item xtf.Item) {
	var waited, elsewhere numbers.Sum // elsewhere: what waits of other patterns passed on
	for k, s := range f.causes.Waits {
		switch i := xtf.PatternItem(k.Pattern); {
		case i == item:
			waited = numbers.Add(waited, numbers.Integer(s.Ticks))
		case slices.Contains(results.WaitItems, i):
			elsewhere = numbers.Add(elsewhere, numbers.Integer(s.Ticks))
		}
	}
	handed := map[place]numbers.Sum{} // passed on, by waits of any pattern
	at := func(k results.CauseKey) place { return f.lines.names.place(uint32(k.Key), k.Activity) }
	for k, s := range f.causes.Delays.Sorted() { // the first path of a name decides its place
		if xtf.PatternItem(k.Pattern) != item {
			elsewhere = numbers.Sub(elsewhere, numbers.Integer(s.Ticks))
		}
		p := at(k)
		handed[p] = numbers.Add(handed[p], numbers.Integer(s.Long))
	}
	elsewhere = max(elsewhere, 0)
	list := places(f.lines.names, f.causes.Delays, false, func(k results.CauseKey, s results.CauseSum) (here, long numbers.Sum) {
		if xtf.PatternItem(k.Pattern) == item {
			here = numbers.Integer(s.Ticks)
		}
		if handed[at(k)] > elsewhere { // else nothing of it is certain
			long = numbers.Integer(s.Long)
		}
		return here, long
	})
	if len(list) == 0 {
		return
	}
	least := func(p *placeSum) numbers.Sum { return numbers.Add(p.here, max(numbers.Sub(p.long, elsewhere), 0)) }
	slices.SortStableFunc(list, func(a, b *placeSum) int { return cmp.Compare(least(b), least(a)) })
	top := list[0]
	if least(top) <= 0 {
		return
	}
	// who returns the process with most of a place and its part. Passed-on costs count if some of them are certain.
	who := func(p *placeSum) (part numbers.Sum, rank uint32, ticks uint64) {
		if p.long > elsewhere {
			most := f.lines.most(p.place, item)
			return numbers.Add(p.here, p.long), f.causes.Rank(most.P), most.Ticks
		}
		most := f.lines.here.Of(line{p.place, item, false})
		return p.here, f.causes.Rank(most.P), most.Ticks
	}
	path, largest := mostOf(top.parts)
	part, rank, ticks := who(top)
	share := numbers.Quotient(least(top), waited)
	atLeast := ""
	if elsewhere > 0 && handed[top.place] > 0 && share.Percent() != "100.0 %" {
		atLeast = "at least "
	}
	x.Cause = &FindingCause{
		Process: rank, Activity: results.ActivityName(top.activity), Path: f.causes.Paths.Names(path),
		Share: share, OfRow: numbers.Quotient(numbers.Integer(ticks), part),
	}
	x.Cause.Region, x.Cause.Place = f.called(path, top.activity)
	x.facts.Activity, x.facts.causeRegion, x.facts.causeNode = x.Cause.Activity, f.causes.Paths.Region(path), top.node
	if d := f.r.Defs.Region(x.facts.causeRegion); d != nil {
		x.facts.fromSetup = f.r.Defs.StateOf(d) == trace.StateSetup
		x.facts.OtherCall = x.Cause.Region != x.facts.Region
	}
	x.Evidence += fmt.Sprintf("; %s%s of the waits come from %s (%s of that)", atLeast, share.Percent(), f.lines.names.sentence(top.place, rank), x.Cause.OfRow.Percent())
	if d := f.r.Defs.Region(x.facts.causeRegion); d != nil && len(f.r.Defs.InterruptGenerators) > 0 && top.activity == xtf.ActivityCPU && f.causes.Paths.Parent(path) == 0 && d.Paradigm != trace.ParadigmCompiler {
		x.Evidence += ", in functions that samples do not tell, as where a process sleeps, has no processor, or computes briefly"
	}
	if p := x.Cause.Path; len(p) > 2 && top.activity != xtf.ActivityMPI { // a function may be called from several places
		of := ""
		if all := numbers.Add(top.here, top.long); largest < all {
			of = numbers.Quotient(largest, all).Percent() + " of that "
		}
		x.Evidence += ", " + of + "in " + results.PathLabel(p)
	}
	if inner, most := mostOf(top.inner); most > numbers.Add(top.here, top.long)/20 {
		x.Evidence += fmt.Sprintf("; %s of that in %s, which it calls", numbers.Quotient(most, numbers.Add(top.here, top.long)).Percent(), f.libraryName(inner))
	}
	all, named := numbers.Sum(0), least(top) // of the cause's activity
	for _, p := range list {
		if p.activity == top.activity {
			all = numbers.Add(all, least(p))
		}
	}
	x.facts.ofActivity = numbers.Quotient(min(all, waited), waited)
	if len(list) > 1 && least(list[1]) > 0 && least(list[1]) >= least(top)/2 {
		second := list[1]
		_, rank, _ := who(second)
		x.Evidence += fmt.Sprintf("; %s from %s", numbers.Quotient(least(second), waited).Percent(), f.lines.names.sentence(second.place, rank))
		if second.activity == top.activity {
			named = numbers.Add(named, least(second))
		}
	}
	if numbers.Sub(all, named) >= named/4 && all > named {
		x.Evidence += fmt.Sprintf("; with %s in other places it is %s", results.Activities[top.activity].Cause, x.facts.ofActivity.Percent())
		if below, of, whole := f.lines.names.below(list); top.activity == xtf.ActivityCPU && below != 0 && f.causes.Paths.Region(below) != x.facts.causeRegion {
			x.Evidence += fmt.Sprintf("; %s of this time is in %s and what it calls", numbers.Quotient(of, whole).Percent(), f.libraryName(f.causes.Paths.Region(below)))
		}
	}
}

// libraryName names a function with its library.
func (f *finder) libraryName(ref uint32) string {
	name := numbers.Clean(results.CallName(f.r, ref), 60)
	if x := f.r.Defs.Region(ref); x != nil {
		if of := f.r.Defs.Text(x.Description); of != "" && !strings.HasSuffix(of, " "+name) { // without symbols the function has the library's name
			name += ", " + numbers.Clean(of, 60)
		}
	}
	return name
}

// busy says what of a loss is left while the process that makes others wait computes as much as it does: no other order of calls gains more.
// Before barriers and the like the work is to be balanced in any case: so that gains no more than what the longest process takes longer than all
// compute on average, as where one of them has nothing to do but to wait for the others. What threads gain that wait for locks is not known.
// The rest is spared: the order of findings does not count it.
func (f *finder) busy(x *Finding) {
	var all numbers.Sum
	most := uint64(0)
	for _, t := range f.times {
		own := t.works - min(t.polls, t.works)
		all, most = numbers.Add(all, numbers.Integer(own)), max(most, own)
	}
	mean := numbers.MeanOf(uint64(max(all, 0)), uint64(len(f.times)))
	if x.Kind == kindBarrier || x.Kind == kindNxN {
		longest := f.s.Item(xtf.ItemMeasured).Max
		if left := longest - min(mean, longest); left < x.Ticks-x.Ticks/4 {
			x.spared = x.Ticks - left
			x.Evidence += fmt.Sprintf("; as long as all compute as much together, the run could be shorter by no more than %s %s", f.u.Ticks(left), f.u.Name())
		}
		return
	}
	if x.Cause == nil || f.teams.of(x.Cause.Process).locks > 0 || x.facts.starved || x.Cause.Activity != "cpu" || uint64(x.Cause.Process) >= uint64(len(f.times)) {
		return
	}
	left := f.times[x.Cause.Process].left
	if left >= x.Ticks {
		return
	}
	if waits, err := waitInFinalize(f, x.Cause.Process); err == nil && waits < x.Ticks-left {
		left += waits
		x.facts.Busy = left < x.Ticks/4
		x.Evidence += fmt.Sprintf("; as long as rank %d computes that much, the run could be shorter by no more than %s %s", x.Cause.Process, f.u.Ticks(left), f.u.Name())
		over := most - min(mean, most)
		if x.spared = x.Ticks - min(left+over, x.Ticks); x.spared > 0 && f.matters(over) {
			x.Evidence += fmt.Sprintf(", and by %s more if all computed the same", f.u.Ticks(over))
		}
	}
}

// byGain puts first what gains most.
func byGain(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Ticks-min(b.spared, b.Ticks), a.Ticks-min(a.spared, a.Ticks)), cmp.Compare(b.Ticks, a.Ticks))
}

// heavy says how much of what all send and receive in an all-to-all operation the process does that makes others wait by it, where that is
// a third more than an even share, and long messages; or how often it calls it, where that is often and with few bytes.
func (f *finder) heavy(x *Finding) error {
	processes := f.r.Defs.Processes()
	if x.Cause == nil || x.Cause.Activity != "mpi" || uint64(x.Cause.Process) >= uint64(len(processes)) {
		return nil
	}
	k := slices.IndexFunc(f.hot.Profile.Regions, func(r results.RegionTime) bool {
		return r.Region == x.facts.causeRegion && r.Kind&xtf.ClassNxN != 0
	})
	if k < 0 {
		return nil
	}
	all := f.hot.Profile.Regions[k].Bytes
	calls, own, each, err := sizes(f, x.facts.causeRegion, x.Cause.Process)
	if err == nil && calls >= manyCalls && each <= smallMessage && !x.facts.OtherCall {
		var few string
		few, err = inFewCalls(f, x.Cause.Process, xtf.ClassColl, results.WaitItems...)
		if x.Evidence += few; few == "" {
			x.facts.often = true
			x.Evidence += oftenText(x.Cause.Region, calls, each)
		}
	}
	if err != nil || own > all || own/max(calls, 1) < longMessage || numbers.MulDiv(own, 3*uint64(len(processes)), 4) < all {
		return err
	}
	x.facts.heavy = true
	x.Evidence += fmt.Sprintf("; rank %d sends and receives there %s of %s that all do", x.Cause.Process, numbers.Bytes(own), numbers.Bytes(all))
	return nil
}

// lastToCome names the call that was late in most waits of a pattern on a call path, if calls have places in the source.
// (Computing makes it late, but computing has no place.) It also names the process that would mostly come last if the last one
// did not come, if a quarter of these waits would then remain: a process that is less late in the same call causes no wait of its
// own.
func (f *finder) lastToCome(x *Finding, item xtf.Item, path uint32, p trace.P) error {
	list, all, err := waitsOn(f.r, item, path, p)
	if err != nil {
		return beyond(err)
	}
	if x.Where.Place != "" {
		calls, _, looked, err := partners(f.r, p, list)
		if err != nil {
			return err
		}
		call, ticks := worst(calls)
		if place := results.CallPlace(f.r, call); place != "" && ticks >= looked-looked/2 {
			x.Late = at(numbers.Clean(results.CallName(f.r, call), 60), place)
			x.Evidence += fmt.Sprintf("; what comes late is %s, in %s of the time of %s of rank %d", x.Late, numbers.NewRatio(ticks, looked).Percent(), lookedAt(len(list), all, "wait"), x.Where.Processes[0])
		}
	}
	list, _, _ = spread(looks(len(f.r.Defs.Processes()), maxWaits), func(use func(w *xtf.Wait)) error { // there is no error
		for i := range list {
			use(&list[i])
		}
		return nil
	}, waited)
	ranks := map[uint32]uint64{}
	var looked, remains uint64
	for i := range list {
		w := &list[i]
		at, by, err := nextLast(f.r, p, w)
		if err != nil {
			return beyond(err)
		}
		if at > w.T {
			rank, _ := f.r.Defs.Process(by)
			ranks[rank] += min(at, w.End) - w.T
			remains += min(at, w.End) - w.T
		}
		looked += waited(w)
	}
	rank, ticks := worst(ranks)
	if remains >= looked/4 && ticks > remains/2 && f.matters(numbers.MulDiv(x.Ticks, remains, looked)) {
		x.Evidence += fmt.Sprintf("; without the last to come %s of the time of %s of rank %d would remain, most of it for rank %d", numbers.NewRatio(remains, looked).Percent(), lookedAt(len(list), all, "wait"), x.Where.Processes[0], rank)
	}
	return nil
}

// nextLast returns when the last but one came for whom location p waits, and who that is: a member of a barrier or N×N operation,
// or a sender of messages that one call receives; 0 if there is none.
func nextLast(r *results.Run, p trace.P, w *xtf.Wait) (at uint64, by trace.P, err error) {
	of := trace.P(w.CauseP)
	later := func(t uint64, q trace.P) {
		if q != of && q != p && t > at && uint64(q) < uint64(r.Defs.NumLocations()) {
			at, by = t, q
		}
	}
	switch w.Pattern & xtf.WaitPatternMask {
	case xtf.WaitBarrier, xtf.WaitNxN:
		c, err := results.Referred[xtf.Coll](r, uint32(p), w.RecN)
		if err != nil {
			return 0, 0, err
		}
		err = r.File.Members(c.Comm, c.Ordinal, 0, xtf.Proc(r.Defs.NumLocations()), nil, func(q xtf.Proc, _ uint64, row []byte) bool {
			var o xtf.Coll
			o.Load(row)
			later(o.Post, trace.P(q))
			return true
		})
		return at, by, err
	case xtf.WaitLateSender:
		a, err := xtf.ArrayOf[xtf.P2P](r.File, xtf.Proc(p))
		if err != nil {
			return 0, 0, err
		}
		own, err := results.Referred[xtf.P2P](r, uint32(p), w.RecN)
		if err != nil {
			return 0, 0, err
		}
		of = trace.P(own.MateP)
		const near = 64 // messages that one call receives, in each direction
		err = a.Each(w.RecN-min(w.RecN, near), min(w.RecN+near, a.Len()), func(_ uint64, row []byte) bool {
			var m xtf.P2P
			if m.Load(row); m.CallN == own.CallN && m.Kind&xtf.P2PKindMask == xtf.P2PRecv && m.Kind&xtf.P2PUnmatched == 0 {
				later(m.MateT, trace.P(m.MateP))
			}
			return true
		})
		return at, by, err
	}
	return 0, 0, nil
}

// elsewhere names the next call of a pattern in which a process also waits for a time that matters, and for whom. With own, the
// list has only waits of the process itself.
func elsewhere(f *finder, x *Finding, item xtf.Item, list []*placeSum, top *placeSum, own bool) error {
	var next *placeSum
	rank, most := uint32(0), uint64(0)
	for _, p := range list {
		part := f.lines.here.Of(line{p.place, item, true})
		r, ticks := f.causes.Rank(part.P), part.Ticks
		if own {
			r, ticks = x.Where.Processes[0], uint64(max(p.here, 0))
		}
		if ticks > most && f.causes.Paths.Region(p.path) != f.causes.Paths.Region(top.path) {
			next, rank, most = p, r, ticks
		}
	}
	if !f.matters(most) || uint64(rank) >= uint64(len(f.r.Defs.Processes())) {
		return nil
	}
	x.Evidence += fmt.Sprintf("; next to that %s on rank %d in %s", f.u.Ticks(most), rank, at(f.called(next.path, xtf.ActivityMPI)))
	p := f.r.Defs.Processes()[rank].First
	waits, _, err := waitsOn(f.r, item, next.path, p)
	if err != nil {
		return beyond(err)
	}
	_, ranks, looked, err := partners(f.r, p, waits)
	if late, ticks := worst(ranks); ticks > 0 && ticks >= looked-looked/2 {
		x.Evidence += fmt.Sprintf(", for rank %d", late)
	}
	return err
}

// waitsOn returns the waits of a location in a pattern on a call path, and their number. Of many waits it returns some at equal
// distances along their time.
func waitsOn(r *results.Run, item xtf.Item, path uint32, p trace.P) (list []xtf.Wait, all uint64, err error) {
	return spread(maxWaits, func(use func(w *xtf.Wait)) error {
		return results.Load(r, xtf.Proc(p), func(w *xtf.Wait) {
			if w.Path == path && w.End > w.T && xtf.PatternItem(w.Pattern) == item {
				use(w)
			}
		})
	}, waited)
}

// waited returns the duration of a wait.
func waited(w *xtf.Wait) uint64 { return w.End - w.T }

// partners returns for whom a location waits, in ticks by their call and by their process, and how long it waits in total.
func partners(r *results.Run, p trace.P, list []xtf.Wait) (calls, ranks map[uint32]uint64, looked uint64, err error) {
	calls, ranks = map[uint32]uint64{}, map[uint32]uint64{}
	for i := range list {
		side, err := results.WaitedFor(r, p, &list[i])
		if err != nil { // nothing is known
			return nil, nil, 0, beyond(err)
		}
		looked += waited(&list[i])
		if side != nil {
			rank, _ := r.Defs.Process(side.P)
			calls[side.Region] += waited(&list[i])
			ranks[rank] += waited(&list[i])
		}
	}
	return calls, ranks, looked, nil
}

// lastMember says which process enters the collectives of a region last, if another process stays in them until then. If that
// process makes others wait there, it says so only if that is most of its time in these collectives.
func (f *finder) lastMember(x *Finding, region, rank uint32, blamed bool) error {
	processes := f.r.Defs.Processes()
	var staying, whole uint64
	list, all, err := spread(looks(len(processes), maxWaits), func(use func(c *xtf.Coll)) error {
		staying, whole = 0, 0
		return results.Load(f.r, xtf.Proc(processes[rank].First), func(c *xtf.Coll) {
			if c.Region != region {
				return
			}
			if c.End != xtf.Never {
				whole += c.End - min(c.T, c.End)
			}
			if until := untilLast(c); until > 0 {
				staying += until
				use(c)
			}
		})
	}, untilLast)
	if err != nil {
		return beyond(err)
	}
	sums := map[uint32]uint64{}
	looked := uint64(0)
	for i := range list {
		c := &list[i]
		looked += untilLast(c)
		err := f.r.File.Members(c.Comm, c.Ordinal, 0, xtf.Proc(f.r.Defs.NumLocations()), nil, func(p xtf.Proc, _ uint64, row []byte) bool {
			var o xtf.Coll
			o.Load(row)
			if o.Post == c.LastEnter {
				last, _ := f.r.Defs.Process(trace.P(p))
				sums[last] += untilLast(c)
			}
			return o.Post != c.LastEnter
		})
		if err != nil {
			return beyond(err)
		}
	}
	if blamed && staying < whole-whole/2 {
		return nil
	}
	if last, ticks := worst(sums); ticks >= looked-looked/2 && ticks > 0 {
		if blamed {
			x.facts.untilLast = true
			x.Evidence += fmt.Sprintf("; %s of its time there is before the last member comes", numbers.NewRatio(staying, whole).Percent())
		}
		x.Evidence += fmt.Sprintf("; who comes last is rank %d, in %s of that time of %s of rank %d", last, numbers.NewRatio(ticks, looked).Percent(), lookedAt(len(list), all, "call"), rank)
	}
	return nil
}

// untilLast returns the time of a member in a collective until the last one enters it, 0 if the member leaves before.
func untilLast(c *xtf.Coll) uint64 {
	if c.LastEnter == xtf.Never || c.LastEnter > c.End {
		return 0
	}
	return c.LastEnter - min(c.T, c.LastEnter)
}

// beforeLast returns how long the process with the largest time in collectives stays in them until the last member enters,
// without its waits. strange is its time in collectives with members outside of the trace.
func (f *finder) beforeLast() (until, strange uint64, err error) {
	if !f.matters(f.each.largest[sumColl]) {
		return 0, 0, nil
	}
	whole := map[uint32]bool{}
	err = results.Load(f.r, xtf.Proc(f.r.Defs.Processes()[f.each.rank[sumColl]].First), func(c *xtf.Coll) {
		if c.Flags&xtf.CollNonBlocking == 0 {
			until += untilLast(c)
			if _, ok := whole[c.Comm]; !ok {
				whole[c.Comm] = trace.IsWhole(f.r.Defs, c.Comm)
			}
			if !whole[c.Comm] && c.End != xtf.Never {
				strange += c.End - c.T
			}
		}
	})
	return until - min(until, f.each.collWaits), strange, beyond(err)
}

// lateMate says for how much of the time of a process's sends in calls of a region their receives had not begun, and on which
// process mostly.
func (f *finder) lateMate(x *Finding, region uint32, send string) error {
	if !f.matters(x.Ticks) {
		return nil
	}
	rank := x.Where.Processes[0]
	list, all, err := spread(maxWaits, func(use func(m *xtf.P2P)) error {
		return results.Load(f.r, xtf.Proc(f.r.Defs.Processes()[rank].First), func(m *xtf.P2P) {
			if m.Region == region && m.Kind&xtf.P2PKindMask == xtf.P2PSend && m.Kind&xtf.P2PUnmatched == 0 && m.MateN != xtf.Never && m.End > m.T {
				use(m)
			}
		})
	}, func(m *xtf.P2P) uint64 { return m.End - m.T })
	if err != nil {
		return beyond(err)
	}
	sums := map[uint32]uint64{}
	var looked, late uint64
	for i := range list {
		m := &list[i]
		o, err := results.Referred[xtf.P2P](f.r, m.MateP, m.MateN)
		if err != nil {
			return beyond(err)
		}
		before := min(max(o.Post, m.T), m.End) - m.T
		receiver, _ := f.r.Defs.Process(trace.P(m.MateP))
		sums[receiver] += before
		looked, late = looked+m.End-m.T, late+before
	}
	if receiver, ticks := worst(sums); late >= looked-looked/2 && ticks > 0 {
		x.facts.known = aheadOfReceive
		x.Evidence += fmt.Sprintf("; in %s of the time of %s of rank %d the receive of what they send had not begun, most of that on rank %d", numbers.NewRatio(late, looked).Percent(), lookedAt(len(list), all, send), rank, receiver)
	}
	return nil
}

// queued says how many messages to a process, sent before the one that it receives in a call of a region, are received after it:
// the mean over calls at equal distances along their time. It counts only messages that have arrived when the call begins,
// because MPI libraries search through these.
func queued(f *finder, x *Finding, region, rank uint32) error {
	p := xtf.Proc(f.r.Defs.Processes()[rank].First)
	waits := func(m *xtf.P2P) bool {
		return m.Kind&xtf.P2PKindMask == xtf.P2PRecv && m.Kind&xtf.P2PUnmatched == 0 && m.MateT < m.Post
	}
	list, all, err := spread(maxPieces, func(use func(m *xtf.P2P)) error {
		return results.Load(f.r, p, func(m *xtf.P2P) {
			if m.Region == region && waits(m) && m.End > m.T {
				use(m)
			}
		})
	}, func(m *xtf.P2P) uint64 { return m.End - m.T })
	slices.SortFunc(list, func(a, b xtf.P2P) int { return cmp.Compare(a.Post, b.Post) })
	longer := uint64(0)
	if err == nil && len(list) > 0 {
		err = results.Load(f.r, p, func(m *xtf.P2P) {
			if !waits(m) {
				return
			}
			at := sort.Search(len(list), func(i int) bool { return list[i].Post >= m.MateT })
			for ; at < len(list) && list[at].Post < m.Post; at++ {
				if m.MateT < list[at].MateT {
					longer++
				}
			}
		})
	}
	if n := uint64(len(list)); err == nil && n > 0 && longer/n >= longQueue {
		x.facts.known = receivedLater
		x.Evidence += fmt.Sprintf("; of what is sent to rank %d before a message that it receives there %s messages are received later, on average of %s", rank, numbers.Count(longer/n), lookedAt(len(list), all, "call"))
	}
	return beyond(err)
}

// overlaps says how long a process computes while its requests are open, if long messages take as long or less in the calls that
// complete them: then MPI transferred little during the computing.
func overlaps(f *finder, x *Finding) error {
	rank := x.Where.Processes[0]
	own, err := f.r.Components(f.r.Defs.Processes()[rank].First)
	if open := own[xtf.ItemOverlap]; err == nil && x.Kind == kindLongMessages && open >= x.Ticks && slices.Contains(strings.Fields(completers), x.Where.Region) {
		x.facts.known = whileComputing
		x.Evidence += fmt.Sprintf("; rank %d computes %s %s while its requests are open", rank, f.u.Ticks(open), f.u.Name())
	}
	return beyond(err)
}

// longQueue is the number of messages to search from which a sentence is added: a choice.
const longQueue = 256

// looks returns how many pieces of time to read, at most most, if each is looked up on that many processes.
func looks(processes, most int) uint64 { return uint64(min(max(alonePieces/processes, 1), most)) }

// lookedAt says how many of all things were read.
func lookedAt(n int, all uint64, thing string) string {
	if all > uint64(n) {
		return fmt.Sprintf("%d of %s %ss", n, numbers.Count(all), thing)
	}
	return numbers.Plural(n, thing)
}

// beyond drops errors about data that cannot be read or do not exist: nothing is known of it.
func beyond(err error) error {
	if results.Partial(err) || errors.Is(err, results.ErrNoResult) {
		return nil
	}
	return err
}

// imbalance finds work that is distributed unevenly. If the process with most work causes waits in collectives, the finding
// replaces these waits, because it is their reason. Else the run could be shorter by the largest time less the mean.
func (f *finder) imbalance() error {
	f.work = *f.s.Item(xtf.ItemCPU)
	cpu := &f.work
	if !cpu.Mean.Defined || f.s.Processors < 2 {
		return nil
	}
	before, aside, err := leaveBefore(f)
	if err != nil {
		return err
	}
	over := cpu.Max - min(numbers.MeanOf(uint64(max(cpu.Sum, 0)), f.s.Processors), cpu.Max)
	// above is the excess over the mean of the other processes. With one of two processes the mean of all hides half of it.
	above := func(mean uint64) uint64 { return numbers.MulDiv(mean, f.s.Processors, f.s.Processors-1) }
	var computed, critical numbers.Sum
	for i, asked := 0, false; i < len(f.list); i++ {
		x := &f.list[i]
		if x.facts.Even = above(over) < x.Ticks/4; !x.facts.Even {
			continue
		}
		if !asked {
			if computed, critical, err = f.sinceInit(); err != nil {
				return err
			}
			asked = true
		}
		x.facts.Even = critical <= computed // else threads other than the first compute
		if c := x.Cause; c == nil || c.Activity != "cpu" || !x.facts.Even || numbers.Sub(computed, critical) > computed/4 {
			continue
		}
		x.facts.inTurn = fmt.Sprintf("processes compute one after another, %s of %s %s of all their computing is on the critical path", f.u.Big(critical), f.u.Big(computed), f.u.Name())
		if !x.serialCandidate() {
			x.Evidence += "; " + x.facts.inTurn
			x.Text += "; " + x.facts.inTurn
		}
	}
	if over == 0 {
		return nil
	}
	// left is the runtime once all is balanced: the process with most I/O then computes the mean too.
	moved, mover := f.each.largest[sumIO], f.each.rank[sumIO]
	if waitsInFiles(f) {
		moved, mover = f.each.leastIO, f.each.leastRank
	}
	left := f.runtime - min(f.runtime, moved+aside+cpu.Max-over)
	ticks, basis := over, "largest computing time of a process, less the mean"
	if left < ticks {
		ticks, basis = left, fmt.Sprintf("runtime, less the mean computing time and the file input and output of rank %d", mover)
	}
	alike, also := 0, "" // other processes with as much work
	for rank := range f.times {
		if uint32(rank) != cpu.MaxP && f.mostWork(uint32(rank), over) {
			alike++
			also = fmt.Sprintf(" and %s nearly as much", numbers.Plural(alike, "other"))
		}
	}
	note := fmt.Sprintf("rank %d computes %s %s%s, the mean is %s, rank %d has least with %s", cpu.MaxP, f.u.Ticks(cpu.Max), f.u.Name(), also, f.u.Real(cpu.Mean), cpu.MinP, f.u.Ticks(cpu.Min))
	switch {
	case before > aside:
		note += fmt.Sprintf("; %s of what rank %d computes is before MPI_Init", f.u.Ticks(before), cpu.MaxP)
	case aside > 0:
		basis += ", what processes compute before MPI_Init aside"
		note += fmt.Sprintf("; what they compute before MPI_Init is not counted here, of rank %d it is %s", cpu.MaxP, f.u.Ticks(before))
	}
	if has(f, trace.DiagOff) {
		note += "; what processes compute while their measurement is off is not known, and no part of this"
	}
	others := above(ticks)
	// Waits that computing causes are the same loss if they are as long. Waits for the process that computes most are the same
	// loss if they are nearly as long.
	covers := func(x *Finding) bool {
		c := x.Cause
		return c != nil && c.Activity == "cpu" && (ticks <= x.Ticks || f.mostWork(c.Process, over) && ticks-x.Ticks <= x.Ticks/4)
	}
	same, busiest := -1, 0 // same: index of the finding of the same loss, one about the process that computes most, else the largest; busiest: how many are about that process
	for i := range f.list {
		if c := f.list[i].Cause; c != nil && c.Activity == "cpu" && f.mostWork(c.Process, over) {
			busiest++
		}
		if covers(&f.list[i]) && (same < 0 || f.mostWork(f.list[i].Cause.Process, over) && !f.mostWork(f.list[same].Cause.Process, over)) {
			same = i
		}
	}
	region, more := "", ""                           // where the process that computes longest exceeds others most
	worth := (float64(cpu.Max) - cpu.Mean.Value) / 4 // the part of the difference from which a region is named
	hot, higher, err := slowest(f, cpu.MaxP)
	if err != nil {
		return err
	}
	if hot != nil && higher.Value >= worth && higher.Value >= f.hot.Outside.Value {
		region = numbers.Clean(hot.Name, 60)
		does := "spends"
		if results.WaitsForThreads(f.r, hot.Region) {
			does = "waits for its threads"
		}
		more = fmt.Sprintf("; rank %d %s %s %s more than the mean in %s", cpu.MaxP, does, f.u.Real(higher), f.u.Name(), region)
	}
	if same >= 0 {
		x := &f.list[same]
		if region != x.Cause.Region && higher.Value >= float64(x.Ticks)/4 {
			note += more
		}
		if ticks > x.Ticks && (busiest < 2 || x.Kind == kindBarrier || x.Kind == kindNxN) { // the waits are the loss if they are only a part of what others wait for the process
			x.Text = strings.Replace(x.Text, f.upTo(x.Ticks), f.upTo(ticks), 1)
			x.Ticks, x.Basis = ticks, basis
		}
		x.Evidence += "; " + note
		x.Text += "; " + note
	}
	for i := range f.list {
		x := &f.list[i]
		c := x.Cause
		if !covers(x) || !f.mostWork(c.Process, over) || others < x.Ticks/2 || x.Kind != kindBarrier && x.Kind != kindNxN {
			continue
		}
		x.Kind = kindImbalance
		x.Where.Path, x.Where.Region, x.Where.Place, x.Where.Processes = c.Path, c.Region, c.Place, []uint32{c.Process}
		x.Where.Interval = f.interval(x.facts.causeNode)
		most := "most in "
		if results.WaitsForThreads(f.r, x.facts.causeRegion) {
			most = "most of it while it waits for its threads in "
		}
		x.Text = fmt.Sprintf("imbalance: %s: rank %d computes longer than others, %s%s: %s", f.upTo(x.Ticks), c.Process, most, c.Region, x.Evidence)
	}
	if same >= 0 {
		return nil
	}
	x := f.loss(kindImbalance, ticks, cpu.MaxP, basis, "intervals --ordered cpu")
	if region != "" {
		x.Where.Region, x.Where.Path = region, []string{region}
	} else if f.hot.Outside.Value >= worth {
		x.facts.outside = true
		more = fmt.Sprintf("; it spends %s %s more than the mean outside of recorded calls", f.u.Real(f.hot.Outside), f.u.Name())
	}
	if f.matters(f.s.Item(xtf.ItemPolling).Max) {
		note += ", with own code between calls that ask in vain"
	}
	asleep, err := f.sleeps(cpu.MaxP, ticks)
	without := f.starved(cpu.MaxP)
	x.facts.starved = without != ""
	x.Evidence = note + more + asleep + without
	f.add(x, "imbalance", ": "+x.Evidence)
	return err
}

// sinceInit returns the computing of all processes, and the part of it on the critical path. It leaves out the computing before
// MPI_Init where one process comes last to it and all others wait, if that matters for a process, and if there are not too many
// processes to read.
func (f *finder) sinceInit() (cpu, critical numbers.Sum, err error) {
	cpu, critical = f.s.Item(xtf.ItemCPU).Sum, f.s.Item(xtf.ItemCriticalCPU).Sum
	processes := f.r.Defs.Processes()
	if f.causes == nil || len(processes) > manyProcesses {
		return cpu, critical, nil
	}
	for rank := range processes {
		before, err := f.before(uint32(rank))
		if err != nil {
			return 0, 0, err
		}
		if !f.matters(before) {
			continue
		}
		cpu = numbers.Sub(cpu, numbers.Integer(before))
		until := f.times[rank].first + before
		err = results.Load(f.r, xtf.Proc(processes[rank].First), func(x *xtf.CPath) {
			if x.Activity == xtf.ActivityCPU && x.T < until {
				critical = numbers.Sub(critical, numbers.Integer(min(x.End, until)-x.T))
			}
		})
		if err = beyond(err); err != nil {
			return 0, 0, err
		}
	}
	return cpu, critical, nil
}

// polling finds own code between calls that ask in vain, if some processes have much more of it than others: they may be waiting
// for these. The trace does not say whether this code works.
func (f *finder) polling() error {
	asks := f.s.Item(xtf.ItemPolling)
	x := f.loss(kindPolling, asks.Max-min(asks.Min, asks.Max), asks.MaxP, "largest of a process less the least: own code between calls that ask in vain; only if it waits there", "profile")
	if !f.matters(x.Ticks) || x.Ticks < asks.Max/2 {
		return nil
	}
	profile, _, err := results.NewProfile(f.r, results.Ranks{List: []uint32{asks.MaxP}}, results.SourceAuto)
	if err != nil {
		return beyond(err)
	}
	var calls *results.RegionTime
	for i := range profile.Regions {
		if r := &profile.Regions[i]; polls(f.r, r.Region) && (calls == nil || r.Calls > calls.Calls) {
			calls = r
		}
	}
	f.placeRegion(&x, calls)
	x.Evidence = fmt.Sprintf("rank %d has %s %s of own code between calls that ask in vain%s, rank %d has least with %s", asks.MaxP, f.u.Ticks(asks.Max), f.u.Name(), x.mostIn(), asks.MinP, f.u.Ticks(asks.Min))
	most, sum, of := uint64(0), numbers.Sum(0), 0
	for rank, t := range f.times {
		own := t.cpu - min(t.polls, t.cpu)
		if sum = numbers.Add(sum, numbers.Integer(own)); own > most {
			most, of = own, rank
		}
	}
	x.Evidence += fmt.Sprintf("; without it rank %d computes most, %s, and the mean is %s", of, f.u.Ticks(most), f.u.Real(numbers.Quotient(sum, numbers.Integer(uint64(len(f.times))))))
	if err := asked(f, &x, asks.MaxP); err != nil {
		return err
	}
	f.add(x, "asking again and again, if nothing else is done meanwhile, which is not known", ": "+x.Evidence)
	return nil
}

// asked says how long after a process could receive them the messages are sent that it gets by asking, and who sends them latest.
func asked(f *finder, x *Finding, rank uint32) error {
	if !f.r.Rows {
		return nil
	}
	var all, until uint64 // until: of open receives only later ones count
	ranks := map[uint32]uint64{}
	err := results.Load(f.r, xtf.Proc(f.r.Defs.Processes()[rank].First), func(m *xtf.P2P) {
		sent := min(m.MateT, m.T)
		known := m.Kind&xtf.P2PKindMask == xtf.P2PRecv && m.Kind&xtf.P2PUnmatched == 0 && uint64(m.MateP) < uint64(f.r.Defs.NumLocations())
		if from := max(m.Post, until); known && sent > from && polls(f.r, m.Region) {
			of, _ := f.r.Defs.Process(trace.P(m.MateP))
			ranks[of] += sent - from
			all, until = all+sent-from, sent
		}
	})
	if of, ticks := worst(ranks); ticks > 0 && f.matters(all) {
		x.Evidence += fmt.Sprintf("; what it asks for is sent %s %s after it could be received, most by rank %d", f.u.Ticks(all), f.u.Name(), of)
	}
	return beyond(err)
}

// completion adds to the first finding about waits in N×N operations how long processes stay in calls that complete non-blocking
// collectives after the first one has left. These are not waits.
func completion(f *finder) {
	i := slices.IndexFunc(f.list, func(x Finding) bool {
		return slices.Contains([]string{kindNxN, kindBarrier, kindImbalance, kindSerial}, x.Kind)
	})
	if i < 0 || f.causes == nil {
		return
	}
	var most results.CauseSum
	var path uint32
	all := numbers.Sum(0)
	for k, s := range f.causes.Waits.Sorted() {
		if slices.Contains(results.CompletionItems, xtf.PatternItem(k.Pattern)) && kindOfCall(f.r.Defs, f.causes.Paths.Region(uint32(k.Key))) == sumP2P {
			all = numbers.Add(all, numbers.Integer(s.Ticks))
			if s.Worst > most.Worst {
				most, path = s, uint32(k.Key)
			}
		}
	}
	if !f.matters(most.Worst) {
		return
	}
	text := fmt.Sprintf("; rank %d stays %s %s in %s after the first process has left collectives without blocking, all together %s: MPI may move their data only while all are in calls",
		f.causes.Rank(most.WorstP), f.u.Ticks(most.Worst), f.u.Name(), at(f.called(path, xtf.ActivityMPI)), f.u.Big(all))
	f.list[i].Evidence += text
	f.list[i].Text += text
}

// leaveBefore leaves what processes compute before MPI_Init out of f.work and of each process's share of it, if that matters of the one that
// computes most, and if they are not too many to look at: there it makes others wait in MPI_Init alone. It returns how much that is of the
// process that then computes most, and how much of that it left out: all or nothing.
func leaveBefore(f *finder) (ticks, aside uint64, err error) {
	for rank := range f.times {
		f.times[rank].since = f.times[rank].cpu
	}
	work := &f.work
	if ticks, err = f.before(work.MaxP); err != nil || !f.matters(ticks) {
		return 0, 0, err
	}
	if len(f.times) > manyProcesses || uint64(len(f.times)) != f.s.Processors {
		return ticks, 0, nil
	}
	work.Sum, work.Min, work.Max = 0, xtf.Never, 0
	for rank := range f.times {
		t := &f.times[rank]
		if _, err = f.before(uint32(rank)); err != nil {
			return 0, 0, err
		}
		t.since = t.cpu - min(t.cpu, t.before)
		work.Sum = numbers.Add(work.Sum, numbers.Integer(t.since))
		if t.since > work.Max || rank == 0 {
			work.Max, work.MaxP = t.since, uint32(rank)
		}
		if t.since < work.Min {
			work.Min, work.MinP = t.since, uint32(rank)
		}
	}
	work.Mean = numbers.Quotient(work.Sum, numbers.Integer(f.s.Processors))
	ticks = f.times[work.MaxP].before
	return ticks, ticks, nil
}

// mostWork reports whether a process computes more than the mean by about as much as the one that computes most.
func (f *finder) mostWork(rank uint32, over uint64) bool {
	return rank == f.work.MaxP || uint64(rank) < uint64(len(f.times)) && f.work.Max-f.times[rank].since <= over/8
}

// execute says how many processes do something while others wait for it.
func execute(few, processes int, what string) string {
	verb := "execute"
	if few == 1 {
		verb = "executes"
	}
	return fmt.Sprintf("%s of %d %s %s, others wait", numbers.Plural(few, "process"), processes, verb, what)
}

// fewParts is the divisor of the number of processes up to which processes are few.
const fewParts = 4

// serial renames waits in collectives if their cause is a function or an interval that only one or few processes execute, or
// computing outside of functions by one process while all others wait or are idle. The loss is then the time that the others
// wait.
func (f *finder) serial() error {
	candidates := false
	for i := range f.list {
		x := &f.list[i]
		candidates = candidates || x.serialCandidate()
	}
	processes := trace.MPIProcesses(f.r.Defs)
	if !candidates || processes < 2 {
		return nil
	}
	few := max(processes/fewParts, 1)
	p, _, err := results.NewProfile(f.r, results.Ranks{}, results.SourceAuto)
	if err != nil {
		return err
	}
	for i := range f.list {
		x := &f.list[i]
		if !x.serialCandidate() || results.WaitsForThreads(f.r, x.facts.causeRegion) {
			continue
		}
		what := x.facts.inTurn
		if what != "" {
			// no process does more of it than the others
		} else if k := slices.IndexFunc(p.Regions, func(r results.RegionTime) bool { return r.Region == x.facts.causeRegion }); k >= 0 && p.Regions[k].Processes <= few {
			what = execute(p.Regions[k].Processes, processes, x.Cause.Region)
		} else if n := x.facts.causeNode; n > 0 && uint64(n) < uint64(len(f.nodes)) && int(f.nodes[n].Participants) <= few {
			what = execute(int(f.nodes[n].Participants), processes, "the interval "+f.interval(n))
		}
		c := x.Cause
		if what == "" && len(c.Path) < 2 && x.facts.seldom == lateInEach { // deeper in the path, functions say who computes what
			if what, err = f.alone(x); err != nil {
				return err
			}
		}
		if what == "" {
			continue
		}
		x.Kind = kindSerial
		x.Where = FindingWhere{Interval: f.interval(x.facts.causeNode), Path: c.Path, Region: c.Region, Place: c.Place, Processes: []uint32{c.Process}}
		x.Evidence = what + "; " + x.Evidence
		x.Text = fmt.Sprintf("serial section: %s: %s", f.upTo(x.Ticks), x.Evidence)
	}
	return nil
}

// alonePieces bounds the pieces of computing that are read, times processes. maxPieces bounds those of one process.
const (
	alonePieces = 1024
	maxPieces   = 32
	maxWaits    = 64 // waits whose partners are looked up

	manyProcesses = alonePieces / 4 // with more, the processes' calls of set-up are not read, which costs pages of calls
)

// mostlyOf reports whether part is at least three quarters of whole.
func mostlyOf(part, whole uint64) bool { return whole > 0 && part >= whole-whole/4 }

// isCall reports whether a region is an MPI call with one of these names, in the form of trace.CallOf.
func isCall(r *results.Run, region uint32, names ...string) bool {
	return r.Defs.IsCall(r.Defs.Region(region), names...)
}

// alone says how long the process that makes others wait computes while all others wait or are idle. It is "" unless most of
// their waits during its computing are in such pieces, and these are at least half as long as the finding. A piece is time on the
// critical path between calls. Of many pieces it reads some at equal distances along their time.
func (f *finder) alone(x *Finding) (string, error) {
	c := x.Cause
	if c.Share.Value < 0.5 || c.OfRow.Value < 0.5 || uint64(c.Process) >= uint64(len(f.r.Defs.Processes())) {
		return "", nil
	}
	processes := f.r.Defs.Processes()
	pieces, all, err := pieces(f.r, processes[c.Process].First, looks(len(processes), maxPieces))
	switch {
	case results.Partial(err):
		return "", nil // nothing is known of what cannot be read
	case err != nil:
		return "", err
	}
	var waited, waitedAlone, alone, looked uint64
	for _, piece := range pieces {
		length := piece.End - piece.Begin
		waits, single := uint64(0), true
		s := &results.Survey{Run: f.r, Nodes: make([]results.Node, 1)}
		lost, err := s.EachWindow(&results.SurveyOptions{Span: &piece, Section: "findings"}, func(x *results.ProcessItems) {
			if x.Rank == c.Process {
				single = single && mostlyOf(x.At(0, xtf.ItemCPU), length)
				return
			}
			idle := length - min(length, x.At(0, xtf.ItemTime))
			for _, i := range results.WaitItems {
				idle += x.At(0, i)
			}
			single = single && mostlyOf(idle, length)
			waits += idle
		})
		if err != nil || len(lost) > 0 {
			return "", err
		}
		looked, waited = looked+length, waited+waits
		if single {
			alone, waitedAlone = alone+length, waitedAlone+waits
		}
	}
	own, err := f.r.Components(processes[c.Process].First)
	if err != nil && !results.Partial(err) {
		return "", err
	}
	// Spans know only overhead that is in regions. Overhead from records may be in any piece.
	if err != nil || own[xtf.ItemCriticalCPU] < x.Ticks/2 || waitedAlone == 0 || waitedAlone < waited-waited/2 || own[xtf.ItemOverhead] > alone/4 {
		return "", nil
	}
	what := fmt.Sprintf("rank %d computes while all others mostly wait or idle, %s of %s %s of its computing on the critical path", c.Process, f.u.Ticks(alone), f.u.Ticks(looked), f.u.Name())
	if all > uint64(len(pieces)) {
		what += fmt.Sprintf(" in %d of %s pieces of it", len(pieces), numbers.Count(all))
	}
	return what, nil
}

// pieces returns how many pieces of the critical path location p computes, and those that spread chooses.
func pieces(r *results.Run, p trace.P, n uint64) (list []results.Span, all uint64, err error) {
	return spread(n, func(use func(s *results.Span)) error {
		return results.Load(r, xtf.Proc(p), func(x *xtf.CPath) {
			if x.Activity == xtf.ActivityCPU && x.End > x.T {
				use(&results.Span{Begin: x.T, End: x.End})
			}
		})
	}, func(s *results.Span) uint64 { return s.End - s.Begin })
}

// spread returns the number of pieces of time, and those at n instants at equal distances along their time; all if there are not
// more. each visits the pieces, always in the same order.
func spread[T any](n uint64, each func(use func(*T)) error, length func(*T) uint64) (list []T, all uint64, err error) {
	var total uint64
	err = each(func(x *T) { all, total = all+1, total+length(x) })
	if err != nil {
		return nil, all, err
	}
	at, k := uint64(0), uint64(0)
	err = each(func(x *T) {
		at += length(x)
		hit := all <= n
		for ; k < n && numbers.MulDiv(total, 2*k+1, 2*n) < at; k++ {
			hit = true
		}
		if hit {
			list = append(list, *x)
		}
	})
	return list, all, err
}

// serialCandidate reports whether a finding is about waits in collectives that a process causes by computing.
func (x *Finding) serialCandidate() bool {
	collective := x.Kind == kindBarrier || x.Kind == kindNxN || x.Kind == kindImbalance
	return collective && x.Cause != nil && x.Cause.Activity == "cpu"
}

// endCall is the MPI call, or the wait for another thread, in which a location is at its end.
type endCall struct {
	rank   uint32
	region uint32
	class  uint32
	since  uint64
	lock   string // the lock that it waits for, and who has it; "" where that is not known
}

// hang says who is in which MPI call at the end of the trace, since when, and which processes ended themselves.
func (f *finder) hang() ([]Finding, error) {
	if f.causes == nil || !has(f, trace.DiagOpenCall) && !has(f, trace.DiagUnfinished) {
		return nil, nil
	}
	ended := exits(f.r)
	open, unknown, err := openCalls(f.r)
	if err == nil {
		open, unknown, err = withoutCut(f, open, unknown)
	}
	if err != nil || len(open) == 0 && len(ended.how) == 0 && !ended.outside {
		return nil, err
	}
	slices.SortStableFunc(open, func(a, b endCall) int { return cmp.Compare(a.rank, b.rank) })
	last, left, err := lastCollective(f.r)
	if err != nil {
		return nil, err
	}
	x := hangFinding(f.r, f.u, open, ended, unknown, f.query("diagnostics"), last, left)
	lost, err := neverReceived(f, open)
	if lost != "" {
		x.Evidence, x.Text, x.facts.known = x.Evidence+lost, x.Text+lost, neverTaken
	}
	unlike(f, &x)
	return []Finding{x}, err
}

// unlike names the first collective whose members call different operations or name different roots. It says nothing if the
// collective cannot be read.
func unlike(f *finder, x *Finding) {
	if !has(f, trace.DiagMixedCollective) {
		return
	}
	first := xtf.Coll{T: xtf.Never}
	_, err := f.r.EachLocation(results.Ranks{}, "findings", func(p trace.P) error {
		return beyond(results.Load(f.r, xtf.Proc(p), func(c *xtf.Coll) {
			if c.Flags&xtf.CollMixed != 0 && c.T < first.T {
				first = *c
			}
		}))
	})
	if err != nil || first.T == xtf.Never {
		return
	}
	var names []string
	ranks := map[string][]uint32{}
	err = f.r.File.Members(first.Comm, first.Ordinal, 0, xtf.Proc(f.r.Defs.NumLocations()), nil, func(p xtf.Proc, _ uint64, row []byte) bool {
		var c xtf.Coll
		c.Load(row)
		name := numbers.Clean(f.r.RegionName(c.Region), 60)
		if trace.CollectiveClass(c.Flags&xtf.CollOpMask)&(trace.ClassOneToN|trace.ClassNToOne) != 0 && c.Root < 1<<31 { // others are not ranks
			name += fmt.Sprintf(" with root %d", c.Root)
		}
		if ranks[name] == nil {
			names = append(names, name)
		}
		rank, _ := f.r.Defs.Process(trace.P(p))
		ranks[name] = append(ranks[name], rank)
		return len(names) < mostLocks
	})
	if err != nil || len(names) < 2 {
		return
	}
	for i, name := range names {
		names[i] += " on " + rankText(results.Ranks{List: ranks[name]})
	}
	text := fmt.Sprintf("; number %s of %s is not the same on all: %s", numbers.Count(first.Ordinal), numbers.Clean(f.r.CommName(first.Comm), 60), strings.Join(names, ", "))
	x.Evidence, x.Text, x.facts.known = x.Evidence+text, x.Text+text, unlikeMembers
}

// neverReceived names the first message that was not received, to a process whose last call may wait for a message.
func neverReceived(f *finder, open []endCall) (string, error) {
	if !has(f, trace.DiagUnmatchedSend) {
		return "", nil
	}
	waits := map[uint32]bool{}
	for _, c := range open {
		waits[c.rank] = waits[c.rank] || c.class&xtf.ClassP2P != 0
	}
	first, from := xtf.P2P{T: xtf.Never}, uint32(0)
	count := map[[2]uint32]int{} // by sender and receiver
	_, err := f.r.EachLocation(results.Ranks{}, "findings", func(p trace.P) error {
		rank, _ := f.r.Defs.Process(p)
		return beyond(results.Load(f.r, xtf.Proc(p), func(m *xtf.P2P) {
			if m.Kind&(xtf.P2PKindMask|xtf.P2PUnmatched|xtf.P2PMarker) != xtf.P2PSend|xtf.P2PUnmatched || !waits[m.Peer] {
				return
			}
			count[[2]uint32{rank, m.Peer}]++
			if m.T < first.T {
				first, from = *m, rank
			}
		}))
	})
	if first.T == xtf.Never || err != nil {
		return "", err
	}
	return fmt.Sprintf("; without a receive: %s of rank %d to rank %d, the first with tag %d, sent at %s %s in %s", numbers.Plural(count[[2]uint32{from, first.Peer}], "message"), from, first.Peer,
		first.Tag, f.u.Instant(first.T), f.u.Name(), numbers.Clean(f.r.RegionName(first.Region), 60)), nil
}

// withoutCut removes calls of processes with cut events if others are complete, and all if the file of all events is cut: it means nothing
// that these calls are open.
func withoutCut(f *finder, open []endCall, unknown []uint32) ([]endCall, []uint32, error) {
	if !has(f, trace.DiagTruncated) {
		return open, unknown, nil
	}
	lost, whole := slices.Clone(unknown), true
	for p := range trace.P(f.r.Defs.NumLocations()) {
		list, err := results.Occurrences(f.r, p)
		if err != nil && !results.Partial(err) {
			return nil, nil, err
		}
		if slices.ContainsFunc(list, func(o results.Occurrence) bool { return o.Code == trace.DiagTruncated }) {
			rank, _ := f.r.Defs.Process(p)
			lost, whole = append(lost, rank), false
		}
	}
	if whole {
		return nil, unknown, nil
	}
	slices.Sort(lost)
	if lost = slices.Compact(lost); len(lost) == len(f.r.Defs.Processes()) {
		return open, unknown, nil
	}
	return slices.DeleteFunc(open, func(c endCall) bool { return slices.Contains(lost, c.rank) }), lost, nil
}

// openCalls returns, by location, the outermost MPI calls that never returned, of locations whose last event is in such a call.
// Calls of set-up do not count. unknown has the processes with a location that cannot be read.
func openCalls(r *results.Run) (list []endCall, unknown []uint32, err error) {
	lost, err := r.EachLocation(results.Ranks{}, "findings", func(p trace.P) error {
		rank, _ := r.Defs.Process(p)
		v, err := r.Components(p)
		if last := v[xtf.ItemLast]; err == nil && v[xtf.ItemEvents] > 0 {
			for _, c := range results.Overlapping[xtf.Call](r, p, last-min(last, 1), xtf.Never, &err) {
				if c.Flags&xtf.FlagCut == 0 || c.Class&xtf.ClassInit != 0 {
					continue
				}
				if c.Flags&xtf.FlagOutermostMPI != 0 {
					list = append(list, endCall{rank, c.Region, c.Class, c.T, ""})
				} else if waitsForThreads(r.Defs, c.Region) {
					list = append(list, endCall{rank, c.Region, c.Class, c.T, waitedLock(r.Defs, p)})
				}
			}
		}
		return r.Failed(xtf.Proc(p), "open calls", err)
	})
	for i := range lost {
		unknown = append(unknown, lost[i].Process)
	}
	return list, slices.Compact(unknown), err
}

// waitsForThreads reports whether a call ends when another thread does something: releases a lock or, for POSIX threads,
// anything.
func waitsForThreads(d *trace.Definitions, region uint32) bool {
	x := d.Region(region)
	state := d.StateOf(x) // no region waits without a thread to wait for
	return state == trace.StateLock || state == trace.StateCritical || state == trace.StateThreadWait && x.Paradigm == trace.ParadigmPthread
}

// waitedLock returns the lock that a location waits for at its end, and who has it.
func waitedLock(d *trace.Definitions, p trace.P) string {
	for i := range d.LocationProperties {
		q := &d.LocationProperties[i]
		if at, ok := d.Ordinal(q.Location); ok && at == p && d.Text(q.Name) == trace.PropertyWaitsFor && q.Value.Type == trace.TypeString {
			return d.Text(uint32(q.Value.Bits))
		}
	}
	return ""
}

// ending is the processes that ended without MPI_Finalize, by how they ended.
type ending struct {
	how     map[string][]uint32
	fatal   string   // the first end that is a signal or an error of MPI, "" for none
	place   string   // in the source, of that end
	aborts  []string // arguments of MPI_Abort, each once
	outside bool     // a process left no sign of how it ended
}

// exits returns the processes that called exit, reached the end of main, or were ended by a signal or an error of MPI.
func exits(r *results.Run) ending {
	x := ending{how: map[string][]uint32{}}
	for i := range r.Defs.LocationProperties {
		q := &r.Defs.LocationProperties[i]
		if r.Defs.Text(q.Name) != trace.PropertyUnfinished || q.Value.Type != trace.TypeString {
			continue
		}
		how := r.Defs.Text(uint32(q.Value.Bits))
		what, place, ok := trace.FatalOf(how)
		switch {
		case ok:
			how = what
			if x.fatal == "" {
				x.fatal, x.place = how, place
			}
		case strings.HasPrefix(how, trace.UnfinishedAbort):
			if !slices.Contains(x.aborts, how) {
				x.aborts = append(x.aborts, how)
			}
			continue
		case how == trace.UnfinishedUnknown:
			x.outside = true
			continue
		case !strings.HasPrefix(how, trace.UnfinishedExit):
			continue
		}
		if p, ok := r.Defs.Ordinal(q.Location); ok {
			rank, _ := r.Defs.Process(p)
			x.how[how] = append(x.how[how], rank)
		}
	}
	return x
}

// openGroup is the processes that are in the same region at the end.
type openGroup struct {
	region      uint32
	class       uint32
	ranks       results.Ranks
	first, last uint64 // enters
	locks       []string
}

const mostLocks = 4 // that are named of one region

// groups joins open calls of the same region, in the order of their first ranks.
func groups(open []endCall) []*openGroup {
	var list []*openGroup
	at := map[uint32]*openGroup{}
	for _, c := range open {
		g := at[c.region]
		if g == nil {
			g = &openGroup{region: c.region, class: c.class, ranks: results.Ranks{List: []uint32{}}, first: c.since}
			at[c.region] = g
			list = append(list, g)
		}
		if n := len(g.ranks.List); n == 0 || g.ranks.List[n-1] != c.rank {
			g.ranks.List = append(g.ranks.List, c.rank)
		}
		g.first, g.last = min(g.first, c.since), max(g.last, c.since)
		if c.lock != "" && len(g.locks) < mostLocks {
			g.locks = append(g.locks, numbers.Clean(c.lock, 80))
		}
	}
	return list
}

// hangFinding reports calls that never returned, and processes that ended themselves. open and unknown are sorted by rank; last
// and left come from lastCollective.
func hangFinding(r *results.Run, u numbers.Units, open []endCall, ways ending, unknown []uint32, query, last string, left map[uint32]string) Finding {
	list := groups(open)
	x := Finding{Kind: kindHang, Basis: "no gain: calls that never returned in the trace", Query: query}
	var parts []string
	for _, g := range list {
		x.Where.Processes = append(x.Where.Processes, g.ranks.List...)
		since := u.Instant(g.first) + " " + u.Name()
		if g.last > g.first {
			since += " to " + u.Instant(g.last)
		}
		text := fmt.Sprintf("%s in %s since %s", rankText(g.ranks), numbers.Clean(r.RegionName(g.region), 60), since)
		if len(g.locks) > 0 {
			text += " for " + strings.Join(g.locks, "; ")
		}
		parts = append(parts, text)
	}
	slices.Sort(x.Where.Processes)
	x.Where.Processes = slices.Compact(x.Where.Processes)
	if len(list) > 0 {
		x.Where.Region, x.Where.Place = numbers.Clean(results.CallName(r, list[0].region), 60), results.CallPlace(r, list[0].region)
		x.Where.Path = []string{x.Where.Region}
	}
	var ended []uint32
	var how []string
	for _, text := range slices.Sorted(maps.Keys(ways.how)) {
		ended = append(ended, ways.how[text]...)
		way := fmt.Sprintf("%s by %s", rankText(results.Ranks{List: ways.how[text]}), numbers.Clean(text, 200))
		if text == ways.fatal { // other ends may follow from it
			how = slices.Insert(how, 0, way)
		} else {
			how = append(how, way)
		}
	}
	slices.Sort(ended)
	without := func(list []uint32) (others []uint32) {
		for rank := range trace.MPIProcesses(r.Defs) {
			_, ok := slices.BinarySearch(list, uint32(rank))
			if _, lost := slices.BinarySearch(unknown, uint32(rank)); !ok && !lost {
				others = append(others, uint32(rank))
			}
		}
		return others
	}
	others := slices.DeleteFunc(without(x.Where.Processes), func(rank uint32) bool { return slices.Contains(ended, rank) })
	if len(others) > 0 {
		parts = append(parts, rankText(results.Ranks{List: others})+" in no MPI call at the end"+lastCall(r, u, others))
		x.facts.known = inOwnCode
	} else if len(unknown) == 0 && !slices.ContainsFunc(list, func(g *openGroup) bool {
		return !isCall(r, g.region, "send", "ssend", "rsend")
	}) {
		x.facts.known = allSend
	}
	all := x.facts.known == 0 && len(unknown) == 0
	if len(unknown) > 0 {
		parts = append(parts, rankText(results.Ranks{List: unknown})+" cannot be read to the end")
	}
	var never []string
	for _, g := range list {
		if g.class&xtf.ClassColl == 0 {
			continue
		}
		missing := slices.DeleteFunc(without(g.ranks.List), func(rank uint32) bool { return left[rank] == results.CallName(r, g.region) })
		if len(missing) > 0 {
			never = append(never, fmt.Sprintf("%s of %s did not begin on %s", numbers.Clean(r.RegionName(g.region), 60), rankText(g.ranks), rankText(results.Ranks{List: missing})))
		}
	}
	if len(never) > 0 && last != "" {
		never = append(never, last)
	}
	if all && len(never) == 0 && len(ended) == 0 {
		x.facts.known = nobodyMissing
	}
	x.Evidence = strings.Join(append(parts, never...), "; ")
	at := slices.IndexFunc(list, func(g *openGroup) bool { return isCall(r, g.region, "abort") })
	if at >= 0 || len(ended) > 0 {
		x.Kind, x.Basis = kindAbort, "no gain: the program ended itself"
	}
	const calls = "calls that never returned: "
	switch {
	case at >= 0 && ways.fatal == "":
		x.Where = FindingWhere{Processes: list[at].ranks.List, Region: "MPI_Abort", Place: results.CallPlace(r, list[at].region), Path: []string{"MPI_Abort"}}
		x.facts.Region = x.Where.Region
		x.Text = "ended by " + numbers.Clean(cmp.Or(strings.Join(ways.aborts, ", "), trace.UnfinishedAbort), 200) + ": " + calls + x.Evidence
	case len(ended) > 0:
		x.Where = FindingWhere{Processes: ended, Place: ways.place}
		if ways.fatal != "" {
			x.Where.Processes, x.Basis = ways.how[ways.fatal], "no gain: a signal ended the program"
			if strings.HasPrefix(ways.fatal, trace.UnfinishedError) {
				x.Basis = "no gain: an error of MPI ended the program"
			}
		}
		if len(list) > 0 {
			how = append(how, calls+x.Evidence)
		}
		x.Evidence = strings.Join(how, "; ")
		x.Text = "ended without MPI_Finalize: " + x.Evidence
	case len(list) == 0:
		x.Kind, x.Basis = kindAbort, "no gain: the program was ended"
		x.Text = "ended from outside, or by _exit (SIGKILL cannot be seen): " + x.Evidence
	case ways.outside:
		x.Text = "hang, or ended from outside, or by _exit (SIGKILL cannot be seen): " + calls + x.Evidence
	default:
		x.Text = "hang, or the trace was cut there: " + calls + x.Evidence
	}
	return x
}

// lastCall names the MPI call from which the first thread of a process returned last; "" for several processes, and where that is
// not known.
func lastCall(r *results.Run, u numbers.Units, ranks []uint32) string {
	const looked = 4096 // calls, including those of functions
	p := r.Defs.Processes()[ranks[0]]
	if len(ranks) > 1 || p.Count == 0 {
		return ""
	}
	a, err := xtf.ArrayOf[xtf.Call](r.File, xtf.Proc(p.First))
	if err != nil {
		return ""
	}
	var last, x xtf.Call
	err = a.Each(a.Len()-min(a.Len(), looked), a.Len(), func(_ uint64, row []byte) bool {
		if x.Load(row); x.Flags&(xtf.FlagOutermostMPI|xtf.FlagCut) == xtf.FlagOutermostMPI {
			last = x
		}
		return true
	})
	if err != nil || last.Flags == 0 {
		return ""
	}
	return fmt.Sprintf(", the last one was %s until %s %s", numbers.Clean(r.RegionName(last.Region), 60), u.Instant(last.End), u.Name())
}

// lastCollective names the last collective operation of every process; "" if they differ, if a process had none, or if a location
// cannot be read. The processes part after it. left has, by rank, the function of the last operation that a process left and
// others did not.
func lastCollective(r *results.Run) (last string, left map[uint32]string, err error) {
	var common xtf.Coll
	alike, left := true, map[uint32]string{}
	for rank, x := range r.Defs.Processes() {
		var own *xtf.Coll
		for p := x.First; p < x.First+trace.P(x.Count); p++ {
			var b []byte
			a, err := r.File.Array(xtf.Proc(p), xtf.TypeColl)
			if err == nil && a.Len() == 0 {
				continue
			}
			if err == nil {
				b, err = a.Row(a.Len()-1, nil)
			}
			if results.Partial(err) {
				alike = false
				continue
			}
			if err != nil {
				return "", nil, r.Failed(xtf.Proc(p), "collectives", err)
			}
			var c xtf.Coll
			c.Load(b)
			if own == nil || c.T > own.T {
				own = &c
			}
		}
		if own != nil && own.Flags&xtf.CollShort != 0 {
			left[uint32(rank)] = results.CallName(r, own.Region)
		}
		switch {
		case own == nil || rank > 0 && (own.Comm != common.Comm || own.Ordinal != common.Ordinal):
			alike = false
		case rank == 0:
			common = *own
		}
	}
	if !alike {
		return "", left, nil
	}
	return fmt.Sprintf("the last collective that all finished is number %s of %s, %s: the next one differs", numbers.Count(common.Ordinal), numbers.Clean(r.CommName(common.Comm), 60), numbers.Clean(r.RegionName(common.Region), 60)), left, nil
}

// rankText prints a set of ranks for a sentence.
func rankText(r results.Ranks) string {
	if len(r.List) == 1 {
		return "rank " + r.String()
	}
	return "ranks " + r.String()
}

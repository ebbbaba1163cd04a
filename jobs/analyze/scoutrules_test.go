package analyze_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// scoutRules computes delay costs and the critical path as SCOUT defines them, from the calls, messages, collectives and waits in a file.
// Where that gives what SCOUT found, SCOUT saw the same calls and waits, and nothing but the definitions is different.
type scoutRules struct {
	paths     []string
	processes []*scoutProcess
	waits     []*scoutPoint
	roots     []scoutRoot
	found     map[scoutTime]float64
}

// scoutRoot is where the path goes from the root of a reduction.
type scoutRoot struct {
	process int
	scoutJump
}

// scoutTime is time of a pattern on a call path of a process, ticks.
type scoutTime struct {
	pattern string
	path    uint32
	process int
}

// scoutProcess is a process: its calls with their paths, and the call path from each instant at which that changes.
type scoutProcess struct {
	calls  []xtf.Call
	path   []uint32
	at     []uint64
	inside []uint32
	does   []uint32      // activity
	acts   []uint32      // of calls
	points []*scoutPoint // in the order of their records

	first    uint64 // event
	meetings []costMeeting
}

// scoutPoint is a synchronisation point: the end of a call at which the process met others. It lies right after the call's enter.
type scoutPoint struct {
	process, call, order int
	row                  uint64 // of the record
	index                int    // in points of the process
	with                 map[int]bool
	wait                 float64
	from                 uint64  // begin of the wait; 0: that of the call
	completion           float64 // part of the call that counts as work after the point
	pattern              string  // of the delay costs of the wait
	cause                *scoutPoint
	group                []int       // processes of the collective that waits for the point
	reduce               *scoutPoint // where the critical path goes on: the last sender of a reduction
	costs                map[string]float64
}

// Records of one call, in their order.
const (
	scoutPost = iota // a receive is posted, a message is sent
	scoutEnd         // a message is received, a send is complete, a collective or the call ends
)

func newScoutRules(t *testing.T, f *xtf.File, src trace.Source) *scoutRules {
	t.Helper()
	x := &scoutRules{paths: pathNames(t, f, src.Definitions()), found: map[scoutTime]float64{}}
	type child struct{ parent, region uint32 }
	children := map[child]uint32{}
	rowsOf(t, f, xtf.WholeRun, xtf.TypePath, func(n uint64, row []byte) {
		var r xtf.Path
		if r.Load(row); n > 0 {
			children[child{r.Parent, r.Region}] = uint32(n)
		}
	})
	for p := range trace.P(src.Definitions().NumLocations()) {
		s := &scoutProcess{}
		rowsOf(t, f, xtf.Proc(p), xtf.TypeIval, func(_ uint64, row []byte) {
			var r xtf.Ival
			if r.Load(row); r.Node == 0 {
				s.first = r.T
			}
		})
		var open []int
		leave := func(until uint64) {
			for len(open) > 0 && s.calls[open[len(open)-1]].End <= until {
				end := s.calls[open[len(open)-1]].End
				open = open[:len(open)-1]
				outer, act := uint32(0), xtf.ActivityCPU
				if len(open) > 0 {
					outer, act = s.path[open[len(open)-1]], s.acts[open[len(open)-1]]
				}
				s.at, s.inside, s.does = append(s.at, end), append(s.inside, outer), append(s.does, act)
			}
		}
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCall, func(n uint64, row []byte) {
			var c xtf.Call
			c.Load(row)
			for len(open) > int(c.Depth) {
				leave(s.calls[open[len(open)-1]].End)
			}
			outer, act := uint32(0), xtf.ActivityCPU
			if len(open) > 0 {
				outer, act = s.path[open[len(open)-1]], s.acts[open[len(open)-1]]
			}
			switch {
			case c.Flags&xtf.FlagMarker != 0:
				act = xtf.ActivityMarker
			case c.Flags&xtf.FlagOutermostMPI != 0:
				act = xtf.ActivityMPI
			case xtf.AsideOf(c.Flags) != trace.StateOwn:
				act = xtf.States[xtf.AsideOf(c.Flags)].Activity
			case len(xtf.InsideOf(c.Flags)) > 0:
				act = xtf.ActivityCPU
			}
			s.acts = append(s.acts, act)
			open = append(open, int(n))
			s.calls = append(s.calls, c)
			s.path = append(s.path, children[child{outer, c.Region}])
			s.at, s.inside, s.does = append(s.at, c.T), append(s.inside, s.path[n]), append(s.does, act)
		})
		leave(xtf.Never)
		x.processes = append(x.processes, s)
	}
	x.addInit(src.Definitions())
	x.addMessages(t, f)
	x.addCollectives(t, f, src)
	for _, s := range x.processes {
		slices.SortStableFunc(s.points, func(a, b *scoutPoint) int {
			return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.order, b.order), cmp.Compare(a.row, b.row))
		})
		for i, point := range s.points {
			point.index = i
		}
	}
	return x
}

func (x *scoutRules) call(p *scoutPoint) *xtf.Call { return &x.processes[p.process].calls[p.call] }

func (x *scoutRules) path(p *scoutPoint) uint32 { return x.processes[p.process].path[p.call] }

// total is the length of the call of a point.
func (x *scoutRules) total(p *scoutPoint) float64 { return float64(x.call(p).End - x.call(p).T) }

// add adds a point, or returns the one that is there already.
func (x *scoutRules) add(process, call, order int, row uint64) *scoutPoint {
	s := x.processes[process]
	if i := slices.IndexFunc(s.points, func(p *scoutPoint) bool { return p.call == call && p.order == order && p.row == row }); i >= 0 {
		return s.points[i]
	}
	p := &scoutPoint{process: process, call: call, order: order, row: row, with: map[int]bool{}, costs: map[string]float64{}}
	s.points = append(s.points, p)
	return p
}

// addInit adds MPI_Init and MPI_Finalize, in which all processes meet.
func (x *scoutRules) addInit(d *trace.Definitions) {
	for _, name := range [...]string{"MPI_Init", "MPI_Finalize"} {
		var members []*scoutPoint
		for i, s := range x.processes {
			for n := range s.calls {
				if r := d.Region(s.calls[n].Region); r != nil && strings.TrimSuffix(d.Text(r.Name), "_thread") == name {
					members = append(members, x.add(i, n, scoutEnd, 0))
				}
			}
		}
		first, last := xtf.Never, uint64(0)
		for _, p := range members {
			first, last = min(first, x.call(p).End), max(last, x.call(p).T)
		}
		for _, p := range members {
			p.wait, p.completion = float64(last-x.call(p).T), float64(x.call(p).End-first)
			for _, q := range members {
				p.with[q.process] = true
			}
		}
	}
}

func (x *scoutRules) addMessages(t *testing.T, f *xtf.File) {
	rows := make([][]xtf.P2P, len(x.processes))
	for p := range rows {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeP2P, func(_ uint64, row []byte) {
			var m xtf.P2P
			m.Load(row)
			rows[p] = append(rows[p], m)
		})
	}
	for i := range rows {
		rowsOf(t, f, xtf.Proc(i), xtf.TypeWait, func(_ uint64, row []byte) {
			var w xtf.Wait
			w.Load(row)
			pattern := w.Pattern & xtf.WaitPatternMask
			if pattern != xtf.WaitLateSender && pattern != xtf.WaitLateReceiver {
				return
			}
			m := &rows[i][w.RecN]
			mate, mateN := int(m.MateP), m.MateN
			wait := x.add(i, x.callAt(i, w.T), scoutEnd, w.RecN)
			wait.wait, wait.from = float64(w.End-w.T), w.T
			x.waits = append(x.waits, wait)
			if pattern == xtf.WaitLateSender {
				wait.pattern, wait.cause = "delay_latesender", x.add(mate, x.callAt(mate, rows[mate][mateN].T), scoutPost, mateN)
				wait.completion = x.after(wait, wait.cause)
			} else {
				wait.pattern, wait.cause = "delay_latereceiver", x.add(mate, x.callAt(mate, rows[mate][mateN].Post), scoutPost, mateN)
				wait.completion = -x.after(wait.cause, wait)
			}
			wait.cause.completion = x.after(wait.cause, wait)
			wait.with[mate], wait.cause.with[i] = true, true
		})
	}
}

// after is how much later the call of a ends than that of b.
func (x *scoutRules) after(a, b *scoutPoint) float64 {
	return float64(x.call(a).End - min(x.call(a).End, x.call(b).End))
}

// callAt is the outermost MPI call that begins at an instant.
func (x *scoutRules) callAt(process int, t uint64) int {
	calls := x.processes[process].calls
	n, _ := slices.BinarySearchFunc(calls, t+1, func(c xtf.Call, t uint64) int { return cmp.Compare(c.T, t) })
	for n--; n > 0 && calls[n].T == t && calls[n].Flags&xtf.FlagOutermostMPI == 0; n-- {
	}
	return n
}

// scoutMember is a member of a collective operation.
type scoutMember struct {
	xtf.Coll
	process int
	end     uint64 // of the operation, by its record
	root    bool
	point   *scoutPoint
}

func (x *scoutRules) addCollectives(t *testing.T, f *xtf.File, src trace.Source) {
	type operation struct {
		comm    uint32
		ordinal uint64
	}
	d := src.Definitions()
	operations := map[operation][]*scoutMember{}
	for i := range x.processes {
		var ends []uint64
		jobtest.EachEvent(t, src, trace.P(i), func(_ *trace.Batch, e *trace.Event) {
			if e.Kind == trace.MpiCollectiveEnd {
				ends = append(ends, uint64(e.Time)-d.Clock().GlobalOffset)
			}
		})
		process, _ := d.Process(trace.P(i))
		rowsOf(t, f, xtf.Proc(i), xtf.TypeColl, func(n uint64, row []byte) {
			m := &scoutMember{process: i, end: ends[n]}
			if m.Load(row); d.CommSize(m.Comm) > 1 {
				m.root = d.IsRoot(m.Comm, m.Root, process)
				at := operation{m.Comm, m.Ordinal}
				operations[at] = append(operations[at], m)
			}
		})
	}
	for _, members := range operations {
		x.addMeetings(d, members)
		class := trace.CollectiveClass(members[0].Flags & xtf.CollOpMask)
		switch {
		case class&trace.ClassBarrier != 0:
			x.addAll(members, "delay_barrier", true)
		case class&trace.ClassNxN != 0 && d.SetsClock(members[0].Flags&xtf.CollOpMask, members[0].Region, true):
			x.addAll(members, "delay_n2n", false)
		case class&trace.ClassOneToN != 0:
			x.addFromRoot(members)
		case class&trace.ClassNToOne != 0:
			x.addToRoot(members)
		}
	}
	x.orderMeetings()
}

func (x *scoutRules) addMember(m *scoutMember) *scoutPoint {
	if m.point == nil {
		m.point = x.add(m.process, x.callAt(m.process, m.T), scoutEnd, 0)
	}
	return m.point
}

// wait makes a member wait for another one, or for none: then the point is there all the same.
func (x *scoutRules) wait(m, cause *scoutMember, pattern string) {
	p := x.addMember(m)
	x.addMember(cause)
	if m.T < cause.T {
		p.wait, p.pattern, p.cause = float64(cause.T-m.T), pattern, cause.point
		x.waits = append(x.waits, p)
	}
}

// latest is the member that comes last of those that give bytes.
func latest(members []*scoutMember, empty bool) (last *scoutMember) {
	for _, m := range members {
		if (empty || m.Sent > 0) && (last == nil || m.T > last.T) {
			last = m
		}
	}
	return last
}

// addAll adds an operation in which all meet.
func (x *scoutRules) addAll(members []*scoutMember, pattern string, empty bool) {
	last, first := latest(members, empty), xtf.Never
	for _, m := range members {
		if empty || m.Sent > 0 && m.Received > 0 {
			first = min(first, m.end)
		}
	}
	if last == nil || first < last.T {
		return
	}
	for _, m := range members {
		x.wait(m, last, pattern)
		last.point.group = append(last.point.group, m.process)
		m.point.completion = float64(m.end - min(first, m.end))
		for _, o := range members {
			m.point.with[o.process] = true
		}
	}
}

// addFromRoot adds a broadcast: the root meets those that came before it.
func (x *scoutRules) addFromRoot(members []*scoutMember) {
	for _, root := range members {
		for _, m := range members {
			if root.root && m.T < root.T {
				x.wait(m, root, "delay_12n")
				m.point.with[root.process], root.point.with[m.process] = true, true
			}
		}
		if root.point != nil && root.root {
			for _, m := range members {
				root.point.group = append(root.point.group, m.process)
			}
		}
	}
}

// addToRoot adds a reduction: all meet where none leaves before the last one came, else the root and the last one.
func (x *scoutRules) addToRoot(members []*scoutMember) {
	last, first := latest(members, false), xtf.Never
	for _, m := range members {
		first = min(first, m.end)
	}
	if last == nil {
		return
	}
	for _, m := range members {
		if m.root && m.T < last.T {
			x.roots = append(x.roots, scoutRoot{m.process, scoutJump{min(last.T, m.End), last.process}})
		}
		switch {
		case last.T < first:
			p := x.addMember(m)
			p.wait, p.reduce = float64(last.T)-float64(m.T), x.addMember(last)
			for _, o := range members {
				p.with[o.process] = true
			}
		case m.root && m.T < last.T:
			p, q := x.addMember(m), x.addMember(last)
			p.wait, p.reduce = float64(last.T-m.T), q
			p.with[last.process], q.with[last.process] = true, true
		}
	}
}

// times are the ticks of a process on each call path from one instant to another one.
func (x *scoutRules) times(process int, begin, end uint64) map[uint32]float64 {
	s, sum := x.processes[process], map[uint32]float64{}
	n, _ := slices.BinarySearch(s.at, begin+1)
	for at := begin; at < end; n++ {
		until, path := end, uint32(0)
		if n < len(s.at) {
			until = min(end, s.at[n])
		}
		if n > 0 {
			path = s.inside[n-1]
		}
		sum[path] += float64(until - at)
		at = until
	}
	return sum
}

// between are the points after one and before another one that waited.
func (x *scoutRules) between(from, to *scoutPoint) (list []*scoutPoint) {
	for _, p := range x.processes[from.process].points[from.index+1 : max(to.index, from.index+1)] {
		if p.wait > 0 {
			list = append(list, p)
		}
	}
	return list
}

// since is the point before at which the process met another one.
func (x *scoutRules) since(p *scoutPoint, other int) *scoutPoint {
	points := x.processes[p.process].points
	for i := p.index - 1; i >= 0; i-- {
		if points[i].with[other] {
			return points[i]
		}
	}
	return nil
}

// work is what a process did between two points, without its waits and the call of the first point but for what completed after it.
func (x *scoutRules) work(from, to *scoutPoint) map[uint32]float64 {
	sum := x.times(from.process, x.call(from).T, x.call(to).T)
	for _, w := range x.between(from, to) {
		sum[x.path(w)] -= w.wait
	}
	for path, ticks := range sum {
		if ticks <= 0 {
			delete(sum, path)
		}
	}
	sum[x.path(from)] = max(sum[x.path(from)]-x.total(from)+from.completion, 0)
	return sum
}

// delays deals each wait out over what the late process did more of, on each path, and over its waits, which deal out their part in turn.
func (x *scoutRules) delays() {
	adders, passes := map[*scoutPoint]int{}, map[*scoutPoint][]*scoutPoint{}
	for _, w := range x.waits {
		if from := x.since(w.cause, w.process); from != nil {
			passes[w] = x.between(from, w.cause)
			for _, u := range passes[w] {
				adders[u]++
			}
		}
	}
	for ready := slices.DeleteFunc(slices.Clone(x.waits), func(w *scoutPoint) bool { return adders[w] > 0 }); len(ready) > 0; ready = ready[1:] {
		w := ready[0]
		x.deal(w, passes[w])
		for _, u := range passes[w] {
			if adders[u]--; adders[u] == 0 && u.cause != nil {
				ready = append(ready, u)
			}
		}
	}
}

// deal deals out a wait and what it got to pass on; the late process waited meanwhile as told.
func (x *scoutRules) deal(w *scoutPoint, waits []*scoutPoint) {
	late := w.cause
	from, before := x.since(late, w.process), x.since(w, late.process)
	if from == nil || before == nil {
		return
	}
	did, other := x.work(from, late), x.work(before, w)
	total := 0.0
	for path, ticks := range did {
		did[path] = max(ticks-other[path], 0)
		total += did[path]
	}
	for _, u := range waits {
		total += u.wait
	}
	if total <= 0 {
		return
	}
	passed := x.passedFrom(late, from)
	w.costs[""] = w.wait
	for pattern, ticks := range w.costs {
		scale, kind := ticks/total, "_longterm"
		if pattern == "" {
			pattern, kind = w.pattern, ""
		}
		if kind == "" || late.group != nil {
			scale = min(scale, 1)
		}
		for path, excess := range did {
			x.found[scoutTime{pattern + kind, path, late.process}] += scale * excess
		}
		for _, u := range waits {
			if u.index >= passed {
				u.costs[pattern] += scale * u.wait
			}
		}
	}
}

// passedFrom is the first point of a late process whose wait gets costs of one that began to count after another point. Of a collective
// the processes that have met the late one since all did give theirs only from the next such point on, and the last ones none.
func (x *scoutRules) passedFrom(late, from *scoutPoint) int {
	next, earlier := math.MaxInt, false
	for _, q := range late.group {
		if q == late.process {
			continue
		}
		switch p := x.since(late, q); {
		case p.index < from.index:
			earlier = true
		case p.index > from.index:
			next = min(next, p.index)
		}
	}
	if earlier {
		return next
	}
	return 0
}

// critical goes along the critical path, from MPI_Finalize of the process that enters it last back to MPI_Init.
func (x *scoutRules) critical() map[scoutTime]float64 {
	found, end := map[scoutTime]float64{}, x.last()
	for p := end; p.index > 0; {
		if p = x.processes[p.process].points[p.index-1]; p.index > 0 && p.cause == nil && p.reduce == nil {
			continue
		}
		sum := x.times(p.process, x.call(p).T, x.call(end).T)
		sum[x.path(p)] -= min(max(p.wait, 0), sum[x.path(p)])
		for path, ticks := range sum {
			found[scoutTime{"critical_path", path, p.process}] += ticks
		}
		if p.cause != nil {
			p = p.cause
		} else if p.reduce != nil {
			p = p.reduce
		}
		end = p
	}
	return found
}

// last is where SCOUT's path ends.
func (x *scoutRules) last() (last *scoutPoint) {
	for _, s := range x.processes {
		if p := s.points[len(s.points)-1]; last == nil || x.call(p).T > x.call(last).T {
			last = p
		}
	}
	return last
}

// scoutJump is where the critical path leaves a process.
type scoutJump struct {
	end   uint64
	cause int
}

// pathJumps are those of coppice: the ends of waits that have a cause, but those of a root for the first sender and of other patterns
// named, and the last senders of roots.
func (x *scoutRules) pathJumps(t *testing.T, f *xtf.File, but ...uint32) [][]scoutJump {
	t.Helper()
	but = append(but, xtf.WaitEarlyReduce)
	jumps := make([][]scoutJump, len(x.processes))
	for i := range jumps {
		rowsOf(t, f, xtf.Proc(i), xtf.TypeWait, func(_ uint64, row []byte) {
			var w xtf.Wait
			if w.Load(row); w.CauseP != trace.Undefined && !slices.Contains(but, w.Pattern&xtf.WaitPatternMask) {
				jumps[i] = append(jumps[i], scoutJump{w.End, int(w.CauseP)})
			}
		})
	}
	for _, m := range x.roots {
		jumps[m.process] = append(jumps[m.process], m.scoutJump)
	}
	return jumps
}

// reductions adds those of SCOUT at members of a reduction that none leaves before the last one came.
func (x *scoutRules) reductions(jumps [][]scoutJump) [][]scoutJump {
	for i, s := range x.processes {
		for _, p := range s.points {
			if p.reduce != nil && p.wait > 0 && !slices.Contains(jumps[i], scoutJump{x.call(p.reduce).T, p.reduce.process}) {
				jumps[i] = append(jumps[i], scoutJump{x.call(p.reduce).T, p.reduce.process})
			}
		}
	}
	return jumps
}

// pointsOnly leaves only those at which SCOUT sees processes meet.
func (x *scoutRules) pointsOnly(jumps [][]scoutJump) [][]scoutJump {
	for i, s := range x.processes {
		known := map[scoutJump]bool{}
		for _, p := range s.points {
			if p.cause != nil {
				known[scoutJump{x.call(p.cause).T, p.cause.process}] = true
			}
			if p.reduce != nil {
				known[scoutJump{x.call(p.reduce).T, p.reduce.process}] = true
			}
		}
		jumps[i] = slices.DeleteFunc(jumps[i], func(j scoutJump) bool { return !known[j] })
	}
	return jumps
}

// follow goes along a path from an instant of a process back to where begin says that it begins there.
func (x *scoutRules) follow(jumps [][]scoutJump, process int, at uint64, begin func(process int) uint64) map[scoutTime]float64 {
	left := make([][]scoutJump, len(jumps))
	for i := range jumps {
		left[i] = slices.SortedStableFunc(slices.Values(jumps[i]), func(a, b scoutJump) int {
			return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(b.cause, a.cause))
		})
	}
	found := map[scoutTime]float64{}
	for {
		list, first := left[process], begin(process)
		for len(list) > 0 && list[len(list)-1].end > at {
			list = list[:len(list)-1]
		}
		next := scoutJump{end: first}
		if len(list) > 0 && list[len(list)-1].end >= first {
			next, list = list[len(list)-1], list[:len(list)-1]
		} else {
			list = nil
		}
		left[process] = list
		for path, ticks := range x.times(process, min(next.end, at), at) {
			found[scoutTime{"critical_path", path, process}] += ticks
		}
		if next.end == first && list == nil {
			return found
		}
		process, at = next.cause, next.end
	}
}

// begin is where SCOUT's path begins on a process: when all are in MPI_Init.
func (x *scoutRules) begin(process int) uint64 {
	p := x.processes[process].points[0]
	return x.call(p).T + uint64(p.wait)
}

// contradicts reports whether a message that was waited for was sent after it was received.
func (x *scoutRules) contradicts() bool {
	return slices.ContainsFunc(x.waits, func(w *scoutPoint) bool { return x.call(w.cause).T > x.call(w).End })
}

// keyed names paths and processes as SCOUT's figures do.
func (x *scoutRules) keyed(d *trace.Definitions, lists ...map[scoutTime]float64) map[scoutKey]float64 {
	named := map[scoutKey]float64{}
	for _, list := range lists {
		for at, ticks := range list {
			process, _ := d.Process(trace.P(at.process))
			named[scoutKey{at.pattern, x.paths[at.path], process}] += ticks
		}
	}
	return named
}

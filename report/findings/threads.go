package findings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/stats/threads"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// ThreadWait is the time that a thread waits for other threads, in ticks of the whole run.
type ThreadWait struct {
	results.Place
	Lock uint64 `json:"lock_wait"`   // for locks, and for critical and ordered sections without their body
	Wait uint64 `json:"thread_wait"` // for what other threads do: barriers, tasks, joins, conditions

	p       trace.P
	life    uint64
	barrier uint64    // part of Wait: OpenMP, and barriers of POSIX threads
	meets   bool      // waits in a barrier of POSIX threads
	team    bool      // calls OpenMP
	other   uint64    // rest of Wait, in calls of POSIX threads: the thread may be waiting for work
	most    [3]uint32 // references of the regions with most of Lock, barrier and other; Undefined
}

// posixBarrier is the function in which POSIX threads wait for the last one of them.
const posixBarrier = "pthread_barrier_wait"

// threadStates returns the state of each region by its index; nil if there is no region in which a thread waits for another.
func threadStates(d *trace.Definitions) []trace.State {
	list := make([]trace.State, len(d.Regions))
	waits := false
	for i := range d.Regions {
		list[i] = d.StateOf(&d.Regions[i])
		waits = waits || waitsForThread(list[i])
	}
	if !waits {
		return nil
	}
	return list
}

// waitsForThread reports whether a thread waits for another one in a state.
func waitsForThread(s trace.State) bool {
	return xtf.States[s].Item == xtf.ItemLockWait || xtf.States[s].Item == xtf.ItemThreadWait
}

// EachThread calls f for the threads on processors of the chosen processes, if any region makes threads wait for others. Waits
// for locks and for other threads are components of the thread; waits in barriers are the exclusive time of regions. It reads the
// components and the profile of each thread.
func EachThread(r *results.Run, ranks results.Ranks, section string, f func(x *ThreadWait)) ([]table.Lost, error) {
	states := threadStates(r.Defs)
	if states == nil {
		return nil, nil
	}
	t, err := results.ProfileTableOf(r, results.SourceAuto)
	if err != nil {
		return nil, err
	}
	return r.EachLocation(ranks, section, func(p trace.P) error {
		rank, _ := r.Defs.Process(p)
		if team := threads.TeamOf(r.Defs, int(rank)); p < team.First || p >= team.First+trace.P(team.Count) {
			return nil
		}
		x := ThreadWait{Place: r.Place(p), p: p}
		err := t.AddLocation(p)
		if err == nil {
			err = x.take(r, t, states)
		}
		t.EndProcess(0, false)
		if err == nil {
			f(&x)
		}
		return err
	})
}

// take sets the times from the profile of the current thread.
func (x *ThreadWait) take(r *results.Run, t *results.ProfileTable, states []trace.State) error {
	v, err := r.Components(x.p)
	if err != nil {
		return err
	}
	x.Lock, x.Wait = v[xtf.ItemLockWait], v[xtf.ItemThreadWait]
	x.life = v[xtf.ItemTime]
	x.most = [3]uint32{trace.Undefined, trace.Undefined, trace.Undefined}
	var largest [3]uint64
	for i, s := range states {
		own := t.Sums[i].Own
		region := &r.Defs.Regions[i]
		kind := 0
		if t.Sums[i].OwnCalls > 0 {
			name := r.Defs.Text(region.Name)
			x.meets = x.meets || name == posixBarrier
			x.team = x.team || region.Paradigm == trace.ParadigmOpenMP || strings.HasPrefix(name, "OpenMP ") // of EZTrace
		}
		switch {
		case own == 0 || !waitsForThread(s):
			continue
		case xtf.States[s].Item == xtf.ItemThreadWait && region.Paradigm != trace.ParadigmOpenMP && r.Defs.Text(region.Name) != posixBarrier:
			kind = 2
			x.other += own
		case xtf.States[s].Item == xtf.ItemThreadWait:
			kind = 1
			x.barrier += own
		}
		if own > largest[kind] {
			largest[kind], x.most[kind] = own, region.Ref
		}
	}
	return nil
}

// teamWait is the waits of the threads of a process for each other.
type teamWait struct {
	any     bool       // a thread could be read
	longest ThreadWait // the thread with most time in barriers
	least   ThreadWait // the thread with least
	idles   ThreadWait // the thread with most time in other calls
	barrier uint64     // time of all threads in barriers
	meet    uint64     // threads that wait in barriers of POSIX threads
	leastOf uint64     // time of the one of them that waits least there
	team    uint64     // threads that call OpenMP
	other   uint64     // time of all threads in other calls
	life    uint64     // of all threads
	first   uint64     // time that the first thread waits for locks
	locks   uint64     // time that the others wait for locks in addition to the first
	lock    uint64     // time that the thread with most waits for locks
}

// teamWaits is the waits of the threads of all processes. Memory: 250 bytes for each process.
type teamWaits struct {
	teams []teamWait  // by rank; empty where no thread waits for another one
	lock  ThreadWait  // thread with most waits for locks
	locks numbers.Sum // of all threads
}

func runTeamWaits(r *results.Run) (*teamWaits, []table.Lost, error) {
	w := &teamWaits{}
	lost, err := EachThread(r, results.Ranks{}, "findings", func(x *ThreadWait) {
		if w.teams == nil {
			w.teams = make([]teamWait, len(r.Defs.Processes()))
		}
		t := &w.teams[x.Process]
		if !t.any {
			t.first = x.Lock
		}
		if !t.any || x.barrier > t.longest.barrier {
			t.longest = *x
		}
		if !t.any || x.barrier < t.least.barrier {
			t.least = *x
		}
		if !t.any || x.other > t.idles.other {
			t.idles = *x
		}
		t.any = true
		t.barrier += x.barrier
		if x.meets {
			if t.meet == 0 || x.barrier < t.leastOf {
				t.leastOf = x.barrier
			}
			t.meet++
		}
		if x.team {
			t.team++
		}
		t.other, t.life = t.other+x.other, t.life+x.life
		t.locks, t.lock = t.locks+x.Lock-min(x.Lock, t.first), max(t.lock, x.Lock)
		w.locks = numbers.Add(w.locks, numbers.Integer(x.Lock))
		if x.Lock > w.lock.Lock {
			w.lock = *x
		}
	})
	return w, lost, err
}

// of returns the waits of a process's threads.
func (w *teamWaits) of(rank uint32) teamWait {
	if w == nil || uint64(rank) >= uint64(len(w.teams)) {
		return teamWait{}
	}
	return w.teams[rank]
}

// lastInMPI returns how much longer the thread of a process that waits least for its team waits in MPI than the thread that waits
// longest. The latter waits so long because messages come late, and not because of an uneven distribution of work.
func (f *finder) lastInMPI(rank uint32) uint64 {
	waits := func(t *ThreadWait) uint64 {
		if t.p == f.r.Defs.Processes()[rank].First {
			return f.times[rank].waited
		}
		return f.waitedInMPI[t.p]
	}
	w := f.teams.of(rank)
	if !w.any {
		return 0
	}
	least, longest := waits(&w.least), waits(&w.longest)
	return least - min(least, longest)
}

// lose notes locations that findings leave out, each of them once.
func (f *finder) lose(lost ...table.Lost) {
	for _, x := range lost {
		if !slices.ContainsFunc(f.lost, func(y table.Lost) bool { return y.Location == x.Location }) {
			f.lost = append(f.lost, x)
		}
	}
}

// placeThread says which thread waits, and on which call path it waits most: the one with the most time in the region, from the
// thread's call graph.
func (f *finder) placeThread(x *Finding, t *ThreadWait, region uint32) error {
	thread := t.Thread
	x.Where.Processes, x.Where.Thread = []uint32{t.Process}, &thread
	x.Query = f.query("waits") // that section has the table of threads
	if f.causes == nil {
		x.Query = f.query(fmt.Sprintf("profile --ranks %d", t.Process))
	}
	if region == trace.Undefined {
		return nil
	}
	x.Where.Region, x.Where.Place = numbers.Clean(results.CallName(f.r, region), 60), results.CallPlace(f.r, region)
	x.Where.Path, x.facts.Region = []string{x.Where.Region}, x.Where.Region
	g, err := lookup.NewReader(f.r, t.p)
	var paths ccg.PathProfile
	var list []ccg.PathTotal
	if err == nil {
		err = paths.Add(g.Loc)
	}
	if err == nil {
		list, err = paths.Paths()
	}
	switch {
	case errors.Is(err, results.ErrNoResult), errors.Is(err, graph.ErrLimit):
		return nil // the path is only the region
	case results.Partial(err):
		f.lose(f.r.Lost(t.p, "findings", err))
		return nil
	case err != nil:
		return err
	}
	best := -1
	for i := range list {
		if list[i].Region == region && (best < 0 || list[i].Exclusive > list[best].Exclusive) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	x.Where.Path = nil
	for i := best; i > 0 && len(x.Where.Path) < results.MaxPathDepth; i = list[i].Parent {
		x.Where.Path = append(x.Where.Path, f.r.RegionName(list[i].Region))
	}
	slices.Reverse(x.Where.Path)
	return nil
}

// mostCalls is the most calls of a thread that a finding reads to find its longest wait.
const mostCalls = 1 << 20

// longestCall returns the longest of the chosen calls of a thread, [begin, end); nothing if the file has no rows of calls, or
// more than mostCalls of the thread.
func longestCall(r *results.Run, p trace.P, chosen func(c *xtf.Call) bool) (begin, end uint64, err error) {
	a, err := r.File.Array(xtf.Proc(p), xtf.TypeCall)
	if err != nil || a.Len() > mostCalls {
		return 0, 0, err
	}
	err = results.EachRow(a, 0, a.Len(), func(c *xtf.Call) {
		waited := c.End - min(c.T, c.End)
		if xtf.States[r.State(c.Region)].Inside != 0 {
			waited = c.Exclusive
		}
		if waited > end-begin && chosen(c) {
			begin, end = c.T, c.T+waited
		}
	})
	return begin, end, err
}

// eachNote passes the records about what a thread does for other threads, and they for it, until pass returns false.
func (f *finder) eachNote(p trace.P, pass func(n trace.ThreadNote, t uint64) bool) error {
	g, err := lookup.NewReader(f.r, p)
	if err != nil {
		return err
	}
	for b, e := range f.r.Events(p, "findings", &err) {
		if n, ok := trace.ThreadNoteOf(e.Kind, b.Words(e)); ok && !pass(n, g.Ticks(e.Time)) {
			break
		}
	}
	return err
}

// gave finds the thread of a team that last released the lock for which waiter waited from begin to end, and when. t is 0 if no
// record says so.
func (f *finder) gave(team threads.Team, waiter trace.P, begin, end uint64) (who trace.P, t uint64, err error) {
	var lock trace.ThreadNote
	taken := uint64(0)
	err = f.eachNote(waiter, func(n trace.ThreadNote, at uint64) bool {
		if n.Class == trace.NoteLock && n.What == trace.NoteTakes && at >= begin {
			lock, taken = n, at
		}
		return taken == 0
	})
	lock.What = trace.NoteGives
	for p := team.First; p < team.First+trace.P(team.Count) && taken > 0 && err == nil; p++ {
		if p != waiter {
			err = f.eachNote(p, func(n trace.ThreadNote, at uint64) bool {
				if n == lock && at > max(begin, t) && at <= max(end, taken) {
					who, t = p, at
				}
				return at <= taken
			})
		}
	}
	return who, t, err
}

// holder says who released the lock for which a thread waited longest, if records say so. If not, it says what the other threads
// of the process do in the middle of that wait: if only one of them does not wait, that thread has the lock, or delays the thread
// that has it.
func (f *finder) holder(x *ThreadWait) (string, error) {
	team := threads.TeamOf(f.r.Defs, int(x.Process))
	if team.Count < 2 {
		return "", nil
	}
	begin, end, err := longestCall(f.r, x.p, func(c *xtf.Call) bool { return c.Flags&xtf.FlagOutermostLock != 0 })
	if err != nil || end <= begin {
		return "", err
	}
	longest := fmt.Sprintf("; its longest wait is from %s to %s %s, ", f.u.Instant(begin), f.u.Instant(end), f.u.Name())
	if p, t, err := f.gave(team, x.p, begin, end); err != nil {
		return "", err
	} else if t > 0 {
		s, err := lookup.NewStack(f.r, p, t, results.SourceRows, new(xtf.Stats))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%suntil thread %d gave the lock away at %s in %s", longest, s.Thread, f.u.Instant(t), results.PathLabel(f.stackNames(s))), nil
	}
	half, err := halfWay(f, team, x.p, begin+(end-begin)/2)
	return longest + half, err
}

// halfWay says what the other threads do in the middle of a wait.
func halfWay(f *finder, team threads.Team, waiter trace.P, at uint64) (string, error) {
	busy, who := 0, ""
	for p := team.First; p < team.First+trace.P(team.Count); p++ {
		if p == waiter {
			continue
		}
		s, err := lookup.NewStack(f.r, p, at, results.SourceRows, new(xtf.Stats))
		if err != nil {
			return "", err
		}
		n := len(s.Calls)
		if n == 0 {
			continue
		}
		if waitsForThread(f.r.State(s.Calls[n-1].Region)) {
			continue
		}
		busy, who = busy+1, fmt.Sprintf("only thread %d of the others did not wait: it was in %s", s.Thread, results.PathLabel(f.stackNames(s)))
	}
	if busy != 1 {
		who = fmt.Sprintf("%d of the other threads did not wait", busy)
	}
	return "and half way " + who, nil
}

// stackNames returns the open calls of a thread, down to the program's own innermost one. Deeper frames come from an earlier
// sample in a library, whose call is over.
func (f *finder) stackNames(s *lookup.Stack) []string {
	var names []string
	own := 0
	for i := range s.Calls {
		names = append(names, s.Calls[i].Name)
		if !f.r.Defs.OfSystem(f.r.Defs.Region(s.Calls[i].Region)) {
			own = len(names)
		}
	}
	return names[:own]
}

// locks finds the waits of the thread that waits longest for locks.
func (f *finder) locks() error {
	t := &f.teams.lock
	if !f.matters(min(t.Lock, f.runtime)) {
		return nil
	}
	x := f.loss(kindLockWait, t.Lock, t.Process, "largest time of a thread: waiting for locks outside MPI, and in critical and ordered sections without their body", "waits")
	if err := f.placeThread(&x, t, t.most[0]); err != nil {
		return err
	}
	holder, err := f.holder(t)
	if results.Partial(err) {
		f.lose(f.r.Lost(t.p, "findings", err))
		err = nil
	}
	if err != nil {
		return err
	}
	x.Evidence = fmt.Sprintf("all threads together %s %s%s", f.u.Big(f.teams.locks), f.u.Name(), holder)
	f.add(x, results.ItemWord(xtf.ItemLockWait), fmt.Sprintf(": rank %d, thread %d has most%s; %s", t.Process, t.Thread, x.mostIn(), x.Evidence))
	return nil
}

// conditions finds what a process could gain if its threads never waited in calls in which a thread may wait for work: joins,
// conditions, semaphores, futures. Then the threads share the work that one of them does while others wait, on as many processors
// as the process may use.
func conditions(f *finder) error {
	var x Finding
	for rank := range f.teams.teams {
		w := f.teams.of(uint32(rank))
		n := uint64(max(threads.TeamOf(f.r.Defs, rank).Count, 1))
		processors := min(n, processorsEach(f, rank))
		busy := w.life - min(w.life, w.other)
		all := numbers.MulDiv(min(w.idles.life, busy), processors, 1) // while one of the threads is busy
		unused := min(w.other, all-min(all, busy))
		if ticks := unused / processors; ticks > x.Ticks {
			x = f.loss(kindThreadWait, ticks, uint32(rank), "largest of a process: what its threads wait in calls of POSIX threads but for locks and barriers, while others of them do not and it has processors, over its threads or processors", "waits")
		}
	}
	if !f.matters(x.Ticks) {
		return nil
	}
	rank := x.Where.Processes[0]
	w := f.teams.of(rank)
	if err := f.placeThread(&x, &w.idles, w.idles.most[2]); err != nil {
		return err
	}
	x.Evidence = fmt.Sprintf("rank %d, thread %d waits longest, %s of %s %s%s; all threads of the process together %s", rank, w.idles.Thread, f.u.Ticks(w.idles.other), f.u.Ticks(w.idles.life), f.u.Name(), x.mostIn(), f.u.Ticks(w.other))
	begin, end, err := longestCall(f.r, w.idles.p, func(c *xtf.Call) bool { return c.Region == w.idles.most[2] })
	if err == nil && end > begin {
		var half string
		half, err = halfWay(f, threads.TeamOf(f.r.Defs, int(rank)), w.idles.p, begin+(end-begin)/2)
		x.Evidence += fmt.Sprintf("; its longest wait is from %s to %s %s, %s", f.u.Instant(begin), f.u.Instant(end), f.u.Name(), half)
	}
	if beyond(err) != nil {
		return err
	}
	x.Evidence += "; whether a thread waits there for a result or has no work is not known"
	f.add(x, "threads wait for what others do", ", if these could share it out: "+x.Evidence)
	return nil
}

// dealing finds the time of threads in functions of OpenMP's runtimes that distribute iterations of loops. These functions call
// nothing of the program.
func dealing(f *finder) {
	all, count := uint64(0), uint64(trace.CountLocations(f.r.Defs).CPU)
	var most *results.RegionTime
	for i := range f.hot.Profile.Regions {
		r := &f.hot.Profile.Regions[i]
		name := f.r.RegionName(r.Region)
		deals := strings.HasPrefix(name, "__kmpc_dispatch_next") || strings.HasPrefix(name, "GOMP_loop_") && strings.Contains(name, "_next")
		if !deals || !f.r.Defs.OfSystem(f.r.Defs.Region(r.Region)) || !xtf.Add(&all, r.Inclusive) {
			continue
		}
		if most == nil || r.Inclusive > most.Inclusive {
			most = r
		}
	}
	if most == nil || count == 0 {
		return
	}
	x := f.loss(kindOverhead, all/count, uint32(most.Max[1]), "mean of a thread in functions of OpenMP's runtime that deal out iterations", "profile")
	f.placeRegion(&x, most)
	x.facts.scheduling = true
	x.Evidence = f.together(numbers.Integer(all))
	f.add(x, "dealing out iterations of parallel loops", fmt.Sprintf("%s; %s", x.mostIn(), x.Evidence))
}

// processorsEach returns how many processors a process may use, less what it shares with others; a large number where that is not
// known.
func processorsEach(f *finder, rank int) uint64 {
	if rank >= len(f.usages) || f.usages[rank].processors == "" {
		return math.MaxUint32
	}
	_, of := results.Hosts(f.r.Defs)
	same := uint64(0)
	for other := range f.usages {
		if of[other] == of[rank] && f.usages[other].processors == f.usages[rank].processors {
			same++
		}
	}
	return max(processorsOf(f.usages[rank].processors).count()/same, 1)
}

// dealt is what a process of so many threads could be faster by if they had even work between their barriers: that is what the busiest does in each
// parallel region above the mean, or what they wait in barriers on average. Where even the busiest idle longer, that counts too. Threads that call
// no OpenMP, as those of MPI, idle and have no part in it. Of barriers of POSIX threads those count that wait there, and where each waits long one
// more, which comes last and does not. Waits for locks are not part of it, nor what threads wait longer in MPI than the one that waits longest for
// the others.
func dealt(f *finder, x *results.ProcessItems, threads uint64) uint64 {
	less := func(a, b uint64) uint64 { return a - min(a, b) }
	w, inMPI := f.teams.of(x.Rank), f.lastInMPI(x.Rank)
	team := min(max(w.team, 1), threads)
	if w.team < 2 {
		team = threads
	}
	meet := team
	if w.longest.meets {
		if meet = w.meet; w.leastOf >= w.longest.barrier/4 {
			meet = min(meet+1, threads)
		}
	}
	all, scheduling, idle := x.At(0, xtf.ItemThreadTime)/threads, x.At(0, xtf.ItemThreadScheduling), x.At(0, xtf.ItemThreadImbalance)
	longest := less(all, x.At(0, xtf.ItemThreadSerial)/max(threads-1, 1)) // parallel regions; of their busiest threads alone what these do
	if scheduling > idle {
		idle += scheduling
	} else {
		longest = less(longest, scheduling/threads)
	}
	idle = less(idle, (threads-team)*longest)
	return max(less(less(idle, w.locks), (team-1)*inMPI)/team, less(w.barrier, (meet-1)*inMPI)/meet)
}

// evenWork is how the bound of a finding about imbalance of threads was computed.
const evenWork = "largest of a process: what even work of its threads between their barriers would gain"

// imbalancedThreads says which thread waits longest for its team, and in which call.
func (f *finder) imbalancedThreads(x *Finding) error {
	w := f.teams.of(x.Where.Processes[0])
	if w.lock >= x.Ticks/2 {
		x.facts.known = behindLocks
	} else if slices.ContainsFunc(f.hot.Profile.Regions, func(r results.RegionTime) bool {
		d := f.r.Defs.Region(r.Region)
		return d != nil && d.Role == trace.RoleTask && r.Inclusive >= x.Ticks
	}) {
		x.facts.known = inTasks
	}
	alone := ""
	if x.facts.known == 0 {
		var err error
		if alone, err = inSingles(f, x); err != nil {
			return err
		}
	}
	if x.facts.known == 0 && !slices.ContainsFunc(f.hot.Profile.Regions, func(r results.RegionTime) bool {
		d := f.r.Defs.Region(r.Region)
		return d != nil && (d.Role == trace.RoleLoop || d.Role == trace.RoleSections)
	}) {
		x.facts.known = withoutLoop
	}
	if w.longest.barrier < x.Ticks { // the mean is more: not all of it is in barriers
		return nil
	}
	if err := f.placeThread(x, &w.longest, w.longest.most[1]); err != nil {
		return err
	}
	x.Basis = evenWork
	x.Evidence = fmt.Sprintf("thread %d waits longest, %s %s%s", w.longest.Thread, f.u.Ticks(w.longest.barrier), f.u.Name(), x.mostIn())
	switch {
	case f.r.Defs.Processes()[x.Where.Processes[0]].Count < 2:
	case mostlyOf(w.least.barrier, w.longest.barrier):
		x.Evidence = fmt.Sprintf("all threads wait nearly as long%s, none less than %s %s: over the run no one has much more to do than others", x.mostIn(), f.u.Ticks(w.least.barrier), f.u.Name())
	default:
		x.Evidence += fmt.Sprintf(", thread %d least, %s %s", w.least.Thread, f.u.Ticks(w.least.barrier), f.u.Name())
	}
	x.Evidence += alone
	if x.facts.known == behindLocks {
		x.Evidence += fmt.Sprintf("; a thread of the process waits %s for locks", f.u.Ticks(w.lock))
	}
	if ticks := f.lastInMPI(x.Where.Processes[0]); ticks > 0 {
		x.Basis += ", less what the one that waits least there waits in MPI"
		x.Evidence += fmt.Sprintf("; thread %d waits in MPI %s longer, which is not a part of this", w.least.Thread, f.u.Ticks(ticks))
	}
	return nil
}

// inSingles says for how long one thread of the process does what a single construct has, if that is half of the longest wait of another or more; else "".
func inSingles(f *finder, x *Finding) (string, error) {
	profile, _, err := results.NewProfile(f.r, results.Ranks{List: x.Where.Processes}, results.SourceAuto)
	if err != nil {
		return "", beyond(err)
	}
	body := trace.RoleSingle // without barrier; Score-P has one in it, and another region for what one thread does
	if slices.ContainsFunc(f.r.Defs.Regions, func(r trace.Region) bool { return r.Role == trace.RoleSingleSblock }) {
		body = trace.RoleSingleSblock
	}
	var most *results.RegionTime
	sum := uint64(0)
	for i := range profile.Regions {
		r := &profile.Regions[i]
		if d := f.r.Defs.Region(r.Region); d == nil || d.Role != body || !xtf.Add(&sum, r.Inclusive) {
			continue
		}
		if most == nil || r.Inclusive > most.Inclusive {
			most = r
		}
	}
	if most == nil || sum < max(f.teams.of(x.Where.Processes[0]).longest.barrier, x.Ticks)/2 {
		return "", nil
	}
	x.facts.known = inSingle
	where := at(numbers.Clean(results.CallName(f.r, most.Region), 60), results.CallPlace(f.r, most.Region))
	return fmt.Sprintf("; one thread alone is in single constructs for %s %s, most in %s", f.u.Ticks(sum), f.u.Name(), where), nil
}

// usage is what a process had of the processors that it may use, as its recorder tells.
type usage struct {
	processors string // a list in the form of Linux; "" if not known
	cpu        uint64 // ns; math.MaxUint64 if not known, as for the fields below
	delay      uint64
	switches   uint64
}

// Usages returns the usage of each process.
func Usages(d *trace.Definitions) []usage {
	list := make([]usage, len(d.Processes()))
	for i := range list {
		list[i] = usage{"", math.MaxUint64, math.MaxUint64, math.MaxUint64}
	}
	for i := range d.LocationProperties {
		q := &d.LocationProperties[i]
		p, ok := d.Ordinal(q.Location)
		if !ok {
			continue
		}
		rank, thread := d.Process(p)
		u, name := &list[rank], d.Text(q.Name)
		switch {
		case thread > 0:
		case q.Value.Type == trace.TypeString && name == trace.PropertyProcessors:
			u.processors = d.Text(uint32(q.Value.Bits))
		case q.Value.Type != trace.TypeUint64:
		case name == trace.PropertyCPUTime:
			u.cpu = q.Value.Bits
		case name == trace.PropertyDelay:
			u.delay = q.Value.Bits
		case name == trace.PropertySwitches:
			u.switches = q.Value.Bits
		}
	}
	return list
}

// processorSet is a set of processors: spans from first to last, ascending, with gaps between them.
type processorSet [][2]uint64

// maxProcessor bounds the numbers of processors; no machine has as many.
const maxProcessor = 1 << 20

// processorsOf reads a list such as 0-3,8; nil for other texts.
func processorsOf(text string) processorSet {
	var set processorSet
	for part := range strings.SplitSeq(text, ",") {
		a, b, span := strings.Cut(part, "-")
		if !span {
			b = a
		}
		first, err1 := strconv.ParseUint(a, 10, 64)
		last, err2 := strconv.ParseUint(b, 10, 64)
		if err1 != nil || err2 != nil || first > last || last >= maxProcessor {
			return nil
		}
		set = append(set, [2]uint64{first, last})
	}
	return set.joined()
}

// joined sorts the spans and joins adjacent and overlapping ones.
func (s processorSet) joined() processorSet {
	slices.SortFunc(s, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	n := 0
	for _, x := range s {
		if n > 0 && x[0] <= s[n-1][1]+1 {
			s[n-1][1] = max(s[n-1][1], x[1])
			continue
		}
		s[n] = x
		n++
	}
	return s[:n]
}

func (s processorSet) count() (n uint64) {
	for _, x := range s {
		n += x[1] - x[0] + 1
	}
	return n
}

// crowd is a set of processes of a host that are more than the processors that they may use, or whose threads are.
type crowd struct {
	Host       string
	Processors uint64
	List       string // of the processors, if the trace has it
	Ranks      []uint32
	Bound      bool   // the other processes of the host may use other processors
	Threads    uint64 // of these processes; 0: the processes are more than the processors
}

// Crowds finds the hosts whose processes are more than the processors that they may use: all processes of the host together, or
// those that are bound to the same processors. On hosts without such crowds, it counts threads in the same way. unknown is the
// number of hosts with several processes whose processors are not known.
func Crowds(d *trace.Definitions, used []usage) (list []crowd, unknown int) {
	limits := map[uint32]uint64{} // processors of hosts
	for i := range d.SystemTreeNodeProperties {
		if q := &d.SystemTreeNodeProperties[i]; q.Value.Type == trace.TypeUint64 && d.Text(q.Name) == trace.PropertyProcessors {
			limits[q.Node] = q.Value.Bits
		}
	}
	nodes, of := results.Hosts(d)
	ranks := make([][]uint32, len(nodes))
	for rank, h := range of {
		ranks[h] = append(ranks[h], uint32(rank))
	}
	for h, node := range nodes {
		if d.Node(node) == nil { // the trace has no host for these processes
			continue
		}
		name := d.NodeName(node)
		bound := map[string][]uint32{}
		var order []string
		var all processorSet
		told := true
		for _, rank := range ranks[h] {
			text := used[rank].processors
			if bound[text] == nil {
				set := processorsOf(text)
				told = told && set != nil
				all = append(all, set...)
				order = append(order, text)
			}
			bound[text] = append(bound[text], rank)
		}
		if !told {
			all = nil
			if limits[node] == 0 && len(ranks[h]) > 1 {
				unknown++
			}
		}
		all = all.joined()
		over := func(ranks []uint32, set processorSet, limit uint64, bound, threaded bool) bool {
			x := crowd{Host: numbers.Clean(name, 40), Processors: limit, List: set.text(), Ranks: ranks, Bound: bound}
			n := uint64(len(ranks))
			if threaded {
				for _, rank := range ranks {
					x.Threads += uint64(max(threads.TeamOf(d, int(rank)).Count, 1))
				}
				n = x.Threads
			}
			if limit == 0 || n <= limit {
				return false
			}
			list = append(list, x)
			return true
		}
		before := len(list)
		for _, threaded := range [...]bool{false, true} {
			switch {
			case !told:
				over(ranks[h], nil, limits[node], false, threaded)
			case !over(ranks[h], all, all.count(), false, threaded):
				for _, text := range order {
					set := processorsOf(text)
					over(bound[text], set, set.count(), true, threaded)
				}
			}
			if len(list) > before {
				break
			}
		}
	}
	return list, unknown
}

// text prints the set in the form of Linux.
func (s processorSet) text() string {
	var parts []string
	for _, x := range s {
		if x[0] == x[1] {
			parts = append(parts, strconv.FormatUint(x[0], 10))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", x[0], x[1]))
		}
	}
	return numbers.Clean(strings.Join(parts, ","), 40)
}

// sharing is the losses of the processes of a crowd, or of the processes of a host that are in no crowd; then it has no
// processors.
type sharing struct {
	crowd
	worst     uint64 // ticks, of a process
	worstRank uint32
	computes  uint64 // computing of that process, with time without a processor
	waits     uint64 // what it waits for threads and locks
	team      uint64 // part of it in which all its threads wait
	slept     bool   // its loss may include sleep
	total     uint64 // over the processes with known losses
	told      int    // number of these processes
}

func (f *finder) readCrowds() {
	if len(results.Predicted(f.r)) > 0 { // the recorded processors are not those of the predicted run
		return
	}
	f.usages, f.crowdOf = Usages(f.r.Defs), map[uint32]*sharing{}
	list, _ := Crowds(f.r.Defs, f.usages)
	add := func(x crowd) {
		f.sharing = append(f.sharing, &sharing{crowd: x})
		for _, rank := range x.Ranks {
			f.crowdOf[rank] = f.sharing[len(f.sharing)-1]
		}
	}
	for _, x := range list {
		add(x)
	}
	nodes, of := results.Hosts(f.r.Defs)
	others := make([]crowd, len(nodes))
	for rank, h := range of {
		if f.crowdOf[uint32(rank)] == nil && f.usages[rank].delay != math.MaxUint64 {
			others[h].Ranks = append(others[h].Ranks, uint32(rank))
		}
	}
	for h, x := range others {
		if len(x.Ranks) > 0 {
			x.Host = numbers.Clean(f.r.Defs.NodeName(nodes[h]), 40)
			add(x)
		}
	}
}

// shares adds the computing of a process without a processor. If the kernel says for how long the process was ready to run
// without a processor, that is exact. Otherwise it is at most the computing without processor time, which may include sleep.
func (f *finder) shares(x *results.ProcessItems) {
	s := f.crowdOf[x.Rank]
	if s == nil {
		return
	}
	u, lost, slept := &f.usages[x.Rank], uint64(0), false
	switch {
	case u.delay != math.MaxUint64:
		lost = f.ticksOf(u.delay)
	case u.cpu != math.MaxUint64 && s.Threads == 0:
		measured := x.At(0, xtf.ItemTime) - min(x.At(0, xtf.ItemTime), x.At(0, xtf.ItemSetup))
		lost, slept = measured-min(measured, f.ticksOf(u.cpu)), true
	default:
		return
	}
	t := &f.times[x.Rank]
	team := min(x.At(0, xtf.ItemThreadScheduling)/uint64(max(threads.TeamOf(f.r.Defs, int(x.Rank)).Count, 1)), t.cpu-t.works)
	if slept {
		team = 0
	}
	lost = min(lost, t.works+team) // a process that waits for a working thread needs no processor
	if !slept {
		t.without = min(lost, t.works)
	}
	s.told++
	s.total += lost
	if lost > s.worst {
		s.worst, s.worstRank, s.computes, s.waits, s.team, s.slept = lost, x.Rank, t.works, t.cpu-t.works, team, slept
	}
}

// sleeps says for how long a process has neither a processor nor wants one while it computes after MPI_Init, as far as the kernel tells; ""
// for less than half of what others wait for it, or of what it computes if that is less, and for short times.
func (f *finder) sleeps(rank uint32, lost uint64) (string, error) {
	slept, works, err := sleepOf(f, rank)
	if slept <= min(works, lost)/2 {
		return "", err
	}
	return fmt.Sprintf("; rank %d sleeps for %s %s or more of what it computes, as in files, locks or pauses", rank, f.u.Ticks(slept), f.u.Name()), nil
}

// sleepOf is for how long a process has neither a processor nor wants one of what it computes after MPI_Init, works; 0 where that is not known,
// and for a sixteenth of it or less. Its processor time has that of MPI calls too, so it is more.
func sleepOf(f *finder, rank uint32) (slept, works uint64, err error) {
	if uint64(rank) >= uint64(len(f.usages)) {
		return 0, 0, nil
	}
	u := &f.usages[rank]
	if u.cpu == math.MaxUint64 || u.delay == math.MaxUint64 {
		return 0, 0, nil
	}
	before, err := f.before(rank)
	works = f.times[rank].works
	works -= min(works, before)
	slept = works - min(works, f.ticksOf(u.cpu)+f.ticksOf(u.delay))
	if err != nil || slept <= works/16 {
		return 0, works, err
	}
	return slept, works, nil
}

// asleep is the least time of a process for which it sleeps between MPI calls, but for those that ask in vain.
func asleep(r *results.Run, s *results.Summary) (least uint64, err error) {
	f := &finder{r: r, s: s, usages: Usages(r.Defs), times: make([]processTimes, len(r.Defs.Processes()))}
	if len(results.Predicted(r)) > 0 || slices.ContainsFunc(f.usages, func(u usage) bool { return u.delay == math.MaxUint64 }) {
		return 0, nil
	}
	if _, err = r.EachProcess(results.Ranks{}, "untold", func(x *results.ProcessItems) {
		f.times[x.Rank] = timesOf(x)
		f.times[x.Rank].works -= min(f.times[x.Rank].works, f.times[x.Rank].polls)
	}); err != nil || len(f.times) == 0 {
		return 0, err
	}
	least = xtf.Never
	for rank := range f.times {
		slept, _, err := sleepOf(f, uint32(rank))
		if err != nil || slept == 0 {
			return 0, err
		}
		least = min(least, slept)
	}
	return least, nil
}

// ticksOf are the ticks of a time in ns.
func (f *finder) ticksOf(ns uint64) uint64 {
	if f.s.Resolution == 0 {
		return 0
	}
	return numbers.MulDiv(ns, f.s.Resolution, 1e9)
}

// starved says that a process had no processor for at least half of its computing; "" if it had one, or if that is not known.
func (f *finder) starved(rank uint32) string {
	if uint64(rank) >= uint64(len(f.times)) {
		return ""
	}
	t := &f.times[rank]
	if !f.matters(t.without) || t.without < t.works/2 {
		return ""
	}
	return fmt.Sprintf("; rank %d was ready to run and had no processor for %s of %s %s that it computes", rank, f.u.Ticks(t.without), f.u.Ticks(t.works), f.u.Name())
}

// elsewhere returns for how long, at least, something other than the run's recorded threads had the processor that the process
// with the largest loss waited for: the processor time of all other processes of its host is less than that wait. It is 0 where
// that is not known.
func (s *sharing) elsewhere(f *finder) (had, ticks uint64) {
	if s.slept || s.told == 0 {
		return 0, 0
	}
	_, of := results.Hosts(f.r.Defs)
	for rank := range f.usages {
		if of[rank] != of[s.worstRank] {
			continue
		}
		cpu := f.usages[rank].cpu
		if cpu == math.MaxUint64 || threads.TeamOf(f.r.Defs, rank).Count > 1 || uint32(rank) != s.worstRank && !xtf.Add(&had, f.ticksOf(cpu)) {
			return 0, 0
		}
	}
	return had, s.worst - min(had, s.worst)
}

// oversubscription says where processes compute without a processor: because they are more than the processors, or next to other
// programs. If the cost between MPI calls is not known, or too small for a finding, the finding has no known gain and comes after
// the others: in MPI calls processes wait for processes without a processor, and no record says for how long.
func (f *finder) oversubscription(known bool) {
	var s *sharing
	crowds := 0
	interrupted := slices.ContainsFunc(f.list, func(x Finding) bool { return x.Kind == kindInterruptions })
	for _, x := range f.sharing {
		if x.Processors > 0 {
			crowds++
		} else if !known || interrupted {
			continue
		}
		if s == nil || x.worst > s.worst {
			s = x
		}
	}
	if s == nil || known != (s.told > 0 && f.matters(min(s.worst, f.runtime))) || !known && s.Threads > 0 {
		return
	}
	had, elsewhere := s.elsewhere(f)
	x := Finding{
		Kind: KindOversubscription, Ticks: min(s.worst, f.runtime), Query: f.query("intervals --ordered cpu"), facts: FindingFacts{bound: s.Bound, threads: s.Threads > 0},
		Basis: "no gain that is known: the trace does not say for how long processes had a processor",
	}
	if !known {
		x.Ticks = 0
	}
	if s.told > 0 {
		x.Basis = "no gain that is known: the trace says for how long processes had no processor between MPI calls, and not in them"
	}
	x.Where.Processes = []uint32{s.worstRank}
	who, what := numbers.Plural(len(s.Ranks), "process"), "more processes than processors"
	if s.Threads > 0 {
		who, what = numbers.Plural(int(s.Threads), "thread")+" of "+who, "more threads than processors"
	}
	x.Evidence = fmt.Sprintf("%s on host %s", who, s.Host)
	if s.Processors > 0 {
		x.Evidence += " may use " + numbers.Plural(int(s.Processors), "processor")
	}
	if s.List != "" {
		x.Evidence += " (" + s.List + ")"
	}
	if n := crowds - 1; n > 0 && s.Processors > 0 {
		x.Evidence += fmt.Sprintf(", and so it is in %s more", numbers.Plural(n, "place"))
	}
	if known && (s.Processors == 0 || elsewhere >= s.worst/2 && elsewhere > 0) {
		x.Kind, what = kindInterruptions, "no processor"
		x.facts.starved = true
	}
	if !known {
		x.Where.Processes = s.Ranks[:1]
		switch {
		case s.told > 0 && numbers.MulDiv(s.worst, 10000, 1) < f.runtime:
			x.Evidence += "; between MPI calls they nearly always had one, in MPI calls that is not known"
		case s.told > 0:
			x.Evidence += fmt.Sprintf("; between MPI calls rank %d had none for %s %s, in MPI calls that is not known", s.worstRank, f.u.Ticks(s.worst), f.u.Name())
		}
		x.Text = what + ": " + x.Evidence
		f.list = append(f.list, x)
		return
	}
	u := &f.usages[s.worstRank]
	without := "ready to run and had no processor"
	x.Basis = "largest of a process: its time between MPI calls in which it was ready to run and had no processor, and not more than it computes"
	if s.slept {
		without = "without a processor or asleep"
		x.Basis = "largest of a process: its time less its processor time, and not more than it computes; what it slept is part of it"
	}
	ofThat := "for " + f.u.Ticks(s.worst)
	if s.waits > 0 {
		x.Basis += " without its waits for threads and locks"
		ofThat = fmt.Sprintf("for up to %s", f.u.Ticks(s.worst))
	}
	computes := "computes " + f.u.Ticks(s.computes)
	if s.team > 0 {
		x.Basis += ", and the time in which all its threads wait"
		computes = fmt.Sprintf("computes, or waits with all its threads, for %s", f.u.Ticks(s.computes+s.team))
	}
	x.Evidence += fmt.Sprintf("; rank %d %s %s, and was %s %s of that; these processes together %s", s.worstRank, computes, f.u.Name(), without, ofThat, f.u.Ticks(s.total))
	if u.cpu != math.MaxUint64 {
		x.Evidence += fmt.Sprintf("; it had %s of processor time", f.u.Ticks(f.ticksOf(u.cpu)))
	}
	if u.switches != math.MaxUint64 {
		x.Evidence += fmt.Sprintf(", involuntary context switches: %s", numbers.Count(u.switches))
	}
	if elsewhere > 0 {
		x.Evidence += fmt.Sprintf("; the other processes there had %s, so for %s or more of that time something else had it: other programs, or threads that are not recorded", f.u.Ticks(had), f.u.Ticks(elsewhere))
	}
	f.list = slices.DeleteFunc(f.list, func(w Finding) bool { // its threads wait that time
		same := s.team > 0 && w.Kind == kindThreadImbalance && w.facts.scheduling && w.Where.Processes[0] == s.worstRank && x.Ticks >= w.Ticks/2
		if same {
			x.Evidence += fmt.Sprintf("; its threads wait for each other up to %s %s", f.u.Ticks(w.Ticks), f.u.Name())
		}
		return same
	})
	f.add(x, what, ": "+x.Evidence)
}

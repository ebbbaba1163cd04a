package stats

import (
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Each task has a call stack of its own, on top of that of the implicit task of its team, which runs it at a scheduling point. When a task
// is suspended its open calls end, and when it resumes they begin again: each part is a call of its own. So calls always nest, and no
// call has time in which another task ran.

// taskID names a task within the run.
type taskID struct{ team, thread, number uint32 }

// implicit reports whether the task is the implicit task, which runs the others.
func (t taskID) implicit() bool { return t.number == 0 }

// mostTaskCalls bounds the calls of a task that resume, and so the cost of a switch.
const mostTaskCalls = 32

// team is a team with tasks in progress.
type team struct {
	ref       uint32
	base      int                 // height of the stack below the calls of its explicit task
	current   taskID              // the task that runs
	suspended map[taskID][]uint32 // regions of the open calls of suspended tasks with calls, outermost first
}

// teams are nested, the innermost last.
type teams []team

// namedTask returns the task in a record of a switch or completion.
func namedTask(k trace.Kind, w []uint64) taskID {
	if k == trace.OmpTaskSwitch || k == trace.OmpTaskComplete {
		return taskID{trace.Undefined, uint32(w[0] >> 32), uint32(w[0])}
	}
	return taskID{uint32(w[0]), uint32(w[1]), uint32(w[2])}
}

// switchTask suspends the task that runs and resumes another one.
func (l *Loader) switchTask(id taskID) {
	l.at.wholeCalls()
	n := len(l.teams)
	for n > 0 && l.teams[n-1].ref != id.team {
		n--
	}
	if n == 0 { // the first switch of the team
		if !id.implicit() {
			l.teams = append(l.teams, team{ref: id.team, base: len(l.at.stack), current: id, suspended: map[taskID][]uint32{}})
		}
		return
	}
	l.endTeams(n)
	t := &l.teams[n-1]
	if t.current == id {
		return
	}
	if t.current.implicit() {
		t.base = len(l.at.stack)
	}
	l.suspend(t)
	t.current = id
	regions := t.suspended[id]
	delete(t.suspended, id)
	for _, r := range regions {
		l.enter(r, 0)
	}
	if id.implicit() && len(t.suspended) == 0 {
		l.teams = l.teams[:n-1]
	}
}

// completeTask resumes the implicit task after the task that runs has completed. A switch to another one may follow.
func (l *Loader) completeTask(id taskID) {
	n := len(l.teams) - 1
	if n < 0 || l.teams[n].current != id || len(l.at.stack) > l.teams[n].base {
		return
	}
	if l.teams[n].current = (taskID{team: id.team}); len(l.teams[n].suspended) == 0 {
		l.teams = l.teams[:n]
	}
}

// suspend ends the calls of the task that runs.
func (l *Loader) suspend(t *team) {
	calls := len(l.at.stack) - t.base
	if calls <= 0 {
		return
	}
	kept := min(calls, mostTaskCalls)
	regions := make([]uint32, kept)
	for i := range regions {
		regions[i] = l.at.stack[t.base+i].region
	}
	t.suspended[t.current] = regions
	for len(l.at.stack) > t.base {
		l.close(0)
	}
	l.at.diags.Add(trace.Diagnostic{Code: trace.DiagSuspended, Time: trace.Time(l.at.now), Event: l.at.event, Count: uint64(kept)})
	l.at.leaveOut(calls - kept)
}

// endTeams removes all teams except the first n. Calls of their suspended tasks never resume here and are left out.
func (l *Loader) endTeams(n int) {
	calls := 0 // one diagnostic for all: a map has no order
	for i := n; i < len(l.teams); i++ {
		for _, regions := range l.teams[i].suspended {
			calls += len(regions)
		}
	}
	l.at.leaveOut(calls)
	l.teams = l.teams[:n]
}

// taskLeft lowers the bases of teams to the height of the stack, after an implicit task ended a call of its own.
func (x teams) taskLeft(height int) {
	for i := range x {
		x[i].base = min(x[i].base, height)
	}
}

// elsewhere reports whether a leave is of a call that its task entered on another thread: the task has no open call on a stack of this
// height.
func (x teams) elsewhere(height int) bool {
	n := len(x)
	return n > 0 && !x[n-1].current.implicit() && height <= x[n-1].base
}

// taskOf returns the task in an attribute of an event. ok is false for none.
func (t *Tables) taskOf(b *trace.Batch, e *trace.Event) (guid uint64, ok bool) {
	if e.Flags&trace.HasAttributes == 0 {
		return 0, false
	}
	_, _, list, _ := b.Layout(e)
	for i := 0; i+1 < len(list); i += 2 {
		if int64(uint32(list[i])) == t.guid {
			return list[i+1], true
		}
	}
	return 0, false
}

// NamesTasks reports whether calls may have their task in an attribute, as APEX writes it. Such a task can resume on another thread
// without a record; MovedCalls finds its calls.
func (t *Tables) NamesTasks() bool { return t.guid >= 0 }

// MovedCalls finds, in a pass over the events of a location, the enters and leaves that Loader.LeaveOut must leave out: those of tasks'
// calls that do not begin and end, nested, on one thread. A call of a task ends with a leave of the same task and region; calls that are
// open above it then resumed elsewhere. Leaves that end no call are left out too. Memory: 48 bytes for each open call, 8 for each event
// found.
type MovedCalls struct {
	t        *Tables
	calls    []taskCall         // open ones
	last     map[taskRegion]int // by task and region: index in calls of the innermost open call
	found    []uint64           // numbers of events
	switched bool               // there are records of switches of tasks
}

type taskRegion struct {
	guid   uint64
	region uint32
}

// taskCall is an open call, of a task or not.
type taskCall struct {
	taskRegion
	event  uint64 // number of the enter
	before int    // the open call of the same task and region around it, -1 for none
	other  int    // this call, or the innermost one around it, that is not of a task; -1 for none
	task   bool   // it is of a task
	gone   bool   // it is among found
}

// NewMovedCalls prepares a pass over one location.
func NewMovedCalls(t *Tables) *MovedCalls {
	return &MovedCalls{t: t, last: map[taskRegion]int{}}
}

// Add passes the events of a batch.
func (m *MovedCalls) Add(b *trace.Batch) {
	for i := range b.Events {
		e := &b.Events[i]
		switch e.Kind {
		case trace.Enter, trace.Leave:
		case trace.OmpTaskSwitch, trace.ThreadTaskSwitch:
			m.switched = true
			continue
		default:
			continue
		}
		guid, task := m.t.taskOf(b, e)
		at, key := b.First+uint64(i), taskRegion{guid, e.Ref}
		switch {
		case e.Kind == trace.Enter:
			m.enter(taskCall{taskRegion: key, event: at, before: -1, other: -1, task: task})
		case task:
			m.leaveTask(key, at)
		default:
			m.leave(e.Ref, at)
		}
	}
}

func (m *MovedCalls) enter(c taskCall) {
	n := len(m.calls)
	switch {
	case !c.task:
		c.other = n
	case n > 0:
		c.other = m.calls[n-1].other
	}
	if c.task {
		if i, open := m.last[c.taskRegion]; open {
			c.before = i
		}
		m.last[c.taskRegion] = n
	}
	m.calls = append(m.calls, c)
}

func (m *MovedCalls) leaveTask(key taskRegion, event uint64) {
	i, open := m.last[key]
	switch {
	case !open:
		m.found = append(m.found, event)
	case m.calls[len(m.calls)-1].other > i: // a call that is not of a task is open inside
		m.found = append(m.found, event)
		m.forget(i)
	default:
		m.end(i)
	}
}

// leave ends the innermost call, or the innermost one that is not of a task. A leave that ends neither is found: it must not end a call
// of a task.
func (m *MovedCalls) leave(region uint32, event uint64) {
	i := len(m.calls) - 1
	if i >= 0 && m.calls[i].region != region {
		i = m.calls[i].other
	}
	if i < 0 || m.calls[i].region != region {
		m.found = append(m.found, event)
		return
	}
	m.end(i)
}

// end ends call i. Tasks' calls above it resumed on other threads.
func (m *MovedCalls) end(i int) {
	for k := len(m.calls) - 1; k > i; k-- {
		m.forget(k)
	}
	if c := &m.calls[i]; c.task {
		m.close(c)
	}
	for i > 0 && m.calls[i-1].gone {
		i--
	}
	m.calls = m.calls[:i]
}

// forget marks call i as one that resumed on another thread.
func (m *MovedCalls) forget(i int) {
	if c := &m.calls[i]; !c.gone {
		c.gone = true
		m.found = append(m.found, c.event)
		m.close(c)
	}
}

func (m *MovedCalls) close(c *taskCall) {
	if c.before < 0 {
		delete(m.last, c.taskRegion)
	} else {
		m.last[c.taskRegion] = c.before
	}
}

// Found returns the numbers of the events, ascending, after the last Add; none if there are records of switches.
func (m *MovedCalls) Found() []uint64 {
	if m.switched {
		return nil
	}
	for i := range m.calls {
		if c := &m.calls[i]; c.task && !c.gone {
			m.found = append(m.found, c.event)
		}
	}
	slices.Sort(m.found)
	return m.found
}

// LeaveOut sets the events that MovedCalls found in the location. It must be called before the first Add.
func (l *Loader) LeaveOut(events []uint64) { l.moved = events }

// isMoved reports whether the current event is the next one to leave out, of which there must be one, and makes a diagnostic for it.
func (l *Loader) isMoved(b *trace.Batch, e *trace.Event) bool {
	if l.moved[0] != l.at.event {
		return false
	}
	l.moved = l.moved[1:]
	l.at.wholeCalls()
	code := trace.DiagStrayLeave
	if _, task := l.at.t.taskOf(b, e); task {
		code = trace.DiagMigrated
	}
	l.at.diag(code, fmt.Sprintf("%v of region %d", e.Kind, e.Ref))
	return true
}

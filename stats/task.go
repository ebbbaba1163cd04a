package stats

import "github.com/coppice-hpc/coppice/trace"

// Tasks have a call stack each. Below the calls of a task lie those of the implicit task of its team, which is at a
// scheduling point and runs it. When a task is suspended its open calls end, and begin again when it goes on: each part is
// a call of its own. So calls always nest, and no call has time in which another task ran.

// taskID names a task within the run.
type taskID struct{ team, thread, number uint32 }

// implicit reports whether the task is the one that runs the others.
func (t taskID) implicit() bool { return t.number == 0 }

// mostTaskCalls bounds how many calls of a task go on: what a switch of tasks may cost.
const mostTaskCalls = 32

// team is a team whose tasks are under way.
type team struct {
	ref       uint32
	base      int                 // height of the stack below the calls of its explicit task
	current   taskID              // the task that runs
	suspended map[taskID][]uint32 // regions of the open calls of others, outermost first; none without calls
}

// taskOf returns the task that a switch names.
func taskOf(k trace.Kind, w []uint64) taskID {
	if k == trace.OmpTaskSwitch {
		return taskID{trace.Undefined, uint32(w[0] >> 32), uint32(w[0])}
	}
	return taskID{uint32(w[0]), uint32(w[1]), uint32(w[2])}
}

// switchTask suspends the task that runs and goes on with another one.
func (l *Loader) switchTask(id taskID) {
	n := len(l.teams)
	for n > 0 && l.teams[n-1].ref != id.team {
		n--
	}
	if n == 0 { // the first task of the team, or of one inside of a task
		if !id.implicit() {
			l.teams = append(l.teams, team{ref: id.team, base: len(l.stack), current: id, suspended: map[taskID][]uint32{}})
		}
		return
	}
	l.endTeams(n)
	t := &l.teams[n-1]
	if t.current == id {
		return
	}
	if t.current.implicit() {
		t.base = len(l.stack)
	}
	l.suspend(t)
	t.current = id
	regions := t.suspended[id]
	delete(t.suspended, id)
	for _, r := range regions {
		l.enter(r)
	}
	if id.implicit() && len(t.suspended) == 0 {
		l.teams = l.teams[:n-1]
	}
}

// suspend ends the calls of the task that runs.
func (l *Loader) suspend(t *team) {
	calls := len(l.stack) - t.base
	if calls <= 0 {
		return
	}
	kept := min(calls, mostTaskCalls)
	regions := make([]uint32, kept)
	for i := range regions {
		regions[i] = l.stack[t.base+i].region
	}
	t.suspended[t.current] = regions
	for len(l.stack) > t.base {
		l.close(0)
	}
	l.diags.Add(trace.Diagnostic{Code: trace.DiagSuspended, Time: trace.Time(l.now), Event: l.event, Count: uint64(kept)})
	l.leaveOut(calls - kept)
}

// endTeams forgets all teams but the first n. Calls of their tasks that never go on here are left out.
func (l *Loader) endTeams(n int) {
	calls := 0 // one diagnostic for all: a map has no order
	for i := n; i < len(l.teams); i++ {
		for _, regions := range l.teams[i].suspended {
			calls += len(regions)
		}
	}
	l.leaveOut(calls)
	l.teams = l.teams[:n]
}

// leaveOut counts calls of tasks whose end or begin is not in this location.
func (l *Loader) leaveOut(calls int) {
	if calls > 0 {
		l.diags.Add(trace.Diagnostic{Code: trace.DiagMovedTask, Time: trace.Time(l.now), Event: l.event, Count: uint64(calls)})
	}
}

// taskLeft follows the stack after a call has ended: an implicit task ends calls of its own.
func (l *Loader) taskLeft() {
	for i := range l.teams {
		l.teams[i].base = min(l.teams[i].base, len(l.stack))
	}
}

// elsewhere reports whether a leave belongs to a task that was entered on another thread: here it has no open call.
func (l *Loader) elsewhere() bool {
	n := len(l.teams)
	return n > 0 && !l.teams[n-1].current.implicit() && len(l.stack) <= l.teams[n-1].base
}

// ofTask reports whether an event names its task by attribute.
func (l *Loader) ofTask(b *trace.Batch, e *trace.Event) bool {
	if l.t.guid < 0 || e.Flags&trace.HasAttributes == 0 {
		return false
	}
	_, _, list, _ := b.Layout(e)
	for i := 0; i+1 < len(list); i += 2 {
		if int64(uint32(list[i])) == l.t.guid {
			return true
		}
	}
	return false
}

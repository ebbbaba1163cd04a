package stats

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// regionIndex returns the index in the tables of the region that a record names, the first one of equal regions. It makes a diagnostic for
// a region without definition.
func (a *location) regionIndex(ref uint32) int {
	if i, ok := a.t.Defs.SameRegion(ref); ok {
		return i
	}
	a.diag(trace.DiagBadReference, fmt.Sprintf("region %d", ref))
	return a.t.unknownRegion()
}

// wholeCalls tells the builder of CALL rows that the current event does not just begin a call or end the innermost one.
func (a *location) wholeCalls() {
	if a.rows {
		a.out.Calls.Whole()
	}
}

// endRow fills the row of a call that ends now.
func (a *location) endRow(n, exclusive uint64, flags uint32) {
	row := a.out.Calls.Row(n)
	xtf.SetU64(row, xtf.CallEnd, a.now)
	xtf.SetU64(row, xtf.CallExclusive, exclusive)
	if flags != 0 {
		xtf.SetU32(row, xtf.CallFlags, xtf.U32(row, xtf.CallFlags)|flags)
	}
}

func (a *location) diag(c trace.Code, detail string) {
	a.diags.Add(trace.Diagnostic{Code: c, Time: trace.Time(a.now), Event: a.event, Detail: detail})
}

// instant returns the time from which an operation in the current call counts.
func (a *location) instant() uint64 {
	if a.mpi.depth > 0 {
		return a.mpi.enter
	}
	return a.now
}

// innermost returns the CALL row of the innermost open call, Never for none.
func (a *location) innermost() uint64 {
	if len(a.stack) == 0 {
		return xtf.Never
	}
	return a.stack[len(a.stack)-1].n
}

// underParent reports whether the innermost open call is the parent of a calling context, or the context has none.
func (a *location) underParent(ref uint32) bool {
	c := a.t.Defs.Context(ref)
	if c == nil {
		return true
	}
	parent, ok := a.t.Defs.ContextRegion(c.Parent)
	return !ok || len(a.stack) > 0 && a.stack[len(a.stack)-1].region == parent
}

// alone returns the state of the innermost call if it does not hold in calls inside of it, outside of MPI and of calls whose state does;
// else StateOwn.
func (a *location) alone() trace.State {
	if top := len(a.stack) - 1; a.t.alone && top >= 0 && a.mpi.depth == 0 && a.mpi.asides == 0 {
		if s := a.t.state[a.stack[top].index]; xtf.States[s].Inside != 0 {
			return s
		}
	}
	return trace.StateOwn
}

// openRowOf opens a row. Without rows its number is Never.
func (a *location) openRowOf(array *xtf.ArrayBuilder) (row []byte, n uint64) {
	if !a.rows {
		return nil, xtf.Never
	}
	return array.Open()
}

// path returns the call path of a call of region that begins now.
func (a *location) path(region uint32) uint32 {
	parent := uint32(0)
	if top := len(a.stack) - 1; top >= 0 {
		parent = a.stack[top].path
	}
	return a.paths.Child(parent, region)
}

// innermostPath returns the call path of the outermost open MPI call, or outside of MPI that of the innermost call.
func (a *location) innermostPath() uint32 {
	switch {
	case a.mpi.depth > 0:
		return a.mpi.path
	case len(a.stack) > 0:
		return a.stack[len(a.stack)-1].path
	}
	return 0
}

// window returns the communicator of a window and the tag of its notices of a kind. ok is false for an unknown window.
func (a *location) window(kind, win uint32) (comm, tag uint32, ok bool) {
	if comm, ok = a.t.Defs.WindowComm(win); !ok {
		return 0, 0, false
	}
	tag, ok = xtf.NoticeTag(kind, win)
	return comm, tag, ok
}

// leaveOut makes a diagnostic for calls of tasks whose begin or end is not in this location.
func (a *location) leaveOut(calls int) {
	if calls > 0 {
		a.diags.Add(trace.Diagnostic{Code: trace.DiagMovedTask, Time: trace.Time(a.now), Event: a.event, Count: uint64(calls)})
	}
}

package stats

import (
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Synchronisation of windows makes notices: P2P rows without data, flagged xtf.P2PNotice. Those of epochs are on channels like messages: the
// k-th MPI_Win_post of a target for an origin matches the k-th MPI_Win_start of the origin, and in the same way the ends of epochs.
// Records of locks do not name a partner. Their acquisitions and releases are rows with the target as peer, and the home of the target
// finds for which release an acquisition had to wait (match/locks.go).

// sharedLock is a value of the enumeration LockType.
const sharedLock = 1

// notice adds a notice to the current call. side is xtf.P2PSend or P2PRecv. It returns the number of the row.
func (o *operations) notice(side, kind, win, remote uint32, lock *locked) (row uint64) {
	comm, tag, ok := o.at.window(kind, win)
	if !ok {
		return xtf.Never
	}
	row = o.at.p2p
	op := o.newMessage(side|xtf.P2PMarker|xtf.P2PNotice, comm, tag, 0)
	op.Posting, op.locked = o.posting, lock
	o.posting++
	o.message(op, remote)
	return row
}

// synchronised takes the synchronisation with one process by the current call, which begins or ends an epoch.
func (o *operations) synchronised(win, remote uint32) {
	if o.at.mpi.depth == 0 {
		return
	}
	switch o.at.t.epoch[o.at.mpi.index] {
	case trace.EpochPost:
		o.notice(xtf.P2PSend, xtf.NoticePost, win, remote, nil)
		o.notice(xtf.P2PSend, xtf.NoticeAccess, win, remote, nil)
	case trace.EpochStart:
		o.notice(xtf.P2PRecv, xtf.NoticePost, win, remote, nil)
	case trace.EpochComplete:
		o.notice(xtf.P2PRecv, xtf.NoticeAccess, win, remote, nil)
		o.notice(xtf.P2PSend, xtf.NoticeComplete, win, remote, nil)
	case trace.EpochWait:
		o.notice(xtf.P2PRecv, xtf.NoticeComplete, win, remote, nil)
	}
}

// synchronisedAll takes a synchronisation with all processes of a group.
func (o *operations) synchronisedAll(win, group uint32) {
	list, ok := o.groups[group]
	if !ok {
		if list = o.at.t.Defs.GroupProcesses(group); o.groups == nil {
			o.groups = map[uint32][]uint32{}
		}
		o.groups[group] = list
	}
	comm, _ := o.at.t.Defs.WindowComm(win)
	if len(list) > o.at.t.Defs.CommSize(comm) {
		return // not a group of the window's processes
	}
	for _, process := range list {
		if remote, ok := o.at.t.Defs.RankIn(comm, process); ok {
			o.synchronised(win, remote)
		}
	}
}

// locked is the acquisition of a lock that is released now.
type locked struct {
	row, enter, since uint64 // row and call's enter of the acquisition, and when it was granted
	exclusive         bool
}

// put makes o the entry of the release (match.Operation).
func (x *locked) put(o *match.Operation) {
	o.Own, o.Stay, o.End, o.Post, o.Flags = o.End, x.row, x.enter, x.since, 0
	if x.exclusive {
		o.Flags = match.EntryExclusive
	}
}

// onWindow makes the current call, if it is a collective operation on windows, a collective of the members of a window with several. It
// reports whether it is such an operation.
func (o *operations) onWindow(op uint64, win uint32) bool {
	comm, known := o.at.t.Defs.WindowComm(win)
	kind, ok := trace.OnWindow(op)
	if !ok || !known || o.at.mpi.depth == 0 {
		return false
	}
	if o.at.mpi.recorded = true; o.at.t.Defs.CommSize(comm) > 1 {
		o.collective(kind, []uint64{uint64(comm), trace.Undefined, 0, 0}, nil)
	}
	return true
}

// lockKey names a lock of the location.
func lockKey(win, remote uint32) uint64 { return uint64(win)<<32 | uint64(remote) }

// acquired takes the acquisition of a lock. It leaves out MPI_Win_lock_all: these locks are shared, one for each process.
func (o *operations) acquired(win, remote uint32, exclusive bool) {
	if _, _, ok := o.at.window(xtf.NoticeLock, win); !ok || remote == trace.Undefined {
		return
	}
	id := lockKey(win, remote)
	if r, ok := o.locks.take(id); ok && r.kind == lockAsked|lockKind(exclusive) {
		r.posting, r.kind = o.at.now, lockKind(exclusive)
		o.locks.add(r)
		return
	}
	o.locks.add(request{id: id, posting: o.at.now, post: o.at.instant(), row: o.notice(xtf.P2PRecv, xtf.NoticeLock, win, remote, nil), kind: lockKind(exclusive)})
}

// Kinds of requests that stand for locks.
const (
	lockExclusive requestKind = 1 << iota
	lockAsked                 // in the current call; no record has granted it
)

func lockKind(exclusive bool) requestKind {
	if exclusive {
		return lockExclusive
	}
	return 0
}

// requested takes the request of a lock. Score-P writes it without a record of when the lock is granted: in the call, or later, when nothing
// waits. So it counts as granted when the call ends, unless a record says otherwise.
func (o *operations) requested(win, remote uint32, exclusive bool) {
	if o.at.mpi.depth == 0 {
		return
	}
	o.acquired(win, remote, exclusive)
	if r, ok := o.locks.take(lockKey(win, remote)); ok {
		r.kind |= lockAsked
		o.locks.add(r)
		o.asked = append(o.asked, r.id)
	}
}

// granted grants the locks that the current call requested and no record granted.
func (o *operations) granted() {
	for _, id := range o.asked {
		if r, ok := o.locks.take(id); ok {
			if r.kind&lockAsked != 0 {
				r.posting, r.kind = o.at.now, r.kind&^lockAsked
			}
			o.locks.add(r)
		}
	}
	o.asked = o.asked[:0]
}

func (o *operations) released(win, remote uint32) {
	if r, ok := o.locks.take(lockKey(win, remote)); ok {
		o.notice(xtf.P2PSend, xtf.NoticeLock, win, remote, &locked{row: r.row, enter: r.post, since: r.posting, exclusive: r.kind&lockExclusive != 0})
	}
}

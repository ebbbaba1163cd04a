package oracle

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// notice is one side of a synchronisation of a window that lets another process go on.
type notice struct {
	at      *location
	row     int // among messages and notices of the location
	visit   int
	seq     int
	process uint32 // the other one; of a lock the target
	win     uint32
	pattern Item // of who waits for it
	sends   bool
	when    uint64  // of the record
	alone   bool    // of a lock: nobody else may have it
	mate    *notice // of one that waits: what lets it go on
	end     *notice // of the acquisition of a lock: its release
}

func (n *notice) enter() uint64 { return n.at.visits[n.visit].enter }

// synchronises reports whether records of a kind are about epochs, locks or fences of windows.
func synchronises(k trace.Kind) bool {
	return k == trace.RmaCollectiveEnd || k == trace.RmaSync || k == trace.RmaGroupSync || k == trace.RmaRequestLock || k == trace.RmaAcquireLock || k == trace.RmaReleaseLock
}

// synchronisation takes a record of a window.
func (w *requests) synchronisation(e *record) {
	f := e.fields
	switch e.kind {
	case trace.RmaCollectiveEnd:
		w.onWindow(e)
	case trace.RmaSync:
		w.epoch(e, uint32(f[0]), w.a.windowPeer(uint32(f[0]), uint32(f[1]), w.l))
	case trace.RmaGroupSync:
		const processes = 1
		if f[0]&processes == 0 {
			return
		}
		for _, process := range w.a.d.GroupProcesses(uint32(f[2])) {
			w.epoch(e, uint32(f[1]), process)
		}
	case trace.RmaRequestLock, trace.RmaAcquireLock:
		const shared = 1
		v := &w.l.visits[e.visit]
		if e.kind == trace.RmaRequestLock {
			granted := slices.ContainsFunc(w.l.records[v.first:min(v.last, len(w.l.records))], func(x record) bool {
				return x.kind == trace.RmaAcquireLock && slices.Equal(x.fields, f)
			})
			if granted || v.call < 0 {
				return
			}
			at := *e
			at.at, e = v.leave, &at // nothing says that it is granted later
		}
		w.notice(e, notice{pattern: LockContention, win: uint32(f[0]), process: w.a.windowPeer(uint32(f[0]), uint32(f[1]), w.l), alone: f[3] != shared})
	case trace.RmaReleaseLock:
		w.notice(e, notice{pattern: LockContention, win: uint32(f[0]), process: w.a.windowPeer(uint32(f[0]), uint32(f[1]), w.l), sends: true})
	}
}

// onWindow makes a call a part in an operation of all members of a window.
func (w *requests) onWindow(e *record) {
	what := map[uint64]string{0: "fence", 17: "create", 18: "free", 21: "create", 22: "free"}[e.fields[0]]
	for _, x := range w.a.d.RmaWins {
		if x.Ref == uint32(e.fields[2]) && what != "" && w.l.visits[e.visit].call >= 0 && w.a.d.CommSize(x.Comm) > 1 {
			w.collective(&record{fields: []uint64{noOperation, uint64(x.Comm), trace.Undefined, 0, 0}, visit: e.visit}, &member{start: e.visit, seq: w.next(), file: "window " + what})
		}
	}
}

// windowPeer is the process of a rank of a window, trace.UnknownProcess for none.
func (a *analysis) windowPeer(win, rank uint32, l *location) uint32 {
	for i := range a.d.RmaWins {
		if x := &a.d.RmaWins[i]; x.Ref == win {
			return a.d.Peer(x.Comm, rank, l.process)
		}
	}
	return trace.UnknownProcess
}

// epoch takes what a call does to an epoch with one process: who has posted lets MPI_Win_start go on, or MPI_Win_complete, and who
// completes lets MPI_Win_wait go on.
func (w *requests) epoch(e *record, win, process uint32) {
	add := func(pattern Item, sends bool) {
		w.notice(e, notice{pattern: pattern, win: win, process: process, sends: sends})
	}
	switch w.a.plainName(w.l.visits[e.visit].region) {
	case "mpi_win_post":
		add(LatePost, true)
		add(latePostOfComplete, true)
	case "mpi_win_start":
		add(LatePost, false)
	case "mpi_win_complete":
		add(latePostOfComplete, false)
		add(EarlyWait, true)
	case "mpi_win_wait", "mpi_win_test":
		add(EarlyWait, false)
	}
}

// latePostOfComplete is LatePost where MPI_Win_start did not wait.
const latePostOfComplete Item = "late_post at the end"

func (w *requests) notice(e *record, n notice) {
	if n.process == trace.UnknownProcess {
		return
	}
	n.at, n.row, n.visit, n.seq, n.when = w.l, len(w.l.ops)+len(w.l.notices), e.visit, w.next(), e.at
	w.l.notices = append(w.l.notices, &n)
}

// synchronise finds what lets notices go on. Of epochs the k-th of one process is that of the k-th of the other. A lock waits for
// the last of the others to release it before it was granted, unless both could have it at once.
func (a *analysis) synchronise() {
	type key struct {
		win, from, to uint32
		pattern       Item
	}
	sends, waits := map[key][]*notice{}, map[key][]*notice{}
	for _, l := range a.locs {
		held := map[key]*notice{}
		for _, n := range l.notices {
			k := key{n.win, l.process, n.process, n.pattern}
			switch {
			case n.pattern == LockContention && n.sends:
				if x := held[k]; x != nil {
					x.end, n.alone = n, x.alone
				}
				k.from = 0
				sends[k] = append(sends[k], n)
			case n.pattern == LockContention:
				held[k] = n
				k.from = 0
				waits[k] = append(waits[k], n)
			case n.sends:
				sends[k] = append(sends[k], n)
			default:
				k.from, k.to = k.to, k.from
				waits[k] = append(waits[k], n)
			}
		}
	}
	order := func(x, y *notice) int {
		return cmp.Or(cmp.Compare(x.enter(), y.enter()), cmp.Compare(x.at.p, y.at.p), cmp.Compare(x.seq, y.seq))
	}
	for k, list := range waits {
		from := sends[k]
		slices.SortFunc(list, order)
		slices.SortFunc(from, order)
		for i, n := range list {
			switch {
			case k.pattern != LockContention:
				if i < len(from) {
					n.mate = from[i]
				}
			default:
				for _, r := range from {
					if r == n.end {
						break // who releases it later had it later
					}
					if r.enter() <= n.when && (r.alone || n.alone) {
						n.mate = r
					}
				}
				if n.mate != nil && n.mate.at == n.at {
					n.mate = nil
				}
			}
		}
	}
}

// noticeWaits are the waits for other processes in synchronisation of windows: in a call until the last of them.
func (l *location) noticeWaits() []WaitSpan {
	last := map[int]*notice{}
	for _, n := range l.notices {
		if n.mate != nil && (last[n.visit] == nil || n.mate.enter() > last[n.visit].mate.enter()) {
			last[n.visit] = n
		}
	}
	var list []WaitSpan
	for v, n := range last {
		if at := n.mate.enter(); at <= l.visits[v].leave {
			w := WaitSpan{From: n.enter(), To: at, Pattern: n.pattern, Row: n.row, Cause: n.mate.at.p, visit: v}
			if n.pattern == latePostOfComplete {
				w.Pattern = LatePost
			}
			list = append(list, w)
		}
	}
	return list
}

// firstAfter reports whether a process is the only one that a notice lets go on, or of several that share a lock the first to release
// it, at one instant the one with the lowest number: the analysis replays no others (see docs/metrics.md).
func (n *notice) firstAfter(a *analysis) bool {
	for _, l := range a.locs {
		for _, x := range l.notices {
			if x.mate == n.mate && x.end != nil && n.end != nil && cmp.Or(cmp.Compare(x.end.enter(), n.end.enter()), cmp.Compare(x.at.p, n.at.p)) < 0 {
				return false
			}
		}
	}
	return true
}

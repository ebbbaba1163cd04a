package paraver

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// rootRun says that collectives of a communicator from number first on have
// this root, up to the next run.
type rootRun struct {
	First uint64 // number among the communicator's collectives, from 0
	Root  uint32 // rank in the communicator
}

// mostRoots bounds the changes of roots that are kept of a trace; collectives
// after them have no root.
const mostRoots = 1 << 20

// rootWindow is how many collectives a process may be ahead of another one
// without being taken for out of order.
const rootWindow = 4096

// rootLog collects the roots of one communicator's collectives. Only the root
// itself records that it is one, so the others learn it from here. Processes run
// ahead of each other, hence roots come in nearly ascending order.
type rootLog struct {
	waiting []rootRun // not yet in order
	runs    []rootRun
	closed  uint64 // numbers below are in runs
	late    uint64 // roots that came too late
}

// add records the root of collective number n.
func (l *rootLog) add(n uint64, root uint32) {
	if n < l.closed {
		l.late++
		return
	}
	l.waiting = append(l.waiting, rootRun{n, root})
	if len(l.waiting) >= 2*rootWindow {
		l.flush(rootWindow)
	}
}

// flush moves the n lowest numbers to the runs.
func (l *rootLog) flush(n int) {
	slices.SortStableFunc(l.waiting, func(a, b rootRun) int { return cmp.Compare(a.First, b.First) })
	for _, r := range l.waiting[:n] {
		if k := len(l.runs); k < mostRoots && (k == 0 || l.runs[k-1].Root != r.Root) {
			if k == mostRoots-1 {
				r.Root = trace.Undefined
			}
			l.runs = append(l.runs, r)
		}
		l.closed = r.First + 1
	}
	l.waiting = l.waiting[:copy(l.waiting, l.waiting[n:])]
}

// rootOf returns the root of collective number n.
func rootOf(runs []rootRun, n uint64) (uint32, bool) {
	i, found := slices.BinarySearchFunc(runs, n, func(r rootRun, n uint64) int { return cmp.Compare(r.First, n) })
	if !found {
		i--
	}
	if i < 0 {
		return 0, false
	}
	return runs[i].Root, runs[i].Root != trace.Undefined
}

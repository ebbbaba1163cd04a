package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// work is a kernel or transfer of a stream.
type work struct {
	from, to uint64
	what     Activity
	path     int
	stream   *location
	before   uint64 // when the stream was in one last
	row      int    // of the call
}

// workOf is the activity in a region of a stream.
var workOf = map[trace.State]Activity{trace.StateKernel: InKernel, trace.StateTransfer: InTransfer}

func (a *analysis) stream(l *location) bool {
	return a.d.Location(l.p).Type == trace.AcceleratorStream
}

// devices makes what streams, and hosts that wait for them, do to what causes are found in, and says where the critical path goes over.
func (a *analysis) devices() {
	for _, l := range a.locs {
		l.does = l.slices
		if !a.stream(l) {
			continue
		}
		l.does = slices.Clone(l.slices)
		for i := range l.does {
			s := &l.does[i]
			s.what = InIdle
			for path := s.path; path > 0 && s.what == InIdle; path = a.paths.list[path].Parent {
				if what, ok := workOf[a.stateOf(a.paths.list[path].Region).OnStream()]; ok {
					s.what = what
				}
			}
		}
	}
	for rank := range a.d.Processes() {
		var all []work
		var hosts []*location
		for _, l := range a.locs {
			switch {
			case int(l.process) != rank:
			case a.stream(l):
				before := uint64(0)
				for i, c := range l.calls {
					if what, ok := workOf[c.state.OnStream()]; ok && c.enter < c.leave && c.enter >= before {
						all = append(all, work{c.enter, c.leave, what, c.path, l, before, i})
						before = c.leave
					}
				}
			default:
				hosts = append(hosts, l)
			}
		}
		if len(all) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(x, y work) int { return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.stream.p, y.stream.p)) })
		for _, w := range all {
			if by := a.launcher(w, hosts); by != nil {
				w.stream.leaves = append(w.stream.leaves, jump{w.from, w.from, by.p})
			}
		}
		for _, l := range hosts {
			for i := range l.calls {
				a.waitForDevice(l, &l.calls[i], all)
			}
		}
	}
}

func (a *analysis) stateOf(region uint32) trace.State {
	if r := a.d.Region(region); r != nil {
		return a.d.StateOf(r)
	}
	return trace.StateOwn
}

// launcher is the host that launched some work last, nil if it was in the queue then.
func (a *analysis) launcher(w work, hosts []*location) (by *location) {
	states := []trace.State{trace.StateLaunch}
	if w.what == InTransfer {
		states = []trace.State{trace.StateTransferCall}
	}
	last := uint64(0)
	for _, l := range hosts {
		for _, c := range l.calls {
			if slices.Contains(states, c.state) && c.enter <= w.from && (by == nil || c.enter >= last) {
				by, last = l, c.enter
			}
		}
	}
	switch {
	case by == nil:
		return hosts[0]
	case last < w.before:
		return nil
	}
	return by
}

// waitForDevice finds what a call of a host waits for.
func (a *analysis) waitForDevice(l *location, c *call, all []work) {
	transfers := c.state == trace.StateTransferCall && !strings.Contains(strings.ToLower(a.regionName(c.region)), "async")
	if c.state != trace.StateDeviceWait && !transfers || c.visit >= 0 {
		return
	}
	for up := c.parent; up >= 0; up = l.calls[up].parent {
		if _, ok := asides[l.calls[up].state]; ok {
			return
		}
	}
	left, last := c.leave, (*work)(nil) // the wait up to left is without what has it
	for i := range slices.Backward(all) {
		w := &all[i]
		if w.to <= c.enter || w.to > c.leave || transfers && w.what != InTransfer {
			continue
		}
		if from, to := max(c.enter, w.from), min(w.to, left); from < to {
			l.does = overlay(l.does, []markerSpan{{from, to}}, func(s *slice, _ markerSpan) {
				if s.what == InDeviceWait || s.what == InDeviceCall {
					s.what, s.path = w.what, w.path
				}
			})
		}
		left = min(left, w.from)
		if last == nil {
			last = w
		}
	}
	if last == nil {
		return
	}
	at := last.to
	l.leaves = append(l.leaves, jump{at, at, last.stream.p})
	if !transfers {
		l.kernels = append(l.kernels, WaitSpan{From: c.enter, To: at, Pattern: LateKernel, Row: last.row, Cause: last.stream.p, Path: c.path})
	}
}

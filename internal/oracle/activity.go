package oracle

import (
	"cmp"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
)

// Activity is what a location does at an instant.
type Activity int

// Activities, in their order.
const (
	CPU Activity = iota
	MPI          // in MPI calls, not waiting
	IO
	Marker
	Wait
	Outside // before the first event, or after the last one
	InDeviceCall
	InDeviceWait
	InLock
	InOverhead // of the measurement
	InKernel   // of a stream; of a host that waits for it too
	InTransfer // the same
	InIdle     // a stream
	activities
)

// slice is a stretch of time with one activity on one call path in one node.
type slice struct {
	from, to uint64
	what     Activity
	path     int    // of the innermost call
	waiting  bool   // CPU: for other threads of the process
	node     int    // innermost interval of markers
	over     uint64 // end of the wait
}

// asides are the activities of states outside MPI.
var asides = map[trace.State]Activity{
	trace.StateIO: IO, trace.StateDeviceCall: InDeviceCall, trace.StateDeviceWait: InDeviceWait, trace.StateLaunch: InDeviceCall, trace.StateTransferCall: InDeviceCall,
	trace.StateLock: InLock, trace.StateOverhead: InOverhead,
}

// timeline cuts the time of a location from its first to its last event.
func (a *analysis) timeline(l *location) {
	for i := 0; i+1 < len(l.records); i++ {
		from, to := l.records[i].at, l.records[i+1].at
		if from == to {
			continue
		}
		s := a.after(l, i)
		s.from, s.to = from, to
		if n := len(l.slices); n > 0 && l.slices[n-1].to == from && l.slices[n-1].what == s.what && l.slices[n-1].path == s.path && l.slices[n-1].waiting == s.waiting {
			l.slices[n-1].to = to
		} else {
			l.slices = append(l.slices, s)
		}
	}
	if !a.o.MarkerAsMPI {
		l.slices = overlay(l.slices, union(l.spans), func(s *slice, _ markerSpan) { s.what = Marker })
	}
	l.slices = overlay(l.slices, l.overhead(), func(s *slice, _ markerSpan) {
		if s.what != MPI && s.what != Marker {
			s.what = InOverhead
		}
	})
	borders := []uint64{l.first, l.last}
	for _, e := range l.execs {
		borders = append(borders, e.from, e.to)
	}
	slices.Sort(borders)
	for i, to := range borders[1:] {
		if node := a.nodeAt(l, borders[i]); node > 0 {
			l.slices = overlay(l.slices, []markerSpan{{borders[i], to}}, func(s *slice, _ markerSpan) { s.node = node })
		}
	}
}

// nodeAt returns the innermost interval of markers that holds an instant.
func (a *analysis) nodeAt(l *location, t uint64) int {
	node := 0
	for _, e := range l.execs {
		n := &a.nodes.list[e.node]
		if !n.Derived && e.from <= t && t < e.to && n.Level > a.nodes.list[node].Level {
			node = e.node
		}
	}
	return node
}

// after tells what a location does after record i.
func (a *analysis) after(l *location, i int) slice {
	c := l.records[i].call
	if c >= 0 && l.calls[c].last == i {
		c = l.calls[c].parent
	}
	if c < 0 {
		return slice{}
	}
	s := slice{path: l.calls[c].path}
	if l.calls[c].visit >= 0 {
		s.what = MPI
		return s
	}
	switch l.calls[c].state { // of the innermost call alone
	case trace.StateCritical:
		s.what = InLock
	case trace.StateThreadWait:
		s.waiting = true
	}
	for ; c >= 0; c = l.calls[c].parent {
		if what, ok := asides[l.calls[c].state]; ok {
			s.what = what
		}
	}
	return s
}

// overlay changes what happens within spans, which are in order and apart.
func overlay(list []slice, spans []markerSpan, change func(*slice, markerSpan)) []slice {
	var out []slice
	add := func(s slice, from, to uint64, in *markerSpan) {
		s.from, s.to = from, to
		if in != nil {
			change(&s, *in)
		}
		if from < to {
			out = append(out, s)
		}
	}
	k := 0
	for _, s := range list {
		for k < len(spans) && spans[k].to <= s.from {
			k++
		}
		at := s.from
		for j := k; j < len(spans) && spans[j].from < s.to; j++ {
			from, to := max(spans[j].from, at), min(spans[j].to, s.to)
			add(s, at, from, nil)
			add(s, from, to, &spans[j])
			at = to
		}
		add(s, at, s.to, nil)
	}
	return out
}

// union joins spans that overlap or touch, in order.
func union(spans []markerSpan) []markerSpan {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(x, y markerSpan) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to)) })
	var out []markerSpan
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else if s.from < s.to {
			out = append(out, s)
		}
	}
	return out
}

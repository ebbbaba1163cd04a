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
	activities
)

// slice is a stretch of time with one activity on one call path.
type slice struct {
	from, to uint64
	what     Activity
	path     int
}

// timeline cuts the time of a location from its first to its last event. Time in
// an outermost MPI call is on that call's path; all other time on the path of
// the innermost call.
func (a *analysis) timeline(l *location) {
	for i := 0; i+1 < len(l.records); i++ {
		from, to := l.records[i].at, l.records[i+1].at
		if from == to {
			continue
		}
		s := a.after(l, i)
		s.from, s.to = from, to
		if n := len(l.slices); n > 0 && l.slices[n-1].to == from && l.slices[n-1].what == s.what && l.slices[n-1].path == s.path {
			l.slices[n-1].to = to
		} else {
			l.slices = append(l.slices, s)
		}
	}
	if !a.o.MarkerAsMPI {
		l.slices = overlay(l.slices, l.spans, Marker)
	}
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
	if v := l.calls[c].visit; v >= 0 {
		return slice{what: MPI, path: l.visits[v].path}
	}
	for ; c >= 0; c = l.calls[c].parent {
		if l.calls[c].class&trace.ClassIO != 0 {
			s.what = IO
		}
	}
	return s
}

// overlay sets the activity within spans, which may overlap.
func overlay(slices_ []slice, spans []markerSpan, what Activity) []slice {
	spans = union(spans)
	var out []slice
	k := 0
	for _, s := range slices_ {
		for k < len(spans) && spans[k].to <= s.from {
			k++
		}
		at := s.from
		for j := k; j < len(spans) && spans[j].from < s.to; j++ {
			x, y := max(spans[j].from, at), min(spans[j].to, s.to)
			if at < x {
				out = append(out, slice{at, x, s.what, s.path})
			}
			if x < y {
				out = append(out, slice{x, y, what, s.path})
			}
			at = max(at, y)
		}
		if at < s.to {
			out = append(out, slice{at, s.to, s.what, s.path})
		}
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

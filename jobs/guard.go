package jobs

import "github.com/coppice-hpc/coppice/trace"

// guard keeps the times of one location from running backwards: an event before
// its predecessor, or before the trace's origin, is raised to it with clamp;
// without clamp the location ends there.
type guard struct {
	last  trace.Time
	clamp bool
	ended bool
	diags trace.Diagnostics
}

// check brings the batch in order, or cuts it.
func (g *guard) check(b *trace.Batch) {
	if g.ended {
		b.Reset()
		return
	}
	for i := range b.Events {
		e := &b.Events[i]
		if e.Time >= g.last {
			g.last = e.Time
			continue
		}
		d := trace.Diagnostic{Code: trace.DiagTimeBackwards, Time: e.Time, Event: b.First + uint64(i), Worst: uint64(g.last - e.Time)}
		if !g.clamp {
			d.Detail = "the rest of the location is left out; --clamp-time keeps it"
			g.diags.Add(d)
			b.Events = b.Events[:i]
			g.ended = true
			return
		}
		g.diags.Add(d)
		e.Time = g.last
	}
}

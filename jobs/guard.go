package jobs

import "github.com/coppice-hpc/coppice/trace"

// guard keeps the times of one location from running backwards: an event before
// its predecessor, or before the trace's origin, is raised to it with clamp;
// without clamp the location ends there. It ends before a time too far from the
// origin in any case.
type guard struct {
	origin, last trace.Time
	clamp        bool
	ended        bool
	diags        trace.Diagnostics
}

// farthest is how many ticks a trace may last, 292 years of ns. What is later was
// damaged; sums and differences of what is not fit 64 bits with a sign.
const farthest = 1<<63 - 1

// check brings the batch in order, or cuts it.
func (g *guard) check(b *trace.Batch) {
	if g.ended {
		b.Reset()
		return
	}
	for i := range b.Events {
		e := &b.Events[i]
		if e.Time >= g.last && e.Time-g.origin <= farthest {
			g.last = e.Time
			continue
		}
		d := trace.Diagnostic{Code: trace.DiagTimeBackwards, Time: e.Time, Event: b.First + uint64(i), Worst: uint64(g.last - e.Time)}
		switch {
		case e.Time >= g.last:
			d.Code, d.Time, d.Worst = trace.DiagCorrupt, g.last, 0
			d.Detail = "a time stamp 2^63 ticks or more after the first of the trace; the rest of the location is left out"
		case g.clamp:
			g.diags.Add(d)
			e.Time = g.last
			continue
		default:
			d.Detail = "the rest of the location is left out; --clamp-time keeps it"
		}
		g.diags.Add(d)
		b.Events = b.Events[:i]
		g.ended = true
		return
	}
}

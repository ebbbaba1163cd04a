package analyze

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// guard corrects the events of one location of any source, and makes diagnostics. An event before its predecessor, or before the trace's
// origin, is raised to it. The location ends before an event that is more than xtf.Most ticks after the origin, so that sums over all
// locations fit. Bytes of an operation count as 0 if the sum would be more than that. Equal regions get one reference.
type guard struct {
	defs         *trace.Definitions
	origin, last trace.Time
	most         uint64 // xtf.Most
	bytes        uint64 // sum of all events so far, at most most
	ended        bool
	diags        trace.Diagnostics
}

func (a *loads) guard() *guard {
	return &guard{defs: a.defs, origin: a.size.Origin, last: a.size.Origin, most: xtf.Most(a.defs.NumLocations())}
}

// check corrects a batch, or cuts it off.
func (g *guard) check(b *trace.Batch) {
	if g.ended {
		b.Reset()
		return
	}
	for i := range b.Events {
		e := &b.Events[i]
		if e.Time >= g.last && uint64(e.Time-g.origin) > g.most {
			g.found(b, i, fmt.Sprintf("an event more than %d ticks after the first of the trace; the rest of the location is left out", g.most))
			b.Events = b.Events[:i]
			g.ended = true
			return
		}
		for _, field := range e.Kind.Sizes() {
			switch v := &b.Words(e)[field]; {
			case *v == trace.Undefined64 && (e.Kind == trace.IoOperationBegin || e.Kind == trace.IoOperationComplete): // unknown, or the operation failed
			case *v > g.most-g.bytes:
				g.found(b, i, fmt.Sprintf("%d bytes, more than %d in the operations of one location; they count as none", *v, g.most))
				*v = 0
			default:
				g.bytes += *v
			}
		}
		if e.Time < g.last {
			g.diags.Add(trace.Diagnostic{Code: trace.DiagTimeBackwards, Time: e.Time, Event: b.First + uint64(i), Worst: uint64(g.last - e.Time)})
			e.Time = g.last
		}
		g.last = e.Time
		if e.Kind == trace.Enter || e.Kind == trace.Leave {
			e.Ref = trace.Joined(g.defs, e.Ref)
		}
	}
}

// found makes a diagnostic for a number that is too large in event i of a batch.
func (g *guard) found(b *trace.Batch, i int, tooMuch string) {
	g.diags.Add(trace.Diagnostic{Code: trace.DiagOverflow, Time: g.last, Event: b.First + uint64(i), Detail: tooMuch})
}

package view

import (
	"context"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// mostSteps is how many rows a step may pass over.
const mostSteps = 1 << 20

// stepKinds are the kinds of things that steps go to, and their rows.
var stepKinds = map[string]xtf.TypeID{
	"call": xtf.TypeCall, "sibling": xtf.TypeCall, "region": xtf.TypeCall, "mpi": xtf.TypeCall, "marker": xtf.TypeCall,
	"message": xtf.TypeP2P, "collective": xtf.TypeColl, "wait": xtf.TypeWait, "interval": xtf.TypeIval, "critical": xtf.TypeCPath,
}

// step is one question of api/next.
type step struct {
	x       *run
	p       trace.P
	kind    string
	a       *xtf.Array
	forward bool
	want    func(c *xtf.Call) bool // of calls; nil: any row
}

// next answers api/next.
func (s *Server) next(ctx context.Context, p *params) (any, error) {
	if err := p.run.needRows(); err != nil {
		return nil, err
	}
	loc, err := p.loc()
	if err != nil {
		return nil, err
	}
	kind, err := p.choice("kind", "call", "sibling", "region", "mpi", "message", "collective", "wait", "marker", "interval", "critical")
	if err != nil {
		return nil, err
	}
	way, err := p.choice("step", "1", "-1")
	if err != nil {
		return nil, err
	}
	t, err := p.number("t", p.run.first, 0, 1<<64-1)
	if err != nil {
		return nil, err
	}
	n, err := p.number("n", xtf.Never, 0, xtf.Never)
	if err != nil {
		return nil, err
	}
	region, err := p.number("region", 0, 0, uint64(max(1, len(p.run.meta.Regions)))-1)
	if err != nil {
		return nil, err
	}
	q := &step{x: p.run, p: loc, kind: kind, forward: way == "1"}
	if q.a, err = p.run.array(loc, stepKinds[kind]); err != nil {
		return nil, err
	}
	if err := q.choose(n, int(region)); err != nil {
		return nil, err
	}
	return q.answer(ctx, t, n)
}

// choose says which calls are wanted.
func (q *step) choose(n uint64, region int) error {
	switch q.kind {
	case "mpi":
		q.want = func(c *xtf.Call) bool { return c.Flags&xtf.FlagOutermostMPI != 0 }
	case "marker":
		q.want = func(c *xtf.Call) bool { return c.Flags&xtf.FlagMarker != 0 }
	case "region":
		q.want = func(c *xtf.Call) bool { return q.x.region(c.Region) == region }
	case "sibling":
		if n == xtf.Never {
			return bad("n", "it is not given", "Siblings are those of a call: give its row")
		}
		row, err := q.x.row(q.p, xtf.TypeCall, n)
		if err != nil {
			return err
		}
		var of xtf.Call
		of.Load(row)
		q.want = func(c *xtf.Call) bool { return c.Depth == of.Depth }
	}
	return nil
}

// answer goes from row n, or from a time, to the next row that is wanted.
func (q *step) answer(ctx context.Context, t, n uint64) (*NextEvent, error) {
	v := &NextEvent{Kind: q.kind, Location: int(q.p), T: t}
	if n == xtf.Never {
		var err error
		if q.forward {
			n, err = q.a.RankAfter(t)
		} else {
			n, err = q.a.Rank(t)
		}
		if err != nil {
			return nil, err
		}
	} else if n >= q.a.Len() {
		return nil, missing("n")
	} else if q.forward {
		n++
	}
	at, found, err := q.search(ctx, n)
	switch {
	case err != nil:
		return nil, err
	case found:
		return v, q.fill(v, at)
	case q.forward && at >= q.a.Len():
		v.Side = "after"
	case !q.forward && at == 0:
		v.Side = "before"
	default:
		v.Side, v.N = "beyond", at
		v.T, err = q.a.At(at)
	}
	return v, err
}

// search returns the first wanted row at or after n, or the last one before n.
func (q *step) search(ctx context.Context, n uint64) (at uint64, found bool, err error) {
	end := q.a.Len()
	if q.want == nil {
		if q.forward {
			return n, n < end, nil
		}
		return max(n, 1) - 1, n > 0, nil
	}
	for passed := uint64(0); passed < mostSteps; {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		n1, n2 := n, min(end, n+uint64(q.a.Type().PageRows))
		if !q.forward {
			n1, n2 = n-min(n, uint64(q.a.Type().PageRows)), n
		}
		if n1 >= n2 {
			break
		}
		err := q.a.Each(n1, n2, func(k uint64, row []byte) bool {
			var c xtf.Call
			if c.Load(row); q.want(&c) {
				at, found = k, true
			}
			return !found || !q.forward
		})
		if err != nil || found {
			return at, found, err
		}
		passed += n2 - n1
		if n = n2; !q.forward {
			n = n1
		}
	}
	return n, false, nil
}

// fill describes the row that was found.
func (q *step) fill(v *NextEvent, n uint64) error {
	row, err := q.a.Row(n, nil)
	if err != nil {
		return err
	}
	v.Found, v.N = true, n
	v.T, v.End = xtf.U64(row, 0), max(xtf.U64(row, 0), xtf.U64(row, 8)) // T and End begin the rows of all these types
	switch stepKinds[q.kind] {
	case xtf.TypeCall:
		v.Call = &n
	case xtf.TypeP2P:
		call := xtf.U64(row, xtf.P2PCallN)
		v.Call = &call
	case xtf.TypeColl:
		call := xtf.U64(row, xtf.CollCallN)
		v.Call = &call
	}
	return nil
}

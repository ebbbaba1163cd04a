package results

import (
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Side is a call on one side of a message or in a collective.
type Side struct {
	P          trace.P
	Begin, End uint64
	Region     uint32
	Call       uint64 // its row, xtf.Never for none
	posted     uint64 // in a collective: where the call began that starts it
}

// Referred reads a row that another one names: without it the file is damaged.
func Referred[T any, R xtf.Form[T]](r *Run, p uint32, n uint64) (x T, err error) {
	if uint64(p) >= uint64(r.Defs.NumLocations()) {
		return x, fmt.Errorf("%s: location %d of %d: %w", r.Name, p, r.Defs.NumLocations(), xtf.ErrCorrupt)
	}
	a, err := xtf.ArrayOf[T, R](r.File, xtf.Proc(p))
	if err != nil {
		return x, err
	}
	if n >= a.Len() {
		return x, fmt.Errorf("%s: row %d of %d of type %s: %w", r.Name, n, a.Len(), a.Type().Name, xtf.ErrCorrupt)
	}
	row, err := a.Row(n, nil)
	if err == nil {
		R(&x).Load(row)
	}
	return x, err
}

// Mate is the other side of a message, nil for none.
func Mate(r *Run, m *xtf.P2P) (*Side, error) {
	if m.MateN == xtf.Never || m.Kind&xtf.P2PUnmatched != 0 {
		return nil, nil
	}
	o, err := Referred[xtf.P2P](r, m.MateP, m.MateN)
	return &Side{trace.P(m.MateP), o.T, o.End, o.Region, o.CallN, o.T}, err
}

// Member is what location p did in the collective of c; nil if it took no part.
func Member(r *Run, c *xtf.Coll, p trace.P) (*Side, error) {
	var s *Side
	err := r.File.Members(c.Comm, c.Ordinal, xtf.Proc(p), xtf.Proc(p)+1, nil, func(_ xtf.Proc, _ uint64, row []byte) bool {
		var o xtf.Coll
		o.Load(row)
		s = &Side{p, o.T, o.End, o.Region, o.CallN, o.Post}
		return false
	})
	return s, err
}

// started is the call that starts what the call of s completes, s itself where that is the same call.
func started(r *Run, s *Side) (*Side, error) {
	if s == nil || s.posted >= s.Begin {
		return s, nil
	}
	var err error
	for n, x := range Overlapping[xtf.Call](r, s.P, s.posted, s.posted+1, &err) {
		if x.T == s.posted && trace.CallClass(x.Class)&trace.ClassMPI != 0 {
			return &Side{s.P, x.T, x.End, x.Region, n, x.T}, nil
		}
	}
	return s, err
}

// WaitedFor finds for whom location p waited: the other side of the message, or the call of the member that started its part in the
// collective last; nil where that is not known.
func WaitedFor(r *Run, p trace.P, w *xtf.Wait) (*Side, error) {
	if xtf.WaitsForMessage(w.Pattern) {
		m, err := Referred[xtf.P2P](r, uint32(p), w.RecN)
		if err != nil {
			return nil, err
		}
		return Mate(r, &m)
	}
	if uint64(w.CauseP) >= uint64(r.Defs.NumLocations()) {
		return nil, nil
	}
	c, err := Referred[xtf.Coll](r, uint32(p), w.RecN)
	if err != nil {
		return nil, err
	}
	s, err := Member(r, &c, trace.P(w.CauseP))
	if err != nil {
		return nil, err
	}
	return started(r, s)
}

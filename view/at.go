package view

import (
	"context"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Bounds of what is shown about a point.
const (
	mostStack  = 512
	mostAbout  = 64
	mostLooked = 4096 // rows looked at for one call
)

// at answers api/at.
func (s *Server) at(_ context.Context, p *params) (any, error) {
	if err := p.run.needRows(); err != nil {
		return nil, err
	}
	loc, err := p.loc()
	if err != nil {
		return nil, err
	}
	x := &At{Stack: []Call{}, Message: []Message{}, Waits: []Wait{}, Interval: []Execution{}}
	if x.T, err = p.number("t", p.run.first, 0, 1<<64-1); err != nil {
		return nil, err
	}
	n, err := p.number("n", xtf.Never, 0, xtf.Never)
	if err != nil {
		return nil, err
	}
	if x.Location, err = p.run.location(loc); err != nil {
		return nil, err
	}
	if err := p.run.stackAt(x, loc, n); err != nil {
		return nil, err
	}
	return x, p.run.about(x, loc)
}

// stackAt fills the open calls: those at a time, or a call and what is around it.
func (x *run) stackAt(to *At, p trace.P, n uint64) error {
	a, err := x.array(p, xtf.TypeCall)
	if err != nil {
		return err
	}
	take := func(n uint64, row []byte) bool {
		var c xtf.Call
		c.Load(row)
		if len(to.Stack) < mostStack {
			to.Stack = append(to.Stack, x.callOf(n, &c))
			return true
		}
		to.More = int(min(c.Depth, 1<<31-2)) + 1
		return false
	}
	if n == xtf.Never {
		if err := a.Stack(to.T, take); err != nil {
			return err
		}
		return x.neighbours(to, a)
	}
	row, err := x.row(p, xtf.TypeCall, n)
	if err != nil {
		return err
	}
	var c xtf.Call
	c.Load(row)
	to.T = c.T
	for more := take(n, row); more && c.Parent < n; more = take(n, row) {
		n = c.Parent
		if row, err = a.Row(n, row); err != nil {
			return err
		}
		c.Load(row)
	}
	return x.neighbours(to, a)
}

// neighbours fills the calls that begin before and after the innermost one, or the time.
func (x *run) neighbours(to *At, a *xtf.Array) error {
	var before, behind uint64
	if len(to.Stack) > 0 {
		before, behind = to.Stack[0].N, to.Stack[0].N+1
	} else {
		n, err := a.RankAfter(to.T)
		if err != nil {
			return err
		}
		before, behind = n, n
	}
	if before > 0 {
		before--
		to.Previous = &before
	}
	if behind < a.Len() {
		to.Next = &behind
	}
	return nil
}

// about fills what belongs to the innermost call and to the time.
func (x *run) about(to *At, p trace.P) error {
	if len(to.Stack) > 0 && to.Stack[0].Class != xtf.ShareOwn {
		c := &to.Stack[0]
		for _, fill := range []func(*At, trace.P, *Call) error{x.messagesOf, x.collectiveOf, x.fileOpOf} {
			if err := fill(to, p, c); err != nil {
				return err
			}
		}
	}
	if err := x.waitsAt(to, p); err != nil {
		return err
	}
	a, err := x.array(p, xtf.TypeCPath)
	if err != nil {
		return err
	}
	err = a.Overlapping(to.T, behind(to.T), func(_ uint64, row []byte) bool {
		var c xtf.CPath
		c.Load(row)
		v := x.pieceOf(p, &c)
		to.Critical = &v
		return false
	})
	if err != nil {
		return err
	}
	to.Interval, _, err = x.executions(p, to.T, behind(to.T), anyNode, mostAbout)
	return err
}

// after is the tick after t.
func behind(t uint64) uint64 { return max(t, t+1) }

// within visits the rows of a type that begin in a call.
func (x *run) within(p trace.P, t xtf.TypeID, c *Call, visit func(n uint64, row []byte) bool) error {
	a, err := x.array(p, t)
	if err != nil || a.Len() == 0 {
		return err
	}
	n1, err := a.Rank(c.Begin)
	if err != nil {
		return err
	}
	n2, err := a.RankAfter(c.End)
	if err != nil {
		return err
	}
	return a.Each(n1, min(n2, n1+mostLooked), visit)
}

// messagesOf fills the messages of a call.
func (x *run) messagesOf(to *At, p trace.P, c *Call) error {
	var failed error
	err := x.within(p, xtf.TypeP2P, c, func(n uint64, row []byte) bool {
		var m xtf.P2P
		if m.Load(row); m.CallN != c.N {
			return true
		}
		var v Message
		if v, failed = x.messageOf(p, n, &m); failed == nil {
			to.Message = append(to.Message, v)
		}
		return failed == nil && len(to.Message) < mostAbout
	})
	if err == nil {
		err = failed
	}
	return err
}

// collectiveOf fills the collective operation of a call.
func (x *run) collectiveOf(to *At, p trace.P, c *Call) error {
	return x.within(p, xtf.TypeColl, c, func(n uint64, row []byte) bool {
		var v xtf.Coll
		if v.Load(row); v.CallN != c.N {
			return true
		}
		to.Coll = x.collOf(p, n, &v)
		return false
	})
}

// fileOpOf fills the file operation of a call.
func (x *run) fileOpOf(to *At, p trace.P, c *Call) error {
	return x.within(p, xtf.TypeIO, c, func(_ uint64, row []byte) bool {
		var v xtf.IO
		if v.Load(row); v.CallN != c.N {
			return true
		}
		to.IO = &FileOp{Asked: v.Asked, Done: v.Done, File: x.fileName(v.Handle), Op: v.Op & xtf.IOOpMask}
		return false
	})
}

// fileName is the name of the file after a handle, "" where the trace does not tell.
func (x *run) fileName(handle uint32) string {
	for i := range x.Defs.IoHandles {
		if h := &x.Defs.IoHandles[i]; h.Ref == handle {
			for k := range x.Defs.IoRegularFiles {
				if x.Defs.IoRegularFiles[k].Ref == h.File {
					return x.Defs.Text(x.Defs.IoRegularFiles[k].Name)
				}
			}
			return x.Defs.Text(h.Name)
		}
	}
	return ""
}

// waitsAt fills the waits at the time and in the innermost MPI call, there also with what they belong to.
func (x *run) waitsAt(to *At, p trace.P) error {
	begin, end := to.T, behind(to.T)
	if len(to.Stack) > 0 && to.Stack[0].Class != xtf.ShareOwn {
		begin, end = min(begin, to.Stack[0].Begin), max(end, to.Stack[0].End)
	}
	a, err := x.array(p, xtf.TypeWait)
	if err != nil {
		return err
	}
	var failed error
	err = a.Overlapping(begin, end, func(n uint64, row []byte) bool {
		var w xtf.Wait
		w.Load(row)
		var v Wait
		if v, failed = x.waitOf(p, n, &w); failed == nil {
			to.Waits = append(to.Waits, v)
			x.attach(to, &w, &v)
		}
		return failed == nil && len(to.Waits) < mostAbout
	})
	if err == nil {
		err = failed
	}
	return err
}

// attach gives a wait to the message or collective that it belongs to.
func (x *run) attach(to *At, w *xtf.Wait, v *Wait) {
	if !xtf.WaitsForMessage(w.Pattern) {
		if to.Coll != nil && to.Coll.N == w.RecN && to.Coll.Wait == nil {
			to.Coll.Wait, to.Coll.Last = v, v.Cause
		}
		return
	}
	for i := range to.Message {
		if to.Message[i].N == w.RecN {
			to.Message[i].Wait = v
		}
	}
}

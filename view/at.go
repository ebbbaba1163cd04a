package view

import (
	"context"
	"fmt"
	"iter"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Limits of what an answer has about a point.
const (
	mostStack  = 512
	mostAbout  = 64
	mostLooked = 4096 // rows looked at for one call
)

func getAt(_ context.Context, p *params) (any, error) {
	p.needRows()
	loc := p.loc()
	x := &At{T: p.number("t", p.run.first, 0, 1<<64-1), Stack: []Call{}, Message: []Message{}, Waits: []Wait{}, Interval: []Execution{}}
	n := p.number("n", xtf.Never, 0, xtf.Never)
	if p.err != nil {
		return nil, p.err
	}
	var err error
	if x.Location, err = p.run.location(loc); err != nil {
		return nil, err
	}
	if err := p.run.stackAt(x, loc, n); err != nil {
		return nil, err
	}
	return x, p.run.about(x, loc)
}

// stackAt adds the open calls: those at a time, or a call and its callers.
func (x *run) stackAt(to *At, p trace.P, n uint64) error {
	a, err := x.array(p, xtf.TypeCall)
	if err != nil {
		return err
	}
	take := func(n uint64, c *xtf.Call) bool {
		if len(to.Stack) < mostStack {
			to.Stack = append(to.Stack, x.callOf(n, c))
			return true
		}
		to.More = int(min(c.Depth, 1<<31-2)) + 1
		return false
	}
	if n == xtf.Never {
		err = a.Stack(to.T, func(n uint64, row []byte) bool {
			var c xtf.Call
			c.Load(row)
			return take(n, &c)
		})
	} else {
		var c xtf.Call
		c, err = rowOf[xtf.Call](x, p, n)
		to.T = c.T
		for err == nil && take(n, &c) && c.Parent < n {
			n = c.Parent
			c, err = results.Referred[xtf.Call](x.Run, uint32(p), n)
		}
	}
	if err != nil {
		return err
	}
	return x.neighbours(to, a)
}

// neighbours adds the calls that begin before and after the innermost one, or the time.
func (x *run) neighbours(to *At, a *xtf.Array) error {
	var before, following uint64
	if len(to.Stack) > 0 {
		before, following = to.Stack[0].N, to.Stack[0].N+1
	} else {
		n, err := a.RankAfter(to.T)
		if err != nil {
			return err
		}
		before, following = n, n
	}
	if before > 0 {
		before--
		to.Previous = &before
	}
	if following < a.Len() {
		to.Next = &following
	}
	return nil
}

// about adds what belongs to the innermost call and to the time.
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
	var err error
	for _, c := range results.Overlapping[xtf.CPath](x.Run, p, to.T, after(to.T), &err) {
		piece := x.pieceOf(p, c)
		to.Critical = &piece
		break
	}
	if err != nil {
		return err
	}
	to.Interval, _, err = x.executions(p, to.T, after(to.T), anyNode, mostAbout)
	return err
}

func after(t uint64) uint64 { return max(t, t+1) }

// within yields the rows of a type that begin in a call, at most mostLooked.
func within[T any, R xtf.Form[T]](x *run, p trace.P, c *Call, err *error) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		looked := 0
		for n, row := range results.Begun[T, R](x.Run, p, c.Begin, after(c.End), err) {
			if looked++; looked > mostLooked || !yield(n, row) {
				return
			}
		}
	}
}

// messagesOf adds the messages of a call.
func (x *run) messagesOf(to *At, p trace.P, c *Call) (err error) {
	for n, m := range within[xtf.P2P](x, p, c, &err) {
		if m.CallN != c.N {
			continue
		}
		v, err := x.messageOf(p, n, m)
		if err != nil {
			return err
		}
		if to.Message = append(to.Message, v); len(to.Message) == mostAbout {
			break
		}
	}
	return err
}

// collectiveOf adds the collective operation of a call.
func (x *run) collectiveOf(to *At, p trace.P, c *Call) (err error) {
	for n, v := range within[xtf.Coll](x, p, c, &err) {
		if v.CallN == c.N {
			to.Coll = x.collOf(p, n, v)
			break
		}
	}
	return err
}

// fileOpOf adds the file operation of a call.
func (x *run) fileOpOf(to *At, p trace.P, c *Call) (err error) {
	for _, v := range within[xtf.IO](x, p, c, &err) {
		if v.CallN == c.N {
			to.IO = &FileOp{Asked: v.Asked, Done: v.Done, File: x.Defs.IoFiles()[v.Handle], Op: v.Op & xtf.IOOpMask}
			break
		}
	}
	return err
}

// waitsAt adds the waits at the time and in the innermost MPI call, and attaches these to their message or collective.
func (x *run) waitsAt(to *At, p trace.P) (err error) {
	begin, end := to.T, after(to.T)
	if len(to.Stack) > 0 && to.Stack[0].Class != xtf.ShareOwn {
		begin, end = min(begin, to.Stack[0].Begin), max(end, to.Stack[0].End)
	}
	for n, w := range results.Overlapping[xtf.Wait](x.Run, p, begin, end, &err) {
		v, err := x.waitOf(p, n, w)
		if err != nil {
			return err
		}
		to.Waits = append(to.Waits, v)
		if x.attach(to, w, &v); len(to.Waits) == mostAbout {
			break
		}
	}
	return err
}

// attach adds a wait to the message or collective that it belongs to.
func (x *run) attach(to *At, w *xtf.Wait, v *Wait) {
	if !xtf.WaitsForMessage(w.Pattern) {
		if xtf.PatternItem(w.Pattern) != xtf.ItemLateKernel && to.Coll != nil && to.Coll.N == w.RecN && to.Coll.Wait == nil {
			to.Coll.Wait, to.Coll.Last = v, v.Ended
		}
		return
	}
	for i := range to.Message {
		if to.Message[i].N == w.RecN {
			to.Message[i].Wait = v
		}
	}
}

// mostSteps is the most rows that a step passes over.
const mostSteps = 1 << 20

// step is one question of api/next.
type step struct {
	x       *run
	p       trace.P
	a       *xtf.Array
	forward bool
	skip    uint64                 // how many wanted calls to pass over
	want    func(c *xtf.Call) bool // nil: any call
}

func getNext(ctx context.Context, p *params) (any, error) {
	p.needRows()
	loc := p.loc()
	kind, way := p.choice("kind", "call", "region"), p.choice("step", "1", "-1")
	t, n := p.number("t", p.run.first, 0, 1<<64-1), p.number("n", xtf.Never, 0, xtf.Never)
	region, k := p.number("region", 0, 0, uint64(max(1, len(p.run.meta.Regions)))-1), p.number("k", 0, 0, xtf.Never)
	if k > 0 && kind != "region" {
		p.wrong(bad("k", "it counts the calls of a region", "Give kind=region, too"))
	}
	if p.err != nil {
		return nil, p.err
	}
	q := &step{x: p.run, p: loc, forward: way == "1" || k > 0, skip: max(k, 1) - 1}
	if kind == "region" {
		q.want = func(c *xtf.Call) bool { return q.x.region(c.Region) == int(region) }
	}
	var err error
	if q.a, err = p.run.array(loc, xtf.TypeCall); err != nil {
		return nil, err
	}
	if k > 0 && q.a.Len() > 0 {
		at, found, err := q.search(ctx, 0)
		v := &NextEvent{Location: int(loc), Side: "after"}
		if err == nil && found {
			err = q.fill(v, at)
		} else if at < q.a.Len() {
			v.Side = "beyond"
		}
		return v, err
	}
	return q.answer(ctx, t, n)
}

// answer returns the next wanted row from row n, or from a time.
func (q *step) answer(ctx context.Context, t, n uint64) (*NextEvent, error) {
	v := &NextEvent{Location: int(q.p), T: t}
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
				if at, found = k, q.skip == 0; !found {
					q.skip--
				}
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

func (q *step) fill(v *NextEvent, n uint64) error {
	c, err := rowOf[xtf.Call](q.x, q.p, n)
	v.Found, v.N, v.T, v.End = err == nil, n, c.T, max(c.T, c.End)
	return err
}

// callOf returns a row of CALL as an answer.
func (x *run) callOf(n uint64, c *xtf.Call) Call {
	return Call{
		N: n, Begin: c.T, End: max(c.T, c.End), Exclusive: c.Exclusive, Region: x.region(c.Region), Name: x.RegionName(c.Region), Depth: c.Depth,
		Class: xtf.ShareOf(c.Class), Cut: c.Flags&xtf.FlagCut != 0, Estimated: c.Flags&xtf.FlagEstimated != 0,
	}
}

// rowOf reads row n of an array, or returns missing.
func rowOf[T any, R xtf.Form[T]](x *run, p trace.P, n uint64) (v T, err error) {
	a, err := xtf.ArrayOf[T, R](x.File, xtf.Proc(p))
	if err == nil && n >= a.Len() {
		err = missing(fmt.Sprintf("row %d of %d of type %s", n, a.Len(), a.Type().Name))
	}
	if err != nil {
		return v, err
	}
	return results.Referred[T, R](x.Run, uint32(p), n)
}

// side returns the place of an event, nil for nil.
func (x *run) side(o *results.Side, err error) (*Side, error) {
	if o == nil || err != nil {
		return nil, err
	}
	process, _ := x.Defs.Process(o.P)
	s := &Side{Location: int(o.P), Process: process, Begin: o.Begin, End: max(o.Begin, o.End), Region: x.region(o.Region), Name: x.RegionName(o.Region)}
	if o.Call != xtf.Never {
		s.Call = &o.Call
	}
	return s, nil
}

// messageOf returns row n of P2P of location p as an answer.
func (x *run) messageOf(p trace.P, n uint64, m *xtf.P2P) (Message, error) {
	v := Message{
		N: n, Kind: "send", Location: int(p), Begin: m.T, End: max(m.T, m.End), Call: m.CallN, Bytes: m.Bytes, Tag: m.Tag,
		Comm: x.CommName(m.Comm), Peer: -1,
	}
	if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
		v.Kind = "receive"
	}
	if m.Peer != trace.UnknownProcess {
		v.Peer = int64(m.Peer)
	}
	var err error
	v.Mate, err = x.side(results.Mate(x.Run, m))
	return v, err
}

// collOf returns row n of COLL of location p as an answer.
func (x *run) collOf(p trace.P, n uint64, c *xtf.Coll) *Collective {
	process, _ := x.Defs.Process(p)
	v := &Collective{
		N: n, Name: x.RegionName(c.Region), Comm: x.CommName(c.Comm), Members: x.Defs.CommSize(c.Comm), Root: -1, Ordinal: c.Ordinal,
		Sent: c.Sent, Received: c.Received, Begin: c.T, End: max(c.T, c.End), LastEnter: c.LastEnter, FirstLeave: c.FirstLeave, LastLeave: c.LastLeave,
	}
	if root := x.Defs.Peer(c.Comm, c.Root, process); root != trace.UnknownProcess {
		v.Root = int64(root)
	}
	return v
}

// waitOf returns row n of WAIT of location p as an answer, with the call that ended it.
func (x *run) waitOf(p trace.P, n uint64, w *xtf.Wait) (Wait, error) {
	process, _ := x.Defs.Process(p)
	v := Wait{
		N: n, Location: int(p), Process: process, Begin: w.T, End: max(w.T, w.End), Pattern: results.PatternName(w.Pattern), Order: results.OrderName(w.Pattern), Launch: results.LaunchName(w.Pattern),
		Node: w.Node, Path: []string{}, Region: -1,
	}
	v.Ticks = v.End - v.Begin
	paths, err := x.paths()
	if err != nil {
		return v, err
	}
	v.Path, v.Region = paths.Names(w.Path), x.region(paths.Region(w.Path))
	v.Ended, err = x.side(results.WaitedFor(x.Run, p, w))
	return v, err
}

// pieceOf returns a row of CPATH of location p as an answer.
func (x *run) pieceOf(p trace.P, c *xtf.CPath) Piece {
	return Piece{
		Location: int(p), Begin: c.T, End: max(c.T, c.End), Region: x.region(c.Region), Activity: results.ActivityName(c.Activity), Node: c.Node,
	}
}

package view

import (
	"fmt"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// callOf describes a row of CALL.
func (x *run) callOf(n uint64, c *xtf.Call) Call {
	return Call{
		N: n, Begin: c.T, End: max(c.T, c.End), Exclusive: c.Exclusive, Region: x.region(c.Region), Name: x.RegionName(c.Region), Depth: c.Depth,
		Class: xtf.ShareOf(c.Class), Cut: c.Flags&xtf.FlagCut != 0, Estimated: c.Flags&xtf.FlagEstimated != 0,
	}
}

// row reads row n of the array (t, p); one that does not exist is missing.
func (x *run) row(p trace.P, t xtf.TypeID, n uint64) ([]byte, error) {
	a, err := x.array(p, t)
	if err != nil {
		return nil, err
	}
	if n >= a.Len() {
		return nil, missing(fmt.Sprintf("row %d of %d of type %s", n, a.Len(), a.Type().Name))
	}
	return a.Row(n, nil)
}

// referred reads a row that another one names: without it the file is damaged.
func (x *run) referred(p uint32, t xtf.TypeID, n uint64) ([]byte, error) {
	if uint64(p) >= uint64(x.meta.Locations) {
		return nil, fmt.Errorf("%s: location %d of %d: %w", x.Name, p, x.meta.Locations, xtf.ErrCorrupt)
	}
	a, err := x.array(trace.P(p), t)
	if err != nil {
		return nil, err
	}
	if n >= a.Len() {
		return nil, fmt.Errorf("%s: row %d of %d of type %s: %w", x.Name, n, a.Len(), a.Type().Name, xtf.ErrCorrupt)
	}
	return a.Row(n, nil)
}

// side describes where something happened.
func (x *run) side(p trace.P, begin, end uint64, region uint32, call uint64) *Side {
	process, _ := x.Defs.Process(p)
	s := &Side{Location: int(p), Process: process, Begin: begin, End: max(begin, end), Region: x.region(region), Name: x.RegionName(region)}
	if call != xtf.Never {
		s.Call = &call
	}
	return s
}

// mate is the other side of a message, nil for none.
func (x *run) mate(m *xtf.P2P) (*Side, error) {
	if m.MateN == xtf.Never || m.Kind&xtf.P2PUnmatched != 0 {
		return nil, nil
	}
	row, err := x.referred(m.MateP, xtf.TypeP2P, m.MateN)
	if err != nil {
		return nil, err
	}
	var o xtf.P2P
	o.Load(row)
	return x.side(trace.P(m.MateP), o.T, o.End, o.Region, o.CallN), nil
}

// messageOf describes row n of P2P of location p.
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
	v.Mate, err = x.mate(m)
	return v, err
}

// collOf describes row n of COLL of location p.
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

// member is what location p did in the collective of c; nil if it took no part.
func (x *run) member(c *xtf.Coll, p trace.P) (*Side, error) {
	var s *Side
	err := x.File.Members(c.Comm, c.Ordinal, xtf.Proc(p), xtf.Proc(p)+1, nil, func(_ xtf.Proc, _ uint64, row []byte) bool {
		var o xtf.Coll
		o.Load(row)
		s = x.side(p, o.T, o.End, o.Region, o.CallN)
		return false
	})
	return s, err
}

// waitOf describes row n of WAIT of location p, with the way to its cause.
func (x *run) waitOf(p trace.P, n uint64, w *xtf.Wait) (Wait, error) {
	process, _ := x.Defs.Process(p)
	v := Wait{
		N: n, Location: int(p), Process: process, Begin: w.T, End: max(w.T, w.End), Pattern: results.PatternName(w.Pattern), Order: results.OrderName(w.Pattern),
		Node: w.Node, Path: []string{}, Region: -1,
	}
	v.Ticks = v.End - v.Begin
	paths, err := x.paths()
	if err != nil {
		return v, err
	}
	v.Path, v.Region = paths.Names(w.Path), x.region(paths.Region(w.Path))
	v.Cause, err = x.causeOf(p, w)
	return v, err
}

// causeOf finds who was waited for: the other side of the message, or the member of the collective that came last.
func (x *run) causeOf(p trace.P, w *xtf.Wait) (*Side, error) {
	if xtf.WaitsForMessage(w.Pattern) {
		row, err := x.referred(uint32(p), xtf.TypeP2P, w.RecN)
		if err != nil {
			return nil, err
		}
		var m xtf.P2P
		m.Load(row)
		return x.mate(&m)
	}
	if uint64(w.CauseP) >= uint64(x.meta.Locations) {
		return nil, nil
	}
	row, err := x.referred(uint32(p), xtf.TypeColl, w.RecN)
	if err != nil {
		return nil, err
	}
	var c xtf.Coll
	c.Load(row)
	return x.member(&c, trace.P(w.CauseP))
}

// pieceOf describes a row of CPATH of location p.
func (x *run) pieceOf(p trace.P, c *xtf.CPath) Piece {
	return Piece{
		Location: int(p), Begin: c.T, End: max(c.T, c.End), Region: x.region(c.Region), Activity: results.ActivityName(c.Activity), Node: c.Node,
	}
}

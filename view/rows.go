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

// side describes where something happened, nil for nowhere.
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
	v.Mate, err = x.side(results.Mate(x.Run, m))
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
	v.Cause, err = x.side(results.WaitedFor(x.Run, p, w))
	return v, err
}

// pieceOf describes a row of CPATH of location p.
func (x *run) pieceOf(p trace.P, c *xtf.CPath) Piece {
	return Piece{
		Location: int(p), Begin: c.T, End: max(c.T, c.End), Region: x.region(c.Region), Activity: results.ActivityName(c.Activity), Node: c.Node,
	}
}

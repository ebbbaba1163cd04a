package jobs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Next to its segments, the load of a location leaves something in tables of its rank: what Match has to know. A run that takes
// the location over gets it from a segment.

// putKept keeps what a location left in tables. bytes is the input it was made of.
func (a *analysis) putKept(p trace.P, peers []stats.PeerRange) error {
	b := binary.AppendUvarint(nil, a.size.Weights[p])
	for i := range peers {
		x := &peers[i]
		coll := uint64(0)
		if x.Coll {
			coll = 1
		}
		b = varint.Append(b, uint64(x.Peer), uint64(x.Comm), coll, x.First, x.Count, x.Sends)
	}
	return a.store.Put(a.key(p, stageLoad, kindKept), b)
}

var errKept = errors.New("damaged tables of a finished location")

// kept reads what putKept wrote.
func (a *analysis) kept(p trace.P) (bytes uint64, peers []stats.PeerRange, err error) {
	b, err := a.store.Get(a.key(p, stageLoad, kindKept))
	if err != nil {
		return 0, nil, err
	}
	r := varint.Read(b)
	for bytes = r.Next(); r.Len() > 0; {
		peers = append(peers, stats.PeerRange{
			Peer: uint32(r.Next()), Comm: uint32(r.Next()), Coll: r.Next() != 0, First: r.Next(), Count: r.Next(), Sends: r.Next(),
		})
	}
	if r.Failed() {
		return 0, nil, errKept
	}
	return bytes, peers, nil
}

// workLeft is the work of each location that this run has to do, in bytes: of a location whose load was kept, the stages
// after it, which take about as long.
func (a *analysis) workLeft() []uint64 {
	k := a.ws.Kept()
	if k == nil || k.Stage() != notMarked {
		return a.size.Weights
	}
	list := slices.Clone(a.size.Weights)
	for p := range list {
		if k.Has(unit(trace.P(p), stageLoad)) {
			list[p] /= 2
		}
	}
	return list
}

// takeOver does what is left to do for a location that an earlier run loaded.
func (a *analysis) takeOver(p trace.P) error {
	bytes, peers, err := a.kept(p)
	if err != nil {
		return err
	}
	if bytes != a.size.Weights[p] {
		return Fail(ExitUsage, fmt.Errorf("the input changed since an earlier run read it: %d bytes, were %d. Give -f without --resume to start afresh",
			a.size.Weights[p], bytes))
	}
	b, err := a.store.Get(a.key(p, stageLoad, kindLoaded))
	if err != nil {
		return err
	}
	loaded, err := a.tables.Parse(b)
	if err != nil {
		return err
	}
	if !a.o.GraphOnly {
		var from [3]*xtfwriter.Segment
		for i, kind := range []uint32{kindEntries, kindLate, kindStays} {
			if from[i], err = a.store.Segment(a.key(p, stageLoad, kind)); err != nil {
				return err
			}
		}
		loaded.Peers = peers
		a.addUnit(loaded, from[0], from[1], from[2])
	}
	a.noteLoaded(loaded)
	a.meter.Add(bytes)
	return nil
}

// noteLoaded adds a location to the tables of the rank.
func (a *analysis) noteLoaded(l *stats.Loaded) {
	a.tables.EachCall(&l.Bins, a.cuts.Add)
	a.counts.Add(a.tables, &l.Bins)
	a.events = append(a.events, l.Totals.Events)
	a.last = max(a.last, l.Totals.Last)
}

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

// Beside its segments, the load of a location leaves something in tables of its rank: results of sends that complete
// late, and what Match has to know. A run that takes the location over gets it from two segments.

// lateRows passes results on and keeps them with the location.
type lateRows struct {
	adder
	kept *xtfwriter.Segment
}

func (l lateRows) Add(row []byte) error {
	if _, err := l.kept.Append(row); err != nil {
		return err
	}
	return l.adder.Add(row)
}

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
// behind it, which take about as long.
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
		if err := a.takeLate(p); err != nil {
			return err
		}
		sorted, err := a.store.Segment(a.key(p, stageLoad, kindEntries))
		if err != nil {
			return err
		}
		stays, err := a.store.Segment(a.key(p, stageLoad, kindStays))
		if err != nil {
			return err
		}
		a.units = append(a.units, stats.Unit{P: p, Peers: peers, Sorted: sorted, Stays: stays})
	}
	a.noteLoaded(loaded)
	a.meter.Add(bytes)
	return nil
}

// takeLate passes the late results of a location on.
func (a *analysis) takeLate(p trace.P) error {
	s, err := a.store.Segment(a.key(p, stageLoad, kindLate))
	if err != nil {
		return err
	}
	buf := make([]byte, 1024*stats.ResultBytes)
	for at := int64(0); at < s.Size(); {
		b := buf[:min(int64(len(buf)), s.Size()-at)]
		if _, err := s.ReadAt(b, at); err != nil {
			return err
		}
		at += int64(len(b))
		for ; len(b) >= stats.ResultBytes; b = b[stats.ResultBytes:] {
			a.results.Add(b[:stats.ResultBytes])
		}
	}
	return nil
}

// noteLoaded adds a location to the tables of the rank.
func (a *analysis) noteLoaded(l *stats.Loaded) {
	a.counts.Add(a.tables, &l.Bins)
	a.events = append(a.events, l.Totals.Events)
	a.last = max(a.last, l.Totals.Last)
}

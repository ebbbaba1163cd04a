package stats

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
)

// AppendBinary appends l, without its peers, as variable-length integers: the
// totals, the regions that were called, their bins,
// the longest calls, the diagnostics.
func (l *Loaded) AppendBinary(b []byte) []byte {
	b = varint.Append(b, uint64(l.P), l.Bytes, l.P2PRows, l.CollRows, l.Totals.First, l.Totals.Last, l.Totals.Events, uint64(len(l.Peers)))
	for i := range l.Peers {
		x := &l.Peers[i]
		is := uint64(0)
		if x.Coll {
			is = 1
		}
		if x.Locks {
			is |= 2
		}
		b = varint.Append(b, uint64(x.Peer), uint64(x.Comm), is, x.At, x.Count, x.Sends)
	}
	called := uint64(0)
	for i := range l.Profile {
		if l.Profile[i].Calls > 0 {
			called++
		}
	}
	b = binary.AppendUvarint(b, uint64(len(l.Profile)))
	b = binary.AppendUvarint(b, called)
	for i := range l.Profile {
		if p := &l.Profile[i]; p.Calls > 0 {
			b = varint.Append(b, uint64(i), p.Calls, p.Inclusive, p.Exclusive, p.Bytes)
		}
	}
	return appendDiagnostics(appendLong(l.Bins.AppendBinary(b), l.Long), &l.Diagnostics)
}

func appendDiagnostics(b []byte, ds *trace.Diagnostics) []byte {
	b = binary.AppendUvarint(b, uint64(len(ds.Codes)))
	for i := range ds.Codes {
		c := &ds.Codes[i]
		b = varint.Append(b, uint64(c.Code), c.Count, c.Worst, uint64(len(c.First)))
		for _, d := range c.First {
			b = varint.Append(b, uint64(d.Time), d.Event, d.Count, d.Worst, uint64(len(d.Detail)))
			b = append(b, d.Detail...)
		}
	}
	return b
}

// Parse reads what AppendBinary wrote about a location of this trace.
func (t *Tables) Parse(b []byte) (*Loaded, error) {
	r := reader{varint.Read(b)}
	l := &Loaded{P: trace.P(r.Next()), Bytes: r.Next(), P2PRows: r.Next(), CollRows: r.Next()}
	l.Totals = Totals{First: r.Next(), Last: r.Next(), Events: r.Next()}
	for n := r.Next(); n > 0 && !r.Failed(); n-- {
		x := match.PeerRange{Peer: uint32(r.Next()), Comm: uint32(r.Next())}
		is := r.Next()
		x.Coll, x.Locks, x.At, x.Count, x.Sends = is&1 != 0, is&2 != 0, r.Next(), r.Next(), r.Next()
		l.Peers = append(l.Peers, x)
	}
	regions, called := r.Next(), r.Next()
	if regions != uint64(len(t.class)) || called > regions {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, errSummary)
	}
	l.Profile = make([]RegionProfile, regions)
	for range called {
		i := r.Next()
		p := RegionProfile{Calls: r.Next(), Inclusive: r.Next(), Exclusive: r.Next(), Bytes: r.Next()}
		if i >= regions {
			r.Fail()
			break
		}
		l.Profile[i] = p
	}
	var err error
	if l.Bins, err = r.bins(len(t.class)); err != nil {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, err)
	}
	if l.Long, err = r.long(); err != nil {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, err)
	}
	r.diagnostics(&l.Diagnostics)
	if r.Failed() {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, errSummary)
	}
	return l, nil
}

// reader takes what this package packs.
type reader struct{ varint.Reader }

func (r *reader) diagnostics(ds *trace.Diagnostics) {
	for n := r.Next(); n > 0 && !r.Failed(); n-- {
		c := trace.CodeDiagnostics{Code: trace.Code(r.Next()), Count: r.Next(), Worst: r.Next()}
		for k := r.Next(); k > 0 && !r.Failed(); k-- {
			d := trace.Diagnostic{Code: c.Code, Time: trace.Time(r.Next()), Event: r.Next(), Count: r.Next(), Worst: r.Next()}
			d.Detail = r.Text()
			c.First = append(c.First, d)
		}
		ds.Codes = append(ds.Codes, c)
	}
}

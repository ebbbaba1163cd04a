package stats

import (
	"encoding/binary"
	"fmt"

	"github.com/coppice-hpc/coppice/trace"
)

// AppendBinary appends l, without its peers, as variable-length integers: the
// totals, the regions that were called, their bins,
// the longest calls, the diagnostics.
func (l *Loaded) AppendBinary(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.P))
	b = binary.AppendUvarint(b, l.P2PRows)
	b = binary.AppendUvarint(b, l.CollRows)
	for _, w := range l.Totals.words() {
		b = binary.AppendUvarint(b, *w)
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
			for _, v := range [...]uint64{uint64(i), p.Calls, p.Inclusive, p.Exclusive, p.Bytes} {
				b = binary.AppendUvarint(b, v)
			}
		}
	}
	return appendDiagnostics(appendLong(l.Bins.AppendBinary(b), l.Long), &l.Diagnostics)
}

func appendDiagnostics(b []byte, ds *trace.Diagnostics) []byte {
	b = binary.AppendUvarint(b, uint64(len(ds.Codes)))
	for i := range ds.Codes {
		c := &ds.Codes[i]
		for _, v := range [...]uint64{uint64(c.Code), c.Count, c.Worst, uint64(len(c.First))} {
			b = binary.AppendUvarint(b, v)
		}
		for _, d := range c.First {
			for _, v := range [...]uint64{uint64(d.Time), d.Event, d.Count, d.Worst, uint64(len(d.Detail))} {
				b = binary.AppendUvarint(b, v)
			}
			b = append(b, d.Detail...)
		}
	}
	return b
}

func (t *Totals) words() []*uint64 {
	list := []*uint64{
		&t.First, &t.Last, &t.Events, &t.Calls, &t.Sends, &t.Receives, &t.BytesOut, &t.BytesIn,
		&t.Collectives, &t.CollOut, &t.CollIn,
	}
	for i := range t.Class {
		list = append(list, &t.Class[i])
	}
	return list
}

// Parse reads what AppendBinary wrote about a location of this trace.
func (t *Tables) Parse(b []byte) (*Loaded, error) {
	r := uvarints{b: b}
	l := &Loaded{P: trace.P(r.next()), P2PRows: r.next(), CollRows: r.next()}
	for _, w := range l.Totals.words() {
		*w = r.next()
	}
	regions, called := r.next(), r.next()
	if regions != uint64(len(t.class)) || called > regions {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, errSummary)
	}
	l.Profile = make([]RegionProfile, regions)
	for range called {
		i := r.next()
		p := RegionProfile{Calls: r.next(), Inclusive: r.next(), Exclusive: r.next(), Bytes: r.next()}
		if i >= regions {
			r.bad = true
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
	if r.bad {
		return nil, fmt.Errorf("load result of location %d: %w", l.P, errSummary)
	}
	return l, nil
}

// uvarints reads variable-length integers; bad is set at the first damage.
type uvarints struct {
	b   []byte
	bad bool
}

func (r *uvarints) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *uvarints) text() string {
	n := r.next()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *uvarints) diagnostics(ds *trace.Diagnostics) {
	for n := r.next(); n > 0 && !r.bad; n-- {
		c := trace.CodeDiagnostics{Code: trace.Code(r.next()), Count: r.next(), Worst: r.next()}
		for k := r.next(); k > 0 && !r.bad; k-- {
			d := trace.Diagnostic{Code: c.Code, Time: trace.Time(r.next()), Event: r.next(), Count: r.next(), Worst: r.next()}
			d.Detail = r.text()
			c.First = append(c.First, d)
		}
		ds.Codes = append(ds.Codes, c)
	}
}

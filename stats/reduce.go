package stats

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Summary is the sums over all locations. Its size does not grow with locations or events, only with regions.
type Summary struct {
	Profile []RegionProfile // by region index
	Bins    Bins            // at a level with at most wholeRows rows
	Codes   []CodeTotal     // by ascending code
}

// CodeTotal is the diagnostics of one code of all locations.
type CodeTotal struct {
	Code      trace.Code
	Count     uint64
	Worst     uint64
	Locations uint64 // with that code
}

var errSummary = errors.New("a damaged summary from another rank")

// emptyProfile returns the profile of all regions without a call.
func (t *Tables) emptyProfile() []RegionProfile {
	list := make([]RegionProfile, len(t.class))
	for i := range list {
		list[i].Region = int32(i)
	}
	return list
}

// Summarizer adds up the locations of one rank, in ascending P.
type Summarizer struct {
	t    *Tables
	sum  Summary
	bins *binSum
}

// NewSummarizer prepares the sums of one rank.
func NewSummarizer(t *Tables, levels Levels) *Summarizer {
	return &Summarizer{t: t, bins: newBinSum(t, levels, wholeRows), sum: Summary{Profile: t.emptyProfile()}}
}

// Add takes a finished location.
func (s *Summarizer) Add(f *Finished, l *Loaded) {
	for i := range l.Profile {
		p := &l.Profile[i]
		s.sum.Profile[p.Region].add(p)
	}
	s.bins.add(&l.Bins)
	for i := range f.Diagnostics.Codes {
		c := &f.Diagnostics.Codes[i]
		s.sum.Codes = mergeCodes(s.sum.Codes, []CodeTotal{{c.Code, c.Count, c.Worst, 1}})
	}
}

// Reduce joins the sums of all ranks on rank 0. Collective.
func (s *Summarizer) Reduce(c mpi.Comm) (*Summary, error) {
	s.sum.Bins = s.bins.bins
	sum, err := mpi.TreeReduce(c, &s.sum, nil, (*Summary).encode, s.decode, s.merge)
	if err != nil {
		return nil, fmt.Errorf("reduce: %w", err)
	}
	return sum, nil
}

func (p *RegionProfile) add(o *RegionProfile) {
	p.Calls += o.Calls
	p.Inclusive += o.Inclusive
	p.Exclusive += o.Exclusive
	p.Bytes += o.Bytes
}

func mergeCodes(a, b []CodeTotal) []CodeTotal {
	return totals.Union(a, b, func(x, y *CodeTotal) int { return cmp.Compare(x.Code, y.Code) }, func(x, y *CodeTotal) {
		x.Count, x.Worst, x.Locations = x.Count+y.Count, max(x.Worst, y.Worst), x.Locations+y.Locations
	})
}

// merge joins b into a, with its bins in s.
func (s *Summarizer) merge(a, b *Summary) (*Summary, error) {
	for i := range a.Profile {
		a.Profile[i].add(&b.Profile[i])
	}
	a.Codes = mergeCodes(a.Codes, b.Codes)
	s.bins.add(&b.Bins)
	a.Bins = s.bins.bins
	return a, nil
}

// words returns the numbers of the profile in the order of the encoding, in which bins and codes follow.
func (s *Summary) words() []*uint64 {
	var list []*uint64
	for i := range s.Profile {
		p := &s.Profile[i]
		list = append(list, &p.Calls, &p.Inclusive, &p.Exclusive, &p.Bytes)
	}
	return list
}

func (s *Summary) encode() ([]byte, error) {
	var b []byte
	for _, w := range s.words() {
		b = binary.AppendUvarint(b, *w)
	}
	b = s.Bins.AppendBinary(b)
	for _, c := range s.Codes {
		b = varint.Append(b, uint64(c.Code), c.Count, c.Worst, c.Locations)
	}
	return b, nil
}

func (s *Summarizer) decode(b []byte) (*Summary, error) {
	sum := &Summary{Profile: s.t.emptyProfile()}
	r := reader{varint.Read(b)}
	for _, w := range sum.words() {
		*w = r.Next()
	}
	var err error
	if sum.Bins, err = r.bins(len(s.t.class)); err != nil {
		return nil, err
	}
	for r.Len() > 0 {
		sum.Codes = append(sum.Codes, CodeTotal{trace.Code(r.Next()), r.Next(), r.Next(), r.Next()})
	}
	if r.Failed() || sum.Bins.Level > s.bins.top {
		return nil, errSummary
	}
	return sum, nil
}

// AddProblems adds diagnostics that are not of locations, for example of the definitions.
func (s *Summary) AddProblems(ds *trace.Diagnostics) {
	for i := range ds.Codes {
		c := &ds.Codes[i]
		s.Codes = mergeCodes(s.Codes, []CodeTotal{{Code: c.Code, Count: c.Count, Worst: c.Worst}})
	}
}

// Partial reports whether data were missing or damaged.
func (s *Summary) Partial() bool {
	for _, c := range s.Codes {
		if c.Code.Severity() == trace.Damage {
			return true
		}
	}
	return false
}

// Write writes the TIMEBIN and DIAG rows of the run. last is the run's last event. The caller finishes the arrays.
func (s *Summary) Write(t *Tables, top uint8, last uint64, bins, diagnostics *xtf.ArrayBuilder) {
	writePyramid(t, &s.Bins, s.Profile, top, make([]int32, len(t.class)), bins)
	for _, c := range s.Codes {
		row, _ := diagnostics.Append()
		d := xtf.Diag{
			T: last, Event: c.Locations, Count: c.Count, Worst: c.Worst,
			Code: uint32(c.Code), Severity: uint32(c.Code.Severity()), Detail: xtf.DiagTotal,
		}
		d.Put(row)
	}
}

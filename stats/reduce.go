package stats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Summary is the results about all locations. Its size grows with the number of
// regions, not with locations or events: bins are at most wholeRows rows.
type Summary struct {
	Processes uint64          // that have events
	Profile   []RegionProfile // by region index, summed over locations
	Bins      Bins            // the same, at a level with at most wholeRows rows
	Items     [xtf.NumItems]Spread
	Codes     []CodeTotal // by ascending code
}

// Spread is the distribution of one item over the processes.
type Spread struct {
	Sum        [2]uint64 // 128 bits, low word first
	Squares    [3]uint64 // 192 bits
	Min, Max   uint64
	MinP, MaxP uint32 // the lowest process that attains it
}

// CodeTotal is what all locations found of one kind of problem.
type CodeTotal struct {
	Code      trace.Code
	Count     uint64
	Worst     uint64
	Locations uint64
}

var errSummary = errors.New("a damaged summary from another rank")

// add puts the value of a process into s; processes come in ascending order.
func (s *Spread) add(v uint64, process uint32, first bool) {
	var c uint64
	s.Sum[0], c = bits.Add64(s.Sum[0], v, 0)
	s.Sum[1] += c
	hi, lo := bits.Mul64(v, v)
	s.Squares[0], c = bits.Add64(s.Squares[0], lo, 0)
	s.Squares[1], c = bits.Add64(s.Squares[1], hi, c)
	s.Squares[2] += c
	if first || v < s.Min {
		s.Min, s.MinP = v, process
	}
	if first || v > s.Max {
		s.Max, s.MaxP = v, process
	}
}

// merge joins the distribution over higher processes into s.
func (s *Spread) merge(o *Spread) {
	var c uint64
	s.Sum[0], c = bits.Add64(s.Sum[0], o.Sum[0], 0)
	s.Sum[1], _ = bits.Add64(s.Sum[1], o.Sum[1], c)
	s.Squares[0], c = bits.Add64(s.Squares[0], o.Squares[0], 0)
	s.Squares[1], c = bits.Add64(s.Squares[1], o.Squares[1], c)
	s.Squares[2] += o.Squares[2] + c
	if o.Min < s.Min {
		s.Min, s.MinP = o.Min, o.MinP
	}
	if o.Max > s.Max {
		s.Max, s.MaxP = o.Max, o.MaxP
	}
}

// Summarizer adds up the locations of one rank, in ascending P.
type Summarizer struct {
	t       *Tables
	homes   homes
	sum     Summary
	bins    *binSum
	away    *Vector // of the rank's first process, if another rank is its home
	open    *Vector // of the newest process at home here
	process uint32  // the one of open
}

// NewSummarizer prepares the sums of one rank.
func NewSummarizer(t *Tables, ranges []partition.Range, rank int, levels Levels) *Summarizer {
	return &Summarizer{
		t: t, homes: newHomes(t.Defs, ranges, rank), bins: newBinSum(t, levels, wholeRows),
		sum: Summary{Profile: make([]RegionProfile, len(t.class))},
	}
}

// Add takes a finished location. Metric recorders add events, but no times.
func (s *Summarizer) Add(f *Finished, l *Loaded) {
	for i := range l.Profile {
		s.sum.Profile[i].add(&l.Profile[i])
	}
	s.bins.add(&l.Bins)
	for i := range f.Diagnostics.Codes {
		c := &f.Diagnostics.Codes[i]
		s.sum.Codes = mergeCodes(s.sum.Codes, []CodeTotal{{c.Code, c.Count, c.Worst, 1}})
	}
	v := f.Vector
	if s.t.Defs.Location(f.P).Type == trace.MetricLocation {
		v = Vector{xtf.ItemEvents: v[xtf.ItemEvents], xtf.ItemFirst: noTime}
	}
	process, _ := s.t.Defs.Process(f.P)
	switch {
	case !s.homes.here(process):
		s.away = joined(s.away, &v)
	case s.open != nil && s.process == process:
		s.open.combine(&v)
	default:
		s.close()
		s.open, s.process = &v, process
	}
}

func joined(v, o *Vector) *Vector {
	if v == nil {
		return o
	}
	v.combine(o)
	return v
}

// close puts the newest process into the sums, if it has events.
func (s *Summarizer) close() {
	if s.open == nil {
		return
	}
	if s.open[xtf.ItemEvents] == 0 { // takes no part in the run
		s.open = nil
		return
	}
	for i, x := range s.open.normal() {
		s.sum.Items[i].add(x, s.process, s.sum.Processes == 0)
	}
	s.sum.Processes++
	s.open = nil
}

// Reduce joins the sums of all ranks; the result is on rank 0. Collective.
func (s *Summarizer) Reduce(c mpi.Comm) (*Summary, error) {
	err := s.joinSplit(c)
	if err = c.Agree(err); err != nil {
		return nil, fmt.Errorf("reduce: %w", err)
	}
	s.close()
	sum, err := mpi.TreeReduce(c, &s.sum, (*Summary).encode, s.decode, mergeSummaries)
	if err != nil {
		return nil, fmt.Errorf("reduce: %w", err)
	}
	bins, err := s.bins.reduce(c)
	if err != nil {
		return nil, fmt.Errorf("reduce: bins of time: %w", err)
	}
	if sum != nil {
		sum.Bins = bins
	}
	return sum, nil
}

// joinSplit brings the parts of processes spread over ranks to their homes.
func (s *Summarizer) joinSplit(c mpi.Comm) error {
	if to, away := s.homes.away(); away {
		v := Vector{xtf.ItemFirst: noTime}
		if s.away != nil {
			v = *s.away
		}
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		if err := c.Send(b, to, tagVector); err != nil {
			return err
		}
	}
	for _, r := range s.homes.sharers() {
		b, _, err := c.Recv(r, tagVector)
		if err != nil {
			return err
		}
		if len(b) != 8*int(xtf.NumItems) || s.open == nil {
			return errSummary
		}
		var v Vector
		for i := range v {
			v[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		s.open.combine(&v)
	}
	return nil
}

func (p *RegionProfile) add(o *RegionProfile) {
	p.Calls += o.Calls
	p.Inclusive += o.Inclusive
	p.Exclusive += o.Exclusive
	p.Bytes += o.Bytes
}

func mergeCodes(a, b []CodeTotal) []CodeTotal {
	out := make([]CodeTotal, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Code < b[0].Code:
			out, a = append(out, a[0]), a[1:]
		case a[0].Code > b[0].Code:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, CodeTotal{a[0].Code, a[0].Count + b[0].Count, max(a[0].Worst, b[0].Worst), a[0].Locations + b[0].Locations})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// mergeSummaries joins b, about higher processes, into a.
func mergeSummaries(a, b *Summary) (*Summary, error) {
	switch {
	case b.Processes == 0:
	case a.Processes == 0:
		a.Items = b.Items
	default:
		for i := range a.Items {
			a.Items[i].merge(&b.Items[i])
		}
	}
	a.Processes += b.Processes
	for i := range a.Profile {
		a.Profile[i].add(&b.Profile[i])
	}
	a.Codes = mergeCodes(a.Codes, b.Codes)
	return a, nil
}

// words lists the numbers of s in the order of its encoding; the codes follow.
func (s *Summary) words() []*uint64 {
	list := []*uint64{&s.Processes}
	for i := range s.Items {
		x := &s.Items[i]
		list = append(list, &x.Sum[0], &x.Sum[1], &x.Squares[0], &x.Squares[1], &x.Squares[2], &x.Min, &x.Max)
	}
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
	for i := range s.Items {
		b = binary.AppendUvarint(b, uint64(s.Items[i].MinP))
		b = binary.AppendUvarint(b, uint64(s.Items[i].MaxP))
	}
	for _, c := range s.Codes {
		for _, v := range [...]uint64{uint64(c.Code), c.Count, c.Worst, c.Locations} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b, nil
}

func (s *Summarizer) decode(b []byte) (*Summary, error) {
	sum := &Summary{Profile: make([]RegionProfile, len(s.t.class))}
	r := uvarints{b: b}
	for _, w := range sum.words() {
		*w = r.next()
	}
	for i := range sum.Items {
		sum.Items[i].MinP, sum.Items[i].MaxP = uint32(r.next()), uint32(r.next())
	}
	for len(r.b) > 0 {
		sum.Codes = append(sum.Codes, CodeTotal{trace.Code(r.next()), r.next(), r.next(), r.next()})
	}
	if r.bad {
		return nil, errSummary
	}
	return sum, nil
}

// SummaryOutputs is where the whole-run rows go. The caller finishes the arrays.
type SummaryOutputs struct {
	Intervals, Stats, TimeBins, Diagnostics *xtf.ArrayBuilder

	Unmatched bool // messages and collectives were not matched: what needs partners is left out
}

// AddProblems adds what was found outside the locations, for example in the
// definitions.
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

// Write writes the rows of the whole-run region.
func (s *Summary) Write(t *Tables, top uint8, out SummaryOutputs) {
	row, _ := out.Intervals.Append()
	x := xtf.Interval{
		Key: 0, Parent: trace.Undefined, Name: trace.Undefined, File: trace.Undefined, ExeMax: 1, ExeMin: 1,
		Participants: uint32(s.Processes), FirstBegin: s.Items[xtf.ItemFirst].Min, LastEnd: s.Items[xtf.ItemLast].Max, SumMax: s.Items[xtf.ItemTime].Max,
	}
	x.Put(row)
	for i := range s.Items {
		it := &s.Items[i]
		if out.Unmatched && xtf.Item(i).NeedsPartners() || xtf.Item(i) > xtf.ItemLast && it.Max == 0 {
			continue
		}
		row, _ := out.Stats.Append()
		st := xtf.Stat{
			Key: xtf.NodeKey(0, uint32(i)), Sum0: it.Sum[0], Sum1: it.Sum[1], Square0: it.Squares[0], Square1: it.Squares[1], Square2: it.Squares[2],
			Min: it.Min, Max: it.Max, MinP: it.MinP, MaxP: it.MaxP,
		}
		st.Put(row)
	}
	writePyramid(t, &s.Bins, s.Profile, top, out.TimeBins)
	for _, c := range s.Codes {
		row, _ := out.Diagnostics.Append()
		d := xtf.Diag{
			T: s.Items[xtf.ItemLast].Max, Event: c.Locations, Count: c.Count, Worst: c.Worst,
			Code: uint32(c.Code), Severity: uint32(c.Code.Severity()), Detail: xtf.DiagTotal,
		}
		d.Put(row)
	}
}

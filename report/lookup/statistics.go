package lookup

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Statistics is what chosen processes did in a span of time, from the indexes of their rows. The cost does not depend on the
// length of the span, nor, except for the height of the index, on the number of rows.
type Statistics struct {
	Ranks     string          `json:"ranks"`
	Begin     uint64          `json:"begin"` // ticks
	End       uint64          `json:"end"`
	Processes uint64          `json:"processes"` // with events in the span
	Items     results.Spreads `json:"items"`     // exact: differences of running totals
	Functions []Function      `json:"functions"` // by falling upper bound of exclusive time
	Exact     bool            `json:"exact"`     // Functions are exact too
	PageReads uint64          `json:"page_reads"`
	Overhead  numbers.Sum     `json:"overhead_as_cpu,omitzero"` // ticks of the whole run, see OverheadAsCPU
	Lost      []table.Lost    `json:"lost,omitempty"`
}

// Function is what a region did in the span. The lower bounds come from whole time bins; the upper ones add what the two bins
// that the borders cut can hold.
type Function struct {
	Region    uint32 `json:"region"`
	Name      string `json:"name"`
	Calls     Limits `json:"calls"` // that begin in the span
	Inclusive Limits `json:"inclusive"`
	Exclusive Limits `json:"exclusive"`
	Bytes     Limits `json:"bytes"`
	order     int
}

// Limits are bounds of a number. If they are equal, the number is exact, and plain in JSON.
type Limits struct{ Lower, Upper uint64 }

// MarshalJSON writes a number, or an object with the bounds.
func (l Limits) MarshalJSON() ([]byte, error) {
	if l.Lower == l.Upper {
		return strconv.AppendUint(nil, l.Lower, 10), nil
	}
	return fmt.Appendf(nil, `{"lower":%d,"upper":%d}`, l.Lower, l.Upper), nil
}

// NewStatistics reads the statistics of a span. With exact it also reads the rows of calls in the time bins that the borders cut.
func NewStatistics(r *results.Run, ranks results.Ranks, begin, end uint64, exact bool) (*Statistics, error) {
	if begin > end {
		return nil, fmt.Errorf("from tick %d to %d: %w", begin, end, ErrSpan)
	}
	x := &Statistics{Ranks: ranks.String(), Begin: begin, End: end, Exact: exact}
	s := &results.Survey{Run: r, Nodes: make([]results.Node, 1)}
	var sum results.Gathered
	var err error
	x.Lost, err = s.EachWindow(&results.SurveyOptions{Ranks: ranks, Span: &results.Span{Begin: begin, End: end}, Section: "window"}, func(p *results.ProcessItems) {
		if p.Took(0) {
			delete(p.Values, xtf.NodeKey(0, uint32(xtf.ItemExecutions)))
			sum.Add(p, 0)
		}
	})
	if err != nil {
		return nil, err
	}
	x.Processes, x.Items = sum.Count, sum.Spreads()
	f := NewFunctions(r, begin, end)
	lost, err := r.EachLocation(ranks, "window", func(p trace.P) error { return f.Add(xtf.Proc(p), exact, &s.Cost) })
	if err != nil {
		return nil, err
	}
	x.Lost = append(x.Lost, lost...)
	x.Functions, x.PageReads = f.Lines(), s.Cost.PageReads
	x.Overhead, err = OverheadAsCPU(r)
	return x, err
}

// Functions gathers what regions did in a span of time, location by location: bounds by region, in the order of the definitions.
// The last element is all regions without a definition. It belongs to one goroutine. Memory: 128 bytes a region.
type Functions struct {
	r          *results.Run
	begin, end uint64
	lower      [][4]uint64 // calls, inclusive, exclusive, bytes
	upper      [][4]uint64
}

// NewFunctions begins without sums.
func NewFunctions(r *results.Run, begin, end uint64) *Functions {
	n := len(r.Defs.Regions) + 1
	return &Functions{r: r, begin: begin, end: end, lower: make([][4]uint64, n), upper: make([][4]uint64, n)}
}

// Join adds what o gathered of other locations.
func (f *Functions) Join(o *Functions) {
	for i := range o.lower {
		for k := range o.lower[i] {
			f.lower[i][k] += o.lower[i][k]
			f.upper[i][k] += o.upper[i][k]
		}
	}
}

// Add adds the time bins of location p, or those of the whole run: whole bins, at most three of each level on either side, and
// the two bins that the borders cut. With exact it reads the calls of a location in these two. A span around all events takes a
// single bin, the widest, and is exact.
func (f *Functions) Add(p xtf.Proc, exact bool, st *xtf.Stats) error {
	a, err := f.r.File.Array(p, xtf.TypeTimeBin)
	if err != nil {
		return err
	}
	a = a.Counted(st)
	bins, err := a.Pyramid(0)
	if err != nil || a.Len() == 0 || f.begin >= f.end {
		return err
	}
	if all, err := f.around(p, st); err != nil {
		return err
	} else if all {
		return f.takeBins(a, bins, bins.Top, 0, 0)
	}
	first, last := f.begin>>(2*bins.Finest), (f.end-1)>>(2*bins.Finest)
	if f.begin&(1<<(2*bins.Finest)-1) != 0 || first == last && !f.fills(bins.Finest, first) {
		if err := f.cut(a, bins, p, first, exact, st); err != nil {
			return err
		}
		first++
	}
	if first <= last && !f.fills(bins.Finest, last) {
		if err := f.cut(a, bins, p, last, exact, st); err != nil {
			return err
		}
		if last == 0 {
			return nil
		}
		last--
	}
	return f.whole(a, bins, first, last)
}

// around reports whether all events of location p, or of the run, lie in the span.
func (f *Functions) around(p xtf.Proc, st *xtf.Stats) (bool, error) {
	if p == xtf.WholeRun {
		s, err := f.r.NodeStats(0, 1)
		first, last := s.Item(xtf.ItemFirst), s.Item(xtf.ItemLast)
		return f.begin <= first.Min && f.end > last.Max, err
	}
	first, err := f.r.Component(trace.P(p), xtf.ItemFirst, st)
	if err != nil {
		return false, err
	}
	last, err := f.r.Component(trace.P(p), xtf.ItemLast, st)
	return f.begin <= first && f.end > last, err
}

// fills reports whether a bin lies in the span as a whole.
func (f *Functions) fills(level uint8, bin uint64) bool {
	first, last := xtf.BinSpan(xtf.BinKey(level, bin))
	return f.begin <= first && last < f.end
}

// whole adds the bins from first to last of the finest level, using as few and as wide bins as possible.
func (f *Functions) whole(a *xtf.Array, bins *xtf.Pyramid, first, last uint64) error {
	for level := bins.Finest; first <= last; level++ {
		from, to := first, last
		if level < bins.Top { // bins that the next level cannot cover
			from, to = min((first+3)&^3, last+1), (last+1)&^3
		}
		if level == bins.Top || from >= to {
			return f.takeBins(a, bins, level, first, last)
		}
		if from > first {
			if err := f.takeBins(a, bins, level, first, from-1); err != nil {
				return err
			}
		}
		if to <= last {
			if err := f.takeBins(a, bins, level, to, last); err != nil {
				return err
			}
		}
		first, last = from/4, to/4-1
	}
	return nil
}

// takeBins adds the rows of some bins to both bounds.
func (f *Functions) takeBins(a *xtf.Array, bins *xtf.Pyramid, level uint8, first, last uint64) error {
	return f.bins(a, bins, level, first, last, func(i int, v [4]uint64) {
		for k := range v {
			f.lower[i][k] += v[k]
			f.upper[i][k] += v[k]
		}
	})
}

func (f *Functions) bins(a *xtf.Array, bins *xtf.Pyramid, level uint8, first, last uint64, take func(i int, v [4]uint64)) error {
	t1, _ := xtf.BinSpan(xtf.BinKey(level, first))
	_, t2 := xtf.BinSpan(xtf.BinKey(level, last))
	n1, n2, err := bins.Find(level, t1, max(t2, t2+1))
	if err != nil {
		return err
	}
	return a.Each(n1, n2, func(_ uint64, row []byte) bool {
		var x xtf.TimeBin
		x.Load(row)
		i, _ := f.r.Defs.SameRegion(x.Region)
		take(i, [4]uint64{x.Count, x.Inclusive, x.Exclusive, x.Bytes})
		return true
	})
}

// cut adds a bin that a border of the span cuts. It adds to the upper bounds what the part inside can hold, or exact sums from
// the calls there.
func (f *Functions) cut(a *xtf.Array, bins *xtf.Pyramid, p xtf.Proc, bin uint64, exact bool, st *xtf.Stats) error {
	t1, t2 := xtf.BinSpan(xtf.BinKey(bins.Finest, bin))
	begin, end := max(t1, f.begin), min(max(t2, t2+1), f.end)
	most := end - begin
	if p == xtf.WholeRun {
		most *= uint64(f.r.Defs.NumLocations())
	}
	err := f.bins(a, bins, bins.Finest, bin, bin, func(i int, v [4]uint64) {
		if exact {
			f.upper[i][3] += v[3]
			return
		}
		v[1], v[2] = min(v[1], most), min(v[2], most)
		for k := range v {
			f.upper[i][k] += v[k]
		}
	})
	if err != nil || !exact {
		return err
	}
	return f.calls(p, begin, end, st)
}

// calls adds what the calls of location p did in [begin, end), from their rows.
func (f *Functions) calls(p xtf.Proc, begin, end uint64, st *xtf.Stats) error {
	a, err := f.r.File.Array(p, xtf.TypeCall)
	if err != nil {
		return err
	}
	own := map[uint64]uint64{}  // exclusive ticks of calls by row
	regions := map[uint64]int{} // of the same
	covered := map[int]uint64{} // until when the calls of a region were counted
	var order []uint64
	err = a.Counted(st).Overlapping(begin, end, func(n uint64, row []byte) bool {
		var x xtf.Call
		x.Load(row)
		i, _ := f.r.Defs.SameRegion(x.Region)
		from, to := max(x.T, begin), min(x.End, end)
		span := results.Inside(x.T, x.End, begin, end)
		own[n], regions[n] = span, i
		order = append(order, n)
		if x.Parent < n {
			own[x.Parent] -= min(span, own[x.Parent])
		}
		if x.T >= begin && x.T < end {
			f.both(i, 0, 1)
		}
		// calls come in the order of their begin: of nested ones of a region the outermost counts
		if at := max(from, covered[i]); to > at {
			f.both(i, 1, to-at)
			covered[i] = to
		}
		return true
	})
	for _, n := range order {
		f.both(regions[n], 2, own[n])
	}
	if err != nil {
		return err
	}
	return f.instants(a.Counted(st), begin)
}

// instants counts the calls that begin and end at the first tick of the span, which have no part in it.
func (f *Functions) instants(a *xtf.Array, begin uint64) error {
	n1, err := a.Rank(begin)
	if err != nil {
		return err
	}
	n2, err := a.RankAfter(begin)
	if err != nil {
		return err
	}
	return results.EachRow(a, n1, n2, func(x *xtf.Call) {
		if x.End <= begin {
			i, _ := f.r.Defs.SameRegion(x.Region)
			f.both(i, 0, 1)
		}
	})
}

func (f *Functions) both(i, k int, v uint64) {
	f.lower[i][k] += v
	f.upper[i][k] += v
}

// Lines returns the regions that did something, by falling upper bound of exclusive time.
func (f *Functions) Lines() []Function {
	list := []Function{}
	for i := range f.upper {
		if f.upper[i] == [4]uint64{} {
			continue
		}
		x := Function{Region: trace.Undefined, Name: "(undefined region)", order: i}
		if i < len(f.r.Defs.Regions) {
			x.Region = f.r.Defs.Regions[i].Ref
			x.Name = f.r.RegionName(x.Region)
		}
		for k, l := range []*Limits{&x.Calls, &x.Inclusive, &x.Exclusive, &x.Bytes} {
			*l = Limits{f.lower[i][k], f.upper[i][k]}
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Exclusive.Upper, a.Exclusive.Upper), cmp.Compare(a.order, b.order))
	})
	return list
}

// WriteText prints the items, then the functions.
func (x *Statistics) WriteText(out io.Writer, u numbers.Units, limit int) error {
	return table.WriteText(u, out, limit, x.Lost, func(c *table.Chapter) {
		c.Say("%s to %s, %s", u.Time(x.Begin), u.Time(x.End), numbers.Plural(int(x.Processes), "process"))
		c.Table(results.SpreadTable((&table.Book{Unit: u}), "component", "", x.Items, results.ComponentsOf(x.Items), numbers.NotKnown, xtf.Item.String))
		t := &table.Table{Columns: []table.Column{table.Words("region", ""), table.Ints("calls", ""), table.Ints(table.Of(u, "exclusive"), ""), table.Ints(table.Of(u, "inclusive"), ""), table.Ints("bytes", "")}}
		table.Fill(t, "region", x.Functions, func(f *Function) []table.Cell {
			return []table.Cell{table.Word(numbers.Clean(f.Name, 48)), f.Calls.cell(numbers.Count), f.Exclusive.cell(u.Ticks), f.Inclusive.cell(u.Ticks), f.Bytes.cell(numbers.Count)}
		})
		c.Table(t)
		if note := NoteOverhead(x.Overhead, u); note != "" {
			c.Say("%s", note)
		}
		if !x.Exact {
			c.Say("regions: at least .. at most; --exact reads the calls at the borders")
		}
	})
}

// cell prints the bounds, or the exact number.
func (l Limits) cell(number func(uint64) string) table.Cell {
	if l.Lower == l.Upper {
		return table.Word(number(l.Lower))
	}
	return table.Word(number(l.Lower) + " .. " + number(l.Upper))
}

// OverheadAsCPU is the measurement overhead of the whole run that comes from records and not from calls. Its times are not known,
// so statistics of a span count it as CPU time. NoteOverhead says so.
func OverheadAsCPU(r *results.Run) (numbers.Sum, error) {
	s, err := r.Survey(results.SurveyOptions{})
	if err != nil || s.Measured[0].Sum(xtf.ItemOverhead) <= 0 {
		return 0, err
	}
	p, _, err := results.NewProfile(r, results.Ranks{}, results.SourceAuto)
	if err != nil {
		return 0, err
	}
	left := s.Measured[0].Sum(xtf.ItemOverhead)
	for i := range p.Regions {
		if p.Regions[i].Class == trace.StateOverhead.String() {
			left = numbers.Sub(left, numbers.Integer(p.Regions[i].Exclusive))
		}
	}
	return max(left, 0), nil
}

// NoteOverhead is a note about such overhead in statistics of a span, "" if there is none.
func NoteOverhead(ticks numbers.Sum, u numbers.Units) string {
	if ticks <= 0 {
		return ""
	}
	return fmt.Sprintf("CPU time has measurement overhead as well, flushes and while the measurement was off: of the whole run %s %s, all processes together", u.Big(ticks), u.Name())
}

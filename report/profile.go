package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// profileChapter lists the regions by falling exclusive time.
func profileChapter(p *results.Profile, d *Document, b *table.Book, c *table.Chapter) {
	u := b.Unit
	of := numbers.Plural(p.Processes, "process")
	if p.Ranks != "all" {
		of += " (ranks " + p.Ranks + ")"
	}
	c.Title = fmt.Sprintf("profile of %s, %s %s", of, u.Ticks(p.Time), u.Name())
	noteGraph(c, p.Source, p.Bound)
	var sum results.Sampling
	for i := range p.Regions {
		sum.Add(p.Regions[i].Samples, p.Regions[i].Estimated)
	}
	sum.Note(c, d.run)
	t := &table.Table{Title: "Regions by exclusive time, all processes together", Columns: append([]table.Column{
		table.Words("region", "name"), table.Ints("", "region").Hidden(), table.Words("", "file").Hidden(), table.Ints("", "line").Hidden(), table.Ints("calls", "calls"), table.Ints(table.Of(u, "exclusive"), "exclusive"), table.Reals("share", "share"),
		table.Ints(table.Of(u, "inclusive"), "inclusive"), table.Reals(u.PerCallName(), ""), table.Reals("mean", "mean"), table.Ints("max", "max"), table.Ranks("rank", "max_rank"), table.Reals("max/mean", ""), table.Ints("ranks", "processes"),
		table.Ints("bytes", "bytes"), table.Words("class", "class"), table.Ints("exclusive ±", "exclusive_deviation"), table.Ints("inclusive ±", "inclusive_deviation"),
	}, sum.Columns()...)}
	table.Fill(t, "region", p.Nested(), func(x *results.RegionTime) []table.Cell {
		mean := x.Mean(p.Processes)
		uneven := numbers.Ratio{}
		if mean.Defined && mean.Value > 0 {
			uneven = numbers.Ratio{Value: float64(x.Max[0]) / mean.Value, Defined: true}
		}
		bytes := table.Size(x.Bytes)
		if x.Bytes == 0 {
			bytes.Text = ""
		}
		return append([]table.Cell{
			d.nested(x), table.PlainNumber(x.Region), table.Word(x.File), table.PlainNumber(x.Line), x.Recorded(), table.Time(u, x.Exclusive), table.Share(x.Share),
			table.Time(u, x.Inclusive), table.Word(x.PerCall(u)), table.Mean(u, mean), table.Time(u, x.Max[0]), table.AtRank(x.Max[1]), table.Quotient(uneven, 2), table.Number(x.Processes),
			bytes, table.Named(results.StateLabel(x.Class), x.Class), table.Off(u, x.ExclusiveOff), table.Off(u, x.InclusiveOff),
		}, sum.Cells(x.Samples, x.Estimated)...)
	})
	if p.Outside > 0 {
		t.Add(table.Word("(outside recorded calls)"), table.None(), table.None(), table.None(), table.None(), table.Time(u, p.Outside), table.Share(numbers.NewRatio(p.Outside, p.Time)))
	}
	c.Table(t)
}

// nested is the label of a line, indented below the sum that it belongs to. Programs get no indentation.
func (d *Document) nested(x *results.RegionTime) table.Cell {
	c := table.Named(d.label(x, 48), x.Name)
	c.Sum = len(x.Sites) > 0
	if x.Within {
		c.Level = 1
	}
	return c
}

// Paths is the call-path profile: what every chain of open regions took, over
// the chosen processes, from the call graph.
type Paths struct {
	Source results.Source `json:"source"` // the graph
	Ranks  string         `json:"ranks"`
	Paths  []Path         `json:"paths"` // depth first; the first is outside all calls
	Time   uint64         `json:"time"`  // of all locations but those of metrics, first to last event
	Bound  *results.Bound `json:"bound"`
}

// Path is one chain of regions. Times are ticks.
type Path struct {
	Parent    int           `json:"parent"` // index of the path without its last region; -1: none
	Depth     int           `json:"depth"`
	Region    uint32        `json:"region"`
	Name      string        `json:"name"`
	Calls     uint64        `json:"calls"`                     // that were recorded
	Samples   uint64        `json:"samples,omitempty"`         // with the whole path
	Estimated uint64        `json:"estimated_calls,omitempty"` // calls that calling contexts alone tell of
	Inclusive uint64        `json:"inclusive"`
	Exclusive uint64        `json:"exclusive"`
	Share     numbers.Ratio `json:"share"` // inclusive, of the time of all locations

	// How far times from a lossy graph may be off; nil: exact.
	InclusiveOff *uint64 `json:"inclusive_deviation,omitempty"`
	ExclusiveOff *uint64 `json:"exclusive_deviation,omitempty"`
}

// NewPaths adds up the call paths of the chosen processes.
func NewPaths(r *results.Run, ranks results.Ranks) (*Paths, []table.Lost, error) {
	p := &Paths{Source: results.SourceGraph, Ranks: ranks.String(), Paths: []Path{}}
	var sum ccg.PathProfile
	var dev graph.Deviation
	lost, err := lookup.EachReader(r, ranks, "paths", func(g *lookup.GraphReader) error {
		if g.OfMetrics() {
			return nil
		}
		dev = g.Dev
		return sum.Add(g.Loc)
	})
	if err != nil {
		return nil, lost, err
	}
	list, err := sum.Paths()
	if err != nil {
		return nil, lost, fmt.Errorf("%s: %w", r.Name, err)
	}
	p.Bound = r.BoundOf(dev)
	time := uint64(0)
	for _, x := range list {
		time += x.Exclusive
	}
	p.Time = time
	for i, x := range list {
		y := Path{
			Parent: x.Parent, Depth: x.Depth, Region: x.Region, Name: r.RegionName(x.Region),
			Calls: x.Calls - x.Estimated, Samples: x.Samples, Estimated: x.Estimated, Inclusive: x.Inclusive, Exclusive: x.Exclusive, Share: numbers.NewRatio(x.Inclusive, p.Time),
		}
		if i == 0 {
			y.Name = "(outside recorded calls)"
		}
		if p.Bound != nil {
			inclusive, exclusive := dev.StoredBound(x.GapsIn, x.Inclusive), dev.StoredBound(x.Gaps, x.Exclusive)
			y.InclusiveOff, y.ExclusiveOff = &inclusive, &exclusive
		}
		p.Paths = append(p.Paths, y)
	}
	return p, lost, nil
}

// largest returns the numbers of the n paths with most inclusive time as a tree:
// depth first, siblings by falling time. A path is never without its parent.
func (p *Paths) largest(n int) []int {
	order := make([]int, len(p.Paths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Paths[b].Inclusive, p.Paths[a].Inclusive) })
	children := make([][]int, len(p.Paths))
	for _, i := range order[:min(n, len(order))] {
		if x := p.Paths[i].Parent; x >= 0 {
			children[x] = append(children[x], i)
		}
	}
	var list []int
	todo := []int{0}
	for len(todo) > 0 && len(order) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		list = append(list, i)
		for k := range children[i] {
			todo = append(todo, children[i][len(children[i])-1-k])
		}
	}
	return list
}

// chapter shows the paths with most inclusive time as a tree.
func (p *Paths) chapter(d *Document, b *table.Book, c *table.Chapter) {
	u := b.Unit
	c.Title = fmt.Sprintf("call paths, %s %s in %s", u.Ticks(p.Time), u.Name(), numbers.Plural(max(len(p.Paths)-1, 0), "path"))
	noteGraph(c, results.SourceGraph, p.Bound)
	var sum results.Sampling
	for i := range p.Paths {
		sum.Add(p.Paths[i].Samples, p.Paths[i].Estimated)
	}
	sum.Note(c, d.run)
	t := &table.Table{Title: "Call paths by inclusive time", Columns: append([]table.Column{
		table.Words("path", "path"), table.Ints("", "region").Hidden(), table.Ints("calls", "calls"), table.Ints(table.Of(u, "inclusive"), "inclusive"), table.Reals("share", "share"), table.Ints(table.Of(u, "exclusive"), "exclusive"),
		table.Ints("inclusive ±", "inclusive_deviation"), table.Ints("exclusive ±", "exclusive_deviation"),
	}, sum.Columns()...)}
	row := func(i *int) []table.Cell {
		x := &p.Paths[*i]
		calls := table.Number(x.Calls)
		if x.Estimated > 0 && x.Calls == 0 {
			calls = table.None()
		}
		label := table.Cell{Text: numbers.Clean(x.Name, 60), Value: strings.Join(p.names(*i), " > "), Level: min(max(x.Depth-1, 0), 30)}
		return append([]table.Cell{label, table.PlainNumber(x.Region), calls, table.Time(u, x.Inclusive), table.Share(x.Share), table.Time(u, x.Exclusive), table.Off(u, x.InclusiveOff), table.Off(u, x.ExclusiveOff)},
			sum.Cells(x.Samples, x.Estimated)...)
	}
	shown := p.largest(b.Rows + 1)
	if len(shown) > 0 {
		if x := &p.Paths[0]; x.Exclusive > 0 { // not a call: time inside it is listed below
			t.Add(table.Word(x.Name), table.None(), table.None(), table.None(), table.None(), table.Time(u, x.Exclusive), table.Off(u, x.InclusiveOff), table.Off(u, x.ExclusiveOff))
		}
		table.Fill(t, "path", shown[1:], row)
		t.Parts[len(t.Parts)-1].N = len(p.Paths) - 1
	}
	c.Table(t)
}

// names are the regions of path i, outermost first.
func (p *Paths) names(i int) []string {
	var list []string
	for ; i > 0; i = p.Paths[i].Parent {
		list = append(list, p.Paths[i].Name)
	}
	slices.Reverse(list)
	return list
}

// Histogram is the distribution of the durations of a region's calls, or of the stretches between two events inside these calls.
type Histogram struct {
	Source results.Source `json:"source"` // the graph
	Ranks  string         `json:"ranks"`
	Region uint32         `json:"region"`
	Name   string         `json:"name"`
	Of     string         `json:"of"` // calls, or gaps
	Count  uint64         `json:"count"`
	Min    uint64         `json:"min"` // ticks, like the numbers below
	Max    uint64         `json:"max"`
	Sum    uint64         `json:"sum"`
	Mean   numbers.Ratio  `json:"mean"`
	Median Between        `json:"median"`
	P90    Between        `json:"p90"`
	P99    Between        `json:"p99"`
	Bins   []HistogramBin `json:"bins"` // bins with durations, ascending
	Bound  *results.Bound `json:"bound"`
	Off    *uint64        `json:"deviation,omitempty"` // how far each duration may be off
	SumOff *uint64        `json:"sum_deviation,omitempty"`
}

// Between is a number that is known to lie between two others.
type Between struct {
	Lower uint64 `json:"lower"`
	Upper uint64 `json:"upper"`
}

// HistogramBin counts the durations from Least to Most ticks.
type HistogramBin struct {
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
	Count uint64 `json:"count"`
}

// NewHistogram counts durations of a region over the chosen processes. With gaps it counts the stretches of exclusive time of the
// region, not whole calls.
func NewHistogram(r *results.Run, ranks results.Ranks, region uint32, gaps bool) (*Histogram, []table.Lost, error) {
	h := &Histogram{Source: results.SourceGraph, Ranks: ranks.String(), Region: region, Name: r.RegionName(region), Of: "calls", Bins: []HistogramBin{}}
	if gaps {
		h.Of = "gaps"
	}
	var sum ccg.Durations
	lost, err := lookup.EachReader(r, ranks, "histogram", func(g *lookup.GraphReader) error {
		h.Bound = r.BoundOf(g.Dev)
		var d *ccg.Durations
		var err error
		if gaps {
			d, err = g.Loc.GapDurations(region)
		} else {
			d, err = g.Index.CallDurations(region)
		}
		if err != nil {
			return g.Failed(err)
		}
		return sum.Add(d)
	})
	if err != nil {
		return nil, lost, err
	}
	h.fill(&sum)
	return h, lost, nil
}

func (h *Histogram) fill(d *ccg.Durations) {
	h.Count, h.Min, h.Max, h.Sum, h.Mean = d.Count, d.Min, d.Max, d.Sum, numbers.NewRatio(d.Sum, d.Count)
	if h.Bound != nil {
		h.Off, h.SumOff = &d.Bound, &d.SumBound
	}
	for i, n := range d.Bins {
		if n > 0 {
			least, most := ccg.DurationRange(i)
			h.Bins = append(h.Bins, HistogramBin{least, most, n})
		}
	}
	h.Median, h.P90, h.P99 = h.quantile(50), h.quantile(90), h.quantile(99)
}

// quantile returns bounds of the least duration that percent per cent of all durations do not exceed.
func (h *Histogram) quantile(percent uint64) Between {
	// the number of durations up to it, rounded up; the product of both parts fits
	want := h.Count/100*percent + (h.Count%100*percent+99)/100
	seen := uint64(0)
	for _, b := range h.Bins {
		if seen += b.Count; seen >= want {
			return Between{max(b.Least, h.Min), min(b.Most, h.Max)}
		}
	}
	return Between{h.Min, h.Max}
}

// chapter shows how many calls or stretches take how long.
func (h *Histogram) chapter(b *table.Book, c *table.Chapter) {
	u := b.Unit
	what := "calls"
	if h.Of == "gaps" {
		what = "stretches between two events, exclusive time"
	}
	c.Title = fmt.Sprintf("durations of %s %s of %s", numbers.Count(h.Count), what, numbers.Clean(h.Name, 60))
	results.NoteBound(c, h.Bound, h.Off, u)
	between := func(b Between) string {
		if b.Lower == b.Upper {
			return u.Span(b.Lower)
		}
		return u.Span(b.Lower) + " to " + u.Span(b.Upper)
	}
	if h.Count > 0 {
		c.Say("least %s, mean %s, largest %s, sum %s %s", u.Span(h.Min), u.Span(numbers.MeanOf(h.Sum, h.Count)), u.Span(h.Max), u.Ticks(h.Sum), u.Name())
		c.Say("half take at most %s; 90 %% %s; 99 %% %s", between(h.Median), between(h.P90), between(h.P99))
	}
	most := uint64(0)
	for _, b := range h.Bins {
		most = max(most, b.Count)
	}
	t := &table.Table{Title: "Durations", Columns: []table.Column{table.Ints("from", "from"), table.Ints("to", "to"), table.Ints("count", "count"), table.Reals("share", "share"), table.Words("", "")}}
	for _, b := range h.Bins {
		t.Add(table.Named(u.Span(b.Least), strconv.FormatUint(b.Least, 10)), table.Named(u.Span(b.Most), strconv.FormatUint(b.Most, 10)), table.Number(b.Count), table.Share(numbers.NewRatio(b.Count, h.Count)),
			table.Word(strings.Repeat("#", int((b.Count*barCells+most-1)/most))))
	}
	c.Table(t)
}

// barCells is the length of the longest bar of a histogram.
const barCells = 40

// noteGraph notes that numbers come from the graph, and how exact they are.
func noteGraph(c *table.Chapter, s results.Source, b *results.Bound) {
	switch {
	case s != results.SourceGraph:
	case b == nil:
		c.Say("from the call graph, exact")
	default:
		c.Say("from the call graph: %s", b.Text)
	}
}

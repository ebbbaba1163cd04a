package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// Histogram is the distribution of the durations of a region's calls, or of the
// stretches between two events inside of them.
type Histogram struct {
	Source results.Source `json:"source"` // the graph
	Ranks  string         `json:"ranks"`
	Region uint32         `json:"region"`
	Name   string         `json:"name"`
	Of     string         `json:"of"` // calls, or gaps
	Count  uint64         `json:"count"`
	Min    uint64         `json:"min"` // ticks, as all that follow
	Max    uint64         `json:"max"`
	Sum    uint64         `json:"sum"`
	Mean   numbers.Ratio  `json:"mean"`
	Median Between        `json:"median"`
	P90    Between        `json:"p90"`
	P99    Between        `json:"p99"`
	Bins   []HistogramBin `json:"bins"` // those with any, ascending
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

// NewHistogram counts durations of a region over the chosen processes; gaps: of the
// stretches that are exclusive time of the region, instead of whole calls.
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

// quantile returns where the least duration lies that is not exceeded by percent
// per cent of them.
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

// chapter has how many calls or stretches take how long.
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

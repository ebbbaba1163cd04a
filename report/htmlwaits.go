package report

import (
	"fmt"

	"github.com/coppice-hpc/coppice/xtf"
)

// htmlWaits is the heat map of waits by interval and pattern, and who causes them.
type htmlWaits struct {
	Total    string
	Share    string
	Patterns []htmlPattern // columns of the map
	Rows     []htmlHeatRow
	More     int
	Causes   *htmlTable
	Advice   string
	Paths    *htmlTable
	Critical *htmlTable
	Path     string // what the critical path says
}

// htmlPattern is a pattern that occurs.
type htmlPattern struct {
	Name, Meaning string
	item          xtf.Item
}

// htmlHeatRow is an interval's line of the map.
type htmlHeatRow struct {
	Indent []struct{}
	Label  string
	Cells  []htmlHeat
}

// htmlHeat is a cell: its colour by the share of the interval's time.
type htmlHeat struct {
	Class, Text, Share string
}

// heatSteps are the shares, in millionths of the interval's time, from which on a
// cell has the next colour.
var heatSteps = [...]uint64{1, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000}

// heatClass is the colour of a part of a whole.
func heatClass(v, of Sum) string {
	if v <= 0 || of <= 0 {
		return "h0"
	}
	parts := muldiv(uint64(v), 1e6, uint64(of))
	step := 0
	for i, s := range heatSteps {
		if parts >= s {
			step = i
		}
	}
	return fmt.Sprintf("h%d", step+1)
}

// htmlCauses is how many causes, call paths and parts of the critical path a page has.
const htmlCauses = 10

func (d *Document) htmlWaits(u unit) *htmlWaits {
	w := d.Waits
	x := &htmlWaits{Total: u.big(w.Total) + " " + u.name(), Share: w.Share.percent()}
	for i := range w.Patterns {
		p := &w.Patterns[i]
		if !p.part() {
			x.Patterns = append(x.Patterns, htmlPattern{patternLabel(p.Pattern), patternMeaning[p.Pattern], p.item})
		}
	}
	shown := w.Intervals[:min(len(w.Intervals), htmlRows)]
	x.More = len(w.Intervals) - len(shown)
	for i := range shown {
		x.Rows = append(x.Rows, shown[i].htmlHeat(x.Patterns, u))
	}
	x.Causes, x.Advice = w.htmlCauses(d.run, u)
	x.Paths = w.htmlPaths(u)
	x.Critical = w.htmlCritical(u)
	if w.Critical != nil {
		x.Path = fmt.Sprintf("It is %s %s long and partitions the run: what is on it, and only that, decides how long the run takes.", u.big(w.Critical.Length), u.name())
	}
	return x
}

func (n *WaitNode) htmlHeat(patterns []htmlPattern, u unit) htmlHeatRow {
	row := htmlHeatRow{Indent: make([]struct{}, min(max(len(n.Path)-1, 0), 24)), Label: n.Label}
	for _, p := range patterns {
		v := Sum(0)
		for k := range n.Waits.patterns {
			if s := &n.Waits.patterns[k]; s.Item == p.item {
				v = s.Sum
			}
		}
		cell := htmlHeat{Class: heatClass(v, n.Time), Text: "–"}
		if v != 0 {
			cell.Text, cell.Share = u.spanOf(whole(v)), ratio(v, n.Time).percent()
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// htmlCauses are those that make others wait most.
func (w *Waits) htmlCauses(r *Run, u unit) (*htmlTable, string) {
	if len(w.Causes) == 0 {
		return nil, ""
	}
	name := u.name()
	t := &htmlTable{Caption: "Ten largest causes of waits", Head: heads("<who was late, innermost call last", "<doing", "<waits of", "others waited "+name, "and others for these "+name, "share of all waits", "most by rank")}
	for i := range w.Causes[:min(len(w.Causes), htmlCauses)] {
		c := &w.Causes[i]
		t.add(htmlCell{Text: pathLabel(c.Path)}, htmlCell{Text: c.Activity}, htmlCell{Text: patternLabel(c.Pattern)}, bigCell(c.Short, u.big(c.Short)), bigCell(c.Long, u.big(c.Long)),
			ratioCell(c.Share, c.Share.percent()), numberCell(fmt.Sprint(c.Rank), float64(c.Rank)))
	}
	t.left(len(w.Causes), htmlCauses, "cause", "waits")
	top := &w.Causes[0]
	return t, sentence(top.sentence(r))
}

// htmlPaths is where most is waited.
func (w *Waits) htmlPaths(u unit) *htmlTable {
	if len(w.Paths) == 0 {
		return nil
	}
	t := &htmlTable{Caption: "Ten call paths that wait most", Head: heads("<who waits, innermost call last", "<for", "waits", u.name(), "share of all waits", "most at rank")}
	for i := range w.Paths[:min(len(w.Paths), htmlCauses)] {
		p := &w.Paths[i]
		t.add(htmlCell{Text: pathLabel(p.Path)}, htmlCell{Text: p.label(patternLabel(p.Pattern))}, numberCell(count(p.Count), float64(p.Count)), bigCell(p.Ticks, u.big(p.Ticks)),
			ratioCell(p.Share, p.Share.known()), numberCell(fmt.Sprint(p.Rank), float64(p.Rank)))
	}
	t.left(len(w.Paths), htmlCauses, "row", "waits")
	return t
}

// htmlCritical is what the run's length depends on.
func (w *Waits) htmlCritical(u unit) *htmlTable {
	c := w.Critical
	if c == nil || len(c.Regions) == 0 {
		return nil
	}
	t := &htmlTable{Caption: "Critical path by region", Head: heads("<region", "<doing", u.name(), "share of the path", "mean of a process", "above the mean", "most at rank")}
	for i := range c.Regions[:min(len(c.Regions), htmlCauses)] {
		x := &c.Regions[i]
		mean, over := ratioCell(Ratio{}, "n/a"), ratioCell(Ratio{}, "n/a")
		if x.Mean.Known() {
			mean, over = fractionCell(x.Mean, u.fraction(x.Mean)), fractionCell(x.Imbalance, u.fraction(x.Imbalance))
		}
		t.add(htmlCell{Text: clean(x.Name, 60)}, htmlCell{Text: x.Activity}, bigCell(x.Ticks, u.big(x.Ticks)), ratioCell(x.Share, x.Share.percent()), mean, over, numberCell(fmt.Sprint(x.Rank), float64(x.Rank)))
	}
	t.left(len(c.Regions), htmlCauses, "region", "waits")
	return t
}

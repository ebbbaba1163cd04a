package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// htmlDiff is the page of two runs.
type htmlDiff struct {
	htmlPage
	A, B      htmlDiffRun
	Unit      string // of times
	Identical bool
	Cards     []htmlCard
	Headline  []string
	Options   *htmlTable
	Rows      []htmlDiffNode
	More      int
	Only      [2][]string
	Tables    []*htmlTable
	Lost      []string
	Commands  []string
}

// htmlDiffRun is the head of one run.
type htmlDiffRun struct {
	Name, Text, Note string
}

// htmlDiffNode is an interval's line.
type htmlDiffNode struct {
	Level   int
	Indent  []struct{}
	Label   string
	Cells   []htmlCell
	Bars    template.HTML
	Verdict string
	Grade   string
}

// WriteHTML writes the comparison as one file of HTML, like that of a run.
func (d *Diff) WriteHTML(out io.Writer) error {
	page, err := newHTMLPage(fmt.Sprintf("%s and %s: two runs", clean(d.Runs[0].Name, 60), clean(d.Runs[1].Name, 60)))
	if err != nil {
		return err
	}
	h := &htmlDiff{htmlPage: page, A: d.htmlRun(0), B: d.htmlRun(1), Unit: d.unitName(), Identical: d.Identical, Commands: []string{"coppice diff A.xtf B.xtf --format html -o diff.html"}}
	if d.Threshold.Compare(fraction(1, 20)) != 0 {
		h.Commands[0] += " --threshold " + strings.ReplaceAll(percentRat(d.Threshold.Fraction), " ", "")
	}
	for _, s := range d.sentences() {
		h.Headline = append(h.Headline, sentence(s))
	}
	h.Cards = d.htmlCards()
	h.Options = d.htmlOptions()
	d.htmlTree(h)
	h.Tables = []*htmlTable{d.htmlLines("Whole program", d.Intervals[0].Metrics), d.htmlLines("Waits, mean of a process", d.Waits), d.htmlRegions()}
	h.Lost = htmlLost(d.Lost)
	return writeHTML(out, "diff.tmpl", h)
}

func (d *Diff) htmlRun(i int) htmlDiffRun {
	r := &d.Runs[i]
	x := htmlDiffRun{Name: clean(r.Name, 120), Text: fmt.Sprintf("%s, %s %s, %s events", plural(r.Processes, "process"), d.number(kindTime, r.Runtime), d.unitName(), count(r.Events))}
	if r.Predicted {
		x.Note = "a predicted run, not a measured one"
	}
	if r.Partial {
		x.Note = strings.TrimPrefix(x.Note+"; its input was damaged or incomplete", "; ")
	}
	return x
}

// htmlCards are the numbers of the headline.
func (d *Diff) htmlCards() []htmlCard {
	root := &d.Intervals[0]
	card := func(name, metric string) htmlCard {
		x := root.metric(metric)
		c := htmlCard{Name: name, Value: x.percent(), Note: fmt.Sprintf("%s, was %s", d.number(x.kind, x.B), d.number(x.kind, x.A))}
		if x.kind == kindShare {
			c.Value = d.signed(x.kind, x.Change)
		} else {
			c.Note += " " + d.unitName()
		}
		return c
	}
	list := []htmlCard{card("Execution time", "execution"), card("Parallel efficiency", "parallel_efficiency"), card("Computing, mean of a process", "cpu"), card("MPI, mean of a process", "mpi")}
	if root.metric("wait").B.Known() {
		list = append(list, card("Waiting, mean of a process", "wait"))
	}
	list[0].Grade = map[string]string{diffWorse: "poor", diffBetter: "good"}[root.Verdict]
	return list
}

func (d *Diff) htmlOptions() *htmlTable {
	if len(d.Provenance) == 0 {
		return nil
	}
	t := &htmlTable{Caption: "Made differently", Head: heads("<what", "<A", "<B")}
	for _, o := range d.Provenance {
		t.add(htmlCell{Text: o.Name}, htmlCell{Text: shortened(o.A, 60)}, htmlCell{Text: shortened(o.B, 60)})
	}
	return t
}

// cell is a number of a table.
func (d *Diff) cell(kind metricKind, v DiffNumber) htmlCell {
	if !v.Known() {
		return htmlCell{"n/a", ""}
	}
	f := v.Float()
	return numberCell(d.number(kind, v), f)
}

// changeCell is the change of a line.
func (d *Diff) changeCell(x *DiffLine) htmlCell {
	c := d.cell(x.kind, x.Change)
	if x.Change.Known() {
		c.Text = d.signed(x.kind, x.Change)
	}
	return c
}

// percentCell is the change in per cent, which sorts by the ratio.
func (x *DiffLine) percentCell() htmlCell {
	if !x.Ratio.Known() {
		return htmlCell{x.percent(), "0"}
	}
	f := x.Ratio.Float()
	return numberCell(x.percent(), f)
}

// htmlTree has a line for each interval of both runs, and what one has alone.
func (d *Diff) htmlTree(h *htmlDiff) {
	longest := whole(0)
	if x := d.Intervals[0].metric("execution"); x.A.Known() && x.B.Known() {
		longest = x.A.Fraction
		if x.B.Compare(longest) > 0 {
			longest = x.B.Fraction
		}
	}
	shown := d.Intervals[:min(len(d.Intervals), htmlNodes)]
	h.More = len(d.Intervals) - len(shown)
	for i := range shown {
		n := &shown[i]
		time, eff, wait := n.metric("execution"), n.metric("parallel_efficiency"), n.metric("wait")
		row := htmlDiffNode{Level: n.level, Indent: make([]struct{}, min(n.level, 24)), Label: n.Path[len(n.Path)-1], Bars: diffBars(time, longest)}
		if n.Verdict != diffSame {
			row.Verdict, row.Grade = n.Verdict, map[string]string{diffWorse: "poor", diffBetter: "good"}[n.Verdict]
		}
		row.Cells = []htmlCell{
			d.cell(kindTime, time.A), d.cell(kindTime, time.B), d.changeCell(time), time.percentCell(),
			d.cell(kindShare, eff.A), d.cell(kindShare, eff.B), d.cell(kindTime, wait.A), d.cell(kindTime, wait.B),
		}
		h.Rows = append(h.Rows, row)
	}
	for i, list := range d.Only {
		for _, name := range list[:min(len(list), htmlRows)] {
			h.Only[i] = append(h.Only[i], clean(name, 200))
		}
		if n := len(list) - htmlRows; n > 0 {
			h.Only[i] = append(h.Only[i], "and "+plural(n, "more interval"))
		}
	}
}

// diffBars draws two times, one above the other.
func diffBars(x *DiffLine, longest Fraction) template.HTML {
	if !x.A.Known() || !x.B.Known() || longest.Sign() == 0 {
		return ""
	}
	var w drawing
	w.Add(`<svg class="split pair" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">`)
	for i, v := range []Fraction{x.A.Fraction, x.B.Fraction} {
		width := v.Over(longest).Times(1000).Round()
		w.Add(`<rect class="%s" y="%d" width="%d" height="9"/>`, [...]string{"k-mgmt", "k-coll"}[i], 11*i, min(max(width, 1), 1000))
	}
	return w.html()
}

// htmlLines are numbers of both runs.
func (d *Diff) htmlLines(caption string, list []DiffLine) *htmlTable {
	t := &htmlTable{Caption: caption, Head: heads("<what", "A", "B", "change", "in per cent")}
	for i := range list {
		x := &list[i]
		if x.A.Known() || x.B.Known() {
			t.add(htmlCell{Text: strings.ReplaceAll(lineName(x), "_", " ")}, d.cell(x.kind, x.A), d.cell(x.kind, x.B), d.changeCell(x), x.percentCell())
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// htmlRegions are the regions whose time changed most.
func (d *Diff) htmlRegions() *htmlTable {
	t := &htmlTable{Caption: "Regions by change of exclusive time, mean of a process", Head: heads("<region", "<class", "time A", "time B", "change", "in per cent", "calls A", "calls B", "bytes A", "bytes B")}
	for i := range d.Regions[:min(len(d.Regions), htmlRows)] {
		r := &d.Regions[i]
		kind := cmp.Or(stateLabel(r.Class), trace.States[trace.StateOwn].Text)
		percent := r.Time.percentCell()
		percent.Text = r.only12()
		sized := func(v DiffNumber) htmlCell {
			c := d.cell(kindCount, v)
			c.Text = r.Bytes.bytes(v)
			return c
		}
		t.add(htmlCell{Text: clean(r.Name, 60)}, htmlCell{Text: kind}, d.cell(kindTime, r.Time.A), d.cell(kindTime, r.Time.B), d.changeCell(&r.Time), percent,
			d.cell(kindCount, r.Calls.A), d.cell(kindCount, r.Calls.B), sized(r.Bytes.A), sized(r.Bytes.B))
	}
	if n := len(d.Regions) - htmlRows; n > 0 {
		t.More = "and " + plural(n, "more region") + ": coppice diff A.xtf B.xtf --limit 1000"
	}
	return t
}

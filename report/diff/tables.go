package diff

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
)

// unitName is the unit of times.
func (d *Diff) unitName() string { return numbers.Units{Resolution: d.Runs[0].Resolution}.Name() }

func (d *Diff) number(kind conditions.Kind, v DiffNumber) string {
	digits := 0
	switch {
	case kind == conditions.Share:
		digits = 3
	case kind == conditions.Time && d.Runs[0].Resolution > 0:
		digits = 6
	}
	text := v.Fixed(digits)
	if kind == conditions.Share {
		return text
	}
	if digits == 0 {
		return numbers.Group(text)
	}
	return numbers.Grouped(text)
}

// rounded prints a number for a sentence.
func rounded(d *Diff, kind conditions.Kind, v DiffNumber) string {
	if kind == conditions.Time && d.Runs[0].Resolution > 0 && v.Known() {
		return numbers.Units{Resolution: 1}.Short(v.Fraction)
	}
	return d.number(kind, v)
}

// signed prints a change with its sign.
func (d *Diff) signed(kind conditions.Kind, v DiffNumber) string {
	text := d.number(kind, v)
	if v.Known() && v.Sign() > 0 {
		text = "+" + text
	}
	return text
}

// signedPercent prints a ratio as a change in per cent.
func signedPercent(r numbers.Fraction) string {
	v := r.Minus(numbers.Whole(1)).Times(100)
	text := v.Fixed(1) + " %"
	if v.Sign() > 0 {
		text = "+" + text
	}
	return text
}

// percent prints the change of a line in per cent, "new" where there was nothing before.
func (x *DiffLine) percent() string {
	switch {
	case x.Ratio.Known():
		return signedPercent(x.Ratio.Fraction)
	case x.Change.Known() && x.Change.Sign() != 0:
		return "new"
	}
	return ""
}

// Book shows what differs between the runs.
func (d *Diff) Book(page bool, _ int) (*table.Book, error) {
	u := numbers.Units{Resolution: d.Runs[0].Resolution}
	b := &table.Book{
		Unit: u, Page: page, Lost: d.Lost, Name: d.Runs[0].Name + " → " + d.Runs[1].Name, Subtitle: "Two runs compared by coppice",
		Commands: []string{"coppice diff A.xtf B.xtf --format html -o diff.html"},
	}
	if d.Threshold.Compare(numbers.Divide(1, 20)) != 0 {
		b.Commands[0] += " --threshold " + strings.ReplaceAll(percentRat(d.Threshold.Fraction), " ", "")
	}
	for i, letter := range []string{"A", "B"} {
		r := &d.Runs[i]
		b.Heads = append(b.Heads, fmt.Sprintf("%s  %s  %s  %s %s  %s events", letter, numbers.Clean(r.Name, 80), numbers.Plural(r.Processes, "process"), d.number(conditions.Time, r.Runtime), u.Name(), numbers.Count(r.Events)))
		if r.Predicted {
			b.Notes = append(b.Notes, letter+" is a predicted run, not a measured one")
		}
		if r.Partial {
			b.Notes = append(b.Notes, "partial: the input of "+letter+" was damaged or incomplete; its numbers describe what could be read")
		}
	}
	b.Notes = append(b.Notes, d.Doubts...)
	if d.Identical {
		b.Notes = append(b.Notes, "the files are identical, byte by byte")
	}
	found := &table.Chapter{Id: "headline", Heading: "Headline"}
	if page {
		found.Blocks = []table.Block{{Cards: d.cards()}}
	}
	for _, s := range d.sentences() {
		found.Found(s, "", "")
	}
	if page {
		found.Figure(d.efficiencies())
		b.Chapters = append(b.Chapters, found)
	}
	made := b.Chapter("made", "How the files were made", "")
	if len(d.Provenance) == 0 {
		made.Say("made in the same way from inputs with the same definitions and numbers of events")
	}
	t := &table.Table{Title: "Made differently", Columns: []table.Column{table.Words("made differently", ""), table.Words("A", ""), table.Words("B", "")}}
	for _, o := range d.Provenance {
		t.Add(table.Word(o.Name), table.Word(table.Shortened(o.A, 60)), table.Word(table.Shortened(o.B, 60)))
	}
	made.Table(t)
	d.intervals(b, b.Chapter("intervals", "Intervals", ""))
	numbers := b.Chapter("numbers", "Numbers", "")
	numbers.Table(d.lineTable("Whole program", "whole program", d.Intervals[0].Metrics))
	numbers.Table(d.lineTable("Waits, mean of a process", "waits, mean of a process", d.Waits))
	if page {
		numbers.Figure(d.moves())
	}
	numbers.Table(d.regionTable())
	numbers.Table(d.data())
	for _, c := range b.Chapters {
		c.Command = "coppice diff A.xtf B.xtf"
	}
	if !page {
		b.Chapters = append(b.Chapters, found)
	}
	if d.Identical { // programs get the numbers even then
		b.Chapters = []*table.Chapter{{Blocks: []table.Block{{Table: d.data()}}}}
	}
	return b, nil
}

// cards are the numbers of the headline of a page.
func (d *Diff) cards() []table.Card {
	root := &d.Intervals[0]
	one := func(name, metric string) table.Card {
		x := root.Metric(metric)
		c := table.Card{Name: name, Value: x.percent(), Note: fmt.Sprintf("%s, was %s", rounded(d, x.kind, x.B), rounded(d, x.kind, x.A))}
		if x.kind == conditions.Share {
			c.Value = d.signed(x.kind, x.Change)
		} else {
			c.Note += " " + d.unitName()
		}
		return c
	}
	list := []table.Card{one("Execution time"+d.without(), timeMetric), one("Parallel efficiency", "parallel_efficiency"), one("Computing, mean of a process", "cpu"), one("MPI, mean of a process", "mpi")}
	if root.Metric("wait").B.Known() {
		list = append(list, one("Waiting, mean of a process", "wait"))
	}
	list[0].Grade = verdictGrades[root.Verdict]
	return list
}

var verdictGrades = map[string]string{diffWorse: "poor", diffBetter: "good"}

func (d *Diff) cell(kind conditions.Kind, v DiffNumber) table.Cell {
	c := table.Cell{Text: d.number(kind, v)}
	if v.Known() {
		b, _ := v.MarshalJSON() // the number is known
		c.Value = string(b)
	}
	return c
}

func (d *Diff) change(x *DiffLine) table.Cell {
	return table.Named(d.signed(x.kind, x.Change), d.cell(x.kind, x.Change).Value)
}

// ratio prints the change in per cent; programs get B / A.
func (d *Diff) ratio(x *DiffLine) table.Cell {
	return table.Named(x.percent(), d.cell(conditions.Share, x.Ratio).Value)
}

// intervals has a line for each interval of both runs, and lists those that only one run has.
func (d *Diff) intervals(b *table.Book, c *table.Chapter) {
	longest := numbers.Whole(0)
	if x := d.Intervals[0].Metric(timeMetric); x.A.Known() && x.B.Known() {
		longest = x.A.Fraction
		if x.B.Compare(longest) > 0 {
			longest = x.B.Fraction
		}
	}
	t := &table.Table{Title: "Intervals that both runs have", Folds: true, Columns: []table.Column{
		table.Words("interval", ""), table.Ints("time A", ""), table.Ints("time B", ""), table.Ints("change", ""), table.Words("%", ""), table.Reals("efficiency A", ""), table.Reals("B", ""), table.Ints("waits A", ""), table.Ints("B", ""),
		table.Words("verdict", ""), table.Words("A above B", "").Wide(),
	}, Notes: []string{"in " + d.unitName() + ", time of the longest process" + d.without() + ", waits of a process on average; efficiency is POP's parallel efficiency"}}
	if t.Least = results.ScreenRows; b.Page {
		t.Least = results.HtmlNodes
	}
	table.Fill(t, "interval", d.Intervals, func(n *DiffNode) []table.Cell {
		time, eff, wait := n.Metric(timeMetric), n.Metric("parallel_efficiency"), n.Metric("wait")
		mark := table.Cell{}
		if n.Verdict != diffSame {
			mark = table.Cell{Text: n.Verdict, Class: "word " + verdictGrades[n.Verdict]}
		}
		return []table.Cell{
			table.Tree(n.Path[len(n.Path)-1], n.level), d.cell(conditions.Time, time.A), d.cell(conditions.Time, time.B), d.change(time), d.ratio(time),
			d.cell(conditions.Share, eff.A), d.cell(conditions.Share, eff.B), d.cell(conditions.Time, wait.A), d.cell(conditions.Time, wait.B), mark,
			{Picture: diffBars(time, longest)},
		}
	})
	c.Table(t)
	for i, letter := range []string{"A", "B"} {
		only := &table.Table{Title: "In " + letter + " alone", Columns: []table.Column{table.Words("intervals of "+letter+" alone:", "")}}
		table.Fill(only, "interval", d.Only[i], func(name *string) []table.Cell { return []table.Cell{table.Word("  " + numbers.Clean(*name, 120))} })
		c.Table(only)
	}
}

// without says what the times of intervals leave out.
func (d *Diff) without() string {
	if x := d.Intervals[0].Metric("setup"); !d.rules.Init && x.A.Known() && x.B.Known() && (x.A.Sign() > 0 || x.B.Sign() > 0) {
		return " without MPI_Init and MPI_Finalize"
	}
	return ""
}

// diffBars draws two times, one above the other.
func diffBars(x *DiffLine, longest numbers.Fraction) template.HTML {
	if !x.A.Known() || !x.B.Known() || longest.Sign() == 0 {
		return ""
	}
	var w table.Drawing
	w.Add(`<svg class="split pair" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">`)
	for i, v := range []numbers.Fraction{x.A.Fraction, x.B.Fraction} {
		width := v.Over(longest).Times(1000).Round()
		w.Add(`<rect class="%s" y="%d" width="%d" height="9"/>`, [...]string{"k-mgmt", "k-coll"}[i], 11*i, min(max(width, 1), 1000))
	}
	return w.HTML()
}

// lineTable lists numbers of both runs.
func (d *Diff) lineTable(title, head string, list []DiffLine) *table.Table {
	t := &table.Table{Title: title, Columns: []table.Column{table.Words(head, ""), table.Ints("A", ""), table.Ints("B", ""), table.Ints("change", ""), table.Words("%", "")}}
	for i := range list {
		if x := &list[i]; x.A.Known() || x.B.Known() {
			name := x.Name
			for _, m := range DiffMetrics {
				if m.name == x.Name && m.mean {
					name += ", mean of a process"
				}
			}
			t.Add(table.Word(name), d.cell(x.kind, x.A), d.cell(x.kind, x.B), d.change(x), d.ratio(x))
		}
	}
	return t
}

// regionTable lists the regions whose time changed most.
func (d *Diff) regionTable() *table.Table {
	return table.Fill(&table.Table{Title: "Regions by change of exclusive time, mean of a process", Columns: []table.Column{
		table.Words("regions by change, mean of a process", ""), table.Ints("time A", ""), table.Ints("time B", ""), table.Ints("change", ""), table.Words("%", ""), table.Ints("calls A", ""), table.Ints("B", ""),
		table.Ints("bytes A", ""), table.Ints("B", ""), table.Words("class", ""),
	}}, "region", d.Regions, func(r *DiffRegion) []table.Cell {
		percent := d.ratio(&r.Time)
		if percent.Text = r.Time.percent(); r.only > 0 {
			percent.Text = [...]string{"A alone", "B alone"}[r.only-1]
		}
		return []table.Cell{
			table.Word(numbers.Clean(r.Name, 48)), d.cell(conditions.Time, r.Time.A), d.cell(conditions.Time, r.Time.B), d.change(&r.Time), percent,
			d.cell(conditions.Count, r.Calls.A), d.cell(conditions.Count, r.Calls.B), r.Bytes.bytes(r.Bytes.A), r.Bytes.bytes(r.Bytes.B), table.Word(results.StateLabel(r.Class)),
		}
	})
}

// data has a row for each number: what it belongs to, and its values.
func (d *Diff) data() *table.Table {
	t := &table.Table{Columns: []table.Column{
		table.Words("", "kind").Hidden(), table.Words("", "name").Hidden(), table.Words("", "metric").Hidden(), table.Reals("", "a").Hidden(), table.Reals("", "b").Hidden(), table.Reals("", "change").Hidden(), table.Reals("", "ratio").Hidden(),
	}}
	add := func(kind, name string, list []DiffLine) {
		t.Each(func(yield func([]table.Cell) bool) {
			for i := range list {
				x := &list[i]
				if !yield([]table.Cell{table.Word(kind), table.Word(name), table.Word(x.Name), d.cell(x.kind, x.A), d.cell(x.kind, x.B), d.change(x), d.ratio(x)}) {
					return
				}
			}
		})
	}
	for i := range d.Intervals {
		add("interval", strings.Join(d.Intervals[i].Path, " > "), d.Intervals[i].Metrics)
	}
	add("wait", "", d.Waits)
	for i := range d.Regions {
		r := &d.Regions[i]
		add("region", r.Name, []DiffLine{r.Time, r.Calls, r.Bytes})
	}
	return t
}

// bytes prints a number of bytes, "" for none in both runs.
func (x *DiffLine) bytes(v DiffNumber) table.Cell {
	if !x.A.Known() || !x.B.Known() || x.A.Sign() == 0 && x.B.Sign() == 0 {
		return table.None()
	}
	return table.Size(uint64(v.Round()))
}

// sentences say what got worse and better, and by which rule.
func (d *Diff) sentences() []string {
	const most = 5
	rule := fmt.Sprintf("an interval counts as worse or better where its time%s changed by more than %s and by 1 %% of A's runtime or more", d.without(), percentRat(d.Threshold.Fraction))
	if d.Rule == "efficiency" {
		rule = fmt.Sprintf("the runs have %d and %d processes, so times do not compare: an interval that takes 1 %% of A's runtime or more counts as worse or better where its parallel efficiency changed by more than %s points",
			d.Runs[0].Processes, d.Runs[1].Processes, strings.TrimSuffix(percentRat(d.Threshold.Fraction), " %"))
	}
	var list []string
	for _, x := range []struct {
		name  string
		found []DiffFound
	}{{"worse", d.Worse}, {"better", d.Better}} {
		for _, f := range x.found[:min(len(x.found), most)] {
			list = append(list, x.name+": "+f.Text)
		}
		if n := len(x.found) - most; n > 0 {
			list = append(list, fmt.Sprintf("%s: and %s more", x.name, numbers.Plural(n, "interval")))
		}
	}
	if len(list) == 0 {
		list = append(list, "no interval got worse or better")
	}
	if x := d.Intervals[0].Metric("setup"); d.without() != "" && x.Change.Abs().Compare(d.Runs[0].Runtime.Div(leastShare)) >= 0 {
		list = append(list, fmt.Sprintf("MPI_Init and MPI_Finalize: a process spends %s in them on average, which may be waiting for processes that come late", d.moreOrLess(x)))
	}
	return append(list, rule)
}

// percentRat is a share in per cent, with as many digits as it needs.
func percentRat(r numbers.Fraction) string {
	text := r.Times(100).Fixed(4)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}

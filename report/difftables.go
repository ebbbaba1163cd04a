package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"
)

// unitName is the unit of times.
func (d *Diff) unitName() string { return unit{d.Runs[0].Resolution}.name() }

// number prints a value of a kind.
func (d *Diff) number(kind metricKind, v DiffNumber) string {
	digits := 0
	switch {
	case kind == kindShare:
		digits = 3
	case kind == kindTime && d.Runs[0].Resolution > 0:
		digits = 6
	}
	text := v.Fixed(digits)
	if kind == kindShare {
		return text
	}
	if digits == 0 {
		return group(text)
	}
	return grouped(text)
}

// signed is a number with its sign, of a change.
func (d *Diff) signed(kind metricKind, v DiffNumber) string {
	text := d.number(kind, v)
	if v.Known() && v.Sign() > 0 {
		text = "+" + text
	}
	return text
}

// signedPercent is a ratio as a change in per cent.
func signedPercent(r Fraction) string {
	v := r.Minus(whole(1)).Times(100)
	text := v.Fixed(1) + " %"
	if v.Sign() > 0 {
		text = "+" + text
	}
	return text
}

// percent is the change of a line in per cent, "new" where there was nothing before.
func (x *DiffLine) percent() string {
	switch {
	case x.Ratio.Known():
		return signedPercent(x.Ratio.Fraction)
	case x.Change.Known() && x.Change.Sign() != 0:
		return "new"
	}
	return ""
}

// WriteJSON writes one document.
func (d *Diff) WriteJSON(out io.Writer) error { return writeJSON(out, d) }

// book has what differs between the runs.
func (d *Diff) book(page bool, _ int) (*book, error) {
	u := unit{d.Runs[0].Resolution}
	b := &book{
		unit: u, page: page, lost: d.Lost, name: d.Runs[0].Name + " → " + d.Runs[1].Name, subtitle: "Two runs compared by coppice",
		commands: []string{"coppice diff A.xtf B.xtf --format html -o diff.html"},
	}
	if d.Threshold.Compare(fraction(1, 20)) != 0 {
		b.commands[0] += " --threshold " + strings.ReplaceAll(percentRat(d.Threshold.Fraction), " ", "")
	}
	for i, letter := range []string{"A", "B"} {
		r := &d.Runs[i]
		b.heads = append(b.heads, fmt.Sprintf("%s  %s  %s  %s %s  %s events", letter, clean(r.Name, 80), plural(r.Processes, "process"), d.number(kindTime, r.Runtime), u.name(), count(r.Events)))
		if r.Predicted {
			b.notes = append(b.notes, letter+" is a predicted run, not a measured one")
		}
		if r.Partial {
			b.notes = append(b.notes, "partial: the input of "+letter+" was damaged or incomplete; its numbers describe what could be read")
		}
	}
	if d.Identical {
		b.notes = append(b.notes, "the files are identical, byte by byte")
	}
	found := &chapter{id: "headline", heading: "Headline"}
	if page {
		found.blocks = []block{{cards: d.cards()}}
	}
	for _, s := range d.sentences() {
		found.line(findingLine, s)
	}
	if page {
		b.chapters = append(b.chapters, found)
	}
	made := b.chapter("made", "How the files were made", "")
	if len(d.Provenance) == 0 {
		made.say("made in the same way from inputs of the same identity")
	}
	t := &Table{Title: "Made differently", Columns: []Column{words("made differently", ""), words("A", ""), words("B", "")}}
	for _, o := range d.Provenance {
		t.add(word(o.Name), word(shortened(o.A, 60)), word(shortened(o.B, 60)))
	}
	made.table(t)
	d.intervals(b, b.chapter("intervals", "Intervals", ""))
	numbers := b.chapter("numbers", "Numbers", "")
	numbers.table(d.lineTable("Whole program", "whole program", d.Intervals[0].Metrics))
	numbers.table(d.lineTable("Waits, mean of a process", "waits, mean of a process", d.Waits))
	numbers.table(d.regionTable())
	numbers.table(d.data())
	for _, c := range b.chapters {
		c.command = "coppice diff A.xtf B.xtf"
	}
	if !page {
		b.chapters = append(b.chapters, found)
	}
	if d.Identical { // programs get the numbers all the same
		b.chapters = []*chapter{{blocks: []block{{table: d.data()}}}}
	}
	return b, nil
}

// cards are the numbers of a page's headline.
func (d *Diff) cards() []card {
	root := &d.Intervals[0]
	one := func(name, metric string) card {
		x := root.metric(metric)
		c := card{Name: name, Value: x.percent(), Note: fmt.Sprintf("%s, was %s", d.number(x.kind, x.B), d.number(x.kind, x.A))}
		if x.kind == kindShare {
			c.Value = d.signed(x.kind, x.Change)
		} else {
			c.Note += " " + d.unitName()
		}
		return c
	}
	list := []card{one("Execution time", "execution"), one("Parallel efficiency", "parallel_efficiency"), one("Computing, mean of a process", "cpu"), one("MPI, mean of a process", "mpi")}
	if root.metric("wait").B.Known() {
		list = append(list, one("Waiting, mean of a process", "wait"))
	}
	list[0].Grade = verdictGrades[root.Verdict]
	return list
}

var verdictGrades = map[string]string{diffWorse: "poor", diffBetter: "good"}

// cell is a number of one run.
func (d *Diff) cell(kind metricKind, v DiffNumber) Cell {
	c := Cell{Text: d.number(kind, v)}
	if v.Known() {
		b, _ := v.MarshalJSON() // of a number that is known
		c.Value = string(b)
	}
	return c
}

// change is the change of a line.
func (d *Diff) change(x *DiffLine) Cell {
	return named(d.signed(x.kind, x.Change), d.cell(x.kind, x.Change).Value)
}

// ratio is the change in per cent; programs get B / A.
func (d *Diff) ratio(x *DiffLine) Cell { return named(x.percent(), d.cell(kindShare, x.Ratio).Value) }

// intervals has a line for each interval of both runs, and what one has alone.
func (d *Diff) intervals(b *book, c *chapter) {
	longest := whole(0)
	if x := d.Intervals[0].metric("execution"); x.A.Known() && x.B.Known() {
		longest = x.A.Fraction
		if x.B.Compare(longest) > 0 {
			longest = x.B.Fraction
		}
	}
	t := &Table{Title: "Intervals that both runs have", folds: true, Columns: []Column{
		words("interval", ""), ints("time A", ""), ints("time B", ""), ints("change", ""), words("%", ""), reals("efficiency A", ""), reals("B", ""), ints("waits A", ""), ints("B", ""),
		words("verdict", ""), words("A above B", "").wide(),
	}, Notes: []string{"in " + d.unitName() + ", time of the longest process, waits of a process on average; efficiency is POP's parallel efficiency"}}
	if t.least = screenRows; b.page {
		t.least = htmlNodes
	}
	fill(t, "interval", d.Intervals, func(n *DiffNode) []Cell {
		time, eff, wait := n.metric("execution"), n.metric("parallel_efficiency"), n.metric("wait")
		mark := Cell{}
		if n.Verdict != diffSame {
			mark = Cell{Text: n.Verdict, class: "word " + verdictGrades[n.Verdict]}
		}
		return []Cell{
			tree(n.Path[len(n.Path)-1], n.level), d.cell(kindTime, time.A), d.cell(kindTime, time.B), d.change(time), d.ratio(time),
			d.cell(kindShare, eff.A), d.cell(kindShare, eff.B), d.cell(kindTime, wait.A), d.cell(kindTime, wait.B), mark,
			{picture: diffBars(time, longest)},
		}
	})
	c.table(t)
	for i, letter := range []string{"A", "B"} {
		only := &Table{Title: "In " + letter + " alone", Columns: []Column{words("intervals of "+letter+" alone:", "")}}
		fill(only, "interval", d.Only[i], func(name *string) []Cell { return []Cell{word("  " + clean(*name, 120))} })
		c.table(only)
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

// lineTable has numbers of both runs.
func (d *Diff) lineTable(title, head string, list []DiffLine) *Table {
	t := &Table{Title: title, Columns: []Column{words(head, ""), ints("A", ""), ints("B", ""), ints("change", ""), words("%", "")}}
	for i := range list {
		if x := &list[i]; x.A.Known() || x.B.Known() {
			t.add(word(lineName(x)), d.cell(x.kind, x.A), d.cell(x.kind, x.B), d.change(x), d.ratio(x))
		}
	}
	return t
}

// lineName is the name of a line, and where it is a mean.
func lineName(x *DiffLine) string {
	for _, m := range diffMetrics {
		if m.name == x.Name && m.mean {
			return x.Name + ", mean of a process"
		}
	}
	return x.Name
}

// regionTable has the regions whose time changed most.
func (d *Diff) regionTable() *Table {
	t := &Table{Title: "Regions by change of exclusive time, mean of a process", Columns: []Column{
		words("regions by change, mean of a process", ""), ints("time A", ""), ints("time B", ""), ints("change", ""), words("%", ""), ints("calls A", ""), ints("B", ""),
		ints("bytes A", ""), ints("B", ""), words("class", ""),
	}}
	fill(t, "region", d.Regions, func(r *DiffRegion) []Cell {
		percent := d.ratio(&r.Time)
		percent.Text = r.only12()
		return []Cell{
			word(clean(r.Name, 48)), d.cell(kindTime, r.Time.A), d.cell(kindTime, r.Time.B), d.change(&r.Time), percent,
			d.cell(kindCount, r.Calls.A), d.cell(kindCount, r.Calls.B), r.Bytes.bytes(r.Bytes.A), r.Bytes.bytes(r.Bytes.B), word(stateLabel(r.Class)),
		}
	})
	return t
}

// data has a row for each number: what it is of, and what it is.
func (d *Diff) data() *Table {
	t := &Table{Columns: []Column{
		words("", "kind").hidden(), words("", "name").hidden(), words("", "metric").hidden(), reals("", "a").hidden(), reals("", "b").hidden(), reals("", "change").hidden(), reals("", "ratio").hidden(),
	}}
	add := func(kind, name string, list []DiffLine) {
		t.each(func(yield func([]Cell) bool) {
			for i := range list {
				x := &list[i]
				if !yield([]Cell{word(kind), word(name), word(x.Name), d.cell(x.kind, x.A), d.cell(x.kind, x.B), d.change(x), d.ratio(x)}) {
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

// only12 is the change in per cent, or which run alone calls the region.
func (r *DiffRegion) only12() string {
	if r.only > 0 {
		return [...]string{"A alone", "B alone"}[r.only-1]
	}
	return r.Time.percent()
}

// bytes prints a number of bytes, "" for none in both runs.
func (x *DiffLine) bytes(v DiffNumber) Cell {
	if !x.A.Known() || !x.B.Known() || x.A.Sign() == 0 && x.B.Sign() == 0 {
		return none()
	}
	return size(uint64(v.Round()))
}

// sentences say what got worse and better, and by which rule.
func (d *Diff) sentences() []string {
	const most = 5
	rule := fmt.Sprintf("an interval counts as worse or better where its time changed by more than %s and by 1 %% of A's runtime or more", percentRat(d.Threshold.Fraction))
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
			list = append(list, fmt.Sprintf("%s: and %s more", x.name, plural(n, "interval")))
		}
	}
	if len(list) == 0 {
		list = append(list, "no interval got worse or better")
	}
	return append(list, rule)
}

// percentRat is a share in per cent, with as many digits as it needs.
func percentRat(r Fraction) string {
	text := r.Times(100).Fixed(4)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}

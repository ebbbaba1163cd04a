package report

import (
	"fmt"
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

// WriteCSV writes a row for each number: what it is of, and what it is.
func (d *Diff) WriteCSV(out io.Writer) error {
	rows := [][]string{{"kind", "name", "metric", "a", "b", "change", "ratio"}}
	add := func(kind, name string, x *DiffLine) {
		row := []string{kind, name, x.Name}
		for _, v := range []DiffNumber{x.A, x.B, x.Change, x.Ratio} {
			text := ""
			if b, err := v.MarshalJSON(); err == nil && v.Known() {
				text = string(b)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	for i := range d.Intervals {
		n := &d.Intervals[i]
		for k := range n.Metrics {
			add("interval", strings.Join(n.Path, " > "), &n.Metrics[k])
		}
	}
	for i := range d.Waits {
		add("wait", "", &d.Waits[i])
	}
	for i := range d.Regions {
		r := &d.Regions[i]
		for _, x := range []*DiffLine{&r.Time, &r.Calls, &r.Bytes} {
			add("region", r.Name, x)
		}
	}
	return writeTable(out, rows)
}

// WriteText writes the comparison for people.
func (d *Diff) WriteText(out io.Writer, style Style) error {
	w := &writer{style: style, unit: unit{d.Runs[0].Resolution}}
	for i, letter := range []string{"A", "B"} {
		r := &d.Runs[i]
		w.title(fmt.Sprintf("%s  %s  %s  %s %s  %s events", letter, clean(r.Name, 80), plural(r.Processes, "process"), d.number(kindTime, r.Runtime), w.unit.name(), count(r.Events)))
		if r.Partial {
			w.line("partial: the input of %s was damaged or incomplete; its numbers describe what could be read", letter)
		}
	}
	if d.Identical {
		w.line("the files are identical, byte by byte")
		return w.flush(out)
	}
	d.writeOptions(w)
	d.writeTree(w)
	d.writeWhole(w)
	d.writeLines(w, "<waits, mean of a process", d.Waits)
	d.writeRegions(w)
	w.line("")
	for _, s := range d.sentences() {
		w.line("> %s", s)
	}
	w.lost(d.Lost)
	return w.flush(out)
}

func (d *Diff) writeOptions(w *writer) {
	if len(d.Provenance) == 0 {
		w.line("made in the same way from inputs of the same identity")
		return
	}
	tab := table{head: []string{"<made differently", "<A", "<B"}}
	for _, o := range d.Provenance {
		tab.add(o.Name, shortened(o.A, 60), shortened(o.B, 60))
	}
	w.table(&tab)
}

// writeTree writes a line for each interval of both runs.
func (d *Diff) writeTree(w *writer) {
	w.line("")
	tab := table{head: []string{"<interval", "time A", "time B", "change", "<", "efficiency A", "B", "waits A", "B", "<"}}
	shown := d.Intervals[:min(len(d.Intervals), max(w.style.rows(), screenRows))]
	for i := range shown {
		n := &shown[i]
		time, eff, wait := n.metric("execution"), n.metric("parallel_efficiency"), n.metric("wait")
		mark := ""
		if n.Verdict != diffSame {
			mark = n.Verdict
		}
		tab.add(strings.Repeat("  ", n.level)+n.Path[len(n.Path)-1], d.number(kindTime, time.A), d.number(kindTime, time.B), d.signed(kindTime, time.Change), time.percent(),
			d.number(kindShare, eff.A), d.number(kindShare, eff.B), d.number(kindTime, wait.A), d.number(kindTime, wait.B), mark)
	}
	w.table(&tab)
	w.more(len(d.Intervals), len(shown), "interval")
	w.line("in %s, time of the longest process, waits of a process on average; efficiency is POP's parallel efficiency", w.unit.name())
	for i, letter := range []string{"A", "B"} {
		list := d.Only[i]
		for k, name := range list[:min(len(list), w.style.rows())] {
			if k == 0 {
				w.line("intervals of %s alone:", letter)
			}
			w.line("  %s", clean(name, 120))
		}
		w.more(len(list), min(len(list), w.style.rows()), "interval")
	}
}

// writeWhole writes all metrics of the whole program.
func (d *Diff) writeWhole(w *writer) {
	d.writeLines(w, "<whole program", d.Intervals[0].Metrics)
}

func (d *Diff) writeLines(w *writer, head string, list []DiffLine) {
	tab := table{head: []string{head, "A", "B", "change", "<"}}
	for i := range list {
		x := &list[i]
		if !x.A.Known() && !x.B.Known() {
			continue
		}
		tab.add(lineName(x), d.number(x.kind, x.A), d.number(x.kind, x.B), d.signed(x.kind, x.Change), x.percent())
	}
	if len(tab.rows) > 0 {
		w.line("")
		w.table(&tab)
	}
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

// writeRegions writes the regions whose time changed most.
func (d *Diff) writeRegions(w *writer) {
	tab := table{head: []string{"<regions by change, mean of a process", "time A", "time B", "change", "<", "calls A", "B", "bytes A", "B", "<class"}}
	shown := d.Regions[:min(len(d.Regions), w.style.rows())]
	for i := range shown {
		r := &shown[i]
		tab.add(clean(r.Name, 48), d.number(kindTime, r.Time.A), d.number(kindTime, r.Time.B), d.signed(kindTime, r.Time.Change), r.only12(),
			d.number(kindCount, r.Calls.A), d.number(kindCount, r.Calls.B), r.Bytes.bytes(r.Bytes.A), r.Bytes.bytes(r.Bytes.B), stateLabel(r.Class))
	}
	if len(tab.rows) > 0 {
		w.line("")
		w.table(&tab)
		w.more(len(d.Regions), len(shown), "region")
	}
}

// only12 is the change in per cent, or which run alone calls the region.
func (r *DiffRegion) only12() string {
	if r.only > 0 {
		return [...]string{"A alone", "B alone"}[r.only-1]
	}
	return r.Time.percent()
}

// bytes prints a number of bytes, "" for none in both runs.
func (x *DiffLine) bytes(v DiffNumber) string {
	if !x.A.Known() || !x.B.Known() || x.A.Sign() == 0 && x.B.Sign() == 0 {
		return ""
	}
	return Bytes(uint64(v.Round()))
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

package report

import (
	"fmt"
	"strconv"
	"strings"
)

// warnAbove is the share from which on a part of the error is warned of.
const warnAbove = 0.05

// predictedTimes are the columns of what PredictedTimes.list has.
func predictedTimes(data bool) []Column {
	list := []Column{ints("predicted s", "finish")}
	for _, name := range []string{"compute", "send", "receive", "wait", "collective", "file", "kept"} {
		list = append(list, ints(strings.Replace(name, "compute", "computing", 1), name))
	}
	if !data {
		for i := range list {
			list[i].Key = ""
		}
	}
	return list
}

func (t *PredictedTimes) cells(u unit) (row []Cell) {
	for _, v := range t.list() {
		row = append(row, u.time(v))
	}
	return row
}

// book has the prediction; programs get the points of a sweep or, without one, the processes.
func (p *Prediction) book(page bool, _ int) (*book, error) {
	b := &book{unit: unit{Picoseconds}, page: page, name: p.Name, subtitle: "Predicted by coppice"}
	title := fmt.Sprintf("%s  %s", clean(p.Name, 60), plural(len(p.Processes), "process"))
	if m := p.Platform; m != nil {
		title += fmt.Sprintf("  predicted on %s, %s", clean(orUnnamed(m.Name), 60), plural(int(m.Nodes), "node"))
		b.notes = append(b.notes, fmt.Sprintf("engine %s, contention %s, receive policy %s, mapping %s", m.Engine, m.Contention, m.Policy, m.Mapping))
	}
	b.heads = []string{title}
	b.notes = append(b.notes, p.Computation.text(len(p.Processes)))
	c := b.chapter("run", "Runtime", "")
	c.table(p.Computation.donorTable(b.unit))
	p.run(b.unit, c)
	p.classTable(b.unit, c)
	c.table(p.processTable(b.unit))
	c.table(p.errorTable(b.unit))
	if p.Unmatched > 0 {
		c.say("left out: %s of messages and collectives without the other end", plural(int(p.Unmatched), "side"))
	}
	for _, x := range p.LeftOut {
		c.say("%s: %s", x.Text, count(x.Count))
	}
	if p.Sweep != nil {
		c.table(p.Sweep.table(b.unit))
	}
	if len(p.Commands) > 0 {
		c.line(gapLine, "")
		c.say("the computation is that of the recorded run; to measure it on a node of the target:")
	}
	for _, x := range p.Commands {
		c.line(itemLine, x)
	}
	return b, nil
}

// text says where computation times come from.
func (c *PredictedComputing) text(processes int) string {
	switch c.Source {
	case "recorded":
		return "computation: as recorded"
	case "scaled":
		return "computation: recorded times x " + c.Scale
	}
	return fmt.Sprintf("computation: vectors of %s by rule %s, for %s of %d; the others recorded times x %s",
		plural(len(c.Donors), "process"), c.Rule, plural(int(c.Replaced), "process"), processes, c.Scale)
}

func (c *PredictedComputing) donorTable(u unit) *Table {
	t := &Table{Title: "Processes whose computation was measured", Columns: []Column{
		ints("process", ""), ints("for", ""), ints("target s", ""), ints("recorded s", ""), reals("x", ""), words("", ""),
	}}
	fill(t, "process", c.Donors, func(d *Donor) []Cell {
		off := d.partly()
		if d.Off > 0 {
			off += fmt.Sprintf("; %s s of the replay not on a processor", u.ticks(d.Off))
		}
		return []Cell{plainNumber(d.Process), number(d.Processes), u.time(d.Target), u.time(d.Host), quotient(ratio64(d.Target, d.Host), 4), word(strings.TrimPrefix(off, "; "))}
	})
	return t
}

// partly says how much of a vector was measured.
func (d *Donor) partly() string {
	if d.Measured+2 >= d.Entries { // before MPI_Init and after MPI_Finalize nothing is measured
		return ""
	}
	return fmt.Sprintf("; %s of %s entries measured, the others follow them by site", count(d.Measured), count(d.Entries))
}

func orUnnamed(name string) string {
	if name == "" {
		return "an unnamed platform"
	}
	return name
}

// run compares the whole run, or names the cycle of a deadlock.
func (p *Prediction) run(u unit, c *chapter) {
	switch d := p.Deadlock; {
	case d != nil:
		c.say("deadlock: the program never ends on this platform")
		t := &Table{Title: "Processes that wait for each other", Columns: []Column{ints("process", ""), words("waits in", ""), ints("call", ""), ints("for process", "")}}
		fill(t, "process", d.Cycle, func(b *BlockedCall) []Cell {
			return []Cell{plainNumber(b.Process), word(clean(b.Function, 60)), number(b.Call), plainNumber(b.For)}
		})
		c.table(t)
		if d.Eager > 0 {
			c.say("eager_bytes = %d or more resolves this cycle", d.Eager)
		}
	case p.Makespan != nil:
		c.say("runtime: measured %s s, predicted %s s, x %s", u.ticks(p.Measured), u.ticks(*p.Makespan), p.Ratio.text(4))
	default:
		c.say("runtime: measured %s s", u.ticks(p.Measured))
	}
	if p.Bound > 0 {
		c.say("recorded times of a process are within %s s of the true ones", u.ticks(p.Bound))
	}
}

// classTable has a line for each class, unless the processes say it all.
func (p *Prediction) classTable(u unit, c *chapter) {
	if p.Makespan == nil || len(p.Classes) == len(p.Processes) {
		return
	}
	t := &Table{Title: "Classes of processes", Columns: append([]Column{ints("class", ""), ints("like", ""), ints("processes", ""), ints("measured s", ""), ints("computing", "")}, predictedTimes(false)...)}
	fill(t, "class", p.Classes, func(x *PredictedClass) []Cell {
		return append([]Cell{plainNumber(x.Class), plainNumber(x.Representative), number(x.Processes), u.time(x.Measured.Finish), u.time(x.Measured.Compute)}, x.Mean.cells(u)...)
	})
	t.Notes = []string{"means of the processes of a class: they call the same in the same order"}
	if p.Computation.Threshold != "" {
		t.Notes[0] = fmt.Sprintf("means of the processes of a class: they call the same and compute alike (%s)", clean(p.Computation.Threshold, 40))
	}
	c.table(t)
}

func (p *Prediction) processTable(u unit) *Table {
	t := &Table{Title: "Processes", Columns: append([]Column{
		ints("process", "rank"), ints("class", "class"), ints("node", "node"), ints("", "calls").hidden(), ints("", "messages_sent").hidden(), ints("measured s", "measured_finish"), ints("computing", "measured_compute"),
	}, predictedTimes(true)...)}
	for i := range t.Columns {
		if p.Makespan == nil {
			t.Columns[i] = t.Columns[i].hidden()
		}
		if p.Sweep != nil {
			t.Columns[i].Key = ""
		}
	}
	fill(t, "process", p.Processes, func(x *PredictedProcess) []Cell {
		return append([]Cell{
			plainNumber(x.Process), plainNumber(x.Class), plainNumber(x.Node), number(x.Calls), number(x.Messages), u.time(x.Measured.Finish), u.time(x.Measured.Compute),
		}, x.Predicted.cells(u)...)
	})
	return t
}

// errorTable has the parts of the error.
func (p *Prediction) errorTable(u unit) *Table {
	e := &p.Errors
	t := &Table{Title: "Parts of the error", Columns: []Column{words("part of the error", ""), reals("", ""), words("", "")}}
	for _, x := range []struct {
		name  string
		share Ratio
		text  string
		need  string
	}{
		{"network", e.Net, e.hostText(u, p.Measured), "needs --host-platform"},
		{"classes", e.Class, e.classText(u), "needs --host-platform or --platform"},
		{"replay", e.Replay, e.replayText(u), "needs --host-vectors"},
		{"spread", e.Spread, e.spreadText(u), "needs vectors of replays with --repeat"},
		{"delay", e.Delay, e.delayText(u), "needs a run of coppice record"},
	} {
		if !x.share.Defined {
			x.text = x.need
		} else if x.share.Value > warnAbove {
			x.text += "; above 5 %: do not trust the prediction further than that"
		}
		t.add(word(x.name), share(x.share), word(x.text))
	}
	return t
}

func (e *PredictedErrors) hostText(u unit, measured uint64) string {
	if e.HostMakespan == nil {
		return ""
	}
	return fmt.Sprintf("simulated on %s %s s, measured %s s", clean(orUnnamed(e.HostPlatform), 60), u.ticks(*e.HostMakespan), u.ticks(measured))
}

func (e *PredictedErrors) classText(u unit) string {
	if e.ClassMakespan == nil {
		return "0 by construction: recorded times are scaled, not copied"
	}
	return fmt.Sprintf("%s s with the vectors of representatives", u.ticks(*e.ClassMakespan))
}

func (e *PredictedErrors) replayText(u unit) string {
	if e.WorstReplay == nil {
		return ""
	}
	return fmt.Sprintf("of process %d, the worst: %s s replayed, %s s recorded", *e.WorstReplay, u.ticks(e.Replayed), u.ticks(e.Recorded))
}

func (e *PredictedErrors) spreadText(u unit) string {
	if e.WorstSpread == nil {
		return ""
	}
	return fmt.Sprintf("repetitions of process %d, the farthest apart: %s to %s s", *e.WorstSpread, u.ticks(e.Least), u.ticks(e.Most))
}

func (e *PredictedErrors) delayText(u unit) string {
	if e.WorstDelay == nil {
		return ""
	}
	return fmt.Sprintf("of the recorded computation of process %d, the most: it had no processor for %s s", *e.WorstDelay, u.ticks(e.Delayed))
}

// table has the points of a sweep.
func (s *PredictedSweep) table(u unit) *Table {
	t := &Table{Title: "Sweep", Notes: []string{"x: against the platform as it is"}}
	for _, a := range s.Axes {
		t.Columns = append(t.Columns, Column{Name: a.Name, Key: a.Name, Kind: TextColumn})
	}
	t.Columns = append(t.Columns, ints("predicted s", "makespan"), ints("computing", "compute"), reals("x", "ratio"))
	for _, x := range s.Points {
		var row []Cell
		for _, v := range x.Values {
			row = append(row, named(clean(v, 40), v))
		}
		if x.Makespan == nil {
			t.add(append(row, Cell{Text: "deadlock"}, Cell{Value: strconv.FormatUint(x.Compute, 10)}, Cell{Value: x.Ratio.csv()})...)
			continue
		}
		t.add(append(row, u.time(*x.Makespan), u.time(x.Compute), quotient(x.Ratio, 4))...)
	}
	return t
}

package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// warnAbove is the share from which on a part of the error is warned of.
const warnAbove = 0.05

// WriteText writes the prediction for people.
func (p *Prediction) WriteText(out io.Writer, style Style) error {
	w := &writer{style: style, unit: unit{Picoseconds}}
	p.writeHead(w)
	p.writeRun(w)
	p.writeClasses(w)
	p.writeProcesses(w)
	p.writeErrors(w)
	p.writeLeftOut(w)
	p.writeSweep(w)
	if len(p.Commands) > 0 {
		w.line("\nthe computation is that of the recorded run; to measure it on a node of the target:")
		for _, c := range p.Commands {
			w.line("  %s", c)
		}
	}
	return w.flush(out)
}

// writeHead says what is predicted.
func (p *Prediction) writeHead(w *writer) {
	title := fmt.Sprintf("%s  %s", clean(p.Name, 60), plural(len(p.Processes), "process"))
	if m := p.Platform; m != nil {
		title += fmt.Sprintf("  predicted on %s, %s", clean(orUnnamed(m.Name), 60), plural(int(m.Nodes), "node"))
	}
	w.title(title)
	if m := p.Platform; m != nil {
		w.line("engine %s, contention %s, receive policy %s, mapping %s", m.Engine, m.Contention, m.Policy, m.Mapping)
	}
	c := &p.Computation
	switch c.Source {
	case "recorded":
		w.line("computation: as recorded")
	case "scaled":
		w.line("computation: recorded times x %s", c.Scale)
	default:
		w.line("computation: vectors of %s by rule %s, for %s of %d; the others recorded times x %s",
			plural(len(c.Donors), "process"), c.Rule, plural(int(c.Replaced), "process"), len(p.Processes), c.Scale)
	}
	for i := range c.Donors {
		d := &c.Donors[i]
		off := ""
		if d.Off > 0 {
			off = fmt.Sprintf("; %s s of the replay not on a processor", w.unit.ticks(d.Off))
		}
		w.line("  process %d for %s: %s s there, %s s recorded, x %s%s%s", d.Process, plural(int(d.Processes), "process"),
			w.unit.ticks(d.Target), w.unit.ticks(d.Host), ratio64(d.Target, d.Host).text(4), d.partly(), off)
		if i == w.style.rows()-1 && i < len(c.Donors)-1 {
			w.more(len(c.Donors), i+1, "process")
			break
		}
	}
}

// partly says how much of a vector was measured.
func (d *Donor) partly() string {
	if d.Measured+2 >= d.Entries { // before MPI_Init and behind MPI_Finalize nothing is measured
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

// writeRun compares the whole run.
func (p *Prediction) writeRun(w *writer) {
	w.line("")
	switch {
	case p.Deadlock != nil:
		p.Deadlock.write(w)
	case p.Makespan != nil:
		w.line("runtime: measured %s s, predicted %s s, x %s", w.unit.ticks(p.Measured), w.unit.ticks(*p.Makespan), p.Ratio.text(4))
	default:
		w.line("runtime: measured %s s", w.unit.ticks(p.Measured))
	}
	if p.Bound > 0 {
		w.line("recorded times of a process are within %s s of the true ones", w.unit.ticks(p.Bound))
	}
}

// write names the cycle.
func (d *PredictedDeadlock) write(w *writer) {
	w.line("deadlock: the program never ends on this platform")
	for i, b := range d.Cycle {
		if i == w.style.rows() {
			w.more(len(d.Cycle), i, "process")
			break
		}
		w.line("  process %d waits in %s, its call %s, for process %d", b.Process, clean(b.Function, 60), count(b.Call), b.For)
	}
	if d.Eager > 0 {
		w.line("eager_bytes = %d or more resolves this cycle", d.Eager)
	}
}

// writeClasses writes a line for each class.
func (p *Prediction) writeClasses(w *writer) {
	if p.Makespan == nil || len(p.Classes) == len(p.Processes) { // the processes say it all
		return
	}
	w.line("")
	tab := table{head: []string{"class", "like", "processes", "measured s", "computing", "predicted s", "computing", "send", "receive", "wait", "collective", "file", "kept"}}
	for i := range p.Classes {
		if i == w.style.rows() {
			break
		}
		c := &p.Classes[i]
		row := []string{strconv.Itoa(c.Class), strconv.Itoa(int(c.Representative)), count(c.Processes), w.unit.ticks(c.Measured.Finish), w.unit.ticks(c.Measured.Compute)}
		for _, v := range c.Mean.list() {
			row = append(row, w.unit.ticks(v))
		}
		tab.add(row...)
	}
	w.table(&tab)
	w.more(len(p.Classes), min(len(p.Classes), w.style.rows()), "class")
	if p.Computation.Threshold == "" {
		w.line("means of the processes of a class: they call the same in the same order")
	} else {
		w.line("means of the processes of a class: they call the same and compute alike (%s)", clean(p.Computation.Threshold, 40))
	}
}

// writeProcesses writes a line for each process.
func (p *Prediction) writeProcesses(w *writer) {
	if p.Makespan == nil {
		return
	}
	w.line("")
	tab := table{head: []string{"process", "class", "node", "measured s", "computing", "predicted s", "computing", "send", "receive", "wait", "collective", "file", "kept"}}
	shown := p.Processes[:min(len(p.Processes), w.style.rows())]
	for i := range shown {
		x := &shown[i]
		row := []string{strconv.Itoa(int(x.Process)), strconv.Itoa(x.Class), strconv.Itoa(int(x.Node)), w.unit.ticks(x.Measured.Finish), w.unit.ticks(x.Measured.Compute)}
		for _, v := range x.Predicted.list() {
			row = append(row, w.unit.ticks(v))
		}
		tab.add(row...)
	}
	w.table(&tab)
	w.more(len(p.Processes), len(shown), "process")
}

// writeErrors writes the parts of the error.
func (p *Prediction) writeErrors(w *writer) {
	e := &p.Errors
	w.line("")
	tab := table{head: []string{"<part of the error", "", "<"}}
	for _, x := range []struct {
		name  string
		share Ratio
		text  string
		need  string
	}{
		{"network", e.Net, e.hostText(w.unit, p.Measured), "needs --host-platform"},
		{"classes", e.Class, e.classText(w.unit), "needs --host-platform or --platform"},
		{"replay", e.Replay, e.replayText(w.unit), "needs --host-vectors"},
		{"spread", e.Spread, e.spreadText(w.unit), "needs vectors of replays with --repeat"},
		{"delay", e.Delay, e.delayText(w.unit), "needs a run of coppice record"},
	} {
		if !x.share.Defined {
			x.text = x.need
		} else if x.share.Value > warnAbove {
			x.text += "; above 5 %: do not trust the prediction further than that"
		}
		tab.add(x.name, x.share.percent(), x.text)
	}
	w.table(&tab)
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

// writeLeftOut says what is not simulated as it was.
func (p *Prediction) writeLeftOut(w *writer) {
	if p.Unmatched > 0 {
		w.line("left out: %s of messages and collectives without the other end", plural(int(p.Unmatched), "side"))
	}
	for _, x := range p.LeftOut {
		w.line("%s: %s", x.Text, count(x.Count))
	}
}

// writeSweep writes the table of a sweep.
func (p *Prediction) writeSweep(w *writer) {
	if p.Sweep == nil {
		return
	}
	w.line("")
	var tab table
	for _, a := range p.Sweep.Axes {
		tab.head = append(tab.head, a.Name)
	}
	tab.head = append(tab.head, "predicted s", "computing", "x", "<")
	for _, x := range p.Sweep.Points {
		row := []string{}
		for _, v := range x.Values {
			row = append(row, clean(v, 40))
		}
		if x.Makespan == nil {
			tab.add(append(row, "deadlock", "", "", "")...)
			continue
		}
		tab.add(append(row, w.unit.ticks(*x.Makespan), w.unit.ticks(x.Compute), x.Ratio.text(4), w.bar(x.Ratio))...)
	}
	w.table(&tab)
	w.line("x: against the platform as it is")
}

// WriteCSV writes a row for each point of the sweep or, without one, for each process. Times are picoseconds.
func (p *Prediction) WriteCSV(out io.Writer) error {
	rows := p.processRows()
	if p.Sweep != nil {
		rows = p.Sweep.rows()
	}
	return writeTable(out, rows)
}

func (p *Prediction) processRows() [][]string {
	rows := [][]string{strings.Split("rank,class,node,calls,messages_sent,measured_finish,measured_compute,finish,compute,send,receive,wait,collective,file,kept", ",")}
	for i := range p.Processes {
		x := &p.Processes[i]
		row := []string{strconv.Itoa(int(x.Process)), strconv.Itoa(x.Class), strconv.Itoa(int(x.Node))}
		times := x.Predicted.list()
		for _, v := range append([]uint64{x.Calls, x.Messages, x.Measured.Finish, x.Measured.Compute}, times[:]...) {
			row = append(row, strconv.FormatUint(v, 10))
		}
		rows = append(rows, row)
	}
	return rows
}

func (s *PredictedSweep) rows() [][]string {
	var head []string
	for _, a := range s.Axes {
		head = append(head, a.Name)
	}
	rows := [][]string{append(head, "makespan", "compute", "ratio")}
	for _, x := range s.Points {
		makespan := ""
		if x.Makespan != nil {
			makespan = strconv.FormatUint(*x.Makespan, 10)
		}
		row := append([]string{}, x.Values...)
		rows = append(rows, append(row, makespan, strconv.FormatUint(x.Compute, 10), x.Ratio.csv()))
	}
	return rows
}

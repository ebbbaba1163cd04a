package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// WriteText writes the sections that were asked for.
func (d *Document) WriteText(out io.Writer, style Style) error {
	w := &writer{style: style, unit: unit{d.Summary.Resolution}}
	d.writeHead(w)
	for _, s := range d.text {
		w.line("")
		switch s {
		case SectionSummary:
			d.writeSummary(w)
		case SectionIntervals:
			d.writeIntervals(w)
		case SectionWaits:
			d.writeWaits(w)
		case SectionPOP:
			d.writePOPs(w)
		case SectionProfile:
			d.writeProfile(w)
		case SectionPaths:
			d.writePaths(w)
		case SectionHistogram:
			d.writeHistogram(w)
		case SectionComm:
			d.writeComm(w)
		case SectionClasses:
			d.writeClasses(w)
		case SectionCCG:
			d.writeCCG(w)
		case SectionDiagnostics:
			d.writeDiagnostics(w)
		case SectionUntold:
			d.writeUntold(w, 0)
		}
	}
	w.lost(d.Lost)
	return w.flush(out)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		return count(uint64(n)) + " " + what + "es"
	}
	return count(uint64(n)) + " " + what + "s"
}

func (d *Document) writeHead(w *writer) {
	s := d.Summary
	head := fmt.Sprintf("%s  %s", d.Name, plural(d.Processes, "process"))
	if d.Locations != d.Processes {
		head += "  " + plural(d.Locations, "location")
	}
	head += fmt.Sprintf("  %s %s  %s events  file %s", w.unit.ticks(s.Ticks.Runtime), w.unit.name(), count(d.Events), Bytes(uint64(s.File.Bytes)))
	w.title(head)
	if s.Partial {
		w.line("partial: the input was damaged or incomplete; these numbers describe what could be read (section diagnostics)")
	}
}

func (d *Document) writeSummary(w *writer) {
	if d.screen != nil {
		d.writeScreen(w)
	}
	d.writeProgram(w)
	d.writeMPI(w)
	d.writePOP(w)
	d.writeHot(w)
	d.writeTraffic(w)
	d.writeProblems(w)
	d.writeUntold(w, untoldLines)
	w.line("")
	for _, f := range d.findingLines() {
		w.line("> %s", f)
	}
	w.line("next: coppice report %s %s", d.run.Path, d.next())
}

// next is the section to read next: waits of the interval that lost most, where
// there are intervals.
func (d *Document) next() string {
	if d.screen != nil && d.screen.next > 0 {
		return fmt.Sprintf("waits --time interval:#%d", d.screen.next)
	}
	if d.Summary.Rows && d.Summary.Spreads.has(xtf.ItemWaitCount) {
		return "waits pop profile"
	}
	return "profile comm ccg diagnostics"
}

// writeProgram writes the characteristics of section 4 of the interval model.
func (d *Document) writeProgram(w *writer) {
	s, t := d.Summary, &d.Summary.Ticks
	share := func(f Fraction) string { return over(f, t.Total).percent() }
	tab := table{head: []string{"<whole program", "time " + w.unit.name(), "of total", "<"}}
	longest := s.Item(xtf.ItemTime)
	tab.add("execution", w.unit.ticks(t.Execution), "", fmt.Sprintf("longest process: rank %d", longest.MaxP))
	tab.add(fmt.Sprintf("total, %s", plural(int(s.Processors), "process")), w.unit.big(t.Total), "100.0 %", "execution times processes")
	row := func(name string, f Fraction, note string) {
		if f.Sign() != 0 {
			tab.add(name, w.unit.fraction(f), share(f), note)
		}
	}
	row(ItemWord(xtf.ItemSetup), whole(t.Setup), "MPI_Init and MPI_Finalize: what follows is between them")
	tab.add("productive", w.unit.fraction(t.Productive), share(t.Productive), "")
	row("  "+ItemWord(xtf.ItemCPU), whole(t.CPU), "")
	if t.ioProductive {
		row("  "+ItemWord(xtf.ItemIO), whole(t.IO), "")
	}
	row("  MPI of one processor", t.MPIProductive, "rule: "+map[string]string{"mean": "the mean process", "min": "the process with least", "max": "the process with most", "rank0": "process 0"}[s.Rule])
	tab.add("lost", w.unit.fraction(t.Lost), share(t.Lost), "")
	row("  MPI", t.MPILost, "")
	for _, x := range t.losses() {
		row("  "+x.name, whole(x.ticks), x.note)
	}
	w.table(&tab)
	w.line("efficiency %s%s   speed-up %s of %d", w.bar(s.Efficiency), w.grade(s.Efficiency, s.Efficiency.text(6)), s.Speedup.text(2), s.Processors)
}

// componentLine is a component in the list of all; parts of one stand behind it.
type componentLine struct {
	indent string
	item   xtf.Item
}

// componentLines are the components of States in their order: first what is outside of MPI, then MPI, each with its parts, then
// what is no state.
func componentLines() []componentLine {
	lists := [2][]componentLine{{{"", xtf.ItemTime}}, {{"", xtf.ItemMPI}}} // outside of MPI, MPI
	for _, i := range xtf.Parts {
		s := xtf.StatesOf(i)
		if len(s) == 0 || xtf.States[s[0]].Within != xtf.NumItems {
			continue
		}
		indent, list := "", &lists[0]
		if xtf.States[s[0]].Activity == xtf.ActivityMPI {
			indent, list = "  ", &lists[1]
		}
		*list = append(*list, componentLine{indent, i})
		if i == xtf.ItemColl {
			*list = append(*list, componentLine{indent + "  ", xtf.ItemNxN})
		}
		for _, part := range xtf.PartsOf(i) {
			*list = append(*list, componentLine{indent + "  ", part})
		}
	}
	return append(append(lists[0], lists[1]...), componentLine{"  ", xtf.ItemStart}, componentLine{"", xtf.ItemPotentialSync},
		componentLine{"", xtf.ItemVariation}, componentLine{"", xtf.ItemSendRecv})
}

// writeMPI writes MPI time by class and what may be lost in it.
func (d *Document) writeMPI(w *writer) {
	s := d.Summary
	u := w.unit
	tab := table{head: []string{"<per process", "sum " + u.name(), "of total", "mean", "min", "<rank", "max", "<rank"}}
	for _, x := range componentLines() {
		i := s.Item(x.item)
		if i.Sum == 0 {
			continue
		}
		of := ratio(i.Sum, s.Ticks.Total).percent()
		if x.item == xtf.ItemSendRecv {
			of = "" // spans overlap and are no share of anything
		}
		tab.add(x.indent+ItemWord(x.item), u.big(i.Sum), of, u.real(i.Mean), u.ticks(i.Min), fmt.Sprintf("@%d", i.MinP), u.ticks(i.Max), fmt.Sprintf("@%d", i.MaxP))
	}
	w.line("")
	w.table(&tab)
}

func (d *Document) writePOP(w *writer) {
	p := &d.Summary.POP
	w.line("")
	note := "useful time over all time"
	if p.Threads != nil {
		note = fmt.Sprintf("process efficiency %s (load balance x communication) x threads %s", p.Process.text(3), p.Threads.OpenMP.text(3))
	}
	for _, x := range []struct {
		name string
		r    Ratio
		note string
	}{
		{"parallel efficiency", p.Parallel, note},
		{"  load balance", p.LoadBalance, "mean useful time over the largest"},
		{"  communication", p.Communication, "largest useful time over the runtime"},
		{"    serialisation", p.Serialisation, "largest useful time over the runtime on an ideal network"},
		{"    transfer", p.Transfer, "that over the runtime"},
	} {
		if !x.r.Defined && strings.HasPrefix(x.name, "    ") {
			continue
		}
		w.line("%-22s %s%s   %s", x.name, w.bar(x.r), w.grade(x.r, x.r.text(3)), x.note)
	}
	if p.IO.Defined {
		w.line("%-22s %s%s   %s", "I/O efficiency", w.bar(p.IO), w.grade(p.IO, p.IO.text(3)), "CPU time over CPU and I/O time")
		w.line("%-22s %s%s   %s", "  balance of I/O", w.bar(p.IOBalance), w.grade(p.IOBalance, p.IOBalance.text(3)), "mean I/O time over the largest")
	}
	if p.Unburdened.Defined {
		w.line("%-22s %s%s   %s", "without overhead", w.bar(p.Unburdened), w.grade(p.Unburdened, p.Unburdened.text(3)), "useful time over all time but that of the measurement")
	}
	if t := p.Threads; t != nil {
		w.line("%-22s %s%s   %s", "threads", w.bar(t.OpenMP), w.grade(t.OpenMP, t.OpenMP.text(3)),
			fmt.Sprintf("serial %s x balance %s x scheduling %s, of the threads' time outside MPI", t.Serial.text(3), t.Balance.text(3), t.Scheduling.text(3)))
	}
}

// hotRows is how many regions the summary names.
const hotRows = 8

func (d *Document) writeHot(w *writer) {
	list := d.hot.profile.byTime()
	tab := table{head: []string{"<regions by exclusive time", "calls", w.unit.name(), "share", w.unit.perCallName(), "<class"}}
	for i := range list[:min(len(list), hotRows)] {
		x := &list[i]
		tab.add(d.label(x, 40), x.calls(), w.unit.ticks(x.Exclusive), x.Share.percent(), x.perCall(w.unit), stateLabel(x.Class))
	}
	addOutside(&tab, d.hot.profile, w.unit)
	w.line("")
	w.table(&tab)
	if n := len(list) - hotRows; n > 0 {
		w.line("and %s more: coppice report %s profile", plural(n, "region"), d.run.Path)
	}
}

// addOutside adds the row of time in no recorded call to a table that begins
// with name, calls, time and share.
func addOutside(tab *table, p *Profile, u unit) {
	if p.Outside > 0 {
		tab.add("(outside recorded calls)", "", u.ticks(p.Outside), ratio64(p.Outside, p.Time).percent())
	}
}

// label is a region's name with its place in the source, where known.
func (d *Document) label(x *RegionTime, limit int) string {
	name := clean(x.Name, limit)
	file := clean(x.File[strings.LastIndexByte(x.File, '/')+1:], limit)
	if x.class != 0 || !strings.Contains(file, ".") || strings.HasPrefix(file, "<") { // some writers name a paradigm there
		return name
	}
	if x.Line == 0 || x.Line == trace.Undefined {
		return name + "  " + file
	}
	return fmt.Sprintf("%s  %s:%d", name, file, x.Line)
}

func (d *Document) writeTraffic(w *writer) {
	s := d.Summary
	m, c := &s.Messages, &s.Collectives
	if m.Sent > 0 || m.Received > 0 || c.Calls > 0 {
		w.line("")
	}
	if m.Sent > 0 || m.Received > 0 {
		text := fmt.Sprintf("messages     %s of %s", count(m.Sent), Bytes(m.BytesOut))
		if m.Sent > 0 {
			text += fmt.Sprintf(", %s each", Bytes(meanOf(m.BytesOut, m.Sent)))
		}
		if s.Rows && *m.UnmatchedSends+*m.UnmatchedRecvs > 0 {
			text += fmt.Sprintf("; unmatched: %s, %s", plural(int(*m.UnmatchedSends), "send"), plural(int(*m.UnmatchedRecvs), "receive"))
		}
		w.line("%s", text)
	}
	if c.Calls > 0 {
		w.line("collectives  %s calls, %s sent, %s received", count(c.Calls), Bytes(c.BytesOut), Bytes(c.BytesIn))
	}
	if !s.Rows {
		w.line("kept         the call graph alone (--events none): messages and collectives were not matched, so waits and clock violations are not known")
	}
}

// writeProblems writes the totals of diagnostics that matter.
func (d *Document) writeProblems(w *writer) {
	for i := range d.Diagnostics {
		c := &d.Diagnostics[i]
		if c.Code.Severity() != trace.Note {
			w.line("%-12s %s", severityName(c.Code.Severity()), d.codeLine(c, w.unit))
		}
	}
}

func (d *Document) codeLine(c *CodeTotal, u unit) string {
	if k, ok := c.Code.Unread(); ok {
		return fmt.Sprintf("%s %v records in %s: %s", count(c.Count), k, plural(int(c.Locations), "location"), k.Account().Untold)
	}
	text := fmt.Sprintf("%s: %s in %s", c.Code.Text(), count(c.Count), plural(int(c.Locations), "location"))
	if c.Locations == 0 {
		text = fmt.Sprintf("%s: %s in the definitions", c.Code.Text(), count(c.Count))
	}
	if c.Worst > 0 {
		text += ", worst " + u.magnitude(c.Code, c.Worst)
	}
	return text
}

// magnitude prints how bad a problem is: clocks differ by less than a microsecond
// too, so times have 9 decimals.
func (u unit) magnitude(code trace.Code, v uint64) string {
	switch {
	case !code.InTicks():
		return count(v)
	case u.resolution == 0:
		return count(v) + " ticks"
	}
	return fraction64(v, u.resolution).Fixed(9) + " s"
}

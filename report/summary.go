package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/findings"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// found adds the findings with their advice, and names the sections with more about each.
func (d *Document) found(c *table.Chapter) {
	var list [][3]string // text, advice and section
	losses, gains := false, 0
	for i := range d.Findings {
		x := &d.Findings[i]
		if x.Ticks > 0 && x.Kind != findings.KindSetup {
			gains++
		}
		losses = losses || x.Kind != findings.KindSetup && x.Kind != findings.KindKernel && x.Kind != findings.KindClock && (x.Kind != findings.KindOversubscription || x.Ticks > 0)
		section, _, _ := strings.Cut(strings.TrimPrefix(x.Query, "coppice report "+d.run.Path+" "), " ")
		list = append(list, [3]string{x.Text, x.Advice, section})
	}
	if !losses {
		text := fmt.Sprintf("nothing above %d %% of the run", findings.LeastFinding)
		if slices.ContainsFunc(d.Findings, func(x findings.Finding) bool { return x.Kind == findings.KindSetup }) {
			text = fmt.Sprintf("nothing but set-up and end above %d %% of the run", findings.LeastFinding)
		}
		if !d.Summary.Rows {
			text += " is known; waits are not: the file has the call graph alone (--events none)"
		}
		if x := findings.UntoldDevices(d.Summary); x > d.Summary.Ticks.Runtime/100*findings.LeastFinding {
			text += " is known; what devices compute is not, see what this trace cannot tell"
		}
		if asks := d.Summary.Item(xtf.ItemPolling).Max; float64(asks) > float64(d.Summary.Ticks.Runtime)/100*findings.LeastFinding {
			text += " is known; own code between calls that ask for messages in vain may be waiting, see what this trace cannot tell"
		}
		if findings.Unmeasured(d.Diagnostics, d.Summary.Ticks.Runtime) > 0 {
			text += " is known; what the program does while the measurement is off is not, see what this trace cannot tell"
		}
		for _, waits := range [...][2]string{{findings.OtherLibrary, "in calls of another library than MPI"}, {findings.SharedMemory, "for memory that processes share"}, {findings.OtherThreads, "of threads"}, {findings.Sleep, "in which all processes sleep"}} {
			if d.Untold != nil && slices.ContainsFunc(d.Untold.Missing, func(x findings.Missing) bool { return x.What == waits[0] }) {
				text += " is known; waits " + waits[1] + " are not, see what this trace cannot tell"
			}
		}
		if d.Summary.Ticks.Total == 0 {
			text = "nothing is known of the time of the run: no process has events"
		}
		c.Line(table.FindingLine, text)
	}
	for _, x := range list {
		c.Found(x[0], x[1], x[2])
	}
	if gains > 1 {
		c.Say("gains of findings overlap: they do not add up")
	}
}

// summary fills the chapter about the whole program.
func (d *Document) summary(b *table.Book, c *table.Chapter) {
	if b.Page {
		c.Blocks = append(c.Blocks, table.Block{Cards: d.cards(b.Unit)})
		c.Line(table.FindingLine, d.verdict(b.Unit))
		d.found(c)
	}
	if d.screen != nil && !(b.Page && d.Intervals != nil) {
		x := d.screen
		list := upperLevels(x.nodes, results.ScreenRows, 0, 2*results.ScreenRows)
		t := d.intervalTable(b, list, nil)
		if n := len(x.nodes) - len(list); n > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("and %s more: coppice report %s intervals", numbers.Plural(n, "interval"), d.run.Path))
		}
		c.Table(t)
	}
	c.Table(d.programTable(b))
	spreads := results.SpreadTable(b, "per process", "Time of a process by component", d.Summary.Spreads, componentLines(), d.Summary.Ticks.Total, results.ItemWord)
	spreads.Columns[len(spreads.Columns)-1].View = table.ViewWide // the deviation
	c.Table(spreads)
	c.Table(d.efficiencyTable(b))
	d.deviceTables(b, c)
	c.Table(energyTable(d.Energy))
	if !b.Page || d.Profile == nil {
		c.Table(d.hotTable(b))
	}
	predicted := &table.Table{Title: "A predicted run, not a measured one", Columns: []table.Column{table.Words("predicted", ""), table.Words("", "")}}
	for _, x := range results.Predicted(d.run) {
		predicted.Add(table.Word(x[0]), table.Word(x[1]))
	}
	c.Table(predicted)
	d.traffic(c)
	c.Table(d.problemTable(b.Unit, trace.Warning))
	if !b.Page || !slices.Contains(d.text, SectionUntold) {
		d.Untold.Chapter(c, untoldLines, "coppice report "+d.run.Path+" untold")
	}
	if b.Page {
		return
	}
	c.Line(table.GapLine, "")
	d.found(c)
	c.Say("next: coppice report %s %s", d.run.Path, d.next())
}

// cards are the numbers of the headline of a page.
func (d *Document) cards(u numbers.Units) []table.Card {
	s := d.Summary
	t := &s.Ticks
	processes := numbers.Count(d.Events) + " events"
	if d.Locations != d.Processes {
		processes = numbers.Plural(d.Locations, "location") + ", " + processes
	}
	list := []table.Card{{Name: "Efficiency", Value: s.Efficiency.Text(2), Note: "productive part of all time" + without(t) + ": " + table.GradeWord(s.Efficiency), Grade: table.GradeClass(s.Efficiency)}}
	if x := s.Devices; x != nil && x.Efficiency.Defined {
		list = append(list, table.Card{Name: "Device efficiency", Value: x.Efficiency.Text(2), Note: "kernel time of all devices' time: " + table.GradeWord(x.Efficiency), Grade: table.GradeClass(x.Efficiency)})
	} else if p := s.POP.Parallel; p.Defined {
		list = append(list, table.Card{Name: "Parallel efficiency (POP)", Value: p.Text(2), Note: "useful part of all time" + without(t) + ": " + table.GradeWord(p), Grade: table.GradeClass(p)})
	}
	return append(list, table.Card{Name: "Runtime", Value: u.Short(numbers.Whole(numbers.Integer(t.Runtime))) + " " + u.Name(), Note: "first to last event", Grade: ""}, table.Card{Name: "Processes", Value: numbers.Count(uint64(d.Processes)), Note: processes, Grade: ""},
		table.Card{Name: "Lost time", Value: u.Short(t.Lost) + " " + u.Name(), Note: numbers.Part(t.Lost, t.Measured).Percent() + " of " + u.Short(numbers.Whole(t.Measured)) + " " + u.Name() + " of all processes" + without(t), Grade: ""})
}

// without says what productive and lost time leave out.
func without(t *results.Ticks) string {
	if t.Setup == 0 {
		return ""
	}
	return ", without set-up and end"
}

// verdict says how well the run used its time.
func (d *Document) verdict(u numbers.Units) string {
	s := d.Summary
	t := &s.Ticks
	of := fmt.Sprintf("of %s %s of %s together%s", u.Short(numbers.Whole(t.Measured)), u.Name(), numbers.Plural(d.Processes, "process"), without(t))
	if d.Processes == 1 {
		of = fmt.Sprintf("of %s %s of the one process%s", u.Short(numbers.Whole(t.Measured)), u.Name(), without(t))
	}
	if !s.Efficiency.Defined {
		return "efficiency not known"
	}
	if s.Efficiency.Value >= table.Threshold {
		text := fmt.Sprintf("efficiency %s, which is good from %.1f on: %s, %s were productive", s.Efficiency.Text(2), table.Threshold, of, numbers.Part(t.Productive, t.Measured).Percent())
		low := func(r numbers.Ratio) bool { return r.Defined && r.Value < table.Threshold }
		switch x := s.Devices; {
		case x != nil && low(x.Efficiency):
			text += "; but device efficiency is " + x.Efficiency.Text(2)
		case low(s.POP.Parallel) && s.POP.Threads != nil:
			text += "; but parallel efficiency (POP), which counts all threads, is " + s.POP.Parallel.Text(2)
		case low(s.POP.Parallel):
			text += "; but parallel efficiency (POP), to which no MPI time is useful, is " + s.POP.Parallel.Text(2)
		}
		return text
	}
	mostly := "MPI"
	if d.Intervals != nil && len(d.Intervals.Nodes) > 0 {
		mostly = d.Intervals.Nodes[0].Mostly(u)
	}
	return fmt.Sprintf("efficiency %s, where less than %.1f calls for a look: %s, %s %s were lost, mostly %s", s.Efficiency.Text(2), table.Threshold, of, u.Short(t.Lost), u.Name(), mostly)
}

// next is the section to read next: waits of the interval that lost most, where there are intervals.
func (d *Document) next() string {
	if d.screen != nil && d.screen.next > 0 {
		return fmt.Sprintf("waits --time interval:#%d", d.screen.next)
	}
	if d.Summary.Rows && d.Summary.Spreads.Has(xtf.ItemWaitCount) {
		return "waits pop profile"
	}
	return "profile comm ccg diagnostics"
}

// programTable lists the characteristics of section 4 of the interval model.
func (d *Document) programTable(b *table.Book) *table.Table {
	s, t, u := d.Summary, &d.Summary.Ticks, b.Unit
	tab := &table.Table{Title: "Whole program", Kind: "program", Columns: []table.Column{table.Words("whole program", "name"), table.Reals(table.Of(u, "time"), "time"), table.Reals("of total", "share"), table.Words("", "")}}
	row := func(name string, f numbers.Fraction, note string, level int) {
		if f.Sign() != 0 {
			tab.Add(table.Tree(name, level), table.Exact(u, f), table.Share(numbers.Part(f, t.Total)), table.Word(note))
		}
	}
	tab.Add(table.Word("execution"), table.Time(u, t.Execution), table.None(), table.Word(fmt.Sprintf("longest process: rank %d", s.Item(xtf.ItemTime).MaxP)))
	tab.Add(table.Word("total, "+numbers.Plural(int(s.Processors), "process")), table.Ticks(u, t.Total), table.Share(numbers.Ratio{Value: 1, Defined: true}), table.Word("execution times processes"))
	row(results.ItemWord(xtf.ItemSetup), numbers.Whole(t.Setup), "what MPI_Init and MPI_Finalize add to the longest process, times processes; left out below", 0)
	tab.Add(table.Word("productive"), table.Exact(u, t.Productive), table.Share(numbers.Part(t.Productive, t.Total)))
	row(results.ItemWord(xtf.ItemCPU), numbers.Whole(t.CPU), "", 1)
	row("device work", numbers.Whole(t.DeviceWork), "the host is in calls of a device's runtime, and a device of its process computes", 1)
	if t.IoProductive {
		row(results.ItemWord(xtf.ItemIO), numbers.Whole(t.IO), "", 1)
	}
	row("MPI of one processor", t.MPIProductive, "rule: "+map[string]string{"mean": "the mean process", "min": "the process with least", "max": "the process with most", "rank0": "process 0"}[s.Rule], 1)
	tab.Add(table.Word("lost"), table.Exact(u, t.Lost), table.Share(numbers.Part(t.Lost, t.Total)))
	row("MPI", t.MPILost, "", 1)
	for _, x := range t.Losses() {
		switch {
		case x.Device && s.Devices == nil:
			x.Note += "; whether a device computes meanwhile is not known"
		case x.Device:
			x.Note += ", and none of its process computes"
		case x.Name == "idle" && s.Partial:
			x.Note += ", or of which the rest is missing"
		}
		row(x.Name, numbers.Whole(x.Ticks), x.Note, 1)
	}
	return tab
}

// componentLines lists the components of States in their order: first those outside of MPI, then MPI, each with its parts, then
// items that are not states.
func componentLines() []results.ComponentLine {
	lists := [2][]results.ComponentLine{{{Level: 0, Item: xtf.ItemTime}}, {{Level: 0, Item: xtf.ItemMPI}}} // outside of MPI, MPI
	for _, i := range xtf.Parts {
		s := xtf.StatesOf(i)
		if len(s) == 0 || xtf.States[s[0]].Within != xtf.NumItems {
			continue
		}
		level, list := 0, &lists[0]
		if xtf.States[s[0]].Activity == xtf.ActivityMPI {
			level, list = 1, &lists[1]
		}
		*list = append(*list, results.ComponentLine{Level: level, Item: i})
		if i == xtf.ItemColl {
			*list = append(*list, results.ComponentLine{Level: level + 1, Item: xtf.ItemNxN})
		}
		for _, part := range xtf.PartsOf(i) {
			*list = append(*list, results.ComponentLine{Level: level + 1, Item: part})
		}
	}
	return append(append(lists[0], lists[1]...), results.ComponentLine{Level: 1, Item: xtf.ItemStart}, results.ComponentLine{Level: 0, Item: xtf.ItemPotentialSync},
		results.ComponentLine{Level: 0, Item: xtf.ItemVariation}, results.ComponentLine{Level: 0, Item: xtf.ItemSendRecv})
}

// hotRows is how many regions the summary names.
const hotRows = 8

func (d *Document) hotTable(b *table.Book) *table.Table {
	u, p := b.Unit, d.hot.Profile
	t := &table.Table{Title: "Regions by exclusive time", Kind: "region", Most: hotRows, Whole: "coppice report " + d.run.Path + " profile", Columns: []table.Column{
		table.Words("regions by exclusive time", "name"), table.Ints("calls", "calls"), table.Ints(u.Name(), "exclusive"), table.Reals("of "+u.Ticks(p.Time), "share"), table.Reals(u.PerCallName(), ""), table.Words("class", "class"),
	}}
	table.Fill(t, "region", p.ByTime(), func(x *results.RegionTime) []table.Cell {
		return []table.Cell{table.Named(d.label(x, 40), x.Name), x.Recorded(), table.Time(u, x.Exclusive), table.Share(x.Share), table.Word(x.PerCall(u)), table.Named(results.StateLabel(x.Class), x.Class)}
	})
	if p.Outside > 0 {
		t.Add(table.Word("(outside recorded calls)"), table.None(), table.Time(u, p.Outside), table.Share(numbers.NewRatio(p.Outside, p.Time)))
	}
	return t
}

// label is the name of a region with its place in the source, if known.
func (d *Document) label(x *results.RegionTime, limit int) string {
	name := numbers.Clean(x.Name, limit)
	file := numbers.Clean(x.File[strings.LastIndexByte(x.File, '/')+1:], limit)
	if x.Kind != 0 || results.CallPlace(d.run, x.Region) != "" || !strings.Contains(file, ".") || strings.HasPrefix(file, "<") { // some writers name a paradigm there
		return name
	}
	if x.Line == 0 || x.Line == trace.Undefined {
		return name + "  " + file
	}
	return fmt.Sprintf("%s  %s:%d", name, file, x.Line)
}

// traffic says how much data was sent.
func (d *Document) traffic(c *table.Chapter) {
	s := d.Summary
	m, coll := &s.Messages, &s.Collectives
	c.Line(table.GapLine, "")
	if m.Sent > 0 || m.Received > 0 {
		text := fmt.Sprintf("messages     %s of %s", numbers.Count(m.Sent), numbers.Bytes(m.BytesOut))
		if m.Sent > 0 {
			text += fmt.Sprintf(", %s each", numbers.Bytes(numbers.MeanOf(m.BytesOut, m.Sent)))
			if s.Item(xtf.ItemMarker).Sum > 0 {
				text += ", those of markers too"
			}
		}
		if s.Rows && *m.UnmatchedSends+*m.UnmatchedRecvs > 0 {
			text += fmt.Sprintf("; unmatched: %s, %s", numbers.Plural(int(*m.UnmatchedSends), "send"), numbers.Plural(int(*m.UnmatchedRecvs), "receive"))
		}
		c.Say("%s", text)
	}
	if coll.Calls > 0 {
		c.Say("collectives  %s, %s sent, %s received", numbers.Plural(int(coll.Calls), "call"), numbers.Bytes(coll.BytesOut), numbers.Bytes(coll.BytesIn))
	}
	if !s.Rows {
		c.Say("kept         the call graph alone (--events none): messages and collectives were not matched, so who waits for whom and clock violations are not known")
	}
}

// untoldLines is how many lines the summary has of what a trace cannot tell.
const untoldLines = 6

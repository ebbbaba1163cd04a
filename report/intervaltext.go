package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

// plain prints an exact number of ticks as seconds with 6 decimals, half away
// from zero, without groups of digits: the layout is read by programs too.
func (u unit) plain(f Fraction) string {
	if u.resolution == 0 {
		return f.Fixed(0)
	}
	return f.Div(u.resolution).Fixed(6)
}

func (u unit) plainTicks(v Sum) string { return u.plain(whole(v)) }

// writeIntervals writes a block for every interval, in the layout of the DVM
// school's interval analyzer.
func (d *Document) writeIntervals(w *writer) {
	x := d.Intervals
	if x.Span != nil {
		w.line("%s", x.Span.text(w.unit))
	}
	for i, n := range x.Nodes {
		if i > 0 {
			w.line("")
		}
		x.block(w, n)
	}
	if x.PageReads != nil {
		w.line("\n%s read", plural(int(*x.PageReads), "index page"))
	}
}

// text says which part of the run it is.
func (s *Span) text(u unit) string {
	if s.Of != nil {
		return fmt.Sprintf("execution %d of interval #%d, on each process its own time", s.Of.K, s.Of.Node)
	}
	return fmt.Sprintf("%s to %s %s", u.ticks(s.Begin), u.ticks(s.End), u.name())
}

// block writes the main characteristics of an interval, in an order that is
// fixed, and what else was asked for.
func (x *Intervals) block(w *writer, n *Interval) {
	l := wording{x.text.Russian}
	head := fmt.Sprintf("Interval (LineNumber = %d SourceFile = %s) Level=%d EXE_Count=%d", n.Line, clean(n.File, 200), n.Level, n.Executions)
	if n.ID != 0 {
		head += fmt.Sprintf(" Id=%d", n.ID)
	}
	if n.Name != "" {
		head += fmt.Sprintf(" Name=%s", clean(n.Name, 200))
	}
	if n.Uneven {
		head += fmt.Sprintf(" EXE_Least=%d", n.Least)
	}
	w.title(head)
	t := &n.Ticks
	w.line(" ---%s---", l.of("Main Characteristics"))
	w.line("%s", l.entry("Parallelization Efficiency", t.efficiencyText()))
	w.line("%s", l.entry("Execution Time", w.unit.plainTicks(integer(t.Execution))))
	w.line("%s", l.entry("Processors", strconv.FormatUint(n.Processors, 10)))
	w.line("%s", l.entry("Total Time", w.unit.plainTicks(t.Total)))
	if t.Setup > 0 {
		w.line("%s", l.entry(titled(ItemWord(xtf.ItemSetup)), w.unit.plainTicks(t.Setup)))
	}
	w.line("%s", l.entry("Productive Time", w.unit.plain(t.Productive)+productiveParts(t)))
	if rule := x.text.Rules.rule(); rule == ProductiveNone {
		w.line("  %s", l.of("rule: no MPI time counts as productive"))
	} else {
		w.line("  "+l.of("rule: MPI time of one processor (%s) counts as productive"), rule)
	}
	w.line("%s", l.entry("Lost Time", w.unit.plain(t.Lost)))
	w.line("%s", l.entry("---MPI Time", w.unit.plain(t.MPILost)))
	w.line("%s", l.entry("---Idle Time", w.unit.plainTicks(t.Idle)))
	for _, e := range t.losses() {
		label := "---" + titled(e.name)
		if e.name == ItemWord(xtf.ItemMarker) {
			label += " Time"
		}
		if v := w.unit.plainTicks(e.ticks); e.name != "idle" && strings.Trim(v, "0.") != "" {
			w.line("%s", l.entry(label, v))
		}
	}
	if x.text.Details {
		x.details(w, n, l)
	}
	x.ordered(w, n)
	x.runs(w, n)
}

// productiveParts names the productive components that are not 0.
func productiveParts(t *Ticks) string {
	var parts []string
	for _, p := range []struct {
		name string
		v    Sum
	}{{"CPU", t.CPU}, {"MPI", Sum(t.MPIProductive.Sign())}, {"I/O", t.IO}} {
		if p.v > 0 && (p.name != "I/O" || t.ioProductive) {
			parts = append(parts, p.name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, " ") + ")"
}

// timeLine is a line of a block of details: a label and ticks.
type timeLine struct {
	label string
	v     Sum
}

// communication is MPI time by class; label makes a label of a word.
func (t *Ticks) communication(label func(string) string) []timeLine {
	list := []timeLine{}
	for _, x := range []struct {
		part string
		item xtf.Item
		v    Sum
	}{
		{"", xtf.ItemP2P, t.P2P},
		{"", xtf.ItemColl, t.CollectiveAll},
		{"---", xtf.ItemNxN, t.AllToAll},
		{"---", xtf.ItemBarrier, t.Barrier},
		{"", xtf.ItemRMA, t.RMA},
		{"", xtf.ItemFileIO, t.FileIO},
		{"", xtf.ItemManagement, t.Management},
		{"", xtf.ItemStart, t.Start},
	} {
		list = append(list, timeLine{x.part + label(ItemWord(x.item)), x.v})
	}
	return list
}

// details writes where time went and what may have been lost.
func (x *Intervals) details(w *writer, n *Interval, l wording) {
	t := &n.Ticks
	blocks := []struct {
		title string
		lines []timeLine
	}{
		{"Communication", append(t.communication(titled), timeLine{titled(ItemWord(xtf.ItemSendRecv)), t.SendRecv})},
		{"Potential Losses", []timeLine{
			{"Synchronization", t.PotentialSync},
			{"Time Variation", t.Variation},
			{"Load Imbalance", t.LoadImbalance},
			{"Dephasing", optional(t.Dephasing)},
			{"Overlap", t.Overlap},
		}},
		{"Wait States", n.waitLines()},
	}
	if e := n.Exclusive; e != nil {
		blocks = append(blocks, struct {
			title string
			lines []timeLine
		}{"Without Inner Intervals", []timeLine{{"Time", e.Time}, {"CPU Time", e.CPU}, {"MPI Time", e.MPI}, {"All Waits", e.Waits}}})
	}
	for _, b := range blocks {
		w.line(" ---%s---", l.of(b.title))
		for _, e := range b.lines {
			w.line("%s", l.entry(e.label, w.unit.plainTicks(e.v)))
		}
	}
	x.popBlock(w, n, l)
	w.line(" ---%s---", l.of("Characteristics"))
	u := w.unit
	tab := table{head: []string{"<", "sum", "mean", "std dev", "min", "<rank", "max", "<rank"}}
	for i := range n.Stats {
		s := &n.Stats[i]
		if s.Item == xtf.ItemFirst || s.Item == xtf.ItemLast || s.Item == xtf.ItemIdealFirst || s.Item == xtf.ItemIdealLast {
			continue
		}
		if isCount(s.Item) {
			tab.add(s.Item.String(), s.Sum.json(), s.Mean.text(1), s.Deviation.text(1), strconv.FormatUint(s.Min, 10), fmt.Sprintf("@%d", s.MinP), strconv.FormatUint(s.Max, 10), fmt.Sprintf("@%d", s.MaxP))
			continue
		}
		tab.add(s.Item.String(), u.plainTicks(s.Sum), u.plainReal(s.Mean), u.plainReal(s.Deviation), u.plainTicks(integer(s.Min)), fmt.Sprintf("@%d", s.MinP), u.plainTicks(integer(s.Max)), fmt.Sprintf("@%d", s.MaxP))
	}
	w.table(&tab)
}

func optional(v *uint64) Sum {
	if v == nil {
		return notKnown
	}
	return integer(*v)
}

// isCount reports whether an item counts things, or bytes, instead of ticks.
func isCount(i xtf.Item) bool {
	return i >= xtf.ItemEvents && i <= xtf.ItemCollIn || i == xtf.ItemExecutions || i == xtf.ItemWaitCount
}

// waitLabels are the patterns in the order of the layout.
var waitLabels = []struct {
	label string
	item  xtf.Item
}{
	{"Late Sender", xtf.ItemLateSender},
	{"---Wrong Order Same", xtf.ItemLateSenderSame},
	{"---Wrong Order Other", xtf.ItemLateSenderOther},
	{"Late Receiver", xtf.ItemLateReceiver},
	{"Late Progress", xtf.ItemLateProgress},
	{"Wait at Barrier", xtf.ItemWaitBarrier},
	{"Barrier Completion", xtf.ItemBarrierCompletion},
	{"Wait at NxN", xtf.ItemWaitNxN},
	{"NxN Completion", xtf.ItemNxNCompletion},
	{"Late Broadcast", xtf.ItemLateBroadcast},
	{"Early Reduce", xtf.ItemEarlyReduce},
	{"Early Scan", xtf.ItemEarlyScan},
}

func (n *Interval) waitLines() []timeLine {
	if n.Waits == nil {
		return []timeLine{{"All Waits", notKnown}}
	}
	list := []timeLine{{"All Waits", n.Waits.Total}}
	for _, x := range waitLabels {
		if s := n.Stats.item(x.item); s.Sum > 0 {
			list = append(list, timeLine{x.label, s.Sum})
		}
	}
	return list
}

func (x *Intervals) popBlock(w *writer, n *Interval, l wording) {
	p := &n.POP
	w.line(" ---%s---", l.of("POP"))
	for _, e := range []struct {
		label string
		r     Ratio
	}{
		{"Parallel Efficiency", p.Parallel},
		{"Load Balance", p.LoadBalance},
		{"Communication Efficiency", p.Communication},
		{"Serialisation Efficiency", p.Serialisation},
		{"Transfer Efficiency", p.Transfer},
		{"I/O Efficiency", p.IO},
		{"Balance of I/O", p.IOBalance},
	} {
		if !p.IO.Defined && (e.label == "I/O Efficiency" || e.label == "Balance of I/O") {
			continue
		}
		text := e.r.text(6)
		if p.Approximate && (e.label == "Serialisation Efficiency" || e.label == "Transfer Efficiency") {
			text += " (approx)"
		}
		w.line("%s", l.entry(e.label, text))
	}
}

// ordered writes the lists of processes by value.
func (x *Intervals) ordered(w *writer, n *Interval) {
	for _, o := range n.Ordered {
		w.line(" ---%s by rank---", o.Item)
		item, _ := ParseItem(o.Item)
		shown := o.Values[:min(len(o.Values), w.style.rows())]
		for _, v := range shown {
			text := count(v[0])
			if !isCount(item) {
				text = w.unit.plainTicks(integer(v[0]))
			}
			w.line("%s", wording{}.entry(fmt.Sprintf("@%d", v[1]), text))
		}
		w.more(len(o.Values), len(shown), "process")
	}
}

// runs writes a line for every execution.
func (x *Intervals) runs(w *writer, n *Interval) {
	if len(n.Each) == 0 {
		return
	}
	u := w.unit
	w.line(" ---Executions---")
	tab := table{head: []string{"k", "begin", "execution", "<rank", "processors", "efficiency", "balance", "CPU", "MPI", "waits", "idle", "lost"}}
	shown := n.Each[:min(len(n.Each), w.style.rows())]
	for i := range shown {
		e := &shown[i]
		tab.add(count(e.K), u.plainTicks(integer(e.First)), u.plainTicks(integer(e.Execution)), fmt.Sprintf("@%d", e.Longest), count(e.Processors),
			e.Efficiency.text(6), e.LoadBal.text(3), u.plainTicks(e.CPU), u.plainTicks(e.MPI), u.plainTicks(e.Waits), u.plainTicks(e.Idle), u.plain(e.Lost))
	}
	w.table(&tab)
	w.more(len(n.Each), len(shown), "execution")
	if n.MoreRuns > 0 {
		w.line("%s were not looked at: choose a part of the run with --time", plural(int(n.MoreRuns), "execution"))
	}
}

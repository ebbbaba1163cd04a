package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// Intervals is the characteristics of every interval, depth-first.
type Intervals struct {
	Resolution uint64              `json:"resolution"` // ticks per second, 0 if the trace does not tell
	Options    RulesNames          `json:"options"`
	Ranks      string              `json:"ranks"`
	Span       *results.Span       `json:"time,omitempty"`
	Nodes      []*results.Interval `json:"nodes"`
	PageReads  *uint64             `json:"page_reads,omitempty"`     // of index statistics over a span of time
	Overhead   numbers.Sum         `json:"overhead_as_cpu,omitzero"` // of a span of time, ticks of the whole run: lookup.OverheadAsCPU
	text       results.IntervalOptions
}

// RulesNames are the choices that the numbers depend on, by name.
type RulesNames struct {
	Productive string `json:"mpi_productive"`
	MarkerCost string `json:"marker_cost"`
	Processors string `json:"processors"`
}

// NewIntervals reports the intervals.
func NewIntervals(r *results.Run, o results.IntervalOptions) (*Intervals, []table.Lost, error) {
	x := &Intervals{Resolution: r.Units().Resolution, Ranks: o.Ranks.String(), Span: o.Span, text: o}
	x.Options = RulesNames{string(o.Rules.Rule()), map[bool]string{true: "mpi", false: "overhead"}[r.Kept.Has("marker-cost=mpi")], "participants"}
	if o.Rules.AllProcesses {
		x.Options.Processors = "all"
	}
	lists := orderedLists{items: o.Ordered}
	s, err := r.Survey(results.SurveyOptions{
		Ranks: o.Ranks, Span: o.Span, Section: "intervals", Each: lists.add, Rules: o.Rules,
		Deep: o.Details || len(o.Ordered) > 0,
	})
	if err != nil {
		return nil, nil, err
	}
	exclusive := exclusive(s)
	for n := range s.Nodes {
		if s.Measured[n].Participants == 0 && n > 0 && (o.Span != nil || !o.Ranks.All()) {
			continue
		}
		node := s.Interval(n, o.Rules)
		node.Ordered, node.Exclusive = lists.of(n), exclusive[n]
		x.Nodes = append(x.Nodes, node)
	}
	lost := s.Lost
	if o.PerExecution {
		more, err := s.PerExecution(x.Nodes, &o)
		if err != nil {
			return nil, nil, err
		}
		lost = append(lost, more...)
	}
	if o.Span != nil || o.PerExecution {
		x.PageReads = &s.Cost.PageReads
	}
	if o.Span != nil {
		x.Overhead, err = lookup.OverheadAsCPU(r)
	}
	return x, lost, err
}

// exclusive subtracts from each node what its children have. The whole program gets none where slices of time overlap with other
// intervals.
func exclusive(s *results.Survey) []*results.Exclusive {
	list := make([]*results.Exclusive, len(s.Nodes))
	derived, marked := false, false
	for n := range s.Nodes {
		m := &s.Measured[n]
		waits, _ := m.Waits()
		own := [...]numbers.Sum{m.Sum(xtf.ItemTime), m.Sum(xtf.ItemCPU), m.Sum(xtf.ItemMPI), waits}
		list[n] = &results.Exclusive{Time: own[0], CPU: own[1], MPI: own[2], Waits: own[3]}
		if n == 0 {
			continue
		}
		x := list[s.Nodes[n].Parent]
		for k, to := range []*numbers.Sum{&x.Time, &x.CPU, &x.MPI, &x.Waits} {
			*to = numbers.Sub(*to, own[k])
		}
		if s.Nodes[n].Parent == 0 {
			derived = derived || s.Nodes[n].Form == results.DerivedForm
			marked = marked || s.Nodes[n].Form != results.DerivedForm
		}
	}
	if derived && marked {
		list[0] = nil
	}
	return list
}

// orderedLists collect values by process.
type orderedLists struct {
	items []xtf.Item
	lists map[uint64][][2]uint64
}

func (l *orderedLists) add(x *results.ProcessItems) {
	if len(l.items) == 0 {
		return
	}
	if l.lists == nil {
		l.lists = map[uint64][][2]uint64{}
	}
	seen := map[uint32]bool{}
	for _, k := range x.Keys() {
		n := uint32(k >> 32)
		if seen[n] || !x.Took(n) {
			continue
		}
		seen[n] = true
		for _, i := range l.items {
			key := xtf.NodeKey(n, uint32(i))
			l.lists[key] = append(l.lists[key], [2]uint64{x.At(n, i), uint64(x.Rank)})
		}
	}
}

func (l *orderedLists) of(n int) []results.Ordered {
	var list []results.Ordered
	for _, i := range l.items {
		values := l.lists[xtf.NodeKey(uint32(n), uint32(i))]
		slices.SortFunc(values, func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		list = append(list, results.Ordered{Item: i.String(), Values: values})
	}
	return list
}

// chapter shows what is known of each interval: in text in the layout of the DVM school's interval analyzer, on a page as a tree
// and the intervals that lost most.
func (x *Intervals) chapter(d *Document, b *table.Book, c *table.Chapter) {
	if x.Span != nil {
		c.Say("%s", x.Span.Text(b.Unit))
	}
	c.Table(x.data(d.run))
	shown, details := x.Nodes, map[int]bool(nil)
	if b.Page {
		shown = upperLevels(x.Nodes, results.HtmlNodes, 1, results.HtmlNodes)
		details = mostLost(shown)
		t := d.intervalTable(b, shown, details)
		t.Lead = "Efficiency is productive over total time" + without(&shown[0].Ticks) + "; total is the longest process times processors. MPI time of one processor (" + x.Options.Productive + ") counts as productive."
		if n := len(x.Nodes) - len(shown); n > 0 {
			t.Notes = append(t.Notes, "and "+numbers.Plural(n, "interval")+" more inside: coppice report RUN.xtf intervals")
		}
		c.Table(t)
	}
	for i, n := range shown {
		if details == nil || details[n.Index] {
			inner := x.block(b, n)
			inner.Folded = i > 0
			c.Blocks = append(c.Blocks, table.Block{Inner: inner})
		}
	}
	if x.PageReads != nil {
		c.Line(table.GapLine, "")
		if note := lookup.NoteOverhead(x.Overhead, b.Unit); note != "" {
			c.Say("%s", note)
		}
		c.Say("%s read", numbers.Plural(int(*x.PageReads), "index page"))
	}
}

// upperLevels returns intervals of the upper levels, as many whole levels as fit, at least those down to level keep, and never
// more than most.
func upperLevels(nodes []*results.Interval, fit int, keep uint32, most int) []*results.Interval {
	levels := map[uint32]int{}
	for _, n := range nodes {
		levels[n.Level]++
	}
	sum, deepest := 0, uint32(0)
	for level := uint32(0); levels[level] > 0; level++ {
		if sum += levels[level]; sum > fit && level > keep {
			break
		}
		deepest = level
	}
	var list []*results.Interval
	for _, n := range nodes {
		if n.Level <= deepest {
			list = append(list, n)
		}
	}
	return list[:min(len(list), most)]
}

// mostLost chooses the whole program and the intervals that lost most time.
func mostLost(list []*results.Interval) map[int]bool {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *results.Interval) int {
		if (a.Level == 0) != (b.Level == 0) {
			return cmp.Compare(a.Level, b.Level)
		}
		return b.Ticks.Lost.Compare(a.Ticks.Lost)
	})
	chosen := map[int]bool{}
	for _, n := range order[:min(len(order), results.HtmlDetails)] {
		chosen[n.Index] = true
	}
	return chosen
}

// intervalTable has a line for each interval of the tree, with links to those in details.
func (d *Document) intervalTable(b *table.Book, list []*results.Interval, details map[int]bool) *table.Table {
	u := b.Unit
	t := &table.Table{Title: "Tree of intervals", Folds: true, Columns: []table.Column{
		table.Words("interval", ""), table.Ints("executions", ""), table.Ints(table.Of(u, "time"), ""), table.Words("efficiency", ""), table.Reals("load balance", "").Wide(), table.Reals("communication", "").Wide(),
		table.Ints(table.Of(u, "lost"), ""), table.Words("productive and lost", "").Wide(), table.Words("mostly", ""),
	}}
	for _, n := range list {
		label := table.Tree(n.Text, int(n.Level))
		if !b.Page && n.Level > 0 {
			label = table.Cell{Text: "└ " + n.Text, Level: int(n.Level) - 1}
		}
		if details[n.Index] {
			label.Link = fmt.Sprintf("i%d", n.Index)
		}
		execution := numbers.Whole(numbers.Integer(n.Ticks.Execution))
		t.Add(label, table.Number(n.Executions), table.Named(u.Short(execution), strconv.FormatUint(n.Ticks.Execution, 10)), table.Barred(n.Efficiency, 2), table.Graded(n.POP.LoadBalance), table.Graded(n.POP.Communication),
			table.Named(u.Short(n.Ticks.Lost), numbers.Nearest(n.Ticks.Lost).Csv()), table.Cell{Picture: split(&n.Ticks)}, table.Word(n.Mostly(u)))
	}
	return t
}

// split draws productive and lost time as shares of the total.
func split(t *results.Ticks) template.HTML {
	if t.Total == 0 {
		return ""
	}
	var w table.Drawing
	w.Add(`<svg class="split" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">`)
	x := int64(0)
	other := numbers.Add(numbers.Sub(numbers.Add(t.DeviceWait, t.DeviceCall), t.DeviceWork), t.LockWait, t.Overhead)
	io := t.IO
	if t.IoProductive {
		io = 0
	}
	for _, part := range []struct {
		class string
		v     numbers.Fraction
	}{
		{"k-cpu", t.Productive},
		{"k-p2p", t.MPILost},
		{"k-io", numbers.Whole(io)},
		{"k-start", numbers.Whole(other)},
		{"k-idle", numbers.Whole(t.Idle)},
		{"k-marker", numbers.Whole(t.Marker)},
		{"k-mgmt", numbers.Whole(t.Setup)},
	} {
		width := part.v.Over(numbers.Whole(t.Total)).Times(1000).Round()
		if width = min(max(width, 0), 1000-x); width > 0 {
			w.Add(`<rect class="%s" x="%d" width="%d" height="10"/>`, part.class, x, width)
			x += width
		}
	}
	return w.HTML()
}

// entryTable is a block of the layout: labels and values, with their share of a whole where text has no room.
type entryTable struct {
	table.Table
	b  *table.Book
	l  wording
	of numbers.Sum
}

func (x *Intervals) entries(b *table.Book, title string, of numbers.Sum) *entryTable {
	l := wording{x.text.Russian}
	return &entryTable{table.Table{Title: l.of(title), Entries: true, Dashed: true, Columns: []table.Column{table.Words("characteristic", ""), table.Ints("value", ""), table.Reals("of total", "").Wide()}}, b, l, of}
}

// line adds a text. A label that begins with --- is a part of the line above.
func (t *entryTable) line(label, value string, share table.Cell) {
	text, part := strings.CutPrefix(t.l.of(label), "---")
	t.Add(table.Tree(text, map[bool]int{true: 1}[part]), table.Word(value), share)
}

// time adds a time with its share. A page leaves times of 0 out.
func (t *entryTable) time(label string, f numbers.Fraction) {
	if t.b.Page && (!f.Known() || f.Sign() == 0) {
		return
	}
	t.line(label, t.b.Unit.Plain(f), table.Named(numbers.Part(f, t.of).Known(), ""))
}

// block shows the main characteristics of an interval, in a fixed order, and what else was asked for. A page shows all.
func (x *Intervals) block(b *table.Book, n *results.Interval) *table.Chapter {
	u, t := b.Unit, &n.Ticks
	c := &table.Chapter{Id: fmt.Sprintf("i%d", n.Index)}
	c.Title = fmt.Sprintf("Interval (LineNumber = %d SourceFile = %s) Level=%d EXE_Count=%d", n.Line, numbers.Clean(n.File, 200), n.Level, n.Executions)
	if n.ID != 0 {
		c.Title += fmt.Sprintf(" Id=%d", n.ID)
	}
	if n.Name != "" {
		c.Title += " Name=" + numbers.Clean(n.Name, 200)
	}
	if n.Uneven {
		c.Title += fmt.Sprintf(" EXE_Least=%d", n.Least)
	}
	if b.Page {
		c.Title = fmt.Sprintf("%s — efficiency %s, %s in %s, lost %s", n.Text, n.Efficiency.Text(3), u.Span(t.Execution), numbers.Plural(int(min(n.Executions, 1<<31-1)), "execution"), u.SpanOf(t.Lost))
	}
	m := x.entries(b, "Main Characteristics", t.Total)
	m.line("Parallelization Efficiency", t.EfficiencyText(), table.None())
	m.line("Execution Time", u.PlainTicks(numbers.Integer(t.Execution)), table.None())
	m.line("Processors", strconv.FormatUint(n.Processors, 10), table.None())
	m.line("Total Time", u.PlainTicks(t.Total), table.None())
	if t.Setup > 0 {
		m.time(titled(results.ItemWord(xtf.ItemSetup)), numbers.Whole(t.Setup))
	}
	m.line("Productive Time", u.Plain(t.Productive)+productiveParts(t), table.Share(numbers.Part(t.Productive, t.Total)))
	if rule := x.text.Rules.Rule(); rule == results.ProductiveNone {
		m.Add(table.Word("  " + m.l.of("rule: no MPI time counts as productive")))
	} else {
		m.Add(table.Word("  " + fmt.Sprintf(m.l.of("rule: MPI time of one processor (%s) counts as productive"), rule)))
	}
	if b.Page {
		m.time("---CPU", numbers.Whole(t.CPU))
		m.time("---MPI of One Processor", t.MPIProductive)
	}
	m.line("Lost Time", u.Plain(t.Lost), table.Share(numbers.Part(t.Lost, t.Total)))
	m.time("---MPI Time", t.MPILost)
	m.time("---Idle Time", numbers.Whole(t.Idle))
	for _, e := range t.Losses() {
		label := "---" + titled(e.Name)
		if e.Name == results.ItemWord(xtf.ItemMarker) {
			label += " Time"
		}
		if e.Name != "idle" && strings.Trim(u.PlainTicks(e.Ticks), "0.") != "" {
			m.time(label, numbers.Whole(e.Ticks))
		}
	}
	c.Table(&m.Table)
	if x.text.Details || b.Page {
		x.details(b, c, n)
	}
	for _, o := range n.Ordered {
		item, _ := results.ParseItem(o.Item)
		list := x.entries(b, o.Item+" by rank", numbers.NotKnown)
		table.Fill(&list.Table, "process", o.Values, func(v *[2]uint64) []table.Cell {
			text := numbers.Count(v[0])
			if !results.IsCount(item) {
				text = u.PlainTicks(numbers.Integer(v[0]))
			}
			return []table.Cell{table.Word(fmt.Sprintf("@%d", v[1])), table.Word(text)}
		})
		c.Table(&list.Table)
	}
	x.executions(b, c, n)
	return c
}

// productiveParts names the productive components that are not 0.
func productiveParts(t *results.Ticks) string {
	var parts []string
	for _, p := range []struct {
		name string
		v    numbers.Sum
	}{{"CPU", t.CPU}, {"device work", t.DeviceWork}, {"MPI", numbers.Sum(t.MPIProductive.Sign())}, {"I/O", t.IO}} {
		if p.v > 0 && (p.name != "I/O" || t.IoProductive) {
			parts = append(parts, p.name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, " ") + ")"
}

// timeLine is a line of a block: a label and ticks.
type timeLine struct {
	label string
	v     numbers.Sum
}

// details shows where the time went, what may have been lost, and the times of single processes.
func (x *Intervals) details(b *table.Book, c *table.Chapter, n *results.Interval) {
	t := &n.Ticks
	block := func(title string, list ...timeLine) {
		e := x.entries(b, title, t.Total)
		for _, l := range list {
			e.time(l.label, numbers.Whole(l.v))
		}
		c.Table(&e.Table)
	}
	item := func(part string, i xtf.Item, v numbers.Sum) timeLine {
		return timeLine{part + titled(results.ItemWord(i)), v}
	}
	block("Communication", item("", xtf.ItemP2P, t.P2P), item("", xtf.ItemColl, t.CollectiveAll), item("---", xtf.ItemNxN, t.AllToAll), item("---", xtf.ItemBarrier, t.Barrier),
		item("", xtf.ItemRMA, t.RMA), item("", xtf.ItemFileIO, t.FileIO), item("", xtf.ItemManagement, t.Management), item("", xtf.ItemStart, t.Start), item("", xtf.ItemSendRecv, t.SendRecv))
	block("Potential Losses", timeLine{"Synchronization", t.PotentialSync}, timeLine{"Time Variation", t.Variation}, timeLine{"Load Imbalance", t.LoadImbalance},
		timeLine{"Dephasing", results.Optional(t.Dephasing)}, timeLine{"Overlap", t.Overlap})
	block("Wait States", waitLines(n)...)
	if e := n.Exclusive; e != nil {
		block("Without Inner Intervals", timeLine{"Time", e.Time}, timeLine{"CPU Time", e.CPU}, timeLine{"MPI Time", e.MPI}, timeLine{"All Waits", e.Waits})
	}
	p := &n.POP
	pop := x.entries(b, "POP", numbers.NotKnown)
	row := func(label string, r numbers.Ratio, approximate bool) {
		text := r.Text(6)
		if approximate {
			text += " (approx)"
		}
		pop.line(label, text, table.None())
	}
	row("Parallel Efficiency", p.Parallel, false)
	row("Load Balance", p.LoadBalance, false)
	row("Communication Efficiency", p.Communication, false)
	row("Serialisation Efficiency", p.Serialisation, p.Approximate)
	row("Transfer Efficiency", p.Transfer, p.Approximate)
	if p.IO.Defined {
		row("I/O Efficiency", p.IO, false)
		row("Balance of I/O", p.IOBalance, false)
	}
	c.Table(&pop.Table)
	s := results.SpreadTable(b, "component", pop.l.of("Characteristics"), n.Stats, results.ComponentsOf(n.Stats), numbers.NotKnown, xtf.Item.String)
	s.Dashed, s.Columns[1].Name = true, "sum, times in "+b.Unit.Name()
	c.Table(s)
}

func waitLines(n *results.Interval) []timeLine {
	if n.Waits == nil {
		return []timeLine{{"All Waits", numbers.NotKnown}}
	}
	list := []timeLine{{"All Waits", n.Waits.Total}}
	for _, x := range results.WaitLabels {
		if s := n.Stats.Item(x.Item); s.Sum > 0 {
			list = append(list, timeLine{x.Label, s.Sum})
		}
	}
	return list
}

// executions has a line for every execution.
func (x *Intervals) executions(b *table.Book, c *table.Chapter, n *results.Interval) {
	u := b.Unit
	t := &table.Table{Title: "Executions", Dashed: true, Columns: []table.Column{
		table.Ints("k", ""), table.Ints("begin", ""), table.Ints("execution", ""), table.Ranks("rank", ""), table.Ints("processors", ""), table.Reals("efficiency", ""), table.Reals("balance", ""),
		table.Ints("CPU", ""), table.Ints("MPI", ""), table.Ints("waits", ""), table.Ints("idle", ""), table.Reals("lost", ""),
	}}
	plain := func(v numbers.Sum) table.Cell { return table.Named(u.PlainTicks(v), v.JSON()) }
	table.Fill(t, "execution", n.Each, func(e *results.OneRun) []table.Cell {
		return []table.Cell{
			table.Number(e.K), plain(numbers.Integer(e.First)), plain(numbers.Integer(e.Execution)), table.AtRank(e.Longest), table.Number(e.Processors), table.Quotient(e.Efficiency, 6), table.Quotient(e.LoadBal, 3),
			plain(e.CPU), plain(e.MPI), plain(e.Waits), plain(e.Idle), table.Word(u.Plain(e.Lost)),
		}
	})
	if n.MoreRuns > 0 {
		t.Notes = append(t.Notes, numbers.Plural(int(n.MoreRuns), "execution")+" were not looked at: choose a part of the run with --time")
	}
	c.Table(t)
}

// data has a row for every interval and process. All intervals of a process follow each other.
func (x *Intervals) data(r *results.Run) *table.Table {
	t := &table.Table{}
	for _, c := range []table.Column{
		table.Ints("", "rank"), table.Ints("", "node"), table.Words("", "path"), table.Ints("", "level"), table.Ints("", "id"), table.Words("", "name"), table.Words("", "file"), table.Ints("", "line"),
	} {
		t.Columns = append(t.Columns, c.Hidden())
	}
	for i := range xtf.NumItems {
		t.Columns = append(t.Columns, table.Ints("", i.String()).Hidden())
	}
	t.Columns = append(t.Columns, table.Ints("", "useful").Hidden(), table.Reals("", "lost").Hidden())
	t.Parts = []table.Part{{Rows: func(yield func([]table.Cell) bool) {
		more := true
		_, err := r.Survey(results.SurveyOptions{Ranks: x.text.Ranks, Span: x.Span, Section: "intervals", Deep: true, Each: func(p *results.ProcessItems) {
			for _, n := range x.Nodes {
				if more = more && (!p.Took(uint32(n.Index)) || yield(data(n, p, x.text.Rules))); !more {
					return
				}
			}
		}})
		if more {
			t.Failed = err
		}
	}}}
	return t
}

// data returns the cells of a process in an interval. Its lost time follows the rule of the mean: all MPI time except a P-th of
// it, idle time, and what else is not productive.
func data(n *results.Interval, p *results.ProcessItems, rules results.Rules) []table.Cell {
	id := uint32(n.Index)
	row := []table.Cell{
		table.PlainNumber(p.Rank), table.PlainNumber(n.Index), table.Word(results.PathText(n.Path)), table.PlainNumber(n.Level), table.PlainNumber(n.ID), table.Word(n.Name), table.Word(n.File), table.PlainNumber(n.Line),
	}
	for i := range xtf.NumItems {
		row = append(row, table.PlainNumber(p.At(id, i)))
	}
	of := numbers.Integer(max(n.Processors, 1))
	setup := p.At(id, xtf.ItemSetup)
	if rules.Init {
		setup = 0
	}
	mpi := numbers.Integer(p.At(id, xtf.ItemMPI) - min(setup, p.At(id, xtf.ItemMPI)))
	other := numbers.Sub(n.Ticks.Longest, numbers.Integer(p.At(id, xtf.ItemTime)-min(setup, p.At(id, xtf.ItemTime)))) // idle
	for _, i := range xtf.AsideItems {
		if i != xtf.ItemMPI && (i != xtf.ItemIO || !rules.IO) {
			other = numbers.Add(other, numbers.Integer(p.Lost(id, i)))
		}
	}
	lost := numbers.Whole(numbers.Add(mpi, other)).Minus(numbers.Divide(mpi, of))
	return append(row, table.PlainNumber(p.Useful(id, rules)), table.Word(lost.Fixed(3)))
}

// firstScreen are the intervals of the summary.
type firstScreen struct {
	nodes []*results.Interval
	next  int // index of the interval that lost most; 0: there is only the whole program
}

// runFirstScreen reads the tree for the summary; nil for a run without intervals.
func runFirstScreen(r *results.Run, rules results.Rules) (*firstScreen, error) {
	s, err := r.Survey(results.SurveyOptions{Section: "summary", Rules: rules})
	if err != nil || len(s.Nodes) < 2 {
		return nil, err
	}
	x := &firstScreen{}
	for n := range s.Nodes {
		x.nodes = append(x.nodes, s.Interval(n, rules))
	}
	most := numbers.Whole(0)
	for _, n := range x.nodes[1:] {
		if n.Ticks.Lost.Compare(most) > 0 {
			most, x.next = n.Ticks.Lost, n.Index
		}
	}
	return x, nil
}

// titled begins a word of the table of states with a capital, as the layout of intervals does.
func titled(word string) string {
	parts := strings.Fields(word)
	for k, p := range parts {
		if p != "to" && p != "and" {
			parts[k] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, " ")
}

package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

// IntervalOptions choose what a report about intervals says.
type IntervalOptions struct {
	Rules        Rules
	Ranks        Ranks
	Span         *Span      // nil: the whole run
	Details      bool       // text: more than the main characteristics
	PerExecution bool       // a line for every execution
	Ordered      []xtf.Item // list every process's value of these, least first
	Russian      bool       // labels of text
}

// Intervals is the characteristics of every interval, depth-first.
type Intervals struct {
	Resolution uint64      `json:"resolution"` // ticks per second, 0 if the trace does not tell
	Options    RulesNames  `json:"options"`
	Ranks      string      `json:"ranks"`
	Span       *Span       `json:"time,omitempty"`
	Nodes      []*Interval `json:"nodes"`
	PageReads  *uint64     `json:"page_reads,omitempty"` // of index statistics over a span of time
	text       IntervalOptions
}

// RulesNames are the choices that the numbers depend on, by name.
type RulesNames struct {
	Productive string `json:"mpi_productive"`
	MarkerCost string `json:"marker_cost"`
	Processors string `json:"processors"`
}

// Interval is one node of the interval tree.
type Interval struct {
	Path       []int      `json:"path"` // positions among the siblings, from the root on
	Level      uint32     `json:"level"`
	ID         uint64     `json:"id"`
	Name       string     `json:"name"`
	File       string     `json:"file"`
	Line       uint32     `json:"line"`
	Executions uint64     `json:"exe_count"`     // largest number of a process
	Least      uint64     `json:"exe_count_min"` // least number of a participant
	Uneven     bool       `json:"exe_uneven"`    // processes disagree
	Processors uint64     `json:"processors"`    // by the rule
	First      *uint64    `json:"first_begin"`   // ticks; nil for a part of the run
	Last       *uint64    `json:"last_end"`
	Ticks      Ticks      `json:"ticks"` // sums over processes but execution and runtime
	Efficiency Ratio      `json:"efficiency"`
	Speedup    Ratio      `json:"speedup_estimate"`
	Stats      Spreads    `json:"stats"` // over the participants
	Waits      *WaitTimes `json:"waits"` // nil: not known
	POP        POP        `json:"pop"`
	Exclusive  *Exclusive `json:"exclusive"`
	Ordered    []Ordered  `json:"ordered,omitempty"`
	Each       []OneRun   `json:"executions,omitempty"`      // with --per-execution
	MoreRuns   uint64     `json:"executions_more,omitempty"` // that were not looked at
	label      string
	index      int
}

// Label is the interval's name for people.
func (i *Interval) Label() string { return i.label }

// Node is the number of the interval in the file.
func (i *Interval) Node() uint32 { return uint32(i.index) }

// WaitTimes are the waits of an interval: ticks by pattern.
type WaitTimes struct {
	Total      Sum // for partners
	Completion Sum // at the end of collectives
	Count      Sum // of wait states
	patterns   Spreads
}

// MarshalJSON writes the sums, then the patterns that occur.
func (x *WaitTimes) MarshalJSON() ([]byte, error) {
	b := []byte(fmt.Sprintf(`{"total":%s,"completion":%s,"count":%s`, x.Total.json(), x.Completion.json(), x.Count.json()))
	for i := range x.patterns {
		b = fmt.Appendf(b, ",%q:%s", x.patterns[i].Item, x.patterns[i].Sum.json())
	}
	return append(b, '}'), nil
}

// Ordered is the values of all participants, least first.
type Ordered struct {
	Item   string      `json:"item"`
	Values [][2]uint64 `json:"values"` // value and rank
}

// Intervals reports the intervals.
func (r *Run) Intervals(o IntervalOptions) (*Intervals, []Lost, error) {
	x := &Intervals{Resolution: r.Defs.Clock().TimerResolution, Ranks: o.Ranks.String(), Span: o.Span, text: o}
	k, err := r.kept()
	if err != nil {
		return nil, nil, err
	}
	x.Options = RulesNames{string(o.Rules.rule()), k.markerCost(), "participants"}
	if o.Rules.AllProcesses {
		x.Options.Processors = "all"
	}
	lists := orderedLists{items: o.Ordered}
	s, err := r.survey(surveyOptions{
		ranks: o.Ranks, span: o.Span, section: "intervals", each: lists.add, rules: o.Rules,
		deep: o.Details || len(o.Ordered) > 0,
	})
	if err != nil {
		return nil, nil, err
	}
	exclusive := s.exclusive()
	for n := range s.nodes {
		if s.measured[n].participants == 0 && n > 0 && (o.Span != nil || !o.Ranks.All()) {
			continue
		}
		node := s.interval(n, o.Rules)
		node.Ordered, node.Exclusive = lists.of(n), exclusive[n]
		x.Nodes = append(x.Nodes, node)
	}
	lost := s.lost
	if o.PerExecution {
		more, err := s.perExecution(x.Nodes, &o)
		if err != nil {
			return nil, nil, err
		}
		lost = append(lost, more...)
	}
	if o.Span != nil || o.PerExecution {
		x.PageReads = &s.cost.PageReads
	}
	return x, lost, nil
}

// interval computes the characteristics of node n.
func (s *survey) interval(n int, rules Rules) *Interval {
	x, m := &s.nodes[n], &s.measured[n]
	i := &Interval{
		Path: pathOf(s.nodes, n), Level: x.Level, ID: x.Marker, Name: x.name, File: x.file, Line: x.Line,
		Executions: x.ExeMax, Least: x.ExeMin, Uneven: x.Flags&xtf.IntervalUneven != 0 || x.ExeMin != x.ExeMax,
		Processors: m.count(rules), Ticks: m.ticks(rules), Stats: m.spreads, POP: m.pop(), label: x.label(), index: n,
	}
	if m.single || m.sumMax != xtf.Never {
		i.First, i.Last = &x.FirstBegin, &x.LastEnd
	}
	if e := m.spreads.item(xtf.ItemExecutions); n > 0 && e.Max > 0 {
		i.Executions, i.Least, i.Uneven = e.Max, e.Min, e.Max != e.Min
	}
	i.Efficiency, i.Speedup = i.Ticks.efficiency()
	if m.rows {
		w := &WaitTimes{Count: m.sum(xtf.ItemWaitCount)}
		if m.part {
			w.Count = notKnown
		}
		w.Total, w.Completion = m.waits()
		for i := range waitLabels {
			if p := m.spreads.item(waitLabels[i].item); p.Sum > 0 {
				w.patterns = append(w.patterns, *p)
			}
		}
		i.Waits = w
	}
	return i
}

// Exclusive is what an interval has without the intervals in it, in ticks, summed
// over processes.
type Exclusive struct {
	Time  Sum `json:"time"`
	CPU   Sum `json:"cpu"`
	MPI   Sum `json:"mpi"`
	Waits Sum `json:"waits"` // for partners
}

// exclusive takes from each node what its children have. The whole program has
// none where slices of time overlap with other intervals.
func (s *survey) exclusive() []*Exclusive {
	list := make([]*Exclusive, len(s.nodes))
	derived, marked := false, false
	for n := range s.nodes {
		m := &s.measured[n]
		waits, _ := m.waits()
		own := [...]Sum{m.sum(xtf.ItemTime), m.sum(xtf.ItemCPU), m.sum(xtf.ItemMPI), waits}
		list[n] = &Exclusive{own[0], own[1], own[2], own[3]}
		if n == 0 {
			continue
		}
		x := list[s.nodes[n].Parent]
		for k, to := range []*Sum{&x.Time, &x.CPU, &x.MPI, &x.Waits} {
			*to = sub(*to, own[k])
		}
		if s.nodes[n].Parent == 0 {
			derived = derived || s.nodes[n].Form == derivedForm
			marked = marked || s.nodes[n].Form != derivedForm
		}
	}
	if derived && marked {
		list[0] = nil
	}
	return list
}

// orderedLists collect values of every process.
type orderedLists struct {
	items []xtf.Item
	lists map[uint64][][2]uint64
}

func (l *orderedLists) add(x *processItems) {
	if len(l.items) == 0 {
		return
	}
	if l.lists == nil {
		l.lists = map[uint64][][2]uint64{}
	}
	seen := map[uint32]bool{}
	for _, k := range x.keys() {
		n := uint32(k >> 32)
		if seen[n] || !x.took(n) {
			continue
		}
		seen[n] = true
		for _, i := range l.items {
			key := xtf.NodeKey(n, uint32(i))
			l.lists[key] = append(l.lists[key], [2]uint64{x.at(n, i), uint64(x.rank)})
		}
	}
}

func (l *orderedLists) of(n int) []Ordered {
	var list []Ordered
	for _, i := range l.items {
		values := l.lists[xtf.NodeKey(uint32(n), uint32(i))]
		slices.SortFunc(values, func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		list = append(list, Ordered{i.String(), values})
	}
	return list
}

// ParseItem returns the component with a name.
func ParseItem(name string) (xtf.Item, bool) {
	for i := range xtf.NumItems {
		if name != "" && i.String() == name {
			return i, true
		}
	}
	return 0, false
}

// plain prints an exact number of ticks as seconds with 6 decimals, half away
// from zero, without groups of digits: the layout is read by programs too.
func (u unit) plain(f Fraction) string {
	if u.resolution == 0 {
		return f.Fixed(0)
	}
	return f.Div(u.resolution).Fixed(6)
}

func (u unit) plainTicks(v Sum) string { return u.plain(whole(v)) }

// text says which part of the run it is.
func (s *Span) text(u unit) string {
	if s.Of != nil {
		return fmt.Sprintf("execution %d of interval #%d, on each process its own time", s.Of.K, s.Of.Node)
	}
	return fmt.Sprintf("%s to %s %s", u.ticks(s.Begin), u.ticks(s.End), u.name())
}

// chapter has what is known of each interval: text in the layout of the DVM school's interval analyzer, a page their tree and those that
// lost most.
func (x *Intervals) chapter(d *Document, b *book, c *chapter) {
	if x.Span != nil {
		c.say("%s", x.Span.text(b.unit))
	}
	c.table(x.data(d.run))
	shown, details := x.Nodes, map[int]bool(nil)
	if b.page {
		shown = upperLevels(x.Nodes, htmlNodes, 1, htmlNodes)
		details = mostLost(shown)
		t := d.intervalTable(b, shown, details)
		t.Lead = "Efficiency is productive over total time; total is the longest process times processors. MPI time of one processor (" + x.Options.Productive + ") counts as productive."
		if n := len(x.Nodes) - len(shown); n > 0 {
			t.Notes = append(t.Notes, "and "+plural(n, "interval")+" more inside: coppice report RUN.xtf intervals")
		}
		c.table(t)
	}
	for i, n := range shown {
		if details == nil || details[n.index] {
			inner := x.block(b, n)
			inner.folded = i > 0
			c.blocks = append(c.blocks, block{inner: inner})
		}
	}
	if x.PageReads != nil {
		c.line(gapLine, "")
		c.say("%s read", plural(int(*x.PageReads), "index page"))
	}
}

// Bounds of what a page has of intervals: lines of the tree, and blocks of details.
const (
	htmlNodes   = 300
	htmlDetails = 30
)

// upperLevels are the intervals of the upper levels, as many as fit, but those down to level keep in any case; most at most.
func upperLevels(nodes []*Interval, fit int, keep uint32, most int) []*Interval {
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
	var list []*Interval
	for _, n := range nodes {
		if n.Level <= deepest {
			list = append(list, n)
		}
	}
	return list[:min(len(list), most)]
}

// mostLost chooses the whole program and the intervals that lost most time.
func mostLost(list []*Interval) map[int]bool {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *Interval) int {
		if (a.Level == 0) != (b.Level == 0) {
			return cmp.Compare(a.Level, b.Level)
		}
		return b.Ticks.Lost.Compare(a.Ticks.Lost)
	})
	chosen := map[int]bool{}
	for _, n := range order[:min(len(order), htmlDetails)] {
		chosen[n.index] = true
	}
	return chosen
}

// intervalTable has a line for each interval of the tree; those with details are links.
func (d *Document) intervalTable(b *book, list []*Interval, details map[int]bool) *Table {
	u := b.unit
	t := &Table{Title: "Tree of intervals", folds: true, Columns: []Column{
		words("interval", ""), ints("executions", ""), ints(u.of("time"), ""), words("efficiency", ""), reals("load balance", "").wide(), reals("communication", "").wide(),
		ints(u.of("lost"), ""), words("productive and lost", "").wide(), words("mostly", ""),
	}}
	for _, n := range list {
		label := tree(n.label, int(n.Level))
		if !b.page && n.Level > 0 {
			label = Cell{Text: "└ " + n.label, level: int(n.Level) - 1}
		}
		if details[n.index] {
			label.link = fmt.Sprintf("i%d", n.index)
		}
		execution := whole(integer(n.Ticks.Execution))
		t.add(label, number(n.Executions), named(u.short(execution), strconv.FormatUint(n.Ticks.Execution, 10)), barred(n.Efficiency, 2), graded(n.POP.LoadBalance), graded(n.POP.Communication),
			named(u.short(n.Ticks.Lost), ratioOf(n.Ticks.Lost).csv()), Cell{picture: n.Ticks.split()}, word(n.mostly(u)))
	}
	return t
}

// split draws productive and lost time as parts of the total.
func (t *Ticks) split() template.HTML {
	if t.Total == 0 {
		return ""
	}
	var w drawing
	w.Add(`<svg class="split" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">`)
	x := int64(0)
	other := add(t.DeviceWait, t.DeviceCall, t.LockWait, t.Overhead)
	io := t.IO
	if t.ioProductive {
		io = 0
	}
	for _, part := range []struct {
		class string
		v     Fraction
	}{
		{"k-cpu", t.Productive},
		{"k-p2p", t.MPILost},
		{"k-io", whole(io)},
		{"k-start", whole(other)},
		{"k-idle", whole(t.Idle)},
		{"k-marker", whole(t.Marker)},
		{"k-mgmt", whole(t.Setup)},
	} {
		width := part.v.Over(whole(t.Total)).Times(1000).Round()
		if width = min(max(width, 0), 1000-x); width > 0 {
			w.Add(`<rect class="%s" x="%d" width="%d" height="10"/>`, part.class, x, width)
			x += width
		}
	}
	return w.html()
}

// entryTable is a block of the layout: labels and values, with their share of a whole where text has no room.
type entryTable struct {
	Table
	b  *book
	l  wording
	of Sum
}

func (x *Intervals) entries(b *book, title string, of Sum) *entryTable {
	l := wording{x.text.Russian}
	return &entryTable{Table{Title: l.of(title), entries: true, dashed: true, Columns: []Column{words("characteristic", ""), ints("value", ""), reals("of total", "").wide()}}, b, l, of}
}

// line adds a text; --- before a label says that it is a part of the one above.
func (t *entryTable) line(label, value string, share Cell) {
	text, part := strings.CutPrefix(t.l.of(label), "---")
	t.add(tree(text, map[bool]int{true: 1}[part]), word(value), share)
}

// time adds a time with its share; a page has none that are 0.
func (t *entryTable) time(label string, f Fraction) {
	if t.b.page && (!f.Known() || f.Sign() == 0) {
		return
	}
	t.line(label, t.b.unit.plain(f), named(over(f, t.of).known(), ""))
}

// block has the main characteristics of an interval, in an order that is fixed, and what else was asked for; a page has all.
func (x *Intervals) block(b *book, n *Interval) *chapter {
	u, t := b.unit, &n.Ticks
	c := &chapter{id: fmt.Sprintf("i%d", n.index)}
	c.title = fmt.Sprintf("Interval (LineNumber = %d SourceFile = %s) Level=%d EXE_Count=%d", n.Line, clean(n.File, 200), n.Level, n.Executions)
	if n.ID != 0 {
		c.title += fmt.Sprintf(" Id=%d", n.ID)
	}
	if n.Name != "" {
		c.title += " Name=" + clean(n.Name, 200)
	}
	if n.Uneven {
		c.title += fmt.Sprintf(" EXE_Least=%d", n.Least)
	}
	if b.page {
		c.title = fmt.Sprintf("%s — efficiency %s, %s in %s, lost %s", n.label, n.Efficiency.text(3), u.span(t.Execution), plural(int(min(n.Executions, 1<<31-1)), "execution"), u.spanOf(t.Lost))
	}
	m := x.entries(b, "Main Characteristics", t.Total)
	m.line("Parallelization Efficiency", t.efficiencyText(), none())
	m.line("Execution Time", u.plainTicks(integer(t.Execution)), none())
	m.line("Processors", strconv.FormatUint(n.Processors, 10), none())
	m.line("Total Time", u.plainTicks(t.Total), none())
	if t.Setup > 0 {
		m.time(titled(ItemWord(xtf.ItemSetup)), whole(t.Setup))
	}
	m.line("Productive Time", u.plain(t.Productive)+productiveParts(t), share(over(t.Productive, t.Total)))
	if rule := x.text.Rules.rule(); rule == ProductiveNone {
		m.add(word("  " + m.l.of("rule: no MPI time counts as productive")))
	} else {
		m.add(word("  " + fmt.Sprintf(m.l.of("rule: MPI time of one processor (%s) counts as productive"), rule)))
	}
	if b.page {
		m.time("---CPU", whole(t.CPU))
		m.time("---MPI of One Processor", t.MPIProductive)
	}
	m.line("Lost Time", u.plain(t.Lost), share(over(t.Lost, t.Total)))
	m.time("---MPI Time", t.MPILost)
	m.time("---Idle Time", whole(t.Idle))
	for _, e := range t.losses() {
		label := "---" + titled(e.name)
		if e.name == ItemWord(xtf.ItemMarker) {
			label += " Time"
		}
		if e.name != "idle" && strings.Trim(u.plainTicks(e.ticks), "0.") != "" {
			m.time(label, whole(e.ticks))
		}
	}
	c.table(&m.Table)
	if x.text.Details || b.page {
		x.details(b, c, n)
	}
	for _, o := range n.Ordered {
		item, _ := ParseItem(o.Item)
		list := x.entries(b, o.Item+" by rank", notKnown)
		fill(&list.Table, "process", o.Values, func(v *[2]uint64) []Cell {
			text := count(v[0])
			if !isCount(item) {
				text = u.plainTicks(integer(v[0]))
			}
			return []Cell{word(fmt.Sprintf("@%d", v[1])), word(text)}
		})
		c.table(&list.Table)
	}
	x.executions(b, c, n)
	return c
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

// timeLine is a line of a block: a label and ticks.
type timeLine struct {
	label string
	v     Sum
}

// details are where time went, what may have been lost, and what single processes have.
func (x *Intervals) details(b *book, c *chapter, n *Interval) {
	t := &n.Ticks
	block := func(title string, list ...timeLine) {
		e := x.entries(b, title, t.Total)
		for _, l := range list {
			e.time(l.label, whole(l.v))
		}
		c.table(&e.Table)
	}
	item := func(part string, i xtf.Item, v Sum) timeLine { return timeLine{part + titled(ItemWord(i)), v} }
	block("Communication", item("", xtf.ItemP2P, t.P2P), item("", xtf.ItemColl, t.CollectiveAll), item("---", xtf.ItemNxN, t.AllToAll), item("---", xtf.ItemBarrier, t.Barrier),
		item("", xtf.ItemRMA, t.RMA), item("", xtf.ItemFileIO, t.FileIO), item("", xtf.ItemManagement, t.Management), item("", xtf.ItemStart, t.Start), item("", xtf.ItemSendRecv, t.SendRecv))
	block("Potential Losses", timeLine{"Synchronization", t.PotentialSync}, timeLine{"Time Variation", t.Variation}, timeLine{"Load Imbalance", t.LoadImbalance},
		timeLine{"Dephasing", optional(t.Dephasing)}, timeLine{"Overlap", t.Overlap})
	block("Wait States", n.waitLines()...)
	if e := n.Exclusive; e != nil {
		block("Without Inner Intervals", timeLine{"Time", e.Time}, timeLine{"CPU Time", e.CPU}, timeLine{"MPI Time", e.MPI}, timeLine{"All Waits", e.Waits})
	}
	p := &n.POP
	pop := x.entries(b, "POP", notKnown)
	row := func(label string, r Ratio, approximate bool) {
		text := r.text(6)
		if approximate {
			text += " (approx)"
		}
		pop.line(label, text, none())
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
	c.table(&pop.Table)
	s := b.spreads("component", pop.l.of("Characteristics"), n.Stats, componentsOf(n.Stats), notKnown, xtf.Item.String)
	s.dashed = true
	c.table(s)
}

// componentsOf are the components that processes have so much of, in the order of their numbers: all but instants.
func componentsOf(s Spreads) []componentLine {
	var list []componentLine
	for i := range s {
		if i := s[i].Item; i != xtf.ItemFirst && i != xtf.ItemLast && i != xtf.ItemIdealFirst && i != xtf.ItemIdealLast {
			list = append(list, componentLine{0, i})
		}
	}
	return list
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

// executions has a line for every execution.
func (x *Intervals) executions(b *book, c *chapter, n *Interval) {
	u := b.unit
	t := &Table{Title: "Executions", dashed: true, Columns: []Column{
		ints("k", ""), ints("begin", ""), ints("execution", ""), ranks("rank", ""), ints("processors", ""), reals("efficiency", ""), reals("balance", ""),
		ints("CPU", ""), ints("MPI", ""), ints("waits", ""), ints("idle", ""), reals("lost", ""),
	}}
	plain := func(v Sum) Cell { return named(u.plainTicks(v), v.json()) }
	fill(t, "execution", n.Each, func(e *OneRun) []Cell {
		return []Cell{
			number(e.K), plain(integer(e.First)), plain(integer(e.Execution)), atRank(e.Longest), number(e.Processors), quotient(e.Efficiency, 6), quotient(e.LoadBal, 3),
			plain(e.CPU), plain(e.MPI), plain(e.Waits), plain(e.Idle), word(u.plain(e.Lost)),
		}
	})
	if n.MoreRuns > 0 {
		t.Notes = append(t.Notes, plural(int(n.MoreRuns), "execution")+" were not looked at: choose a part of the run with --time")
	}
	c.table(t)
}

// data has a row for every interval and process, processes in the outer order.
func (x *Intervals) data(r *Run) *Table {
	t := &Table{}
	for _, c := range []Column{
		ints("", "rank"), ints("", "node"), words("", "path"), ints("", "level"), ints("", "id"), words("", "name"), words("", "file"), ints("", "line"),
	} {
		t.Columns = append(t.Columns, c.hidden())
	}
	for i := range xtf.NumItems {
		t.Columns = append(t.Columns, ints("", i.String()).hidden())
	}
	t.Columns = append(t.Columns, ints("", "useful").hidden(), reals("", "lost").hidden())
	t.parts = []part{{rows: func(yield func([]Cell) bool) {
		more := true
		_, err := r.survey(surveyOptions{ranks: x.text.Ranks, span: x.Span, section: "intervals", deep: true, each: func(p *processItems) {
			for _, n := range x.Nodes {
				if more = more && (!p.took(uint32(n.index)) || yield(n.data(p, x.text.Rules))); !more {
					return
				}
			}
		}})
		if more {
			t.failed = err
		}
	}}}
	return t
}

// data is what a process has of the interval. A process's lost time takes the
// mean rule: all of its MPI time but a P-th, its idle time, and what else is not productive.
func (n *Interval) data(p *processItems, rules Rules) []Cell {
	id := uint32(n.index)
	row := []Cell{
		plainNumber(p.rank), plainNumber(n.index), word(pathText(n.Path)), plainNumber(n.Level), plainNumber(n.ID), word(n.Name), word(n.File), plainNumber(n.Line),
	}
	for i := range xtf.NumItems {
		row = append(row, plainNumber(p.at(id, i)))
	}
	of := integer(max(n.Processors, 1))
	setup := p.at(id, xtf.ItemSetup)
	if rules.Init {
		setup = 0
	}
	mpi := integer(p.at(id, xtf.ItemMPI) - min(setup, p.at(id, xtf.ItemMPI)))
	other := sub(n.Ticks.longest, integer(p.at(id, xtf.ItemTime)-min(setup, p.at(id, xtf.ItemTime)))) // idle
	for _, i := range xtf.AsideItems {
		if i != xtf.ItemMPI && (i != xtf.ItemIO || !rules.IO) {
			other = add(other, integer(p.at(id, i)))
		}
	}
	lost := whole(add(mpi, other)).Minus(fraction(mpi, of))
	return append(row, plainNumber(p.useful(id, rules)), word(lost.Fixed(3)))
}

// pathText is a path as 0.1.0.
func pathText(path []int) string {
	text := ""
	for i, k := range path {
		if i > 0 {
			text += "."
		}
		text += strconv.Itoa(k)
	}
	return text
}

// firstScreen are the intervals of the summary.
type firstScreen struct {
	nodes []*Interval
	worst string // a sentence about the worst wait, "" without waits
	next  int    // the interval that lost most, 0: none but the whole program
}

// screenRows bounds the intervals of the first screen; the deepest go first.
const screenRows = 24

// firstScreen reads the tree for the summary; nil for a run without intervals.
func (r *Run) firstScreen(rules Rules) (*firstScreen, error) {
	s, err := r.survey(surveyOptions{section: "summary", rules: rules})
	if err != nil || len(s.nodes) < 2 {
		return nil, err
	}
	x := &firstScreen{}
	for n := range s.nodes {
		x.nodes = append(x.nodes, s.interval(n, rules))
	}
	most := whole(0)
	for _, n := range x.nodes[1:] {
		if n.Ticks.Lost.Compare(most) > 0 {
			most, x.next = n.Ticks.Lost, n.index
		}
	}
	x.worst, err = r.worstWait()
	return x, err
}

// screenTables are the tree of intervals in the summary.
func (d *Document) screenTables(b *book, c *chapter) {
	x := d.screen
	list := upperLevels(x.nodes, screenRows, 0, 2*screenRows)
	t := d.intervalTable(b, list, nil)
	if n := len(x.nodes) - len(list); n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("and %s more: coppice report %s intervals", plural(n, "interval"), d.run.Path))
	}
	c.table(t)
	if x.worst != "" {
		c.line(gapLine, "")
		c.say("worst wait: %s", x.worst)
	}
}

// short prints ticks as seconds with 3 decimals.
func (u unit) short(f Fraction) string {
	if u.resolution == 0 {
		return u.fraction(f)
	}
	return f.Div(u.resolution).Fixed(3)
}

// mostly names the largest part of the lost time, and the waits in it.
func (n *Interval) mostly(u unit) string {
	part, name := n.mostLost()
	if name == "" {
		return ""
	}
	text := fmt.Sprintf("%s %s (%s)", name, u.short(part), percentOf(part, n.Ticks.Lost))
	if worst := n.worstWait(); name == "MPI" && worst != nil && ratio(worst.Sum, n.Ticks.MPI).Value >= 0.1 {
		text += fmt.Sprintf(", of it %s %s", patternLabel(worst.Item.String()), u.short(whole(worst.Sum)))
	}
	return text
}

// mostLost is the largest part of the lost time and its name, "" where nothing is lost.
func (n *Interval) mostLost() (part Fraction, name string) {
	t := &n.Ticks
	if t.Lost.Sign() == 0 {
		return Fraction{}, ""
	}
	part, name = t.MPILost, "MPI"
	for _, x := range t.losses() {
		if v := whole(x.ticks); v.Compare(part) > 0 {
			part, name = v, x.name
		}
	}
	return part, name
}

// worstWait is the pattern with most waiting time, nil without any.
func (n *Interval) worstWait() *Spread {
	if n.Waits == nil {
		return nil
	}
	return worstPattern(n.Stats)
}

// worstPattern is the pattern with most waiting time, nil without any, of stats in any order. Completions are none: there nobody is late.
func worstPattern(stats Spreads) *Spread {
	var worst *Spread
	for _, i := range WaitItems {
		if k := slices.IndexFunc(stats, func(s Spread) bool { return s.Item == i }); k >= 0 && stats[k].Sum > 0 && (worst == nil || stats[k].Sum > worst.Sum) {
			worst = &stats[k]
		}
	}
	return worst
}

// patternLabel is a pattern in a sentence, by its name in documents.
func patternLabel(name string) string {
	for _, x := range waitLabels {
		if x.item.String() == name {
			name = strings.TrimPrefix(x.label, "---")
		}
	}
	return strings.ReplaceAll(strings.ToLower(name), "nxn", "N×N")
}

func percentOf(a, b Fraction) string { return a.Over(b).Times(100).Fixed(0) + " %" }

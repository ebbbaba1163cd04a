package report

import (
	"cmp"
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

// waitPaths lists the waits by call path, and adds the counts to patterns.
func waitPaths(c *results.Causes, patterns []PatternSum) []WaitPath {
	list := []WaitPath{}
	all := numbers.Sum(0)
	counts := map[xtf.Item]numbers.Sum{}
	addCount := func(i xtf.Item, n uint64) { counts[i] = numbers.Add(counts[i], numbers.Integer(n)) }
	for k, s := range c.Waits.Sorted() {
		x := WaitPath{
			Node: uint32(k.Key >> 32), Path: c.Paths.Names(uint32(k.Key)), Pattern: results.PatternName(k.Pattern), Order: results.OrderName(k.Pattern),
			Count: s.Count, Ticks: numbers.Integer(s.Ticks), Worst: s.Worst, Rank: c.Rank(s.WorstP), Launch: results.LaunchName(k.Pattern), apart: results.IsApart(k.Pattern),
		}
		list = append(list, x)
		if !x.apart {
			all = numbers.Add(all, x.Ticks)
		}
		addCount(xtf.PatternItem(k.Pattern), s.Count)
		switch x.Order {
		case "same":
			addCount(xtf.ItemLateSenderSame, s.Count)
		case "different":
			addCount(xtf.ItemLateSenderOther, s.Count)
		}
	}
	for i := range list {
		if !list[i].apart {
			list[i].Share = numbers.Quotient(list[i].Ticks, all)
		}
	}
	for i := range patterns {
		patterns[i].Count = numbers.NotKnown
		if n, ok := counts[patterns[i].item]; ok {
			patterns[i].Count = n
		}
	}
	slices.SortStableFunc(list, func(a, b WaitPath) int { return cmp.Compare(b.Ticks, a.Ticks) })
	return list
}

// Waits is where processes waited for others, who made them wait, and what decided the length of the run.
type Waits struct {
	Resolution uint64                `json:"resolution"`
	Ranks      string                `json:"ranks"`
	Span       *results.Span         `json:"time,omitempty"`
	Time       numbers.Sum           `json:"time_sum"`                // of the chosen processes
	Total      numbers.Sum           `json:"total"`                   // waits for partners
	Others     numbers.Sum           `json:"other_threads,omitempty"` // waits for partners of threads other than the first of a process, not in Total
	Completion numbers.Sum           `json:"completion"`              // spans at the end of collectives
	Share      numbers.Ratio         `json:"share"`                   // total, of the time
	Patterns   []PatternSum          `json:"patterns"`                // by falling time
	Intervals  []WaitNode            `json:"intervals"`               // depth-first
	Paths      []WaitPath            `json:"paths"`                   // by falling time
	Processes  []WaitProcess         `json:"processes"`               // by rank
	Kernels    []KernelWait          `json:"kernels,omitempty"`       // of hosts for kernels and transfers
	Threads    []findings.ThreadWait `json:"threads,omitempty"`       // for other threads, longest first; nil for a span of time
	Causes     []results.Cause       `json:"causes"`                  // by falling cost; nil for a span of time
	Critical   *results.Critical     `json:"critical_path"`
}

// PatternSum is the waits of one pattern.
type PatternSum struct {
	Pattern string        `json:"pattern"`
	Count   numbers.Sum   `json:"count"` // null: not known
	Ticks   numbers.Sum   `json:"ticks"`
	Share   numbers.Ratio `json:"share"` // of the time
	Worst   uint64        `json:"worst"` // of one process
	Rank    uint32        `json:"worst_rank"`
	item    xtf.Item
	meaning string
}

// WaitNode is the waits in an interval.
type WaitNode struct {
	Path  []int              `json:"path"`
	Label string             `json:"label"`
	Time  numbers.Sum        `json:"time_sum"`
	Share numbers.Ratio      `json:"share"`
	Waits *results.WaitTimes `json:"waits"`
}

// WaitPath is the waits of one pattern on one call path of an interval.
type WaitPath struct {
	Node    uint32        `json:"node"`
	Path    []string      `json:"path"` // names of regions, outermost first
	Pattern string        `json:"pattern"`
	Order   string        `json:"wrong_order,omitempty"` // same or different source
	Launch  string        `json:"launch,omitempty"`      // of a kernel: queued or late
	Count   uint64        `json:"count"`
	Ticks   numbers.Sum   `json:"ticks"`
	Share   numbers.Ratio `json:"share"` // of all waits for partners; undefined for waits that are not in Total
	Worst   uint64        `json:"worst"` // of one location
	Rank    uint32        `json:"worst_rank"`

	apart bool // results.IsApart
}

// WaitProcess is the waits of one process.
type WaitProcess struct {
	Rank  uint32        `json:"rank"`
	Total uint64        `json:"total"`
	Share numbers.Ratio `json:"share"` // of its time
	items []uint64      // by waitLabels
}

// NewWaits reports wait states, their causes and the critical path.
func NewWaits(r *results.Run, ranks results.Ranks, span *results.Span) (*Waits, []table.Lost, error) {
	if !r.Rows {
		return nil, nil, fmt.Errorf("%s: wait states: %w: it was analyzed with --events none", r.Name, results.ErrNoResult)
	}
	x := &Waits{Resolution: r.Units().Resolution, Ranks: ranks.String(), Span: span}
	s, err := r.Survey(results.SurveyOptions{Ranks: ranks, Span: span, Section: "waits", Deep: true, Each: func(p *results.ProcessItems) {
		x.Processes = append(x.Processes, waitProcess(p))
	}})
	if err != nil {
		return nil, nil, err
	}
	root := &s.Measured[0]
	x.Time = root.Sum(xtf.ItemTime)
	x.Total, x.Completion = root.Waits()
	x.Share = numbers.Quotient(x.Total, x.Time)
	for _, l := range results.WaitLabels {
		p := root.Spreads.Item(l.Item)
		if p.Sum > 0 {
			x.Patterns = append(x.Patterns, PatternSum{l.Item.String(), numbers.NotKnown, p.Sum, numbers.Quotient(p.Sum, x.Time), p.Max, p.MaxP, l.Item, l.Meaning})
		}
	}
	x.sortPatterns()
	for n := range s.Nodes {
		i := s.Interval(n, results.Rules{})
		t := s.Measured[n].Sum(xtf.ItemTime)
		if i.Waits != nil && (n == 0 || i.Waits.Total > 0) {
			x.Intervals = append(x.Intervals, WaitNode{i.Path, i.Text, t, numbers.Quotient(i.Waits.Total, t), i.Waits})
		}
	}
	lost := s.Lost
	if span == nil {
		missing, err := x.readThreads(r, ranks)
		if err != nil {
			return nil, nil, err
		}
		lost = append(lost, missing...)
	}
	c := results.Causes{R: r, Ranks: ranks, Span: span}
	if err := c.ReadLines(); err != nil {
		return nil, nil, err
	}
	x.Others = otherThreads(&c, x.Total)
	x.Paths, x.Causes = waitPaths(&c, x.Patterns), c.CauseLines(ranks.All() && span == nil)
	kernels, missing, err := kernelWaits(&c)
	if err != nil {
		return nil, nil, err
	}
	x.Kernels, lost = kernels, append(lost, missing...)
	x.Critical, err = c.Critical(root)
	return x, append(lost, c.Lost...), err
}

// otherThreads is the wait time of threads other than the first of their process; total is that of the first ones. 0 if there are
// no others.
func otherThreads(c *results.Causes, total numbers.Sum) numbers.Sum {
	if !slices.ContainsFunc(c.R.Defs.Processes(), func(p trace.Process) bool { return p.Count > 1 }) {
		return 0
	}
	all := numbers.Sum(0)
	for k, s := range c.Waits {
		if !results.IsApart(k.Pattern) {
			all = numbers.Add(all, numbers.Integer(s.Ticks))
		}
	}
	return max(numbers.Sub(all, total), 0)
}

// sortPatterns sorts the patterns by falling time; parts of late sender follow it.
func (x *Waits) sortPatterns() {
	of := map[xtf.Item]numbers.Sum{}
	for _, p := range x.Patterns {
		of[p.item] = p.Ticks
	}
	key := func(p PatternSum) numbers.Sum {
		if late, ok := of[xtf.ItemLateSender]; ok && p.part() {
			return late
		}
		return p.Ticks
	}
	slices.SortStableFunc(x.Patterns, func(a, b PatternSum) int { return cmp.Compare(key(b), key(a)) })
}

// part reports whether the pattern is a part of late sender.
func (p *PatternSum) part() bool {
	return p.item == xtf.ItemLateSenderSame || p.item == xtf.ItemLateSenderOther
}

func waitProcess(p *results.ProcessItems) WaitProcess {
	x := WaitProcess{Rank: p.Rank}
	for _, i := range results.WaitItems {
		x.Total += p.At(0, i)
	}
	for _, l := range results.WaitLabels {
		x.items = append(x.items, p.At(0, l.Item))
	}
	x.Share = numbers.NewRatio(x.Total, p.At(0, xtf.ItemTime))
	return x
}

// MarshalJSON writes the sums, then the patterns that occur.
func (x WaitProcess) MarshalJSON() ([]byte, error) {
	share, err := x.Share.MarshalJSON()
	b := fmt.Appendf(nil, `{"rank":%d,"total":%d,"share":%s`, x.Rank, x.Total, share)
	for i, v := range x.items {
		if v > 0 {
			b = fmt.Appendf(b, ",%q:%d", results.WaitLabels[i].Item, v)
		}
	}
	return append(b, '}'), err
}

// chapter shows the waits, their causes and the critical path.
func (x *Waits) chapter(b *table.Book, c *table.Chapter, r *results.Run) {
	u := b.Unit
	c.Title = fmt.Sprintf("waits of %s: %s %s, %s of the processes' time", results.RanksText(x.Ranks), u.Big(x.Total), u.Name(), x.Share.Percent())
	if x.Span != nil {
		c.Title += ", " + x.Span.Text(u)
	}
	if x.Others > 0 {
		c.Say("other threads than the first of a process wait %s %s more: call paths, causes and numbers of waits have them too", u.Big(x.Others), u.Name())
	}
	if len(x.Patterns) == 0 {
		c.Say("none")
	}
	c.Table(x.patternTable(u))
	if len(x.Intervals) > 1 {
		c.Table(x.nodeTable(b))
	}
	c.Table(x.pathTable(u))
	c.Table(x.processTable(u))
	threads := &table.Table{Title: "Threads that wait for other threads", Columns: []table.Column{table.Words("by thread", ""), table.Ints(table.Of(u, "lock wait"), ""), table.Ints("thread wait", "")}}
	table.Fill(threads, "thread", x.Threads, func(t *findings.ThreadWait) []table.Cell {
		return []table.Cell{table.Word(fmt.Sprintf("rank %d, thread %d", t.Process, t.Thread)), table.Time(u, t.Lock), table.Time(u, t.Wait)}
	})
	c.Table(threads)
	c.Table(table.Fill(&table.Table{Title: "Kernels that hosts wait for", Columns: []table.Column{
		table.Words("waited for", ""), table.Words("in", ""), table.Ints("waits", ""), table.Ints(u.Name(), ""), table.Ints(table.Of(u, "queued"), ""), table.Ints(table.Of(u, "launched late"), ""), table.Ints("longest", ""), table.Ranks("rank", ""),
	}, Notes: []string{"queued: it was launched after another one of its stream; launched late: another thread launched it after the wait began"}}, "kernel", x.Kernels, func(k *KernelWait) []table.Cell {
		return []table.Cell{
			table.Named(numbers.Clean(k.Kernel, 60), k.Kernel), table.Named(numbers.Clean(k.Call, 40), k.Call), table.Number(k.Count), table.Ticks(u, k.Ticks), table.Ticks(u, k.Queued), table.Ticks(u, k.Late), table.Time(u, k.Worst), table.AtRank(k.Rank),
		}
	}))
	c.Table(x.causeTable(u))
	if len(x.Causes) > 0 {
		c.Line(table.FindingLine, fmt.Sprintf("%s: %s of all waiting", x.Causes[0].Who(r), x.Causes[0].Share.Percent()))
	}
	x.criticalTables(u, c)
}

func (x *Waits) patternTable(u numbers.Units) *table.Table {
	t := &table.Table{Title: "Waits by pattern", Columns: []table.Column{
		table.Words("pattern", ""), table.Ints("waits", ""), table.Ints(u.Name(), ""), table.Reals("of time", ""), table.Ints("most", ""), table.Ranks("rank", ""), table.Words("", ""),
	}}
	for i := range x.Patterns {
		p := &x.Patterns[i]
		label := table.Word(p.Pattern)
		if p.part() {
			label = table.Tree("of it "+strings.TrimPrefix(p.Pattern, "late_sender_"), 1)
		}
		t.Add(label, table.Named(p.Count.Count(), p.Count.JSON()), table.Ticks(u, p.Ticks), table.Share(p.Share), table.Time(u, p.Worst), table.AtRank(p.Rank), table.Word(p.meaning))
	}
	return t
}

// heatSteps are shares in millionths of the interval's time. From each on a cell has the next colour.
var heatSteps = [...]uint64{1, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000}

// heatClass is the colour of a part of a whole.
func heatClass(v, of numbers.Sum) string {
	if v <= 0 || of <= 0 {
		return "h0"
	}
	parts := numbers.MulDiv(uint64(v), 1e6, uint64(of))
	step := 0
	for i, s := range heatSteps {
		if parts >= s {
			step = i
		}
	}
	return fmt.Sprintf("h%d", step+1)
}

// nodeTable shows the waits of each interval; on a page also by pattern, coloured by their share of the interval's time.
func (x *Waits) nodeTable(b *table.Book) *table.Table {
	u := b.Unit
	t := &table.Table{Title: "Waits by interval; of a pattern with its share of the interval's time, which is the colour", Columns: []table.Column{
		table.Words("by interval", ""), table.Ints(table.Of(u, "waits"), ""), table.Reals("of its time", ""), table.Words("mostly", ""),
	}}
	for i := range x.Patterns {
		if p := &x.Patterns[i]; !p.part() {
			t.Columns = append(t.Columns, table.Ints(results.PatternLabel(p.Pattern), "").Wide())
		}
	}
	table.Fill(t, "interval", x.Intervals, func(n *WaitNode) []table.Cell {
		most := ""
		if p := results.WorstPattern(n.Waits.Patterns); p != nil {
			most = p.Item.String() + " " + u.Big(p.Sum)
		}
		row := []table.Cell{table.Tree(n.Label, max(0, len(n.Path)-1)), table.Ticks(u, n.Waits.Total), table.Share(n.Share), table.Word(most)}
		for i := range x.Patterns {
			p := &x.Patterns[i]
			if p.part() {
				continue
			}
			v := numbers.Sum(0)
			if k := slices.IndexFunc(n.Waits.Patterns, func(s results.Spread) bool { return s.Item == p.item }); k >= 0 {
				v = n.Waits.Patterns[k].Sum
			}
			cell := table.Cell{Text: "–", Class: heatClass(v, n.Time)}
			if v != 0 {
				cell.Text, cell.Value, cell.Note = u.SpanOf(numbers.Whole(v)), v.JSON(), numbers.Quotient(v, n.Time).Percent()
			}
			row = append(row, cell)
		}
		return row
	})
	return t
}

// label completes the name of the pattern: which messages came in the wrong order, how a kernel was late.
func (p *WaitPath) label(pattern string) string {
	switch {
	case p.Order != "":
		return pattern + ", wrong order (" + p.Order + " source)"
	case p.Launch != "":
		return pattern + ", launch " + p.Launch
	}
	return pattern
}

func (x *Waits) pathTable(u numbers.Units) *table.Table {
	return table.Fill(&table.Table{Title: "Call paths that wait most", Kind: "wait", Columns: []table.Column{
		table.Ints("", "node").Hidden(), table.Words("by call path", "path"), table.Words("pattern", "pattern"), table.Words("", "order_or_activity").Hidden(), table.Ints("waits", "count"),
		table.Ints(u.Name(), "ticks"), table.Reals("of waits", ""), table.Ints("most", "worst"), table.Ranks("rank", "worst_rank"),
	}}, "row", x.Paths, func(p *WaitPath) []table.Cell {
		return []table.Cell{
			table.PlainNumber(p.Node), results.PathCell(p.Path), table.Named(p.label(p.Pattern), p.Pattern), table.Word(p.Order + p.Launch), table.Number(p.Count),
			table.Ticks(u, p.Ticks), table.Named(p.Share.Known(), p.Share.Csv()), table.Time(u, p.Worst), table.AtRank(p.Rank),
		}
	})
}

// processTable lists the processes that wait most.
func (x *Waits) processTable(u numbers.Units) *table.Table {
	list := slices.Clone(x.Processes)
	slices.SortStableFunc(list, func(a, b WaitProcess) int { return cmp.Compare(b.Total, a.Total) })
	t := &table.Table{Title: "Processes that wait most", Columns: []table.Column{table.Words("by process", ""), table.Ints(table.Of(u, "waits"), ""), table.Reals("of its time", ""), table.Words("mostly", "")}}
	if len(list) < 2 || list[0].Total == 0 {
		return t
	}
	table.Fill(t, "process", list, func(p *WaitProcess) []table.Cell {
		most, v := "", uint64(0)
		for k, ticks := range p.items {
			if ticks > v && slices.Contains(results.WaitItems, results.WaitLabels[k].Item) {
				most, v = results.WaitLabels[k].Item.String(), ticks
			}
		}
		if v > 0 {
			most += " " + u.Ticks(v)
		}
		return []table.Cell{table.Word(fmt.Sprintf("rank %d", p.Rank)), table.Time(u, p.Total), table.Share(p.Share), table.Word(most)}
	})
	return t
}

// causeTable lists who makes others wait most.
func (x *Waits) causeTable(u numbers.Units) *table.Table {
	return table.Fill(&table.Table{Title: "Causes of waits", Kind: "delay", Columns: []table.Column{
		table.Ints("", "node").Hidden(), table.Words("caused by", "path"), table.Words("activity", "order_or_activity"), table.Words("waits of", "pattern"), table.Ints(table.Of(u, "short"), "ticks"),
		table.Ints(table.Of(u, "long"), "long"), table.Reals("of waits", ""), table.Ints("most", "worst"), table.Ranks("rank", "worst_rank"),
	}, Notes: []string{"short: others waited for them so long; long: and others for these in turn"}}, "row", x.Causes, func(c *results.Cause) []table.Cell {
		return []table.Cell{
			table.PlainNumber(c.Node), results.PathCell(c.Path), table.Word(c.Activity), table.Word(c.Pattern), table.Ticks(u, c.Short), table.Ticks(u, c.Long), table.Share(c.Share), table.Time(u, c.Worst), table.AtRank(c.Rank),
		}
	})
}

// criticalTables show what decided the length of the run, by activity and by region. A finding names the region whose imbalance
// costs most.
func (x *Waits) criticalTables(u numbers.Units, c *table.Chapter) {
	if x.Critical == nil {
		return
	}
	part := func(title, head, kind, name, activity, ticks, rank string, list []results.CriticalSum) *table.Table {
		return table.Fill(&table.Table{Title: title, Kind: kind, Columns: []table.Column{
			table.Words(head, name), table.Words("activity", activity), table.Ints(u.Name(), ticks), table.Reals("share", ""), table.Reals("mean of a process", ""), table.Reals("imbalance", ""), table.Ints(table.Of(u, "impact"), ""), table.Ranks("most on", rank),
		}}, "region", list, func(c *results.CriticalSum) []table.Cell {
			return []table.Cell{table.Named(numbers.Clean(c.Name, 60), c.Name), table.Word(c.Activity), table.Ticks(u, c.Ticks), table.Share(c.Share), table.Exact(u, c.Mean), table.Exact(u, c.Imbalance), table.Ticks(u, c.Impact), table.AtRank(c.Rank)}
		})
	}
	activities := part("Critical path by activity", "on the path", "", "", "", "", "", x.Critical.Activities)
	activities.Lead = fmt.Sprintf("critical path: %s %s", u.Big(x.Critical.Length), u.Name())
	activities.Notes = []string{"it partitions the run: what is on it, and only that, decides how long the run takes"}
	c.Table(activities)
	c.Table(part("Critical path by region", "on the path", "critical", "path", "order_or_activity", "ticks", "worst_rank", x.Critical.Regions))
	var top *results.CriticalSum
	for i := range x.Critical.Regions {
		if c := &x.Critical.Regions[i]; c.Activity == "cpu" && c.Impact > 0 && (top == nil || c.Impact > top.Impact) {
			top = c
		}
	}
	if top != nil {
		c.Line(table.FindingLine, fmt.Sprintf("%s takes %s %s of the path and %s of a process on average: balanced, the run could be %s shorter",
			numbers.Clean(top.Name, 60), u.Big(top.Ticks), u.Name(), u.Fraction(top.Mean), u.Fraction(top.Imbalance)))
	}
}

// readThreads lists the threads that wait for others.
func (w *Waits) readThreads(r *results.Run, ranks results.Ranks) ([]table.Lost, error) {
	lost, err := findings.EachThread(r, ranks, "waits", func(x *findings.ThreadWait) {
		if x.Lock > 0 || x.Wait > 0 {
			w.Threads = append(w.Threads, *x)
		}
	})
	slices.SortStableFunc(w.Threads, func(a, b findings.ThreadWait) int {
		return cmp.Compare(b.Lock+b.Wait, a.Lock+a.Wait)
	})
	return lost, err
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Waits is where processes waited for others, who made them wait, and what the
// run's length depends on.
type Waits struct {
	Resolution uint64        `json:"resolution"`
	Ranks      string        `json:"ranks"`
	Span       *Span         `json:"time,omitempty"`
	Time       Sum           `json:"time_sum"`                // of the chosen processes
	Total      Sum           `json:"total"`                   // waits for partners
	Others     Sum           `json:"other_threads,omitempty"` // waits for partners of threads but the first of a process, not in total
	Completion Sum           `json:"completion"`              // spans at the end of collectives
	Share      Ratio         `json:"share"`                   // total, of the time
	Patterns   []PatternSum  `json:"patterns"`                // by falling time
	Intervals  []WaitNode    `json:"intervals"`               // depth-first
	Paths      []WaitPath    `json:"paths"`                   // by falling time
	Processes  []WaitProcess `json:"processes"`               // by rank
	Threads    []ThreadWait  `json:"threads,omitempty"`       // that wait for other threads, longest first; nil for a span of time
	Causes     []Cause       `json:"causes"`                  // by falling cost; nil for a span of time
	Critical   *Critical     `json:"critical_path"`
}

// PatternSum is the waits of one pattern.
type PatternSum struct {
	Pattern string `json:"pattern"`
	Count   Sum    `json:"count"` // null: not known
	Ticks   Sum    `json:"ticks"`
	Share   Ratio  `json:"share"` // of the time
	Worst   uint64 `json:"worst"` // of one process
	Rank    uint32 `json:"worst_rank"`
	item    xtf.Item
}

// WaitNode is the waits in an interval.
type WaitNode struct {
	Path  []int      `json:"path"`
	Label string     `json:"label"`
	Time  Sum        `json:"time_sum"`
	Share Ratio      `json:"share"`
	Waits *WaitTimes `json:"waits"`
}

// WaitPath is the waits of one pattern on one call path of an interval.
type WaitPath struct {
	Node    uint32   `json:"node"`
	Path    []string `json:"path"` // names of regions, outermost first
	Pattern string   `json:"pattern"`
	Order   string   `json:"wrong_order,omitempty"` // same or different source
	Count   uint64   `json:"count"`
	Ticks   Sum      `json:"ticks"`
	Share   Ratio    `json:"share"` // of all waits for partners here; undefined of completions
	Worst   uint64   `json:"worst"` // of one location
	Rank    uint32   `json:"worst_rank"`
}

// WaitProcess is the waits of one process.
type WaitProcess struct {
	Rank  uint32   `json:"rank"`
	Total uint64   `json:"total"`
	Share Ratio    `json:"share"` // of its time
	items []uint64 // by waitLabels
}

// PatternName is the name of the pattern of a WAIT row, as in documents.
func PatternName(pattern uint32) string {
	if i := xtf.PatternItem(pattern); i != xtf.NumItems {
		return i.String()
	}
	return fmt.Sprintf("pattern %d", pattern&xtf.WaitPatternMask)
}

// OrderName says which kind of wrong order a late sender is, same or different; ""
// for none.
func OrderName(pattern uint32) string {
	switch pattern & xtf.WaitOrderMask {
	case xtf.WaitOrderSame:
		return "same"
	case xtf.WaitOrderDifferent:
		return "different"
	}
	return ""
}

// IsCompletion reports whether a pattern is a span at the end of a collective,
// which is not a wait for a partner.
func IsCompletion(pattern uint32) bool {
	p := pattern & xtf.WaitPatternMask
	return p == xtf.WaitBarrierCompletion || p == xtf.WaitNxNCompletion
}

// Waits reports wait states, their causes and the critical path.
func (r *Run) Waits(ranks Ranks, span *Span) (*Waits, []Lost, error) {
	if rows, err := r.HasRows(); err != nil || !rows {
		return nil, nil, cmp.Or(err, fmt.Errorf("%s: wait states: %w: it was analyzed with --events none", r.Name, ErrNoResult))
	}
	x := &Waits{Resolution: r.Defs.Clock().TimerResolution, Ranks: ranks.String(), Span: span}
	s, err := r.survey(surveyOptions{ranks: ranks, span: span, section: "waits", deep: true, each: func(p *processItems) {
		x.Processes = append(x.Processes, waitProcess(p))
	}})
	if err != nil {
		return nil, nil, err
	}
	root := &s.measured[0]
	x.Time = root.sum(xtf.ItemTime)
	x.Total, x.Completion = root.waits()
	x.Share = ratio(x.Total, x.Time)
	for _, l := range waitLabels {
		p := root.spreads.item(l.item)
		if p.Sum > 0 {
			x.Patterns = append(x.Patterns, PatternSum{l.item.String(), notKnown, p.Sum, ratio(p.Sum, x.Time), p.Max, p.MaxP, l.item})
		}
	}
	x.sortPatterns()
	for n := range s.nodes {
		i := s.interval(n, Rules{})
		t := s.measured[n].sum(xtf.ItemTime)
		if i.Waits != nil && (n == 0 || i.Waits.Total > 0) {
			x.Intervals = append(x.Intervals, WaitNode{i.Path, i.label, t, ratio(i.Waits.Total, t), i.Waits})
		}
	}
	lost := s.lost
	if span == nil {
		missing, err := x.readThreads(r, ranks)
		if err != nil {
			return nil, nil, err
		}
		lost = append(lost, missing...)
	}
	c := causes{r: r, ranks: ranks, span: span}
	if err := c.read(); err != nil {
		return nil, nil, err
	}
	x.Others = c.otherThreads(x.Total)
	x.Paths, x.Causes = c.waitPaths(x.Patterns), c.causeLines(ranks.All() && span == nil)
	x.Critical, err = c.critical(root)
	return x, append(lost, c.lost...), err
}

// otherThreads is what threads wait that are not the first of their process, whose
// waits are total; 0 where there are none.
func (c *causes) otherThreads(total Sum) Sum {
	if !slices.ContainsFunc(c.r.Defs.Processes(), func(p trace.Process) bool { return p.Count > 1 }) {
		return 0
	}
	all := Sum(0)
	for k, s := range c.waits {
		if !IsCompletion(k.pattern) {
			all = add(all, integer(s.ticks))
		}
	}
	return max(sub(all, total), 0)
}

// sortPatterns puts the patterns in the order of falling time, parts of late
// sender after it.
func (x *Waits) sortPatterns() {
	of := map[xtf.Item]Sum{}
	for _, p := range x.Patterns {
		of[p.item] = p.Ticks
	}
	key := func(p PatternSum) Sum {
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

func waitProcess(p *processItems) WaitProcess {
	x := WaitProcess{Rank: p.rank}
	for _, i := range WaitItems {
		x.Total += p.at(0, i)
	}
	for _, l := range waitLabels {
		x.items = append(x.items, p.at(0, l.item))
	}
	x.Share = ratio64(x.Total, p.at(0, xtf.ItemTime))
	return x
}

// MarshalJSON writes the sums, then the patterns that occur.
func (x WaitProcess) MarshalJSON() ([]byte, error) {
	share, err := x.Share.MarshalJSON()
	b := fmt.Appendf(nil, `{"rank":%d,"total":%d,"share":%s`, x.Rank, x.Total, share)
	for i, v := range x.items {
		if v > 0 {
			b = fmt.Appendf(b, ",%q:%d", waitLabels[i].item, v)
		}
	}
	return append(b, '}'), err
}

// CallPaths are the call paths that waits and causes refer to, the rows of PATH.
// Memory: 8 bytes each.
type CallPaths struct {
	r       *Run
	parents []uint32
	regions []uint32
}

// maxPathDepth bounds what is shown of a call path.
const maxPathDepth = 512

// CallPaths reads them.
func (r *Run) CallPaths() (*CallPaths, error) {
	p := &CallPaths{r: r}
	var bad error
	err := load(r, xtf.WholeRun, func(x *xtf.Path) {
		if n := uint64(len(p.parents)); x.Key != n || n > 0 && uint64(x.Parent) >= n {
			bad = fmt.Errorf("row %d of path %d: %w", n, x.Key, xtf.ErrCorrupt)
		}
		p.parents, p.regions = append(p.parents, x.Parent), append(p.regions, x.Region)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("%s: call paths: %w", r.Name, err)
	}
	return p, nil
}

// Region is the reference of the innermost region of a path, trace.Undefined
// outside of all calls.
func (p *CallPaths) Region(id uint32) uint32 {
	if id == 0 || uint64(id) >= uint64(len(p.regions)) {
		return trace.Undefined
	}
	return p.regions[id]
}

// Names are the names of the path's regions, outermost first.
func (p *CallPaths) Names(id uint32) []string {
	list := []string{}
	for n := 0; id > 0 && uint64(id) < uint64(len(p.parents)) && n < maxPathDepth; n++ {
		list = append(list, p.r.RegionName(p.regions[id]))
		id = p.parents[id]
	}
	slices.Reverse(list)
	return list
}

// patternMeaning says what a pattern is; what to do about it is in adviceTable.
var patternMeaning = map[string]string{
	"late_sender":                       "receivers wait for messages that were sent too late",
	"late_sender_wrong_order_same":      "messages of one source are received in another order than they were sent",
	"late_sender_wrong_order_different": "another source's message was already there",
	"late_receiver":                     "senders wait, in the send or where it is completed, for the receive to be posted",
	"late_progress":                     "senders wait until the receiver, which has posted the receive, is in MPI again",
	"wait_barrier":                      "processes come to barriers at different times",
	"barrier_completion":                "leaving barriers takes this long after the first process has left",
	"wait_nxn":                          "processes come to all-to-all operations at different times",
	"nxn_completion":                    "leaving all-to-all operations takes this long after the first process has left",
	"late_broadcast":                    "the root comes late to a broadcast",
	"early_reduce":                      "the root of a reduction waits for the first contribution",
	"early_scan":                        "processes wait in prefix operations for those below them",
}

// pathShown is how many regions of a call path people see.
const pathShown = 4

// pathLabel is a call path for people: its innermost regions.
func pathLabel(names []string) string {
	if len(names) == 0 {
		return "(outside recorded calls)"
	}
	shown := names[max(0, len(names)-pathShown):]
	parts := make([]string, len(shown))
	for i, n := range shown {
		parts[i] = clean(n, 40)
	}
	text := strings.Join(parts, " > ")
	if len(shown) < len(names) {
		text = "... > " + text
	}
	return text
}

func pathCell(names []string) Cell { return named(pathLabel(names), strings.Join(names, " > ")) }

func ranksText(ranks string) string {
	if ranks == "all" {
		return "all processes"
	}
	return "ranks " + ranks
}

// chapter has the waits, their causes and the critical path.
func (x *Waits) chapter(b *book, c *chapter, r *Run) {
	u := b.unit
	c.title = fmt.Sprintf("waits of %s: %s %s, %s of the processes' time", ranksText(x.Ranks), u.big(x.Total), u.name(), x.Share.percent())
	if x.Span != nil {
		c.title += ", " + x.Span.text(u)
	}
	if x.Others > 0 {
		c.say("other threads than the first of a process wait %s %s more: call paths, causes and numbers of waits have them too", u.big(x.Others), u.name())
	}
	if len(x.Patterns) == 0 {
		c.say("none")
	}
	c.table(x.patternTable(u))
	if len(x.Intervals) > 1 {
		c.table(x.nodeTable(b))
	}
	c.table(x.pathTable(u))
	c.table(x.processTable(u))
	threads := &Table{Title: "Threads that wait for other threads", Columns: []Column{words("by thread", ""), ints(u.of("lock wait"), ""), ints("thread wait", "")}}
	fill(threads, "thread", x.Threads, func(t *ThreadWait) []Cell {
		return []Cell{word(fmt.Sprintf("rank %d, thread %d", t.Process, t.Thread)), u.time(t.Lock), u.time(t.Wait)}
	})
	c.table(threads)
	c.table(x.causeTable(u))
	if len(x.Causes) > 0 {
		c.line(findingLine, x.Causes[0].sentence(r))
	}
	x.criticalTables(u, c)
}

func (x *Waits) patternTable(u unit) *Table {
	t := &Table{Title: "Waits by pattern", Columns: []Column{
		words("pattern", ""), ints("waits", ""), ints(u.name(), ""), reals("of time", ""), ints("most", ""), ranks("rank", ""), words("", ""),
	}}
	for i := range x.Patterns {
		p := &x.Patterns[i]
		label := word(p.Pattern)
		if p.part() {
			label = tree("of it "+strings.TrimPrefix(p.Pattern, "late_sender_"), 1)
		}
		t.add(label, named(p.Count.count(), p.Count.json()), u.sum(p.Ticks), share(p.Share), u.time(p.Worst), atRank(p.Rank), word(patternMeaning[p.Pattern]))
	}
	return t
}

// heatSteps are the shares, in millionths of the interval's time, from which on a
// cell has the next colour.
var heatSteps = [...]uint64{1, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000}

// heatClass is the colour of a part of a whole.
func heatClass(v, of Sum) string {
	if v <= 0 || of <= 0 {
		return "h0"
	}
	parts := muldiv(uint64(v), 1e6, uint64(of))
	step := 0
	for i, s := range heatSteps {
		if parts >= s {
			step = i
		}
	}
	return fmt.Sprintf("h%d", step+1)
}

// nodeTable has the waits of each interval; on a page with those of each pattern, coloured by their share of the interval's time.
func (x *Waits) nodeTable(b *book) *Table {
	u := b.unit
	t := &Table{Title: "Waits by interval; of a pattern with its share of the interval's time, which is the colour", Columns: []Column{
		words("by interval", ""), ints(u.of("waits"), ""), reals("of its time", ""), words("mostly", ""),
	}}
	for i := range x.Patterns {
		if p := &x.Patterns[i]; !p.part() {
			t.Columns = append(t.Columns, ints(patternLabel(p.Pattern), "").wide())
		}
	}
	fill(t, "interval", x.Intervals, func(n *WaitNode) []Cell {
		most := ""
		if p := worstPattern(n.Waits.patterns); p != nil {
			most = p.Item.String() + " " + u.big(p.Sum)
		}
		row := []Cell{tree(n.Label, max(0, len(n.Path)-1)), u.sum(n.Waits.Total), share(n.Share), word(most)}
		for i := range x.Patterns {
			p := &x.Patterns[i]
			if p.part() {
				continue
			}
			v := Sum(0)
			if k := slices.IndexFunc(n.Waits.patterns, func(s Spread) bool { return s.Item == p.item }); k >= 0 {
				v = n.Waits.patterns[k].Sum
			}
			cell := Cell{Text: "–", class: heatClass(v, n.Time)}
			if v != 0 {
				cell.Text, cell.Value, cell.note = u.spanOf(whole(v)), v.json(), ratio(v, n.Time).percent()
			}
			row = append(row, cell)
		}
		return row
	})
	return t
}

// label completes the name of the pattern: which order of messages was wrong.
func (p *WaitPath) label(pattern string) string {
	if p.Order == "" {
		return pattern
	}
	return pattern + ", wrong order (" + p.Order + " source)"
}

func (x *Waits) pathTable(u unit) *Table {
	t := &Table{Title: "Call paths that wait most", Kind: "wait", Columns: []Column{
		ints("", "node").hidden(), words("by call path", "path"), words("pattern", "pattern"), words("", "order_or_activity").hidden(), ints("waits", "count"),
		ints(u.name(), "ticks"), reals("of waits", ""), ints("most", "worst"), ranks("rank", "worst_rank"),
	}}
	fill(t, "row", x.Paths, func(p *WaitPath) []Cell {
		return []Cell{
			plainNumber(p.Node), pathCell(p.Path), named(p.label(p.Pattern), p.Pattern), word(p.Order), number(p.Count),
			u.sum(p.Ticks), named(p.Share.known(), p.Share.csv()), u.time(p.Worst), atRank(p.Rank),
		}
	})
	return t
}

// processTable has the processes that wait most.
func (x *Waits) processTable(u unit) *Table {
	list := slices.Clone(x.Processes)
	slices.SortStableFunc(list, func(a, b WaitProcess) int { return cmp.Compare(b.Total, a.Total) })
	t := &Table{Title: "Processes that wait most", Columns: []Column{words("by process", ""), ints(u.of("waits"), ""), reals("of its time", ""), words("mostly", "")}}
	if len(list) < 2 || list[0].Total == 0 {
		return t
	}
	fill(t, "process", list, func(p *WaitProcess) []Cell {
		most, v := "", uint64(0)
		for k, ticks := range p.items {
			if ticks > v && slices.Contains(WaitItems, waitLabels[k].item) {
				most, v = waitLabels[k].item.String(), ticks
			}
		}
		if v > 0 {
			most += " " + u.ticks(v)
		}
		return []Cell{word(fmt.Sprintf("rank %d", p.Rank)), u.time(p.Total), share(p.Share), word(most)}
	})
	return t
}

// causeTable has who makes others wait most.
func (x *Waits) causeTable(u unit) *Table {
	t := &Table{Title: "Causes of waits", Kind: "delay", Columns: []Column{
		ints("", "node").hidden(), words("caused by", "path"), words("activity", "order_or_activity"), words("waits of", "pattern"), ints(u.of("short"), "ticks"),
		ints(u.of("long"), "long"), reals("of waits", ""), ints("most", "worst"), ranks("rank", "worst_rank"),
	}, Notes: []string{"short: others waited for them so long; long: and others for these in turn"}}
	fill(t, "row", x.Causes, func(c *Cause) []Cell {
		return []Cell{
			plainNumber(c.Node), pathCell(c.Path), word(c.Activity), word(c.Pattern), u.sum(c.Short), u.sum(c.Long), share(c.Share), u.time(c.Worst), atRank(c.Rank),
		}
	})
	return t
}

// sentence says who causes most waits, and what to do about it where the table of
// advice knows.
func (x *Cause) sentence(r *Run) string {
	text := fmt.Sprintf("%s: %s of all waiting", x.who(r), x.Share.percent())
	for item := range xtf.NumItems {
		if item.String() == x.Pattern {
			if a := advice(waitKind(item), &findingFacts{activity: x.Activity}); a != "" {
				text += "; " + a
			}
		}
	}
	return text
}

// criticalTables are what the run's length depends on, by activity and by region; a finding names the region whose imbalance costs most.
func (x *Waits) criticalTables(u unit, c *chapter) {
	if x.Critical == nil {
		return
	}
	part := func(title, head, kind, name, activity, ticks, rank string, list []CriticalSum) *Table {
		t := &Table{Title: title, Kind: kind, Columns: []Column{
			words(head, name), words("activity", activity), ints(u.name(), ticks), reals("share", ""), reals("mean of a process", ""), reals("imbalance", ""), ints(u.of("impact"), ""), ranks("most on", rank),
		}}
		fill(t, "region", list, func(c *CriticalSum) []Cell {
			return []Cell{named(clean(c.Name, 60), c.Name), word(c.Activity), u.sum(c.Ticks), share(c.Share), u.exact(c.Mean), u.exact(c.Imbalance), u.sum(c.Impact), atRank(c.Rank)}
		})
		return t
	}
	activities := part("Critical path by activity", "on the path", "", "", "", "", "", x.Critical.Activities)
	activities.Lead = fmt.Sprintf("critical path: %s %s", u.big(x.Critical.Length), u.name())
	activities.Notes = []string{"it partitions the run: what is on it, and only that, decides how long the run takes"}
	c.table(activities)
	c.table(part("Critical path by region", "on the path", "critical", "path", "order_or_activity", "ticks", "worst_rank", x.Critical.Regions))
	var top *CriticalSum
	for i := range x.Critical.Regions {
		if c := &x.Critical.Regions[i]; c.Activity == "cpu" && c.Impact > 0 && (top == nil || c.Impact > top.Impact) {
			top = c
		}
	}
	if top != nil {
		c.line(findingLine, fmt.Sprintf("%s takes %s %s of the path and %s of a process on average: balanced, the run could be %s shorter",
			clean(top.Name, 60), u.big(top.Ticks), u.name(), u.fraction(top.Mean), u.fraction(top.Imbalance)))
	}
}

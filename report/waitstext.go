package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

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

// pathShown is how many regions of a call path text shows.
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

// writeWaits writes wait states, causes and the critical path.
func (d *Document) writeWaits(w *writer) {
	x := d.Waits
	u := w.unit
	head := fmt.Sprintf("waits of %s: %s %s, %s of the processes' time", ranksText(x.Ranks), u.big(x.Total), u.name(), x.Share.percent())
	if x.Span != nil {
		head += ", " + x.Span.text(u)
	}
	w.title(head)
	if x.Others > 0 {
		w.line("other threads than the first of a process wait %s %s more: call paths, causes and numbers of waits have them too", u.big(x.Others), u.name())
	}
	if len(x.Patterns) == 0 {
		w.line("none")
	}
	tab := table{head: []string{"<pattern", "waits", u.name(), "of time", "most", "<rank", "<"}}
	for i := range x.Patterns {
		p := &x.Patterns[i]
		name := p.Pattern
		if p.part() {
			name = "  of it " + strings.TrimPrefix(name, "late_sender_")
		}
		tab.add(name, p.Count.count(), u.big(p.Ticks), p.Share.percent(), u.ticks(p.Worst), fmt.Sprintf("@%d", p.Rank), patternMeaning[p.Pattern])
	}
	w.table(&tab)
	x.writeNodes(w)
	x.writePaths(w)
	x.writeProcesses(w)
	x.writeThreads(w)
	x.writeCauses(w, d.run)
	x.writeCritical(w)
}

func ranksText(ranks string) string {
	if ranks == "all" {
		return "all processes"
	}
	return "ranks " + ranks
}

func (x *Waits) writeNodes(w *writer) {
	if len(x.Intervals) < 2 {
		return
	}
	u := w.unit
	w.line("")
	tab := table{head: []string{"<by interval", "waits " + u.name(), "of its time", "<mostly"}}
	shown := x.Intervals[:min(len(x.Intervals), w.style.rows())]
	for i := range shown {
		n := &shown[i]
		most := ""
		if p := worstPattern(n.Waits.patterns); p != nil {
			most = p.Item.String() + " " + u.big(p.Sum)
		}
		tab.add(strings.Repeat("  ", max(0, len(n.Path)-1))+n.Label, u.big(n.Waits.Total), n.Share.percent(), most)
	}
	w.table(&tab)
	w.more(len(x.Intervals), len(shown), "interval")
}

// label completes the name of the pattern: which order of messages was wrong.
func (p *WaitPath) label(pattern string) string {
	if p.Order == "" {
		return pattern
	}
	return pattern + ", wrong order (" + p.Order + " source)"
}

func (x *Waits) writePaths(w *writer) {
	if len(x.Paths) == 0 {
		return
	}
	u := w.unit
	w.line("")
	tab := table{head: []string{"<by call path", "<pattern", "waits", u.name(), "of waits", "<most on"}}
	shown := x.Paths[:min(len(x.Paths), w.style.rows())]
	for i := range shown {
		p := &shown[i]
		tab.add(pathLabel(p.Path), p.label(p.Pattern), count(p.Count), u.big(p.Ticks), p.Share.known(), fmt.Sprintf("rank %d: %s", p.Rank, u.ticks(p.Worst)))
	}
	w.table(&tab)
	w.more(len(x.Paths), len(shown), "row")
}

// writeProcesses writes the processes that wait most.
func (x *Waits) writeProcesses(w *writer) {
	if len(x.Processes) < 2 {
		return
	}
	list := slices.Clone(x.Processes)
	slices.SortStableFunc(list, func(a, b WaitProcess) int { return cmp.Compare(b.Total, a.Total) })
	if list[0].Total == 0 {
		return
	}
	u := w.unit
	w.line("")
	tab := table{head: []string{"<by process", "waits " + u.name(), "of its time", "<mostly"}}
	shown := list[:min(len(list), w.style.rows())]
	for i := range shown {
		p := &shown[i]
		most, v := "", uint64(0)
		for k, ticks := range p.items {
			if ticks > v && slices.Contains(WaitItems, waitLabels[k].item) {
				most, v = waitLabels[k].item.String(), ticks
			}
		}
		if v > 0 {
			most += " " + u.ticks(v)
		}
		tab.add(fmt.Sprintf("rank %d", p.Rank), u.ticks(p.Total), p.Share.percent(), most)
	}
	w.table(&tab)
	w.more(len(list), len(shown), "process")
}

func (x *Waits) writeCauses(w *writer, r *Run) {
	if len(x.Causes) == 0 {
		return
	}
	u := w.unit
	w.line("")
	tab := table{head: []string{"<caused by", "<activity", "<waits of", "short " + u.name(), "long " + u.name(), "of waits", "<most by"}}
	shown := x.Causes[:min(len(x.Causes), w.style.rows())]
	for i := range shown {
		c := &shown[i]
		tab.add(pathLabel(c.Path), c.Activity, c.Pattern, u.big(c.Short), u.big(c.Long), c.Share.percent(), fmt.Sprintf("rank %d: %s", c.Rank, u.ticks(c.Worst)))
	}
	w.table(&tab)
	w.more(len(x.Causes), len(shown), "row")
	top := &x.Causes[0]
	w.line("> %s", top.sentence(r))
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

func (x *Waits) writeCritical(w *writer) {
	if x.Critical == nil {
		return
	}
	u := w.unit
	w.line("")
	w.line("critical path: %s %s", u.big(x.Critical.Length), u.name())
	tab := table{head: []string{"<on the path", "<activity", u.name(), "share", "mean of a process", "imbalance", "impact " + u.name(), "<most on"}}
	row := func(c *CriticalSum) {
		tab.add(clean(c.Name, 60), c.Activity, u.big(c.Ticks), c.Share.percent(), u.fraction(c.Mean), u.fraction(c.Imbalance), u.big(c.Impact), fmt.Sprintf("rank %d", c.Rank))
	}
	for i := range x.Critical.Activities {
		row(&x.Critical.Activities[i])
	}
	list := x.Critical.Regions
	shown := list[:min(len(list), w.style.rows())]
	for i := range shown {
		row(&shown[i])
	}
	w.table(&tab)
	w.more(len(list), len(shown), "region")
	x.adviseCritical(w)
}

// adviseCritical names the region whose imbalance costs the run most.
func (x *Waits) adviseCritical(w *writer) {
	var top *CriticalSum
	for i := range x.Critical.Regions {
		if c := &x.Critical.Regions[i]; c.Activity == "cpu" && c.Impact > 0 && (top == nil || c.Impact > top.Impact) {
			top = c
		}
	}
	if top != nil {
		u := w.unit
		w.line("> %s takes %s %s of the path and %s of a process on average: balanced, the run could be %s shorter", clean(top.Name, 60), u.big(top.Ticks), u.name(), u.fraction(top.Mean), u.fraction(top.Imbalance))
	}
}

// writeCSV writes waits by call path, and causes; times are ticks.
func (x *Waits) writeCSV(w rowWriter) error {
	if err := w.Write([]string{"kind", "node", "path", "pattern", "order_or_activity", "count", "ticks", "long", "worst", "worst_rank"}); err != nil {
		return err
	}
	for i := range x.Paths {
		p := &x.Paths[i]
		row := []string{"wait", fmt.Sprint(p.Node), strings.Join(p.Path, " > "), p.Pattern, p.Order, strconv.FormatUint(p.Count, 10), p.Ticks.json(), "", strconv.FormatUint(p.Worst, 10), fmt.Sprint(p.Rank)}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	for i := range x.Causes {
		c := &x.Causes[i]
		row := []string{"delay", fmt.Sprint(c.Node), strings.Join(c.Path, " > "), c.Pattern, c.Activity, "", c.Short.json(), c.Long.json(), strconv.FormatUint(c.Worst, 10), fmt.Sprint(c.Rank)}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	if x.Critical == nil {
		return nil
	}
	for i := range x.Critical.Regions {
		c := &x.Critical.Regions[i]
		if err := w.Write([]string{"critical", "", c.Name, "", c.Activity, "", c.Ticks.json(), "", "", fmt.Sprint(c.Rank)}); err != nil {
			return err
		}
	}
	return nil
}

package report

import (
	"fmt"
	"strings"
)

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

// shown are the intervals with levels low enough to fit the first screen.
func (x *firstScreen) shown() []*Interval {
	deepest := uint32(0)
	for level := uint32(0); ; level++ {
		n, more := 0, false
		for _, i := range x.nodes {
			if i.Level <= level {
				n++
			} else {
				more = true
			}
		}
		if n > screenRows && level > 0 {
			break
		}
		if deepest = level; !more {
			break
		}
	}
	var list []*Interval
	for _, i := range x.nodes {
		if i.Level <= deepest {
			list = append(list, i)
		}
	}
	return list[:min(len(list), 2*screenRows)]
}

// writeScreen writes the tree: a line for each interval.
func (d *Document) writeScreen(w *writer) {
	x := d.screen
	tab := table{head: []string{"<interval", "executions", "time " + w.unit.name(), "<efficiency", "lost " + w.unit.name(), "<mostly"}}
	list := x.shown()
	for _, n := range list {
		indent := ""
		if n.Level > 0 {
			indent = strings.Repeat("  ", int(n.Level)-1) + "└ "
		}
		tab.add(indent+n.label, count(n.Executions), w.unit.short(whole(integer(n.Ticks.Execution))),
			w.bar(n.Efficiency)+w.grade(n.Efficiency, n.Efficiency.text(2)), w.unit.short(n.Ticks.Lost), n.mostly(w.unit))
	}
	w.table(&tab)
	if n := len(x.nodes) - len(list); n > 0 {
		w.line("and %s more: coppice report %s intervals", plural(n, "interval"), d.run.Path)
	}
	w.line("")
	if x.worst != "" {
		w.line("worst wait: %s", x.worst)
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

// worstPattern is the pattern with most waiting time, nil without any. Completions are none: there nobody is late.
func worstPattern(stats Spreads) *Spread {
	var worst *Spread
	for _, i := range WaitItems {
		if s := stats.item(i); s.Sum > 0 && (worst == nil || s.Sum > worst.Sum) {
			worst = s
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

package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

// Bounds of what a page has of intervals: lines of the tree, and blocks of details.
const (
	htmlNodes   = 300
	htmlDetails = 30
)

// htmlIntervals is the tree of intervals and the details of those that lost most.
type htmlIntervals struct {
	Rule    string
	Rows    []htmlNode
	More    int
	Details []htmlDetail
}

// htmlNode is a line of the tree.
type htmlNode struct {
	ID, Level int
	Indent    []struct{} // one for each level
	Inner     bool       // has lines inside
	Linked    bool       // has details
	Label     string
	Cells     []htmlCell
	Split     template.HTML // productive and lost time
	Mostly    string
}

// htmlDetail is what is known of one interval.
type htmlDetail struct {
	ID      int
	Label   string
	Summary string
	Blocks  []htmlBlock
	Spreads *htmlTable
}

// htmlBlock is a list of names and values.
type htmlBlock struct {
	Title string
	Lines []htmlLine
}

// htmlLine is a line of a block; parts of the line before are indented.
type htmlLine struct {
	Name, Value, Share string
	Part               bool
}

// htmlShown are the intervals of the tree: the upper levels, as many as fit, or the
// first ones of the uppermost.
func htmlShown(nodes []*Interval) []*Interval {
	levels := map[uint32]int{}
	for _, n := range nodes {
		levels[n.Level]++
	}
	sum, deepest := 0, uint32(0)
	for level := uint32(0); levels[level] > 0; level++ {
		if sum += levels[level]; sum > htmlNodes && level > 1 {
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
	return list[:min(len(list), htmlNodes)]
}

// htmlIntervals makes the tree and the details.
func (d *Document) htmlIntervals(u unit) *htmlIntervals {
	nodes := d.Intervals.Nodes
	shown := htmlShown(nodes)
	x := &htmlIntervals{Rule: d.Intervals.Options.Productive, More: len(nodes) - len(shown)}
	details := mostLost(shown)
	for i, n := range shown {
		inner := i+1 < len(shown) && shown[i+1].Level > n.Level
		x.Rows = append(x.Rows, n.htmlNode(u, inner, details[n.index]))
		if details[n.index] {
			x.Details = append(x.Details, n.htmlDetail(u))
		}
	}
	return x
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

func (n *Interval) htmlNode(u unit, inner, linked bool) htmlNode {
	t := &n.Ticks
	execution := whole(integer(t.Execution))
	row := htmlNode{
		ID: n.index, Level: int(n.Level), Indent: make([]struct{}, min(n.Level, 24)), Inner: inner, Linked: linked, Label: n.label,
		Mostly: n.htmlMostly(), Split: t.htmlSplit(),
	}
	row.Cells = []htmlCell{
		numberCell(count(n.Executions), float64(n.Executions)), fractionCell(execution, u.spanOf(execution)),
		ratioCell(n.Efficiency, n.Efficiency.text(3)), ratioCell(n.POP.LoadBalance, n.POP.LoadBalance.text(3)), ratioCell(n.POP.Communication, n.POP.Communication.text(3)),
		fractionCell(t.Lost, u.spanOf(t.Lost)),
	}
	return row
}

// htmlMostly names the largest part of the lost time, and the waits that are most
// of it.
func (n *Interval) htmlMostly() string {
	part, name := n.mostLost()
	if name == "" {
		return ""
	}
	text := name + " " + percentOf(part, n.Ticks.Lost)
	if s := n.worstWait(); name == "MPI" && s != nil && ratio(s.Sum, n.Ticks.MPI).Value >= 0.1 {
		text += ", " + patternLabel(s.Item.String())
	}
	return text
}

// htmlSplit draws productive and lost time as parts of the total.
func (t *Ticks) htmlSplit() template.HTML {
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

// htmlDetail is the page of an interval: main characteristics, what was lost and
// may have been, waits, and the distribution over processes.
func (n *Interval) htmlDetail(u unit) htmlDetail {
	x := htmlDetail{
		ID: n.index, Label: n.label,
		Summary: fmt.Sprintf("efficiency %s, %s in %s, lost %s", n.Efficiency.text(3), u.span(n.Ticks.Execution), plural(int(min(n.Executions, 1<<31-1)), "execution"), u.spanOf(n.Ticks.Lost)),
	}
	x.Blocks = []htmlBlock{n.htmlMain(u), n.htmlLoss(u), n.htmlCommunication(u), n.htmlPotential(u)}
	if n.Waits != nil {
		x.Blocks = append(x.Blocks, n.htmlWaitBlock(u))
	}
	x.Blocks = slices.DeleteFunc(x.Blocks, func(b htmlBlock) bool { return len(b.Lines) == 0 })
	x.Spreads = n.htmlSpreads(u)
	return x
}

// add adds a line with its share of a whole; what is 0 is left out.
func (b *htmlBlock) add(name string, v, of Sum, u unit) {
	if v == 0 {
		return
	}
	share := ""
	if of != notKnown && v != notKnown {
		share = ratio(v, of).percent()
	}
	short, part := strings.CutPrefix(name, "---")
	b.Lines = append(b.Lines, htmlLine{short, u.big(v), share, part})
}

func (n *Interval) htmlMain(u unit) htmlBlock {
	t := &n.Ticks
	b := htmlBlock{Title: "Main characteristics, " + u.name()}
	b.Lines = append(b.Lines, htmlLine{Name: "Parallelization efficiency", Value: t.efficiencyText()})
	b.add("Execution time (longest process)", integer(t.Execution), notKnown, u)
	b.Lines = append(b.Lines, htmlLine{Name: "Processors", Value: count(n.Processors)})
	b.add("Total time", t.Total, t.Total, u)
	b.add(capital(ItemWord(xtf.ItemSetup)), t.Setup, t.Total, u)
	b.Lines = append(b.Lines, htmlLine{Name: "Productive time", Value: u.fraction(t.Productive), Share: over(t.Productive, t.Total).percent()})
	b.add("---CPU", t.CPU, t.Total, u)
	if t.ioProductive {
		b.add("---"+capital(ItemWord(xtf.ItemIO)), t.IO, t.Total, u)
	}
	if t.MPIProductive.Sign() > 0 {
		b.Lines = append(b.Lines, htmlLine{Name: "MPI of one processor", Value: u.fraction(t.MPIProductive), Share: over(t.MPIProductive, t.Total).percent(), Part: true})
	}
	return b
}

func (n *Interval) htmlLoss(u unit) htmlBlock {
	t := &n.Ticks
	b := htmlBlock{Title: "Lost time, " + u.name()}
	b.Lines = append(b.Lines, htmlLine{Name: "Lost time", Value: u.fraction(t.Lost), Share: over(t.Lost, t.Total).percent()})
	if t.MPILost.Sign() > 0 {
		b.Lines = append(b.Lines, htmlLine{Name: "MPI", Value: u.fraction(t.MPILost), Share: over(t.MPILost, t.Total).percent(), Part: true})
	}
	for _, x := range t.losses() {
		b.add("---"+capital(x.name), x.ticks, t.Total, u)
	}
	return b
}

func (n *Interval) htmlCommunication(u unit) htmlBlock {
	t := &n.Ticks
	b := htmlBlock{Title: "Communication, " + u.name()}
	for _, x := range t.communication(capital) {
		b.add(x.label, x.v, t.Total, u)
	}
	return b
}

func (n *Interval) htmlPotential(u unit) htmlBlock {
	t := &n.Ticks
	b := htmlBlock{Title: "Potential losses, " + u.name()}
	b.add("Synchronization", t.PotentialSync, t.Total, u)
	b.add("Time variation", t.Variation, t.Total, u)
	b.add("Load imbalance", t.LoadImbalance, t.Total, u)
	b.add("Dephasing", optional(t.Dephasing), notKnown, u)
	b.add("Overlap of CPU and requests", t.Overlap, t.Total, u)
	b.Lines = slices.DeleteFunc(b.Lines, func(l htmlLine) bool { return l.Value == "n/a" })
	return b
}

func (n *Interval) htmlWaitBlock(u unit) htmlBlock {
	b := htmlBlock{Title: "Wait states, " + u.name()}
	for _, x := range n.waitLines() {
		b.add(x.label, x.v, n.Ticks.Total, u)
	}
	return b
}

// htmlSpreadItems are the components whose distribution a page shows.
var htmlSpreadItems = func() (list []xtf.Item) {
	for _, x := range componentLines() {
		list = append(list, x.item)
	}
	return append(append(append(list, xtf.ItemMarker), WaitItems...), xtf.ItemSends, xtf.ItemBytesOut, xtf.ItemCollectives)
}()

// htmlSpreads is least, mean and largest value of a process, and which it is.
func (n *Interval) htmlSpreads(u unit) *htmlTable {
	t := &htmlTable{Caption: fmt.Sprintf("Of one process in %s (#%d), %s", n.label, n.index, u.name()), Head: heads("<component", "least", "at rank", "mean", "largest", "at rank", "deviation")}
	for _, i := range htmlSpreadItems {
		if !n.known(i) {
			continue
		}
		s := n.Stats.item(i)
		number, mean := u.ticks, u.real
		if isCount(i) {
			number, mean = count, Ratio.mean
		}
		t.add(htmlCell{Text: ItemWord(i)}, numberCell(number(s.Min), float64(s.Min)), numberCell(fmt.Sprint(s.MinP), float64(s.MinP)), ratioCell(s.Mean, mean(s.Mean)),
			numberCell(number(s.Max), float64(s.Max)), numberCell(fmt.Sprint(s.MaxP), float64(s.MaxP)), ratioCell(s.Deviation, mean(s.Deviation)))
	}
	return t
}

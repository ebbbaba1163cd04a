package diff

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// diffName is a node's name, or its id where it has none. Line numbers are removed, because functions move.
func diffName(x *results.Node) string {
	switch {
	case x.Name != "":
		return x.Name
	case x.Marker != 0:
		return fmt.Sprintf("#%d", x.Marker)
	}
	return fmt.Sprintf("%s:%d", x.File[strings.LastIndexByte(x.File, '/')+1:], x.Line)
}

// MatchNodes pairs the nodes of two trees by the names on their paths, and equal names by their order. A node without a partner
// is in only, with all nodes inside it. O(nodes).
func MatchNodes(a, b []results.Node) (pairs [][2]int, only [2][]int) {
	known := results.NodeNumbers{Name: diffName, Ordered: true}
	at := map[int]int{} // index of a's nodes by number
	for i, n := range known.Of(a) {
		at[n] = i
	}
	matched := make([]bool, len(a))
	partner := make([]bool, len(b))
	for i, n := range known.Of(b) {
		x, ok := at[n]
		if partner[i] = ok; ok {
			matched[x] = true
			pairs = append(pairs, [2]int{x, i})
		} else if partner[b[i].Parent] {
			only[1] = append(only[1], i)
		}
	}
	for i := 1; i < len(a); i++ {
		if !matched[i] && matched[a[i].Parent] {
			only[0] = append(only[0], i)
		}
	}
	slices.SortFunc(pairs, func(x, y [2]int) int { return cmp.Compare(x[0], y[0]) })
	return pairs, only
}

// labels are the names on the path to a node, from the whole program on.
func labels(list []results.Node, i int) []string {
	out := make([]string, list[i].Level+1)
	for ; ; i = int(list[i].Parent) {
		out[list[i].Level] = list[i].Label()
		if i == 0 {
			return out
		}
	}
}

// timeMetric is the time by which an interval is judged: without set-up and end, unless the rules count them.
const timeMetric = "measured_execution"

// DiffMetrics are the numbers of an interval that are compared. Times except execution are means of a process, so that runs with
// different numbers of processes compare.
var DiffMetrics = []struct {
	name string
	mean bool
}{
	{"execution", false},
	{timeMetric, false},
	{"efficiency", false},
	{"parallel_efficiency", false},
	{"load_balance", false},
	{"communication_efficiency", false},
	{"serialisation_efficiency", false},
	{"transfer_efficiency", false},
	{"lost", true},
	{"cpu", true},
	{"largest_useful", false},
	{"mpi", true},
	{"setup", true},
	{"wait", true},
	{"idle", true},
	{"executions", false},
	{"calls", false},
	{"sends", false},
	{"bytes_out", false},
	{"collectives", false},
	{"coll_bytes_out", false},
	{"processors", false},
}

// value returns a metric of an interval in the units of the comparison.
func (x *diffSample) value(m *results.Metric, i *results.Interval, mean bool) numbers.Fraction {
	v := m.Value(i)
	if m.Kind == conditions.Time {
		v = v.Div(x.Resolution)
	}
	if mean {
		v = v.Div(max(i.Processors, 1))
	}
	return v
}

// compareNodes compares the intervals that both runs have.
func (d *Diff) compareNodes() {
	a, b := d.samples[0], d.samples[1]
	var only [2][]int
	d.pairs, only = MatchNodes(a.nodes, b.nodes)
	all := results.Metrics()
	list := make([]results.Metric, len(DiffMetrics))
	for i, m := range DiffMetrics {
		list[i] = all[conditions.Find(all, m.name)]
	}
	for _, p := range d.pairs {
		n := DiffNode{Path: labels(a.nodes, p[0]), Verdict: diffSame, level: int(a.nodes[p[0]].Level)}
		for i := range list {
			mean := DiffMetrics[i].mean
			n.Metrics = append(n.Metrics, newLine(list[i].Name, list[i].Kind, a.value(&list[i], a.intervals[p[0]], mean), b.value(&list[i], b.intervals[p[1]], mean)))
		}
		d.Intervals = append(d.Intervals, n)
	}
	for i, s := range d.samples {
		d.Only[i] = []string{}
		for _, n := range only[i] {
			d.Only[i] = append(d.Only[i], strings.Join(labels(s.nodes, n)[1:], " > "))
		}
	}
	d.compareWaits()
}

// compareWaits compares the whole program's waits by pattern, means of a process.
func (d *Diff) compareWaits() {
	root := func(i int) *results.Interval { return d.samples[i].intervals[0] }
	for _, l := range results.WaitLabels {
		var v [2]numbers.Fraction
		any := false
		for i, s := range d.samples {
			if root(i).Waits == nil {
				continue
			}
			sum := root(i).Stats.Item(l.Item).Sum
			any = any || sum > 0
			v[i] = s.Time(sum).Div(max(root(i).Processors, 1))
		}
		if any {
			d.Waits = append(d.Waits, newLine(l.Item.String(), conditions.Time, v[0], v[1]))
		}
	}
}

// compareRegions compares regions by name. A region that a run does not call counts as 0.
func (d *Diff) compareRegions() {
	a, b := d.samples[0], d.samples[1]
	all := maps.Clone(a.Regions)
	maps.Copy(all, b.Regions)
	none := &results.RegionTotal{}
	for name := range all {
		x, y := a.Regions[name], b.Regions[name]
		r := DiffRegion{Name: name}
		switch {
		case x == nil:
			x, r.only = none, 2
		case y == nil:
			y, r.only = none, 1
		}
		r.Class, r.system = cmp.Or(x.Kind, y.Kind), x.System || y.System
		mean := func(s *diffSample, v uint64) numbers.Fraction {
			return numbers.Divide64(v, max(s.Processes, 1)).Div(s.Resolution)
		}
		r.Time = newLine("time", conditions.Time, mean(a, x.Time), mean(b, y.Time))
		calls := func(x *results.RegionTotal) numbers.Fraction {
			if x.Calls == 0 && x.Estimated > 0 {
				return numbers.Fraction{}
			}
			return numbers.Divide64(x.Calls, 1)
		}
		r.Calls = newLine("calls", conditions.Count, calls(x), calls(y))
		r.Bytes = newLine("bytes", conditions.Count, numbers.Divide64(x.Bytes, 1), numbers.Divide64(y.Bytes, 1))
		d.Regions = append(d.Regions, r)
	}
	slices.SortFunc(d.Regions, func(x, y DiffRegion) int {
		return cmp.Or(y.Time.Change.Abs().Compare(x.Time.Change.Abs()), cmp.Compare(x.Name, y.Name))
	})
}

// changed reports whether a number of the whole program or of a region differs.
func (d *Diff) changed() bool {
	differs := func(x DiffLine) bool { return x.Change.Known() && x.Change.Sign() != 0 }
	return slices.ContainsFunc(d.Intervals[0].Metrics, differs) ||
		slices.ContainsFunc(d.Regions, func(x DiffRegion) bool { return differs(x.Time) || differs(x.Calls) || differs(x.Bytes) })
}

// findWorse finds what got worse and better. Runs with equally many processes are compared by time without set-up: it must change
// by the threshold, and by at least leastShare of the first run's length. Other runs are compared by parallel efficiency: it must
// differ by more than the threshold, in an interval that takes at least leastShare of the first run.
func (d *Diff) findWorse() {
	least := d.Runs[0].Runtime.Div(leastShare)
	for i := range d.Intervals {
		n := &d.Intervals[i]
		name := timeMetric
		if d.Rule == "efficiency" {
			name = "parallel_efficiency"
		}
		m := n.Metric(name)
		if !m.Change.Known() {
			continue
		}
		size := m.Change.Abs()
		worse := m.Change.Sign() > 0
		if d.Rule == "time" {
			part := size.Over(m.A.Fraction)
			if part.Known() && part.Compare(d.Threshold.Fraction) <= 0 || size.Compare(least) < 0 || size.Sign() == 0 {
				continue
			}
		} else {
			worse = !worse
			if size.Compare(d.Threshold.Fraction) <= 0 || n.Metric(timeMetric).A.Compare(least) < 0 {
				continue
			}
		}
		f := DiffFound{Interval: strings.Join(n.Path, " > "), Metric: name, A: m.A, B: m.B, Ratio: m.Ratio, Text: d.foundText(i, m), weight: size}
		if worse {
			n.Verdict = diffWorse
			d.Worse = append(d.Worse, f)
		} else {
			n.Verdict = diffBetter
			d.Better = append(d.Better, f)
		}
	}
	for _, list := range [][]DiffFound{d.Worse, d.Better} {
		slices.SortStableFunc(list, func(x, y DiffFound) int { return y.weight.Compare(x.weight) })
	}
}

// foundText says by how much an interval changed, and what changed most in it.
func (d *Diff) foundText(i int, m *DiffLine) string {
	n := &d.Intervals[i]
	name := n.Path[len(n.Path)-1]
	if m.kind != conditions.Time {
		return fmt.Sprintf("%s: parallel efficiency %s, was %s", name, rounded(d, m.kind, m.B), rounded(d, m.kind, m.A))
	}
	text := fmt.Sprintf("%s: %s %s, was %s", name, rounded(d, m.kind, m.B), d.unitName(), rounded(d, m.kind, m.A))
	if m.Ratio.Known() {
		text += fmt.Sprintf(" (%s)", signedPercent(m.Ratio.Fraction))
	}
	size, best, most := m.Change.Abs(), "", numbers.Whole(0)
	mpi := *n.Metric("mpi")
	if x := n.Metric("setup"); !d.rules.Init && x.Change.Known() {
		mpi = newLine("mpi", mpi.kind, mpi.A.Minus(x.A.Fraction), mpi.B.Minus(x.B.Fraction))
	}
	parts := map[string]*DiffLine{"cpu": n.Metric("cpu"), "mpi": &mpi, "idle": n.Metric("idle")}
	for _, part := range []string{"cpu", "mpi", "idle"} {
		if x := parts[part]; x.Change.Known() && x.Change.Sign() == m.Change.Sign() {
			if v := x.Change.Abs(); v.Compare(most) > 0 {
				best, most = part, v
			}
		}
	}
	if best == "" {
		return text
	}
	x := parts[best]
	text += fmt.Sprintf(": a process spends %s in %s on average", d.moreOrLess(x), map[string]string{"cpu": "computing", "mpi": "MPI", "idle": "idle time"}[best])
	if w := n.Metric("wait"); best == "mpi" && w.Change.Known() && w.Change.Sign() == x.Change.Sign() {
		text += fmt.Sprintf(", %s waiting for others", d.moreOrLess(w))
	}
	text += d.moved(n, m.Change.Sign())
	if len(n.Path) == 1 {
		text += d.functions(m.Change.Sign())
	}
	useful := n.Metric("largest_useful")
	part := size // it has to be half of that, or well above the mean
	if best == "cpu" {
		part = x.Change.Abs().Times(5).Div(2)
	}
	if v := useful.Change; v.Known() && v.Sign() == m.Change.Sign() && v.Abs().Times(2).Compare(part) >= 0 {
		text += fmt.Sprintf("; the process that computes most computes %s", d.moreOrLess(useful))
		if i < len(d.pairs) {
			text += d.slowest(i, m.Change.Sign() > 0)
		}
	}
	return text
}

// functions names the function of the program whose time changed most in the direction of the whole change, and the function of
// the system's libraries, if that changed more.
func (d *Diff) functions(sign int) (text string) {
	alone := [...]string{"", " (in A alone)", " (in B alone)"}
	name := func(x *DiffRegion) string { return numbers.Clean(x.Name, 60) + alone[x.only] }
	changed := func(system bool, of string) int {
		i := slices.IndexFunc(d.Regions, func(x DiffRegion) bool { return x.Class == "" && x.Time.Change.Sign() == sign && x.system == system })
		if i >= 0 {
			text += fmt.Sprintf("; of %s functions %s changed most: a process spends %s there on average", of, name(&d.Regions[i]), d.moreOrLess(&d.Regions[i].Time))
		}
		return i
	}
	own := changed(false, "the program's")
	if own >= 0 {
		x := &d.Regions[own]
		if other := slices.IndexFunc(d.Regions, func(y DiffRegion) bool { return y.Class == "" && !y.system && x.only+y.only == 3 }); x.only > 0 && other >= 0 {
			text += fmt.Sprintf(", %s %s: one may have got the name of the other", d.moreOrLess(&d.Regions[other].Time), "in "+name(&d.Regions[other]))
		}
	}
	if short := text; changed(true, "libraries'") > own && own >= 0 {
		text = short
	}
	return text
}

// slowest says which process of A or B computes most in an interval. For the whole program it adds the region in which this
// process is farthest above the mean.
func (d *Diff) slowest(i int, second bool) string {
	k := 0
	if second {
		k = 1
	}
	x := d.samples[k]
	interval := x.intervals[d.pairs[i][k]]
	s := interval.Stats.Item(xtf.ItemCPU)
	if s.Max != interval.POP.Largest {
		return ""
	}
	text := fmt.Sprintf(", in %s rank %d", "AB"[k:k+1], s.MaxP)
	if h := x.hot; i == 0 && h.Slowest != nil {
		above := DiffNumber{numbers.Divide(numbers.Sum(math.Round(h.Above.Value)), 1).Div(x.Resolution)}
		text += fmt.Sprintf(", which spends %s %s more than the mean in %s", rounded(d, conditions.Time, above), d.unitName(), numbers.Clean(h.Slowest.Name, 60))
	}
	return text
}

// moved says which counts and bytes of MPI changed by more than the threshold, in the direction of the time.
func (d *Diff) moved(n *DiffNode, sign int) (text string) {
	for _, x := range []struct {
		metric, what string
		write        func(uint64) string
	}{
		{"executions", "executions", numbers.Count},
		{"sends", "messages", numbers.Count},
		{"bytes_out", "bytes of messages", numbers.Bytes},
		{"collectives", "calls of collectives", numbers.Count},
		{"coll_bytes_out", "bytes of collectives", numbers.Bytes},
	} {
		v := n.Metric(x.metric)
		if !v.Change.Known() || v.Change.Sign() != sign {
			continue
		}
		if part := v.Change.Abs().Over(v.A.Fraction); !part.Known() || part.Compare(d.Threshold.Fraction) > 0 {
			text += fmt.Sprintf("; %s: %s, was %s", x.what, x.write(uint64(v.B.Round())), x.write(uint64(v.A.Round())))
		}
	}
	return text
}

// moreOrLess is the change of a time in words.
func (d *Diff) moreOrLess(x *DiffLine) string {
	size := DiffNumber{x.Change.Abs()}
	if x.Change.Sign() < 0 {
		return rounded(d, x.kind, size) + " " + d.unitName() + " less"
	}
	return rounded(d, x.kind, size) + " " + d.unitName() + " more"
}

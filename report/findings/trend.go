package findings

import (
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// Limits for intervals whose executions take longer and longer. Memory: 4 KiB for each interval that is read.

const (
	trendLeast     = 20  // executions
	trendParts     = 256 // of the executions, with equally many consecutive ones each
	trendNodes     = 64  // intervals that are read: the first ones of a length that matters
	trendProcesses = 64  // processes that are read, at equal distances
	trendFit       = 0.4 // share of the variance that a fit must explain
	trendSure      = 30  // and how many times as much as it leaves for each degree of freedom, the parts less two
	trendGrowth    = 1.25
)

// trendPart is the sum of consecutive executions of all processes that are read.
type trendPart struct{ ticks, count uint64 }

// trend is the executions of an interval in order, and the function that fits them: mean ticks of an execution up to part from,
// and the addition in each part after it, or, with jump, the single addition.
type trend struct {
	node       uint32 // of the interval
	each       uint64 // executions in a part
	parts      []trendPart
	base, more float64
	from       int
	jump       bool
	loss       uint64 // ticks of a process that executions take in addition to base
}

// trends makes a finding of the interval that loses most by becoming slower. If an interval inside it loses about as much, the
// finding is about the inner one.
func (f *finder) trends() error {
	list, err := f.series()
	if err != nil {
		return beyond(err)
	}
	best := -1
	for i := range list {
		x := &list[i]
		if x.fit(); !f.matters(x.loss) {
			continue
		}
		if best < 0 || x.loss > list[best].loss || mostlyOf(x.loss, list[best].loss) && f.inside(x.node, list[best].node) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	x := &list[best]
	last, ticks := x.value(len(x.parts)-1), func(v float64) string { return f.u.Real(numbers.Ratio{Value: v, Defined: true}) }
	y := Finding{
		Kind: kindTrend, Ticks: min(x.loss, f.runtime), Query: f.query("intervals --per-execution"),
		Basis: "what executions of the interval take longer than those before the trend, mean of the processes that are looked at",
		Where: FindingWhere{Interval: f.interval(x.node)},
	}
	runs := f.nodes[x.node].ExeMax
	from := uint64(x.from) * x.each
	what := "slower with each execution"
	how := fmt.Sprintf("%s %s in execution %s of %s, then %s more in each, %s at the end", ticks(x.base), f.u.Name(), numbers.Count(from), numbers.Count(runs), ticks(x.more/float64(x.each)), ticks(last))
	if x.jump {
		what = "slower from one execution on"
		how = fmt.Sprintf("%s %s before execution %s of %s, from then on %s", ticks(x.base), f.u.Name(), numbers.Count(from), numbers.Count(runs), ticks(last))
	}
	y.Evidence = fmt.Sprintf("%s takes %s", y.Where.Interval, how)
	if err := f.growing(&y, x, runs); err != nil {
		return beyond(err)
	}
	f.add(y, what, ": "+y.Evidence)
	return nil
}

// inside reports whether node n is inside of node outer.
func (f *finder) inside(n, outer uint32) bool {
	for n > outer {
		n = f.nodes[n].Parent
	}
	return n == outer
}

// series reads the durations of executions.
func (f *finder) series() ([]trend, error) {
	var list []trend
	at := map[uint32]int{}
	for n := 1; n < len(f.nodes) && len(list) < trendNodes; n++ {
		x := &f.nodes[n]
		if x.ExeMax < trendLeast || !f.matters(x.LastEnd-min(x.FirstBegin, x.LastEnd)) {
			continue
		}
		each := (x.ExeMax-1)/trendParts + 1
		at[uint32(n)] = len(list)
		list = append(list, trend{node: uint32(n), each: each, parts: make([]trendPart, (x.ExeMax-1)/each+1)})
	}
	processes := f.r.Defs.Processes()
	for i := range min(len(processes), trendProcesses) {
		p := processes[i*len(processes)/min(len(processes), trendProcesses)]
		if len(list) == 0 || p.Count == 0 {
			continue
		}
		err := f.r.Failed(xtf.Proc(p.First), "executions", results.Load(f.r, xtf.Proc(p.First), func(x *xtf.Ival) {
			k, ok := at[x.Node]
			if !ok || x.Execution/list[k].each >= uint64(len(list[k].parts)) {
				return
			}
			if y := &list[k].parts[x.Execution/list[k].each]; xtf.Add(&y.ticks, x.End-x.T) {
				y.count++
			}
		}))
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(x trend) bool {
		return slices.ContainsFunc(x.parts, func(p trendPart) bool { return p.count == 0 })
	}), nil
}

// value returns the fitted duration of an execution in part j, in ticks.
func (x *trend) value(j int) float64 {
	switch {
	case j < x.from:
		return x.base
	case x.jump:
		return x.base + x.more
	}
	return x.base + float64(x.more*float64(j-x.from))
}

// fit finds the function with the least squares: constant up to some part and rising from there on, or with a jump there. The
// loss stays 0 if the function explains too little, if less than an eighth of the executions are after that part, if they are
// less than a quarter longer at the end, or if most of the last third of these are not longer
// than most executions before them.
func (x *trend) fit() {
	n := len(x.parts)
	lengths := make([]float64, n)
	mean := 0.0
	for j, p := range x.parts {
		lengths[j] = float64(p.ticks) / float64(p.count)
		mean += lengths[j] / float64(n)
	}
	all := 0.0
	for _, y := range lengths {
		all += float64((y - mean) * (y - mean))
	}
	left := math.Inf(1)
	for _, jump := range []bool{false, true} {
		for from := range n - max(n/8, 8) + 1 {
			if jump && from == 0 {
				continue
			}
			t := trend{from: from, jump: jump, more: 1}
			var sum, squares, product float64
			for j, y := range lengths {
				h := t.value(j)
				sum, squares, product = sum+h, squares+float64(h*h), product+float64(h*y)
			}
			t.more = (product - float64(sum*mean)) / (squares - float64(sum*sum)/float64(n))
			t.base = mean - float64(t.more*sum)/float64(n)
			rest := 0.0
			for j, y := range lengths {
				rest += float64((y - t.value(j)) * (y - t.value(j)))
			}
			if rest < left {
				left, x.base, x.more, x.from, x.jump = rest, t.base, t.more, from, jump
			}
		}
	}
	tail := n - x.from
	if left > (1-trendFit)*all || (all-left)*float64(n-2) < trendSure*left || x.base <= 0 || x.value(n-1) < trendGrowth*x.base || median(lengths[n-tail/3:]) <= median(lengths[:max(x.from, n/4)]) {
		return
	}
	loss := 0.0
	processes := float64(x.parts[0].count) / float64(x.each)
	for j := x.from; j < n; j++ {
		loss += float64((x.value(j) - x.base) * float64(x.parts[j].count) / processes)
	}
	x.loss = uint64(math.Round(min(max(loss, 0), 1<<62)))
}

// median returns the middle value of a list.
func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// growing says which component of the executions grows: the mean of some executions at the end less that of some executions
// before the trend begins. If CPU time or file I/O of a process grows by at least half as much, that is the reason, and the waits
// of others follow from it.
func (f *finder) growing(x *Finding, t *trend, runs uint64) error {
	if !f.r.Rows {
		return nil
	}
	const looked = 4
	items := [...]xtf.Item{xtf.ItemTime, xtf.ItemCPU, xtf.ItemIO, xtf.ItemMPI}
	grown := make([][len(items)]int64, len(f.r.Defs.Processes()))
	first := uint64(t.from) * t.each
	first -= min(first, looked)
	for i := range uint64(2 * looked) {
		k, sign := first+i, int64(-1)
		if i >= looked {
			k, sign = runs-1-(i-looked), 1
		}
		s := &results.Survey{Run: f.r, Nodes: f.nodes}
		span := &results.Span{Of: &results.Execution{Node: t.node, K: k}}
		lost, err := s.EachWindow(&results.SurveyOptions{Span: span, Section: "findings"}, func(p *results.ProcessItems) {
			for i, item := range items {
				grown[p.Rank][i] += sign * int64(p.At(0, item))
			}
		})
		if err != nil || len(lost) > 0 {
			return err
		}
	}
	var worst [len(items)]int
	all := int64(0) // of the executions that were read
	for rank := range grown {
		all += grown[rank][0]
		for i := range items {
			if grown[rank][i] > grown[worst[i]][i] {
				worst[i] = rank
			}
		}
	}
	all /= int64(len(grown))
	if all <= 0 {
		return nil
	}
	k := 1
	for i := range items {
		if k < i && grown[worst[k]][k] < all/2 {
			k = i
		}
	}
	x.Where.Processes = []uint32{uint32(worst[k])}
	each := func(ticks int64) string { return f.u.Real(numbers.NewRatio(uint64(max(ticks, 0)), looked)) }
	x.Evidence += fmt.Sprintf("; from the executions before to the last ones it grows by %s %s on average, and %s most on rank %d, by %s",
		each(all), f.u.Name(), [...]string{1: "CPU time", 2: "file input and output", 3: "time in MPI calls"}[k], worst[k], each(grown[worst[k]][k]))
	return nil
}

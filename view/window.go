package view

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// windowOptions are a window and how it is computed.
type windowOptions struct {
	begin, end uint64
	ranks      results.Ranks
	exact      bool
	types      []xtf.TypeID // arrays to read; nil: all with running totals
}

// processWindow are the sums of one process in a window.
type processWindow struct {
	rank  uint32
	items results.ItemLimits
	alive uint64 // ticks of all its locations except recorders of metrics, from the first to the last event
	cost  xtf.Stats
}

// eachProcess calls f, in any order, with the sums of every chosen process in the window. Sums that are not exact come from indexes only:
// two descents for each of four arrays.
func (x *run) eachProcess(ctx context.Context, o *windowOptions, f func(*processWindow)) ([]table.Lost, xtf.Stats, error) {
	var cost xtf.Stats
	var first []trace.P
	for rank, p := range x.Defs.Processes() {
		if p.Count > 0 && o.ranks.Contains(uint32(rank)) {
			first = append(first, p.First)
		}
	}
	lost, err := gather(ctx, x, first, "window", func(p trace.P) (*processWindow, error) {
		rank, _ := x.Defs.Process(p)
		v := &processWindow{rank: rank}
		return v, x.window(o, v, x.Defs.Processes()[rank])
	}, func(_ trace.P, v *processWindow) {
		if cost.PageReads += v.cost.PageReads; v.items[xtf.ItemTime].Upper > 0 {
			f(v)
		}
	})
	return lost, cost, err
}

// window adds up the locations of a process: times of the first one, which calls MPI, and counts of all.
func (x *run) window(o *windowOptions, v *processWindow, p trace.Process) error {
	for i := range trace.P(p.Count) {
		at := p.First + i
		if x.Defs.Location(at).Type == trace.MetricLocation {
			continue
		}
		items, err := x.locationWindow(o, at, v)
		if err != nil {
			return err
		}
		for k := range items {
			if item := xtf.Item(k); i == 0 || item.Adds() {
				v.items[k].Add(items[k])
			}
		}
	}
	for k := range v.items {
		if xtf.Item(k) == xtf.ItemComm { // a sum of uncertain parts, each of which may be as long as the window
			continue
		}
		if v.items[k].Upper > xtf.Most(x.Defs.NumLocations())*uint64(p.Count) {
			return fmt.Errorf("process %d: %s of %d: %w", v.rank, xtf.Item(k), v.items[k].Upper, xtf.ErrCorrupt)
		}
	}
	return nil
}

// locationWindow returns the sums of one location, and adds its cost and its time to v.
func (x *run) locationWindow(o *windowOptions, p trace.P, v *processWindow) (items results.ItemLimits, err error) {
	l, err := x.Running(p, &v.cost, o.types...)
	if err != nil {
		return items, err
	}
	v.alive += results.Inside(l.First, l.Last, o.begin, o.end)
	if !l.Cut && o.begin <= l.First && o.end > l.Last { // the whole location: nothing to look up
		return l.Window(0, xtf.Never, o.exact)
	}
	return l.Window(o.begin, o.end, o.exact)
}

// windowSums adds up processes.
type windowSums struct {
	processes uint64
	alive     uint64
	sums      results.ItemLimits
	min, max  [xtf.NumItems]Extreme
}

func (s *windowSums) add(v *processWindow) {
	for i := range v.items {
		l := &v.items[i]
		s.sums[i].Add(*l)
		if least := &s.min[i]; s.processes == 0 || cmp.Or(cmp.Compare(l.About, least.Value), cmp.Compare(v.rank, least.Rank)) < 0 {
			*least = Extreme{l.About, v.rank}
		}
		if most := &s.max[i]; s.processes == 0 || cmp.Or(cmp.Compare(most.Value, l.About), cmp.Compare(v.rank, most.Rank)) < 0 {
			*most = Extreme{l.About, v.rank}
		}
	}
	s.processes++
	s.alive += v.alive
}

// items lists the sums that are not 0. Extremes are known in exact windows only.
func (s *windowSums) items(exact bool) []ItemSum {
	list := []ItemSum{}
	for i := range xtf.NumItems {
		if s.sums[i].Upper == 0 {
			continue
		}
		v := ItemSum{Item: i.String(), Unit: unitOf(i), Sum: Bounds(s.sums[i])}
		if exact {
			least, most := s.min[i], s.max[i]
			v.Min, v.Max = &least, &most
		}
		list = append(list, v)
	}
	return list
}

func unitOf(i xtf.Item) string {
	switch {
	case strings.Contains(i.String(), "bytes"):
		return "bytes"
	case i >= xtf.ItemCalls && i <= xtf.ItemCollIn:
		return "count"
	}
	return "ticks"
}

// mostFunctions is the most regions that statistics list.
const mostFunctions = 10000

func getStats(ctx context.Context, p *params) (any, error) {
	o, limit := p.summed(), p.limit(200, mostFunctions)
	if p.err != nil {
		return nil, p.err
	}
	x := &Stats{Ranks: o.ranks.String(), Begin: o.begin, End: o.end, Exact: o.exact, Note: p.run.overhead(), Lost: []table.Lost{}}
	sums := &windowSums{}
	lost, cost, err := p.run.eachProcess(ctx, o, func(v *processWindow) { sums.add(v) })
	if err != nil {
		return nil, err
	}
	x.Items, x.Processes, x.Time = sums.items(o.exact), sums.processes, sums.alive
	x.Lost, x.Cost.PageReads = append(x.Lost, lost...), cost.PageReads
	return x, p.run.addFunctions(ctx, o, x, limit)
}

func (x *run) addFunctions(ctx context.Context, o *windowOptions, to *Stats, limit int) error {
	f, lost, cost, err := x.functions(ctx, o)
	if err != nil {
		return err
	}
	to.Lost, to.Functions = append(to.Lost, lost...), []FunctionSum{}
	to.Cost.PageReads += cost.PageReads
	list := f.Lines()
	to.More = max(0, len(list)-limit)
	for i := range list[:len(list)-to.More] {
		l := &list[i]
		to.Functions = append(to.Functions, FunctionSum{
			Region: x.region(l.Region), Name: l.Name, Calls: boundsOf(l.Calls), Inclusive: boundsOf(l.Inclusive),
			Exclusive: boundsOf(l.Exclusive), Bytes: boundsOf(l.Bytes),
		})
	}
	return nil
}

// boundsOf takes the middle as the best estimate.
func boundsOf(l lookup.Limits) Bounds {
	return Bounds{Lower: l.Lower, About: l.Lower + (l.Upper-l.Lower)/2, Upper: l.Upper}
}

// functions adds up the regions of a window. For all processes it uses the sums of the whole run, unless exact is set.
func (x *run) functions(ctx context.Context, o *windowOptions) (*lookup.Functions, []table.Lost, xtf.Stats, error) {
	all := lookup.NewFunctions(x.Run, o.begin, o.end)
	var cost xtf.Stats
	if o.ranks.All() && !o.exact {
		if err := all.Add(xtf.WholeRun, false, &cost); !results.Partial(err) {
			return all, nil, cost, err
		}
		all = lookup.NewFunctions(x.Run, o.begin, o.end)
	}
	type part struct {
		of   *lookup.Functions
		cost xtf.Stats
	}
	lost, err := gather(ctx, x, x.chosen(o.ranks), "window", func(p trace.P) (*part, error) {
		v := &part{of: lookup.NewFunctions(x.Run, o.begin, o.end)}
		return v, v.of.Add(xtf.Proc(p), o.exact, &v.cost)
	}, func(_ trace.P, v *part) {
		all.Join(v.of)
		cost.PageReads += v.cost.PageReads
	})
	return all, lost, cost, err
}

func sortLost(list []table.Lost) {
	slices.SortFunc(list, func(a, b table.Lost) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Thread, b.Thread))
	})
}

func getProfile(ctx context.Context, p *params) (any, error) {
	o, columns := p.summed(), p.number("columns", profileColumns, 1, profileColumns)
	names := []string{""}
	for i := range xtf.NumItems {
		names = append(names, i.String())
	}
	item := slices.Index(names, p.choice("item", names...)) - 1
	region := p.number("region", uint64(len(p.run.meta.Regions)), 0, uint64(len(p.run.meta.Regions)))
	if p.err != nil {
		return nil, p.err
	}
	t := newColumns(p.run.meta.Processes, o.ranks, int(columns))
	t.item = item
	lost, cost, err := p.run.eachProcess(ctx, o, t.add)
	if err == nil && region < uint64(len(p.run.meta.Regions)) {
		var out []table.Lost
		out, err = p.run.timeIn(ctx, o, p.run.meta.Regions[region].Ref, t)
		lost = append(lost, out...)
	}
	if err != nil {
		return nil, err
	}
	v := &Profile{
		Begin: o.begin, End: o.end, Ranks: o.ranks.String(), Merged: t.merged, First: t.first, Count: t.count, Series: []Series{}, Exact: t.exact,
		Lost: append([]table.Lost{}, lost...), Cost: Cost{cost.PageReads},
	}
	if v.Unit = "ticks"; item >= 0 {
		v.Unit = unitOf(xtf.Item(item))
	}
	for k, i := range xtf.Parts {
		v.Series = append(v.Series, Series{i.String(), itemClass(i), t.sums[k], Bounds(t.all[k])})
	}
	v.Time, v.Wait, v.Waits, v.Values = t.time, t.wait, Bounds(t.waits), t.values
	return v, nil
}

// timeIn adds up the exclusive time of a function on the locations of each rank.
func (x *run) timeIn(ctx context.Context, o *windowOptions, region uint32, t *columns) ([]table.Lost, error) {
	return gather(ctx, x, x.chosen(o.ranks), "window", func(p trace.P) (v uint64, err error) {
		f := lookup.NewFunctions(x.Run, o.begin, o.end)
		err = f.Add(xtf.Proc(p), o.exact, &xtf.Stats{})
		for _, l := range f.Lines() {
			if l.Region == region {
				v = l.Exclusive.Lower + (l.Exclusive.Upper-l.Exclusive.Lower)/2
			}
		}
		return v, err
	}, func(p trace.P, v uint64) {
		if rank, _ := x.Defs.Process(p); t.place[rank] >= 0 {
			t.values[t.place[rank]] += v
		}
	})
}

// columns add up neighbouring ranks of a set.
type columns struct {
	merged     int
	first      []uint32
	count      []int
	place      []int // column of each rank, -1: not chosen
	time, wait []uint64
	item       int // item whose sums are in values, -1: none
	values     []uint64
	sums       [][]uint64 // by xtf.Parts
	all        []results.Limits
	waits      results.Limits
	exact      bool
}

// newColumns makes at most most columns of the ranks of a set below n.
func newColumns(n int, ranks results.Ranks, most int) *columns {
	t := &columns{place: make([]int, n), exact: true, first: []uint32{}, count: []int{}, item: -1}
	chosen := 0
	for r := range t.place {
		if t.place[r] = -1; ranks.Contains(uint32(r)) {
			t.place[r] = chosen
			chosen++
		}
	}
	t.merged = max(1, (chosen+most-1)/most)
	for r, c := range t.place {
		if c < 0 {
			continue
		}
		if t.place[r] = c / t.merged; t.place[r] == len(t.first) {
			t.first, t.count = append(t.first, uint32(r)), append(t.count, 0)
		}
		t.count[t.place[r]]++
	}
	t.time, t.wait, t.values = make([]uint64, len(t.first)), make([]uint64, len(t.first)), make([]uint64, len(t.first))
	t.all = make([]results.Limits, len(xtf.Parts))
	for range xtf.Parts {
		t.sums = append(t.sums, make([]uint64, len(t.first)))
	}
	return t
}

func (t *columns) add(v *processWindow) {
	c := t.place[v.rank]
	if c < 0 {
		return
	}
	t.time[c] += v.items[xtf.ItemTime].About
	if t.item >= 0 {
		t.values[c] += v.items[t.item].About
	}
	for _, i := range results.WaitItems {
		t.wait[c] += v.items[i].About
		t.waits.Add(v.items[i])
	}
	for k, i := range xtf.Parts {
		l := v.items[i]
		t.exact = t.exact && l.Lower == l.Upper
		for _, part := range xtf.PartsOf(i) {
			l = l.Without(&v.items[part])
		}
		t.sums[k][c] += l.About
		t.all[k].Add(l)
	}
}

func getCompare(ctx context.Context, p *params) (any, error) {
	if len(p.s.runs) < 2 {
		return nil, &problem{http.StatusUnprocessableEntity, Failure{"no second run", "compare", "one file is shown", "Start coppice serve RUN.xtf OTHER.xtf"}}
	}
	v := &Compare{Runs: []CompareRun{}, First: []uint32{}, Series: []CompareSeries{}}
	var parts [2]*columns
	for i, x := range p.s.runs[:2] {
		if err := x.needRows(); err != nil {
			return nil, err
		}
		// both have the ranks of the larger one, so that columns match
		n := max(p.s.runs[0].meta.Processes, p.s.runs[1].meta.Processes)
		parts[i] = newColumns(n, results.Ranks{}, profileColumns)
		r, err := x.headline(ctx, parts[i])
		if err != nil {
			return nil, err
		}
		v.Runs = append(v.Runs, *r)
	}
	v.Merged, v.First = parts[0].merged, append(v.First, parts[0].first...)
	for k, i := range xtf.Parts {
		v.Series = append(v.Series, CompareSeries{i.String(), itemClass(i), p.s.runs[0].secondsOf(parts[0].sums[k]), p.s.runs[1].secondsOf(parts[1].sums[k])})
	}
	v.Series = append(v.Series, CompareSeries{"wait", -1, p.s.runs[0].secondsOf(parts[0].wait), p.s.runs[1].secondsOf(parts[1].wait)})
	v.Series = append(v.Series, CompareSeries{"time", -1, p.s.runs[0].secondsOf(parts[0].time), p.s.runs[1].secondsOf(parts[1].time)})
	return v, nil
}

// headline returns the summary of the whole run, from running totals, and adds it to the columns.
func (x *run) headline(ctx context.Context, t *columns) (*CompareRun, error) {
	r := &CompareRun{Name: x.Name, Processes: x.meta.Processes, Items: []CompareItem{}}
	tree, err := x.tree.of(0, x.readTree)
	if err != nil {
		return nil, err
	}
	if len(tree.Nodes) > 0 {
		r.Efficiency = tree.Nodes[0].Efficiency
	}
	r.Seconds = x.seconds(x.last - min(x.first, x.last))
	all := &windowSums{}
	_, _, err = x.eachProcess(ctx, &windowOptions{begin: 0, end: xtf.Never}, func(v *processWindow) {
		all.add(v)
		t.add(v)
	})
	if err != nil {
		return nil, err
	}
	for i := range xtf.NumItems {
		s := all.sums[i].About
		if s == 0 {
			continue
		}
		item := CompareItem{Item: i.String()}
		if unitOf(i) == "ticks" {
			item.Seconds = x.seconds(s)
		} else {
			item.Count = new(float64(s))
		}
		r.Items = append(r.Items, item)
	}
	return r, nil
}

// seconds converts ticks; nil if the resolution is not known.
func (x *run) seconds(ticks uint64) *float64 {
	if x.meta.Resolution == 0 {
		return nil
	}
	return new(numbers.NewRatio(ticks, x.meta.Resolution).Value)
}

// secondsOf converts sums; they stay ticks if the resolution is not known.
func (x *run) secondsOf(list []uint64) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		if v := x.seconds(list[i]); v != nil {
			out[i] = *v
		} else {
			out[i] = float64(list[i])
		}
	}
	return out
}

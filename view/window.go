package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// windowOptions choose a window and how it is computed.
type windowOptions struct {
	begin, end uint64
	ranks      results.Ranks
	exact      bool
	types      []xtf.TypeID // arrays to read; nil: all with running totals
}

// limited is a number between two others.
type limited struct{ lower, about, upper uint64 }

func (l *limited) add(o limited) {
	const most = 1<<63 - 1 // sums of a damaged location stay below it, and window refuses them
	l.lower, l.about, l.upper = min(l.lower+o.lower, most), min(l.about+o.about, most), min(l.upper+o.upper, most)
}

// without is what is left of a number without a part of it.
func (l limited) without(part *limited) limited {
	return limited{l.lower - min(l.lower, part.upper), l.about - min(l.about, part.about), l.upper - min(l.upper, part.lower)}
}

// processWindow is what one process did in a window.
type processWindow struct {
	rank  uint32
	items [xtf.NumItems]limited
	cost  xtf.Stats
}

// eachProcess calls f, in any order, with what every chosen process did in the window. Approximate numbers come
// from indexes alone: two descents for each of four arrays.
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
		if cost.PageReads += v.cost.PageReads; v.items[xtf.ItemTime].upper > 0 {
			f(v)
		}
	})
	return lost, cost, err
}

// window adds up the locations of a process: times of the first one, the one that calls MPI, and the counts of all.
func (x *run) window(o *windowOptions, v *processWindow, p trace.Process) error {
	for i := range trace.P(p.Count) {
		at := p.First + i
		if x.Defs.Location(at).Type == trace.MetricLocation {
			continue
		}
		items, err := x.locationWindow(o, at, &v.cost)
		if err != nil {
			return err
		}
		for k := range items {
			if item := xtf.Item(k); i == 0 || item.Adds() {
				v.items[k].add(items[k])
			}
		}
	}
	for k := range v.items {
		if xtf.Item(k) == xtf.ItemComm { // of uncertain parts that may each be as long as the window
			continue
		}
		if v.items[k].upper > xtf.Most(x.Defs.NumLocations())*uint64(p.Count) {
			return fmt.Errorf("process %d: %s of %d: %w", v.rank, xtf.Item(k), v.items[k].upper, xtf.ErrCorrupt)
		}
	}
	return nil
}

// locationWindow is what one location did.
func (x *run) locationWindow(o *windowOptions, p trace.P, st *xtf.Stats) (items [xtf.NumItems]limited, err error) {
	begin, end := o.begin, o.end
	l, err := x.livesIn(p)
	if err != nil {
		return items, err
	}
	if x.cut {
		begin, end = max(begin, l.first), min(end, l.last)
		end = max(begin, end)
	}
	from, to := max(o.begin, l.first), min(o.end, l.last)
	time := max(from, to) - from
	types := o.types
	if types == nil {
		types = results.SummedTypes
	}
	if begin <= l.first && end > l.last { // all of it: nothing to look up
		begin, end = 0, xtf.Never
	}
	for _, t := range types {
		a, err := x.array(p, t)
		if err != nil {
			return items, err
		}
		if err := addSums(&items, a.Counted(st), begin, end, xtf.Most(x.Defs.NumLocations()), o.exact); err != nil {
			return items, err
		}
	}
	for i := range items {
		if l := &items[i]; outermost(xtf.Item(i)) { // these calls do not overlap: they cannot exceed the window
			l.upper = max(l.lower, min(l.upper, time))
			l.about = min(max(l.about, l.lower), l.upper)
		}
	}
	items[xtf.ItemTime] = limited{time, time, time}
	items[xtf.ItemCPU] = items[xtf.ItemTime]
	for _, i := range xtf.AsideItems {
		items[xtf.ItemCPU] = items[xtf.ItemCPU].without(&items[i])
	}
	items[xtf.ItemMeasured] = items[xtf.ItemTime].without(&items[xtf.ItemSetup])
	for _, part := range []xtf.Item{xtf.ItemP2P, xtf.ItemColl, xtf.ItemRMA} {
		items[xtf.ItemComm].add(items[part])
	}
	return items, nil
}

// addSums adds the running totals of an array between two instants; limit is what a sum of a location may be.
func addSums(items *[xtf.NumItems]limited, a *xtf.Array, begin, end, limit uint64, exact bool) error {
	if !a.HasSums() {
		return nil
	}
	about := a.Totals()
	lower, upper := about, about
	var err error
	switch {
	case begin == 0 && end == xtf.Never: // all rows
	case exact:
		about, err = a.SumsBetween(begin, end)
		lower, upper = about, about
	default:
		lower, about, upper, err = a.SumLimits(begin, end)
	}
	if err != nil {
		return err
	}
	for k, all := range a.Totals() {
		if item, less := xtf.ItemOfSum(a.Type().ID, a.Type().Sums[k].Name); item < xtf.NumItems && all <= limit { // more is left out, as in COMP
			l := limited{min(lower[k], all), min(about[k], all), min(upper[k], all)}
			if less {
				items[item] = items[item].without(&l)
				continue
			}
			items[item].add(l)
		}
	}
	return nil
}

// outermost reports whether an item is the time of calls that do not overlap. Markers do, those of two calls.
func outermost(i xtf.Item) bool {
	return xtf.HasSum(xtf.TypeCall, i) && i != xtf.ItemCalls && i != xtf.ItemMarker
}

// life is the time of a location, from its first to its last event.
type life struct{ first, last uint64 }

// livesIn is the time of a location; where Init and Finalize are left out, that of the whole program's interval. It is
// read once: 24 bytes a location.
func (x *run) livesIn(p trace.P) (*life, error) {
	if l := x.lives[p].Load(); l != nil {
		return l, nil
	}
	l := &life{}
	var err error
	if x.cut {
		err = x.findIval(p, l)
	} else if l.first, err = x.Component(p, xtf.ItemFirst, nil); err == nil {
		l.last, err = x.Component(p, xtf.ItemLast, nil)
	}
	if err == nil {
		x.lives[p].Store(l)
	}
	return l, err
}

// findIval takes the time from the execution of the whole program, one of the first rows.
func (x *run) findIval(p trace.P, l *life) error {
	var err error
	for _, iv := range results.Begun[xtf.Ival](x.Run, p, 0, xtf.Never, &err) {
		if iv.Node == 0 {
			*l = life{iv.T, iv.End}
			break
		}
	}
	return err
}

func (l limited) bounds() Bounds {
	return Bounds{Lower: decimal(l.lower), Upper: decimal(l.upper), About: decimal(l.about)}
}

// windowSums adds up processes.
type windowSums struct {
	processes uint64
	sums      [xtf.NumItems]limited
	min, max  [xtf.NumItems]Extreme
}

func (s *windowSums) add(v *processWindow) {
	for i := range v.items {
		l := &v.items[i]
		s.sums[i].add(*l)
		if least := &s.min[i]; s.processes == 0 || cmp.Or(cmp.Compare(l.about, least.Value), cmp.Compare(v.rank, least.Rank)) < 0 {
			*least = Extreme{l.about, v.rank}
		}
		if most := &s.max[i]; s.processes == 0 || cmp.Or(cmp.Compare(most.Value, l.about), cmp.Compare(v.rank, most.Rank)) < 0 {
			*most = Extreme{l.about, v.rank}
		}
	}
	s.processes++
}

// items lists what is not 0; extremes are known in exact windows.
func (s *windowSums) items(exact bool) []ItemSum {
	list := []ItemSum{}
	for i := range xtf.NumItems {
		if s.sums[i].upper == 0 {
			continue
		}
		v := ItemSum{Item: i.String(), Unit: unitOf(i), Sum: s.sums[i].bounds()}
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

// mostFunctions is how many regions statistics list at most.
const mostFunctions = 10000

// stats answers api/stats.
func (s *Server) stats(ctx context.Context, p *params) (any, error) {
	o, limit := p.summed(), p.limit(200, mostFunctions)
	if p.err != nil {
		return nil, p.err
	}
	x := &Stats{Ranks: o.ranks.String(), Begin: o.begin, End: o.end, Exact: o.exact, Lost: []table.Lost{}}
	sums := &windowSums{}
	lost, cost, err := p.run.eachProcess(ctx, o, func(v *processWindow) { sums.add(v) })
	if err != nil {
		return nil, err
	}
	x.Items, x.Processes = sums.items(o.exact), sums.processes
	x.Lost, x.Cost.PageReads = append(x.Lost, lost...), cost.PageReads
	return x, p.run.addFunctions(ctx, o, x, limit)
}

// addFunctions adds the regions of the window.
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

// boundsOf takes the middle for the best guess.
func boundsOf(l lookup.Limits) Bounds {
	return Bounds{decimal(l.Lower), decimal(l.Upper), decimal(l.Lower + (l.Upper-l.Lower)/2)}
}

func decimal(v uint64) json.Number { return json.Number(strconv.FormatUint(v, 10)) }

// functions gathers the regions of a window: of all processes from the sums of the whole run, unless exact.
func (x *run) functions(ctx context.Context, o *windowOptions) (*lookup.Functions, []table.Lost, xtf.Stats, error) {
	all := lookup.NewFunctions(x.Run, o.begin, o.end)
	var cost xtf.Stats
	if o.ranks.All() && !o.exact {
		if err := all.Add(xtf.WholeRun, false, &cost); !results.Partial(err) {
			return all, nil, cost, err
		}
		all = lookup.NewFunctions(x.Run, o.begin, o.end)
	}
	var mu sync.Mutex
	var lost []table.Lost
	list, workers := x.chosen(o.ranks), max(1, runtime.GOMAXPROCS(0))
	err := parallel(ctx, workers, func(w int) error {
		f, st := lookup.NewFunctions(x.Run, o.begin, o.end), xtf.Stats{}
		var out []table.Lost
		for i := w; i < len(list); i += workers {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.Add(xtf.Proc(list[i]), o.exact, &st); results.Partial(err) {
				out = append(out, x.Lost(list[i], "window", err))
			} else if err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all.Join(f)
		lost = append(lost, out...)
		cost.PageReads += st.PageReads
		return nil
	})
	sortLost(lost)
	return all, lost, cost, err
}

func sortLost(list []table.Lost) {
	slices.SortFunc(list, func(a, b table.Lost) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Thread, b.Thread))
	})
}

// profile answers api/profile.
func (s *Server) profile(ctx context.Context, p *params) (any, error) {
	o, columns := p.summed(), p.number("columns", profileColumns, 1, profileColumns)
	if p.err != nil {
		return nil, p.err
	}
	t := newColumns(p.run.meta.Processes, o.ranks, int(columns))
	lost, cost, err := p.run.eachProcess(ctx, o, t.add)
	if err != nil {
		return nil, err
	}
	v := &Profile{
		Begin: o.begin, End: o.end, Ranks: o.ranks.String(), Merged: t.merged, First: t.first, Count: t.count, Series: []Series{}, Exact: t.exact,
		Lost: append([]table.Lost{}, lost...), Cost: Cost{cost.PageReads},
	}
	for k, i := range xtf.Parts {
		v.Series = append(v.Series, Series{i.String(), results.ItemShare(i), decimals(t.sums[k]), t.all[k].bounds()})
	}
	v.Time, v.Wait, v.Waits = decimals(t.time), decimals(t.wait), t.waits.bounds()
	return v, nil
}

func decimals(list []uint64) []json.Number {
	out := make([]json.Number, len(list))
	for i := range list {
		out[i] = decimal(list[i])
	}
	return out
}

// columns add up neighbouring ranks of a set.
type columns struct {
	merged     int
	first      []uint32
	count      []int
	place      []int // column of each rank, -1: not chosen
	time, wait []uint64
	sums       [][]uint64 // by xtf.Parts
	all        []limited
	waits      limited
	exact      bool
}

// newColumns makes columns of the ranks of a set below n.
func newColumns(n int, ranks results.Ranks, most int) *columns {
	t := &columns{place: make([]int, n), exact: true, first: []uint32{}, count: []int{}}
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
	t.time, t.wait = make([]uint64, len(t.first)), make([]uint64, len(t.first))
	t.all = make([]limited, len(xtf.Parts))
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
	t.time[c] += v.items[xtf.ItemTime].about
	for _, i := range results.WaitItems {
		t.wait[c] += v.items[i].about
		t.waits.add(v.items[i])
	}
	for k, i := range xtf.Parts {
		l := v.items[i]
		t.exact = t.exact && l.lower == l.upper
		for _, part := range xtf.PartsOf(i) {
			l = l.without(&v.items[part])
		}
		t.sums[k][c] += l.about
		t.all[k].add(l)
	}
}

// compare answers api/compare.
func (s *Server) compare(ctx context.Context, _ *params) (any, error) {
	if len(s.runs) < 2 {
		return nil, &problem{http.StatusUnprocessableEntity, Failure{"no second run", "compare", "one file is shown", "Start coppice serve RUN.xtf PREDICTED.xtf"}}
	}
	v := &Compare{Runs: []CompareRun{}, First: []uint32{}, Series: []CompareSeries{}}
	var parts [2]*columns
	for i, x := range s.runs[:2] {
		if err := x.needRows(); err != nil {
			return nil, err
		}
		// both have the ranks of the larger one, so that columns match
		n := max(s.runs[0].meta.Processes, s.runs[1].meta.Processes)
		parts[i] = newColumns(n, results.Ranks{}, profileColumns)
		r, err := x.headline(ctx, parts[i])
		if err != nil {
			return nil, err
		}
		v.Runs = append(v.Runs, *r)
	}
	v.Merged, v.First = parts[0].merged, append(v.First, parts[0].first...)
	for k, i := range xtf.Parts {
		v.Series = append(v.Series, CompareSeries{i.String(), results.ItemShare(i), s.runs[0].secondsOf(parts[0].sums[k]), s.runs[1].secondsOf(parts[1].sums[k])})
	}
	v.Series = append(v.Series, CompareSeries{"wait", -1, s.runs[0].secondsOf(parts[0].wait), s.runs[1].secondsOf(parts[1].wait)})
	v.Series = append(v.Series, CompareSeries{"time", -1, s.runs[0].secondsOf(parts[0].time), s.runs[1].secondsOf(parts[1].time)})
	return v, nil
}

// headline sums up the whole run, from running totals, and fills the columns.
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
		s := all.sums[i].about
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

// seconds converts ticks; nil where the trace does not tell how long one is.
func (x *run) seconds(ticks uint64) *float64 {
	if x.meta.Resolution == 0 {
		return nil
	}
	return new(numbers.NewRatio(ticks, x.meta.Resolution).Value)
}

// secondsOf converts sums; without a known resolution they stay ticks.
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

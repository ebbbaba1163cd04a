package view

import (
	"cmp"
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// mostFunctions is how many regions statistics list at most.
const mostFunctions = 10000

// stats answers api/stats.
func (s *Server) stats(ctx context.Context, p *params) (any, error) {
	o, err := p.summed()
	if err != nil {
		return nil, err
	}
	limit, err := p.limit(200, mostFunctions)
	if err != nil {
		return nil, err
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
	of := o.ranks.Locations(x.Defs)
	n, workers := x.Defs.NumLocations(), max(1, runtime.GOMAXPROCS(0))
	err := parallel(ctx, workers, func(w int) error {
		f, st := lookup.NewFunctions(x.Run, o.begin, o.end), xtf.Stats{}
		var out []table.Lost
		for i := w; i < n; i += workers {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !of(trace.P(i)) {
				continue
			}
			if err := f.Add(xtf.Proc(i), o.exact, &st); results.Partial(err) {
				out = append(out, x.Lost(trace.P(i), "window", err))
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

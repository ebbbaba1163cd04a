package view

import (
	"context"
	"net/http"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

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

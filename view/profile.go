package view

import (
	"context"
	"encoding/json"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
)

// profile answers api/profile.
func (s *Server) profile(ctx context.Context, p *params) (any, error) {
	o, err := p.summed()
	if err != nil {
		return nil, err
	}
	columns, err := p.number("columns", profileColumns, 1, profileColumns)
	if err != nil {
		return nil, err
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

package view

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// mostFileRows is the most file operations that an answer reads.
const mostFileRows = 1 << 20

// getFiles answers api/files. It reads the operations twice: for the sums of all files, then for the bins of the listed ones.
func getFiles(ctx context.Context, p *params) (any, error) {
	o, limit := p.window(), p.limit(6, 64)
	bins := p.number("bins", 256, 1, counterBins)
	if p.err != nil {
		return nil, p.err
	}
	begin, end := o.begin, max(o.end, after(o.begin))
	v := &Files{Begin: begin, BinTicks: float64(end-begin) / float64(bins), List: []FileUse{}, Complete: true}
	names, uses := p.run.Defs.IoFiles(), map[string]*FileUse{}
	each := func(f func(name string, op *xtf.IO)) ([]table.Lost, error) {
		seen := 0
		return p.run.each(ctx, o.ranks, "files", func(l trace.P) (err error) {
			for _, op := range results.Overlapping[xtf.IO](p.run.Run, l, begin, end, &err) {
				if seen++; seen > mostFileRows {
					v.Complete = false
					break
				}
				f(names[op.Handle], op)
			}
			return err
		})
	}
	lost, err := each(func(name string, op *xtf.IO) {
		u := results.Made(uses, name)
		u.Name = name
		u.Operations++
		u.Ticks += float64(results.Inside(op.T, op.End, begin, end))
		if kind := op.Op & xtf.IOOpMask; kind == xtf.IORead || kind == xtf.IOWrite {
			u.Bytes += float64(op.Done)
		}
	})
	if v.Lost = append([]table.Lost{}, lost...); err != nil {
		return nil, err
	}
	list := slices.SortedFunc(maps.Values(uses), func(a, b *FileUse) int { return cmp.Or(cmp.Compare(b.Ticks, a.Ticks), cmp.Compare(a.Name, b.Name)) })
	v.More = max(0, len(list)-limit)
	list = list[:len(list)-v.More]
	for _, u := range list {
		u.Busy = make([]float64, bins)
	}
	_, err = each(func(name string, op *xtf.IO) {
		if u := uses[name]; u.Busy != nil {
			from, to, bin := float64(max(op.T, begin)-begin), float64(max(min(op.End, end), begin)-begin), v.BinTicks
			for k := int(from / bin); k < len(u.Busy) && float64(k)*bin < to; k++ {
				u.Busy[k] += max(0, min(to, float64(k+1)*bin)-max(from, float64(k)*bin)) / bin
			}
		}
	})
	for _, u := range list {
		v.List = append(v.List, *u)
	}
	return v, err
}

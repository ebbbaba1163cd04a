package view

import (
	"cmp"
	"context"
	"slices"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// mostPieceRows is how many rows of the critical path one answer looks at.
const mostPieceRows = 1 << 20

// critical answers api/critical.
func (s *Server) critical(ctx context.Context, p *params) (any, error) {
	begin, end, err := p.span()
	if err != nil {
		return nil, err
	}
	limit, err := p.limit(2000, 10000)
	if err != nil {
		return nil, err
	}
	if err := p.run.needRows(); err != nil {
		return nil, err
	}
	v := &Critical{Begin: begin, End: end, Pieces: []Piece{}, Complete: true, Lost: []table.Lost{}}
	best := longest[Piece]{limit: limit, order: func(a, b Piece) int {
		return cmp.Or(cmp.Compare(b.End-b.Begin, a.End-a.Begin), cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Location, b.Location))
	}}
	for l := range trace.P(p.run.meta.Locations) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, err := p.run.array(l, xtf.TypeCPath)
		if err == nil {
			err = a.Overlapping(begin, end, func(_ uint64, row []byte) bool {
				var c xtf.CPath
				c.Load(row)
				best.add(p.run.pieceOf(l, &c))
				v.Total++
				v.Complete = v.Total < mostPieceRows
				return v.Complete
			})
		}
		if results.Partial(err) {
			v.Lost = append(v.Lost, p.run.Lost(l, "critical", err))
		} else if err != nil {
			return nil, err
		}
		if !v.Complete {
			break
		}
	}
	v.Pieces, v.Truncated = best.list(), v.Total > uint64(limit)
	slices.SortFunc(v.Pieces, func(a, b Piece) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), cmp.Compare(a.Location, b.Location))
	})
	return v, nil
}

// longest keeps the first of many things in an order. Memory: twice the limit.
type longest[T any] struct {
	limit int
	order func(a, b T) int
	all   []T
}

func (l *longest[T]) add(v T) {
	if l.all = append(l.all, v); len(l.all) >= 2*l.limit {
		l.cut()
	}
}

func (l *longest[T]) cut() {
	slices.SortFunc(l.all, l.order)
	l.all = l.all[:min(len(l.all), l.limit)]
}

// list is what is kept, in order; never nil.
func (l *longest[T]) list() []T {
	l.cut()
	return append([]T{}, l.all...)
}

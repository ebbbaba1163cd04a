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

// Limits of the search for the longest waits: rows that are read, and pieces of a location. Pieces with most waiting time are read first.
const (
	mostWaitRows = 1 << 20
	waitPieces   = 64
)

// waitRow is a wait that may be listed.
type waitRow struct {
	p     trace.P
	n     uint64
	ticks uint64 // inside the window
	w     xtf.Wait
}

func getWaits(ctx context.Context, p *params) (any, error) {
	o, limit := p.summed(), p.limit(100, 1000)
	o.types = []xtf.TypeID{xtf.TypeWait}
	pattern := p.choice("pattern", append([]string{"all"}, patternNames()...)...)
	if p.err != nil {
		return nil, p.err
	}
	v := &Waits{Begin: o.begin, End: o.end, Ranks: o.ranks.String(), List: []Wait{}, Patterns: []ItemSum{}, Complete: true, Lost: []table.Lost{}}
	sums := &windowSums{}
	lost, cost, err := p.run.eachProcess(ctx, o, func(w *processWindow) { sums.add(w) })
	if err != nil {
		return nil, err
	}
	for _, i := range sums.items(false) {
		if slices.Contains(patternNames(), i.Item) {
			v.Patterns = append(v.Patterns, i)
		}
	}
	v.Lost, v.Cost.PageReads = append(v.Lost, lost...), cost.PageReads
	h := &waitSearch{x: p.run, o: o, pattern: pattern, best: longest[waitRow]{limit: limit, order: compareWaits}, to: v}
	if err := h.run(ctx); err != nil {
		return nil, err
	}
	for _, r := range h.best.list() {
		w, err := p.run.waitOf(r.p, r.n, &r.w)
		if err != nil && !results.Partial(err) {
			return nil, err
		}
		v.List = append(v.List, w) // if what ended it is damaged, it is listed without
	}
	return v, nil
}

func compareWaits(a, b waitRow) int {
	return cmp.Or(cmp.Compare(b.ticks, a.ticks), cmp.Compare(a.p, b.p), cmp.Compare(a.n, b.n))
}

func patternNames() []string {
	var list []string
	for p := range xtf.PatternItems {
		list = append(list, results.PatternName(uint32(p)))
	}
	return list
}

// waitSearch finds the longest waits of a window.
type waitSearch struct {
	x       *run
	o       *windowOptions
	pattern string
	best    longest[waitRow]
	found   uint64 // waits of the pattern among those that were read
	to      *Waits
}

// waitPiece is some pages of a location's waits.
type waitPiece struct {
	p      trace.P
	t1, t2 uint64
	ticks  uint64
}

// run reads all waits, or, if there are too many, the pieces with most waiting time.
func (h *waitSearch) run(ctx context.Context) error {
	total, locations := uint64(0), []trace.P{}
	_, err := h.x.each(ctx, h.o.ranks, "waits", func(p trace.P) error { // lost locations are listed already
		a, err := h.x.array(p, xtf.TypeWait)
		if err != nil || a.Len() == 0 {
			return err
		}
		n, err := a.Size(h.o.begin, h.o.end)
		if err == nil {
			total, locations = total+n, append(locations, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	if total > mostWaitRows {
		h.to.Complete = false
		return h.pieces(ctx, locations)
	}
	for _, p := range locations {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		for n, w := range results.Overlapping[xtf.Wait](h.x.Run, p, h.o.begin, h.o.end, &err) {
			h.add(p, n, w)
		}
		if err != nil && !results.Partial(err) {
			return err
		}
	}
	return nil
}

// add adds a wait if it has the pattern.
func (h *waitSearch) add(p trace.P, n uint64, w *xtf.Wait) {
	r := waitRow{p: p, n: n, w: *w}
	h.to.Seen++
	if h.pattern == "all" && results.IsCompletion(w.Pattern) || h.pattern != "all" && results.PatternName(w.Pattern) != h.pattern {
		return
	}
	if from, to := max(r.w.T, h.o.begin), min(r.w.End, h.o.end); from < to {
		r.ticks = to - from
		h.found++
		h.best.add(r)
	}
}

// pieces reads the pieces in which, by running totals, most time was waited, up to the limit of rows.
func (h *waitSearch) pieces(ctx context.Context, locations []trace.P) error {
	list := longest[waitPiece]{limit: mostWaitRows / 1024, order: func(a, b waitPiece) int {
		return cmp.Or(cmp.Compare(b.ticks, a.ticks), cmp.Compare(a.p, b.p), cmp.Compare(a.t1, b.t1))
	}}
	for _, p := range locations {
		if err := ctx.Err(); err != nil {
			return err
		}
		a, err := h.x.array(p, xtf.TypeWait)
		if err != nil {
			return err
		}
		s, err := a.Sums().Along(h.o.begin, h.o.end, waitPieces)
		if err != nil {
			return err
		}
		for k := 0; k+1 < len(s.T); k++ {
			piece := waitPiece{p: p, t1: max(s.T[k], h.o.begin), t2: min(s.T[k+1], h.o.end)}
			for j := range s.K {
				if i, _ := xtf.ItemOfSum(a.Type().ID, a.Type().Sums[j].Name); h.counts(i) {
					piece.ticks += s.Sums[(k+1)*s.K+j] - s.Sums[k*s.K+j]
				}
			}
			if piece.t1 < piece.t2 {
				list.add(piece)
			}
		}
	}
	for _, w := range list.list() {
		if err := ctx.Err(); err != nil || h.to.Seen > mostWaitRows {
			return err
		}
		var err error
		for n, row := range results.Begun[xtf.Wait](h.x.Run, w.p, w.t1, w.t2, &err) {
			h.add(w.p, n, row)
		}
		if err != nil && !results.Partial(err) {
			return err
		}
	}
	return nil
}

// counts reports whether an item is a wait of the pattern.
func (h *waitSearch) counts(i xtf.Item) bool {
	if h.pattern == "all" {
		return i < xtf.NumItems && i != xtf.ItemBarrierCompletion && i != xtf.ItemNxNCompletion
	}
	return i.String() == h.pattern
}

func getCauses(_ context.Context, p *params) (any, error) {
	limit := p.limit(50, 1000)
	if p.needRows(); p.err != nil {
		return nil, p.err
	}
	c := results.Causes{R: p.run.Run}
	if err := c.ReadLines(); err != nil {
		return nil, err
	}
	list := c.CauseLines(true)
	return &Causes{List: list[:min(limit, len(list))], More: max(0, len(list)-limit)}, nil
}

// mostPieceRows is the most rows of the critical path that an answer reads.
const mostPieceRows = 1 << 20

func getCritical(ctx context.Context, p *params) (any, error) {
	begin, end := p.span()
	limit := p.limit(2000, 10000)
	if p.needRows(); p.err != nil {
		return nil, p.err
	}
	v := &Critical{Begin: begin, End: end, Pieces: []Piece{}, Complete: true, Lost: []table.Lost{}}
	best := longest[Piece]{limit: limit, order: func(a, b Piece) int {
		return cmp.Or(cmp.Compare(b.End-b.Begin, a.End-a.Begin), cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Location, b.Location))
	}}
	lost, err := p.run.each(ctx, results.Ranks{}, "critical", func(l trace.P) (err error) {
		if !v.Complete {
			return nil
		}
		for _, c := range results.Overlapping[xtf.CPath](p.run.Run, l, begin, end, &err) {
			best.add(p.run.pieceOf(l, c))
			v.Total++
			if v.Complete = v.Total < mostPieceRows; !v.Complete {
				break
			}
		}
		return err
	})
	v.Lost = append(v.Lost, lost...)
	if err != nil {
		return nil, err
	}
	v.Pieces, v.Truncated = best.list(), v.Total > uint64(limit)
	slices.SortFunc(v.Pieces, func(a, b Piece) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), cmp.Compare(a.Location, b.Location))
	})
	return v, nil
}

// longest keeps the first limit values in an order. Memory: twice the limit.
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

// list returns the kept values in order; never nil.
func (l *longest[T]) list() []T {
	l.cut()
	return append([]T{}, l.all...)
}

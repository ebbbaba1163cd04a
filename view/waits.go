package view

import (
	"cmp"
	"context"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Bounds of the search for the longest waits: rows that are looked at, and pieces of a location of which the ones with
// most waiting come first.
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

// waits answers api/waits.
func (s *Server) waits(ctx context.Context, p *params) (any, error) {
	o, err := p.summed()
	if err != nil {
		return nil, err
	}
	o.types = []xtf.TypeID{xtf.TypeWait}
	limit, err := p.limit(100, 1000)
	if err != nil {
		return nil, err
	}
	pattern, err := p.choice("pattern", append([]string{"all"}, patternNames()...)...)
	if err != nil {
		return nil, err
	}
	v := &Waits{Begin: o.begin, End: o.end, Ranks: o.ranks.String(), List: []Wait{}, Patterns: []ItemSum{}, Complete: true, Lost: []table.Lost{}}
	sums := &windowSums{}
	lost, cost, err := p.run.eachProcess(ctx, o, func(w *processWindow) { sums.add(w) })
	if err != nil {
		return nil, err
	}
	for _, i := range sums.items(false) {
		if i.Item != xtf.ItemTime.String() && i.Item != xtf.ItemCPU.String() {
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
		v.List = append(v.List, w) // without its cause where that is damaged
	}
	return v, nil
}

func compareWaits(a, b waitRow) int {
	return cmp.Or(cmp.Compare(b.ticks, a.ticks), cmp.Compare(a.p, b.p), cmp.Compare(a.n, b.n))
}

// patternNames are the names of the patterns.
func patternNames() []string {
	var list []string
	for p := xtf.WaitLateSender; p <= xtf.WaitEarlyScan; p++ {
		list = append(list, results.PatternName(p))
	}
	return list
}

// waitSearch looks for the longest waits of a window.
type waitSearch struct {
	x       *run
	o       *windowOptions
	pattern string
	best    longest[waitRow]
	to      *Waits
}

// waitPiece is some pages of a location's waits.
type waitPiece struct {
	p      trace.P
	t1, t2 uint64
	ticks  uint64
}

// run looks at all waits, or, where there are too many, at the pieces with most waiting.
func (h *waitSearch) run(ctx context.Context) error {
	total, locations := uint64(0), []trace.P{}
	of := h.o.ranks.Locations(h.x.Defs)
	for p := range trace.P(h.x.meta.Locations) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !of(p) {
			continue
		}
		a, err := h.x.array(p, xtf.TypeWait)
		n := uint64(0)
		if err == nil {
			n, err = a.Size(h.o.begin, h.o.end)
		}
		if results.Partial(err) {
			continue // listed as lost already
		}
		if err != nil {
			return err
		}
		if a.Len() > 0 {
			total, locations = total+n, append(locations, p)
		}
	}
	if total > mostWaitRows {
		h.to.Complete = false
		return h.pieces(ctx, locations)
	}
	for _, p := range locations {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := h.look(p, h.o.begin, h.o.end); err != nil && !results.Partial(err) {
			return err
		}
	}
	return nil
}

// look looks at the waits of a location in a span.
func (h *waitSearch) look(p trace.P, begin, end uint64) error {
	a, err := h.x.array(p, xtf.TypeWait)
	if err != nil {
		return err
	}
	return a.Overlapping(begin, end, func(n uint64, row []byte) bool {
		h.add(p, n, row)
		return true
	})
}

// add adds a wait if it is one that is looked for.
func (h *waitSearch) add(p trace.P, n uint64, row []byte) {
	r := waitRow{p: p, n: n}
	r.w.Load(row)
	h.to.Seen++
	if h.pattern == "all" && results.IsCompletion(r.w.Pattern) || h.pattern != "all" && results.PatternName(r.w.Pattern) != h.pattern {
		return
	}
	if from, to := max(r.w.T, h.o.begin), min(r.w.End, h.o.end); from < to {
		r.ticks = to - from
		h.best.add(r)
	}
}

// pieces looks where sums at pages say that most was waited, until enough rows were seen.
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
		s, err := a.SumsAlong(h.o.begin, h.o.end, waitPieces)
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
		if err := h.lookPiece(&w); err != nil && !results.Partial(err) {
			return err
		}
	}
	return nil
}

// lookPiece looks at the waits that begin in a piece.
func (h *waitSearch) lookPiece(w *waitPiece) error {
	a, err := h.x.array(w.p, xtf.TypeWait)
	if err != nil {
		return err
	}
	n1, err := a.Rank(w.t1)
	if err != nil {
		return err
	}
	n2, err := a.Rank(w.t2)
	if err != nil {
		return err
	}
	return a.Each(n1, n2, func(n uint64, row []byte) bool {
		h.add(w.p, n, row)
		return true
	})
}

// counts reports whether an item is a wait that is looked for.
func (h *waitSearch) counts(i xtf.Item) bool {
	if h.pattern == "all" {
		return i < xtf.NumItems && i != xtf.ItemBarrierCompletion && i != xtf.ItemNxNCompletion
	}
	return i.String() == h.pattern
}

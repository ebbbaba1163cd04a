package main

import (
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/xtf"
)

// binsAt is the level that a query of time bins took.
type binsAt struct {
	Level  uint8  `json:"level"`
	Ticks  uint64 `json:"ticks"` // in a bin, 0 for 2^64
	Finest uint8  `json:"finest"`
	Top    uint8  `json:"top"`
}

// bins finds the rows of the time bins that overlap a span, at the level for
// --width pixels.
func (q *query) bins(a *answer, x *xtf.Array) (first, rows uint64, err error) {
	begin, end, err := q.window()
	if err != nil {
		return 0, 0, err
	}
	var n1, n2 uint64
	p, err := x.Pyramid(0)
	if err == nil {
		level := p.Level(begin, end, q.width)
		a.Bins = &binsAt{level, 1 << (2 * level), p.Finest, p.Top}
		n1, n2, err = p.Find(level, begin, end)
	}
	if err != nil {
		return 0, 0, q.readFailure(err)
	}
	size := n2 - n1
	a.Begin, a.End, a.Size, a.Found, a.More = &begin, &end, &size, size > 0, size > uint64(q.limit)
	return n1, min(size, uint64(q.limit)), nil
}

// text prints the level.
func (b *binsAt) text(w io.Writer, a *answer, run *report.Run) error {
	u := report.UnitsOf(run.Defs.Clock().TimerResolution)
	_, err := fmt.Fprintf(w, "%s to %s: %s at level %d of %d to %d, bins of %s\n", u.Time(*a.Begin), u.Time(*a.End), plural(*a.Size, "row"), b.Level, b.Finest, b.Top, u.Time(b.Ticks))
	return err
}

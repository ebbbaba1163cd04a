package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/xtf"
)

// sumOver is one sum of a type over a span of time, in three answers.
type sumOver struct {
	Name         string `json:"name"`
	Lower        uint64 `json:"lower"`
	Upper        uint64 `json:"upper"`
	Interpolated uint64 `json:"interpolated"`
	Exact        uint64 `json:"exact"`
}

// visible lists the rows with T < end and End > begin.
func (q *query) visible(a *answer, x *xtf.Array) error {
	if a.typ.End < 0 {
		return usage("visible: rows of type %s have no end: choose from %s", a.typ.Name, q.typesWith(func(t *xtf.Type) bool { return t.End >= 0 }))
	}
	begin, end, err := q.window()
	if err != nil {
		return err
	}
	a.Begin, a.End = &begin, &end
	err = x.Overlapping(begin, end, func(n uint64, row []byte) bool {
		if a.More = len(a.Rows) == q.limit; a.More {
			return false
		}
		a.Rows = append(a.Rows, makeRow(a.typ, n, row))
		return true
	})
	a.Found = len(a.Rows) > 0
	return q.readFailure(err)
}

// window is the span of time of rows: --ranks has no place there.
func (q *query) window() (begin, end uint64, err error) {
	if q.ranks != "" {
		return 0, 0, usage("%s is about one location: --rank and --thread, instead of --ranks", q.primitive)
	}
	begin, end, _, err = q.span()
	return begin, end, err
}

// typesWith lists the types of the file for a message.
func (q *query) typesWith(has func(*xtf.Type) bool) string {
	var names []string
	all := q.run.File.Types().All()
	for i := range all {
		if has(&all[i]) {
			names = append(names, strings.ToLower(all[i].Name))
		}
	}
	return strings.Join(names, ", ")
}

// stats gives the sums of a span bounded, interpolated and exact.
func (q *query) stats(a *answer) error {
	if len(a.typ.Sums) == 0 {
		return usage("stats: rows of type %s have no sums: choose from %s", a.typ.Name, q.typesWith(func(t *xtf.Type) bool { return len(t.Sums) > 0 }))
	}
	begin, end, err := q.window()
	if err != nil {
		return err
	}
	a.Begin, a.End = &begin, &end
	var lower, upper, about, exact []uint64
	for _, x := range []struct {
		of  string
		run func(*xtf.Array) error
	}{
		{"bounded", func(x *xtf.Array) error { lower, upper, err = x.SumBounds(begin, end); return err }},
		{"interpolated", func(x *xtf.Array) error { about, err = x.SumsAbout(begin, end); return err }},
		{"exact", func(x *xtf.Array) error { exact, err = x.SumsBetween(begin, end); return err }},
	} {
		if err := q.part(a, x.of, func(st *xtf.Stats) error { return x.run(q.array.Counted(st)) }); err != nil {
			return err
		}
	}
	a.Sums = make([]sumOver, len(a.typ.Sums))
	for i := range a.Sums {
		s := &a.Sums[i]
		s.Name = a.typ.Sums[i].Name
		if q.array.HasSums() { // an array without rows holds none
			s.Lower, s.Upper, s.Interpolated, s.Exact = lower[i], upper[i], about[i], exact[i]
		}
	}
	a.Found = q.array.Len() > 0
	return nil
}

// part runs one part of an answer and adds what it cost.
func (q *query) part(a *answer, of string, run func(*xtf.Stats) error) error {
	var st xtf.Stats
	err := run(&st)
	q.cost.PageReads += st.PageReads
	q.cost.Hits += st.Hits
	q.cost.Comparisons += st.Comparisons
	a.Costs = append(a.Costs, costPart{of, costOf(st)})
	return q.readFailure(err)
}

// window prints the answer about a span of time.
func (a *answer) window(w io.Writer, run *report.Run) error {
	u := report.UnitsOf(run.Defs.Clock().TimerResolution)
	fmt.Fprintf(w, "%s to %s", u.Time(*a.Begin), u.Time(*a.End))
	if a.Sums == nil {
		fmt.Fprintf(w, ": %s\n", plural(uint64(len(a.Rows)), "row"))
		return nil
	}
	fmt.Fprintln(w, "; times in ticks")
	var rows [][]string
	for i := range a.Sums {
		s := &a.Sums[i]
		rows = append(rows, []string{report.Clean(s.Name, 40), report.Count(s.Lower), report.Count(s.Interpolated), report.Count(s.Exact), report.Count(s.Upper)})
	}
	return table(w, []string{"<sum", "at least", "interpolated", "exact", "at most"}, rows)
}

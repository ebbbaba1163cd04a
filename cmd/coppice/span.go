package main

import (
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report"
)

// tickAt reads 12.5s, 40% of the run, or #TICKS; flag is for messages.
func tickAt(run *report.Run, flag, text string) (uint64, error) {
	if ticks, ok := strings.CutPrefix(text, "#"); ok {
		n, err := strconv.ParseUint(ticks, 0, 64)
		if err != nil {
			return 0, usage("%s %s: not a number", flag, ticks)
		}
		return n, nil
	}
	b, err := run.Brief()
	if err != nil {
		return 0, readError(run.Name, err)
	}
	share, percent := strings.CutSuffix(text, "%")
	v, ok := exact.Parse(strings.TrimSuffix(share, "s"))
	switch {
	case !ok || len(text) > 40 || strings.ContainsAny(text, "eE"):
		return 0, usage("%s %s: write for example 12.5s, 40%% or #1000", flag, text)
	case percent && (b.First == nil || b.Last == nil):
		return 0, usage("%s %s: the run has no span", flag, text)
	case percent:
		v = v.Times(*b.Last - min(*b.First, *b.Last)).Div(100).Plus(exact.Share(0, *b.First, 1))
	case b.Resolution == 0:
		return 0, usage("%s %s: the trace does not tell its clock's resolution, give #TICKS", flag, text)
	default:
		v = v.Times(b.Resolution)
	}
	if !v.Known() || v.Sign() < 0 {
		return 0, usage("%s %s: outside of what a clock can show", flag, text)
	}
	return uint64(v.Floor()), nil
}

// spanOf reads --time: A..B with either side left out, or interval:NAME for the
// time from its first begin to its last end, or interval:NAME[K] for its K-th
// execution on each process. Without --time it is nil.
func spanOf(run *report.Run, text string) (*report.Span, error) {
	if text == "" {
		return nil, nil
	}
	if name, ok := strings.CutPrefix(text, "interval:"); ok {
		s, err := run.IntervalSpan(name)
		if err != nil {
			return nil, intervalError("--time "+text, run, err)
		}
		return s, nil
	}
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		return nil, usage("--time %s: give a span A..B, or interval:NAME", text)
	}
	b, err := run.Brief()
	if err != nil {
		return nil, readError(run.Name, err)
	}
	s := &report.Span{}
	if b.First != nil && b.Last != nil {
		s.Begin, s.End = *b.First, *b.Last+1 // the last event is inside
	}
	if first != "" {
		if s.Begin, err = tickAt(run, "--time", first); err != nil {
			return nil, err
		}
	}
	if last != "" {
		if s.End, err = tickAt(run, "--time", last); err != nil {
			return nil, err
		}
	}
	return s, spanInside(b, text, s.Begin, s.End)
}

// spanInside refuses a span of time that is none, or in which the run is not.
func spanInside(b *report.Brief, text string, begin, end uint64) error {
	u := report.UnitsOf(b.Resolution)
	switch {
	case begin > end:
		return usage("--time %s: it ends before it begins", text)
	case b.First != nil && b.Last != nil && (begin > 0 && begin-1 > *b.Last || end < *b.First): // the tick behind the last event ends the run
		return usage("--time %s: the run is not in it: it goes from %s to %s", text, u.Time(*b.First), u.Time(*b.Last))
	}
	return nil
}

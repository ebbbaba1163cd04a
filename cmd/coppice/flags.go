package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/spf13/pflag"
)

// word is the value of a flag that takes one of some words.
type word struct {
	to   *string
	from []string
}

// oneOf defines a flag that takes one of some words, which its usage lists.
func oneOf(f *pflag.FlagSet, to *string, name, usual, use string, from ...string) {
	*to = usual
	f.Var(word{to, from}, name, use)
}

// Set takes a word.
func (w word) Set(text string) error {
	i := slices.IndexFunc(w.from, func(x string) bool { return strings.EqualFold(x, text) })
	if i < 0 {
		return errors.New("choose " + alternatives(w.from))
	}
	*w.to = w.from[i]
	return nil
}

func (w word) String() string { return *w.to }

// Type names the value in help texts.
func (w word) Type() string { return "NAME" }

// number is the value of a flag that takes a whole number, at least one.
type number struct {
	to    *int
	least int
}

// atLeast defines a flag that takes a whole number.
func atLeast(f *pflag.FlagSet, least int, to *int, name, letter string, usual int, use string) {
	*to = usual
	f.VarP(number{to, least}, name, letter, use)
}

// Set takes a number.
func (n number) Set(text string) error {
	v, err := strconv.ParseInt(text, 0, 32)
	if err != nil || int(v) < n.least {
		return errors.New("give a whole number, at least " + strconv.Itoa(n.least))
	}
	*n.to = int(v)
	return nil
}

func (n number) String() string { return strconv.Itoa(*n.to) }

// Type names the value in help texts.
func (n number) Type() string { return "N" }

// conditions are the value of --fail-if, each read when it is given.
type conditions[T any] struct {
	list []*T
	read func(text string) (*T, error)
}

// define defines the flag.
func (c *conditions[T]) define(f *pflag.FlagSet, read func(text string) (*T, error), use string) {
	c.read = read
	f.Var(c, "fail-if", "exit with status 1 if this holds"+use+" (repeatable)")
}

// Set takes a condition.
func (c *conditions[T]) Set(text string) error {
	x, err := c.read(text)
	c.list = append(c.list, x)
	return err
}

func (c *conditions[T]) String() string { return "" }

// Type names the value in help texts.
func (c *conditions[T]) Type() string { return "CONDITION" }

// told prints the conditions that hold; the status says whether there are any.
func told(verdicts []report.Verdict, of string, s streams) (failed error) {
	for _, v := range verdicts {
		if v.Holds {
			s.say("%s%s", of, v.Text)
			failed = jobs.Fail(jobs.ExitFound, errSilent)
		}
	}
	return failed
}

// judge tells which conditions hold of a run.
func judge(run *report.Run, list []*report.Condition, rules report.Rules, s streams) error {
	verdicts, err := run.Judge(list, rules)
	if report.Partial(err) {
		return jobs.Fail(jobs.ExitPartial, fmt.Errorf("--fail-if is not decided: %w", &fileError{run.Path, err}))
	}
	if err != nil {
		return intervalError("--fail-if", run, err)
	}
	return told(verdicts, run.Path+": ", s)
}

// intervalError is the outcome of naming an interval: of a wrong name, or of
// reading the file.
func intervalError(what string, run *report.Run, err error) error {
	if errors.Is(err, report.ErrInterval) || errors.Is(err, report.ErrCondition) {
		return usage("%s: %w", what, err)
	}
	return readError(run.Path, err)
}

// size is a flag value in bytes: 64K, 10M, 2G are binary, KB, MB, GB decimal.
type size int64

// Set parses a size.
func (s *size) Set(text string) error {
	number, base, unit := strings.ToUpper(text), 1024.0, 1.0
	if rest, ok := strings.CutSuffix(number, "B"); ok {
		if number, ok = strings.CutSuffix(rest, "I"); !ok {
			base = 1000
		}
	}
	for i, prefix := range []string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(number, prefix); ok {
			number, unit = rest, math.Pow(base, float64(i+1))
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || v < 0 || v*unit > math.MaxInt64/2 || math.IsNaN(v) {
		return fmt.Errorf("%q is not a size: write for example 64K, 10M, 2G or 1.5GB", text)
	}
	*s = size(v * unit)
	return nil
}

// String prints the size in the largest binary unit.
func (s *size) String() string {
	if *s <= 0 {
		return ""
	}
	return report.Binary(int64(*s))
}

// Type names the value in help texts.
func (s *size) Type() string { return "SIZE" }

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
	return spanBetween(run, text, first, last)
}

// spanBetween is the span from an instant to another, of which each can be left out; text names it in messages.
func spanBetween(run *report.Run, text, first, last string) (*report.Span, error) {
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
	case b.First != nil && b.Last != nil && (begin > 0 && begin-1 > *b.Last || end < *b.First): // the tick after the last event ends the run
		return usage("--time %s: the run is not in it: it goes from %s to %s", text, u.Time(*b.First), u.Time(*b.Last))
	}
	return nil
}

// chosenRanks reads --ranks: all without it.
func chosenRanks(text string, d *trace.Definitions) (set report.Ranks, err error) {
	if text != "" {
		if set, err = report.ParseRanks(text, d); err != nil {
			err = usage("--ranks %w", err)
		}
	}
	return set, err
}

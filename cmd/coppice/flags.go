package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/spf13/pflag"
)

// word is the value of a flag that takes one of several words.
type word struct {
	to   *string
	from []string
}

// oneOf defines a flag that takes one of several words. Its usage lists them.
func oneOf(f *pflag.FlagSet, to *string, name, usual, use string, from ...string) {
	*to = usual
	f.Var(word{to, from}, name, use)
}

// Set accepts one of the words.
func (w word) Set(text string) error {
	i := slices.IndexFunc(w.from, func(x string) bool { return strings.EqualFold(x, text) })
	if i < 0 {
		return errors.New("choose " + alternatives(w.from) + "." + similar(text, w.from))
	}
	*w.to = w.from[i]
	return nil
}

func (w word) String() string { return *w.to }

// Type names the value in help texts.
func (w word) Type() string { return "NAME" }

// value is a flag value: its name in the help, its text, and the function that reads a text.
type value struct {
	kind string
	now  func() string
	read func(text string) error
}

func (v value) String() string        { return v.now() }
func (v value) Set(text string) error { return v.read(text) }
func (v value) Type() string          { return v.kind }

// atLeast defines a flag that takes a whole number.
func atLeast(f *pflag.FlagSet, least int, to *int, name, letter string, usual int, use string) {
	*to = usual
	f.VarP(value{"N", func() string { return strconv.Itoa(*to) }, func(text string) error {
		v, err := strconv.ParseInt(text, 0, 32)
		if err != nil || int(v) < least {
			return errors.New("give a whole number, at least " + strconv.Itoa(least))
		}
		*to = int(v)
		return nil
	}}, name, letter, use)
}

// failIf is the value of --fail-if. Each condition is parsed when it is given.
type failIf[T any] struct{ list []*T }

func (c *failIf[T]) define(f *pflag.FlagSet, read func(text string) (*T, error), use string) {
	f.Var(value{"CONDITION", func() string { return "" }, func(text string) error {
		x, err := read(text)
		c.list = append(c.list, x)
		return err
	}}, "fail-if", "exit with status 1 if this holds"+use+" (repeatable)")
}

// told prints the conditions that hold, and returns errSilent with the exit status if any does.
func told(verdicts []conditions.Verdict, of string, s streams) (failed error) {
	for _, v := range verdicts {
		if v.Holds {
			s.say("%s%s", of, v.Text)
			failed = jobs.Fail(jobs.ExitFound, errSilent)
		}
	}
	return failed
}

// judge decides the conditions about a run.
func judge(run *results.Run, list []*report.Condition, rules results.Rules, s streams) error {
	verdicts, err := report.Judge(run, list, rules)
	if results.Partial(err) {
		return jobs.Fail(jobs.ExitPartial, fmt.Errorf("--fail-if is not decided: %w", &fileError{run.Path, err}))
	}
	if err != nil {
		return readError(run.Path, results.Asked("--fail-if", err))
	}
	return told(verdicts, run.Path+": ", s)
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
	return numbers.Binary(int64(*s))
}

// Type names the value in help texts.
func (s *size) Type() string { return "SIZE" }

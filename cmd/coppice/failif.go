package main

import (
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/spf13/pflag"
)

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
			fmt.Fprintf(s.err, "coppice: %s%s\n", of, v.Text)
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

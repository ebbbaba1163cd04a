package main

import (
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
)

// parseConditions reads the values of --fail-if.
func parseConditions(verb string, texts []string) ([]*report.Condition, error) {
	var list []*report.Condition
	for _, text := range texts {
		c, err := report.ParseCondition(text)
		if err != nil {
			return nil, usage("%s: --fail-if: %w", verb, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// judge tells which conditions hold; the first one decides the exit status.
func judge(run *report.Run, list []*report.Condition, rules report.Rules, s streams) error {
	verdicts, err := run.Judge(list, rules)
	if report.Partial(err) {
		return jobs.Fail(jobs.ExitPartial, fmt.Errorf("--fail-if is not decided: %w", &fileError{run.Path, err}))
	}
	if err != nil {
		return intervalError("--fail-if", run, err)
	}
	var failed error
	for _, v := range verdicts {
		if !v.Holds {
			continue
		}
		fmt.Fprintf(s.err, "coppice: %s: %s\n", run.Path, v.Text)
		failed = jobs.Fail(jobs.ExitFound, errSilent)
	}
	return failed
}

// judgeFile decides the conditions about a file.
func judgeFile(path string, x *choice, s streams) error {
	run, err := s.runs.open(path)
	if err != nil {
		return err
	}
	rules, err := x.rules()
	if err != nil {
		return err
	}
	return judge(run, x.conditions, rules, s)
}

// intervalError is the outcome of naming an interval: of a wrong name, or of
// reading the file.
func intervalError(what string, run *report.Run, err error) error {
	if errors.Is(err, report.ErrInterval) || errors.Is(err, report.ErrCondition) {
		return usage("%s: %w", what, err)
	}
	return readError(run.Path, err)
}

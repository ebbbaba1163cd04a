package main

import (
	"errors"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/diff"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/spf13/cobra"
)

type diffFlags struct {
	print                  output
	rules                  ruleFlags // of intervals
	threshold, maxSlowdown string
	failIf                 failIf[diff.Condition]
	options                diff.Options
}

func diffVerb(s streams) *cobra.Command {
	x := diffFlags{print: output{more: []string{"csv", "md", "html"}}}
	c := verb("diff A.xtf B.xtf", "two runs side by side: what got worse, by how much, and what made it so", 2, 2,
		"coppice diff before.xtf after.xtf",
		"coppice diff before.xtf after.xtf -o diff.html",
		"coppice diff before.xtf after.xtf --max-slowdown 5%",
		"coppice diff before.xtf after.xtf --fail-if 'interval:solve.execution.ratio>1.1' --fail-if 'efficiency.change<-0.05'",
		"coppice diff run.xtf predicted.xtf --format json")
	f := c.Flags()
	x.print.define(f)
	x.print.defineLimit(f, longTables)
	f.StringVar(&x.threshold, "threshold", "5%", "change that counts as worse or better: of an interval's time, or points of efficiency where the numbers of processes differ")
	f.StringVar(&x.maxSlowdown, "max-slowdown", "", "the same, and exit with status 1 if an interval got worse")
	x.failIf.define(f, diff.ParseCondition, ": METRIC<NUMBER or interval:NAME.METRIC<NUMBER of B, METRIC.change of B - A, METRIC.ratio of B / A")
	x.rules.define(f)
	x.rules.defineMeasured(f)
	return s.does(c, x.compare, x.print.check, func() error { return x.check(f.Changed("threshold")) })
}

func (x *diffFlags) check(given bool) error {
	name, text := "--threshold", x.threshold
	if x.maxSlowdown != "" {
		if given {
			return usage("--threshold and --max-slowdown mean the same limit: choose one")
		}
		name, text = "--max-slowdown", x.maxSlowdown
	}
	var err error
	if x.options.Threshold, err = shareOf(text); err != nil {
		return usage("%s %s: give a share such as 5%% or 0.05", name, text)
	}
	x.options.Rules = x.rules.rules()
	return nil
}

// shareOf reads 5% or 0.05.
func shareOf(text string) (numbers.Fraction, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, ok := exact.Parse(number)
	if !ok || v.Sign() < 0 || len(text) > 20 || strings.ContainsAny(number, "eE") {
		return v, errors.New("no share")
	}
	if percent {
		v = v.Div(100)
	}
	return v, nil
}

// compare compares the two files.
func (x *diffFlags) compare(paths []string, s streams) error {
	var runs [2]*results.Run
	for i, path := range paths {
		r, err := s.runs.open(path)
		if err != nil {
			return err
		}
		runs[i] = r
	}
	d, err := diff.New(runs[0], runs[1], x.options)
	if errors.Is(err, diff.ErrRuns) {
		return usage("%w", err)
	}
	if err != nil {
		return readError(paths[0]+", "+paths[1], err)
	}
	if err := x.print.print(s, d, func(w io.Writer) error { return table.WriteJSON(w, d) }); err != nil {
		return err
	}
	if len(d.Lost) > 0 {
		return nil // the exit status says so, and no condition is decided
	}
	verdicts, err := d.Judge(x.failIf.list)
	if errors.Is(err, results.ErrInterval) || errors.Is(err, conditions.ErrSyntax) {
		return usage("--fail-if: %w", err)
	}
	if err != nil {
		return err
	}
	failed := told(verdicts, "", s)
	if x.maxSlowdown != "" && len(d.Worse) > 0 {
		s.say("--max-slowdown %s: %s got worse, first %s", x.maxSlowdown, numbers.Plural(len(d.Worse), "interval"), d.Worse[0].Text)
		failed = jobs.Fail(jobs.ExitFound, errSilent)
	}
	return failed
}

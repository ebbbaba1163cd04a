package main

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/scaling"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/spf13/cobra"
)

// scalingVerb is the report about several runs of one program.
func scalingVerb(s streams) *cobra.Command {
	o := output{more: []string{"csv", "md", "html"}}
	x := scaling.Options{}
	var rules ruleFlags
	c := verb("scaling RUN.xtf RUN.xtf...", "several runs of one program: efficiencies and growth with the processes", 2, 1<<16,
		"coppice report scaling run-2.xtf run-4.xtf run-8.xtf run-16.xtf",
		"coppice report scaling run-*.xtf --at 1024",
		"coppice report scaling run-*.xtf --mode weak -o scaling.csv")
	f := c.Flags()
	o.define(f)
	oneOf(f, (*string)(&x.Mode), "mode", "auto", "strong: the problem stays; weak: it grows with the processes; auto: useful computation decides, or both are printed",
		string(scaling.ModeAuto), string(scaling.ModeStrong), string(scaling.ModeWeak))
	f.Uint64Var(&x.At, "at", 0, "number of processes to predict for")
	rules.defineMeasured(f)
	o.defineLimit(f, longTables)
	return s.does(c, func(operands []string, s streams) error {
		x.Rules = rules.rules()
		return printScaling(operands, x, &o, s)
	}, o.check)
}

// printScaling prints the report about the runs.
func printScaling(operands []string, x scaling.Options, o *output, s streams) error {
	var runs []*results.Run
	for _, path := range operands {
		r, err := s.runs.open(path)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	sc, err := scaling.New(runs, x)
	if errors.Is(err, scaling.ErrRuns) {
		return usage("%w", err)
	}
	if err != nil {
		return readError(operands[0], err)
	}
	return o.print(s, sc, func(w io.Writer) error { return table.WriteJSON(w, sc) })
}

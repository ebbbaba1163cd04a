package main

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/report"
)

// runScaling is the report about several runs of one program.
func runScaling(args []string, s streams) error {
	o := output{tables: true, pages: true}
	x := report.ScalingOptions{}
	mode := ""
	rules := choice{productive: "mean", processors: "participants"}
	f := flags("report scaling", s,
		"coppice report scaling run-2.xtf run-4.xtf run-8.xtf run-16.xtf",
		"coppice report scaling run-*.xtf --at 1024",
		"coppice report scaling run-*.xtf --mode weak -o scaling.csv")
	o.add(f)
	f.StringVar(&mode, "mode", "auto", "strong: the problem stays; weak: it grows with the processes; auto: told by useful computation, or both are printed")
	f.Uint64Var(&x.At, "at", 0, "number of processes to predict for")
	rules.defineMeasured(f)
	f.IntVar(&o.limit, "limit", 0, "rows of long text tables (default 20)")
	operands, err := parse(f, args, 2, 1<<16)
	if err != nil {
		return err
	}
	switch x.Mode = report.Mode(mode); x.Mode {
	case report.ModeAuto, report.ModeStrong, report.ModeWeak:
	default:
		return usage("report scaling: --mode %s: choose auto, strong or weak", mode)
	}
	if x.Rules, err = rules.rules(); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	var runs []*report.Run
	for _, path := range operands {
		r, err := s.runs.open(path)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	sc, err := report.NewScaling(runs, x)
	if errors.Is(err, report.ErrScaling) {
		return usage("report scaling: %w", err)
	}
	if err != nil {
		return readError(operands[0], err)
	}
	return o.write(s, func(w io.Writer) error {
		if o.format == "json" {
			return sc.WriteJSON(w)
		}
		return report.Write(w, sc, o.format, o.style(s))
	})
}

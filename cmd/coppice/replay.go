package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace/receivelog"
)

func replayVerb(s streams) *cobra.Command {
	o := record.ReplayOptions{Out: s.err, Err: s.err}
	c := verb("replay LOG... -- ./PROGRAM [ARGUMENT...]", "run one process of a recorded program alone, its MPI calls answered from its receive log", 1, 1<<20,
		"coppice record -o run1 --log-ranks 3 --cpu-time -- mpirun -n 8 ./program",
		"coppice replay run1/logs/3.log -- ./program",
		"coppice replay run1/logs/*.log --repeat 5 --compare run1/vectors -o replays -- ./program")
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "replay", "folder of the computation vectors, R.csv, and of replay.json")
	defineCompiler(f, &o.Compiler, "")
	atLeast(f, 1, &o.Repeat, "repeat", "", 1, "replay so many times; of each piece of computation the median processor time counts, and the least time without a processor")
	atLeast(f, 1, &o.PerNode, "ranks-per-node", "", 1, "replay each log so many times at once, as neighbours on a node")
	f.BoolVar(&o.Yield, "yield", false, "calls that wait give the processor to others: for replays of a run that had more processes than cores")
	f.StringArrayVar(&o.Original, "compare", nil, "vector of a normal run, or the folder of vectors of one, to compare with; more than one shows their noise")
	return s.does(c, func(operands []string, s streams) error { return replay(o, operands, f.ArgsLenAtDash(), s) })
}

// replay replays the logs that the first operands name with the program that the others are.
func replay(o record.ReplayOptions, operands []string, dash int, s streams) error {
	if dash < 1 || dash >= len(operands) {
		return usage("name the logs, then -- and the program, as in coppice replay run1/logs/3.log -- ./program")
	}
	o.Logs, o.Command, o.Cache = operands[:dash], operands[dash:], cacheFolder()
	list, err := record.RunReplay(context.Background(), o)
	switch {
	case errors.Is(err, record.ErrProgram), errors.Is(err, record.ErrCompiler):
		return usage("%w", err)
	case errors.Is(err, receivelog.ErrNotLog), errors.Is(err, receivelog.ErrCut), errors.Is(err, receivelog.ErrCorrupt), errors.Is(err, receivelog.ErrVersion), errors.Is(err, os.ErrNotExist),
		errors.Is(err, record.ErrVector):
		return fail(jobs.ExitInput, "%w", err)
	case err != nil:
		return recordError(err)
	}
	return concludeReplay(list, o.Output, s)
}

// concludeReplay writes the document and a line for each process. A difference is status 1, a log that ends early 4.
func concludeReplay(list []record.Replay, folder string, s streams) error {
	b, err := json.MarshalIndent(struct {
		Schema  string          `json:"schema"`
		Replays []record.Replay `json:"replays"`
	}{"coppice.replay/1", list}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "replay.json"), append(b, '\n'), 0o644); err != nil {
		return outputError(err)
	}
	code := jobs.ExitDone
	for i := range list {
		r := &list[i]
		fmt.Fprintf(s.out, "rank %d of %d: %s, %s, computation %.6f s of processor time, %.6f s passed\n",
			r.Rank, r.Size, outcome(r), report.Plural(int(r.Calls), "call"), float64(r.CPU)/1e9, float64(r.Wall)/1e9)
		for _, c := range r.Original {
			same := ""
			if c.Same < r.Segments || c.Same < c.Segments {
				same = fmt.Sprintf("; the calls differ from number %d on", c.Same+1)
			}
			fmt.Fprintf(s.out, "  %s: %.6f s, the replay %+.2f %%%s\n", c.Vector, float64(c.CPU)/1e9, c.Percent, same)
		}
		switch {
		case r.Whole():
		case r.End == "cut":
			code = max(code, jobs.ExitPartial)
		default:
			code = max(code, jobs.ExitFound)
		}
	}
	if code != jobs.ExitDone {
		return jobs.Fail(code, errSilent)
	}
	return nil
}

func outcome(r *record.Replay) string {
	if r.Whole() {
		return "replayed to the end"
	}
	return r.End + ": " + r.Message
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace/receivelog"
)

func runReplay(args []string, s streams) error {
	o := record.ReplayOptions{Out: s.err, Err: s.err}
	f := flags("replay", s,
		"coppice record -o run1 --log-ranks 3 --cpu-time -- mpirun -n 8 ./program",
		"coppice replay run1/logs/3.log -- ./program",
		"coppice replay run1/logs/*.log --repeat 5 --compare run1/vectors -o replays -- ./program")
	f.StringVarP(&o.Output, "output", "o", "replay", "folder of the computation vectors, R.csv, and of replay.json")
	f.StringVar(&o.Compiler, "cc", "", "compiler wrapper of the program's MPI library (default: found by the program's libraries)")
	f.IntVar(&o.Repeat, "repeat", 1, "replay so many times; of each piece of computation the median processor time counts, and the least time without a processor")
	f.IntVar(&o.PerNode, "ranks-per-node", 1, "replay each log so many times at once, as neighbours on a node")
	f.BoolVar(&o.Yield, "yield", false, "calls that wait give the processor to others: for replays of a run that had more processes than cores")
	f.StringArrayVar(&o.Original, "compare", nil, "vector of a normal run, or the folder of vectors of one, to compare with; more than one shows their noise")
	operands, err := parse(f, args, 1, 1<<20)
	if err != nil {
		return err
	}
	dash := f.ArgsLenAtDash()
	if dash < 1 || dash >= len(operands) {
		return usage("replay: name the logs, then -- and the program, as in coppice replay run1/logs/3.log -- ./program")
	}
	if o.Repeat < 1 || o.PerNode < 1 {
		return usage("replay: --repeat and --ranks-per-node are 1 or more")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	o.Logs, o.Command, o.Cache = operands[:dash], operands[dash:], filepath.Join(cache, "coppice")
	list, err := record.RunReplay(context.Background(), o)
	switch {
	case errors.Is(err, record.ErrProgram), errors.Is(err, record.ErrCompiler):
		return jobs.Fail(jobs.ExitUsage, fmt.Errorf("replay: %w", err))
	case errors.Is(err, receivelog.ErrNotLog), errors.Is(err, receivelog.ErrCut), errors.Is(err, receivelog.ErrCorrupt), errors.Is(err, receivelog.ErrVersion), errors.Is(err, os.ErrNotExist),
		errors.Is(err, record.ErrVector):
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("replay: %w", err))
	case err != nil:
		return recordError("replay", err)
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
		return outputError("replay", err)
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/slurm"
	"github.com/coppice-hpc/coppice/trace/recording"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func recordVerb(s streams) *cobra.Command {
	o := record.Options{Out: s.out, Err: s.err}
	var bytes, logBytes, keep size
	var finish, ranks string
	c := verb("record -o DIR -- LAUNCHER PROGRAM", "trace a program that uses MPI into an OTF2 archive", 0, 1<<20,
		"coppice record -o run1 -- mpirun -n 8 ./program",
		"coppice record -o run2 --cc mpicc.mpich -- mpiexec.hydra -n 8 ./script.sh",
		"coppice record --finish run1")
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "folder of the archive (required)")
	defineCompiler(f, &o.Compiler, "")
	f.Var(&bytes, "max-bytes", "most bytes of the archive, such as 500M: a process that used up its share continues unrecorded")
	f.BoolVar(&o.Keep, "keep", false, "keep what the processes wrote, next to the archive made of it")
	f.StringVar(&ranks, "log-ranks", "", "world ranks, such as 0-2,5, of which all that they receive is written to logs/R.log in the folder, for coppice replay; or RUN.xtf of coppice analyze --classes: its representatives")
	f.Var(&logBytes, "log-max-bytes", "most bytes of a receive log, such as 2G; then the process continues without it")
	f.BoolVar(&o.Log.Wtime, "log-wtime", false, "with the results of MPI_Wtime in the receive logs: for programs that decide by the clock")
	f.BoolVar(&o.CPUTime, "cpu-time", false, "with the processor time between MPI calls: vectors/R.csv of each process, to compare with coppice replay")
	f.StringSliceVar(&o.Counters, "counters", nil, "with these counters of the processor and the kernel, as instructions,cycles, at every call and region")
	f.BoolVar(&o.IO, "io", false, "with file I/O outside of MPI: calls of read, write, open, fread, fopen and the like on regular files and block devices")
	o.Sites = 1
	f.Var((*sites)(&o.Sites), "call-sites", "frames of the place in the source from which each MPI call comes, 1 to 32, or off")
	f.Func("sample", "with samples of where each thread computes between its MPI calls, every so much of its processor time, such as 1ms; from 100us, or a tick of the kernel, 1 to 10 ms, where that forbids perf_event", func(text string) (err error) {
		if o.Sample, err = time.ParseDuration(text); err == nil && (o.Sample < 100*time.Microsecond || o.Sample > time.Minute) {
			err = errors.New("it is from 100us to 1m")
		}
		return err
	})
	o.Threads = record.ThreadsNone
	f.Func("threads", "what threads do outside of MPI: none; openmp: parallel regions, barriers, locks and tasks where the runtime is LLVM's or like it; all: POSIX threads and their waits too", func(text string) error {
		if text != record.ThreadsNone && text != record.ThreadsOpenMP && text != record.ThreadsAll {
			return errors.New("it is none, openmp or all")
		}
		o.Threads = text
		return nil
	})
	f.StringVar(&o.Part.Ranks, "ranks", "", "record only these world ranks, such as 0-15,20")
	f.StringVar(&o.Part.From, "from", "", "record from then on: a time since MPI_Init, as 12s, NAME:N, when the region NAME begins for the N-th time, or 'MPI_Pcontrol(LEVEL):N'")
	f.StringVar(&o.Part.Until, "until", "", "record until then: as --from, but NAME:N is when the region ends for the N-th time")
	f.Var(&keep, "keep-last", "keep only the latest events of each process, this much, such as 200M; not with --max-bytes")
	f.StringVar(&o.Part.Functions, "functions", "", "of instrumented functions, those whose names match, such as 'solve*,halo'; with ! those that do not, as '!*_inner'")
	f.Func("dump-on-hang", "when a process is in one MPI call for this long, such as 60s, write the recording so far to hang-1 and so on in the folder; the program goes on", func(text string) (err error) {
		if o.Part.Hang, err = time.ParseDuration(text); err == nil && o.Part.Hang < time.Second {
			err = errors.New("it is 1s or more")
		}
		return err
	})
	f.StringVar(&finish, "finish", "", "make the archive of a recording in this folder that was left when coppice record was killed")
	f.SetInterspersed(false)
	return s.does(c, func(operands []string, s streams) error {
		o.Bytes, o.Log.Bytes, o.Part.Keep = int64(bytes), int64(logBytes), int64(keep)
		if keep > 0 && bytes > 0 {
			return usage("--keep-last is not for --max-bytes")
		}
		return recordRun(&o, finish, ranks, operands, s)
	})
}

// sites is the value of --call-sites: a number of frames, 0 for off.
type sites int

func (n *sites) Type() string { return "N" }

func (n *sites) String() string {
	if *n == 0 {
		return "off"
	}
	return strconv.Itoa(int(*n))
}

func (n *sites) Set(text string) error {
	if text == "off" {
		*n = 0
		return nil
	}
	depth, err := strconv.ParseUint(text, 10, 8)
	if err != nil || depth < 1 || depth > record.MaxSites {
		return fmt.Errorf("it is off or a number of frames from 1 to %d", record.MaxSites)
	}
	*n = sites(depth)
	return nil
}

// defineCompiler defines the flag for the compiler of the layer between a program and its MPI library.
func defineCompiler(f *pflag.FlagSet, to *string, of string) {
	f.StringVar(to, "cc", "", of+"compiler wrapper of the program's MPI library (default: found by the program's libraries)")
}

// recordRun records a command, or finishes a recording.
func recordRun(o *record.Options, finish, ranks string, operands []string, s streams) (err error) {
	if mpi.Launched() { // every rank would start the program and write into the same folder
		rank, n := mpi.Start()
		if rank > 0 {
			return jobs.Fail(jobs.ExitUsage, errSilent)
		}
		return usage("it starts the launcher itself: write coppice record -o DIR -- mpirun -n %d %s", max(n, 1), strings.Join(operands, " "))
	}
	if finish != "" {
		if len(operands) > 0 || o.Output != "" {
			return usage("--finish DIR takes no command and no -o: the archive goes next to the recording")
		}
		r, err := record.Finish(finish, o.Keep)
		return concludeRecord(r, err, s)
	}
	switch {
	case o.Output == "":
		return usage("-o DIR is missing: name the folder of the archive")
	case len(operands) == 0:
		return usage("no command: write it after --, as in coppice record -o run1 -- mpirun -n 8 ./program")
	}
	if o.Log.Ranks, err = logRanks(ranks); err != nil {
		return err
	}
	o.Command, o.Cache = operands, cacheFolder()
	r, err := record.Run(context.Background(), *o)
	return concludeRecord(r, err, s)
}

// cacheFolder is the folder for what is built for an MPI library, "" if the user does not have a cache folder. It is not shared
// by users: others could put a recorder of their own there.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "coppice")
}

// concludeRecord reports what was recorded. The exit status is that of the command, unless that is 0 and there is no archive.
func concludeRecord(r *record.Result, err error, s streams) error {
	if err != nil {
		return failedRecord(r, err, s)
	}
	cut := make(map[string][]int)
	for _, rank := range slices.Sorted(maps.Keys(r.Cut)) {
		cut[r.Cut[rank]] = append(cut[r.Cut[rank]], rank)
	}
	for _, why := range slices.Sorted(maps.Keys(cut)) {
		s.say("%s of %d without MPI_Finalize (rank %s): %s", numbers.Plural(len(cut[why]), "process"), r.Processes, results.RankList(cut[why]), why)
	}
	for _, d := range r.Found {
		s.say("%s: %d times; first: %s", d.Code.Text(), max(d.Count, 1), d.Detail)
	}
	next := ""
	if s.verb == "record" {
		next = ". Next: " + slurm.Line([]string{"coppice", "analyze", r.Archive, "-o", "run.xtf"})
	}
	of, recorded := "", r.Processes-len(cut[recording.Absent])-len(r.Unopened)-r.Unasked
	if recorded < r.Processes {
		of = fmt.Sprintf(" of %d", r.Processes)
	}
	s.say("%s: %s%s recorded%s", r.Archive, numbers.Plural(recorded, "process"), of, next)
	for _, name := range r.Logs {
		s.say("%s: receive log. Next: %s", name, slurm.Line([]string{"coppice", "info", name}))
	}
	if len(r.Unopened) > 0 {
		s.say("nothing is recorded of %s of %d (rank %s): what --from names did not come", numbers.Plural(len(r.Unopened), "process"), r.Processes, results.RankList(r.Unopened))
	}
	if r.Runtime != "" {
		s.say("%s is in the place of GNU's runtime of OpenMP, which does not tell what threads do", r.Runtime)
	}
	if r.GNU != "" {
		s.say("parallel regions of OpenMP are not recorded: %s", r.GNU)
	}
	if len(r.Alone) > 0 {
		s.say("%s of %d without a parallel region of OpenMP (rank %s): there is none, or its runtime has no OMPT", numbers.Plural(len(r.Alone), "process"), r.Processes, results.RankList(r.Alone))
	}
	for _, rank := range slices.Sorted(maps.Keys(r.Uncounted)) {
		s.say("%s without the counters; rank %d: %s", numbers.Plural(len(r.Uncounted), "process"), rank, r.Uncounted[rank])
		break
	}
	for _, rank := range r.Unlogged {
		s.say("rank %d has no receive log: no such process came to the end of MPI_Init", rank)
	}
	if r.Exit != 0 {
		s.say("the command ended with status %d", r.Exit)
		return jobs.Fail(r.Exit, errSilent)
	}
	return nil
}

// recordError gives an error of package record its exit code.
func recordError(err error) error {
	var output *record.OutputError
	if errors.As(err, &output) {
		return outputError(err)
	}
	return ofVerb{err}
}

func failedRecord(r *record.Result, err error, s streams) error {
	err = recordError(err)
	switch {
	case r != nil && r.Exit != 0:
		s.say("%s: %v\ncoppice: the command ended with status %d", s.verb, err, r.Exit)
		return jobs.Fail(r.Exit, errSilent)
	case errors.Is(err, record.ErrExists), errors.Is(err, record.ErrProgram), errors.Is(err, record.ErrCompiler), errors.Is(err, record.ErrRank),
		errors.Is(err, record.ErrPart), errors.Is(err, record.ErrCounter):
		return jobs.Fail(jobs.ExitUsage, err)
	case errors.Is(err, record.ErrNothing):
		return jobs.Fail(jobs.ExitInput, err)
	}
	return err
}

// mostLogs bounds the processes that write receive logs.
const mostLogs = 1 << 16

// logRanks returns the processes of --log-ranks: a list such as 0-2,5, or the representatives in the file of an earlier run.
func logRanks(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var list []int
	for _, word := range strings.Split(text, ",") {
		low, high, is := strings.Cut(strings.TrimSpace(word), "-")
		if !is {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 31)
		last, err2 := strconv.ParseUint(high, 10, 31)
		if err != nil || err2 != nil || first > last {
			return representatives(text)
		}
		if last-first >= uint64(mostLogs-len(list)) {
			return nil, usage("--log-ranks %q: more than %d processes. Name fewer", text, mostLogs)
		}
		for ; first <= last; first++ {
			list = append(list, int(first))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// representatives returns the processes that represent the classes of a run.
func representatives(path string) ([]int, error) {
	run, err := results.Open(path, xtf.Options{})
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage("--log-ranks %q: neither a list of ranks, as 0-2,5, nor a file of coppice analyze --classes", path)
	}
	if err != nil {
		return nil, ofVerb{fmt.Errorf("--log-ranks: %w", err)}
	}
	defer run.File.Close()
	k, err := report.NewClasses(run)
	if err != nil {
		return nil, ofVerb{fmt.Errorf("--log-ranks: %w", err)}
	}
	var list []int
	for i := range k.Groups {
		for j := range k.Groups[i].Classes {
			list = append(list, int(k.Groups[i].Classes[j].Representative))
		}
	}
	return list, nil
}

func replayVerb(s streams) *cobra.Command {
	o := record.ReplayOptions{Out: s.err, Err: s.err}
	c := verb("replay LOG... -- ./PROGRAM [ARGUMENT...]", "run one process of a recorded program alone, its MPI calls answered from its receive log", 1, 1<<20,
		"coppice record -o run1 --log-ranks 3 --cpu-time -- mpirun -n 8 ./program",
		"coppice replay run1/logs/3.log -- ./program",
		"coppice replay run1/logs/*.log --repeat 5 --compare run1/vectors -o replays -- ./program")
	f := c.Flags()
	f.StringVarP(&o.Output, "output", "o", "replay", "folder of the computation vectors, R.csv, and of replay.json")
	defineCompiler(f, &o.Compiler, "")
	atLeast(f, 1, &o.Repeat, "repeat", "", 1, "replay this often; of each piece of computation the median processor time counts, and the least time without a processor")
	atLeast(f, 1, &o.PerNode, "ranks-per-node", "", 1, "replay this many copies of each log at once, as neighbours on a node")
	f.BoolVar(&o.Yield, "yield", false, "calls that wait give the processor to others: for replays of a run that had more processes than cores")
	f.StringArrayVar(&o.Original, "compare", nil, "vector of a normal run, or the folder of vectors of one, to compare with; more than one shows their noise")
	return s.does(c, func(operands []string, s streams) error { return replay(o, operands, f.ArgsLenAtDash(), s) })
}

// replay replays the logs of the operands before the dash, with the program after it.
func replay(o record.ReplayOptions, operands []string, dash int, s streams) error {
	if dash < 1 || dash >= len(operands) {
		return usage("name the logs, then -- and the program, as in coppice replay run1/logs/3.log -- ./program")
	}
	o.Logs, o.Command, o.Cache = operands[:dash], operands[dash:], cacheFolder()
	list, err := record.RunReplay(context.Background(), o)
	switch {
	case errors.Is(err, record.ErrProgram), errors.Is(err, record.ErrCompiler):
		return usage("%w", err)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, record.ErrVector):
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
			r.Rank, r.Size, outcome(r), numbers.Plural(int(r.Calls), "call"), float64(r.CPU)/1e9, float64(r.Wall)/1e9)
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

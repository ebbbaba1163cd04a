package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// verb is one command. Its run gets the arguments after its name and returns an
// error that jobs.ExitCode understands.
type verb struct {
	name     string
	operands string
	short    string
	run      func(args []string, s streams) error // nil: it has parts alone
	parts    []verb
}

// verbs are the commands, in the order of the help text.
func verbs() []verb {
	return []verb{
		{"info", "TRACE|RUN.xtf|LOG|STATUS", "what is in a trace, a result, a receive log or a status file", runInfo, nil},
		{"analyze", "TRACE -o RUN.xtf", "analyse a trace into one file, on all ranks", runAnalyze, nil},
		{"report", "RUN.xtf [SECTION]...", "print results: summary, intervals, waits, pop, profile, paths, histogram, comm, classes, ccg, diagnostics", runReport, []verb{
			{"scaling", "RUN.xtf RUN.xtf...", "several runs of one program: efficiencies and growth with the processes", runScaling, nil},
		}},
		{"diff", "A.xtf B.xtf", "two runs side by side: what got worse, by how much, and what made it so", runDiff, nil},
		{"serve", "RUN.xtf [PREDICTED.xtf]", "show a run in the browser: timeline, messages, waits, intervals, statistics of any window", runServe, nil},
		{"query", "RUN.xtf PRIMITIVE", "rows by time, key or number; calls, intervals and timelines from the call graph", runQuery, nil},
		{"export", "RUN.xtf --to FORM -o PATH", "write a result for other tools: OTF2, Perfetto, Chrome, CSV, Parquet, Arrow, or a viewer in one file", runExport, nil},
		{"check", "TRACE|RUN.xtf", "verify a trace or a result to the last page", runCheck, nil},
		{"record", "-o DIR -- LAUNCHER PROGRAM", "trace a program that uses MPI into an OTF2 archive", runRecord, nil},
		{"replay", "LOG... -- ./PROGRAM [ARGUMENT...]", "run one process of a recorded program alone, its MPI calls answered from its receive log", runReplay, nil},
		{"plan", "VERB INPUT [-- ARGUMENT...]", "ranks, nodes, memory and time of a job on a cluster; its batch script; --submit", runPlan, nil},
		{"platform", "", "the machine of a prediction", nil, []verb{
			{"show", "P.toml", "check a platform file and print it in full", runPlatformShow, nil},
			{"convert", strings.Join(platformFormats, "|"), "make a platform file of parameters of another tool", runPlatformConvert, nil},
			{"measure", "-o P.toml", "measure this machine, on the ranks of mpirun or srun", runPlatformMeasure, nil},
		}},
		{"predict", "RUN.xtf --platform P.toml", "how long the run takes on another machine: simulated network, measured or scaled computation", runPredict, nil},
		{"capacity", "", "how long jobs take that work in stages on chunks, alone and with others, and what machines a target needs", nil, []verb{
			{"extract", "RUN.xtf...", "a model from recorded runs of a pipeline", runCapacityExtract, nil},
			{"solve", "MODEL.toml", "response, throughput, bottleneck, bounds, advice", runCapacitySolve, nil},
			{"sweep", "MODEL.toml", "the same for all combinations of changed numbers of the model", runCapacitySweep, nil},
			{"check", "MODEL.toml", "the answers for a model beside a simulation of it", runCapacityCheck, nil},
			{"plan", "MODEL.toml", "the cheapest setting that reaches a response time or a throughput", runCapacityPlan, nil},
		}},
		{"demo", "", "write the trace of a generated program", runDemo, nil},
		{"completion", strings.Join(shells, "|"), "print what a shell needs to complete verbs and flags", runCompletion, nil},
		{"manual", "DIR", "write the manual pages", runManual, nil},
		{"version", "", "print versions", runVersion, nil},
	}
}

// find returns the verb of a list with this name, nil where there is none.
func find(list []verb, name string) *verb {
	i := slices.IndexFunc(list, func(v verb) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// verbOf returns the verb or the part of one that is called this, such as "capacity solve".
func verbOf(name string) *verb {
	first, part, _ := strings.Cut(name, " ")
	v := find(verbs(), first)
	if part != "" {
		v = find(v.parts, part)
	}
	return v
}

// call runs the part of the verb that the first argument names, else the verb.
func (v *verb) call(args []string, s streams) error {
	if len(args) > 0 {
		if part := find(v.parts, args[0]); part != nil {
			return part.run(args[1:], s)
		}
	}
	if v.run != nil {
		return v.run(args, s)
	}
	var names, examples []string
	for _, p := range v.parts {
		names = append(names, p.name)
		examples = append(examples, describePart(v, &p).examples[0])
	}
	if _, err := parse(flags(v.name, s, examples...), args, 0, 1<<20); err != nil {
		return err
	}
	return usage("%s: say what to do: %s. Run coppice %s --help.", v.name, alternatives(names), v.name)
}

// alternatives joins names: "a, b or c".
func alternatives(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// flags returns the flag set of a verb, whose help begins with the examples.
func flags(name string, s streams, examples ...string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(s.err)
	f.SortFlags = false
	f.Usage = func() {
		if s.describe != nil {
			s.describe(f, examples)
			return
		}
		printUsage(s.out, f, examples)
	}
	return f
}

// parse parses the arguments of a verb that takes between least and most operands.
func parse(f *pflag.FlagSet, args []string, least, most int) ([]string, error) {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, usage("%s: %w. Run coppice %s --help.", f.Name(), err, f.Name())
	}
	if n := f.NArg(); n < least || n > most {
		return nil, usage("%s: %d operands given. Write %s, or --help for more.", f.Name(), n, synopsis(verbOf(f.Name()), f))
	}
	return f.Args(), nil
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/export"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/spf13/cobra"
)

// exportFlags are the flags of export.
type exportFlags struct {
	to, output, format string
	time, ranks, table string
	maxSize            size
	force, strict      bool
	levels             int
	job                jobFlags
}

// exportForms are the forms to choose from, and what writes a run in one.
var exportForms = []struct {
	name string
	run  func(path string, o *exportFlags, s streams) error
}{
	{"otf2", exportArchive},
	{"perfetto", exportTimeline},
	{"chrome", exportTimeline},
	{"csv", exportEvents},
	{"parquet", exportEvents},
	{"arrow", exportEvents},
	{"viewer", exportViewer},
}

func exportVerb(s streams) *cobra.Command {
	var o exportFlags
	c := verb("export RUN.xtf --to FORM -o PATH", "write a result for other tools: OTF2, Perfetto, Chrome, CSV, Parquet, Arrow, or a viewer in one file", 1, 1,
		"coppice export run.xtf --to perfetto -o run.pftrace --time 40%..60% --ranks 0-15",
		"coppice export run.xtf --to chrome -o run.json --time interval:solve[3]",
		"coppice export run.xtf --to parquet -o tables",
		"coppice export run.xtf --to csv --table messages -o messages.csv --ranks 0-3",
		"coppice export run.xtf --to arrow --table calls --time 1s..2s -o - | python3 notebook.py",
		"coppice export run.xtf --to viewer -o run.html --max-size 20M",
		"coppice export run.xtf --to otf2 -o again",
		"coppice export run.xtf --to otf2 -o slice --time 12.5s..13s --ranks 0-3",
		"mpirun -n 64 coppice export run.xtf --to otf2 -o again/traces.otf2 --force")
	var names []string
	for _, x := range exportForms {
		names = append(names, x.name)
	}
	f := c.Flags()
	oneOf(f, &o.to, "to", "", "form to write: "+alternatives(names)+" (required)", names...)
	f.StringVarP(&o.output, "output", "o", "", "file to write, - for standard output; of otf2 the folder of the archive, or its anchor file NAME.otf2; of tables without --table a new folder (required)")
	f.BoolVarP(&o.force, "force", "f", false, "replace what is there; of otf2 also take over its lock")
	f.StringVar(&o.time, "time", "", "part of the run: 12.5s..13s, 40%..60%, #A..#B, interval:NAME or, but not of otf2, interval:NAME[K], its K-th execution")
	f.StringVar(&o.ranks, "ranks", "", "processes whose events are written: 0-3,8,16-31:4, comm:NAME or node:N (default all)")
	oneOf(f, &o.table, "table", "", "of csv, parquet and arrow: the one table to write: "+strings.Join(export.Tables(), ", "), export.Tables()...)
	f.Var(&o.maxSize, "max-size", "refuse to write more than this (default 256MB of chrome, 1GB of perfetto, which are what browsers take); of viewer: leave out finer detail (default 20M)")
	atLeast(f, 1, &o.levels, "levels", "", viewerLevels, "of viewer: zoom levels to hold, from the coarsest")
	f.BoolVar(&o.strict, "strict", false, "of otf2: a damaged file, or one of a damaged trace, is an error")
	oneOf(f, &o.format, "format", "text", "of the result: text on standard error, or json on standard output", "text", "json")
	o.job.define(f, "of otf2: ")
	return s.does(c, func(operands []string, s streams) error {
		switch {
		case o.to == "":
			return usage("--to is missing: choose %s", alternatives(names))
		case o.output == "":
			return usage("-o is missing: name what to write")
		case o.to == "otf2":
		case o.output == "-" && o.format == "json":
			return usage("-o - and --format json both want standard output: write to a file")
		case o.strict:
			return usage("--strict is for --to otf2")
		}
		return exportForms[slices.Index(names, o.to)].run(operands[0], &o, s)
	})
}

// exportArchive writes an OTF2 archive, on all ranks.
func exportArchive(path string, o *exportFlags, s streams) error {
	job, err := o.archive(path, s)
	if err != nil {
		return err
	}
	return launch(o.job.ranks, s, func(c mpi.Comm) error { return exportRank(c, job, o, s) })
}

// archive checks the flags of an archive and makes the options of the job.
func (o *exportFlags) archive(input string, s streams) (jobs.ExportOptions, error) {
	job := jobs.ExportOptions{
		Run: input, Output: o.output, Force: o.force, Strict: o.strict, Version: version, PID: os.Getpid(), Job: os.Getenv("SLURM_JOB_ID"),
	}
	switch {
	case o.output == "-":
		return job, usage("-o -: an archive is a folder: name it")
	case o.table != "" || o.maxSize > 0:
		return job, usage("--table and --max-size are not for --to otf2: choose a part with --time or --ranks")
	}
	if o.ranks != "" {
		job.Select = func(d *trace.Definitions) (func(trace.P) bool, error) {
			set, err := report.ParseRanks(o.ranks, d)
			if err != nil {
				return nil, usage("--ranks %w", err)
			}
			return set.Locations(d), nil
		}
	}
	if o.time != "" {
		job.Window = func() (jobs.ExportWindow, error) { return o.archiveWindow(input, s) }
	}
	job.Host, _ = os.Hostname()
	return job, nil
}

// archiveWindow reads --time of an archive.
func (o *exportFlags) archiveWindow(path string, s streams) (w jobs.ExportWindow, err error) {
	run, err := s.runs.open(path)
	if err != nil {
		return w, err
	}
	span, err := spanOf(run, o.time)
	switch {
	case err != nil:
		return w, err
	case span.Of != nil:
		return w, usage("--time %s: an execution has its own time on each process, and the messages of an archive need one for all: give A..B, or interval:NAME", o.time)
	}
	return jobs.ExportWindow{Begin: span.Begin, End: span.End}, nil
}

// exportRank runs the job on one rank and reports its end on rank 0.
func exportRank(c mpi.Comm, job jobs.ExportOptions, o *exportFlags, s streams) error {
	d := o.job.display(c, &job.Show, s)
	began := time.Now()
	res, err := jobs.Export(c, job)
	d.end(err)
	if err != nil {
		return err
	}
	if c.Rank() == 0 && !o.job.quiet {
		printExported(s, res, c.Size(), time.Since(began))
	}
	if c.Rank() == 0 && o.format == "json" {
		if err := exportJSON(s, job.Run, res); err != nil {
			return err
		}
	}
	if res.Lost == 0 {
		return nil
	}
	if c.Rank() == 0 {
		fmt.Fprintf(s.err, "coppice: %s: %s without events, because their part of %s is damaged: %s. Copy the file again or analyze the trace again; coppice check %s tells what is still sound.\n",
			res.Anchor, report.Plural(res.Lost, "location"), job.Run, res.Unreadable[0].Error, job.Run)
	}
	return jobs.Fail(jobs.ExitPartial, errSilent)
}

// printExported prints the closing lines of an export.
func printExported(s streams, r *jobs.ExportResult, ranks int, took time.Duration) {
	for _, t := range r.Differs {
		where := "the definitions"
		if t.Locations > 0 {
			where = report.Plural(int(t.Locations), "location")
		}
		what := "left out"
		if t.Code == trace.DiagTimeBackwards {
			what = "raised to them"
		}
		fmt.Fprintf(s.err, "coppice: not as in the analysed trace: %s: %d in %s, %s by the analysis\n", t.Code.Text(), t.Count, where, what)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(s.err, "coppice: %s not chosen by --ranks: defined, without events\n", report.Plural(r.LeftOut, "location"))
	}
	if w := r.Window; w != nil {
		fmt.Fprintf(s.err, "coppice: ticks %d to %d: %d calls cut at the borders; left out for their other part is outside: %d ends of messages, %d of collectives, %d records of requests\n",
			w.Begin, w.End, r.Cut.Calls, r.Cut.Messages, r.Cut.Collectives, r.Cut.Requests)
	}
	times := "times exact"
	if !r.Deviation.Lossless() {
		times = "every gap between events within " + r.Deviation.String() + " of the true one"
	}
	fmt.Fprintf(s.err, "coppice: %s: %d events of %d locations (%s) in %.2f s on %d ranks, %s, %s\n",
		r.Anchor, r.Events, r.Locations, report.Size(r.Bytes), took.Seconds(), ranks, perSecond(r.Events, took), times)
}

// exported is the result of an export in JSON.
type exported struct {
	To         string             `json:"to"`
	Output     string             `json:"output"` // anchor file
	Exact      bool               `json:"exact"`
	Deviation  string             `json:"deviation"` // bound of every gap, 0: lossless
	Events     uint64             `json:"events"`
	Bytes      uint64             `json:"bytes"` // of events
	LeftOut    int                `json:"locations_left_out"`
	Differs    []report.CodeTotal `json:"differs"`
	Unreadable []report.Lost      `json:"unreadable"`
	EventChunk int                `json:"event_chunk"`
	Window     *cutWindow         `json:"window,omitempty"`
}

// cutWindow is the part of the time that an archive has, in ticks since the begin of the run, and what that left out.
type cutWindow struct {
	Begin uint64         `json:"begin"`
	End   uint64         `json:"end"`
	Cut   jobs.ExportCut `json:"left_out"`
}

func exportJSON(s streams, path string, r *jobs.ExportResult) error {
	x := exported{
		To: "otf2", Output: r.Anchor, Exact: r.Exact(), Deviation: r.Deviation.String(), Events: r.Events, Bytes: r.Bytes, LeftOut: r.LeftOut,
		Differs: []report.CodeTotal{}, Unreadable: []report.Lost{}, EventChunk: r.EventChunk,
	}
	if w := r.Window; w != nil {
		x.Window = &cutWindow{w.Begin, w.End, r.Cut}
	}
	for _, t := range r.Differs {
		x.Differs = append(x.Differs, report.CodeTotal{Code: t.Code, Count: t.Count, Worst: t.Worst, Locations: t.Locations})
	}
	for _, l := range r.Unreadable {
		x.Unreadable = append(x.Unreadable, report.Lost{Location: l.Location, Process: l.Process, Thread: l.Thread, Section: "export", Error: l.Error})
	}
	run, err := s.runs.open(path)
	if err != nil {
		return err
	}
	return about(s.out, run, "export", report.Value(x))
}

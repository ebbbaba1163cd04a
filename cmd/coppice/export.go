package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/archive"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/export"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/view"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type exportFlags struct {
	to, output, format string
	time, ranks, table string
	maxSize            size
	force, strict      bool
	levels             int
	job                jobFlags
}

// exportForms are the forms of --to, each with the function that writes a run in it.
var exportForms = []struct {
	name string
	run  func(path string, o *exportFlags, s streams) error
}{
	{"otf2", exportArchive},
	{"perfetto", exportFiles((*exporting).timeline)},
	{"chrome", exportFiles((*exporting).timeline)},
	{"csv", exportFiles((*exporting).events)},
	{"parquet", exportFiles((*exporting).events)},
	{"arrow", exportFiles((*exporting).events)},
	{"cubex", exportFiles((*exporting).profile)},
	{"viewer", exportFiles((*exporting).viewer)},
}

func exportVerb(s streams) *cobra.Command {
	var o exportFlags
	c := verb("export RUN.xtf --to FORM -o PATH", "write a result for other tools: OTF2, Perfetto, Chrome, CSV, Parquet, Arrow, Cube, or a viewer in one file", 1, 1,
		"coppice export run.xtf --to perfetto -o run.pftrace --time 40%..60% --ranks 0-15",
		"coppice export run.xtf --to chrome -o run.json --time interval:solve[3]",
		"coppice export run.xtf --to parquet -o tables",
		"coppice export run.xtf --to csv --table messages -o messages.csv --ranks 0-3",
		"coppice export run.xtf --to arrow --table calls --time 1s..2s -o - | python3 notebook.py",
		"coppice export run.xtf --to cubex -o run.cubex",
		"coppice export run.xtf --to viewer -o run.html --max-size 20M",
		"coppice export run.xtf --to otf2 -o again",
		"coppice export run.xtf --to otf2 -o slice --time 12.5s..13s --ranks 0-3",
		"mpirun -n 64 coppice export run.xtf --to otf2 -o again/traces.otf2 --force")
	o.define(c.Flags())
	return s.does(c, func(operands []string, s streams) error {
		switch {
		case o.to == "":
			return usage("--to is missing: choose %s", alternatives(exportNames()))
		case o.output == "":
			return usage("-o is missing: name what to write")
		case o.to == "viewer" && (o.time != "" || o.ranks != "" || o.table != ""):
			return usage("--time, --ranks and --table are not for --to viewer: it holds the whole run, as deep as --levels and --max-size say")
		case o.to == "cubex" && o.time != "":
			return usage("--time is not for --to cubex: a profile is of the whole run")
		case (o.to == "chrome" || o.to == "perfetto" || o.to == "cubex") && o.table != "":
			return usage("--table is for --to csv, parquet and arrow")
		case o.to == "otf2":
		case o.output == "-" && o.format == "json":
			return usage("-o - and --format json both want standard output: write to a file")
		case o.strict:
			return usage("--strict is for --to otf2")
		}
		return exportForms[slices.Index(exportNames(), o.to)].run(operands[0], &o, s)
	})
}

func exportNames() []string {
	var names []string
	for _, x := range exportForms {
		names = append(names, x.name)
	}
	return names
}

func (o *exportFlags) define(f *pflag.FlagSet) {
	names := exportNames()
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
}

// exportArchive writes an OTF2 archive, on all ranks.
func exportArchive(path string, o *exportFlags, s streams) error {
	job, err := o.archive(path, s)
	if err != nil {
		return err
	}
	return launch(o.job.ranks, s, func(c mpi.Comm) error { return exportRank(c, job, o, s) })
}

// archive checks the flags of an archive and returns the options of the job.
func (o *exportFlags) archive(input string, s streams) (archive.Options, error) {
	job := archive.Options{
		Run: input, Output: o.output, Force: o.force, Strict: o.strict, Version: version, PID: os.Getpid(), Job: os.Getenv("SLURM_JOB_ID"),
	}
	switch {
	case o.output == "-":
		return job, usage("-o -: an archive is a folder: name it")
	case o.table != "" || o.maxSize > 0:
		return job, usage("--table and --max-size are not for --to otf2: choose a part with --time or --ranks")
	}
	if o.ranks != "" {
		job.Select = o.selected
	}
	if o.time != "" {
		job.Window = func() (archive.Window, error) { return o.archiveWindow(input, s) }
	}
	job.Host, _ = os.Hostname()
	return job, nil
}

// selected reads --ranks and returns a function that reports whether the events of a location are written.
func (o *exportFlags) selected(d *trace.Definitions) (func(trace.P) bool, error) {
	set, err := results.ChosenRanks(o.ranks, d)
	return set.Locations(d), refused(err)
}

func (o *exportFlags) archiveWindow(path string, s streams) (w archive.Window, err error) {
	run, err := s.runs.open(path)
	if err != nil {
		return w, err
	}
	span, err := results.ParseSpan(run, o.time)
	switch {
	case err != nil:
		return w, readError(path, err)
	case span.Of != nil:
		return w, usage("--time %s: an execution has its own time on each process, and the messages of an archive need one for all: give A..B, or interval:NAME", o.time)
	}
	return archive.Window{Begin: span.Begin, End: span.End}, nil
}

// exportRank runs the job on one rank and reports the result on rank 0.
func exportRank(c mpi.Comm, job archive.Options, o *exportFlags, s streams) error {
	d := o.job.display(c, &job.Show, s)
	began := time.Now()
	res, err := archive.Write(c, job)
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
		s.say("%s: %s not whole, because their part of %s is damaged: %s. Copy the file again or analyze the trace again; coppice check %s lists what is still sound.",
			res.Anchor, numbers.Plural(res.Lost, "location"), job.Run, res.Unreadable[0].Error, job.Run)
	}
	return jobs.Fail(jobs.ExitPartial, errSilent)
}

// printExported prints the closing lines of an export.
func printExported(s streams, r *archive.Result, ranks int, took time.Duration) {
	for _, t := range r.Differs {
		where := numbers.Locations(uint64(t.Locations))
		what := "left out"
		if t.Code == trace.DiagTimeBackwards {
			what = "raised to them"
		}
		s.say("not as in the analysed trace: %s: %d in %s, %s by the analysis", t.Code.Text(), t.Count, where, what)
	}
	if r.LeftOut > 0 {
		s.say("%s not chosen by --ranks: defined, without events", numbers.Plural(r.LeftOut, "location"))
	}
	if w := r.Window; w != nil {
		s.say("ticks %d to %d: %d calls cut at the borders; left out for their other part is outside: %d ends of messages, %d of collectives, %d records of requests",
			w.Begin, w.End, r.Cut.Calls, r.Cut.Messages, r.Cut.Collectives, r.Cut.Requests)
	}
	times := "times exact"
	if !r.Deviation.Lossless() {
		times = "every gap between events within " + r.Deviation.String() + " of the true one"
	}
	s.say("%s: %d events of %d locations (%s) in %.2f s on %d ranks, %s, %s",
		r.Anchor, r.Events, r.Locations, numbers.Bytes(r.Bytes), took.Seconds(), ranks, perSecond(r.Events, took), times)
}

// exported is the result of an export to an archive in JSON.
type exported struct {
	To         string              `json:"to"`
	Output     string              `json:"output"`
	Exact      bool                `json:"exact"`
	Deviation  string              `json:"deviation"`
	Events     uint64              `json:"events"`
	Bytes      uint64              `json:"bytes"`
	LeftOut    int                 `json:"locations_left_out"`
	Differs    []results.CodeTotal `json:"differs"`
	Unreadable []table.Lost        `json:"unreadable"`
	EventChunk int                 `json:"event_chunk"`
	Window     *exportedWindow     `json:"window,omitempty"`
}

// exportedWindow is in ticks since the begin of the run.
type exportedWindow struct {
	Begin uint64      `json:"begin"`
	End   uint64      `json:"end"`
	Cut   archive.Cut `json:"left_out"`
}

// exportJSON prints the result in JSON.
func exportJSON(s streams, path string, r *archive.Result) error {
	differs, unreadable := []results.CodeTotal{}, []table.Lost{}
	for _, t := range r.Differs {
		differs = append(differs, results.CodeTotal{Code: t.Code, Count: t.Count, Worst: t.Worst, Locations: t.Locations})
	}
	for _, l := range r.Unreadable {
		unreadable = append(unreadable, table.Lost{Location: l.Location, Process: l.Process, Thread: l.Thread, Section: "export", Error: l.Error})
	}
	x := exported{"otf2", r.Anchor, r.Exact(), r.Deviation.String(), r.Events, r.Bytes, r.LeftOut, differs, unreadable, r.EventChunk, nil}
	if w := r.Window; w != nil {
		x.Window = &exportedWindow{w.Begin, w.End, r.Cut}
	}
	run, err := s.runs.open(path)
	if err != nil {
		return err
	}
	return about(s.out, run, "export", x)
}

// exporting is the export of a run to files.
type exporting struct {
	*exportFlags
	s     streams
	run   *results.Run
	files files
}

// exportFiles returns a function that exports a run with write, which returns a result for JSON and lines for people.
func exportFiles(write func(x *exporting) (result any, lines []string, err error)) func(path string, o *exportFlags, s streams) error {
	return func(path string, o *exportFlags, s streams) error {
		run, err := s.runs.open(path)
		if err != nil {
			return err
		}
		x := &exporting{exportFlags: o, s: s, run: run, files: files{force: o.force}}
		defer x.files.discard()
		result, lines, err := write(x)
		if err == nil {
			err = x.files.publish()
		}
		switch part := "--time or --ranks"; {
		case errors.Is(err, export.ErrTooLarge):
			if o.to == "cubex" {
				part = "--ranks"
			}
			return usage("%s --to %s: more than the %s of --max-size. Choose a part with %s, or allow more", path, o.to, numbers.Bytes(uint64(o.maxSize)), part)
		case errors.Is(err, export.ErrRun):
			return usage("%s: %w", path, err)
		case err != nil:
			return readError(path, err)
		}
		for _, l := range lines {
			x.tell("%s", l)
		}
		if b, err := run.Brief(); err == nil && b.Partial {
			x.tell("%s is partial: the input of its analysis was damaged or incomplete; coppice report %s diagnostics lists what is missing", path, path)
		}
		if o.format == "json" {
			return about(s.out, run, "export", result)
		}
		return nil
	}
}

// tell prints a line about the export, unless --quiet is set.
func (x *exporting) tell(format string, args ...any) {
	if !x.job.quiet {
		x.s.say(format, args...)
	}
}

// source returns the chosen part of the run. It refuses a file without rows of events.
func (x *exporting) source() (*export.Source, error) {
	run := x.run
	if !run.Rows {
		return nil, fmt.Errorf("%s: events: %w: it was analyzed with --events none, so it has the call graph and sums alone; --to otf2 writes the call graph's events", run.Path, results.ErrNoResult)
	}
	labels, err := results.NodeLabels(run)
	if err != nil {
		return nil, err
	}
	src := &export.Source{Run: run, Nodes: labels, Window: export.Everything}
	span, err := results.ParseSpan(run, x.time)
	if err != nil {
		return nil, err
	}
	if span != nil {
		src.Window = *span
	}
	if x.ranks != "" {
		src.Selected, err = x.selected(run.Defs)
	}
	return src, err
}

// written is a table in the result of an export in JSON.
type written struct {
	Table string `json:"table"`
	Path  string `json:"path"`
	Rows  uint64 `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// events writes one table of events into a file, or all of them into a folder.
func (x *exporting) events() (any, []string, error) {
	names := []string{x.table}
	switch {
	case x.table == "" && x.output == "-":
		names[0] = export.Tables()[0]
	case x.table == "":
		names = export.Tables()
	}
	src, err := x.source()
	if err != nil {
		return nil, nil, err
	}
	if len(names) > 1 {
		if _, err := os.Lstat(x.output); err != nil {
			x.files.folder = x.output
		}
		if err := os.MkdirAll(x.output, 0o777); err != nil {
			return nil, nil, outputError(err)
		}
	}
	var result []written
	var lines []string
	left := cmp.Or(int64(x.maxSize), math.MaxInt64) // bytes that are left
	for _, name := range names {
		t := written{Table: name, Path: x.output}
		if len(names) > 1 {
			t.Path = filepath.Join(x.output, name+"."+x.to)
		}
		err := x.files.write(t.Path, x.s, func(w io.Writer) (err error) {
			count := &export.Counted{Out: w, Limit: left}
			b := bufio.NewWriterSize(count, 1<<18)
			if t.Rows, err = src.Events(name, func(schema *export.Schema) (export.TableWriter, error) { return export.NewTable(b, x.to, schema) }); err == nil {
				err = b.Flush()
			}
			t.Bytes, left = count.N, left-count.N
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		result = append(result, t)
		lines = append(lines, fmt.Sprintf("%s: %d rows of %s, %s", t.Path, t.Rows, t.Table, numbers.Bytes(uint64(t.Bytes))))
	}
	return struct {
		To     string    `json:"to"`
		Output string    `json:"output"`
		Tables []written `json:"tables"`
	}{x.to, x.output, result}, lines, nil
}

// browserLimit is the largest file of a form that browsers can load, and why.
type browserLimit struct {
	bytes    int64
	unit     string // what the bytes belong to
	why      string
	fallback string // what a user can do instead
}

var browserLimits = map[string]browserLimit{
	"chrome": {
		256e6, "JSON", "chrome://tracing reads no larger file, since it holds it as one string, and Perfetto's page has about 2 GB of memory for all that it makes of one",
		"take --to perfetto, which is several times smaller, ",
	},
	"perfetto": {
		1e9, "protobuf", "Perfetto's page has about 2 GB of memory, and needs 2 to 4 times the size of a file; its trace_processor --httpd, run next to the browser, takes more", "",
	},
}

// drawn is the result of a timeline in JSON.
type drawn struct {
	To       string           `json:"to"`
	Output   string           `json:"output"`
	Estimate *export.Estimate `json:"estimate"`
	*export.Drawn
}

// timeline writes a timeline. It checks first that the timeline is not larger than allowed.
func (x *exporting) timeline() (any, []string, error) {
	src, err := x.source()
	if err != nil {
		return nil, nil, err
	}
	limit := browserLimits[x.to]
	if x.maxSize > 0 {
		limit.bytes, limit.why = int64(x.maxSize), "--max-size says so"
	}
	result := drawn{To: x.to, Output: x.output}
	if result.Estimate, err = src.Estimate(x.to); err != nil {
		return nil, nil, err
	}
	size, slices := numbers.Bytes(uint64(result.Estimate.Bytes)), millions(result.Estimate.Slices)
	x.tell("%s: ≈ %s, %s slices", x.output, size, slices)
	size = "about " + size
	if result.Estimate.Bytes <= limit.bytes {
		err = x.files.write(x.output, x.s, func(w io.Writer) (err error) {
			result.Drawn, err = src.Timeline(w, x.to, limit.bytes)
			return err
		})
		size = "more than " + numbers.Bytes(uint64(limit.bytes))
	}
	switch {
	case result.Estimate.Bytes > limit.bytes || errors.Is(err, export.ErrTooLarge):
		return nil, nil, usage("%s --to %s: %s of %s with %s slices, allowed are %s: %s. Choose a part with --time or --ranks, %sor allow more with --max-size",
			x.run.Path, x.to, size, limit.unit, slices, numbers.Bytes(uint64(limit.bytes)), limit.why, limit.fallback)
	case err != nil:
		return nil, nil, err
	}
	return result, []string{fmt.Sprintf("%s: %s, %d slices, %d messages as flows, %d with one end outside, %d values of metrics",
		x.output, numbers.Bytes(uint64(result.Bytes)), result.Slices, result.Flows, result.OneEnded, result.Counters)}, nil
}

// profile writes sums by call path and location, from the call graph.
func (x *exporting) profile() (any, []string, error) {
	src := &export.Source{Run: x.run}
	var err error
	if x.ranks != "" {
		if src.Selected, err = x.selected(x.run.Defs); err != nil {
			return nil, nil, err
		}
	}
	var held *export.Profiled
	err = x.files.write(x.output, x.s, func(w io.Writer) (err error) {
		held, err = src.Cube(w, cmp.Or(int64(x.maxSize), math.MaxInt64))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	result := struct {
		To     string `json:"to"`
		Output string `json:"output"`
		*export.Profiled
	}{x.to, x.output, held}
	return result, []string{fmt.Sprintf("%s: %s, %d metrics of %d call paths and %d locations", x.output, numbers.Bytes(uint64(held.Bytes)), held.Metrics, held.Paths, held.Locations)}, nil
}

// millions writes a count with a unit.
func millions(n uint64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f k", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f M", float64(n)/1e6)
}

// Defaults of a viewer file.
const (
	viewerLevels = 8
	viewerSize   = 20 << 20
)

// viewer writes the viewer as one file that does not need a server.
func (x *exporting) viewer() (any, []string, error) {
	server, err := view.New([]*results.Run{x.run}, view.Options{Tool: version})
	if err != nil {
		return nil, nil, err
	}
	var held *view.Static
	err = x.files.write(x.output, x.s, func(w io.Writer) (err error) {
		held, err = server.WriteStatic(context.Background(), w, view.StaticOptions{Levels: x.levels, MaxBytes: cmp.Or(int64(x.maxSize), viewerSize)})
		return err
	})
	if errors.Is(err, view.ErrStaticSize) {
		return nil, nil, usage("%w with --max-size", err)
	}
	if err != nil {
		return nil, nil, err
	}
	more := ""
	if !held.Full {
		more = "; --max-size left out deeper ones"
	}
	result := struct {
		To     string `json:"to"`
		Output string `json:"output"`
		*view.Static
	}{x.to, x.output, held}
	return result, []string{fmt.Sprintf("%s: %s, %d tiles, %d zoom levels complete%s", x.output, numbers.Bytes(uint64(held.Bytes)), held.Tiles, held.Levels, more)}, nil
}

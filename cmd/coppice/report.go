package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/spf13/pflag"
)

// choice is what the flags of report choose.
type choice struct {
	sections                  []report.Section
	page                      bool // all sections that the file has results for
	ranks, source, region, of string
	time, productive          string
	processors, lang          string
	details, perExecution     bool
	init                      string
	ioProductive              bool
	ordered                   []string
	failIf                    []string
	conditions                []*report.Condition
}

func runReport(args []string, s streams) error {
	o := output{tables: true, packed: true, pages: true}
	var x choice
	var strict bool
	f := flags("report", s,
		"coppice report run.xtf",
		"coppice report run.xtf intervals --details",
		"coppice report run.xtf waits --time interval:solve",
		"coppice report run.xtf intervals -o intervals.csv",
		"coppice report run.xtf -o report.html",
		"coppice report run.xtf --fail-if 'parallel_efficiency<0.8' --fail-if 'interval:solve.efficiency<0.7'",
		"coppice report run.xtf profile --ranks 0-3 --limit 50",
		"coppice report run.xtf summary profile comm -o run.json",
		"coppice report run.xtf paths histogram --region MPI_Recv",
		"coppice report scaling run-2.xtf run-4.xtf run-8.xtf --at 1024")
	o.add(f)
	x.define(f)
	f.IntVar(&o.limit, "limit", 0, "rows of long text tables (default 20)")
	f.BoolVar(&strict, "strict", false, "partial results are an error")
	operands, err := parse(f, args, 1, 1+len(report.Sections()))
	if err != nil {
		return err
	}
	if x.sections, err = parseSections(operands[1:]); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := x.check(operands[0], &o); err != nil {
		return err
	}
	run, err := s.runs.open(operands[0])
	if err != nil {
		return err
	}
	opts, err := x.options(run)
	if err != nil {
		return err
	}
	if x.page {
		if opts.Sections, err = run.PageSections(); err != nil {
			return readError(operands[0], err)
		}
	}
	d, err := run.Document(opts)
	if err != nil {
		return readError(operands[0], err)
	}
	if err := printDocument(operands[0], d, &o, s); err != nil {
		return err
	}
	if err := strictResult(operands[0], d, strict); err != nil {
		return err
	}
	return judge(run, x.conditions, opts.Intervals.Rules, s)
}

// printDocument writes a report in the chosen format.
func printDocument(path string, d *report.Document, o *output, s streams) error {
	return o.write(s, func(w io.Writer) error {
		switch o.format {
		case "json":
			return d.WriteJSON(w)
		case "parquet":
			return writeParquet(w, d)
		}
		err := report.Write(w, d, o.format, o.style(s))
		if errors.Is(err, report.ErrCSV) || err == nil {
			return err
		}
		return readError(path, err) // pictures of a page read more of the file
	})
}

// define defines the flags that choose the content.
func (x *choice) define(f *pflag.FlagSet) {
	f.StringVar(&x.ranks, "ranks", "", "processes of intervals, waits, pop, profile, paths and histogram: 0-3,8,16-31:4, comm:NAME or node:N")
	f.StringVar(&x.time, "time", "", "part of the run for intervals, waits and pop: 12.5s..13s, 40%..60%, #A..#B, interval:NAME or interval:NAME[K], its K-th execution")
	f.BoolVar(&x.details, "details", false, "intervals: communication, potential losses, wait states, POP, and every component with its spread")
	f.BoolVar(&x.perExecution, "per-execution", false, "intervals: a line for every execution")
	f.StringSliceVar(&x.ordered, "ordered", nil, "intervals: list every process's value of these components, least first: cpu, mpi, late_sender, ...")
	x.defineRules(f)
	x.defineMeasured(f)
	f.StringVar(&x.lang, "lang", "en", "labels of intervals: en or ru")
	f.StringVar(&x.region, "region", "", "of the histogram: name or number")
	f.StringVar(&x.of, "of", "calls", "the histogram counts calls, or gaps: stretches between two events in the region itself")
	f.StringVar(&x.source, "source", "auto", "of profile and comm: rows, graph, or auto, which takes rows where the file has them")
	f.StringArrayVar(&x.failIf, "fail-if", nil, "exit with status 1 if this holds: METRIC<NUMBER or interval:NAME.METRIC<NUMBER, see docs/metrics.md (repeatable)")
}

// defineMeasured defines the flags of what efficiencies take for measured and for useful.
func (x *choice) defineMeasured(f *pflag.FlagSet) {
	f.StringVar(&x.init, "init", "exclude", "MPI_Init and MPI_Finalize in efficiencies: exclude, they are a line of their own; include, they are lost MPI time")
	f.BoolVar(&x.ioProductive, "io-productive", false, "file I/O outside MPI is useful time; else it is lost")
}

// defineRules defines the flags of interval numbers.
func (x *choice) defineRules(f *pflag.FlagSet) {
	f.StringVar(&x.productive, "mpi-productive", "mean", "whose MPI time counts as productive: mean, min, max, rank0 or none")
	f.StringVar(&x.processors, "processors", "participants", "processors of an interval: participants, or all processes of the run")
}

func (x *choice) has(list ...report.Section) bool {
	return slices.ContainsFunc(list, func(s report.Section) bool {
		return slices.Contains(x.sections, s) || x.page && s != report.SectionHistogram
	})
}

// sources are the values of --source.
var sources = map[string]report.Source{"auto": report.SourceAuto, "rows": report.SourceRows, "graph": report.SourceGraph}

// check looks at the flags before the file is opened.
func (x *choice) check(path string, o *output) error {
	x.page = o.format == "html" && len(x.sections) == 0
	_, known := sources[x.source]
	intervals := x.has(report.SectionIntervals)
	switch {
	case x.ranks != "" && !x.has(report.SectionProfile, report.SectionPaths, report.SectionHistogram, report.SectionIntervals, report.SectionWaits, report.SectionPOP):
		return usage("report: --ranks chooses the processes of sections intervals, waits, pop, profile, paths and histogram: add one, coppice report %s profile --ranks %s", path, x.ranks)
	case x.time != "" && !x.has(report.SectionIntervals, report.SectionWaits, report.SectionPOP):
		return usage("report: --time chooses the part of the run for sections intervals, waits and pop: add one, coppice report %s intervals --time %s", path, x.time)
	case (x.details || x.perExecution || len(x.ordered) > 0) && !intervals:
		return usage("report: --details, --per-execution and --ordered are for section intervals: coppice report %s intervals --details", path)
	case x.has(report.SectionHistogram) && x.region == "":
		return usage("report: section histogram needs --region NAME")
	case x.region != "" && !x.has(report.SectionHistogram):
		return usage("report: --region chooses the region of section histogram: add it, coppice report %s histogram --region %s", path, x.region)
	case x.of != "calls" && x.of != "gaps":
		return usage("report: --of %s: choose calls or gaps", x.of)
	case !known:
		return usage("report: --source %s: choose auto, rows or graph", x.source)
	case x.lang != "en" && x.lang != "ru":
		return usage("report: --lang %s: choose en or ru", x.lang)
	case (o.format == "csv" || o.format == "parquet") && len(x.sections) != 1:
		return usage("report: --format %s is one table: choose one section", o.format)
	}
	var err error
	if _, err = x.rules(); err == nil {
		x.conditions, err = parseConditions("report", x.failIf)
	}
	return err
}

// rules reads what interval numbers depend on.
func (x *choice) rules() (report.Rules, error) {
	r := report.Rules{Productive: report.Productive(x.productive), AllProcesses: x.processors == "all", Init: x.init == "include", IO: x.ioProductive}
	switch {
	case x.init != "" && x.init != "include" && x.init != "exclude":
		return r, usage("report: --init %s: choose exclude or include", x.init)
	case !slices.Contains(report.Productives(), r.Productive):
		return r, usage("report: --mpi-productive %s: choose mean, min, max, rank0 or none", x.productive)
	case x.processors != "all" && x.processors != "participants":
		return r, usage("report: --processors %s: choose participants or all", x.processors)
	}
	return r, nil
}

// options reads what needs the file's definitions.
func (x *choice) options(run *report.Run) (report.Options, error) {
	o := report.Options{Sections: x.sections, Source: sources[x.source], Gaps: x.of == "gaps"}
	var err error
	if o.Intervals.Rules, err = x.rules(); err != nil {
		return o, err
	}
	o.Intervals.Details, o.Intervals.PerExecution, o.Intervals.Russian = x.details, x.perExecution, x.lang == "ru"
	for _, name := range x.ordered {
		item, ok := report.ParseItem(name)
		if !ok {
			return o, usage("report: --ordered %s: no component; docs/metrics.md lists them", name)
		}
		o.Intervals.Ordered = append(o.Intervals.Ordered, item)
	}
	if o.Span, err = spanOf(run, "report", x.time); err != nil {
		return o, err
	}
	if x.region != "" {
		if o.Region, err = findRegion("report", run, x.region); err != nil {
			return o, err
		}
	}
	if x.ranks != "" {
		if o.Ranks, err = report.ParseRanks(x.ranks, run.Defs); err != nil {
			return o, usage("report: --ranks %w", err)
		}
	}
	return o, nil
}

// parseSections reads the names of sections.
func parseSections(names []string) ([]report.Section, error) {
	var list []report.Section
	for _, n := range names {
		x := report.Section(n)
		if !slices.Contains(report.Sections(), x) {
			var known []string
			for _, k := range report.Sections() {
				known = append(known, string(k))
			}
			return nil, usage("report: %q is no section: choose from %s", n, strings.Join(known, ", "))
		}
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list, nil
}

// findRegion returns the reference of the region with a name or number.
func findRegion(verb string, run *report.Run, name string) (uint32, error) {
	refs := run.RegionRefs(name)
	switch len(refs) {
	case 1:
		return refs[0], nil
	case 0:
		return 0, usage("%s: --region %s: the trace has no region of this name or number; coppice report %s profile lists them", verb, name, run.Path)
	}
	numbers := make([]string, len(refs))
	for i, r := range refs {
		numbers[i] = fmt.Sprint(r)
	}
	return 0, usage("%s: --region %s: several regions have this name: choose one by its number, of %s", verb, name, strings.Join(numbers, ", "))
}

// strictResult is the outcome of --strict for a report that was printed.
func strictResult(path string, d *report.Document, strict bool) error {
	if strict && d.Summary.Partial {
		return jobs.Fail(jobs.ExitPartial, fmt.Errorf("%s: the input of the analysis was damaged or incomplete, which --strict refuses. coppice report %s diagnostics tells what is missing", path, path))
	}
	return nil
}

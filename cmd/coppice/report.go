package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/export"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// choice is the parts of a report that its flags choose.
type choice struct {
	sections                  []report.Section
	page                      bool // all sections for which the file has results
	ranks, source, region, of string
	time, lang                string
	details, perExecution     bool
	strict                    bool
	ordered                   []string
	rules                     ruleFlags
	failIf                    failIf[report.Condition]
}

// ruleFlags are the flags for the rules of interval numbers.
type ruleFlags struct {
	productive, processors, init string
	ioProductive                 bool
}

// define defines the flags of interval numbers.
func (x *ruleFlags) define(f *pflag.FlagSet) {
	var whose []string
	for _, p := range results.Productives {
		whose = append(whose, string(p))
	}
	oneOf(f, &x.productive, "mpi-productive", "mean", "whose MPI time counts as productive: "+alternatives(whose), whose...)
	oneOf(f, &x.processors, "processors", "participants", "processors of an interval: participants, or all processes of the run", "participants", "all")
}

// defineMeasured defines the flags for measured and useful time in efficiencies.
func (x *ruleFlags) defineMeasured(f *pflag.FlagSet) {
	oneOf(f, &x.init, "init", "exclude", "MPI_Init and MPI_Finalize in efficiencies: exclude, they are a line of their own; include, they are lost MPI time", "exclude", "include")
	f.BoolVar(&x.ioProductive, "io-productive", false, "file I/O outside MPI is useful time; else it is lost")
}

// rules returns the rules of the flags. Flags that a verb does not have are at their defaults.
func (x *ruleFlags) rules() results.Rules {
	return results.Rules{Productive: results.Productive(cmp.Or(x.productive, "mean")), AllProcesses: x.processors == "all", Init: x.init == "include", IO: x.ioProductive}
}

func reportVerb(s streams) *cobra.Command {
	o := output{more: []string{"csv", "parquet", "md", "html"}}
	var x choice
	sections := texts(report.Sections())
	c := verb("report RUN.xtf [SECTION]...", "print results: "+strings.Join(sections, ", "), 1, 1+len(sections),
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
	f := c.Flags()
	o.define(f)
	f.StringVar(&x.ranks, "ranks", "", "processes of intervals, waits, pop, profile, paths, io, counters and histogram: 0-3,8,16-31:4, comm:NAME or node:N")
	f.StringVar(&x.time, "time", "", "part of the run for intervals, waits and pop: 12.5s..13s, 40%..60%, #A..#B, interval:NAME or interval:NAME[K], its K-th execution")
	f.BoolVar(&x.details, "details", false, "intervals: communication, potential losses, wait states, POP, and every component with its spread")
	f.BoolVar(&x.perExecution, "per-execution", false, "intervals: a line for every execution")
	f.StringSliceVar(&x.ordered, "ordered", nil, "intervals: list every process's value of these components, least first: cpu, mpi, late_sender, ...; topology: by place, also counter:NAME")
	x.rules.define(f)
	x.rules.defineMeasured(f)
	oneOf(f, &x.lang, "lang", "en", "labels of intervals: en or ru", "en", "ru")
	f.StringVar(&x.region, "region", "", "of the histogram: name or number")
	oneOf(f, &x.of, "of", "calls", "the histogram counts calls, or gaps: stretches between two events in the region itself", "calls", "gaps")
	defineSource(f, &x.source, "profile and comm")
	x.failIf.define(f, report.ParseCondition, ": METRIC<NUMBER or interval:NAME.METRIC<NUMBER, see docs/metrics.md")
	o.defineLimit(f, longTables)
	f.BoolVar(&x.strict, "strict", false, "partial results are an error")
	c.AddCommand(scalingVerb(s))
	c.ValidArgsFunction = after(1, sections)
	return s.does(c, func(operands []string, s streams) (err error) {
		if x.sections, err = parseSections(operands[1:]); err == nil {
			err = x.check(operands[0], &o)
		}
		if err != nil {
			return err
		}
		return x.report(operands[0], &o, s)
	}, o.check)
}

// report prints the report about a run.
func (x *choice) report(path string, o *output, s streams) error {
	run, err := s.runs.open(path)
	if err != nil {
		return err
	}
	opts, err := x.options(run)
	if err != nil {
		return readError(path, err)
	}
	if x.page {
		if opts.Sections, err = report.PageSections(run); err != nil {
			return readError(path, err)
		}
	}
	d, err := report.New(run, opts)
	if err != nil {
		return readError(path, err)
	}
	if err := printDocument(path, d, o, s); err != nil {
		return err
	}
	if x.strict && d.Summary.Partial {
		return jobs.Fail(jobs.ExitPartial, fmt.Errorf("%s: the input of the analysis was damaged or incomplete, which --strict refuses. coppice report %s diagnostics lists what is missing", path, path))
	}
	return judge(run, x.failIf.list, opts.Intervals.Rules, s)
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
		err := table.Write(w, d, o.format, o.style(s))
		if errors.Is(err, table.ErrCSV) || err == nil {
			return err
		}
		return readError(path, err) // pictures of a page read more of the file
	})
}

func (x *choice) has(list ...report.Section) bool {
	return slices.ContainsFunc(list, func(s report.Section) bool {
		return slices.Contains(x.sections, s) || x.page && s != report.SectionHistogram
	})
}

var sources = map[string]results.Source{"auto": results.SourceAuto, "rows": results.SourceRows, "graph": results.SourceGraph}

// defineSource defines the flag for the source of an answer.
func defineSource(f *pflag.FlagSet, to *string, of string) {
	oneOf(f, to, "source", "auto", "of "+of+": rows, graph, or auto, which takes rows where the file has them", "auto", "rows", "graph")
}

// check checks the flags before the file is opened.
func (x *choice) check(path string, o *output) error {
	x.page = o.format == "html" && len(x.sections) == 0
	switch {
	case x.ranks != "" && !x.has(report.SectionProfile, report.SectionPaths, report.SectionHistogram, report.SectionIntervals, report.SectionWaits, report.SectionPOP, report.SectionIO, report.SectionCounters):
		return usage("--ranks chooses the processes of sections intervals, waits, pop, profile, paths, io, counters and histogram: add one, coppice report %s profile --ranks %s", path, x.ranks)
	case x.time != "" && !x.has(report.SectionIntervals, report.SectionWaits, report.SectionPOP):
		return usage("--time chooses the part of the run for sections intervals, waits and pop: add one, coppice report %s intervals --time %s", path, x.time)
	case (x.details || x.perExecution) && !x.has(report.SectionIntervals) || len(x.ordered) > 0 && !x.has(report.SectionIntervals, report.SectionTopology):
		return usage("--details, --per-execution and --ordered are for section intervals, --ordered for topology too: coppice report %s intervals --details", path)
	case x.has(report.SectionHistogram) && x.region == "":
		return usage("section histogram needs --region NAME")
	case x.region != "" && !x.has(report.SectionHistogram):
		return usage("--region chooses the region of section histogram: add it, coppice report %s histogram --region %s", path, x.region)
	case (o.format == "csv" || o.format == "parquet") && len(x.sections) != 1:
		return usage("--format %s is one table: choose one section", o.format)
	}
	return nil
}

// options reads the flags that need the file's definitions.
func (x *choice) options(run *results.Run) (report.Options, error) {
	o := report.Options{Sections: x.sections, Source: sources[x.source], Gaps: x.of == "gaps"}
	var err error
	o.Intervals.Rules, o.Intervals.Details, o.Intervals.PerExecution, o.Intervals.Russian = x.rules.rules(), x.details, x.perExecution, x.lang == "ru"
	for _, name := range x.ordered {
		if counter, ok := strings.CutPrefix(name, "counter:"); ok && x.has(report.SectionTopology) {
			o.Counters = append(o.Counters, counter)
			continue
		}
		item, ok := results.ParseItem(name)
		if !ok {
			return o, usage("--ordered %s: no component; docs/metrics.md lists them.%s", name, similar(name, conditions.Names(results.Metrics())))
		}
		o.Intervals.Ordered = append(o.Intervals.Ordered, item)
	}
	if o.Span, err = results.ParseSpan(run, x.time); err != nil {
		return o, err
	}
	if x.region != "" {
		if o.Region, err = results.FindRegion(run, x.region); err != nil {
			return o, err
		}
	}
	o.Ranks, err = results.ChosenRanks(x.ranks, run.Defs)
	return o, err
}

// parseSections parses the names of sections.
func parseSections(names []string) ([]report.Section, error) {
	var list []report.Section
	for _, n := range names {
		x := report.Section(n)
		if !slices.Contains(report.Sections(), x) {
			return nil, usage("%q is not a section: choose from %s.%s", n, strings.Join(texts(report.Sections()), ", "), similar(n, texts(report.Sections())))
		}
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list, nil
}

// sectionTable turns the rows of a section into batches: 9 bytes for each value, and each text once.
type sectionTable struct {
	section report.Section
	schema  *export.Schema
	texts   []export.Dictionary
	batches []*export.Batch
}

// writeParquet writes the one section of a report as a Parquet file.
func writeParquet(w io.Writer, d *report.Document) error {
	columns, rows, err := table.Data(d)
	if err != nil {
		return err
	}
	t := &sectionTable{section: d.Section(), texts: make([]export.Dictionary, len(columns))}
	t.schema = &export.Schema{Meta: []export.Meta{{Key: "coppice.section", Value: string(t.section)}}}
	for _, c := range columns {
		typ := map[table.ColumnKind]export.Type{table.IntegerColumn: export.Uint64, table.DecimalColumn: export.Float64, table.TextColumn: export.Text}[c.Kind]
		t.schema.Columns = append(t.schema.Columns, export.Column{Name: c.Key, Type: typ, Nullable: true})
	}
	for row, err := range rows {
		if err == nil {
			err = t.add(row)
		}
		if err != nil {
			return err
		}
	}
	for i := range t.texts {
		t.schema.Columns[i].Dict = t.texts[i].Texts()
	}
	out, err := export.NewTable(w, "parquet", t.schema)
	if err != nil {
		return err
	}
	for _, b := range t.batches {
		if err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Close()
}

func (t *sectionTable) add(row []string) error {
	if n := len(t.batches); n == 0 || t.batches[n-1].Full() {
		t.batches = append(t.batches, export.NewBatch(t.schema))
	}
	cells := make([]export.Cell, len(row))
	for i, text := range row {
		var err error
		if cells[i], err = t.cell(i, text); err != nil {
			return err
		}
	}
	t.batches[len(t.batches)-1].Append(cells...)
	return nil
}

// cell parses a value of column i; an empty text, null and n/a mean none.
func (t *sectionTable) cell(i int, text string) (export.Cell, error) {
	c := &t.schema.Columns[i]
	switch {
	case c.Type == export.Text:
		return t.texts[i].Cell(text), nil
	case text == "" || text == "null" || text == "n/a":
		return export.Absent, nil
	case c.Type == export.Float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return export.Absent, t.unfit(c, text)
		}
		return export.Real(v), nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return export.Absent, t.unfit(c, text)
	}
	return export.Number(v), nil
}

func (t *sectionTable) unfit(c *export.Column, text string) error {
	return usage("--format parquet: section %s: %s in column %s does not fit into 64 bits: take --format csv", t.section, fmt.Sprintf("%.40s", text), c.Name)
}

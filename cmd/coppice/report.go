package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
)

// choice is what the flags of report choose.
type choice struct {
	sections                  []report.Section
	ranks, source, region, of string
}

func runReport(args []string, s streams) error {
	var o output
	var x choice
	var strict bool
	f := flags("report", "RUN.xtf [SECTION]...", s,
		"coppice report run.xtf",
		"coppice report run.xtf profile --ranks 0-3 --limit 50",
		"coppice report run.xtf summary profile comm -o run.json",
		"coppice report run.xtf paths histogram --region MPI_Recv")
	o.add(f)
	f.StringVar(&x.ranks, "ranks", "", "processes of profile, paths and histogram: 0-3,8,16-31:4, comm:NAME or node:N")
	f.StringVar(&x.region, "region", "", "of the histogram: name or number")
	f.StringVar(&x.of, "of", "calls", "the histogram counts calls, or gaps: stretches between two events in the region itself")
	f.StringVar(&x.source, "source", "auto", "of profile and comm: rows, graph, or auto, which takes rows where the file has them")
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
	if err := x.check(operands[0]); err != nil {
		return err
	}
	run, err := openRun(operands[0])
	if err != nil {
		return err
	}
	defer run.Close()
	opts, err := x.options(run)
	if err != nil {
		return err
	}
	d, err := run.Document(opts)
	if err != nil {
		return readError(operands[0], err)
	}
	err = o.write(s, func(w io.Writer) error {
		if o.format == "json" {
			return d.WriteJSON(w)
		}
		return d.WriteText(w, o.style(s))
	})
	if err != nil {
		return err
	}
	return partialResult(operands[0], d, strict)
}

func (x *choice) has(s report.Section) bool { return slices.Contains(x.sections, s) }

// sources are the values of --source.
var sources = map[string]report.Source{"auto": report.SourceAuto, "rows": report.SourceRows, "graph": report.SourceGraph}

// check looks at the flags before the file is opened.
func (x *choice) check(path string) error {
	_, known := sources[x.source]
	switch {
	case x.ranks != "" && !x.has(report.SectionProfile) && !x.has(report.SectionPaths) && !x.has(report.SectionHistogram):
		return usage("report: --ranks chooses the processes of sections profile, paths and histogram: add one, coppice report %s profile --ranks %s", path, x.ranks)
	case x.has(report.SectionHistogram) && x.region == "":
		return usage("report: section histogram needs --region NAME")
	case x.region != "" && !x.has(report.SectionHistogram):
		return usage("report: --region chooses the region of section histogram: add it, coppice report %s histogram --region %s", path, x.region)
	case x.of != "calls" && x.of != "gaps":
		return usage("report: --of %s: choose calls or gaps", x.of)
	case !known:
		return usage("report: --source %s: choose auto, rows or graph", x.source)
	}
	return nil
}

// options reads what needs the file's definitions.
func (x *choice) options(run *report.Run) (report.Options, error) {
	o := report.Options{Sections: x.sections, Source: sources[x.source], Gaps: x.of == "gaps"}
	var err error
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

// readError gives an error of reading a run its exit code and advice.
func readError(path string, err error) error {
	code := jobs.ExitCode(err)
	switch {
	case errors.Is(err, report.ErrNoResult):
		code = jobs.ExitInput
	case errors.Is(err, report.ErrSpan):
		code = jobs.ExitUsage
	}
	return jobs.Fail(code, errors.New(advised(path, err)))
}

// partialResult is the outcome of a report that was printed.
func partialResult(path string, d *report.Document, strict bool) error {
	if n := len(d.Lost); n > 0 {
		return jobs.Fail(jobs.ExitPartial, fmt.Errorf("%s: %d locations are left out of a section: %s. Copy the file again or analyze the archive again; coppice check %s tells what is still sound",
			path, n, d.Lost[0].Error, path))
	}
	if strict && d.Summary.Partial {
		return jobs.Fail(jobs.ExitPartial, fmt.Errorf("%s: the input of the analysis was damaged or incomplete, which --strict refuses. coppice report %s diagnostics tells what is missing", path, path))
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/export"
	"github.com/coppice-hpc/coppice/report"
)

// browserLimit is how much of a form browsers take, and why.
type browserLimit struct {
	bytes    int64
	unit     string // what bytes are of
	why      string
	fallback string // what else can be done
}

var browserLimits = map[string]browserLimit{
	"chrome": {
		256e6, "JSON", "chrome://tracing reads no larger file, since it holds it as one string, and Perfetto's page has about 2 GB of memory for all that it makes of one",
		"take --to perfetto, which is several times smaller, ",
	},
	"perfetto": {
		1e9, "protobuf", "Perfetto's page has about 2 GB of memory, and needs 2 to 4 times the size of a file; its trace_processor --httpd, run beside the browser, takes more", "",
	},
}

// drawn is the result of a timeline in JSON.
type drawn struct {
	To       string           `json:"to"`
	Output   string           `json:"output"`
	Estimate *export.Estimate `json:"estimate"`
	*export.Drawn
}

// exportTimeline writes a timeline, if it is not larger than allowed: that is told before.
func exportTimeline(path string, o *exportFlags, s streams) error {
	if o.table != "" {
		return usage("--table is for --to csv, parquet and arrow")
	}
	run, src, err := exportSource(path, o, s)
	if err != nil {
		return err
	}
	limit := browserLimits[o.to]
	if o.maxSize > 0 {
		limit.bytes, limit.why = int64(o.maxSize), "--max-size says so"
	}
	estimate, err := src.Estimate(o.to)
	if err != nil {
		return exportError(run, err)
	}
	if !o.job.quiet {
		fmt.Fprintf(s.err, "coppice: %s: ≈ %s, %s slices\n", o.output, report.Size(uint64(estimate.Bytes)), millions(estimate.Slices))
	}
	if estimate.Bytes > limit.bytes {
		return tooLarge(run, o, &limit, "about "+report.Size(uint64(estimate.Bytes)), estimate.Slices)
	}
	result := drawn{To: o.to, Output: o.output, Estimate: estimate}
	files := files{force: o.force}
	defer files.discard()
	err = files.write(o.output, s, func(w io.Writer) (err error) {
		result.Drawn, err = src.Timeline(w, o.to, limit.bytes)
		return err
	})
	if errors.Is(err, export.ErrTooLarge) {
		return tooLarge(run, o, &limit, "more than "+report.Size(uint64(limit.bytes)), estimate.Slices)
	}
	if err == nil {
		err = files.publish()
	}
	if err != nil {
		return exportError(run, err)
	}
	if !o.job.quiet {
		x := result.Drawn
		fmt.Fprintf(s.err, "coppice: %s: %s, %d slices, %d messages as flows, %d with one end outside, %d values of metrics\n",
			o.output, report.Size(uint64(x.Bytes)), x.Slices, x.Flows, x.OneEnded, x.Counters)
	}
	if o.format == "json" {
		return about(s.out, run, "export", report.Value(result))
	}
	return nil
}

// tooLarge refuses a timeline.
func tooLarge(run *report.Run, o *exportFlags, limit *browserLimit, size string, slices uint64) error {
	return usage("%s --to %s: %s of %s with %s slices, allowed are %s: %s. Choose a part with --time or --ranks, %sor allow more with --max-size",
		run.Path, o.to, size, limit.unit, millions(slices), report.Size(uint64(limit.bytes)), limit.why, limit.fallback)
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

// exportError gives an error of an export its exit code and advice.
func exportError(run *report.Run, err error) error {
	if errors.Is(err, export.ErrRun) {
		return usage("%s: %w", run.Path, err)
	}
	return readError(run.Path, err)
}

package main

import (
	"fmt"
	"math"
	"os"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/slurm"
	"github.com/coppice-hpc/coppice/xtf"
)

// size finds out what each step has to do, and what it asks for.
func (p *plan) size(s streams) error {
	for _, st := range p.steps {
		w, about, err := p.work(st, s)
		if err != nil {
			return err
		}
		z := slurm.Fit(w, p.site, p.flags.goal)
		if st.first {
			if err := p.flags.insist(z, p.site); err != nil {
				return err
			}
		}
		if st.verb == "record" {
			*z = p.flags.recording(z)
		}
		note := fmt.Sprintf("sized by coppice plan %s %s: %s, limited by the %s", st.verb, report.Clean(st.input, 200), about, z.Decided)
		st.job = &slurm.Job{Verb: st.verb, Size: z, Resumable: st.verb == "analyze" || st.verb == "predict", Foreign: st.verb == "record" && p.flags.mem == 0, Note: note}
		st.job.Before, st.job.Command = st.command(p.site, z)
	}
	return nil
}

// insist replaces what was computed for the first job by what flags ask for.
func (o *planFlags) insist(z *slurm.Size, site *slurm.Site) error {
	if o.ranks > 0 {
		z.Ranks, z.Decided = o.ranks, "flag --ranks"
	}
	if o.mem > 0 {
		if int64(o.mem) < 64<<20 {
			return usage("--mem %s: a rank needs 64 MiB at least", o.mem.String())
		}
		z.SetMemory(int64(o.mem))
	}
	z.Place(site, o.nodes)
	if o.limit > 0 {
		z.Time, z.TimeBound = (o.limit+time.Second-1)/time.Second*time.Second, "flag --time"
	}
	return nil
}

// recording is the size of a program that is recorded: what flags say, nothing else is known.
func (o *planFlags) recording(z *slurm.Size) slurm.Size {
	r := slurm.Size{
		Ranks: z.Ranks, Nodes: z.Nodes, RanksPerNode: z.RanksPerNode, PerNode: z.PerNode, Decided: z.Decided, Time: z.Time, TimeBound: z.TimeBound,
		Disk: uint64(o.expect), Result: uint64(o.expect),
	}
	if o.mem > 0 {
		r.Memory, r.Slot, r.MemoryBound = z.Memory, z.Slot, "flag --mem"
	}
	return r
}

// work is what a step has to do, and a few words about it.
func (p *plan) work(st *planStep, s streams) (*slurm.Work, string, error) {
	w := &slurm.Work{Rate: float64(p.flags.rate), Sequential: p.flags.serial}
	if w.Sequential == 0 {
		w.Sequential = math.SmallestNonzeroFloat64
	}
	switch {
	case st.verb == "record":
		return w, "as asked for", nil
	case st.first && st.verb == "analyze":
		return p.workOfTrace(w, st, s)
	case st.first:
		return p.workOfRun(w, st)
	}
	p.workAfter(w, st)
	return w, fmt.Sprintf("about %s in %d parts", report.Size(w.Bytes), w.Locations), p.platformWork(w, st)
}

// workOfTrace measures a trace that is there.
func (p *plan) workOfTrace(w *slurm.Work, st *planStep, s streams) (*slurm.Work, string, error) {
	src, err := jobs.OpenPath(st.input)
	if err != nil {
		return nil, "", readError(st.input, err)
	}
	defer src.Close()
	x, err := measure(src)
	if err != nil {
		return nil, "", readError(st.input, err)
	}
	d := src.Definitions()
	w.Bytes, w.Locations, w.Largest, w.Result = x.Bytes, d.NumLocations(), x.LargestBytes, x.Bytes
	w.Least, w.Segments = x.LeastMemory, jobs.SegmentsOf(x.Bytes, d.NumLocations())
	if st.graphOnly {
		w.Least = x.GraphMemory
	}
	w.Definitions = 4 * int64(x.DefBytes)
	if g := p.site.Growth; g > 0 {
		w.Result = scaled(x.Bytes, g)
	}
	p.envelope = report.Envelope{Processes: len(d.Processes()), Locations: d.NumLocations(), Events: x.Announced}
	p.brief = report.Brief{Resolution: d.Clock().TimerResolution}
	if p.flags.calibrate {
		c, err := slurm.Calibrate(src, jobs.AnalyzeOptions{GraphOnly: st.graphOnly, Version: version})
		if err != nil {
			return nil, "", fail(jobs.ExitCode(err), "--calibrate: %s: %w. Give --rate instead", st.input, err)
		}
		w.Rate, w.Result = c.Rate, scaled(x.Bytes, c.Growth)
		fmt.Fprintf(s.err, "coppice: calibrated: %s of %d locations in %.1f s of processor time, %s/s; the result has %.2f bytes for each of the trace\n",
			report.Size(c.Bytes), c.Locations, c.Seconds, report.Size(uint64(c.Rate)), c.Growth)
	}
	return w, fmt.Sprintf("%s, %s", report.Size(w.Bytes), report.Plural(w.Locations, "location")), nil
}

func scaled(bytes uint64, factor float64) uint64 {
	v := float64(bytes) * factor
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return uint64(v)
}

// workOfRun measures a result that is there: its parts are processes, as even as is known.
func (p *plan) workOfRun(w *slurm.Work, st *planStep) (*slurm.Work, string, error) {
	run, err := report.Open(st.input, xtf.Options{})
	if err != nil {
		return nil, "", fail(jobs.ExitCode(err), "%w", &fileError{st.input, err})
	}
	defer run.Close() // it is read only
	e, brief, err := aboutOf(run)
	if err != nil {
		return nil, "", readError(st.input, err)
	}
	stat, err := os.Stat(st.input)
	if err != nil {
		return nil, "", fail(jobs.ExitInput, "%w", err)
	}
	p.envelope, p.brief = e, *brief
	w.Bytes, w.Locations, w.Result = uint64(stat.Size()), e.Processes, uint64(stat.Size())
	w.Largest = even(w.Bytes, w.Locations)
	return w, fmt.Sprintf("%s, %s", report.Size(w.Bytes), report.Plural(w.Locations, "process")), p.platformWork(w, st)
}

// even is the part of one of n, where nothing is known about them.
func even(bytes uint64, n int) uint64 { return bytes / uint64(max(n, 1)) }

// workAfter estimates what a step finds when the one before it has ended.
func (p *plan) workAfter(w *slurm.Work, st *planStep) {
	b := st.before
	if b.verb == "record" {
		w.Bytes, w.Locations = uint64(p.flags.expect), b.job.Size.Ranks
	} else {
		w.Bytes, w.Locations = b.job.Size.Result, b.job.Size.Parts
	}
	w.Largest, w.Result = even(w.Bytes, w.Locations), w.Bytes
	if g := p.site.Growth; g > 0 && st.verb == "analyze" {
		w.Result = scaled(w.Bytes, g)
	}
	if st.verb == "analyze" {
		w.Segments = jobs.SegmentsOf(w.Bytes, w.Locations)
	}
}

// platformWork looks at the platform of a prediction: with contention one rank simulates it.
func (p *plan) platformWork(w *slurm.Work, st *planStep) error {
	if st.verb != "predict" || st.platform == "" {
		return nil
	}
	m, err := predict.OpenPlatform(st.platform)
	if err != nil {
		return fail(jobs.ExitInput, "%w", err)
	}
	w.OneRank = jobs.NeedsEvents(m)
	return nil
}

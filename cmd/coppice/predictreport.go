package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report"
)

// newPrediction makes the report of a result.
func newPrediction(run *report.Run, job *jobs.PredictOptions, r *jobs.PredictResult) *report.Prediction {
	p := &report.Prediction{
		Name: run.Name, Resolution: report.Picoseconds, Measured: uint64(r.Measured), Bound: uint64(r.Bound), Unmatched: r.Unmatched, LeftOut: leftOutOf(&r.Left),
		Classes: []report.PredictedClass{}, Processes: make([]report.PredictedProcess, len(r.Processes)),
	}
	if r.Platform != nil {
		p.Platform = platformOf(r)
	}
	p.Computation = computationOf(job, r)
	p.Computation.Threshold = r.Threshold
	for _, rep := range r.Classes {
		p.Classes = append(p.Classes, report.PredictedClass{Class: len(p.Classes), Representative: rep})
	}
	for i := range r.Processes {
		x := &r.Processes[i]
		t := &x.Times
		p.Processes[i] = report.PredictedProcess{
			Process: uint32(i), Class: int(x.Class), Node: x.Node, Calls: t.Calls, Messages: t.Messages,
			Measured: report.MeasuredTimes{Finish: uint64(x.Finish), Compute: uint64(x.Compute), Start: uint64(x.Start)},
			Predicted: report.PredictedTimes{
				Finish: uint64(t.Finish), Compute: uint64(t.Compute), Send: uint64(t.Send), Receive: uint64(t.Receive),
				Wait: uint64(t.Wait), Collective: uint64(t.Collective), File: uint64(t.File), Kept: uint64(x.Kept),
			},
		}
	}
	p.Classify()
	p.Errors = errorsOf(job, r)
	switch {
	case r.Deadlock != nil:
		p.Deadlock = deadlockOf(r)
	case r.Platform != nil:
		makespan := uint64(r.Makespan)
		p.Makespan = &makespan
		p.Ratio = quotient(r.Makespan, r.Measured)
	}
	p.Sweep = sweepOf(job, r)
	if r.Platform != nil && r.Deadlock == nil && len(r.Donors) == 0 && !job.Scaled {
		p.Commands = chainCommands(job, r)
	}
	return p
}

// quotient returns a / b, of times.
func quotient(a, b int64) report.Ratio { return report.NewRatio(uint64(max(a, 0)), uint64(max(b, 0))) }

// difference returns |a - b| / b.
func difference(a, b int64) report.Ratio { return quotient(max(a-b, b-a), b) }

func platformOf(r *jobs.PredictResult) *report.PredictedPlatform {
	p := r.Platform
	x := &report.PredictedPlatform{
		Name: p.Name, Nodes: r.Nodes, RanksPerNode: r.PerNode, Mapping: p.Mapping, Engine: "dataflow",
		Contention: [...]string{"none", "nic", "links"}[p.Contention], Policy: [...]string{"dma", "copy", "arrival"}[p.Policy],
	}
	if x.Mapping != "block" && x.Mapping != "cyclic" {
		x.Mapping = "table"
	}
	if r.Events {
		x.Engine = "events"
	}
	return x
}

func computationOf(job *jobs.PredictOptions, r *jobs.PredictResult) report.PredictedComputing {
	c := report.PredictedComputing{Source: "recorded", Scale: r.Scale.String()}
	if r.Scale != predict.One {
		c.Source = "scaled"
	}
	if len(r.Donors) > 0 {
		c.Source, c.Content = "vectors", r.Content
		c.Rule = [...]string{"scale", "copy"}[job.Rule]
	}
	for i := range r.Processes {
		if r.Processes[i].Replaced {
			c.Replaced++
		}
	}
	for _, d := range r.Donors {
		c.Donors = append(c.Donors, report.Donor{
			Process: d.Process, Processes: d.Processes, Entries: d.Entries, Measured: d.Measured, Host: uint64(d.Host), Target: uint64(d.Target), Off: 1000 * uint64(d.Off),
		})
	}
	return c
}

func errorsOf(job *jobs.PredictOptions, r *jobs.PredictResult) report.PredictedErrors {
	var e report.PredictedErrors
	if h := r.Host; h != nil {
		makespan := uint64(h.Makespan)
		e.HostPlatform, e.HostMakespan = h.Platform, &makespan
		e.Net = difference(h.Makespan, r.Measured)
	}
	if k := r.Class; k != nil {
		makespan := uint64(k.Representatives)
		e.ClassMakespan = &makespan
		e.Class = difference(k.Representatives, k.All)
	} else if job.Rule == predict.ScaleRule {
		e.Class = report.Ratio{Defined: true}
	}
	if x := r.Replay; x != nil {
		e.WorstReplay = &x.Process
		e.Replay = difference(x.Replay, x.Recorded)
		e.Replayed, e.Recorded = uint64(x.Replay), uint64(x.Recorded)
	}
	if x := r.Spread; x != nil {
		e.WorstSpread, e.Spread = &x.Process, report.Ratio{Value: x.Share(), Defined: true}
		e.Least, e.Most = 1000*uint64(x.Least), 1000*uint64(x.Most)
	}
	if x := r.Delay; x != nil {
		e.WorstDelay, e.Delay = &x.Process, quotient(x.Delay, x.Compute)
		e.Delayed = uint64(x.Delay)
	}
	return e
}

func deadlockOf(r *jobs.PredictResult) *report.PredictedDeadlock {
	d := &report.PredictedDeadlock{Cycle: []report.BlockedCall{}, Eager: r.Deadlock.Eager}
	for i, b := range r.Deadlock.Cycle {
		d.Cycle = append(d.Cycle, report.BlockedCall{Process: b.Process, Call: b.Call, Function: r.Functions[i], For: b.For})
	}
	return d
}

func sweepOf(job *jobs.PredictOptions, r *jobs.PredictResult) *report.PredictedSweep {
	if len(r.Points) == 0 {
		return nil
	}
	s := &report.PredictedSweep{}
	for _, a := range job.Sweep {
		s.Axes = append(s.Axes, report.SweepAxis{Name: a.Name, Values: a.Values})
	}
	for _, x := range r.Points {
		p := report.SweepPoint{Compute: uint64(x.Compute)}
		for k, i := range x.Values {
			p.Values = append(p.Values, job.Sweep[k].Values[i])
		}
		if !x.Deadlock {
			makespan := uint64(x.Makespan)
			p.Makespan = &makespan
			if r.Deadlock == nil {
				p.Ratio = quotient(x.Makespan, r.Makespan)
			}
		}
		s.Points = append(s.Points, p)
	}
	return s
}

// leftOutOf names what the program has not as it was.
func leftOutOf(l *predict.Left) []report.LeftOut {
	list := []report.LeftOut{}
	for _, x := range []struct {
		what string
		n    uint64
		lost bool
		text string
	}{
		{"other_threads", l.OtherThreads, true, "left out: MPI calls of threads but the first of a process"},
		{"one_sided", l.OneSided, false, "as long as recorded: calls of one-sided communication"},
		{"files", l.Files, false, "as long as recorded: calls of MPI files whose bytes are not known, and of other files"},
		{"spawns", l.Spawns, false, "as long as recorded: calls that start or connect processes"},
		{"failed_tests", l.FailedTests, false, "as long as recorded: tests that completed nothing"},
		{"chosen", l.Chosen, false, "as recorded: calls that completed some of several requests"},
		{"between_groups", l.BetweenGroup, true, "left out: collectives of two groups, or of unknown members"},
		{"cancelled", l.Cancelled, true, "left out: cancelled requests"},
		{"never_done", l.NeverDone, true, "left out: receives and collectives that never completed"},
		{"detached", l.Detached, false, "as recorded: sends that nothing completes"},
		{"unknown", l.Unknown, true, "left out: completions, partners and operations that are not known"},
		{"probes", l.Probes, false, "without waiting: probes not before the receive of what they found"},
		{"outside", l.Outside, false, "as calls of their own: records outside of MPI calls"},
		{"no_root", l.NoRoot, true, "with root 0: collectives whose root is not in their communicator"},
	} {
		if x.n > 0 {
			list = append(list, report.LeftOut{What: x.what, Count: x.n, Lost: x.lost, Text: x.text})
		}
	}
	return list
}

// chainCommands are what measures the computation of the representatives on a node of the target.
func chainCommands(job *jobs.PredictOptions, r *jobs.PredictResult) []string {
	ranks := make([]string, len(r.Classes))
	for i, p := range slices.Sorted(slices.Values(r.Classes)) {
		ranks[i] = strconv.Itoa(int(p))
	}
	list := strings.Join(ranks, ",")
	if r.Threshold == "" {
		return []string{fmt.Sprintf("coppice predict %s --platform %s --classes %s      finds the processes that stand for the others", job.Run, job.Platform, jobs.DefaultClasses)}
	}
	cmds := []string{
		fmt.Sprintf("coppice record --log-ranks %s -o LOG -- mpirun -n %d ./PROGRAM", list, len(r.Processes)),
		"coppice replay LOG/logs/*.log -o VECTORS -- ./PROGRAM      (on the target)",
		fmt.Sprintf("coppice predict %s --platform %s --vectors VECTORS", job.Run, job.Platform),
	}
	return append(cmds, fmt.Sprintf("or all three here: coppice predict %s --platform %s --run -- mpirun -n %d ./PROGRAM", job.Run, job.Platform, len(r.Processes)))
}

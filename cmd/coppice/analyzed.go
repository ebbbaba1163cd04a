package main

import (
	"fmt"
	"time"

	"github.com/coppice-hpc/coppice/ccgmerge"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
)

// printPartial says in one line why the status is 4.
func printPartial(s streams, job *jobs.AnalyzeOptions, r *jobs.AnalyzeResult) {
	worst := ""
	for _, c := range r.Codes {
		if c.Code.Severity() == trace.Damage {
			worst = fmt.Sprintf(" (%s: %d in %s)", c.Code.Text(), c.Count, report.Plural(int(c.Locations), "location"))
			break
		}
	}
	fmt.Fprintf(s.err, "coppice: the input is damaged or incomplete%s: results are partial; coppice report %s diagnostics tells what is missing\n", worst, job.Output)
}

// printAnalyzed prints the closing lines of an analysis.
func printAnalyzed(s streams, job *jobs.AnalyzeOptions, r *jobs.AnalyzeResult, ranks, verbose int) {
	for _, c := range r.Codes {
		if c.Code.Severity() == trace.Note && verbose == 0 {
			continue
		}
		fmt.Fprintf(s.err, "coppice: %s: %d in %s", c.Code.Text(), c.Count, report.Plural(int(c.Locations), "location"))
		switch {
		case c.Worst > 0 && c.Code.InTicks():
			fmt.Fprintf(s.err, ", worst %d ticks", c.Worst)
		case c.Worst > 0:
			fmt.Fprintf(s.err, ", worst %d", c.Worst)
		}
		fmt.Fprintln(s.err)
		if c.Code == trace.DiagReplayStuck && !job.ClockRepair {
			fmt.Fprintln(s.err, "coppice: clocks that differ can make such circles: try --clock-repair")
		}
	}
	if job.ClockRepair {
		printClocks(s, &r.Clocks)
	}
	printResumed(s, &r.Resumed, r.Locations)
	var total time.Duration
	for _, t := range r.Seconds {
		total += t.Elapsed
	}
	fmt.Fprintf(s.err, "coppice: %s: %d events of %d locations (%s) in %.2f s on %d ranks, %s, file %s\n",
		job.Output, r.Events, r.Locations, report.Size(r.Bytes), total.Seconds(), ranks, perSecond(r.Events, total), report.Size(uint64(r.File.FileBytes)))
	if verbose == 0 {
		return
	}
	for _, t := range r.Seconds {
		fmt.Fprintf(s.err, "coppice: rank 0 %-8s %8.3f s\n", t.Stage, t.Elapsed.Seconds())
	}
	for i := range min(len(r.Teams), 8) {
		t := &r.Teams[i]
		fmt.Fprintf(s.err, "coppice: location %d was loaded by %d ranks, rank %d and helpers from rank %d on\n", t.P, len(t.Helpers)+1, t.Owner, t.Helpers[0])
	}
	fmt.Fprintf(s.err, "coppice: rank 0 segments: peak %s in memory, %s in files\n", binary(r.Store.Peak), binary(r.Store.Spilled))
	fmt.Fprintf(s.err, "coppice: rank 0 sent %d messages of %s, %d collective calls of %s\n",
		r.Traffic.SentMessages, report.Size(uint64(r.Traffic.SentBytes)), r.Traffic.Collectives, report.Size(uint64(r.Traffic.CollectiveSent)))
	if m := &r.Matched; !job.GraphOnly {
		fmt.Fprintf(s.err, "coppice: matched %d messages, %d between ranks (%.1f bytes each, in %d messages), %d collectives (%s in %d messages, %d rounds); a rank sent %d messages of %s at most\n",
			m.Messages, m.Remote, m.RemoteBytes(), m.Pairs.Messages, m.Collectives, report.Size(m.Members.Bytes), m.Members.Messages, r.Match.Rounds,
			m.Most.Messages, report.Size(m.Most.Bytes))
	}
	fmt.Fprintf(s.err, "coppice: rank 0 ideal network: %d steps in %d slabs of time, %d phases; sent %s, %d crossings\n",
		r.Replay.Steps, r.Replay.Slabs, r.Replay.Phases, report.Size(r.Replay.Bytes), r.Replay.Messages)
	fmt.Fprintf(s.err, "coppice: rank 0 delays: %d waits, sent %s; critical path: %d jumps, %d messages\n",
		r.Delays.Waits, report.Size(r.Delays.Bytes), r.Path.Jumps, r.Path.Messages)
	printGraph(s, &r.Graph)
}

// printResumed prints what was kept of earlier runs.
func printResumed(s streams, r *jobs.Resumed, locations int) {
	switch {
	case r.Stage != "":
		fmt.Fprintf(s.err, "coppice: all stages up to %s were kept of an earlier run\n", r.Stage)
	case r.Kept > 0:
		fmt.Fprintf(s.err, "coppice: %d of %d locations were kept of earlier runs\n", r.Kept, locations)
	}
	if r.Torn > 0 {
		fmt.Fprintf(s.err, "coppice: %d pieces of what earlier runs had finished were cut or changed, and done again\n", r.Torn)
	}
}

// printClocks prints what the repair of clocks did.
func printClocks(s streams, r *jobs.ClockReport) {
	fmt.Fprintf(s.err, "coppice: clocks: %d messages were received before they were sent (worst %d ticks), %d members of collectives left too early; ",
		r.Violations, r.Worst, r.Collectives)
	if r.Stuck {
		fmt.Fprintln(s.err, "not repaired: locations wait for each other in a circle")
		return
	}
	fmt.Fprintf(s.err, "%d ends of calls raised in %d locations, by %d ticks at most\n", r.Corrections, r.Locations, r.Greatest)
}

// printGraph prints what the reduction of the call graph moved.
func printGraph(s streams, g *ccgmerge.Report) {
	fmt.Fprintf(s.err, "coppice: call graph: %d nodes of locations, %d of all; partner counts %s, broadcast %s\n",
		g.LocalNodes, g.Nodes, report.Size(g.PartnerBytes), report.Size(g.BroadcastBytes))
	if g.CodebookBytes > 0 {
		fmt.Fprintf(s.err, "coppice: call graph: gap counts %s, codebook %s (%d values in %d contexts), slot counts %s, %d classes\n",
			report.Size(g.GapBytes), report.Size(g.CodebookBytes), g.GapValues, g.GapContexts, report.Size(g.SlotBytes), g.Rows)
	}
	for _, x := range []struct {
		what   string
		levels []ccgmerge.Level
	}{{"nodes", g.Levels}, {"classes", g.ClassLevels}} {
		for i, l := range x.levels {
			fmt.Fprintf(s.err, "coppice: call graph level %d: %d messages, %s, %d %s, %d new\n", i, l.Messages, report.Size(l.Bytes), l.Nodes, x.what, l.New)
		}
	}
}

func perSecond(events uint64, d time.Duration) string {
	if d <= 0 {
		return "no time"
	}
	return fmt.Sprintf("%.2f M events/s", float64(events)/d.Seconds()/1e6)
}

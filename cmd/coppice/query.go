package main

import (
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/query"
	"github.com/spf13/cobra"
)

func queryVerb(s streams) *cobra.Command {
	var o output
	var q query.Question
	var location uint64
	var source string
	c := verb("query RUN.xtf PRIMITIVE", "rows by time, key or number; calls, intervals and timelines from the call graph", 2, 2,
		"coppice query run.xtf search --rank 3 --type call --time 1.25s --mode le",
		"coppice query run.xtf rows --rank 0 --type coll --n 100 --limit 5 --format json",
		"coppice query run.xtf stats --rank 3 --time 40%..60%",
		"coppice query run.xtf window --time 40%..60% --ranks 0-3",
		"coppice query run.xtf partner --rank 3 --n 17",
		"coppice query run.xtf stack --rank 3 --time 1.25s",
		"coppice query run.xtf interval --time 40%..60% --ranks 0-3",
		"coppice query run.xtf walk --rank 0 --time 1.25s --limit 50 --backwards")
	c.Long = query.Help
	f := c.Flags()
	o.define(f)
	f.StringVar(&q.Type, "type", "call", "rows to look at: call, p2p, coll, channel, chan, timebin, comp, diag, ... (coppice info lists them)")
	f.Int64Var(&q.Process, "rank", 0, "process, by its rank in MPI_COMM_WORLD")
	f.Int64Var(&q.Thread, "thread", 0, "thread of the process, from 0")
	f.Uint64Var(&location, "location", 0, "location by its id in the trace, instead of --rank and --thread")
	f.BoolVar(&q.Whole, "whole", false, "rows about the whole run, instead of a location's")
	f.StringVar(&q.Time, "time", "", "instant: 12.5s, 40% of the run, or #TICKS; visible, stats, bins, window, interval and timeline: A..B")
	f.StringVar(&q.Key, "key", "", "key of rows that are not ordered by time")
	f.StringVarP(&q.N, "n", "n", "", "row number, of a message or collective for partner and members; instance: number of the call, from 0; walk: number of the event")
	f.StringVar(&q.To, "to", "", "end of the interval, exclusive: as --time, --key or --n")
	oneOf(f, &q.Mode, "mode", "exact", "search, and --time of partner and members: exact, last, ge, gt, le or lt", query.Modes...)
	f.Int64Var(&q.Step, "step", 1, "next: rows to step, back with a minus")
	f.StringVar(&q.Region, "region", "", "instance: name or number of the region")
	f.StringVar(&q.Ranks, "ranks", "", "window, interval, timeline: processes, such as 0-3,8,16-31:4, comm:NAME or node:N (default all)")
	atLeast(f, 1, &q.Width, "width", "", 80, "timeline, bins: pixels of a line")
	f.BoolVar(&q.Backwards, "backwards", false, "walk: towards the first event")
	defineSource(f, &source, "stack")
	f.BoolVar(&q.Exact, "exact", false, "window: also of functions, from the calls at the borders")
	o.defineLimit(f, "number of rows or events")
	all := query.Primitives()
	c.ValidArgsFunction = after(1, all)
	return s.does(c, func(operands []string, s streams) error {
		q.Primitive, q.Limit, q.Source = operands[1], o.limit, sources[source]
		switch {
		case !slices.Contains(all, q.Primitive):
			return usage("%q is not a primitive: choose from %s.%s", q.Primitive, strings.Join(all, ", "), similar(q.Primitive, all))
		case q.Primitive != "stack" && f.Changed("source"):
			return usage("--source is for stack alone")
		case q.Primitive != "window" && q.Exact:
			return usage("--exact is for window alone")
		}
		if !f.Changed("type") {
			q.Type = ""
		}
		if f.Changed("location") {
			q.Location = &location
		}
		run, err := s.runs.open(operands[0])
		if err != nil {
			return err
		}
		answer, err := query.Ask(run, &q)
		if err != nil {
			return readError(run.Name, err)
		}
		return o.show(s, answer, "query")
	}, o.check)
}

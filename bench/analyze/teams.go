package main

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
)

// teams prints the processor time of the busiest rank for some numbers of ranks.
func teams(dir string, args []string) error {
	f := flag.NewFlagSet("teams", flag.ContinueOnError)
	repeats := f.Int("n", 3, "analyses with each number of ranks")
	ranks := f.String("ranks", "1,2,4,8", "numbers of ranks")
	events := f.String("events", "all", "all or none")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return fmt.Errorf("teams: give one archive or SPEC")
	}
	input, err := archive(dir, f.Arg(0))
	if err != nil {
		return err
	}
	o := options(input, dir)
	o.GraphOnly = *events == "none"
	var alone team
	for word := range strings.SplitSeq(*ranks, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-ranks %s: not a number of ranks", word)
		}
		best := team{load: 1 << 62}
		for range *repeats {
			c, err := together(n, o)
			if err != nil {
				return err
			}
			if c.load < best.load {
				best = c
			}
		}
		if alone.events == 0 {
			alone = best
		}
		ns := func(d time.Duration) float64 { return float64(d) / float64(best.events) }
		fmt.Printf("%2d ranks, %d events: load %5.1f ns an event on the busiest rank, %5.1f on all, gain %.2f; all stages %5.1f on the busiest, gain %.2f\n",
			n, best.events, ns(best.load), ns(best.sum), float64(alone.load)/float64(best.load), ns(best.all), float64(alone.all)/float64(best.all))
	}
	return nil
}

// team is processor time: of the busiest rank and of all in the load, and of the busiest in all stages.
type team struct {
	load, sum, all time.Duration
	events         uint64
}

// together analyses once with n ranks.
func together(n int, o analyze.Options) (t team, err error) {
	watches, events := make([]*watch, n), make([]uint64, n)
	runtime.GC()
	err = mpi.RunInProcess(n, func(c mpi.Comm) error {
		runtime.LockOSThread()
		w, o := newWatch(thread), o
		watches[c.Rank()] = w
		o.AtStage = w.at
		r, err := analyze.Run(c, o)
		events[c.Rank()] = r.Events
		return err
	})
	for _, w := range watches {
		load := w.took["load"]
		t.load, t.sum, t.all = max(t.load, load), t.sum+load, max(t.all, w.sum())
	}
	t.events = events[0]
	return t, err
}

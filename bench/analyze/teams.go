// Command analyze measures what a team of ranks gains for one long location: the processor time of each rank in the load, and
// in all stages, with 1, 2, 4 and 8 in-process ranks.
//
//	go run ./bench/analyze [-ranks 1,2,4,8] [-events none] [-repeat 3] ARCHIVE.otf2 | SPEC
//
// SPEC is one of coppice demo --spec; stencil:procs=1,events=4M is a stream of messages. Times are user and system time of the
// rank's own thread, without the collector's; the least of some runs counts. A rank that waits takes none.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

func main() {
	log.SetFlags(0)
	ranks := flag.String("ranks", "1,2,4,8", "numbers of ranks")
	graph := flag.String("events", "all", "all or none")
	repeat := flag.Int("repeat", 3, "runs of each number")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("give one archive or SPEC")
	}
	dir, err := os.MkdirTemp("", "teams")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	trace, err := archive(flag.Arg(0), dir)
	if err != nil {
		log.Fatal(err)
	}
	o := jobs.AnalyzeOptions{Trace: trace, Output: filepath.Join(dir, "run.xtf"), Force: true, StoreBytes: 1 << 30, GraphOnly: *graph == "none"}
	var alone cpu
	for _, word := range strings.Split(*ranks, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			log.Fatalf("-ranks %s: not a number of ranks", word)
		}
		best := cpu{load: 1 << 62}
		for range *repeat {
			c, err := run(n, o)
			if err != nil {
				log.Fatal(err)
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
}

// archive returns an anchor file: the given one, or that of a generated archive in dir.
func archive(what, dir string) (string, error) {
	if strings.HasSuffix(what, ".otf2") {
		return what, nil
	}
	opt, err := tracetest.ParseOptions(what)
	if err != nil {
		return "", err
	}
	src, err := tracetest.New(opt)
	if err != nil {
		return "", err
	}
	_, err = otf2.Copy(dir, "traces", src, otf2.Options{})
	return filepath.Join(dir, "traces.otf2"), err
}

// cpu is processor time: of the busiest rank and of all in the load, and of the busiest in all stages.
type cpu struct {
	load, sum, all time.Duration
	events         uint64
}

// run analyses once.
func run(n int, o jobs.AnalyzeOptions) (cpu, error) {
	times, events := make([]cpu, n), make([]uint64, n)
	runtime.GC()
	err := mpi.RunInProcess(n, func(c mpi.Comm) error {
		runtime.LockOSThread()
		t, o := &times[c.Rank()], o
		var stage string
		var began time.Duration
		o.AtStage = func(name string) {
			now := threadTime()
			if stage == "load" {
				t.load = now - began
			}
			if stage == "" {
				t.all = -now
			}
			if stage, began = name, now; name == "" {
				t.all += now
			}
		}
		r, err := jobs.Analyze(c, o)
		events[c.Rank()] = r.Events
		return err
	})
	var c cpu
	for _, t := range times {
		c.load, c.sum, c.all = max(c.load, t.load), c.sum+t.load, max(c.all, t.all)
	}
	c.events = events[0]
	return c, err
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD of Linux
	if err := syscall.Getrusage(thread, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

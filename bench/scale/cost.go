package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
)

// costs are what units of work take on this machine, measured in a run of one rank.
type costs struct {
	picos   map[string]int64 // of each stage, ps an event
	input   int64            // bytes of the archive an event, as the generator estimates them
	output  int64            // bytes of the file an event, rounded up
	joined  int64            // ps a byte of a table that arrives from another rank
	written int64            // ps a byte that rank 0 writes alone
	message int64            // ps from the begin of a send to the end of its receive, of a short message between nodes
}

// looseCounts are the calls that lists do not have, of a rank on average.
type looseCounts struct {
	messages, bytes      int64 // to the next rank or the one before: crossings, passed costs, the critical path
	records, recordBytes int64
}

// stopwatch takes the processor time of this process at the begin of each stage. So other load does not count, and with goroutine
// ranks it is the time of all of them.
type stopwatch struct {
	stages []string
	at     []int64 // ns
}

func (s *stopwatch) stage(name string) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		s.stages, s.at = append(s.stages, name), append(s.at, u.Utime.Nano()+u.Stime.Nano())
	}
}

// of returns what a stage took, ns.
func (s *stopwatch) of(stage string) int64 {
	if i := slices.Index(s.stages, stage); i >= 0 && i+1 < len(s.at) {
		return s.at[i+1] - s.at[i]
	}
	return 0
}

// measureCosts analyses a trace of a few processes on one rank.
func measureCosts(w io.Writer, events uint64) (costs, error) {
	c := costs{picos: map[string]int64{}, input: 12, written: int64(time.Second) * 1000 / (1 << 30)}
	o, err := synthetic.ParseOptions(fmt.Sprintf("ring:every=10,jitter=5,seed=1,procs=8,events=%d", events))
	if err != nil {
		return c, err
	}
	src, err := synthetic.New(o)
	if err != nil {
		return c, err
	}
	dir, err := os.MkdirTemp("", "scale")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	var watch stopwatch
	res, err := analyze.Run(mpi.Serial(), analyze.Options{
		Source: src, Output: filepath.Join(dir, "run.xtf"), Version: "scale", StoreBytes: 1 << 30, AtStage: watch.stage,
	})
	if err != nil {
		return c, err
	}
	n := int64(res.Events)
	fmt.Fprintf(w, "one rank of this build, %d events: ns of processor time an event:", n)
	for _, name := range watch.stages {
		if c.picos[name] = watch.of(name) * 1000 / n; c.picos[name] >= 100 {
			fmt.Fprintf(w, " %s %.1f", name, float64(c.picos[name])/1000)
		}
	}
	c.output = (res.File.FileBytes + n - 1) / n
	if c.joined, err = measureJoins(64); err != nil {
		return c, err
	}
	fmt.Fprintf(w, "; %d bytes of the file an event; %.1f ns a byte of a table that arrives\n\n", c.output, float64(c.joined)/1000)
	return c, nil
}

// joining are the stages in which ranks join tables.
var joining = []string{"number", "graph", "finish", "reduce"}

// measureJoins returns what a byte of a table that comes from another rank takes, ps: what these stages take more on many goroutine
// ranks than on one, over the bytes that are joined. So it holds all else that more ranks bring.
func measureJoins(ranks int) (int64, error) {
	took := func(n int) (cpu, bytes int64, err error) {
		s := &settings{program: ringProgram, each: ranks / n, watch: &stopwatch{}}
		all, err := s.inProcess(n)
		for _, name := range joining {
			cpu += s.watch.of(name)
		}
		for _, r := range all {
			for _, st := range r.stages {
				for _, x := range st.notes {
					if x.Kind == mpi.OpRecv && patternOf(st.name, x) == climb {
						bytes += x.Received
					}
				}
			}
		}
		return cpu, bytes, err
	}
	many, bytes, err := took(ranks)
	if err != nil {
		return 0, err
	}
	one, _, err := took(1)
	return max(0, many-one) * 1000 / max(1, bytes), err
}

// loosely counts the calls that lists leave out.
func (s sample) loosely() (l looseCounts) {
	for r := range s {
		for _, st := range s[r] {
			for _, x := range st.notes {
				if patternOf(st.name, x) != loose || x.Kind == mpi.OpRecv {
					continue
				}
				switch {
				case x.Comm == 0 && x.Tag == tagRecords:
					l.records, l.recordBytes = l.records+1, l.recordBytes+x.Sent
				case x.Comm == 0:
					l.messages, l.bytes = l.messages+1, l.bytes+x.Sent
				}
			}
		}
	}
	n := int64(len(s))
	l.messages, l.bytes, l.records, l.recordBytes = l.messages/n, l.bytes/n, l.records/n, l.recordBytes/n
	return l
}

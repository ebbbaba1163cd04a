package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
)

// checkpointFlags are the flags of jobs that can be stopped and go on later; docs/checkpoint.md explains them.
type checkpointFlags struct {
	work   string
	resume bool
	every  time.Duration
	giveUp time.Duration
}

func (o *checkpointFlags) define(f *pflag.FlagSet, of string) {
	f.StringVar(&o.work, "checkpoint", "", "folder for segments and the list of finished work, which all ranks must see (default "+of+".work)")
	f.BoolVar(&o.resume, "resume", false, "go on with what an earlier run of the same job finished, on any number of ranks; without any, begin; an output that is complete already is done")
	f.DurationVar(&o.every, "checkpoint-every", 5*time.Minute, "list finished work this often, so that --resume keeps it; 0: only when the job is stopped by SIGUSR1, SIGTERM or the time limit")
	f.DurationVar(&o.giveUp, "watchdog", time.Hour, "end the job when nothing has moved on a rank for so long; a tenth of it gives a warning that names rank and stage; 0: never")
}

// apply gives a job the flags and the time limit of its batch job.
func (o *checkpointFlags) apply(job *jobs.AnalyzeOptions) error {
	if o.every < 0 || o.giveUp < 0 {
		return usage("--checkpoint-every %v --watchdog %v: give durations such as 5m, or 0", o.every, o.giveUp)
	}
	job.Watch.GiveUp = o.giveUp
	job.WorkDir, job.Resume, job.Every = o.work, o.resume, o.every
	job.Stop, job.End = &jobs.Stop{}, timeLimit()
	return nil
}

// timeLimit is when Slurm will end the job; zero if it does not tell.
func timeLimit() time.Time {
	n, err := strconv.ParseInt(os.Getenv("SLURM_JOB_END_TIME"), 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// sameTerm is how long further SIGTERMs are taken for the first one: at a time limit a process gets one from slurmd and one
// from srun.
const sameTerm = 2 * time.Second

// heedSignals lets SIGUSR1 and the first SIGTERM ask the job to stop. SIGINT, and a SIGTERM more than sameTerm behind the
// first one, end this process at once: what was listed stays valid. The function that it returns ends that. Warnings of the watchdog go where messages go.
func heedSignals(job *jobs.AnalyzeOptions, s streams) (end func()) {
	job.Watch.Warn = func(text string) { fmt.Fprintf(s.err, "coppice: %s.\n", text) }
	stop := job.Stop
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		var terminated time.Time
		for x := range c {
			switch {
			case x == syscall.SIGINT:
				fmt.Fprintln(s.err, "coppice: interrupted. What the last checkpoint lists stays valid: --resume goes on with it.")
				os.Exit(jobs.ExitInterrupt)
			case x == syscall.SIGTERM && !terminated.IsZero() && time.Since(terminated) > sameTerm:
				fmt.Fprintln(s.err, "coppice: terminated before a checkpoint was complete. What the last one lists stays valid: --resume goes on with it.")
				os.Exit(jobs.ExitTerminate)
			case x == syscall.SIGTERM:
				if terminated.IsZero() {
					terminated = time.Now()
				}
				stop.Ask("SIGTERM")
			default:
				stop.Ask("SIGUSR1")
			}
		}
	}()
	return func() {
		signal.Stop(c)
		close(c)
	}
}

// stopped tells on rank 0 that a job was stopped; the status stays.
func stopped(c mpi.Comm, err error, s streams) error {
	if !errors.Is(err, jobs.ErrStopped) {
		return err
	}
	if c.Rank() == 0 {
		fmt.Fprintf(s.err, "coppice: %v.\n", err)
	}
	return jobs.Fail(jobs.ExitCode(err), errSilent)
}

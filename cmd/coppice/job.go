package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/pflag"
)

// jobFlags are the flags of verbs that work on ranks.
type jobFlags struct {
	ranks            int
	progress, status string
	quiet            bool
	verbose          int
}

// define defines the flags; of says which part of the verb's work they are about.
func (o *jobFlags) define(f *pflag.FlagSet, of string) {
	atLeast(f, 1, &o.ranks, "jobs", "j", mpi.Ranks(), of+"in-process ranks when no launcher started them")
	oneOf(f, &o.progress, "progress", "auto", of+"auto, tty, plain, json or none", "auto", "tty", "plain", "json", "none")
	f.StringVar(&o.status, "status-file", os.Getenv("COPPICE_STATUS_FILE"), of+"keep the progress in this file, for coppice info")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress, estimates and closing lines")
}

func (o *jobFlags) defineVerbose(f *pflag.FlagSet, what string) {
	f.CountVarP(&o.verbose, "verbose", "v", what)
}

// display makes rank 0 show the progress of a job, unless --quiet is set.
func (o *jobFlags) display(c mpi.Comm, show *func(jobs.Progress), s streams) *display {
	if c.Rank() != 0 || o.quiet {
		return nil
	}
	d := &display{w: s.err, form: o.progress, status: o.status, last: time.Now()}
	if d.form == "auto" {
		d.form = "plain"
		if isTerminal(d.w) && os.Getenv("TERM") != "dumb" {
			d.form = "tty"
		}
	}
	*show = d.show
	return d
}

// newsEvery is the least time between two lines of the plain form, and between two writes of the status file.
const newsEvery = 10 * time.Second

// display shows the progress of a job on rank 0.
type display struct {
	w      io.Writer
	form   string
	status string        // file, "" for none
	now    jobs.Progress // shown last
	last   time.Time     // of the plain form
	saved  time.Time
	drawn  bool // the terminal shows a line of the tty form
}

// show receives the job's progress whenever it changes.
func (d *display) show(p jobs.Progress) {
	now := time.Now()
	begin := p.Stage != d.now.Stage
	st := p.Status(now)
	if d.status != "" && (begin || now.Sub(d.saved) >= newsEvery) {
		d.saved = now
		d.writeStatus(st)
	}
	switch d.form {
	case "tty":
		d.draw(st)
	case "plain":
		if now.Sub(d.last) >= newsEvery {
			d.last = now
			fmt.Fprintf(d.w, "coppice: %s\n", st.Text())
		}
	case "json":
		if begin || now.Sub(d.last) >= newsEvery {
			d.last = now
			b, _ := json.Marshal(st) // a plain struct of numbers and strings
			fmt.Fprintf(d.w, "%s\n", b)
		}
	}
	d.now = p
}

// draw redraws the line of the tty form.
func (d *display) draw(st *jobs.Status) {
	const cells = 10
	share, left := st.Share, st.Left
	if st.Job > 0 {
		share, left = st.Job, st.JobLeft
	}
	text := fmt.Sprintf("%-8s", st.Stage)
	if st.Total > 0 || st.Job > 0 {
		full := int(share * cells)
		text += fmt.Sprintf(" %s %3.0f %%", strings.Repeat("█", full)+strings.Repeat("░", cells-full), 100*share)
	}
	if st.Total > 0 {
		text += fmt.Sprintf("  %s/%s", numbers.Bytes(st.Done), numbers.Bytes(st.Total))
	}
	if st.Rate > 0 {
		text += fmt.Sprintf("  %s/s", numbers.Bytes(st.Rate))
	}
	text += fmt.Sprintf("  %d ranks", st.Ranks)
	if st.Ranks > 1 && st.Total > 0 {
		text += fmt.Sprintf(" (slowest: rank %d, %.0f %%)", st.Slowest, 100*st.Slow)
	}
	if left > 0 {
		text += fmt.Sprintf("  left %s", time.Duration(left)*time.Second)
	}
	fmt.Fprintf(d.w, "\r\x1b[K%s", text)
	d.drawn = true
}

// end removes the progress from the terminal.
func (d *display) end(err error) {
	if d == nil {
		return
	}
	if d.drawn {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
	if d.status != "" {
		state := "done"
		switch {
		case jobs.ExitCode(err) == jobs.ExitSaved:
			state = err.Error() // stopped: ...
		case err != nil:
			state = "failed: " + err.Error()
		}
		st := d.now.Status(time.Now())
		st.State, st.Share, st.Left = state, 1, 0
		d.writeStatus(st)
	}
}

// writeStatus replaces the status file. A status that cannot be written is reported
// once and does not stop the job.
func (d *display) writeStatus(st *jobs.Status) {
	b, err := json.Marshal(st)
	if err == nil {
		o := output{path: d.status, force: true}
		err = o.write(streams{}, writeBytes(append(b, '\n')))
	}
	if err != nil {
		fmt.Fprintf(d.w, "coppice: status file %s: %v; the job continues without it\n", d.status, err)
		d.status = ""
	}
}

// sameTerm is the time in which further SIGTERMs count as the first one: at a time limit a process gets one from slurmd and one
// from srun.
const sameTerm = 2 * time.Second

// heedSignals makes SIGUSR1 and the first SIGTERM ask the job to stop. SIGINT, and a SIGTERM more than sameTerm after the first,
// end the process at once; the last list of finished work stays valid. Warnings of the watchdog go to the messages. The returned
// function undoes all this.
func heedSignals(job *analyze.Options, s streams) (end func()) {
	job.Watch.Warn = func(text string) { s.say("%s.", text) }
	stop := job.Stop
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		var terminated time.Time
		for x := range c {
			switch {
			case x == syscall.SIGINT:
				s.say("interrupted. What the last checkpoint lists stays valid: --resume continues from it.")
				os.Exit(jobs.ExitInterrupt)
			case x == syscall.SIGTERM && !terminated.IsZero() && time.Since(terminated) > sameTerm:
				s.say("terminated before a checkpoint was complete. What the last one lists stays valid: --resume continues from it.")
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

// stopped reports on rank 0 that a job was stopped. The exit status is unchanged. input is what the job reads.
func stopped(c mpi.Comm, input string, err error, s streams) error {
	if errors.Is(err, xtf.ErrNotXTF) || errors.Is(err, trace.ErrNotTrace) {
		return readError(input, err)
	}
	if !errors.Is(err, jobs.ErrStopped) {
		return err
	}
	if c.Rank() == 0 {
		s.say("%v.", err)
	}
	return jobs.Fail(jobs.ExitCode(err), errSilent)
}

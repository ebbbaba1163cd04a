package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
)

// ErrSubmit is wrapped by every error of Submit.
var ErrSubmit = errors.New("submit")

// scheduler is what differs between schedulers, apart from the templates of scripts. Its submit command reads a script from standard input
// and prints the job's number.
type scheduler struct {
	name         string
	submit       []string
	after        func(id string) []string // options: start after that job has ended successfully
	id           *regexp.Regexp           // finds the job's number in the output of submit
	show, cancel string
}

var schedulers = []scheduler{
	{
		"slurm",
		[]string{"sbatch", "--parsable"},
		func(id string) []string { return []string{"--dependency=afterok:" + id, "--kill-on-invalid-dep=yes"} },
		regexp.MustCompile(`(?m)^([0-9]+)(?:;.*)?$`), "squeue -j", "scancel",
	},
	{
		"pbs",
		[]string{"qsub"},
		func(id string) []string { return []string{"-W", "depend=afterok:" + id} },
		regexp.MustCompile(`(?m)^([0-9][0-9A-Za-z.\-_\[\]]*)\s*$`), "qstat", "qdel",
	},
	{
		"lsf",
		[]string{"bsub"},
		func(id string) []string { return []string{"-w", "done(" + id + ")"} },
		regexp.MustCompile(`Job <([0-9]+)>`), "bjobs", "bkill",
	},
	{
		"flux",
		[]string{"flux", "batch"},
		func(id string) []string { return []string{"--dependency=afterok:" + id} },
		regexp.MustCompile(`(?m)^([0-9A-Za-zƒ]+)\s*$`), "flux jobs", "flux cancel",
	},
	{name: "mpirun"},
}

// Schedulers returns the names that a site file may give. The last one, mpirun, is not a scheduler.
func Schedulers() []string {
	var names []string
	for _, s := range schedulers {
		names = append(names, s.name)
	}
	return names
}

// Submitted is a job in the queue.
type Submitted struct {
	ID     string `json:"id"`
	Verb   string `json:"verb"`
	Status string `json:"status_file"` // in the folder of the submission
	Show   string `json:"show"`        // command that shows the job; Cancel: that cancels it
	Cancel string `json:"cancel"`
}

// Submit queues the jobs. Each starts after the previous one has ended successfully. If one is refused, those before it are queued, and are
// in p.Submitted.
func (p *Plan) Submit(ctx context.Context) error {
	site := p.Site
	i := slices.IndexFunc(schedulers, func(s scheduler) bool { return s.name == site.Name() })
	s := &schedulers[max(i, 0)]
	if s.submit == nil {
		return fmt.Errorf("%w: mpirun alone has no queue. Write the script with --format script and run it", ErrSubmit)
	}
	for _, j := range p.Jobs {
		text, err := j.Script(p.Site, p.Known)
		if err != nil {
			return err
		}
		args := slices.Clone(s.submit)
		if n := len(p.Submitted); n > 0 {
			args = append(args, s.after(p.Submitted[n-1].ID)...)
		}
		id, err := s.run(ctx, args, text)
		if err != nil {
			return err
		}
		p.Submitted = append(p.Submitted, Submitted{id, j.Verb, "coppice-" + id + ".status", s.show + " " + id, s.cancel + " " + id})
	}
	return nil
}

// run submits a script and returns the job's number.
func (s *scheduler) run(ctx context.Context, args []string, text []byte) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin = bytes.NewReader(text)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s: %w: %s", ErrSubmit, Line(args), err, said(errs.String()+out.String()))
	}
	m := s.id.FindSubmatch(out.Bytes())
	if m == nil {
		return "", fmt.Errorf("%w: %s printed %q, which has no number of a job", ErrSubmit, Line(args), out.String())
	}
	return string(m[1]), nil
}

// said returns the output of a command as one line.
func said(text string) string {
	return oneLine(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; "))
}

// State returns the state of a Slurm job in the queue, such as RUNNING; "" if it has left the queue.
func State(ctx context.Context, site *Site, id string) (string, error) {
	if site.Name() != "slurm" {
		return "", fmt.Errorf("%w: following a job through its queue works with Slurm alone: coppice info coppice-%s.status --follow shows it once it runs", ErrSubmit, id)
	}
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "squeue", "--noheader", "--format=%T", "--jobs="+id)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && strings.Contains(errs.String(), "Invalid job id") {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%w: squeue: %w: %s", ErrSubmit, err, said(errs.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// How often Follow looks at a job: its status file is replaced every 10 s; the queue is asked less often than by people.
const (
	followEvery = 2 * time.Second
	askEvery    = 10 * time.Second
	quietAfter  = time.Minute // after this time without news of a running job Follow says so
)

// ReadStatus reads a status file; nil if there is none yet. The file is replaced by rename, so it is never incomplete.
func ReadStatus(path string) (*jobs.Status, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%w. Give the path of a file that --status-file names", err))
	}
	st := &jobs.Status{}
	if err := json.Unmarshal(bytes.TrimSpace(b), st); err != nil || st.Schema != jobs.StatusSchema {
		return nil, jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: not a status file. Give the path of one that --status-file names", path))
	}
	return st, nil
}

// follower writes the changes of one job's state.
type follower struct {
	w     io.Writer
	path  string // status file
	last  string
	state string    // of the last status, "" before the first
	since time.Time // time of the last change
	quiet bool      // quietAfter was reported
}

// look writes what is new in the status file.
func (f *follower) look(now time.Time) error {
	st, err := ReadStatus(f.path)
	if err != nil || st == nil {
		return err
	}
	f.state = st.State
	switch line := st.Text(); {
	case line != f.last:
		f.last, f.since, f.quiet = line, now, false
		_, err = fmt.Fprintln(f.w, line)
	case st.State == jobs.Running && !f.quiet && now.Sub(f.since) > quietAfter:
		f.quiet = true
		_, err = fmt.Fprintf(f.w, "no news for %v: the job was killed, or its ranks or its file system do not get on; look whether it still runs\n", quietAfter)
	}
	return err
}

// FollowStatus writes the changes of a status file until its job has ended.
func FollowStatus(ctx context.Context, path string, w io.Writer) error {
	f := &follower{w: w, path: path}
	for {
		if err := f.look(time.Now()); err != nil {
			return err
		}
		if f.state != "" && f.state != jobs.Running {
			return nil
		}
		if err := pause(ctx, followEvery); err != nil {
			return nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Follow writes the changes of the submitted jobs, one after the other, until each has left the queue. A job that queues itself again has
// not left. The error is about following; the jobs' own exit statuses are in their output.
func (p *Plan) Follow(ctx context.Context, w io.Writer) error {
	for _, x := range p.Submitted {
		f := &follower{w: w, path: x.Status}
		var asked time.Time
		for last := ""; ; {
			before := f.state
			if err := f.look(time.Now()); err != nil {
				return err
			}
			if time.Since(asked) >= askEvery || f.state != before { // a job that stopped may wait in the queue for long
				state, err := State(ctx, p.Site, x.ID)
				if err != nil {
					return jobs.Fail(jobs.ExitUsage, err)
				}
				asked = time.Now()
				if state == "" {
					break
				}
				if state != last {
					last = state
					fmt.Fprintf(w, "job %s, %s: %s\n", x.ID, x.Verb, strings.ToLower(state))
				}
			}
			if err := pause(ctx, followEvery); err != nil {
				return nil
			}
		}
		if err := f.look(time.Now()); err != nil {
			return err
		}
		fmt.Fprintf(w, "job %s, %s: no longer in the queue; its output is coppice-%s.out\n", x.ID, x.Verb, x.ID)
	}
	return nil
}

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
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// How often a followed job is looked at: its status file is replaced every 10 s, its queue is asked no more often than people do.
const (
	followEvery = 2 * time.Second
	askEvery    = 10 * time.Second
)

// ReadStatus reads a status file, nil while there is none. The file is replaced by renaming, so it is whole.
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

// statusLine is a status in one line.
func statusLine(st *jobs.Status) string {
	at := numbers.Clean(st.Time, 40)
	if st.State != jobs.Running {
		return fmt.Sprintf("%s %s", at, numbers.Clean(st.State, 300))
	}
	text := fmt.Sprintf("%s %s %.0f %%", at, numbers.Clean(st.Stage, 40), 100*st.Share)
	if st.Total > 0 {
		text += fmt.Sprintf(" %s of %s, %s/s", numbers.Bytes(st.Done), numbers.Bytes(st.Total), numbers.Bytes(st.Rate))
	}
	if st.Ranks > 1 {
		text += fmt.Sprintf(", %d ranks, slowest %d at %.0f %%", st.Ranks, st.Slowest, 100*st.Slow)
	}
	if st.Left > 0 {
		text += fmt.Sprintf(", about %.0f s left in this stage", st.Left)
	}
	return text
}

// follower prints the states of one job as they change.
type follower struct {
	w     io.Writer
	path  string // status file
	last  string
	state string // of the last status, "" before there is one
}

// look prints what is new in the status file.
func (f *follower) look() error {
	st, err := ReadStatus(f.path)
	if err != nil || st == nil {
		return err
	}
	f.state = st.State
	if line := statusLine(st); line != f.last {
		f.last = line
		_, err = fmt.Fprintln(f.w, line)
	}
	return err
}

// FollowStatus shows a status file until its job has ended.
func FollowStatus(ctx context.Context, path string, w io.Writer) error {
	f := &follower{w: w, path: path}
	for {
		if err := f.look(); err != nil {
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

// Follow shows the submitted jobs, one after the other, until the last has left the queue. A job that goes back into the queue
// is still there. The exit status is that of the showing: the jobs' own are in their output.
func (p *Plan) Follow(ctx context.Context, w io.Writer) error {
	for _, x := range p.Submitted {
		f := &follower{w: w, path: x.Status}
		var asked time.Time
		for last := ""; ; {
			before := f.state
			if err := f.look(); err != nil {
				return err
			}
			if time.Since(asked) >= askEvery || f.state != before { // a job that stopped may wait in the queue again for long
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
		if err := f.look(); err != nil {
			return err
		}
		fmt.Fprintf(w, "job %s, %s: no longer in the queue; its output is coppice-%s.out\n", x.ID, x.Verb, x.ID)
	}
	return nil
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
)

var progressForms = []string{"auto", "tty", "plain", "json", "none"}

// Steps of the plain form: a line at the start of a stage, then when 5 % more
// and 60 s have passed, or after 10 minutes of silence.
const (
	plainStep    = 0.05
	plainEvery   = time.Minute
	plainSilence = 10 * time.Minute
	statusEvery  = 10 * time.Second
)

// display shows the progress of a job on rank 0.
type display struct {
	w      io.Writer
	form   string
	status string        // file, "" for none
	now    jobs.Progress // what was shown last
	shown  float64       // share at the last plain line
	last   time.Time
	saved  time.Time
	drawn  bool // a line of the tty form stands
}

func newDisplay(w io.Writer, form, status string) *display {
	if form == "auto" {
		form = "plain"
		if isTerminal(w) && os.Getenv("TERM") != "dumb" {
			form = "tty"
		}
	}
	return &display{w: w, form: form, status: status}
}

func share(p jobs.Progress) float64 {
	if p.Total == 0 {
		if p.End {
			return 1
		}
		return 0
	}
	return float64(p.Done) / float64(p.Total)
}

// left estimates the time to the end of the stage.
func left(p jobs.Progress) time.Duration {
	s := share(p)
	if s <= 0 || s >= 1 {
		return 0
	}
	return time.Duration(float64(p.Elapsed) * (1 - s) / s).Round(time.Second)
}

func rate(p jobs.Progress) float64 {
	if p.Elapsed <= 0 {
		return 0
	}
	return float64(p.Done) / p.Elapsed.Seconds()
}

// show is called by the job whenever there is news.
func (d *display) show(p jobs.Progress) {
	now := time.Now()
	begin := p.Stage != d.now.Stage
	d.saveStatus(p, now, begin)
	switch d.form {
	case "tty":
		d.draw(p)
	case "plain", "json":
		s := share(p)
		due := now.Sub(d.last) >= plainEvery && s >= d.shown+plainStep || now.Sub(d.last) >= plainSilence
		if !begin && !due {
			break
		}
		d.shown, d.last = s, now
		d.line(p, now)
	}
	d.now = p
}

func (d *display) line(p jobs.Progress, now time.Time) {
	stamp := now.UTC().Format(time.RFC3339)
	if d.form == "json" {
		b, _ := json.Marshal(statusOf(p, now)) // plain struct of numbers and strings
		fmt.Fprintf(d.w, "%s\n", b)
		return
	}
	fmt.Fprintf(d.w, "%s coppice %s %.0f%% bytes=%s/%s rate=%s/s slow=%d:%.0f%% eta=%.0fs\n",
		stamp, p.Stage, 100*share(p), decimal(p.Done), decimal(p.Total), decimal(uint64(rate(p))), p.Slowest, 100*p.Share, left(p).Seconds())
}

// draw redraws the line of the tty form.
func (d *display) draw(p jobs.Progress) {
	const cells = 10
	s := share(p)
	bar := strings.Repeat("█", int(s*cells)) + strings.Repeat("░", cells-int(s*cells))
	text := fmt.Sprintf("%-8s %s %3.0f %%", p.Stage, bar, 100*s)
	if p.Total > 0 {
		text += fmt.Sprintf("  %s/%s  %s/s", decimal(p.Done), decimal(p.Total), decimal(uint64(rate(p))))
	}
	text += fmt.Sprintf("  %d ranks", p.Ranks)
	if p.Ranks > 1 && p.Total > 0 {
		text += fmt.Sprintf(" (slowest: rank %d, %.0f %%)", p.Slowest, 100*p.Share)
	}
	if l := left(p); l > 0 {
		text += fmt.Sprintf("  left %s", l)
	}
	fmt.Fprintf(d.w, "\r\x1b[K%s", text)
	d.drawn = true
}

// end removes what the job's progress left on the screen.
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
		st := statusOf(d.now, time.Now())
		st.State, st.Share, st.Left = state, 1, 0
		d.writeStatus(st)
	}
}

const statusSchema = "coppice.status/1"

// status is the content of the status file and of a line of --progress=json.
type status struct {
	Schema  string  `json:"schema"`
	Time    string  `json:"time"`
	Stage   string  `json:"stage"`
	State   string  `json:"state"`
	Share   float64 `json:"share"`
	Done    uint64  `json:"bytes_done"`
	Total   uint64  `json:"bytes_total"`
	Rate    uint64  `json:"bytes_per_second"`
	Ranks   int     `json:"ranks"`
	Slowest int     `json:"slowest_rank"`
	Slow    float64 `json:"slowest_share"`
	Left    float64 `json:"seconds_left"`
}

func statusOf(p jobs.Progress, now time.Time) status {
	return status{
		Schema: statusSchema, Time: now.UTC().Format(time.RFC3339), Stage: p.Stage, State: "running", Share: share(p),
		Done: p.Done, Total: p.Total, Rate: uint64(rate(p)), Ranks: p.Ranks, Slowest: p.Slowest, Slow: p.Share, Left: left(p).Seconds(),
	}
}

func (d *display) saveStatus(p jobs.Progress, now time.Time, begin bool) {
	if d.status == "" || !begin && now.Sub(d.saved) < statusEvery {
		return
	}
	d.saved = now
	d.writeStatus(statusOf(p, now))
}

// writeStatus replaces the status file. A status that cannot be written is told
// once and does not stop the job.
func (d *display) writeStatus(st status) {
	b, err := json.Marshal(st)
	tmp := filepath.Join(filepath.Dir(d.status), "."+filepath.Base(d.status)+".new")
	if err == nil {
		err = os.WriteFile(tmp, append(b, '\n'), 0o666)
	}
	if err == nil {
		err = os.Rename(tmp, d.status)
	}
	if err != nil {
		fmt.Fprintf(d.w, "coppice: status file %s: %v; the job goes on without it\n", d.status, err)
		d.status = ""
	}
}

// decimal prints bytes in decimal units.
func decimal(n uint64) string {
	v := float64(n)
	for _, u := range []string{"", "k", "M", "G", "T"} {
		if v < 999.5 || u == "T" {
			if u == "" {
				return fmt.Sprintf("%d B", n)
			}
			return fmt.Sprintf("%.3g %sB", v, u)
		}
		v /= 1000
	}
	return ""
}

package jobs

import (
	"fmt"
	"time"

	"github.com/coppice-hpc/coppice/report/numbers"
)

// StatusSchema names the schema of status files.
const StatusSchema = "coppice.status/1"

// Running is the State of a job in progress; other states say how it ended.
const Running = "running"

// Status is the content of a status file and of a line of --progress=json.
type Status struct {
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
	Left    float64 `json:"seconds_left"`               // of the stage, about
	Job     float64 `json:"job_share,omitempty"`        // done of the whole job, about; 0 if the stages to come are not known
	JobLeft float64 `json:"job_seconds_left,omitempty"` // of the whole job, about
}

// Status returns the status of a running job.
func (p *Progress) Status(now time.Time) *Status {
	s := &Status{
		Schema: StatusSchema, Time: now.UTC().Format(time.RFC3339), Stage: p.Stage, State: Running, Done: p.Done, Total: p.Total,
		Ranks: p.Ranks, Slowest: p.Slowest, Slow: p.Share,
	}
	if p.Total > 0 {
		s.Share = float64(p.Done) / float64(p.Total)
	} else if p.End {
		s.Share = 1
	}
	if p.Elapsed > time.Second { // before that the rate means nothing
		s.Rate = uint64(float64(p.Done) / p.Elapsed.Seconds())
	}
	s.Left = left(p.Elapsed, s.Share, 1-s.Share)
	if p.To > 0 {
		s.Job = p.From + (p.To-p.From)*s.Share
		s.JobLeft = left(p.Running, s.Job-p.Begin, 1-s.Job)
	}
	return s
}

// left returns about how many seconds the rest of some work takes, when the part done took so long.
func left(took time.Duration, done, rest float64) float64 {
	if done <= 0 || rest <= 0 {
		return 0
	}
	return time.Duration(float64(took) * rest / done).Round(time.Second).Seconds()
}

// Text returns the status as one line.
func (s *Status) Text() string {
	at := numbers.Clean(s.Time, 40)
	if s.State != Running {
		return at + " " + numbers.Clean(s.State, 300)
	}
	text := at + " "
	if s.Job > 0 {
		text += fmt.Sprintf("%.0f %%, ", 100*s.Job)
	}
	text += numbers.Clean(s.Stage, 40)
	if s.Total > 0 || s.Share > 0 {
		text += fmt.Sprintf(" %.0f %%", 100*s.Share)
	}
	if s.Total > 0 {
		text += fmt.Sprintf(", %s of %s", numbers.Bytes(s.Done), numbers.Bytes(s.Total))
	}
	if s.Rate > 0 {
		text += fmt.Sprintf(", %s/s", numbers.Bytes(s.Rate))
	}
	if s.Ranks > 1 && s.Total > 0 {
		text += fmt.Sprintf(", %d ranks, slowest %d at %.0f %%", s.Ranks, s.Slowest, 100*s.Slow)
	}
	switch {
	case s.JobLeft > 0:
		text += fmt.Sprintf(", about %.0f s left", s.JobLeft)
	case s.Left > 0:
		text += fmt.Sprintf(", about %.0f s left in this stage", s.Left)
	}
	return text
}

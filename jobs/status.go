package jobs

import "time"

// StatusSchema names the form of status files.
const StatusSchema = "coppice.status/1"

// Running is the State of a job that has not ended; other states say how it ended.
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
	Left    float64 `json:"seconds_left"` // of the stage, about
}

// Status is the progress of a running job at a time.
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
	if p.Elapsed > 0 {
		s.Rate = uint64(float64(p.Done) / p.Elapsed.Seconds())
	}
	if s.Share > 0 && s.Share < 1 {
		s.Left = time.Duration(float64(p.Elapsed) * (1 - s.Share) / s.Share).Round(time.Second).Seconds()
	}
	return s
}

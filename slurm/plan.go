package slurm

import (
	"fmt"
	"io"
	"time"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
)

// Plan is a list of jobs in the order in which they run.
type Plan struct {
	Site      *Site
	Known     bool // a site file was read
	Jobs      []*Job
	Submitted []Submitted
}

// WriteText writes the plan as text.
func (p *Plan) WriteText(w io.Writer) error {
	for i, j := range p.Jobs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := table.WriteFacts(w, j.Verb+" "+numbers.Clean(j.Input, 200), p.rows(j)); err != nil {
			return err
		}
	}
	if p.Submitted == nil {
		return p.advise(w)
	}
	fmt.Fprintln(w)
	for _, x := range p.Submitted {
		fmt.Fprintf(w, "job %s: %s\n  follow  coppice info %s --follow; %s\n  cancel  %s\n", x.ID, x.Verb, x.Status, x.Show, x.Cancel)
	}
	return nil
}

func (p *Plan) rows(j *Job) [][]string {
	z := j.Size
	ranks := fmt.Sprintf("%d, limited by the %s", z.Ranks, z.Decided)
	if j.Verb == "record" {
		ranks = fmt.Sprintf("%d processes, as asked for", z.Ranks)
	}
	rows := [][]string{{"ranks", ranks}}
	for _, b := range z.Bounds {
		rows = append(rows, []string{"", fmt.Sprintf("%-18s %8d  %s", b.Name, b.Ranks, b.Why)})
	}
	nodes := "not known: a site file gives the cores of a node"
	if z.Nodes > 0 {
		nodes = fmt.Sprintf("%d with up to %s, by their %s", z.Nodes, numbers.Plural(z.RanksPerNode, "rank"), z.PerNode)
	}
	rows = append(rows, []string{"nodes", nodes})
	if z.Memory > 0 {
		rows = append(rows, []string{"memory", fmt.Sprintf("%s a rank, by %s; the job asks for %s", Binary(z.Memory), z.MemoryBound, Binary(z.Slot))})
	}
	if z.Disk > 0 {
		rows = append(rows, []string{"disk", "up to " + numbers.Bytes(z.Disk)})
	}
	limit := fmt.Sprintf("%s, by %s", minutes(z.Time), z.TimeBound)
	if z.Computed > 0 && z.TimeBound != "flag --time" {
		limit += fmt.Sprintf(": %s at %s/s a rank, and a reserve", z.Computed.Round(time.Second), numbers.Bytes(uint64(z.Rate)))
	}
	rows = append(rows, []string{"time", limit})
	if z.Unfit != "" {
		rows = append(rows, []string{"problem", "does not fit: " + z.Unfit})
	}
	return append(rows, []string{"runs", j.CommandLine(p.Site)})
}

func minutes(d time.Duration) string {
	if d%time.Minute != 0 {
		return d.String()
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

func (p *Plan) advise(w io.Writer) error {
	text := "\n--submit puts it into the queue"
	if len(p.Jobs) > 1 {
		text = "\n--submit puts all into the queue; each starts when the one before has ended well"
	} else {
		text += "; --format script prints the batch script"
	}
	if !p.Known {
		text += "\nNothing is known about the machine: look at the EDIT lines of the script, or write a site file (coppice help slurm)"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// Document is a plan in JSON.
type Document struct {
	Scheduler string       `json:"scheduler"`
	Jobs      []PlannedJob `json:"jobs"`
	Submitted []Submitted  `json:"submitted"`
}

// PlannedJob is one job of a Document.
type PlannedJob struct {
	Verb   string `json:"verb"`
	Input  string `json:"input"`
	Output string `json:"output"`
	*Size
	Seconds  float64  `json:"computed_seconds"`
	Limit    int64    `json:"time_limit_seconds"`
	Command  []string `json:"command"`
	Script   string   `json:"script"`
	Requires *int     `json:"requires"` // index in this list of the job that must have ended successfully
}

// Document returns the JSON form.
func (p *Plan) Document() (*Document, error) {
	d := &Document{Scheduler: p.Site.Name(), Jobs: []PlannedJob{}, Submitted: append([]Submitted{}, p.Submitted...)}
	for i, j := range p.Jobs {
		text, err := j.Script(p.Site, p.Known)
		if err != nil {
			return nil, err
		}
		x := PlannedJob{
			Verb: j.Verb, Input: j.Input, Output: j.Output, Size: j.Size, Seconds: j.Size.Computed.Seconds(), Limit: int64(j.Size.Time / time.Second),
			Command: j.Words(p.Site), Script: string(text),
		}
		if i > 0 {
			x.Requires = new(i - 1)
		}
		d.Jobs = append(d.Jobs, x)
	}
	return d, nil
}

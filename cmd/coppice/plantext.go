package main

import (
	"fmt"
	"io"
	"time"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/slurm"
)

// text prints the plan for people.
func (p *plan) text(w io.Writer) error {
	for i, st := range p.steps {
		if i > 0 {
			fmt.Fprintln(w)
		}
		z := st.job.Size
		if err := facts(w, st.verb+" "+report.Clean(st.input, 200), p.rows(st, z)); err != nil {
			return err
		}
	}
	if p.submitted == nil {
		return p.advise(w)
	}
	fmt.Fprintln(w)
	for _, x := range p.submitted {
		fmt.Fprintf(w, "job %s: %s\n  follow  coppice info %s --follow; %s\n  cancel  %s\n", x.ID, x.Verb, x.Status, x.Show, x.Cancel)
	}
	return nil
}

// rows are the lines of one job.
func (p *plan) rows(st *planStep, z *slurm.Size) [][]string {
	ranks := fmt.Sprintf("%d, limited by the %s", z.Ranks, z.Decided)
	if st.verb == "record" {
		ranks = fmt.Sprintf("%d processes, as asked for", z.Ranks)
	}
	rows := [][]string{{"ranks", ranks}}
	for _, b := range z.Bounds {
		rows = append(rows, []string{"", fmt.Sprintf("%-18s %8d  %s", b.Name, b.Ranks, b.Why)})
	}
	switch {
	case z.Nodes > 0:
		rows = append(rows, []string{"nodes", fmt.Sprintf("%d with up to %s, by their %s", z.Nodes, report.Plural(z.RanksPerNode, "rank"), z.PerNode)})
	default:
		rows = append(rows, []string{"nodes", "not known: a site file gives the cores of a node"})
	}
	if z.Memory > 0 {
		rows = append(rows, []string{"memory", fmt.Sprintf("%s a rank, by %s; the job asks for %s", slurm.Binary(z.Memory), z.MemoryBound, slurm.Binary(z.Slot))})
	}
	if z.Disk > 0 {
		rows = append(rows, []string{"disk", "up to " + report.Size(z.Disk)})
	}
	limit := fmt.Sprintf("%s, by %s", minutes(z.Time), z.TimeBound)
	if z.Computed > 0 && z.TimeBound != "flag --time" {
		limit += fmt.Sprintf(": %s at %s/s a rank, and a reserve", z.Computed.Round(time.Second), report.Size(uint64(z.Rate)))
	}
	rows = append(rows, []string{"time", limit})
	if z.Unfit != "" {
		rows = append(rows, []string{"problem", "does not fit: " + z.Unfit})
	}
	return append(rows, []string{"runs", st.job.CommandLine(p.site)})
}

func minutes(d time.Duration) string {
	if d%time.Minute != 0 {
		return d.String()
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// advise says what to do with a plan.
func (p *plan) advise(w io.Writer) error {
	text := "\n--submit puts it into the queue"
	if len(p.steps) > 1 {
		text = "\n--submit puts all into the queue; each starts when the one before has ended well"
	} else {
		text += "; --format script prints the batch script"
	}
	if !p.flags.known {
		text += "\nNothing is known about the machine: look at the EDIT lines of the script, or write a site file (coppice help slurm)"
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// planDocument is a plan in JSON.
type planDocument struct {
	Scheduler string            `json:"scheduler"`
	Jobs      []planJob         `json:"jobs"`
	Submitted []slurm.Submitted `json:"submitted"`
}

// planJob is one job of it.
type planJob struct {
	Verb   string `json:"verb"`
	Input  string `json:"input"`
	Output string `json:"output"`
	*slurm.Size
	Seconds  float64  `json:"computed_seconds"`
	Limit    int64    `json:"time_limit_seconds"`
	Command  []string `json:"command"`
	Script   string   `json:"script"`
	Requires *int     `json:"requires"` // number of the job in this list that must have ended well
}

func (p *plan) document() (*planDocument, error) {
	d := &planDocument{Scheduler: p.site.Name(), Jobs: []planJob{}, Submitted: p.submitted}
	if d.Submitted == nil {
		d.Submitted = []slurm.Submitted{}
	}
	for i, st := range p.steps {
		text, err := st.job.Script(p.site, p.flags.known)
		if err != nil {
			return nil, err
		}
		z := st.job.Size
		x := planJob{
			Verb: st.verb, Input: st.input, Output: st.output, Size: z, Seconds: z.Computed.Seconds(), Limit: int64(z.Time / time.Second),
			Command: st.job.Words(p.site), Script: string(text),
		}
		if i > 0 {
			before := i - 1
			x.Requires = &before
		}
		d.Jobs = append(d.Jobs, x)
	}
	return d, nil
}

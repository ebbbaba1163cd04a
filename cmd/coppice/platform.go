package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/prediction"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// platformOutput is where a platform file goes.
type platformOutput struct {
	output
	name string
}

func (o *platformOutput) define(f *pflag.FlagSet) {
	o.format = "text"
	o.defineFile(f, "platform file")
	f.StringVar(&o.name, "name", "", "name of the platform in the file and in reports")
}

// put writes a platform, with the name that a flag gives.
func (o *platformOutput) put(p *platform.Platform, notes []string, s streams) error {
	p.Name = cmp.Or(o.name, p.Name)
	return o.write(s, func(w io.Writer) error { return p.Write(w, notes...) })
}

// platformInput gives an error about a platform its exit code.
func platformInput(err error) error {
	if errors.Is(err, platform.ErrInvalid) {
		return fail(jobs.ExitInput, "%w", err)
	}
	return err
}

func platformShow(s streams) *cobra.Command {
	o := platformOutput{}
	var processes uint32
	c := verb("show P.toml", "check a platform file and print it in full", 1, 1,
		"coppice platform show P.toml",
		"coppice platform show P.toml --processes 64")
	f := c.Flags()
	o.define(f)
	f.Uint32Var(&processes, "processes", 0, "place this many processes too, and say on how many nodes")
	return s.does(c, func(operands []string, s streams) error {
		p, err := platform.Open(operands[0])
		if err != nil {
			return platformInput(err)
		}
		var notes []string
		if processes > 0 {
			n, err := p.Network(processes)
			if err != nil {
				return platformInput(err)
			}
			used := map[uint32]bool{}
			for i := range processes {
				used[n.NodeOf(i)] = true
			}
			notes = append(notes, fmt.Sprintf("%d processes on %d of %d nodes", processes, len(used), n.Nodes))
		}
		return o.put(p, notes, s)
	}, o.check)
}

func platformMeasure(s streams) *cobra.Command {
	o := platformOutput{}
	var m prediction.MeasureOptions
	c := verb("measure -o P.toml", "measure this machine, on the ranks of mpirun or srun", 0, 0,
		"mpirun -n 2 coppice platform measure -o P.toml",
		"srun -N 2 --ntasks-per-node 2 coppice platform measure -o P.toml --name cluster-a")
	f := c.Flags()
	o.define(f)
	atLeast(f, 1, &m.Repetitions, "repetitions", "", 1000, "repeat each operation this often; the least time counts")
	f.DurationVar(&m.Patience, "patience", 2*time.Second, "stop repeating an operation after this time")
	return s.does(c, func(_ []string, s streams) error {
		if m.Patience <= 0 {
			return usage("--patience %v: give a time longer than 0", m.Patience)
		}
		m.Name = o.name
		return launch(1, s, func(c mpi.Comm) error {
			var err error
			if c.Rank() == 0 {
				err = o.check()
			}
			if err := c.Agree(err); err != nil {
				return err
			}
			found, err := prediction.MeasurePlatform(c, m)
			if err != nil || found == nil {
				return err
			}
			for _, w := range found.Warnings {
				s.say("platform measure: %s.", w)
			}
			return o.put(found.Platform, found.Notes, s)
		})
	})
}

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

func platformConvert(s streams) *cobra.Command {
	o := platformOutput{}
	c := verb("convert --loggops LETTERS|--simgrid FILE|--dimemas FILE", "make a platform file of parameters of another tool", 0, 0,
		"coppice platform convert --loggops L=2500,o=1500,g=1000,G=6,S=65535 -o P.toml",
		"coppice platform convert --simgrid cluster.xml -o P.toml",
		"coppice platform convert --dimemas machine.cfg -o P.toml")
	f := c.Flags()
	o.define(f)
	f.String("loggops", "", "parameters of LogGOPSim, in ns: L, o, g, G, O, S; those left out are as in LogGOPSim")
	f.String("simgrid", "", "platform file of SimGrid with one cluster")
	f.String("dimemas", "", "configuration file of Dimemas with one machine")
	return s.does(c, func(_ []string, s streams) error {
		var given []string
		for _, name := range []string{"loggops", "simgrid", "dimemas"} {
			if f.Changed(name) {
				given = append(given, name)
			}
		}
		if len(given) != 1 {
			return usage("give one of --loggops LETTERS, --simgrid FILE, --dimemas FILE")
		}
		return o.convert(given[0], f.Lookup(given[0]).Value.String(), s)
	}, o.check)
}

// convert converts the parameters of another tool.
func (o *platformOutput) convert(form, from string, s streams) error {
	var p *platform.Platform
	var notes []string
	var err error
	switch form {
	case "loggops":
		if p, err = platform.ImportLogGOPS(from); err != nil {
			return usage("--loggops: %w", err)
		}
	case "simgrid":
		p, notes, err = platform.ImportSimGrid(from)
	default:
		p, notes, err = platform.ImportDimemas(from)
	}
	if err != nil {
		return platformInput(err)
	}
	return o.put(p, notes, s)
}

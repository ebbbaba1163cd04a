package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
)

// platformOutput is where a platform file goes.
type platformOutput struct {
	output
	name string
}

func (o *platformOutput) add(f *pflag.FlagSet) {
	o.verb, o.format, o.color = f.Name(), "text", "auto"
	f.StringVarP(&o.path, "output", "o", "-", "platform file to write, - for standard output")
	f.BoolVarP(&o.force, "force", "f", false, "replace an existing output file")
	f.StringVar(&o.name, "name", "", "name of the platform in the file and in reports")
}

// put writes a platform.
func (o *platformOutput) put(p *predict.Platform, notes []string, s streams) error {
	return o.write(s, func(w io.Writer) error { return p.Write(w, notes...) })
}

// platformInput gives an error about a platform its exit code.
func platformInput(verb string, err error) error {
	if errors.Is(err, predict.ErrPlatform) {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", verb, err))
	}
	return err
}

func runPlatformShow(args []string, s streams) error {
	o := platformOutput{}
	var processes uint32
	f := flags("platform show", s,
		"coppice platform show P.toml",
		"coppice platform show P.toml --processes 64")
	o.add(f)
	f.Uint32Var(&processes, "processes", 0, "place so many processes too, and say on how many nodes")
	operands, err := parse(f, args, 1, 1)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	p, err := predict.OpenPlatform(operands[0])
	if err != nil {
		return platformInput(f.Name(), err)
	}
	if o.name != "" {
		p.Name = o.name
	}
	var notes []string
	if processes > 0 {
		n, err := p.Network(processes)
		if err != nil {
			return platformInput(f.Name(), err)
		}
		used := map[uint32]bool{}
		for i := range processes {
			used[n.NodeOf(i)] = true
		}
		notes = append(notes, fmt.Sprintf("%d processes on %d of %d nodes", processes, len(used), n.Nodes))
	}
	return o.put(p, notes, s)
}

func runPlatformMeasure(args []string, s streams) error {
	o := platformOutput{}
	var m jobs.MeasureOptions
	f := flags("platform measure", s,
		"mpirun -n 2 coppice platform measure -o P.toml",
		"srun -N 2 --ntasks-per-node 2 coppice platform measure -o P.toml --name cluster-a")
	o.add(f)
	f.IntVar(&m.Repetitions, "repetitions", 1000, "repeat each operation so often; the least time counts")
	f.DurationVar(&m.Patience, "patience", 2*time.Second, "stop repeating an operation after this time")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	if m.Repetitions < 1 || m.Patience <= 0 {
		return usage("platform measure: --repetitions is 1 or more, --patience longer than 0")
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
		found, err := jobs.MeasurePlatform(c, m)
		if err != nil || found == nil {
			return err
		}
		for _, w := range found.Warnings {
			fmt.Fprintf(s.err, "coppice: platform measure: %s.\n", w)
		}
		return o.put(found.Platform, found.Notes, s)
	})
}

// platformFormats names the flags of convert that say what to read.
var platformFormats = []string{"--loggops LETTERS", "--simgrid FILE", "--dimemas FILE"}

func runPlatformConvert(args []string, s streams) error {
	o := platformOutput{}
	var letters, simgrid, dimemas string
	f := flags("platform convert", s,
		"coppice platform convert --loggops L=2500,o=1500,g=1000,G=6,S=65535 -o P.toml",
		"coppice platform convert --simgrid cluster.xml -o P.toml",
		"coppice platform convert --dimemas machine.cfg -o P.toml")
	o.add(f)
	f.StringVar(&letters, "loggops", "", "parameters of LogGOPSim, in ns: L, o, g, G, O, S; those left out are as in LogGOPSim")
	f.StringVar(&simgrid, "simgrid", "", "platform file of SimGrid with one cluster")
	f.StringVar(&dimemas, "dimemas", "", "configuration file of Dimemas with one machine")
	if _, err := parse(f, args, 0, 0); err != nil {
		return err
	}
	given := 0
	for _, name := range []string{"loggops", "simgrid", "dimemas"} {
		if f.Changed(name) {
			given++
		}
	}
	if given != 1 {
		return usage("platform convert: give one of %s", strings.Join(platformFormats, ", "))
	}
	if err := o.check(); err != nil {
		return err
	}
	var p *predict.Platform
	var notes []string
	var err error
	switch {
	case f.Changed("loggops"):
		if p, err = predict.ImportLogGOPS(letters); err != nil {
			return usage("platform convert: --loggops: %w", err)
		}
	case f.Changed("simgrid"):
		p, notes, err = predict.ImportSimGrid(simgrid)
	default:
		p, notes, err = predict.ImportDimemas(dimemas)
	}
	if err != nil {
		return platformInput(f.Name(), err)
	}
	if o.name != "" {
		p.Name = o.name
	}
	return o.put(p, notes, s)
}

package prediction

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// storeTimes is the most bytes of simulated times in the memory of a rank; the rest goes to a file.
const storeTimes = 64 << 20

// newTimeStore returns the store of simulated times. Its file next to the output has no name, so that nothing is left when a rank dies.
func newTimeStore(output string, rank int) *xtfwriter.Store {
	name := fmt.Sprintf(".%s.times-%d-%d", filepath.Base(output), os.Getpid(), rank)
	store := xtfwriter.NewStore(filepath.Join(filepath.Dir(output), name), storeTimes)
	store.Unname()
	return store
}

// openTimes prepares to keep the simulated times, for write. Collective.
func (x *prediction) openTimes(o *simnet.Options) error {
	var err error
	if _, e := os.Lstat(x.o.Output); e == nil && !x.o.Analyze.Force && !x.o.Analyze.Resume {
		err = fmt.Errorf("%s: %w", x.o.Output, xtfwriter.ErrExists)
	} else if _, e := os.Stat(filepath.Dir(x.o.Output)); e != nil {
		err = jobs.Fail(jobs.ExitUsage, fmt.Errorf("%s: %w", x.o.Output, e))
	}
	if err := jobs.Agree(x.c, err); err != nil {
		return err
	}
	x.store = newTimeStore(x.o.Output, x.c.Rank())
	x.simulated = jobs.NewProcessSegments(x.store)
	x.times = predict.NewTimes(x.simulated, x.in.First, int(x.in.End-x.in.First))
	o.Observer = x.times
	return nil
}

// write analyses the predicted run. Collective.
func (x *prediction) write() error {
	if x.store == nil || x.res.Deadlock != nil {
		return nil
	}
	comm, err := x.c.Dup()
	if err != nil {
		return err
	}
	o := predict.RunOptions{
		Comm: comm, Recorded: x.in, Times: x.simulated, First: x.in.First, End: x.in.End,
		Origin: x.start.origin, Makespan: x.out.result.Makespan, Properties: x.properties(),
	}
	if o.Identity, err = x.identified(); err != nil {
		return err
	}
	run, err := predict.NewRun(o)
	if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, err)); err != nil {
		return err
	}
	a := x.o.Analyze
	if err := jobs.Agree(x.c, jobs.InputError(x.o.Run, x.inheritIntervals(&a))); err != nil {
		return err
	}
	a.Source, a.Output, a.Trace, a.Show = run, x.o.Output, "", x.o.Show
	if x.res.Output, err = analyze.Run(x.c, a); err != nil {
		return err
	}
	return comm.Free()
}

// inheritIntervals gives the predicted run the intervals of the recorded one, unless the options ask for others.
func (x *prediction) inheritIntervals(a *analyze.Options) error {
	o, err := a.Intervals.Parse()
	if err != nil || o.Canonical() != "" || a.IntervalsFile != "" {
		return err
	}
	p, err := jobs.ProvenanceOf(x.file)
	if err != nil {
		return err
	}
	var whole bool
	if a.Intervals, whole, err = interval.FlagsOf(p.Options["intervals"], x.in.Defs.Clock().TimerResolution); err != nil {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("the intervals of the recorded run: %w: give those of the predicted one", err))
	}
	x.res.WithoutSidecar = !whole
	return nil
}

// properties returns the properties of the predicted run, which say that it is one.
func (x *prediction) properties() []predict.Property {
	id := x.file.FileID()
	list := []predict.Property{
		{Name: results.PredictedFrom, Value: hex.EncodeToString(id[:])},
		{Name: "coppice: predicted platform", Value: x.platform.Name},
		{Name: "coppice: predicted computation", Value: "recorded x " + x.scale().String()},
	}
	if x.donors != nil {
		list[2].Value = "vectors " + x.donors.content + ", the others recorded x " + x.scale().String()
	}
	return list
}

// identified returns what the prediction depends on in addition to the definitions.
func (x *prediction) identified() ([]byte, error) {
	id := x.file.FileID()
	b := append([]byte("prediction/2"), id[:]...)
	p, err := x.platform.Fingerprint(x.in.Processes())
	if err != nil {
		return nil, err
	}
	b = append(append(b, p[:]...), byte(x.o.Rule))
	b = append(b, x.scale().String()...)
	if x.donors != nil {
		b = append(b, x.donors.content...)
	}
	return b, nil
}

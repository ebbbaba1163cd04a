package levers

import (
	"crypto/sha256"
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/causes"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// changedRun is the run with a change, as an input of the analysis. It implements trace.Interleaved.
type changedRun struct {
	predict.Retimed
	run  *results.Run
	own  partition.Range
	maps *causes.TimeMaps
}

// save analyses the run with a change, which texts describes. Collective.
func (x *search) save(l *causes.Lever, texts string) error {
	maps, err := x.levers.Times(l)
	if err != nil {
		return err
	}
	defer maps.Drop()
	id := x.run.File.FileID()
	s := &changedRun{run: x.run, own: x.ranges[x.c.Rank()], maps: maps}
	s.Retimed = predict.Retimed{Size: s.events, Open: s.location, Times: s.times}
	s.Defs, err = predict.Annotated(x.run.Defs, []predict.Property{
		{Name: "coppice: predicted from", Value: fmt.Sprintf("%x", id)}, {Name: "coppice: predicted change", Value: texts},
	})
	if err == nil {
		s.ID = sha256.Sum256(append(append([]byte("levers/1 "), id[:]...), texts...))
		err = x.inherit()
	}
	if err := jobs.Agree(x.c, x.input(err)); err != nil {
		return err
	}
	a := x.o.Analyze
	a.Source, a.Output, a.Show = s, x.o.Output, x.o.Show
	_, err = analyze.Run(x.c, a)
	return err
}

// inherit gives the changed run the intervals of the recorded one.
func (x *search) inherit() error {
	whole := true
	p, err := jobs.ProvenanceOf(x.run.File)
	if err == nil {
		x.o.Analyze.Intervals, whole, err = interval.FlagsOf(p.Options["intervals"], x.run.Units().Resolution)
		x.res.WithoutSidecar = !whole
	}
	return err
}

// Gather only checks that a rank gets the locations that it had in the replay.
func (r *changedRun) Gather(first, end trace.P, _ string) error {
	if first < end && (first < r.own.First || end > r.own.End) {
		return fmt.Errorf("locations %d to %d are shared out otherwise than %d to %d were", first, end, r.own.First, r.own.End)
	}
	return nil
}

// events returns the number of events of a location, by which locations were distributed.
func (r *changedRun) events(p trace.P) (uint64, error) {
	d, err := r.run.File.Dir(xtf.Proc(p))
	return d.Events, err
}

// location opens a location of this rank.
func (r *changedRun) location(p trace.P) (*ccg.Location, error) {
	if !r.own.Contains(p) {
		return nil, fmt.Errorf("location %d: %w", p, trace.ErrMissing)
	}
	return r.run.Location(p)
}

func (r *changedRun) times(p trace.P, _ *ccg.Location) (func(b *trace.Batch) error, error) {
	first, err := r.run.Component(p, xtf.ItemFirst, nil)
	if err != nil {
		return nil, err
	}
	times, err := r.maps.Of(p)
	c := &changedTimes{times: times, first: first, defs: r.run.Defs}
	return c.set, err
}

// changedTimes sets the times of the events of a location to those with the change.
type changedTimes struct {
	times  *causes.TimeMap
	first  uint64     // tick of the first event
	origin trace.Time // of the ticks; set by the first event
	begun  bool
	last   trace.Time
	defs   *trace.Definitions
	open   []bool // open calls: true for MPI calls
	inside int    // number of open MPI calls
}

// outermost reports whether an event is the begin or the end of an outermost MPI call.
func (c *changedTimes) outermost(e *trace.Event) (yes, ends bool) {
	switch e.Kind {
	case trace.Enter:
		mpi := c.defs.IsMPI(c.defs.Region(e.Ref))
		if c.open = append(c.open, mpi); mpi {
			c.inside++
		}
		return mpi && c.inside == 1, false
	case trace.Leave:
		if len(c.open) == 0 {
			return false, true
		}
		mpi := c.open[len(c.open)-1]
		if c.open = c.open[:len(c.open)-1]; mpi {
			c.inside--
		}
		return mpi && c.inside == 0, true
	}
	return false, false
}

func (c *changedTimes) set(b *trace.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		if !c.begun {
			c.origin, c.begun = e.Time-trace.Time(c.first), true
		}
		t := uint64(e.Time - c.origin)
		if outer, ends := c.outermost(e); outer {
			t = c.times.Call(t, ends)
		} else {
			t = c.times.At(t)
		}
		c.last = max(c.last, c.origin+trace.Time(t))
		e.Time = c.last
	}
	return nil
}

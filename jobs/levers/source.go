package levers

import (
	"crypto/sha256"
	"fmt"

	"github.com/coppice-hpc/coppice/internal/callview"
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

// changedRun is the run with a change as an input of the analysis: the recorded events of each location, in their order, with new
// times. It is a trace.Interleaved.
type changedRun struct {
	run      *results.Run
	defs     *trace.Definitions
	identity [32]byte
	own      partition.Range
	maps     *causes.TimeMaps
}

// save analyses the run with a change. Collective.
func (x *search) save(l *causes.Lever, texts string) error {
	maps, err := x.levers.Times(l)
	if err != nil {
		return err
	}
	defer maps.Drop()
	id := x.run.File.FileID()
	s := &changedRun{run: x.run, own: x.ranges[x.c.Rank()], maps: maps}
	s.defs, err = predict.Annotated(x.run.Defs, []predict.Property{
		{Name: "coppice: predicted from", Value: fmt.Sprintf("%x", id)}, {Name: "coppice: predicted change", Value: texts},
	})
	if err == nil {
		s.identity = sha256.Sum256(append(append([]byte("levers/1 "), id[:]...), texts...))
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

func (r *changedRun) Definitions() *trace.Definitions { return r.defs }
func (r *changedRun) Format() string                  { return "prediction" }
func (r *changedRun) Identity() [32]byte              { return r.identity }
func (r *changedRun) Close() error                    { return nil }

// Measure tells the size of a location by its events, as those who share out the locations did.
func (r *changedRun) Measure(p trace.P) (trace.Extent, error) {
	d, err := r.run.File.Dir(xtf.Proc(p))
	if err != nil || d.Events == 0 {
		return trace.Extent{}, err
	}
	return trace.Extent{Bytes: d.Events, Events: d.Events, Chunks: 1}, nil
}

// Gather has nothing to bring: the locations are those of the replay.
func (r *changedRun) Gather(first, end trace.P, _ string) error {
	if first < end && (first < r.own.First || end > r.own.End) {
		return fmt.Errorf("locations %d to %d are shared out otherwise than %d to %d were", first, end, r.own.First, r.own.End)
	}
	return nil
}

// Stream opens a location of this rank.
func (r *changedRun) Stream(p trace.P) (trace.Stream, error) {
	if !r.own.Contains(p) {
		return nil, fmt.Errorf("location %d: %w", p, trace.ErrMissing)
	}
	d, err := r.run.File.Dir(xtf.Proc(p))
	return &changedStream{r, p, d.Events}, err
}

// changedStream is one location, one chunk.
type changedStream struct {
	run    *changedRun
	p      trace.P
	events uint64
}

func (s *changedStream) Chunks() int                     { return int(min(s.events, 1)) }
func (s *changedStream) Diagnostics() []trace.Diagnostic { return nil }
func (s *changedStream) Close() error                    { return nil }

func (s *changedStream) Chunk(i int) (trace.ChunkReader, error) {
	if i != 0 || s.events == 0 {
		return nil, fmt.Errorf("chunk %d of %d: %w", i, s.Chunks(), trace.ErrMissing)
	}
	r := s.run.run
	shared, err := r.Graph()
	if err != nil {
		return nil, err
	}
	l, _, err := callview.Location(r.File, shared, xtf.Proc(s.p))
	if err != nil {
		return nil, err
	}
	first, err := r.Component(s.p, xtf.ItemFirst, nil)
	if err != nil {
		return nil, err
	}
	times, err := s.run.maps.Of(s.p)
	return &changedChunk{ChunkReader: l.Expand(), times: times, first: first, defs: r.Defs}, err
}

// changedChunk gives the events of the call graph other times.
type changedChunk struct {
	trace.ChunkReader
	times  *causes.TimeMap
	first  uint64     // tick of the first event
	origin trace.Time // of the ticks; known after the first event
	begun  bool
	last   trace.Time
	defs   *trace.Definitions
	open   []bool // whether calls are of MPI
	inside int    // of these
}

// outermost reports whether an event is the begin or the end of an MPI call that is in no other one.
func (c *changedChunk) outermost(e *trace.Event) (yes, ends bool) {
	switch e.Kind {
	case trace.Enter:
		r := c.defs.Region(e.Ref)
		mpi := r != nil && c.defs.IsMPI(r)
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

func (c *changedChunk) Next(b *trace.Batch) error {
	if err := c.ChunkReader.Next(b); err != nil {
		return err
	}
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
	b.KeepRecords()
	return nil
}

package predict

import (
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/trace"
)

// picosecondClock is the resolution of predicted runs, in ticks a second.
const picosecondClock = 1e12

// Recorded is the run that was predicted, as its file has it.
type Recorded interface {
	// Location opens the call graph of a location. Safe for concurrent use.
	Location(p trace.P) (*ccg.Location, error)
	// Events returns the number of events of a location.
	Events(p trace.P) (uint64, error)
	// Roles says what the calls and events of a process's first location are to the program, by their number in the graph
	// of all; what is not there is nothing. Safe for concurrent use.
	Roles(process uint32, l *ccg.Location) (map[uint32]ccg.Role, error)
}

// Run is a predicted run as an input of the analysis: the recorded events of each location, in their order, with new times. It is
// a [trace.Interleaved].
//
// The first location of a process gets the simulated times for the calls of the program. All that lies between two of these,
// in it and in the other threads of the process, keeps its proportions; so do calls whose time is computation. Locations of no
// process of the program keep their recorded times.
type Run struct {
	o        RunOptions
	defs     *trace.Definitions // of the prediction
	identity [32]byte
}

// RunOptions say what a predicted run is made of.
type RunOptions struct {
	Comm        mpi.Comm // of all ranks; the run keeps it
	Recorded    Recorded
	Definitions *trace.Definitions // of the recorded run
	Times       Segments           // of this rank's processes, from Times
	First, End  uint32             // this rank's processes
	Processes   uint32             // of the program
	Tick        Scale              // ps in a recorded tick
	Origin      trace.Time         // recorded instant that the simulation calls 0
	Makespan    int64              // ps
	Properties  []Property         // of the prediction, for its definitions
	Identity    []byte             // what else decides the result
}

// NewRun returns the predicted run.
func NewRun(o RunOptions) (*Run, error) {
	defs, err := predictedDefinitions(o.Definitions, o.Makespan, o.Properties)
	if err != nil {
		return nil, err
	}
	b, err := defs.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	return &Run{o, defs, sha256.Sum256(append(b, o.Identity...))}, nil
}

// Definitions returns the definitions of the recorded run with the clock of the prediction.
func (r *Run) Definitions() *trace.Definitions { return r.defs }

// Format names the kind of source.
func (r *Run) Format() string { return "prediction" }

// Identity is a hash of definitions, recorded run, platform and computation.
func (r *Run) Identity() [32]byte { return r.identity }

// Close does nothing: the segments belong to the caller.
func (r *Run) Close() error { return nil }

// Measure tells the size of a location by its events, which is what reading them costs.
func (r *Run) Measure(p trace.P) (trace.Extent, error) {
	n, err := r.o.Recorded.Events(p)
	if err != nil || n == 0 {
		return trace.Extent{}, err
	}
	return trace.Extent{Bytes: n, Events: n, Chunks: 1}, nil
}

// Stream opens a location. Its process's times must be on this rank, see Gather.
func (r *Run) Stream(p trace.P) (trace.Stream, error) {
	loc, err := r.o.Recorded.Location(p)
	if err != nil {
		return nil, err
	}
	return &predictedStream{run: r, p: p, loc: loc}, nil
}

// predictedStream is one location, one chunk.
type predictedStream struct {
	run *Run
	p   trace.P
	loc *ccg.Location
}

func (s *predictedStream) Chunks() int {
	if s.loc.Events() == 0 {
		return 0
	}
	return 1
}

func (s *predictedStream) Diagnostics() []trace.Diagnostic { return nil }

func (s *predictedStream) Close() error { return nil }

func (s *predictedStream) Chunk(i int) (trace.ChunkReader, error) {
	if i != 0 || s.loc.Events() == 0 {
		return nil, fmt.Errorf("chunk %d of %d: %w", i, s.Chunks(), trace.ErrMissing)
	}
	c := &predictedChunk{ChunkReader: s.loc.Expand()}
	process, thread := s.run.defs.Process(s.p)
	switch {
	case process >= s.run.o.Processes:
		c.stretch = s.run.recordedTimes
	default:
		k, err := s.run.knots(process, thread, s.loc)
		if err != nil {
			return nil, err
		}
		c.stretch = k.byTime
		if thread == 0 {
			c.stretch = k.byNumber
		}
	}
	return c, nil
}

// recordedTimes keeps times, in ps.
func (r *Run) recordedTimes(b *trace.Batch) error {
	for i := range b.Events {
		e := &b.Events[i]
		ps := r.o.Tick.Of(int64(min(e.Time-min(r.o.Origin, e.Time), math.MaxInt64)))
		if ps == simnet.Never {
			return ErrTooLong
		}
		e.Time = trace.Time(ps)
	}
	return nil
}

// predictedChunk gives the events of the call graph other times.
type predictedChunk struct {
	trace.ChunkReader
	stretch func(b *trace.Batch) error
}

func (c *predictedChunk) Next(b *trace.Batch) error {
	if err := c.ChunkReader.Next(b); err != nil {
		return err
	}
	err := c.stretch(b)
	b.KeepRecords()
	return err
}

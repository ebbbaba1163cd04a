package slurm

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
)

// Calibrate reads this many bytes of this many adjacent locations. They are adjacent so that most messages have both ends in the sample.
const (
	sampleBytes     = 64 << 20
	sampleLocations = 8
)

// Calibration is the result of analysing a part of a trace.
type Calibration struct {
	Bytes     uint64  // analysed bytes of the trace
	Locations int     // locations that they are from
	Seconds   float64 // processor time
	Rate      float64 // bytes of the trace in one second on one processor
	Growth    float64 // bytes of the result for each byte of the trace
}

// Calibrate analyses the first chunks of the largest location and its neighbours, 64 MiB in all, on one rank with the options o. It writes
// the result to the folder for temporary files and removes it.
func Calibrate(src trace.Source, o analyze.Options) (*Calibration, error) {
	if _, mixed := src.(trace.Interleaved); mixed {
		return nil, fmt.Errorf("a part of a file that holds all locations mixed cannot be read alone: %w", trace.ErrUnsupported)
	}
	part, err := sampleOf(src)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "coppice-calibrate-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	o.Source, o.Output, o.StoreBytes = part, filepath.Join(dir, "part.xtf"), -1
	began := processorTime()
	r, err := analyze.Run(mpi.Serial(), o)
	if err != nil {
		return nil, err
	}
	c := &Calibration{Bytes: part.bytes, Locations: len(part.chunks), Seconds: (processorTime() - began).Seconds()}
	c.Seconds = max(c.Seconds, time.Millisecond.Seconds())
	c.Rate, c.Growth = float64(c.Bytes)/c.Seconds, float64(r.File.FileBytes)/float64(max(c.Bytes, 1))
	if c.Bytes == 0 {
		return nil, fmt.Errorf("no location has events: %w", trace.ErrMissing)
	}
	return c, nil
}

// sample has the first chunks of some locations of a trace. Other locations have no events.
type sample struct {
	trace.Source
	chunks map[trace.P]trace.Extent
	bytes  uint64
}

func sampleOf(src trace.Source) (*sample, error) {
	n := src.Definitions().NumLocations()
	var largest trace.P
	var most uint64
	for p := range trace.P(n) {
		x, err := src.Measure(p)
		if err != nil {
			return nil, err
		}
		if x.Bytes > most {
			largest, most = p, x.Bytes
		}
	}
	part := &sample{Source: src, chunks: map[trace.P]trace.Extent{}}
	first := max(0, min(int(largest)-sampleLocations/2, n-sampleLocations))
	for p := trace.P(first); int(p) < min(first+sampleLocations, n); p++ {
		x, err := src.Measure(p)
		if err != nil {
			return nil, err
		}
		if x.Chunks == 0 || x.Bytes == 0 {
			continue
		}
		each := max(1, x.Bytes/uint64(x.Chunks))
		x.Chunks = int(max(1, min(uint64(x.Chunks), sampleBytes/sampleLocations/each)))
		if bytes := each * uint64(x.Chunks); bytes < x.Bytes-x.Bytes%each {
			x.Bytes, x.Events = bytes, 0
		}
		part.chunks[p] = x
		part.bytes += x.Bytes
	}
	return part, nil
}

// Measure implements trace.Source.
func (s *sample) Measure(p trace.P) (trace.Extent, error) { return s.chunks[p], nil }

// Stream implements trace.Source.
func (s *sample) Stream(p trace.P) (trace.Stream, error) {
	x, in := s.chunks[p]
	if !in {
		return trace.NewStream(0, nil), nil
	}
	st, err := s.Source.Stream(p)
	if err != nil {
		return nil, err
	}
	return &beginning{st, min(x.Chunks, st.Chunks())}, nil
}

// Close does nothing: the trace belongs to the caller.
func (s *sample) Close() error { return nil }

// beginning is the first chunks of a stream.
type beginning struct {
	trace.Stream
	chunks int
}

func (b *beginning) Chunks() int { return b.chunks }

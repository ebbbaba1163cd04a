package synthetic

import (
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/trace"
)

// check reports a location that there is not.
func check(d *trace.Definitions, p trace.P) error {
	if int(p) >= d.NumLocations() {
		return fmt.Errorf("synthetic: location %d of %d: %w", p, d.NumLocations(), trace.ErrMissing)
	}
	return nil
}

// stream is a number of chunks. What open returns fills batches until it has no more events.
type stream struct {
	chunks int
	open   func(i int) func(b *trace.Batch) bool
}

func (s *stream) Chunks() int                     { return s.chunks }
func (s *stream) Diagnostics() []trace.Diagnostic { return nil }
func (s *stream) Close() error                    { return nil }

func (s *stream) Chunk(i int) (trace.ChunkReader, error) {
	if i < 0 || i >= s.chunks {
		return nil, fmt.Errorf("synthetic: chunk %d of %d: %w", i, s.chunks, trace.ErrMissing)
	}
	return &chunkReader{s.open(i)}, nil
}

type chunkReader struct{ fill func(b *trace.Batch) bool }

func (r *chunkReader) Diagnostics() []trace.Diagnostic { return nil }
func (r *chunkReader) Close() error                    { return nil }

func (r *chunkReader) Next(b *trace.Batch) error {
	if b.Reset(); !r.fill(b) {
		return io.EOF
	}
	return nil
}

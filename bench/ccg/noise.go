package main

import (
	"errors"
	"io"
	"math/rand/v2"

	"github.com/coppice-hpc/coppice/trace"
)

// noisy is a source with every gap stretched or shrunk at random, as on a
// machine where nothing takes the same time twice. The generators of package
// synthetic jitter the computation and keep causality; here each location is by
// itself, which sizes do not mind.
type noisy struct {
	trace.Source
	percent int64 // standard deviation of a gap
}

func (s noisy) Stream(p trace.P) (trace.Stream, error) {
	st, err := s.Source.Stream(p)
	return noisyStream{st, s.percent, p}, err
}

// noisyStream is one chunk: a gap's noise depends on those before it.
type noisyStream struct {
	trace.Stream
	percent int64
	p       trace.P
}

func (s noisyStream) Chunks() int { return 1 }

func (s noisyStream) Chunk(int) (trace.ChunkReader, error) {
	return &noisyChunk{noisyStream: s, random: rand.New(rand.NewPCG(1, uint64(s.p)))}, nil
}

type noisyChunk struct {
	noisyStream
	inner     trace.ChunkReader
	next      int
	random    *rand.Rand
	last, now trace.Time // of the event before: original, noisy
}

func (c *noisyChunk) Next(b *trace.Batch) error {
	for {
		if c.inner == nil {
			if c.next == c.noisyStream.Stream.Chunks() {
				return io.EOF
			}
			var err error
			if c.inner, err = c.noisyStream.Stream.Chunk(c.next); err != nil {
				return err
			}
			c.next++
		}
		err := c.inner.Next(b)
		if errors.Is(err, io.EOF) {
			c.inner.Close()
			c.inner = nil
			continue
		}
		if err == nil {
			c.disturb(b)
		}
		return err
	}
}

// Noise is in parts per million. The sum of four uniform numbers has the shape
// of a bell; its standard deviation is their width / sqrt(3). One gap in 2 000
// is held up to 5 to 25 times its length.
const (
	million   = 1_000_000
	rootThree = 1_732_051
	rare      = 2000
)

func (c *noisyChunk) disturb(b *trace.Batch) {
	width := c.percent * rootThree / 100
	for i := range b.Events {
		e := &b.Events[i]
		if c.now == 0 {
			c.last, c.now = e.Time, e.Time
			continue
		}
		gap := int64(e.Time - c.last)
		noise := -2 * width
		for range 4 {
			noise += c.random.Int64N(width + 1)
		}
		gap += gap * noise / million
		if c.random.IntN(rare) == 0 {
			gap *= 5 + c.random.Int64N(21)
		}
		c.last, c.now = e.Time, c.now+trace.Time(max(gap, 0))
		e.Time = c.now
	}
}

func (c *noisyChunk) Diagnostics() []trace.Diagnostic { return nil }

func (c *noisyChunk) Close() error {
	if c.inner != nil {
		return c.inner.Close()
	}
	return nil
}

package analyze

import (
	"errors"
	"io"

	"github.com/coppice-hpc/coppice/trace"
)

// pass passes the events of a location to add, in batches, and calls ended after each chunk. An error of add ends it. It returns the number
// of events, and the diagnostics of the chunks.
func (a *loads) pass(stream trace.Stream, g *guard, add func(b *trace.Batch) error, ended func()) (events uint64, found *trace.Diagnostics, _ error) {
	found = &trace.Diagnostics{}
	b := &a.batch
	for chunk := range stream.Chunks() {
		r, err := stream.Chunk(chunk)
		if err != nil {
			return 0, nil, err
		}
		for err == nil {
			if err = r.Next(b); err == nil {
				b.First = events
				g.check(b)
				if events += uint64(len(b.Events)); len(b.Events) > 0 {
					err = add(b)
				}
			}
			if err == nil {
				err = a.pace.poll()
			}
		}
		if !errors.Is(err, io.EOF) {
			return 0, nil, errors.Join(err, r.Close())
		}
		found.AddAll(r.Diagnostics())
		if err := r.Close(); err != nil {
			return 0, nil, err
		}
		ended()
	}
	return events, found, nil
}

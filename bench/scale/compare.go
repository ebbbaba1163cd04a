package main

import (
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
)

// comparison is what the lists of a sample have in common with generated ones.
type comparison struct {
	calls     int    // of all ranks
	exact     int    // of these, calls whose bytes follow from the number of ranks, and are the same
	noted     int64  // bytes of the others as they were noted
	generated int64  // and as they were generated
	different string // the first call that differs
}

// compare compares the calls of every rank, one by one.
func compare(segments []segment, s sample) (c comparison) {
	for r := range s {
		c.rank(segments, s, r)
	}
	return c
}

func (c *comparison) rank(segments []segment, s sample, rank int) {
	noted := s.runs(rank)
	j := 0
	for i := range segments {
		g := &segments[i]
		want := g.append(nil, rank, len(s))
		if len(want) == 0 {
			continue
		}
		var got []mpi.Note
		if j < len(noted) {
			got = noted[j].notes
		}
		j++
		if len(got) != len(want) {
			c.differ("rank %d of %d, stage %s, segment %d: %d calls are noted, %d generated", rank, len(s), g.stage, i, len(got), len(want))
			return
		}
		for k := range want {
			c.call(g, rank, len(s), got[k], want[k])
		}
	}
	if j != len(noted) {
		c.differ("rank %d of %d: %d segments are noted, %d generated", rank, len(s), len(noted), j)
	}
}

// call compares one call.
func (c *comparison) call(g *segment, rank, size int, got, want mpi.Note) {
	c.calls++
	same := got == want
	if g.exact() && same {
		c.exact++
		return
	}
	if g.exact() {
		c.differ("rank %d of %d, stage %s: %+v is noted, %+v generated", rank, size, g.stage, got, want)
	}
	c.noted += got.Sent + got.Received
	c.generated += want.Sent + want.Received
	got.Sent, got.Received, want.Sent, want.Received = 0, 0, 0, 0
	if got != want {
		c.differ("rank %d of %d, stage %s: %v is noted, %v generated", rank, size, g.stage, got, want)
	}
}

func (c *comparison) differ(format string, args ...any) {
	if c.different == "" {
		c.different = fmt.Sprintf(format, args...)
	}
}

package causes

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// PathInput is what the critical path needs beside Run.
type PathInput struct {
	// Extent says what is known of a location of this rank.
	Extent func(p trace.P) (Extent, error)
	// Collectives returns the COLL rows of a location, nil if there are none, and an xtf.CollCause for each.
	Collectives func(p trace.P) (*xtf.Cursor, io.ReaderAt, error)
}

// Extent is where the path can begin on a location.
type Extent struct {
	Events      bool // it has any
	MPI         bool // it calls MPI
	First, Last uint64
}

// PathReport counts what the critical path was made of.
type PathReport struct {
	Jumps    uint64 // from location to location, of the part found on this rank
	Messages uint64 // that carried the path to another rank, from this one
	Length   uint64 // ticks, of all locations, on rank 0
}

// tagPath is the tag of the messages that carry the path: instant u64 and location
// u32, little-endian, or nothing when it is complete.
const tagPath = 12

// Path is the critical path, as far as one rank knows it.
type Path struct {
	run    *Run
	in     *PathInput
	own    partition.Range
	begin  uint64 // first and last event of the run
	end    uint64
	report PathReport
	jumps  journal  // of all locations of this rank, each in the order of time
	first  []uint64 // number of the first one of each location
	left   []uint64 // number behind the last one that was not passed
	buf    []byte
	spans  Sorter
	trail  trail
}

// A span of the path is p u32, begin, end u64, big-endian.
const (
	spanRowBytes = 20
	spanRowKey   = 12
)

// FindPath finds where the critical path is (package comment). What it consists of
// shows when Delays goes along the time lines: its pieces, in order, go to write on
// the rank of their location. Collective.
func FindPath(r *Run, in *PathInput, write func(p trace.P, row *xtf.CPath) error) (*Path, error) {
	c := &Path{run: r, in: in, own: r.Ranges[r.Comm.Rank()], spans: r.Storage.Sorter(spanRowBytes, spanRowKey)}
	c.trail = trail{write: write, totals: newTotalling(), sums: map[cost1]uint64{}}
	c.jumps.scratch = r.Storage.Scratch()
	defer c.jumps.scratch.Drop()
	start, ok, err := c.start()
	if err != nil || !ok {
		return c, err
	}
	if err := r.Comm.Agree(c.collect()); err != nil {
		return nil, err
	}
	failed, fatal := c.follow(start)
	if fatal != nil {
		return nil, fatal
	}
	return c, r.Comm.Agree(failed)
}

// Totals sums over all locations, on rank 0, as short-term costs, without patterns.
// It comes after Delays. Collective.
func (c *Path) Totals() (Totals, *PathReport, error) {
	totals, err := c.trail.totals.reduce(c.run.Comm)
	for i := range totals {
		c.report.Length += totals[i].Short
	}
	return totals, &c.report, err
}

// candidate is where the path may begin.
type candidate struct {
	Extent
	p trace.P
}

func (c *candidate) better(o *candidate) bool {
	switch {
	case c.Events != o.Events:
		return c.Events
	case c.MPI != o.MPI:
		return c.MPI
	case c.Last != o.Last:
		return c.Last > o.Last
	}
	return c.p < o.p
}

// start chooses the location on which the path ends; false without any event.
// Collective.
func (c *Path) start() (trace.P, bool, error) {
	var best candidate
	var err error
	c.begin = xtf.Never
	for p := c.own.First; p < c.own.End && err == nil; p++ {
		x := candidate{p: p}
		if x.Extent, err = c.in.Extent(p); !x.Events {
			continue
		}
		c.begin, c.end = min(c.begin, x.First), max(c.end, x.Last)
		if x.better(&best) {
			best = x
		}
	}
	if err := c.run.Comm.Agree(err); err != nil {
		return 0, false, err
	}
	return c.agree(best)
}

// agree finds the best candidate of all ranks, and the begin and the end of the run.
func (c *Path) agree(best candidate) (trace.P, bool, error) {
	own := ends{best, c.begin, c.end}
	all, err := mpi.TreeReduce(c.run.Comm, own, ends.encode, decodeEnds, func(a, b ends) (ends, error) {
		if b.best.better(&a.best) {
			a.best = b.best
		}
		a.begin, a.end = min(a.begin, b.begin), max(a.end, b.end)
		return a, nil
	})
	if err != nil {
		return 0, false, err
	}
	b, _ := all.encode()
	if b, err = c.run.Comm.Bcast(b, 0); err == nil {
		all, err = decodeEnds(b)
	}
	c.begin, c.end = all.begin, all.end
	return all.best.p, all.best.Events, err
}

// ends is where the path of some locations may begin, and between which instants.
type ends struct {
	best       candidate
	begin, end uint64
}

// encode writes last t u64 | location u32 | has events, has MPI u8 | zero u16 | begin, end u64, little-endian.
func (e ends) encode() ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, e.best.Last)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.best.p))
	b = append(b, flag(e.best.Events), flag(e.best.MPI), 0, 0)
	b = binary.LittleEndian.AppendUint64(b, e.begin)
	return binary.LittleEndian.AppendUint64(b, e.end), nil
}

func decodeEnds(b []byte) (e ends, err error) {
	if len(b) != 32 {
		return e, fmt.Errorf("critical path: a damaged message of %d bytes", len(b))
	}
	e.best.p = trace.P(binary.LittleEndian.Uint32(b[8:]))
	e.best.Last, e.best.Events, e.best.MPI = binary.LittleEndian.Uint64(b), b[12] != 0, b[13] != 0
	e.begin, e.end = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	return e, nil
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// follow carries the path back over all ranks. An error of this rank ends the
// search; fatal ones are of the communicator. Collective.
func (c *Path) follow(start trace.P) (failed, fatal error) {
	p, at := start, c.end
	comm := c.run.Comm
	if rankOf(c.run.Ranges, p) != comm.Rank() {
		var more bool
		var err error
		if p, at, more, err = c.await(); err != nil || !more {
			return nil, err
		}
	}
	for {
		var more bool
		p, at, more, failed = c.back(p, at)
		if !more || failed != nil {
			return failed, c.announce(comm.Rank())
		}
		b := binary.LittleEndian.AppendUint64(nil, at)
		b = binary.LittleEndian.AppendUint32(b, uint32(p))
		c.report.Messages++
		if err := comm.Send(b, rankOf(c.run.Ranges, p), tagPath); err != nil {
			return nil, err
		}
		var err error
		if p, at, more, err = c.await(); err != nil || !more {
			return nil, err
		}
	}
}

// await waits for the path to come back, or for its end, which it passes on.
func (c *Path) await() (p trace.P, at uint64, more bool, err error) {
	b, _, err := c.run.Comm.Recv(mpi.AnySource, tagPath)
	switch {
	case err != nil:
		return 0, 0, false, err
	case len(b) == 4:
		return 0, 0, false, c.announce(int(binary.LittleEndian.Uint32(b)))
	}
	return trace.P(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint64(b), true, nil
}

// announce tells the ranks below this one, in a binomial tree around the rank where
// the path is complete, that it is: that rank, u32 little-endian.
func (c *Path) announce(root int) error {
	size := c.run.Comm.Size()
	at := (c.run.Comm.Rank() - root + size) % size
	low := at & -at
	if at == 0 {
		low = 1 << bits.Len(uint(size-1))
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(root))
	for bit := low / 2; bit > 0; bit /= 2 {
		if at+bit >= size {
			continue
		}
		if err := c.run.Comm.Send(b, (root+at+bit)%size, tagPath); err != nil {
			return err
		}
	}
	return nil
}

// back follows the path from location p at an instant as far as it stays on this
// rank; it is complete if there is no more. A wait is passed once, so that waits
// that wait for each other at one instant do not hold it.
func (c *Path) back(p trace.P, at uint64) (trace.P, uint64, bool, error) {
	for c.own.Contains(p) {
		end, cause, ok, err := c.jump(p, at)
		if err != nil {
			return p, at, false, err
		}
		if !ok {
			end = min(c.begin, at)
		}
		if end < at {
			var b [spanRowBytes]byte
			binary.BigEndian.PutUint32(b[0:], uint32(p))
			binary.BigEndian.PutUint64(b[4:], end)
			binary.BigEndian.PutUint64(b[12:], at)
			if err := c.spans.Add(b[:]); err != nil {
				return p, at, false, err
			}
		}
		if !ok {
			return p, at, false, nil
		}
		c.report.Jumps++
		p, at = cause, end
	}
	return p, at, true, nil
}

package causes

import (
	"encoding/binary"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// PathInput is what the critical path needs beside Run.
type PathInput struct {
	// Extent says what is known of a location of this rank.
	Extent func(p trace.P) (Extent, error)
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
const (
	tagPath   = 12
	pathBytes = 12
)

// Path is the critical path, as far as one rank knows it.
type Path struct {
	run    *Run
	in     *PathInput
	own    partition.Range
	begin  uint64 // first and last event of the run
	end    uint64
	report PathReport
	spans  Sorter

	parcels *parcels
	out     parcelWriter
	jumps   [][]jump // of the slab in hand, by location, that were not passed
	trail   trail
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
	c.trail = trail{write: write, totals: newTotalling()}
	start, ok, err := c.start()
	if err != nil || !ok {
		return c, err
	}
	c.parcels = newParcels(r.Comm, &r.Storage, r.Slabs)
	defer c.parcels.drop()
	if err := c.parcels.deliver(c.collect()); err != nil {
		return nil, err
	}
	return c, c.follow(start)
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

func (e ends) encode() ([]byte, error) {
	kind := uint64(0)
	if e.best.Events {
		kind |= 1
	}
	if e.best.MPI {
		kind |= 2
	}
	return varint.Append(nil, e.best.Last, uint64(e.best.p), kind, e.begin, e.end), nil
}

func decodeEnds(b []byte) (e ends, err error) {
	r := varint.Read(b)
	e.best.Last, e.best.p = r.Next(), trace.P(r.Uint32())
	kind := r.Next()
	e.best.Events, e.best.MPI = kind&1 != 0, kind&2 != 0
	e.begin, e.end = r.Next(), r.Next()
	return e, failure(&r)
}

// follow goes back over the slabs, from the last one to the first, rank after rank. Collective.
func (c *Path) follow(start trace.P) error {
	comm := c.run.Comm
	var failed error
	p, at, more := start, c.end, true
	if comm.Rank()+1 < comm.Size() {
		b, _, err := comm.Recv(comm.Rank()+1, tagPath)
		if err != nil {
			return err
		}
		if more = len(b) == pathBytes; more {
			p, at = trace.P(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint64(b)
		}
	}
	box := newOutbox(comm, &c.run.Storage, c.spans.Add)
	first := c.parcels.own
	for k := first + len(c.parcels.list) - 1; k >= first && more && failed == nil; k-- {
		if failed = c.openSlab(k); failed == nil {
			p, at, more, failed = c.back(p, at, box)
		}
	}
	if comm.Rank() > 0 {
		var b []byte
		if more && failed == nil {
			b = binary.LittleEndian.AppendUint64(nil, at)
			b = binary.LittleEndian.AppendUint32(b, uint32(p))
			c.report.Messages++
		}
		if err := comm.Send(b, comm.Rank()-1, tagPath); err != nil {
			return err
		}
	} else if more && failed == nil {
		failed = c.span(p, min(c.begin, at), at, box)
	}
	return box.deliver(failed)
}

// back follows the path from location p at an instant through the slab in hand; there may be more of it. A wait is passed
// once, so that waits that wait for each other at one instant do not hold it.
func (c *Path) back(p trace.P, at uint64, box *outbox) (trace.P, uint64, bool, error) {
	for {
		j, ok := c.jump(p, at)
		if !ok {
			return p, at, true, nil
		}
		if j.end < c.begin {
			return p, at, false, c.span(p, min(c.begin, at), at, box)
		}
		if err := c.span(p, j.end, at, box); err != nil {
			return p, at, false, err
		}
		c.report.Jumps++
		p, at = j.cause, j.end
	}
}

// span is a part of the path on a location.
func (c *Path) span(p trace.P, begin, end uint64, box *outbox) error {
	if begin >= end {
		return nil
	}
	var b [spanRowBytes]byte
	binary.BigEndian.PutUint32(b[0:], uint32(p))
	binary.BigEndian.PutUint64(b[4:], begin)
	binary.BigEndian.PutUint64(b[12:], end)
	return box.put(rankOf(c.run.Ranges, p), b[:])
}

package causes

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

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
	begin  uint64 // first and last event of the run
	end    uint64
	report PathReport
	jumps  [][]jump // of the slab in hand, by location, that were not passed
	spans  [][]span // of each slab of this rank
	list   []span   // of the slab in hand

	found  *parcels // pieces, by location, then slab; nil without any event
	out    parcelWriter
	write  func(p trace.P, row *xtf.CPath) error
	totals totals.Sums
}

// span is a part of the path on a location, in one slab. Memory: 24 bytes.
type span struct {
	p          uint32
	goesOn     bool // in the slab after
	begin, end uint64
}

// jump is the end of a wait, and who caused it: where the path goes over. In the
// records of a slab it is both as varints.
type jump struct {
	end   uint64
	cause trace.P
}

// FindPath finds where the critical path is (package comment), after Deal. What it consists of
// shows in the time lines of the slabs, which Delays reads: its pieces, in order, go to write then, on
// the rank of their location. extent says what is known of a location of this rank. Collective.
func FindPath(r *Run, extent func(p trace.P) (Extent, error), write func(p trace.P, row *xtf.CPath) error) (*Path, error) {
	c := &Path{run: r, write: write}
	start, ok, err := c.start(extent)
	if err != nil || !ok {
		return c, err
	}
	c.jumps, c.spans = make([][]jump, r.Defs.NumLocations()), make([][]span, r.parcels.end-r.parcels.own)
	c.found = newReturned(r)
	c.out = c.found.writer(0)
	return c, c.follow(start)
}

// Totals sums over all locations, on rank 0: ticks, without patterns.
// It comes after Delays. Collective.
func (c *Path) Totals() ([]totals.Row, *PathReport, error) {
	list, err := c.totals.Reduce(c.run.Comm)
	for i := range list {
		c.report.Length += list[i].Sum[0]
	}
	return list, &c.report, err
}

// candidate is where the path may begin.
type candidate struct {
	Extent
	P trace.P
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
	return c.P < o.P
}

// start chooses the location on which the path ends; false without any event.
// Collective.
func (c *Path) start(extent func(p trace.P) (Extent, error)) (trace.P, bool, error) {
	var best candidate
	var err error
	c.begin = xtf.Never
	own := c.run.Ranges[c.run.Comm.Rank()]
	for p := own.First; p < own.End && err == nil; p++ {
		x := candidate{P: p}
		if x.Extent, err = extent(p); !x.Events {
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
		if b.Best.better(&a.Best) {
			a.Best = b.Best
		}
		a.Begin, a.End = min(a.Begin, b.Begin), max(a.End, b.End)
		return a, nil
	})
	if err != nil {
		return 0, false, err
	}
	b, _ := all.encode()
	if b, err = c.run.Comm.Bcast(b, 0); err == nil {
		all, err = decodeEnds(b)
	}
	c.begin, c.end = all.Begin, all.End
	return all.Best.P, all.Best.Events, err
}

// ends is where the path of some locations may begin, and between which instants.
type ends struct {
	Best       candidate
	Begin, End uint64
}

func (e ends) encode() ([]byte, error) { return json.Marshal(e) }

func decodeEnds(b []byte) (e ends, err error) {
	err = json.Unmarshal(b, &e)
	return e, err
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
	own := c.run.parcels
	for k := own.end - 1; k >= own.own && more && failed == nil; k-- {
		if failed = c.openSlab(k); failed == nil {
			p, at, more = c.back(p, at, own.slabs.start(k))
			slices.Reverse(c.list)
			c.spans[k-own.own] = slices.Clone(c.list)
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
	}
	return comm.Agree(failed)
}

// back follows the path from location p at an instant through the slab in hand, which begins after start; there may be more of it. A
// wait is passed once, so that waits that wait for each other at one instant do not hold it.
func (c *Path) back(p trace.P, at, start uint64) (trace.P, uint64, bool) {
	c.list = c.list[:0]
	for goesOn := true; ; goesOn = false {
		j, ok := c.jump(p, at)
		if !ok {
			c.span(p, max(c.begin, start), at, goesOn)
			return p, min(at, start), true
		}
		if j.end < c.begin {
			c.span(p, c.begin, at, goesOn)
			return p, at, false
		}
		c.span(p, j.end, at, goesOn)
		c.report.Jumps++
		p, at = j.cause, j.end
	}
}

// span is a part of the path on a location in the slab in hand.
func (c *Path) span(p trace.P, begin, end uint64, goesOn bool) {
	if begin < end {
		c.list = append(c.list, span{uint32(p), goesOn, begin, end})
	}
}

// openSlab reads the jumps of a slab. Of waits that end at one instant the path takes
// the lowest cause first.
func (c *Path) openSlab(k int) error {
	clear(c.jumps)
	return c.run.parcels.each(jumpParcels, k, func(p uint32, b []byte) error {
		if uint64(p) >= uint64(len(c.jumps)) {
			return ErrDamaged
		}
		var list []jump
		r := varint.Read(b)
		for r.Len() > 0 {
			list = append(list, jump{r.Next(), trace.P(r.AtMost(uint64(len(c.jumps) - 1)))})
		}
		slices.SortFunc(list, func(a, b jump) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(b.cause, a.cause)) })
		c.jumps[p] = list
		return failure(&r)
	})
}

// jump returns the last wait of a location that ends by an instant and was not
// passed, and passes it.
func (c *Path) jump(p trace.P, at uint64) (x jump, ok bool) {
	list := c.jumps[p]
	for len(list) > 0 && !ok {
		x = list[len(list)-1]
		list, ok = list[:len(list)-1], x.end <= at
	}
	c.jumps[p] = list
	return x, ok
}

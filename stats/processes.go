package stats

import (
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Reducer joins the components of the locations of one rank to processes, and these to distributions over all processes. Memory: the
// components of two processes, and the distributions of all nodes.
type Reducer struct {
	t       *Tables
	homes   partition.Homes
	spreads Spreads
	away    *process // the part of the rank's first process, if its home is another rank
	open    *process // the newest process whose home is this rank
	number  uint32   // of open
	part    bool     // the program is only a part of the events
	claimed []bool   // see Claimed
}

// Message tags. From tagTiles on there is one for each size of groups.
const (
	tagPart = 121 + iota
	tagClaimed
	tagTiles
)

// process is the components of some locations of one process.
type process struct {
	begun bool // a location that is not a metric recorder has events
	interval.Components
}

// NewReducer prepares the reduction on one rank. nodes is the number of nodes of the run.
func NewReducer(t *Tables, ranges []partition.Range, rank, nodes int) *Reducer {
	return &Reducer{t: t, homes: partition.NewHomes(t.Defs, ranges, rank), spreads: make(Spreads, nodes), part: t.plan.WithoutInit}
}

// Add takes the components of the next location, in ascending P. The Reducer owns them afterwards. Locations that record metrics add events
// only.
func (r *Reducer) Add(p trace.P, c *interval.Components) {
	next := &process{Components: *c}
	switch {
	case r.t.Defs.Location(p).Type == trace.MetricLocation:
		next.Components = interval.Components{}
		next.Components.Add(0, xtf.ItemEvents, c.Value(0, xtf.ItemEvents))
	default:
		next.begun = c.Value(0, xtf.ItemEvents) != 0
	}
	number, _ := r.t.Defs.Process(p)
	switch {
	case !r.homes.Here(number):
		if r.away == nil {
			r.away = next
		} else {
			r.away.join(next, r.part)
		}
	case r.open != nil && r.number == number:
		r.open.join(next, r.part)
	default:
		r.close()
		r.open, r.number = next, number
	}
}

// join joins o, locations after those of x, into x. Items that add up (xtf.Item.Adds) are added. Other items of a node stay those of the
// first location that executed it, those of the root those of the first location, which calls MPI. But the root's time spans the
// events of all locations, unless the program is only a part of the events.
func (x *process) join(o *process, part bool) {
	for n := range uint32(o.Len()) {
		if !o.Has(n) {
			continue
		}
		a, b := x.Node(n), o.Node(n)
		take := n > 0 && a[xtf.ItemExecutions] == 0
		for i := range xtf.NumItems {
			switch {
			case i.Adds():
				a[i] += b[i]
			case take:
				a[i] = b[i]
			}
		}
	}
	if o.begun {
		a, b := x.Node(0), o.Node(0)
		if !x.begun {
			a[xtf.ItemFirst] = b[xtf.ItemFirst]
		}
		a[xtf.ItemExecutions] = 1
		a[xtf.ItemFirst], a[xtf.ItemLast] = min(a[xtf.ItemFirst], b[xtf.ItemFirst]), max(a[xtf.ItemLast], b[xtf.ItemLast])
		if !part {
			a[xtf.ItemTime] = a[xtf.ItemLast] - a[xtf.ItemFirst]
			a.Derive()
		}
		x.begun = true
	}
}

// executed reports whether the process executed a node; the root if it has events.
func (x *process) executed(n uint32) bool {
	if n == 0 {
		return x.Value(0, xtf.ItemEvents) != 0
	}
	return x.Value(n, xtf.ItemExecutions) != 0
}

// close adds the newest process to the distributions.
func (r *Reducer) close() {
	if r.open == nil {
		return
	}
	for n := range uint32(min(r.open.Len(), len(r.spreads))) {
		if r.open.executed(n) {
			r.spreads[n].add(r.open.Node(n), r.number)
		}
	}
	r.open = nil
}

// Reduce joins the distributions of all ranks on rank 0. failed is an earlier error of this rank: all ranks then return an error.
// Collective.
func (r *Reducer) Reduce(c mpi.Comm, failed error) (Spreads, error) {
	if err := r.joinSplit(c); failed == nil {
		failed = err
	}
	r.close()
	decode := func(b []byte) (Spreads, error) { return decodeSpreads(len(r.spreads), b) }
	spreads, err := mpi.TreeReduce(c, r.spreads, failed, Spreads.encode, decode, mergeSpreads)
	if err != nil {
		return nil, fmt.Errorf("reduce: %w", err)
	}
	return spreads, nil
}

// Claimed returns, by node after Reduce, whether locations of this rank's first process on lower ranks executed it.
func (r *Reducer) Claimed() []bool { return r.claimed }

// joinSplit sends the parts of processes that are spread over ranks to their homes, and gets the claimed nodes. A rank first sends its
// part, then serves higher ranks, and only then waits for a lower rank.
func (r *Reducer) joinSplit(c mpi.Comm) error {
	to, away := r.homes.Away()
	if away {
		b := []byte{0}
		if r.away.begun {
			b[0] = 1
		}
		if err := c.Send(r.away.AppendBinary(b), to, tagPart); err != nil {
			return err
		}
	}
	for _, rank := range r.homes.Sharers() {
		b, _, err := c.Recv(rank, tagPart)
		if err != nil {
			return err
		}
		if err := c.Send(r.executedNodes(), rank, tagClaimed); err != nil {
			return err
		}
		if err := r.joinPart(b); err != nil {
			return err
		}
	}
	if !away {
		return nil
	}
	b, _, err := c.Recv(to, tagClaimed)
	if err != nil {
		return err
	}
	if len(b) != len(r.spreads) {
		return errSummary
	}
	r.claimed = make([]bool, len(b))
	for n, x := range b {
		r.claimed[n] = x != 0
	}
	return nil
}

// executedNodes returns a byte for each node: 1 if the open process executed it.
func (r *Reducer) executedNodes() []byte {
	b := make([]byte, len(r.spreads))
	for n := range b {
		if r.open != nil && r.open.executed(uint32(n)) {
			b[n] = 1
		}
	}
	return b
}

func (r *Reducer) joinPart(b []byte) error {
	if len(b) == 0 || r.open == nil {
		return errSummary
	}
	c, err := interval.ParseComponents(b[1:])
	if err != nil {
		return err
	}
	r.open.join(&process{begun: b[0] != 0, Components: *c}, r.part)
	return nil
}

package stats

import (
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/partition"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Reducer makes processes of the locations of one rank, in ascending P, and
// distributions over all processes. Memory: the components of two processes, and
// the distributions of all nodes.
type Reducer struct {
	t       *Tables
	homes   partition.Homes
	spreads Spreads
	away    *process // of the rank's first process, if another rank is its home
	open    *process // the newest one at home here
	number  uint32   // of open
	part    bool     // the program is a part of the events
	claimed []bool   // nodes that a location of the first process on a lower rank executed
}

// Message tags: one for each size of groups from tagTiles on.
const (
	tagPart = 121 + iota
	tagClaimed
	tagTiles
)

// process is the items of some locations of one process.
type process struct {
	begun bool // a location that is not a metric recorder has events
	interval.Components
}

// NewReducer prepares the reduction on one rank, over the nodes of the run.
func NewReducer(t *Tables, ranges []partition.Range, rank, nodes int) *Reducer {
	return &Reducer{t: t, homes: partition.NewHomes(t.Defs, ranges, rank), spreads: make(Spreads, nodes), part: t.plan.WithoutInit}
}

// Add takes the components of the next location, which belong to the Reducer
// afterwards. Metric recorders add events, but no times.
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

// join adds locations that come after those of x: items that add up are added, the
// others stay those of the first location that executed the node; of the whole
// program they stay those of the first location, the one that calls MPI, but that
// its time spans the events of all locations unless the program is only a part of
// them.
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

// executed reports whether the process takes part in a node: it executed it, or
// has events.
func (x *process) executed(n uint32) bool {
	if n == 0 {
		return x.Value(0, xtf.ItemEvents) != 0
	}
	return x.Value(n, xtf.ItemExecutions) != 0
}

// close puts the newest process into the distributions.
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

// Reduce joins the distributions of all ranks, unless one of them failed before; the result is on rank 0. Collective.
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

// Claimed says which nodes were executed by locations of this rank's first process
// that lower ranks hold, after Reduce.
func (r *Reducer) Claimed() []bool { return r.claimed }

// joinSplit brings the parts of processes spread over ranks to their homes. A rank
// first gives, then takes, then hears what ranks below it had: nobody waits for a
// lower rank before it has served the higher ones.
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

// executedNodes is a byte for each node that says whether the open process
// executed it.
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

package waits

import (
	"slices"

	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/xtf"
)

// heldExecutions is the most executions of a location that stay in memory, for the five walks over them.
const heldExecutions = 2048

// openExecutions returns a function that begins a walk over the executions of a location.
func openExecutions(in *Location) (func() interval.Executions, error) {
	c := in.Executions()
	var rows []byte
	for c.Next() {
		if rows = append(rows, c.Row()...); len(rows) > heldExecutions*xtf.IvalRowBytes {
			return func() interval.Executions { return in.Executions() }, nil
		}
	}
	rows = slices.Clip(rows)
	return func() interval.Executions { return &heldRows{rest: rows} }, c.Err()
}

// heldRows are IVAL rows in memory.
type heldRows struct{ row, rest []byte }

func (h *heldRows) Next() bool {
	if len(h.rest) == 0 {
		return false
	}
	h.row, h.rest = h.rest[:xtf.IvalRowBytes], h.rest[xtf.IvalRowBytes:]
	return true
}

func (h *heldRows) Row() []byte { return h.row }

func (h *heldRows) Err() error { return nil }

// innermost finds the innermost execution at an instant, except those of derived nodes. Memory: 16 bytes per open execution.
type innermost struct {
	rows    interval.Executions
	derived []bool
	open    []execution
	next    xtf.Ival
	state   int8 // 0: next is to be read, 1: it is there, 2: no more
}

type execution struct {
	end  uint64
	node uint32
}

// at returns the innermost node at t, which must not decrease from call to call; 0 for none.
func (x *innermost) at(t uint64) uint32 {
	for {
		if x.state == 0 {
			x.state = 2
			if x.rows.Next() {
				x.next.Load(x.rows.Row())
				x.state = 1
			}
		}
		if x.state == 2 || x.next.T > t {
			break
		}
		x.close(x.next.T)
		if n := x.next.Node; uint64(n) >= uint64(len(x.derived)) || !x.derived[n] {
			x.open = append(x.open, execution{x.next.End, n})
		}
		x.state = 0
	}
	x.close(t)
	if len(x.open) == 0 {
		return 0
	}
	return x.open[len(x.open)-1].node
}

// close closes the executions that end at t or before.
func (x *innermost) close(t uint64) {
	for n := len(x.open); n > 0 && x.open[n-1].end <= t; n-- {
		x.open = x.open[:n-1]
	}
}

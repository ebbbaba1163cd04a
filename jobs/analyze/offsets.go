package analyze

import (
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// offsets finds clocks that differ by constants, as where each process counts from its own start. What is sent must not arrive before: so
// each message, and each member of a collective that needs another one, bounds by how much the clock of one process may be ahead of
// that of another one. Messages in both directions bound it from both sides: A. Duda, G. Harrus, Y. Haddad, G. Bernard, Estimating global
// time in distributed systems, ICDCS 1987.
//
// Memory: about 40 bytes for each two processes that communicate, and 16 for each process.
type offsets struct {
	slack map[direction]int64
}

// direction is from the process that sends, or is needed, to that which waits.
type direction struct{ from, to uint32 }

// bound says that the clock of process from may be ahead of that of process to by at most slack ticks more than it is in the trace. A
// negative one is a violation. Bounds of more than mostSlack are left out.
func (o *offsets) bound(from, to uint32, slack int64) {
	if o.slack == nil {
		o.slack = map[direction]int64{}
	}
	k := direction{from, to}
	if least, ok := o.slack[k]; from != to && max(slack, -slack) <= mostSlack && (!ok || slack < least) {
		o.slack[k] = slack
	}
}

// mostHops bounds the processes in a row that set each other's clocks. So sums of bounds are less than 2^62.
const (
	mostHops  = 256
	mostSlack = 1 << 53
)

// unset is the clock of a process that no bound ties to the first one.
const unset = -1 << 62

// solve returns by how many ticks the clock of each process has to be set back, at most most, to satisfy the bounds of all ranks. Where they
// tie each process to the first one from both sides, up to a time that is less than the worst violation, each clock is put in the middle: the
// least times of messages in both directions are taken to be equal. Else clocks are set back as little as will do. If no constants do,
// because clocks drift, all bounds may be violated by a time, the least power of two that will do. solve returns nil if nothing is violated,
// or if that time would be half of the worst violation or more. Collective.
func (o *offsets) solve(c mpi.Comm, processes int, most uint64) ([]int64, error) {
	worst := []int64{0}
	for _, s := range o.slack {
		worst[0] = max(worst[0], -s)
	}
	if err := c.AllreduceInt64(worst, mpi.Max); err != nil {
		return nil, err
	}
	for let := int64(0); let < (worst[0]+1)/2; let = max(2*let, 1) {
		ahead, err := o.settle(c, make([]int64, processes), let, false)
		if ahead != nil && err == nil {
			err = o.center(c, ahead, let, worst[0])
		}
		if err != nil || ahead != nil && uint64(slices.Max(ahead)) <= most {
			return ahead, err
		}
	}
	return nil, nil
}

// center puts the clocks in the middle of what the bounds allow, if that is less than width for each.
func (o *offsets) center(c mpi.Comm, ahead []int64, let, width int64) error {
	first := slices.Repeat([]int64{unset}, len(ahead))
	first[0] = 0
	least, err := o.settle(c, slices.Clone(first), let, false)
	if err != nil {
		return err
	}
	most, err := o.settle(c, first, let, true) // negative
	if err != nil || least == nil || most == nil {
		return err
	}
	for p := range least {
		if min(least[p], most[p]) <= unset/2 || -most[p]-least[p] >= width {
			return nil
		}
		least[p] = (least[p] - most[p]) >> 1
	}
	lowest := slices.Min(least)
	for p, v := range least {
		ahead[p] = v - lowest
	}
	return nil
}

// settle sets clocks back until all bounds hold but for a time; nil if they do not after mostHops rounds. Rounds use what the round before
// found, so that they do not depend on the ranks. The other way bounds hold for how much clocks are set forward.
func (o *offsets) settle(c mpi.Comm, ahead []int64, let int64, forward bool) ([]int64, error) {
	for range mostHops {
		next := slices.Clone(ahead)
		for k, s := range o.slack {
			if forward {
				k.from, k.to = k.to, k.from
			}
			next[k.from] = max(next[k.from], ahead[k.to]-s-let)
		}
		if err := c.AllreduceInt64(next, mpi.Max); err != nil {
			return nil, err
		}
		if slices.Equal(next, ahead) {
			return ahead, nil
		}
		ahead = next
	}
	return nil, nil
}

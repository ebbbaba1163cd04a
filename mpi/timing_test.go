package mpi

import (
	"fmt"
	"slices"
)

// testTiming makes every kind of measurement, of the first pair of ranks and of a rank with itself, and then talks again.
// How long anything took is nobody's business here.
func testTiming(t *rankTest, c Comm) {
	const unset = -1
	t.is("no such operation", Time(c, Timing{Operation: numOperations}, nil), ErrArg)
	t.is("no such size", Time(c, Timing{Bytes: -1}, nil), ErrArg)
	t.is("no such rank", Time(c, Timing{Peer: c.Size()}, nil), ErrRank)
	if _, ok := c.(interface{ time(Timing, []int64) error }); !ok {
		t.is("no library", Time(c, Timing{Peer: c.Rank()}, make([]int64, 1)), ErrLaunch)
		return
	}
	for op := range numOperations {
		for _, bytes := range []int{0, 1, 4096, 1 << 20} {
			for _, peer := range []int{c.Rank(), 1 - c.Rank()} {
				alone := op == ClockRead || op == ReduceLocal
				if peer < 0 || peer >= c.Size() || alone && peer != c.Rank() {
					continue
				}
				lead := peer == c.Rank() || c.Rank() == 0
				ns := slices.Repeat([]int64{unset}, 3)
				what := fmt.Sprintf("operation %d of %d bytes with %d", op, bytes, peer)
				t.ok(what, Time(c, Timing{Operation: op, Peer: peer, Lead: lead, Bytes: bytes, Messages: 5}, ns))
				for _, v := range ns {
					if (v == unset) == lead || (op == EagerSend || op == EagerInside) && lead && v > 1 {
						t.fatalf("%s: %v", what, ns)
					}
				}
			}
		}
	}
	testRing(t, c)
}

//go:build cgo && !nompi

package mpi

import (
	"encoding/binary"
	"math/bits"
)

// Where all ranks run on one node and share its processors, most collective calls are messages of this package along a binomial tree, up
// to its root and down again. These ring, so a rank that waits leaves the processors to the others. The rounds of a collective call of the
// library do not: a rank dozes or yields in each.

// up brings b of all ranks together at root, rank by rank from it on and around: merge makes one of what a rank holds and of
// what comes from those above it. The others are done when they have sent theirs; they get nil.
func (c *mpiComm) up(b []byte, root int, merge func(held, got []byte) []byte) ([]byte, error) {
	at := c.from(root)
	for bit := 1; bit < c.size; bit *= 2 {
		if at&bit != 0 {
			return nil, c.treeSend(b, (at-bit+root)%c.size)
		}
		if at+bit < c.size {
			got, err := c.treeRecv((at + bit + root) % c.size)
			if err != nil {
				return nil, err
			}
			b = merge(b, got)
		}
	}
	return b, nil
}

// down gives b of root to all.
func (c *mpiComm) down(b []byte, root int) (_ []byte, err error) {
	at := c.from(root)
	bit := 1 << bits.Len(uint(c.size-1))
	if at > 0 {
		bit = at & -at
		if b, err = c.treeRecv((at - bit + root) % c.size); err != nil {
			return nil, err
		}
	}
	var sent []*Request
	for bit /= 2; bit > 0; bit /= 2 {
		if at+bit < c.size {
			sent = append(sent, c.send(systemPlane, b, (at+bit+root)%c.size, tagColl))
		}
	}
	return b, c.Wait(sent...)
}

// The messages of a tree are not counted as such: the calls are.
func (c *mpiComm) treeSend(b []byte, to int) error {
	return c.Wait(c.send(systemPlane, b, to, tagColl))
}

func (c *mpiComm) treeRecv(from int) ([]byte, error) {
	r := c.receive(systemPlane, from, tagColl)
	err := c.Wait(r)
	return r.data, err
}

// from is the place of this rank from root on.
func (c *mpiComm) from(root int) int { return (c.rank - root + c.size) % c.size }

// fold replaces v by its reduction over all ranks, which give the same number of values.
func (c *mpiComm) fold(v []int64, op Op) error {
	b, err := c.up(appendInts(nil, v), 0, func(held, got []byte) []byte { return foldInts(held, got, op) })
	if err == nil {
		b, err = c.down(b, 0)
	}
	if err == nil {
		takeInts(v, b)
	}
	return err
}

// foldInts folds the values of got into those of held, as many as both have.
func foldInts(held, got []byte, op Op) []byte {
	var a, b [1]int64
	for at := 0; at+8 <= min(len(held), len(got)); at += 8 {
		takeInts(a[:], held[at:])
		takeInts(b[:], got[at:])
		combine(a[:], b[:], op)
		binary.LittleEndian.PutUint64(held[at:], uint64(a[0]))
	}
	return held
}

func appendInts(b []byte, v []int64) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// takeInts fills v from b, as far as that goes, and returns the rest.
func takeInts(v []int64, b []byte) []byte {
	for i := range v {
		if len(b) < 8 {
			break
		}
		v[i], b = int64(binary.LittleEndian.Uint64(b)), b[8:]
	}
	return b
}

// foldReduce is reduce: what is compared goes up and down together with the values.
func (c *mpiComm) foldReduce(v []int64, op Op) error {
	in := v
	if op == Sum {
		in = splitSum(v)
	}
	head := compared(v, op)
	n := 8 * len(head)
	b, err := c.up(appendInts(appendInts(nil, head), in), 0, func(held, got []byte) []byte {
		n := min(n, len(got))
		foldInts(held, got[:n], Max)
		foldInts(held[n:], got[n:], op)
		return held
	})
	if err == nil {
		b, err = c.down(b, 0)
	}
	if err != nil {
		return err
	}
	b = takeInts(head, b)
	if err := disagreement(head, op); err != nil {
		return err
	}
	out := make([]int64, len(in))
	takeInts(out, b)
	return storeReduced(v, out, op)
}

// foldBelow is the sum of the values of the ranks below this one.
func (c *mpiComm) foldBelow(v int64) (int64, error) {
	b, err := c.up(appendInts(nil, []int64{v}), 0, func(held, got []byte) []byte { return append(held, got...) })
	if err == nil {
		b, err = c.down(b, 0)
	}
	if err != nil {
		return 0, err
	}
	all, acc, sum, below := make([]int64, c.size), []int64{0, 0}, []int64{0}, int64(0)
	takeInts(all, b)
	for i, v := range all {
		if !joinSum(sum, acc) {
			return 0, errf("exscan", ErrOverflow, "the sum of the ranks below %d does not fit 64 bits", i)
		}
		if i == c.rank {
			below = sum[0]
		}
		combine(acc, splitSum([]int64{v}), Sum)
	}
	return below, nil
}

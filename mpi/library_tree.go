//go:build cgo && !nompi

package mpi

import (
	"encoding/binary"
	"slices"
)

// If all ranks run on one node and share its processors, most collective calls send messages of this package along a binomial tree, up to
// the root and down again. These wake the ranks that wait for them, so waiting ranks leave the processors to others. In collectives of the
// library they do not: a rank sleeps or yields in each round.

// up reduces b of all ranks to root with merge, which gets adjacent ranges of ranks in order, from root on (modulo size). Other ranks
// return nil after they have sent theirs.
func (c *mpiComm) up(b []byte, root int, merge func(held, got []byte) []byte) ([]byte, error) {
	parent, children := Tree(c.from(root), c.size)
	for _, child := range children {
		got, err := c.treeRecv((child + root) % c.size)
		if err != nil {
			return nil, err
		}
		b = merge(b, got)
	}
	if c.rank == root {
		return b, nil
	}
	return nil, c.Wait(c.send(systemPlane, b, (parent+root)%c.size, tagColl))
}

func (c *mpiComm) down(b []byte, root int) (_ []byte, err error) {
	parent, children := Tree(c.from(root), c.size)
	if c.rank != root {
		if b, err = c.treeRecv((parent + root) % c.size); err != nil {
			return nil, err
		}
	}
	var sent []*Request
	for _, child := range slices.Backward(children) {
		sent = append(sent, c.send(systemPlane, b, (child+root)%c.size, tagColl))
	}
	return b, c.Wait(sent...)
}

// treeRecv is not observed as a message; the collective call is.
func (c *mpiComm) treeRecv(from int) ([]byte, error) {
	r := c.receive(systemPlane, from, tagColl)
	err := c.Wait(r)
	return r.data, err
}

// from returns this rank's number if ranks are counted from root.
func (c *mpiComm) from(root int) int { return (c.rank - root + c.size) % c.size }

// fold replaces v by its reduction. All ranks have the same number of values.
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

// foldInts combines the values of got with those of held, as many as both have.
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

// takeInts decodes as many values as there are, and returns the rest.
func takeInts(v []int64, b []byte) []byte {
	for i := range v {
		if len(b) < 8 {
			break
		}
		v[i], b = int64(binary.LittleEndian.Uint64(b)), b[8:]
	}
	return b
}

// foldReduce is reduce along the tree; compared travels with the values.
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

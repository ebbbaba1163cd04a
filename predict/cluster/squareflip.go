package cluster

import (
	"encoding/binary"
	"slices"
)

// flip sends what this rank computed for the rows of the s-th rank behind it there, and takes in what the s-th rank
// before it computed, in pieces. Collective.
func (q *square[E]) flip(s int) error {
	to, from := (q.rank+s)%q.size, (q.rank-s+q.size)%q.size
	rowsOf := func(receiver int) int { // of the sender, in a piece
		return int(max(1, q.piece()/int64(q.entryBytes()*max(1, q.held(receiver)))))
	}
	rounds := 0
	for r := range q.size {
		n := rowsOf((r + s) % q.size)
		rounds = max(rounds, (q.held(r)+n-1)/n)
	}
	out, in := rowsOf(to), rowsOf(q.rank)
	for round := range rounds {
		b := make([]byte, 0, out*q.held(to)*q.entryBytes())
		for i := round * out; i < min((round+1)*out, q.held(q.rank)); i++ {
			b = q.encode(b, i*q.width+to, q.held(to), q.size)
		}
		got, err := q.swap(b, from, to, tagFlip)
		if err != nil {
			return err
		}
		first := min(round*in, q.held(from))
		last := min(first+in, q.held(from))
		if len(got) != (last-first)*q.held(q.rank)*q.entryBytes() {
			err = errMessage("distances")
		} else {
			q.transpose(got, first, last, from)
		}
		if err := q.agree(err); err != nil {
			return err
		}
	}
	return nil
}

// transpose takes in the rows [first, last) of a rank, which hold a column for each row here. It goes by bundles of
// rows here, so that cache lines of the message are used while they are at hand.
func (q *square[E]) transpose(b []byte, first, last, from int) {
	const bundle = 16
	n := q.held(q.rank)
	for k0 := 0; k0 < n; k0 += bundle {
		for i := first; i < last; i++ {
			at, to, line := (i-first)*n+k0, k0*q.width+i*q.size+from, min(k0+bundle, n)-k0
			if narrow[E]() {
				for k := range line {
					q.lo[to+k*q.width] = E(binary.LittleEndian.Uint32(b[4*(at+k):]))
				}
				continue
			}
			for k := range line {
				q.entry(b, at+k, q.lo, q.hi, to+k*q.width)
			}
		}
	}
}

// piece is the size of messages that carry distances, in bytes, but for one of a single row.
func (q *square[E]) piece() int64 { return max(1<<16, min(8<<20, q.o.Memory/32)) }

// entryBytes is the size of a distance in a message: the element, and hi where there is one.
func (q *square[E]) entryBytes() int {
	n := 8
	if narrow[E]() {
		n = 4
	}
	if q.hi != nil {
		n += 8
	}
	return n
}

// encode appends n entries, from at on, each step further.
func (q *square[E]) encode(b []byte, at, n, step int) []byte {
	from, to := len(b), len(b)+n*q.entryBytes()
	b = slices.Grow(b, to-from)[:to]
	dst := b[from:]
	switch {
	case narrow[E]():
		for k := range n {
			binary.LittleEndian.PutUint32(dst[4*k:], uint32(q.lo[at+k*step]))
		}
	case q.hi == nil:
		for k := range n {
			binary.LittleEndian.PutUint64(dst[8*k:], uint64(q.lo[at+k*step]))
		}
	default:
		for k := range n {
			binary.LittleEndian.PutUint64(dst[16*k:], uint64(q.lo[at+k*step]))
			binary.LittleEndian.PutUint64(dst[16*k+8:], q.hi[at+k*step])
		}
	}
	return b
}

// entry decodes entry k of a message into place at.
func (q *square[E]) entry(b []byte, k int, lo []E, hi []uint64, at int) {
	switch {
	case narrow[E]():
		lo[at] = E(getUint32(b[4*k:]))
	case hi == nil:
		lo[at] = E(getUint64(b[8*k:]))
	default:
		lo[at], hi[at] = E(getUint64(b[16*k:])), getUint64(b[16*k+8:])
	}
}

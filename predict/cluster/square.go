package cluster

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// square is the distances of the clusters of one part, shared out over the ranks by rows: point i of the part on rank
// i mod p. A row is complete, with a column for every cluster in the order of their lowest members, so that a search
// needs no other rank. Everything but the rows is the same on all ranks.
type square[E element] struct {
	*job
	spec
	points []int32
	width  int // columns
	lo     []E // row after row, width entries each
	hi     []uint64
	row    []int32 // of a cluster on this rank
	column []int32 // of a cluster
	owner  []int32 // cluster of a column, -1 when it is no more
	weight []uint64
	inv    []float64 // of a column
	near   []int32   // nearest cluster of a cluster, -1 when it must be searched for
	alive  []int32   // clusters, ascending
	links  []link    // of clusters whose rows are here
}

func newSquare[E element](j *job, s spec, points []int32) *square[E] {
	n := len(points)
	q := &square[E]{
		job: j, spec: s, points: points, width: n, row: make([]int32, n), column: make([]int32, n), owner: make([]int32, n),
		weight: make([]uint64, n), near: make([]int32, n), alive: make([]int32, n), inv: make([]float64, n),
	}
	for i, k := range points {
		q.row[i], q.column[i], q.owner[i], q.alive[i], q.near[i] = int32(i/j.size), int32(i), int32(i), int32(i), -1
		q.weight[i] = uint64(j.pts[k].mass)
		q.inv[i] = 1 / float64(q.weight[i])
	}
	q.lo = make([]E, q.held(j.rank)*n)
	if s.wide || s.measure == squaresWide {
		q.hi = make([]uint64, len(q.lo))
	}
	return q
}

// held is the number of points of the part whose rows are on a rank.
func (q *square[E]) held(rank int) int { return (len(q.points) - rank + q.size - 1) / q.size }

func (q *square[E]) here(i int32) bool { return int(i)%q.size == q.rank }

// span returns the row of a cluster on this rank.
func (q *square[E]) span(i int32) (lo []E, hi []uint64) {
	at := int(q.row[i]) * q.width
	lo = q.lo[at : at+q.width]
	if q.hi != nil {
		hi = q.hi[at : at+q.width]
	}
	return lo, hi
}

const tagBlock, tagFlip = 1, 2

// fill computes all distances. Each pair of ranks is worked on by one of them: rank r takes the rows of the ranks
// r+1, r+2 ... half way round, and the results are then brought over. Collective.
func (q *square[E]) fill() error {
	dest := make([]int32, len(q.points))
	for i := range dest {
		dest[i] = int32(i % q.size)
	}
	tiles := make([]tile, q.o.Workers)
	err := q.panels(q.newPlan(q.points, dest), func(own rows) error {
		for s := 0; 2*s <= q.size; s++ {
			other, err := q.block(own, s)
			if err != nil {
				return err
			}
			n := (own.len() + edge - 1) / edge
			parallel(len(tiles), n, func(worker, i int) { q.strip(&tiles[worker], own, other, i*edge, s) })
		}
		return nil
	})
	if err != nil {
		return err
	}
	own := q.ownAlive()
	parallel(q.o.Workers, len(own), func(_, k int) {
		lo, hi := q.span(own[k])
		sealRow(q.spec, lo, hi, q.weight[own[k]], q.weight)
	})
	if !q.wide {
		q.hi = nil
	}
	for s := 1; 2*s < q.size; s++ {
		if err := q.flip(s); err != nil {
			return err
		}
	}
	for _, i := range own {
		lo, _ := q.span(i)
		lo[i] = dead[E]()
	}
	return nil
}

// block returns the rows of the s-th rank behind this one. Collective.
func (q *square[E]) block(own rows, s int) (rows, error) {
	if s == 0 {
		return own, nil
	}
	from, to := (q.rank+s)%q.size, (q.rank-s+q.size)%q.size
	b, err := q.swap(putEntries(make([]byte, 0, 8*len(own.data)), own.data), from, to, tagBlock)
	if err != nil {
		return rows{}, err
	}
	n := q.held(from)
	data := make([]int64, n*own.width)
	if err := q.agree(readEntries(b, data)); err != nil {
		return rows{}, err
	}
	return newRows(data, n, own.width), nil
}

// swap sends b to one rank and receives from another.
func (q *square[E]) swap(b []byte, from, to, tag int) ([]byte, error) {
	in, err := q.c.Irecv(from, tag)
	if err != nil {
		return nil, err
	}
	out, err := q.c.Isend(b, to, tag)
	if err != nil {
		return nil, err
	}
	if err := q.c.Wait(in, out); err != nil {
		return nil, err
	}
	return in.Data(), nil
}

// strip adds the sums over a panel to edge rows from on, in the columns of the s-th rank behind this one.
func (q *square[E]) strip(t *tile, own, other rows, from, s int) {
	to, last := min(from+edge, own.len()), other.len()
	if s == 0 {
		last = min(last, to)
	}
	rank := (q.rank + s) % q.size
	for b := 0; b < last; b += edge {
		e := min(b+edge, last)
		t.fill(q.measure, own, from, to, other, b, e)
		for i := from; i < to; i++ {
			for k := b; k < e; k++ {
				at := (i-from)*edge + k - b
				q.put(i*q.width+k*q.size+rank, t.lo[at], t.hi[at])
				if s == 0 && b < from { // the other half of this rank's own pairs
					q.put(k*q.width+i*q.size+rank, t.lo[at], t.hi[at])
				}
			}
		}
	}
}

func (q *square[E]) put(at int, lo, hi uint64) {
	if q.measure != squaresWide {
		q.lo[at] += E(lo)
		return
	}
	s, c := bits.Add64(uint64(q.lo[at]), lo, 0)
	q.lo[at] = E(s)
	q.hi[at] += hi + c
}

// flip sends what this rank computed for the rows of the s-th rank behind it there, and takes in what the s-th rank
// before it computed, in pieces. Collective.
func (q *square[E]) flip(s int) error {
	to, from := (q.rank+s)%q.size, (q.rank-s+q.size)%q.size
	piece := func(held int) int { return int(max(1, q.piece()/int64(q.entryBytes()*max(1, held)))) }
	mine, theirs := piece(q.held(q.rank)), piece(q.held(from))
	rounds := 0
	for r := range q.size {
		n := piece(q.held(r))
		rounds = max(rounds, (q.held((r+s)%q.size)+n-1)/n)
	}
	for round := range rounds {
		b := make([]byte, 0, mine*q.held(q.rank)*q.entryBytes())
		for k := round * mine; k < min((round+1)*mine, q.held(to)); k++ {
			for i := range q.held(q.rank) {
				b = q.putEntry(b, i*q.width+k*q.size+to)
			}
		}
		got, err := q.swap(b, from, to, tagFlip)
		if err != nil {
			return err
		}
		first := min(round*theirs, q.held(q.rank))
		last := min(first+theirs, q.held(q.rank))
		if len(got) != (last-first)*q.held(from)*q.entryBytes() {
			err = errMessage("distances")
		}
		for k := first; k < last && err == nil; k++ {
			for i := range q.held(from) {
				got = q.readEntry(got, k*q.width+i*q.size+from)
			}
		}
		if err := q.agree(err); err != nil {
			return err
		}
	}
	return nil
}

// piece is the size of messages that carry distances, in bytes, but for one of a single row.
func (q *square[E]) piece() int64 { return max(1<<16, min(8<<20, q.o.Memory/32)) }

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

func (q *square[E]) putEntry(b []byte, at int) []byte {
	if narrow[E]() {
		b = binary.LittleEndian.AppendUint32(b, uint32(q.lo[at]))
	} else {
		b = binary.LittleEndian.AppendUint64(b, uint64(q.lo[at]))
	}
	if q.hi != nil {
		b = binary.LittleEndian.AppendUint64(b, q.hi[at])
	}
	return b
}

// entry takes an entry off a message.
func (q *square[E]) entry(b []byte) (lo E, hi uint64, rest []byte) {
	if narrow[E]() {
		lo, b = E(getUint32(b)), b[4:]
	} else {
		lo, b = E(getUint64(b)), b[8:]
	}
	if q.hi != nil {
		hi, b = getUint64(b), b[8:]
	}
	return lo, hi, b
}

func (q *square[E]) readEntry(b []byte, at int) []byte {
	lo, hi, b := q.entry(b)
	q.lo[at] = lo
	if q.hi != nil {
		q.hi[at] = hi
	}
	return b
}

// search returns the nearest cluster of a cluster of this rank; of equally near ones the one of the lowest member.
func (q *square[E]) search(i int32) int32 {
	lo, hi := q.span(i)
	if !q.mean {
		at, least := 0, lo[0]
		for k, d := range lo {
			if d < least {
				at, least = k, d
			}
		}
		return q.owner[at]
	}
	b := best{at: -1, limit: math.Inf(1)}
	for k, d := range lo {
		switch {
		case q.owner[k] < 0 || q.owner[k] == i:
		case hi != nil:
			b.take(k, hi[k], uint64(d), q.weight[q.owner[k]])
		case float64(int64(d))*q.inv[k] <= b.limit:
			b.take(k, 0, uint64(d), q.weight[q.owner[k]])
		}
	}
	return q.owner[b.at]
}

// merge makes one cluster of each pair. No cluster may be in two of them. Collective.
func (q *square[E]) merge(pairs []pair) error {
	for _, p := range pairs {
		if q.here(p.a) {
			q.links = append(q.links, link{q.points[p.a], q.points[p.b], q.height(p)})
		}
	}
	if err := q.bring(pairs); err != nil {
		return err
	}
	for _, p := range pairs {
		q.near[p.a], q.near[p.b] = merging, merging
		q.owner[q.column[p.b]] = -1
	}
	q.alive = slices.DeleteFunc(q.alive, func(i int32) bool { return q.owner[q.column[i]] < 0 })
	own := q.ownAlive()
	parallel(q.o.Workers, len(own), func(_, k int) { q.fold(own[k], pairs) })
	for _, i := range q.alive {
		if k := q.near[i]; k >= 0 && q.near[k] == merging {
			q.near[i] = -1
		}
	}
	for _, p := range pairs {
		q.near[p.a] = -1
		q.weight[p.a] += q.weight[p.b]
		q.inv[q.column[p.a]], q.inv[q.column[p.b]] = 1/float64(q.weight[p.a]), math.Inf(1)
	}
	if 2*len(q.alive) <= q.width {
		q.compact(own)
	}
	return nil
}

// pair is two clusters, a below b.
type pair struct{ a, b int32 }

// merging stands in square.near while clusters merge.
const merging = -2

func (q *square[E]) ownAlive() []int32 {
	var own []int32
	for _, i := range q.alive {
		if q.here(i) {
			own = append(own, i)
		}
	}
	return own
}

// height is the height of a merge whose first row is here.
func (q *square[E]) height(p pair) Height {
	lo, hi := q.span(p.a)
	at := q.column[p.b]
	h := whole(uint64(lo[at]))
	if q.mean {
		h.Pairs = q.weight[p.a] * q.weight[p.b]
		if hi != nil {
			h.Hi = hi[at]
		}
	}
	return h
}

// bring joins the second row of each pair to the first. Rows that are on another rank come in pieces. Collective.
func (q *square[E]) bring(pairs []pair) error {
	limit := int(max(1, q.piece()/int64(q.width*q.entryBytes())))
	for len(pairs) > 0 {
		in, out := make([]int, q.size), make([]int, q.size)
		n := 0
		for ; n < len(pairs); n++ {
			from, to := int(pairs[n].b)%q.size, int(pairs[n].a)%q.size
			if from == to {
				continue
			}
			if in[to] == limit || out[from] == limit {
				break
			}
			in[to]++
			out[from]++
		}
		if err := q.carry(pairs[:n], slices.Max(in) > 0); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}

// carry is bring for rows that go in one message; far tells whether any has to.
func (q *square[E]) carry(pairs []pair, far bool) error {
	parts := make([][]byte, q.size)
	for _, p := range pairs {
		to := int(p.a) % q.size
		switch {
		case q.here(p.b) && to != q.rank:
			parts[to] = slices.Grow(parts[to], q.width*q.entryBytes())
			at := int(q.row[p.b]) * q.width
			for k := range q.width {
				parts[to] = q.putEntry(parts[to], at+k)
			}
		case q.here(p.b):
			lo, hi := q.span(p.b)
			q.joinRow(p.a, func(k int) (E, uint64) {
				if hi == nil {
					return lo[k], 0
				}
				return lo[k], hi[k]
			})
		}
	}
	if !far {
		return nil
	}
	got, err := q.c.Alltoall(parts)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		from := int(p.b) % q.size
		if !q.here(p.a) || from == q.rank {
			continue
		}
		if len(got[from]) < q.width*q.entryBytes() {
			err = errMessage("rows")
			break
		}
		b := got[from]
		q.joinRow(p.a, func(int) (lo E, hi uint64) {
			lo, hi, b = q.entry(b)
			return lo, hi
		})
		got[from] = b
	}
	return q.agree(err)
}

// joinRow joins a row, column by column, to that of cluster i.
func (q *square[E]) joinRow(i int32, other func(k int) (E, uint64)) {
	at := int(q.row[i]) * q.width
	for k := range q.width {
		lo, hi := other(k)
		q.join(at+k, lo, hi)
	}
}

func (q *square[E]) join(at int, lo E, hi uint64) {
	switch {
	case !q.mean:
		q.lo[at] = max(q.lo[at], lo)
	case q.hi != nil:
		s, c := bits.Add64(uint64(q.lo[at]), uint64(lo), 0)
		q.lo[at] = E(s)
		q.hi[at] += hi + c
	default:
		q.lo[at] += lo
	}
}

// fold joins the second column of each pair to the first, in the row of cluster i.
func (q *square[E]) fold(i int32, pairs []pair) {
	at := int(q.row[i]) * q.width
	for _, p := range pairs {
		a, b := at+int(q.column[p.a]), at+int(q.column[p.b])
		hi := uint64(0)
		if q.hi != nil {
			hi = q.hi[b]
		}
		q.join(a, q.lo[b], hi)
		q.lo[b] = dead[E]()
	}
	q.lo[at+int(q.column[i])] = dead[E]()
}

// compact moves the living rows and columns together; own are the clusters of the living rows.
func (q *square[E]) compact(own []int32) {
	columns := make([]int32, len(q.alive))
	for k, i := range q.alive {
		columns[k] = q.column[i]
	}
	at := 0
	for r, i := range own {
		from := int(q.row[i]) * q.width
		for _, c := range columns {
			q.lo[at] = q.lo[from+int(c)]
			if q.hi != nil {
				q.hi[at] = q.hi[from+int(c)]
			}
			at++
		}
		q.row[i] = int32(r)
	}
	q.width = len(q.alive)
	q.owner = q.owner[:q.width]
	for k, i := range q.alive {
		q.column[i], q.owner[k] = int32(k), i
		q.inv[k] = 1 / float64(q.weight[i])
	}
}

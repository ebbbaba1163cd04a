package cluster

import (
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
			at := (i - from) * edge
			lo, hi := t.lo[at:at+e-b], t.hi[at:at+e-b]
			q.addLine(i*q.width+b*q.size+rank, q.size, lo, hi)
			if s == 0 && b < from { // the other half of this rank's own pairs
				q.addLine(b*q.width+i*q.size+rank, q.width, lo, hi)
			}
		}
	}
}

// addLine adds a tile's line to the entries from at on, each step further.
func (q *square[E]) addLine(at, step int, lo, hi []uint64) {
	if q.measure != squaresWide {
		for _, x := range lo {
			q.lo[at] += E(x)
			at += step
		}
		return
	}
	for k, x := range lo {
		q.join(at, E(x), hi[k])
		at += step
	}
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
	columns := make([]pair, len(pairs))
	for k, p := range pairs {
		columns[k] = pair{q.column[p.a], q.column[p.b]}
	}
	parallel(q.o.Workers, len(own), func(_, k int) { q.fold(own[k], columns) })
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
	if 4*len(q.alive) <= 3*q.width {
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
	rows := make([]int, q.size)
	for _, p := range pairs {
		if q.here(p.b) {
			rows[int(p.a)%q.size]++
		}
	}
	for to, n := range rows {
		if to != q.rank {
			parts[to] = make([]byte, 0, n*q.width*q.entryBytes())
		}
	}
	for _, p := range pairs {
		if to := int(p.a) % q.size; q.here(p.b) && to != q.rank {
			parts[to] = q.encode(parts[to], int(q.row[p.b])*q.width, q.width, 1)
		} else if q.here(p.b) {
			lo, hi := q.span(p.b)
			q.joinRow(p.a, lo, hi)
		}
	}
	if !far {
		return nil
	}
	got, err := q.c.Alltoall(parts)
	if err != nil {
		return err
	}
	lo, hi := make([]E, q.width), []uint64(nil)
	if q.hi != nil {
		hi = make([]uint64, q.width)
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
		for k := range lo {
			q.entry(got[from], k, lo, hi, k)
		}
		got[from] = got[from][q.width*q.entryBytes():]
		q.joinRow(p.a, lo, hi)
	}
	return q.agree(err)
}

// joinRow joins a row, column by column, to that of cluster i.
func (q *square[E]) joinRow(i int32, lo []E, hi []uint64) {
	at := int(q.row[i]) * q.width
	if !q.mean {
		for k, d := range q.lo[at : at+q.width] {
			q.lo[at+k] = max(d, lo[k])
		}
		return
	}
	for k, d := range lo {
		if hi == nil {
			q.lo[at+k] += d
		} else {
			q.join(at+k, d, hi[k])
		}
	}
}

// join adds a sum to that at a place.
func (q *square[E]) join(at int, lo E, hi uint64) {
	s, c := bits.Add64(uint64(q.lo[at]), uint64(lo), 0)
	q.lo[at] = E(s)
	q.hi[at] += hi + c
}

// fold joins the second column of each pair to the first, in the row of cluster i; columns are those of the pairs.
func (q *square[E]) fold(i int32, columns []pair) {
	lo, hi := q.span(i)
	for _, c := range columns {
		switch {
		case !q.mean:
			lo[c.a] = max(lo[c.a], lo[c.b])
		case hi == nil:
			lo[c.a] += lo[c.b]
		default:
			q.join(int(q.row[i])*q.width+int(c.a), lo[c.b], hi[c.b])
		}
		lo[c.b] = dead[E]()
	}
	lo[q.column[i]] = dead[E]()
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

package cluster

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// point is a distinct vector: the members that have it, under the lowest of their ids. All ranks hold all points.
type point struct {
	id     uint32
	weight uint32 // members
	mass   uint32 // members, and those of points that follow this one
	rank   int32  // that has the lowest member
	local  int32  // index in job.own, -1 on other ranks
	sum    int64  // of the entries, less the sum of the origin's
	far    uint64 // distance to the origin, in units of 2^-Fraction
}

// The survey is the first pass over the vectors. All is measured from the origin, the vector of the lowest id: where
// every distance to it is below 2^62, every distance of two vectors is below 2^63, and so is every sum less the
// origin's.

// reading is what the survey finds out about one member.
type reading struct {
	digest hash.Hash
	sum    uint64 // modulo 2^64
	hi, lo uint64 // L1 distance to the origin, or the square of the L2 distance
	l1     uint64
	moved  uint64 // L1 distance to the vector before rounding
}

// surveyPiece is the number of entries that are read at once: 512 KiB for each of three buffers.
const surveyPiece = 1 << 16

const farthest = 1 << 62

// survey reads all vectors once, and agrees on errors.
func (j *job) survey(origin int) ([]reading, signed, error) {
	list := make([]reading, j.v.Len())
	for i := range list {
		list[i].digest = sha256.New()
	}
	width := int(min(j.dim, surveyPiece))
	buf, bytes := make([]int64, width), make([]byte, 8*width)
	base := make([]int64, width)
	high, low := int64(0), int64(0) // of the sum of the origin's entries: multiples of 2^32, and the rest
	for from := uint64(0); from < j.dim; from += uint64(width) {
		n := int(min(uint64(width), j.dim-from))
		if err := j.originPiece(origin, from, base[:n]); err != nil {
			return nil, signed{}, err
		}
		for _, x := range base[:n] {
			high += x >> 32
			low += x & math.MaxUint32
		}
		err := j.ctx.Err()
		for i := 0; i < len(list) && err == nil; i++ {
			moved := uint64(0)
			if moved, err = j.read(i, from, buf[:n]); err == nil {
				err = list[i].take(j, i, moved, buf[:n], base[:n], bytes[:8*n])
			}
		}
		if err = j.agree(err); err != nil {
			return nil, signed{}, err
		}
	}
	total, err := j.total(list, high, low)
	return list, total, err
}

// originPiece makes the origin's entries known to all ranks. The origin is member 0 of its rank.
func (j *job) originPiece(origin int, from uint64, dst []int64) error {
	var b []byte
	var err error
	if j.rank == origin {
		if _, err = j.read(0, from, dst); err == nil {
			b = putEntries(make([]byte, 0, 8*len(dst)), dst)
		}
	}
	if err = j.agree(err); err != nil {
		return err
	}
	b, err = j.c.Bcast(b, origin)
	if err == nil {
		err = readEntries(b, dst)
	}
	return err
}

// take adds a piece of the vector of member i.
func (r *reading) take(j *job, i int, moved uint64, x, base []int64, bytes []byte) error {
	if r.moved += moved; r.moved >= farthest {
		return fmt.Errorf("%w: rounding moves member %d by 2^62 or more", ErrRange, j.v.ID(i))
	}
	for k, v := range x {
		d := apart(v, base[k])
		r.sum += uint64(v) - uint64(base[k])
		if r.l1 += d; d >= farthest || r.l1 >= farthest {
			return fmt.Errorf("%w: member %d is 2^62 or more away from another one", ErrRange, j.v.ID(i))
		}
		if j.o.Metric == L2 {
			h, l := bits.Mul64(d, d)
			var c uint64
			r.lo, c = bits.Add64(r.lo, l, 0)
			r.hi += h + c
		}
	}
	if j.o.Metric == L1 {
		r.lo = r.l1
	}
	_, err := r.digest.Write(putEntries(bytes[:0], x))
	return err
}

// total returns the sum of all entries of all members of all ranks.
func (j *job) total(list []reading, high, low int64) (signed, error) {
	v := []int64{0, 0}
	for i := range list {
		v[0] += int64(list[i].sum) >> 32
		v[1] += int64(list[i].sum) & math.MaxUint32
	}
	if err := j.c.AllreduceInt64(v, mpi.Sum); err != nil {
		return signed{}, err
	}
	join := func(high, low int64) signed { return signed{}.addProduct(high, 1<<32).addProduct(low, 1) }
	return join(v[0], v[1]).add(join(high, low).times(uint64(j.members))), nil
}

// read reads entries of member i, rounds them, and returns by how much in all.
func (j *job) read(i int, from uint64, dst []int64) (moved uint64, err error) {
	if err := j.v.Read(i, from, dst); err != nil {
		return 0, fmt.Errorf("cluster: vector of member %d: %w", j.v.ID(i), err)
	}
	if j.o.Quantum == 0 {
		return 0, nil
	}
	for k, x := range dst {
		dst[k] = rounded(x, j.o.Quantum)
		if moved += apart(x, dst[k]); moved >= farthest {
			return moved, nil // too far in all, which take refuses
		}
	}
	return moved, nil
}

// rounded returns x on a logarithmic grid: between two powers of two it has even steps, the largest power of two that
// is at most ppm millionths of the lower one.
func rounded(x int64, ppm uint32) int64 {
	a := apart(x, 0)
	if a == 0 {
		return 0
	}
	hi, lo := bits.Mul64(1<<(bits.Len64(a)-1), uint64(ppm))
	q, _ := bits.Div64(hi, lo, 1_000_000)
	if q == 0 {
		return x
	}
	step := uint64(1) << (bits.Len64(q) - 1)
	r := (a + step/2) &^ (step - 1)
	switch {
	case r > math.MaxInt64: // the grid point is no int64
		return x
	case x < 0:
		return -int64(r)
	}
	return int64(r)
}

// threshold returns the height of the cut in units of the vectors.
func (j *job) threshold(total signed) uint64 {
	t := j.o.Threshold
	if t.PPM == 0 {
		return min(t.Absolute, farthest)
	}
	if int64(total.hi) < 0 {
		return 0
	}
	n := wide{total.lo, total.hi}.times(uint64(t.PPM))
	if n[2] != 0 {
		return farthest
	}
	return min(Height{Hi: n[1], Lo: n[0], Pairs: uint64(j.members) * 1_000_000}.Floor(), farthest)
}

// dedupe finds equal vectors by their SHA-256 digests, makes the points known to all ranks, and leaves in j.member the
// point of each member of this rank.
func (j *job) dedupe(list []reading) error {
	leaders, weights, err := j.leaders(list)
	if err != nil {
		return err
	}
	var b []byte
	for i, id := range leaders {
		if r := &list[i]; id == j.v.ID(i) {
			b = putUint32(b, id, weights[i])
			b = putUint64(b, r.sum, r.hi, r.lo)
			j.own = append(j.own, own{member: int32(i)})
		}
	}
	all, err := j.c.Allgather(b)
	if err != nil {
		return err
	}
	squares, err := j.points(all)
	if err = j.agree(err); err != nil {
		return err
	}
	j.distances(squares)
	for i, p := range j.pts {
		if p.local >= 0 {
			j.own[p.local].point = int32(i)
		}
	}
	j.member = make([]int32, len(list))
	for i, id := range leaders {
		at, ok := slices.BinarySearchFunc(j.pts, id, func(p point, id uint32) int { return compareIDs(p.id, id) })
		if !ok {
			return j.agree(errMessage("points"))
		}
		j.member[i] = int32(at)
	}
	return j.agree(nil)
}

const pointBytes = 4 + 4 + 8 + 8 + 8

// points decodes the points of all ranks and sorts them. The result are the values of which far is made, hi and lo.
func (j *job) points(all [][]byte) ([][2]uint64, error) {
	type entry struct {
		point
		hi, lo uint64
	}
	var list []entry
	for rank, b := range all {
		if len(b)%pointBytes != 0 || len(list)+len(b)/pointBytes > int(j.members) {
			return nil, errMessage("points")
		}
		for k := range len(b) / pointBytes {
			r := b[k*pointBytes:]
			e := entry{point: point{id: getUint32(r), weight: getUint32(r[4:]), rank: int32(rank), local: -1}}
			e.mass = e.weight
			e.sum, e.hi, e.lo = int64(getUint64(r[8:])), getUint64(r[16:]), getUint64(r[24:])
			if rank == j.rank {
				e.local = int32(k)
			}
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return compareIDs(a.id, b.id) })
	j.pts = make([]point, len(list))
	squares := make([][2]uint64, len(list))
	for i, e := range list {
		if i > 0 && list[i-1].id == e.id {
			return nil, fmt.Errorf("%w: two members have the id %d", ErrVectors, e.id)
		}
		j.pts[i], squares[i] = e.point, [2]uint64{e.hi, e.lo}
	}
	return squares, nil
}

// distances chooses the binary places of L2 heights, as many as let every distance fit 62 bits, at most
// mostFraction, and sets the points' distances to the origin.
func (j *job) distances(squares [][2]uint64) {
	if j.o.Metric == L1 {
		for i, s := range squares {
			j.pts[i].far = s[1]
		}
		return
	}
	largest := uint64(1)
	for _, s := range squares {
		largest = max(largest, rootUp(s[0], s[1]))
	}
	j.fraction = uint8(max(0, min(mostFraction, 62-bits.Len64(2*largest-1))))
	for i, s := range squares {
		j.pts[i].far = j.distance(s[0], s[1])
	}
}

const mostFraction = 20

// distance returns the L2 distance in units of 2^-fraction, rounded up, from its square.
func (j *job) distance(hi, lo uint64) uint64 {
	s := 2 * uint(j.fraction)
	return rootUp(hi<<s|lo>>(64-s), lo<<s)
}

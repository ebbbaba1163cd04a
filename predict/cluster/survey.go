package cluster

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"math"
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/mpi"
)

// survey is the first pass over the vectors. All is measured from the origin, the vector of the lowest id: where
// every distance to it is below 2^62, every distance of two vectors is below 2^63, and so is every sum less the
// origin's.
type survey struct {
	*team
	v       Vectors
	o       Options
	origin  int // rank that has it
	dim     uint64
	members uint32 // of all ranks

	list      []reading // by member of this rank
	rounded   uint64    // largest L1 distance between a vector and its rounded one
	threshold uint64    // height of the cut in units of the vectors
}

// reading is what the survey finds out about one member.
type reading struct {
	digest hash.Hash
	sum    uint64 // of the entries, less the sum of the origin's
	hi, lo uint64 // L1 distance to the origin, or the square of the L2 distance
	l1     uint64
	moved  uint64 // L1 distance to the vector before rounding
}

// Limits that keep products of counts in 64 bits and indexes in 32.
const (
	mostMembers = 1<<31 - 1
	mostEntries = 1 << 31
)

// introduce compares the ranks' options and dimensions, counts the members, and finds the rank of the lowest id.
func (t *team) introduce(v Vectors, o Options) (*survey, error) {
	s := &survey{team: t, v: v, o: o}
	n := v.Len()
	if n > 0 {
		s.dim = v.Dim()
	}
	b, err := t.comm.Bcast(o.decisive(), 0)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, o.decisive()) {
		err = fmt.Errorf("%w: they differ from those of rank 0", ErrOptions)
	}
	for i := 1; i < n && err == nil; i++ {
		if v.ID(i-1) >= v.ID(i) {
			err = fmt.Errorf("%w: id %d comes after id %d", ErrVectors, v.ID(i), v.ID(i-1))
		}
	}
	if s.dim > mostEntries || n > mostMembers {
		err = fmt.Errorf("%w: %d vectors of %d entries", ErrTooMany, n, s.dim)
	}
	if err = t.agree(err); err != nil {
		return nil, err
	}
	count, least := []int64{int64(n)}, []int64{math.MaxInt64, math.MaxInt64, 0}
	if n > 0 {
		least = []int64{int64(v.ID(0))<<31 | int64(t.rank), int64(s.dim), -int64(s.dim)}
	}
	if err := t.comm.AllreduceInt64(count, mpi.Sum); err != nil {
		return nil, err
	}
	if err := t.comm.AllreduceInt64(least, mpi.Min); err != nil {
		return nil, err
	}
	if count[0] > 0 && least[1] != -least[2] {
		return nil, fmt.Errorf("%w: of %d to %d entries", ErrVectors, least[1], -least[2])
	}
	if count[0] > mostMembers {
		return nil, fmt.Errorf("%w: %d members, at most %d are possible", ErrTooMany, count[0], mostMembers)
	}
	s.members, s.dim, s.origin = uint32(count[0]), uint64(-least[2]), int(least[0]&(1<<31-1))
	return s, nil
}

// surveyPiece is the number of entries that are read at once: 512 KiB for each of three buffers.
const surveyPiece = 1 << 16

const farthest = 1 << 62

// survey reads all vectors once.
func (s *survey) survey() error {
	s.list = make([]reading, s.v.Len())
	for i := range s.list {
		s.list[i].digest = sha256.New()
	}
	width := int(min(s.dim, surveyPiece))
	buf, base, text := make([]int64, width), make([]int64, width), make([]byte, 0, 8*width)
	high, low := int64(0), int64(0) // of the sum of the origin's entries: multiples of 2^32, and the rest
	for from := uint64(0); from < s.dim; from += uint64(width) {
		n := int(min(uint64(width), s.dim-from))
		if err := s.originPiece(from, base[:n]); err != nil {
			return err
		}
		for _, x := range base[:n] {
			high += x >> 32
			low += x & math.MaxUint32
		}
		err := s.ctx.Err()
		for i := 0; i < len(s.list) && err == nil; i++ {
			moved := uint64(0)
			if moved, err = read(s.v, s.o.Quantum, i, from, buf[:n]); err == nil {
				err = s.take(i, moved, buf[:n], base[:n], text)
			}
		}
		if err = s.agree(err); err != nil {
			return err
		}
	}
	most := []int64{0}
	for i := range s.list {
		most[0] = max(most[0], int64(s.list[i].moved))
	}
	err := s.comm.AllreduceInt64(most, mpi.Max)
	s.rounded, s.threshold = uint64(most[0]), min(s.o.Threshold.Absolute, farthest)
	if err == nil && s.o.Threshold.PPM > 0 {
		return s.relative(high+low>>32, low&math.MaxUint32)
	}
	return err
}

// originPiece makes the origin's entries known to all ranks. The origin is member 0 of its rank.
func (s *survey) originPiece(from uint64, dst []int64) error {
	var b []byte
	var err error
	if s.rank == s.origin {
		if _, err = read(s.v, s.o.Quantum, 0, from, dst); err == nil {
			b = pack(dst)
		}
	}
	if b, err = mpi.FromRank(s.agreeing(), s.origin, b, err); err == nil {
		_, err = take(b, dst)
	}
	return err
}

// take adds a piece of the vector of member i.
func (s *survey) take(i int, moved uint64, x, base []int64, text []byte) error {
	r := &s.list[i]
	if r.moved += moved; r.moved >= farthest {
		return fmt.Errorf("%w: rounding moves member %d by 2^62 or more; choose a lower quantum", ErrRange, s.v.ID(i))
	}
	for k, v := range x {
		d := apart(v, base[k])
		r.sum += uint64(v) - uint64(base[k])
		if r.l1 += d; d >= farthest || r.l1 >= farthest {
			return fmt.Errorf("%w: member %d is 2^62 or more away from another one, in an entry or in all; cluster it apart, "+
				"or count in longer units", ErrRange, s.v.ID(i))
		}
		if s.o.Metric == L2 {
			r.hi, r.lo = plusSquare(r.hi, r.lo, d)
		}
	}
	if s.o.Metric == L1 {
		r.lo = r.l1
	}
	_, err := r.digest.Write(appendTo(text, x))
	return err
}

// relative sets the threshold to so many millionths of the mean sum of a vector's entries, given the sum of the origin's, high·2^32 + low.
func (s *survey) relative(high, low int64) error {
	if high < -1<<30 || high >= 1<<30 {
		return fmt.Errorf("%w: the entries of a member add up to 2^62 or more; choose an absolute threshold", ErrRange)
	}
	total := []int64{0, 0} // multiples of 2^32, and the rest
	for i := range s.list {
		sum := high<<32 + low + int64(s.list[i].sum)
		total[0] += sum >> 32
		total[1] += sum & math.MaxUint32
	}
	if err := s.comm.AllreduceInt64(total, mpi.Sum); err != nil {
		return err
	}
	if total[0] += total[1] >> 32; total[0] < 0 {
		s.threshold = 0
		return nil
	}
	hi, lo := uint64(total[0])>>32, uint64(total[0])<<32|uint64(total[1]&math.MaxUint32)
	hi, lo, _ = times(hi, lo, uint64(s.o.Threshold.PPM)) // below 2^31 members · 2^63 · 2^32
	s.threshold = farthest
	if n := uint64(s.members) * ppm; hi < n {
		q, _ := bits.Div64(hi, lo, n)
		s.threshold = min(q, farthest)
	}
	return nil
}

// ppm is the unit of shares.
const ppm = 1_000_000

// read reads entries of member i, rounds them to the quantum, and returns by how much in all.
func read(v Vectors, quantum uint32, i int, from uint64, dst []int64) (moved uint64, err error) {
	if err := v.Read(i, from, dst); err != nil {
		return 0, fmt.Errorf("cluster: vector of member %d: %w", v.ID(i), err)
	}
	if quantum == 0 {
		return 0, nil
	}
	for k, x := range dst {
		dst[k] = rounded(x, quantum)
		if moved += apart(x, dst[k]); moved >= farthest {
			return moved, nil // too far in all, which take refuses
		}
	}
	return moved, nil
}

// rounded returns x on a logarithmic grid: between two powers of two it has even steps, the largest power of two that
// is at most share millionths of the lower one.
func rounded(x int64, share uint32) int64 {
	a := apart(x, 0)
	if a == 0 {
		return 0
	}
	q, _ := exact.MulDiv(1<<(bits.Len64(a)-1), uint64(share), ppm)
	if q == 0 {
		return x
	}
	step := uint64(1) << (bits.Len64(q) - 1)
	r := (a + step/2) &^ (step - 1)
	switch {
	case r > math.MaxInt64: // the grid point is not an int64
		return x
	case x < 0:
		return -int64(r)
	}
	return int64(r)
}

// find is a vector of a rank: the four words of its digest, id<<32 | members, sum, hi and lo.
type find struct {
	x    []uint64
	rank int32
	at   int32 // among those of its rank
}

const findWords = 4 + 1 + 3

func (f find) id() uint32 { return uint32(f.x[4] >> 32) }

// compare is the order of digests, then of ids.
func (f find) compare(g find) int { return slices.Compare(f.x[:5], g.x[:5]) }

func (f find) equal(g find) bool { return slices.Equal(f.x[:4], g.x[:4]) }

// space finds equal vectors by their SHA-256 digests, and makes the points known to all ranks. Equal digests count as equal vectors:
// comparing the vectors too would move every one of them between ranks, to guard against what nobody has ever seen.
func (s *survey) space() (*space, error) {
	order := make([]find, len(s.list)) // at is the member
	for i := range s.list {
		r := &s.list[i]
		x := []uint64{0, 0, 0, 0, two(s.v.ID(i), 1), r.sum, r.hi, r.lo}
		if _, err := take(r.digest.Sum(nil), x[:4]); err != nil {
			return nil, err
		}
		order[i], r.digest = find{x: x, at: int32(i)}, nil
	}
	slices.SortFunc(order, find.compare)
	sp := &space{team: s.team, v: s.v, o: s.o, dim: s.dim, member: make([]int32, len(order))}
	var list []uint64
	var first []int32 // member with the lowest id, by vector of this rank
	for i := 0; i < len(order); {
		n := i
		for ; n < len(order) && order[i].equal(order[n]); n++ {
			sp.member[order[n].at] = int32(len(first))
		}
		order[i].x[4] += uint64(n - i - 1)
		list, first = append(list, order[i].x...), append(first, order[i].at)
		i = n
	}
	var all []find
	at := make([]int32, s.size)
	err := s.tell(list, findWords, "points", func(rank int, x []uint64) bool {
		all = append(all, find{x, int32(rank), at[rank]})
		at[rank]++
		return len(all) <= int(s.members)
	})
	if err != nil {
		return nil, err
	}
	sp.fill(all, first)
	return sp, s.agree(sp.kept())
}

package cluster

import (
	"cmp"
	"math/bits"
	"slices"
)

// point is a distinct vector: the members that have it, under the lowest of their ids. All ranks hold all points.
type point struct {
	id     uint32
	weight uint32 // members
	mass   uint32 // members, and those of points that follow this one
	rank   int32  // that has the lowest member
	local  int32  // index among the points of that rank, -1 on other ranks
	sum    int64  // of the entries, less the sum of the origin's
	far    uint64 // distance to the origin, in units of 2^-Fraction
	reach  uint64 // distance to one point that is the same for its whole part
}

// space is the points, in ascending order of ids, and their vectors.
type space struct {
	*team
	v        Vectors
	o        Options
	dim      uint64
	fraction uint8
	pts      []point
	own      []int32 // member of each point of this rank
	member   []int32 // point of each member of this rank
	vectors  []int64 // of own, one after the other, or nil where they take too much memory
}

// fill makes the points of the vectors that all ranks have; first is the lowest member of each of this rank's.
func (s *space) fill(all []find, first []int32) {
	slices.SortFunc(all, find.compare)
	var groups [][]find // of equal vectors
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[i].equal(all[n]) {
			n++
		}
		groups = append(groups, all[i:n])
		i = n
	}
	slices.SortFunc(groups, func(a, b []find) int { return cmp.Compare(a[0].id(), b[0].id()) })
	s.pts = make([]point, len(groups))
	squares := make([][2]uint64, len(groups)) // of the L2 distance to the origin
	pointOf := make([]int32, len(first))
	for i, g := range groups {
		x := g[0].x
		p := point{id: g[0].id(), rank: g[0].rank, local: -1, sum: int64(x[5]), far: x[7]}
		for _, f := range g {
			p.weight += uint32(f.x[4])
			if int(f.rank) == s.rank && int(f.at) < len(first) {
				pointOf[f.at] = int32(i)
			}
		}
		p.mass, squares[i] = p.weight, [2]uint64{x[6], x[7]}
		if int(p.rank) == s.rank && int(g[0].at) < len(first) {
			p.local = int32(len(s.own))
			s.own = append(s.own, first[g[0].at])
		}
		s.pts[i] = p
	}
	for i, at := range s.member {
		s.member[i] = pointOf[at]
	}
	if s.o.Metric == L2 {
		s.places(squares)
	}
}

// mostFraction is the number of binary places of L2 heights, where they fit.
const mostFraction = 20

// places chooses the binary places of L2 heights, as many as let every distance fit 62 bits, and sets the points' distances to the origin.
func (s *space) places(squares [][2]uint64) {
	largest := uint64(1)
	for _, x := range squares {
		largest = max(largest, rootUp(x[0], x[1]))
	}
	s.fraction = uint8(max(0, min(mostFraction, 62-bits.Len64(2*largest-1))))
	for i, x := range squares {
		s.pts[i].far = distanceOf(x[0], x[1], s.fraction)
	}
}

// form is how the distances of a part are stored, which goes by what is known before they are computed.
type form struct {
	mean     bool // sums over pairs of members, not distances
	narrow   bool // in 32 bits
	measure  measure
	fraction uint8
}

// bound is a bound of the distances of points: the sum of the two largest ones to a common point.
func (s *space) bound(points []int32) uint64 {
	twoLargest := func(far func(p *point) uint64) uint64 {
		var first, second uint64
		for _, k := range points {
			d := far(&s.pts[k])
			second = max(second, min(d, first))
			first = max(first, d)
		}
		return first + second
	}
	return min(twoLargest(func(p *point) uint64 { return p.far }), twoLargest(func(p *point) uint64 { return p.reach }))
}

func (s *space) form(points []int32) form {
	f := form{mean: s.o.Linkage == Average, fraction: s.fraction}
	bound := s.bound(points)
	if s.o.Metric == L1 {
		f.narrow = bound < 1<<32-1 && !f.mean
	} else if f.measure = squares; bound>>s.fraction >= 1<<32-1 {
		f.measure = squaresWide
	}
	return f
}

// units returns t units of the vectors as a height, 2^63-1 at most.
func (s *space) units(t uint64) uint64 {
	if t > 1<<63-1>>s.fraction {
		return 1<<63 - 1
	}
	return t << s.fraction
}

// window is how far the sums of the entries of two vectors can be apart that are t apart, and their L1 distance: t for L1, and by Cauchy
// and Schwarz √m·t for L2.
func (s *space) window(t uint64) uint64 {
	if s.o.Metric == L1 {
		return t
	}
	hi, lo := bits.Mul64(t, t)
	hi, lo, ok := times(hi, lo, s.dim)
	if !ok || hi >= 1<<62 {
		return 1 << 63
	}
	return rootUp(hi, lo)
}

// kept reads the vectors of the points of this rank into memory, if they take at most a quarter of what there is.
func (s *space) kept() error {
	n := uint64(len(s.own))
	if n == 0 || s.dim == 0 || s.dim > uint64(s.o.Memory)/4/8/n {
		return nil
	}
	list := make([]int64, n*s.dim)
	for from := uint64(0); from < s.dim; from += surveyPiece {
		width := min(surveyPiece, s.dim-from)
		for i := range n {
			if err := s.entries(int32(i), from, list[i*s.dim+from:][:width]); err != nil {
				return err
			}
		}
	}
	s.vectors = list
	return nil
}

// entries sets dst to the entries from on of an own point.
func (s *space) entries(local int32, from uint64, dst []int64) error {
	if s.vectors != nil {
		copy(dst, s.vectors[uint64(local)*s.dim+from:])
		return nil
	}
	_, err := read(s.v, s.o.Quantum, int(s.own[local]), from, dst)
	return err
}

// panels brings the vectors of the points want[r] to each rank r, some entries of all of them at a time, and calls f for each such panel
// with this rank's, in the order of want, and its first entry. A panel takes an eighth of the memory, as rows and again as messages; others is
// how many more rows of its width the caller holds. All ranks call it with the same lists. Collective.
func (s *space) panels(want [][]int32, others int, f func(r rows, from uint64) error) error {
	send := make([][]int32, s.size) // to each rank: own points, in the order of the receiver's rows
	most := max(1, others)
	out := make([]int, s.size)
	for r, list := range want {
		most = max(most, len(list))
		for _, k := range list {
			out[s.pts[k].rank]++
			if l := s.pts[k].local; l >= 0 {
				send[r] = append(send[r], l)
			}
		}
	}
	most = max(most, slices.Max(out))
	panel := min(s.dim, max(1, uint64(s.o.Memory)/8/8/uint64(most)))
	data := make([]int64, uint64(len(want[s.rank]))*panel)
	for from := uint64(0); from < s.dim; from += panel {
		width := int(min(panel, s.dim-from))
		part := data[:len(want[s.rank])*width]
		if err := s.panel(send, want[s.rank], from, width, part); err != nil {
			return err
		}
		if err := s.agree(f(newRows(part, width), from)); err != nil {
			return err
		}
	}
	return nil
}

// panel fills data with width entries, from on, of each of the points. Collective.
func (s *space) panel(send [][]int32, points []int32, from uint64, width int, data []int64) error {
	parts := make([][]byte, s.size)
	buf := make([]int64, width)
	err := s.ctx.Err()
	for to, list := range send {
		if to == s.rank {
			continue
		}
		parts[to] = make([]byte, 0, len(list)*8*width)
		for i := 0; i < len(list) && err == nil; i++ {
			if err = s.entries(list[i], from, buf); err == nil {
				parts[to] = appendTo(parts[to], buf)
			}
		}
	}
	for i := 0; i < len(points) && err == nil; i++ {
		if l := s.pts[points[i]].local; l >= 0 {
			err = s.entries(l, from, data[i*width:(i+1)*width])
		}
	}
	if err = s.agree(err); err != nil || s.size == 1 {
		return err
	}
	got, err := s.exchange(parts)
	if err != nil {
		return err
	}
	for i, k := range points {
		p := &s.pts[k]
		if p.local >= 0 {
			continue
		}
		if got[p.rank], err = take(got[p.rank], data[i*width:(i+1)*width]); err != nil {
			break
		}
	}
	return s.agree(err)
}

// deal gives each part of two or more points to a rank: the largest first, each to the rank with the least work.
func (s *space) deal(parts [][]int32) [][][]int32 {
	queue := make([][][]int32, s.size)
	work := make([]int, s.size)
	list := slices.DeleteFunc(slices.Clone(parts), func(p []int32) bool { return len(p) < 2 })
	slices.SortStableFunc(list, func(a, b []int32) int { return cmp.Compare(len(b), len(a)) })
	for _, p := range list {
		r := slices.Index(work, slices.Min(work))
		queue[r] = append(queue[r], p)
		work[r] += len(p) * len(p)
	}
	return queue
}

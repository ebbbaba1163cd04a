package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// merger is the stage that merges the points of each part.
type merger struct {
	*space
	alone          int    // points of the largest part that one rank of several does alone
	radius, window uint64 // of leaders: a height, and how far the sums of entries are apart at most that are so near
	approximation  Approximation
}

// links clusters all parts: small ones on one rank each, large ones on all ranks together, and of those that are too
// large the leaders.
func (s *merger) links(parts [][]int32) ([]link, error) {
	if s.o.Linkage == Centroid {
		return s.centroid()
	}
	var small [][]int32
	var list []link
	for _, p := range parts {
		if uint64(len(p)) > uint64(s.o.ExactMax) {
			leaders, links, err := s.thin(p)
			if err != nil {
				return nil, err
			}
			a := &s.approximation
			a.Leaders, a.Led, a.Radius = a.Leaders+uint32(len(leaders)), a.Led+uint32(len(p)-len(leaders)), s.radius
			p, list = leaders, append(list, links...)
		}
		shared := s.size > 1 && len(p) > s.alone
		if err := s.agree(s.room(p, shared)); err != nil {
			return nil, err
		}
		if !shared {
			small = append(small, p)
			continue
		}
		links, err := s.share(p)
		if err != nil {
			return nil, err
		}
		list = append(list, links...)
	}
	links, err := s.local(small)
	return append(list, links...), err
}

// room reports a part whose distances do not fit.
func (s *merger) room(points []int32, shared bool) error {
	f := s.form(points)
	e := uint64(8)
	switch {
	case f.narrow:
		e = 4
	case f.measure == squaresWide:
		e = 16
	}
	n := uint64(len(points))
	cells := n * (n - 1) / 2
	if shared {
		cells = ((n-1)/uint64(s.size) + 1) * (n + uint64(s.size)) / 2
	}
	if limit := uint64(s.o.Distances); cells > math.MaxInt/e || limit > 0 && cells*e > limit {
		return fmt.Errorf("%w: a part of %d distinct vectors takes %d MiB on each of %d ranks; use more ranks, a lower "+
			"threshold, or let leaders stand for more than a lower number of vectors", ErrMemory, n, cells*e>>20, s.size)
	}
	return nil
}

// matrix is a triangle of either element.
type matrix interface {
	fill(t *tile, own, all rows, first int)
	seal(first int)
	tree(each func(link)) error
	agglomerate(each func(link)) error
	strips() int
}

// strips is the number of times that edge rows are here.
func (c *triangle[E]) strips() int { return (len(c.own) + edge - 1) / edge }

// newMatrix makes the matrix that holds the distances of a part.
func (s *merger) newMatrix(t *team, points []int32) matrix {
	weights := make([]uint64, len(points))
	for i, k := range points {
		weights[i] = uint64(s.pts[k].mass)
	}
	f := s.form(points)
	if f.narrow {
		return newTriangle[uint32](t, f, weights)
	}
	return newTriangle[uint64](t, f, weights)
}

// merges returns the merges of a part. It uses up the matrix.
func (s *merger) merges(m matrix, points []int32) ([]link, error) {
	links := make([]link, 0, len(points)-1)
	each := func(l link) { links = append(links, link{points[l.a], points[l.b], l.height}) }
	if s.o.Linkage == Single {
		return links, m.tree(each)
	}
	err := m.agglomerate(each)
	return links, err
}

// share clusters one part with the help of all ranks, and returns the merges on rank 0. Collective.
func (s *merger) share(points []int32) ([]link, error) {
	m := s.newMatrix(s.team, points)
	if err := s.fill(slices.Repeat([][]int32{points}, s.size), []matrix{m}, [][]int32{points}, s.size); err != nil {
		return nil, err
	}
	links, err := s.merges(m, points)
	if s.rank > 0 {
		links = nil
	}
	return links, err
}

// fill computes the distances of this rank's matrices, of the points parts, which lie one after the other in want[rank]; it has every
// step-th row of them. Collective.
func (s *merger) fill(want [][]int32, list []matrix, parts [][]int32, step int) error {
	type strip struct{ part, first, row int }
	var strips []strip
	row := 0
	for i, m := range list {
		for k := range m.strips() {
			strips = append(strips, strip{i, k * edge, row})
		}
		row += len(parts[i])
	}
	slices.Reverse(strips) // long rows first
	tiles := make([]tile, max(1, min(s.workers, len(strips))))
	err := s.panels(want, 0, func(r rows, _ uint64) error {
		own := r
		if step > 1 {
			own = r.every(s.rank, step)
		}
		s.parallel(len(strips), func(worker, i int) {
			x := strips[i]
			list[x.part].fill(&tiles[worker], own.slice(x.row, len(own.sum)), r.slice(x.row, len(r.sum)), x.first)
		})
		return nil
	})
	if err == nil {
		s.parallel(len(strips), func(_, i int) { list[strips[i].part].seal(strips[i].first) })
	}
	return err
}

// local clusters parts that are small enough for one rank each, and returns the merges of those of this rank. Every
// rank does its parts in rounds, which bound the vectors and distances it holds at once. Collective.
func (s *merger) local(parts [][]int32) ([]link, error) {
	queue := s.deal(parts)
	var links []link
	for {
		batch, want := make([][][]int32, s.size), make([][]int32, s.size)
		busy := false
		for r := range queue {
			batch[r], queue[r] = s.cut(queue[r])
			want[r] = slices.Concat(batch[r]...)
			busy = busy || len(batch[r]) > 0
		}
		if !busy {
			return links, nil
		}
		mine := batch[s.rank]
		list := make([]matrix, len(mine))
		for i, p := range mine {
			list[i] = s.newMatrix(&team{ctx: s.ctx, comm: mpi.Serial(), size: 1, workers: 1}, p)
		}
		if err := s.fill(want, list, mine, 1); err != nil {
			return nil, err
		}
		found, errs := make([][]link, len(mine)), make([]error, len(mine))
		s.parallel(len(mine), func(_, i int) {
			found[i], errs[i] = s.merges(list[i], mine[i])
			list[i] = nil
		})
		if err := s.agree(cmp.Or(errs...)); err != nil {
			return nil, err
		}
		links = append(links, slices.Concat(found...)...)
	}
}

// leastWidth is the number of entries of a panel below which parts are not taken together.
const leastWidth = 64

// cut takes the parts off a queue that are worked on together: at least one, and no more than memory allows.
func (s *merger) cut(queue [][]int32) (batch, rest [][]int32) {
	points, pairs := int64(0), int64(0)
	width := int64(max(1, min(s.dim, leastWidth)))
	for i, p := range queue {
		n := int64(len(p))
		points += n
		pairs += n * (n - 1) / 2
		if i > 0 && (points > s.o.Memory/8/8/width || pairs > s.o.Memory/8) {
			return queue[:i], queue[i:]
		}
	}
	return queue, nil
}

package cluster

import (
	"cmp"
	"container/heap"
	"slices"
)

// local clusters parts that are small enough for one rank each, and returns the merges of those of this rank. Every
// rank does its parts in rounds, which bound the vectors and distances it holds at once.
func (j *job) local(parts [][]int32) ([]link, error) {
	queue := j.deal(parts)
	var links []link
	for {
		batch := make([][][]int32, j.size)
		busy := false
		for r := range queue {
			batch[r], queue[r] = j.cut(queue[r])
			busy = busy || len(batch[r]) > 0
		}
		if !busy {
			return links, nil
		}
		got, err := j.batch(batch)
		if err != nil {
			return nil, err
		}
		links = append(links, got...)
	}
}

// load is the work that a rank has.
type load struct {
	rank int
	work float64
}

type loads []load

func (l loads) Len() int { return len(l) }
func (l loads) Less(a, b int) bool {
	return l[a].work < l[b].work || l[a].work == l[b].work && l[a].rank < l[b].rank
}
func (l loads) Swap(a, b int) { l[a], l[b] = l[b], l[a] }
func (l *loads) Push(x any)   { *l = append(*l, x.(load)) }
func (l *loads) Pop() any {
	x := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return x
}

// deal gives each part of two or more points to a rank: the largest first, each to the rank with the least work.
func (j *job) deal(parts [][]int32) [][][]int32 {
	queue := make([][][]int32, j.size)
	var list [][]int32
	for _, p := range parts {
		if len(p) > 1 {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b []int32) int { return cmp.Compare(len(b), len(a)) })
	l := make(loads, j.size)
	for r := range l {
		l[r].rank = r
	}
	for _, p := range list {
		r := l[0].rank
		queue[r] = append(queue[r], p)
		l[0].work += float64(float64(len(p)) * float64(len(p)))
		heap.Fix(&l, 0)
	}
	return queue
}

// leastWidth is the number of entries of a panel below which parts are not taken together.
const leastWidth = 64

// cut takes the parts off a queue that are worked on together: at least one, and no more than memory allows.
func (j *job) cut(queue [][]int32) (batch, rest [][]int32) {
	points, pairs := int64(0), int64(0)
	width := int64(max(1, min(j.dim, leastWidth)))
	for i, p := range queue {
		n := int64(len(p))
		points += n
		pairs += n * (n - 1) / 2
		if i > 0 && (points > j.o.Memory/8/8/width || pairs > j.o.Memory/8) {
			return queue[:i], queue[i:]
		}
	}
	return queue, nil
}

// partMatrix is the distances of one part.
type partMatrix interface {
	add(i, from int, lo, hi []uint64)
	seal(i int)
	start()
	agglomerate(each func(link))
	tree(each func(link))
}

// section is a part under way: its points and where its rows start among those of the rank.
type section struct {
	points []int32
	first  int
	m      partMatrix
	spec   spec
}

// strip is edge rows of a section.
type strip struct{ section, from int }

// batch clusters the parts batch[r] on each rank r, and returns the merges of this rank's.
func (j *job) batch(batch [][][]int32) ([]link, error) {
	var list, dest []int32
	var mine []section
	for r, parts := range batch {
		first := 0
		for _, p := range parts {
			for _, k := range p {
				list, dest = append(list, k), append(dest, int32(r))
			}
			if r == j.rank {
				mine = append(mine, section{points: p, first: first})
			}
			first += len(p)
		}
	}
	var strips []strip
	for s := range mine {
		mine[s].m, mine[s].spec = j.newMatrix(mine[s].points)
		for from := 0; from < len(mine[s].points); from += edge {
			strips = append(strips, strip{s, from})
		}
	}
	slices.Reverse(strips) // long rows first
	tiles := make([]tile, max(1, min(j.o.Workers, len(strips))))
	err := j.panels(j.newPlan(list, dest), func(r rows) error {
		parallel(len(tiles), len(strips), func(worker, i int) {
			fillStrip(&tiles[worker], &mine[strips[i].section], strips[i].from, r)
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	parallel(len(tiles), len(strips), func(_, i int) {
		s := &mine[strips[i].section]
		for row := strips[i].from; row < min(strips[i].from+edge, len(s.points)); row++ {
			s.m.seal(row)
		}
	})
	links := make([][]link, len(mine))
	parallel(j.o.Workers, len(mine), func(_, i int) { links[i] = j.agglomerate(&mine[i]) })
	return slices.Concat(links...), nil
}

// fillStrip adds the sums over a panel to the rows from on of a section.
func fillStrip(t *tile, s *section, from int, r rows) {
	to := min(from+edge, len(s.points))
	for b := 0; b < to; b += edge {
		e := min(b+edge, to)
		t.fill(s.spec.measure, r, s.first+from, s.first+to, r, s.first+b, s.first+e)
		for i := from; i < to; i++ {
			if last := min(e, i); last > b {
				at := (i - from) * edge
				s.m.add(i, b, t.lo[at:at+last-b], t.hi[at:at+last-b])
			}
		}
	}
}

// newMatrix makes the matrix that holds the distances of a part.
func (j *job) newMatrix(points []int32) (partMatrix, spec) {
	s, short := j.spec(points)
	weights := make([]uint64, len(points))
	for i, k := range points {
		weights[i] = uint64(j.pts[k].mass)
	}
	if short {
		return newCondensed[uint32](s, weights), s
	}
	return newCondensed[uint64](s, weights), s
}

// spec chooses how the distances of a part are stored; short is for 32 bits. It goes by a bound of the distances, the
// sum of the two largest ones to a common point.
func (j *job) spec(points []int32) (s spec, short bool) {
	weight := uint64(0)
	for _, k := range points {
		weight += uint64(j.pts[k].mass)
	}
	bound := min(
		twoLargest(points, func(k int32) uint64 { return j.pts[k].far }),
		twoLargest(points, func(k int32) uint64 { return j.reach[k] }),
	)
	s = spec{mean: j.o.Linkage == Average, fraction: j.fraction}
	if j.o.Metric == L2 {
		s.measure = squares
		if bound>>j.fraction >= 1<<32-1 {
			s.measure = squaresWide
		}
	}
	if s.mean { // the largest sum is that of two clusters of half of the members each
		half := (weight + 1) / 2
		w := wide{bound}.times(half).times(half)
		s.wide = w[1] != 0 || w[0] > 1<<62
	}
	return s, bound < 1<<32-1 && !s.mean && j.o.Metric == L1
}

// twoLargest is the sum of the two largest distances of points.
func twoLargest(points []int32, far func(int32) uint64) uint64 {
	var first, second uint64
	for _, k := range points {
		d := far(k)
		second = max(second, min(d, first))
		first = max(first, d)
	}
	return first + second
}

// agglomerate merges the points of a section and frees its matrix.
func (j *job) agglomerate(s *section) []link {
	s.m.start()
	links := make([]link, 0, len(s.points)-1)
	each := func(l link) {
		links = append(links, link{s.points[l.a], s.points[l.b], l.height})
	}
	if j.o.Linkage == Single {
		s.m.tree(each)
	} else {
		s.m.agglomerate(each)
	}
	s.m = nil
	return links
}

package cluster

import (
	"cmp"
	"slices"
)

// The vectors of a class come together on one rank, panel by panel, which adds up a score for each of its points: the
// point with the least score, the lowest of several, is the representative.

// election is the stage that chooses representatives.
type election struct {
	*space
	classes []Class
}

// contest is a class in progress: its points, and where its rows start.
type contest struct {
	class  uint32
	points []int32
	first  int
	size   uint64      // members
	score  [][2]uint64 // high word first
}

// run finds the representative of each class; label is the class of each point. A class of one vector, or of two
// members, has its lowest member.
func (s *election) run(label []uint32) error {
	mine, want := s.contests(label)
	err := s.panels(want, 0, func(r rows, _ uint64) error {
		if s.o.Representative == Medoid {
			s.parallel(len(mine), func(_, i int) { s.medoid(&mine[i], r) })
			return nil
		}
		for i := range mine {
			s.nearestMean(&mine[i], r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, c := range s.classes {
		s.classes[i].Representative = c.First
	}
	var list []uint64
	for i := range mine {
		c := &mine[i]
		least := 0
		for k := range c.score {
			if slices.Compare(c.score[k][:], c.score[least][:]) < 0 {
				least = k
			}
		}
		list = append(list, two(c.class, s.pts[c.points[least]].id))
	}
	return s.tell(list, 1, "representatives", func(_ int, x []uint64) bool {
		c := x[0] >> 32
		if c < uint64(len(s.classes)) {
			s.classes[c].Representative = uint32(x[0])
		}
		return c < uint64(len(s.classes))
	})
}

// contests deals the classes that need scores out to the ranks, and returns this rank's, with the plan for all.
func (s *election) contests(label []uint32) (mine []contest, want [][]int32) {
	points := make([][]int32, len(s.classes))
	for i, c := range label {
		points[c] = append(points[c], int32(i))
	}
	for c := range points {
		if s.classes[c].Size == 2 {
			points[c] = nil
		}
	}
	for r, queue := range s.deal(points) {
		want = append(want, slices.Concat(queue...))
		if r != s.rank {
			continue
		}
		first := 0
		for _, p := range queue {
			c := label[p[0]]
			mine = append(mine, contest{class: c, points: p, first: first, size: uint64(s.classes[c].Size), score: make([][2]uint64, len(p))})
			first += len(p)
		}
	}
	return mine, want
}

// nearestMean adds Σ (n·x − Σ of all n members)² over the entries of a panel to the scores: n² times the squared
// distance to the mean. n·x less the sum is below 2^63, see coarsen, so that it is right modulo 2^64, and so are the squares in 128 bits.
func (s *election) nearestMean(c *contest, r rows) {
	sums := make([]int64, r.width)
	for k, p := range c.points {
		w := int64(s.pts[p].weight)
		for i, x := range r.row(c.first + k) {
			sums[i] += x * w
		}
	}
	const strip = 16
	s.parallel((len(c.points)+strip-1)/strip, func(_, part int) {
		for k := part * strip; k < min(part*strip+strip, len(c.points)); k++ {
			score := c.score[k]
			for i, x := range r.row(c.first + k) {
				score[0], score[1] = plusSquare(score[0], score[1], apart(x*int64(c.size)-sums[i], 0))
			}
			c.score[k] = score
		}
	})
}

// medoid adds to the scores, over the entries of a panel, the sum of the distances to all members. With the values of
// an entry in order, that is n_k·x_k − s_k + (s − s_k) − (n − n_k)·x_k, where n_k members with the sum s_k come up to
// the k-th. All is below 2^63 in the end, see coarsen, and so right modulo 2^64.
func (s *election) medoid(c *contest, r rows) {
	order := make([]int32, len(c.points))
	for i := range order {
		order[i] = int32(i)
	}
	for col := range r.width {
		at := func(k int32) int64 { return r.row(c.first + int(k))[col] }
		slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(at(a), at(b)) })
		total := uint64(0)
		for _, k := range order {
			total += uint64(at(k)) * uint64(s.pts[c.points[k]].weight)
		}
		count, sum := uint64(0), uint64(0)
		for _, k := range order {
			x, w := uint64(at(k)), uint64(s.pts[c.points[k]].weight)
			count += w
			sum += x * w
			c.score[k][1] += x*count - sum + total - sum - (c.size-count)*x
		}
	}
}

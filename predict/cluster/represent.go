package cluster

import (
	"cmp"
	"slices"
)

// The vectors of a class come together on one rank, panel by panel, which adds up a score for each of its points: the
// point with the least score, the lowest of several, is the representative.

// contest is a class under way: its points, and where its rows start.
type contest struct {
	class  uint32
	points []int32
	first  int
	size   uint64 // members
	score  []wide
}

// represent finds the representative of each class; label is the class of each point. A class of one vector, or of two
// members, has its lowest member.
func (j *job) represent(res *Result, label []uint32) error {
	mine, p := j.contests(res, label)
	err := j.panels(p, func(r rows) error {
		if j.o.Representative == Medoid {
			parallel(j.o.Workers, len(mine), func(_, i int) { j.medoid(&mine[i], r) })
			return nil
		}
		for i := range mine {
			j.nearestMean(&mine[i], r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, c := range res.Classes {
		res.Classes[i].Representative = c.First
	}
	var b []byte
	for i := range mine {
		c := &mine[i]
		least := 0
		for k, s := range c.score {
			if s.cmp(c.score[least]) < 0 {
				least = k
			}
		}
		b = putUint32(b, c.class, j.pts[c.points[least]].id)
	}
	all, err := j.c.Allgather(b)
	if err != nil {
		return err
	}
	return j.agree(readRepresentatives(res.Classes, all))
}

// contests deals the classes that need scores out to the ranks, and returns this rank's, with the plan for all.
func (j *job) contests(res *Result, label []uint32) ([]contest, *plan) {
	points := make([][]int32, len(res.Classes))
	for i, c := range label {
		points[c] = append(points[c], int32(i))
	}
	for c := range points {
		if res.Classes[c].Size == 2 {
			points[c] = nil
		}
	}
	var list, dest []int32
	var mine []contest
	for r, queue := range j.deal(points) {
		first := 0
		for _, p := range queue {
			for _, k := range p {
				list, dest = append(list, k), append(dest, int32(r))
			}
			if r == j.rank {
				c := label[p[0]]
				mine = append(mine, contest{
					class: c, points: p, first: first, size: uint64(res.Classes[c].Size),
					score: make([]wide, len(p)),
				})
			}
			first += len(p)
		}
	}
	return mine, j.newPlan(list, dest)
}

// readRepresentatives takes the representatives that all ranks chose.
func readRepresentatives(classes []Class, all [][]byte) error {
	for _, b := range all {
		if len(b)%8 != 0 {
			return errMessage("representatives")
		}
		for ; len(b) > 0; b = b[8:] {
			c := getUint32(b)
			if uint64(c) >= uint64(len(classes)) {
				return errMessage("representatives")
			}
			classes[c].Representative = getUint32(b[4:])
		}
	}
	return nil
}

// nearestMean adds Σ (n·x − Σ of all n members)² over the entries of a panel to the scores: n² times the squared
// distance to the mean. Entries are less those of the first point, differences below 2^63, so that n·x is below 2^95
// and the squares, 2^31 of them at most, below 2^221.
func (j *job) nearestMean(c *contest, r rows) {
	base := r.row(c.first)
	sums := make([]signed, r.width)
	for k, p := range c.points {
		w := uint64(j.pts[p].weight)
		for i, x := range r.row(c.first + k) {
			sums[i] = sums[i].addProduct(x-base[i], w)
		}
	}
	for i, s := range sums { // the negative sum
		sums[i] = signed{}.sub(s)
	}
	const strip = 16
	parallel(j.o.Workers, (len(c.points)+strip-1)/strip, func(_, s int) {
		for k := s * strip; k < min(s*strip+strip, len(c.points)); k++ {
			score := c.score[k]
			for i, x := range r.row(c.first + k) {
				score = score.addSquare(sums[i].addProduct(x-base[i], c.size).size())
			}
			c.score[k] = score
		}
	})
}

// medoid adds to the scores, over the entries of a panel, the sum of the distances to all members. With the values of
// an entry in order, that is n_k·x_k − s_k + (s − s_k) − (n − n_k)·x_k, where n_k members with the sum s_k come up to
// the k-th.
func (j *job) medoid(c *contest, r rows) {
	order := make([]int32, len(c.points))
	for i := range order {
		order[i] = int32(i)
	}
	for col := range r.width {
		at := func(k int32) int64 { return r.data[(c.first+int(k))*r.width+col] }
		slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(at(a), at(b)) })
		low := at(order[0])
		total := signed{}
		for _, k := range order {
			total = total.addProduct(at(k)-low, uint64(j.pts[c.points[k]].weight))
		}
		count, sum := uint64(0), wide{}
		for _, k := range order {
			x, w := uint64(at(k)-low), uint64(j.pts[c.points[k]].weight)
			count += w
			sum = sum.add(wide{x}.times(w))
			s := wide{x}.times(count).add(wide{total.lo, total.hi})
			s = s.sub(wide{x}.times(c.size - count)).sub(sum).sub(sum)
			c.score[k] = c.score[k].add(s)
		}
	}
}

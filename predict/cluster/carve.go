package cluster

import "slices"

// Parts that sums do not divide are divided by distances to pivots, points of theirs that are far from each other
// (Gonzalez, Clustering to minimize the maximum intercluster distance, Theor. Comput. Sci. 38, 1985): where two
// neighbours in the order of the distance to any one point are more than t apart, no pair across is within t, by the
// triangle inequality. A pivot always cuts off the points around itself, if the others are far enough.

const (
	mostPivots = 64 // for one point; each takes a pass over the vectors of its part
	patience   = 4  // pivots that do not divide a part before it is left as it is
)

// piece is a part under way.
type piece struct {
	points []int32
	idle   int // pivots in a row that did not divide it
}

// carve divides parts of more than j.dense points by up to mostPivots pivots. It leaves in j.reach for every point its
// distance to a point that all points of its part were compared with. Collective.
func (j *job) carve(parts [][]int32, height uint64) ([][]int32, error) {
	near := slices.Clone(j.reach) // least distance to a pivot
	var done [][]int32
	var live []piece
	put := func(p piece) {
		if len(p.points) > j.dense && p.idle < patience {
			live = append(live, p)
		} else {
			done = append(done, p.points)
		}
	}
	for _, p := range parts {
		put(piece{points: p})
	}
	for round := 0; round < mostPivots && len(live) > 0; round++ {
		work := live
		live = nil
		if err := j.fromPivots(work, near); err != nil {
			return nil, err
		}
		for _, p := range work {
			for _, k := range p.points {
				near[k] = min(near[k], j.reach[k])
			}
			list := gaps([][]int32{p.points}, height, func(k int32) uint64 { return j.reach[k] })
			if len(list) == 1 {
				put(piece{list[0], p.idle + 1})
				continue
			}
			for _, q := range list {
				put(piece{points: q})
			}
		}
	}
	for _, p := range live {
		done = append(done, p.points)
	}
	return done, nil
}

// fromPivots sets j.reach to the distances to the pivots of the pieces. Collective.
func (j *job) fromPivots(list []piece, near []uint64) error {
	type line struct {
		local int32
		piece int
	}
	var mine []line
	at := make([][]int32, j.size) // the points of each rank, in one order
	for i, p := range list {
		for _, k := range p.points {
			at[j.pts[k].rank] = append(at[j.pts[k].rank], k)
			if j.pts[k].local >= 0 {
				mine = append(mine, line{j.pts[k].local, i})
			}
		}
	}
	sums := make([][2]uint64, len(mine))
	from := uint64(0)
	err := j.panels(j.planPivots(list, near), func(r rows) error {
		var err error
		x := make([]int64, r.width)
		for i := 0; i < len(mine) && err == nil; i++ {
			if err = j.entries(mine[i].local, from, x); err == nil {
				sums[i] = j.addPair(sums[i], x, r.row(mine[i].piece))
			}
		}
		from += uint64(r.width)
		return j.agree(err)
	})
	if err != nil {
		return err
	}
	var b []byte
	for _, s := range sums {
		d := s[1]
		if j.o.Metric == L2 {
			d = j.distance(s[0], s[1])
		}
		b = putUint64(b, d)
	}
	all, err := j.c.Allgather(b)
	if err != nil {
		return err
	}
	return j.agree(readReach(j.reach, at, all))
}

// planPivots is the plan to bring the pivots of the pieces, in their order, to all ranks: of each piece the point that
// is farthest from all pivots before.
func (j *job) planPivots(list []piece, near []uint64) *plan {
	var points, dest []int32
	for r := range j.size {
		for _, p := range list {
			pivot := p.points[0]
			for _, k := range p.points {
				if near[k] > near[pivot] {
					pivot = k
				}
			}
			points, dest = append(points, pivot), append(dest, int32(r))
		}
	}
	return j.newPlan(points, dest)
}

// readReach takes the distances that each rank found for its points at[rank].
func readReach(reach []uint64, at [][]int32, all [][]byte) error {
	for rank, b := range all {
		if len(b) != 8*len(at[rank]) {
			return errMessage("distances to pivots")
		}
		for i, k := range at[rank] {
			reach[k] = getUint64(b[8*i:])
		}
	}
	return nil
}

// addPair adds the entries of a panel to the sum, hi and lo, of a distance or its square.
func (j *job) addPair(sum [2]uint64, x, y []int64) [2]uint64 {
	if j.o.Metric == L1 {
		for i, a := range x {
			sum[1] += apart(a, y[i])
		}
		return sum
	}
	hi, lo := squareWide(x, y)
	w := wide{sum[1], sum[0]}.add(wide{lo, hi})
	return [2]uint64{w[1], w[0]}
}

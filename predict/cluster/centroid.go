package cluster

import (
	"fmt"
	"slices"
)

// means clusters by the distance of means, on rank 0: such a distance can fall by a merge, so nothing can be done out
// of order. Each cluster keeps its nearest one among those after it. Vectors take 8 bytes an entry there.
type means struct {
	*space
	sums   [][]int64 // by cluster and entry, of all members, modulo 2^64
	weight []int64
	near   []int32 // after a cluster, -1 for none
	height []Height
	alive  []int32
}

// centroid returns all merges, in the order in which they happen, on rank 0. Collective.
func (s *merger) centroid() ([]link, error) {
	n := uint64(len(s.pts))
	if n > MaxCentroid || s.dim > uint64(s.o.Memory)/2/8/n {
		return nil, fmt.Errorf("%w: centroid linkage of %d vectors of %d entries; it takes at most %d vectors, and %d MiB here; "+
			"choose another linkage, or more memory", ErrTooMany, n, s.dim, MaxCentroid, s.o.Memory>>21)
	}
	m := &means{space: s.space, sums: make([][]int64, n), near: make([]int32, n), height: make([]Height, n)}
	for i := range s.pts {
		m.alive = append(m.alive, int32(i))
		m.weight = append(m.weight, int64(s.pts[i].weight))
	}
	want := make([][]int32, s.size)
	want[0] = m.alive
	err := s.panels(want, 0, func(r rows, _ uint64) error {
		for i := range want[s.rank] {
			for _, v := range r.row(i) {
				m.sums[i] = append(m.sums[i], v*m.weight[i])
			}
		}
		return nil
	})
	if err != nil || s.rank != 0 {
		return nil, err
	}
	s.parallel(len(m.alive), func(_, i int) { m.search(i) })
	return m.merge(), nil
}

// search finds the nearest of the clusters after alive[at].
func (m *means) search(at int) {
	i := m.alive[at]
	m.near[i] = -1
	for _, k := range m.alive[at+1:] {
		if h := m.between(i, k); m.near[i] < 0 || h.compare(m.height[i]) < 0 {
			m.near[i], m.height[i] = k, h
		}
	}
}

// between is the distance of the means of two clusters: from Σ|n·s − m·t| over their sums s and t of m and n members. That is the mean of
// distances at most, times m·n: below 2^63, see coarsen, in units of 2^-fraction. So differences are right modulo 2^64.
func (m *means) between(a, b int32) Height {
	wa, wb := m.weight[a], m.weight[b]
	var hi, lo uint64
	for i, s := range m.sums[a] {
		d := apart(s*wb-m.sums[b][i]*wa, 0)
		if m.o.Metric == L1 {
			lo += d
		} else {
			hi, lo = plusSquare(hi, lo, d)
		}
	}
	pairs := uint64(wa * wb)
	if m.o.Metric == L1 {
		return Height{Units: lo, Pairs: pairs}
	}
	f := 2 * uint(m.fraction)
	hi, lo = overUp(hi<<f|lo>>(64-f), lo<<f, pairs)
	hi, lo = overUp(hi, lo, pairs)
	return whole(rootUp(hi, lo))
}

// merge merges the nearest two clusters until one is left.
func (m *means) merge() []link {
	var links []link
	for len(m.alive) > 1 {
		a := int32(-1)
		for _, i := range m.alive {
			if m.near[i] >= 0 && (a < 0 || m.height[i].compare(m.height[a]) < 0) {
				a = i
			}
		}
		b := m.near[a]
		links = append(links, link{a, b, m.height[a]})
		for i, s := range m.sums[b] {
			m.sums[a][i] += s
		}
		m.weight[a] += m.weight[b]
		m.sums[b] = nil
		at, _ := slices.BinarySearch(m.alive, b)
		m.alive = slices.Delete(m.alive, at, at+1)
		m.parallel(len(m.alive), func(_, at int) { m.update(at, a, b) })
	}
	return links
}

// update looks at cluster alive[at] again after a and b became a.
func (m *means) update(at int, a, b int32) {
	i := m.alive[at]
	if k := m.near[i]; i == a || k == a || k == b {
		m.search(at)
		return
	}
	if i > a {
		return
	}
	h := m.between(i, a)
	if c := h.compare(m.height[i]); m.near[i] < 0 || c < 0 || c == 0 && a < m.near[i] {
		m.near[i], m.height[i] = a, h
	}
}

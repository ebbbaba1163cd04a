package cluster

import (
	"fmt"
	"slices"
)

// means clusters by the distance of means, on rank 0: such a distance can fall by a merge, so nothing can be done out
// of order. Each cluster keeps its nearest one among those behind it. Vectors take 24 bytes an entry there.
type means struct {
	*job
	base   []int64
	sums   [][]signed // by cluster and entry, of all members, less the base each
	weight []uint64
	near   []int32 // behind a cluster, -1 for none
	height []Height
	alive  []int32
}

// centroid returns all merges, in the order in which they happen, on rank 0. Collective.
func (j *job) centroid() ([]link, error) {
	n := uint64(len(j.pts))
	if n > MaxCentroid || j.dim > uint64(j.o.Memory)/24/n {
		return nil, fmt.Errorf("%w: centroid linkage of %d vectors of %d entries; it takes at most %d vectors, and %d MiB here",
			ErrTooMany, n, j.dim, MaxCentroid, j.o.Memory>>20)
	}
	m := &means{job: j}
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
		m.sums = append(m.sums, nil)
		m.weight = append(m.weight, uint64(j.pts[i].weight))
	}
	err := j.panels(j.newPlan(list, make([]int32, n)), func(r rows) error {
		for i := range r.len() {
			x := r.row(i)
			if i == 0 {
				m.base = slices.Clone(x)
			}
			for k, v := range x {
				m.sums[i] = append(m.sums[i], signed{}.addProduct(v-m.base[k], m.weight[i]))
			}
		}
		return nil
	})
	if err != nil || j.rank != 0 {
		return nil, err
	}
	m.alive = list
	m.near, m.height = make([]int32, n), make([]Height, n)
	parallel(j.o.Workers, len(list), func(_, i int) { m.search(i) })
	return m.merge(), nil
}

// search finds the nearest of the clusters behind alive[at].
func (m *means) search(at int) {
	i := m.alive[at]
	m.near[i] = -1
	for _, k := range m.alive[at+1:] {
		if h := m.between(i, k); m.near[i] < 0 || h.compare(m.height[i]) < 0 {
			m.near[i], m.height[i] = k, h
		}
	}
}

// between is the distance of the means of two clusters: from Σ|n·s − m·t| over their sums s and t of m and n members.
func (m *means) between(a, b int32) Height {
	wa, wb := m.weight[a], m.weight[b]
	var sum wide
	for i, s := range m.sums[a] {
		hi, lo := s.times(wb).sub(m.sums[b][i].times(wa)).size()
		if m.o.Metric == L1 {
			sum = sum.add(wide{lo, hi})
		} else {
			sum = sum.addSquare(hi, lo)
		}
	}
	pairs := wa * wb
	if m.o.Metric == L1 {
		return Height{Hi: sum[1], Lo: sum[0], Pairs: pairs}
	}
	sum = sum.shift(2 * uint(m.fraction)).overUp(pairs).overUp(pairs)
	return whole(rootUp(sum[1], sum[0]))
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
			m.sums[a][i] = m.sums[a][i].add(s)
		}
		m.weight[a] += m.weight[b]
		m.sums[b] = nil
		at, _ := slices.BinarySearch(m.alive, b)
		m.alive = slices.Delete(m.alive, at, at+1)
		parallel(m.o.Workers, len(m.alive), func(_, at int) { m.update(at, a, b) })
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

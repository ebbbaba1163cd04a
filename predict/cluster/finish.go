package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/mpi"
)

// cutter is the stage that puts merges in order and cuts.
type cutter struct {
	*space
	res *Result
}

// finish brings all merges to rank 0, puts them in order and cuts. It fills in the merges on rank 0, the threshold,
// and the classes but for their representatives, and returns the class of each point.
func (s *cutter) finish(links []link, cut Height) ([]uint32, error) {
	twins, err := s.twins()
	if err != nil {
		return nil, err
	}
	var list []uint64
	for _, l := range links {
		list = append(list, two(l.a, l.b), l.height.Units, l.height.Pairs)
	}
	links = nil
	err = s.gather(list, 3, "merges", func(_ int, x []uint64) bool {
		l := link{int32(x[0] >> 32), int32(x[0]), Height{x[1], x[2]}}
		links = append(links, l)
		return l.a >= 0 && l.a < l.b && int(l.b) < len(s.pts) && l.height.Pairs > 0
	})
	if n := len(s.pts) - 1; err == nil && s.rank == 0 && (len(links) > n || s.o.Full && len(links) < n) {
		err = errMessage("merges")
	}
	var b []byte
	if err == nil && s.rank == 0 {
		d := dendrogram{pts: s.pts, links: links, twins: twins, centroid: s.o.Linkage == Centroid}
		cut = d.order(s.o, cut)
		s.res.Merges = d.merges(cut, s.o.Full)
		b = pack(append([]uint64{cut.Units, cut.Pairs}, d.labels(cut)...))
	}
	if b, err = mpi.FromRank(s.agreeing(), 0, b, err); err != nil {
		return nil, err
	}
	label, err := s.classes(b)
	return label, s.agree(err)
}

// twin is a member with the vector of a point, other than the point's lowest member.
type twin struct{ point, id uint32 }

// twins brings the members that are not the lowest of their point to rank 0, ordered by point and id.
func (s *cutter) twins() ([]twin, error) {
	var own []uint64
	for i, k := range s.member {
		if id := s.v.ID(i); id != s.pts[k].id {
			own = append(own, two(uint32(k), id))
		}
	}
	var list []twin
	err := s.gather(own, 1, "members", func(_ int, x []uint64) bool {
		list = append(list, twin{uint32(x[0] >> 32), uint32(x[0])})
		return x[0]>>32 < uint64(len(s.pts))
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b twin) int { return cmp.Or(cmp.Compare(a.point, b.point), cmp.Compare(a.id, b.id)) })
	if s.rank == 0 {
		err = s.checkIDs(list)
	}
	return list, s.agree(err)
}

func (s *cutter) checkIDs(list []twin) error {
	ids := make([]uint32, 0, len(list)+len(s.pts))
	for _, t := range list {
		ids = append(ids, t.id)
	}
	for _, p := range s.pts {
		ids = append(ids, p.id)
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			return fmt.Errorf("%w: two members have the id %d", ErrVectors, ids[i])
		}
	}
	return nil
}

// dendrogram is all merges, on rank 0.
type dendrogram struct {
	pts      []point
	links    []link
	twins    []twin
	centroid bool
}

// order sorts the merges and returns the height of the cut.
func (d *dendrogram) order(o Options, cut Height) Height {
	if !d.centroid {
		slices.SortFunc(d.links, func(a, b link) int {
			return cmp.Or(a.height.compare(b.height), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
		})
	}
	if o.MaxClasses == 0 {
		return cut
	}
	if n := len(d.pts) - int(min(o.MaxClasses, uint32(len(d.pts)))); n > 0 {
		top := whole(0)
		for _, l := range d.links[:n] {
			if l.height.compare(top) > 0 {
				top = l.height
			}
		}
		return top
	}
	return whole(0)
}

// merges returns the merges of members: equal vectors first, then those up to the cut, or all.
func (d *dendrogram) merges(cut Height, full bool) []Merge {
	size := slices.Repeat([]uint32{1}, len(d.pts))
	list := make([]Merge, 0, len(d.twins)+len(d.links))
	for _, t := range d.twins {
		size[t.point]++
		list = append(list, Merge{A: d.pts[t.point].id, B: t.id, Size: size[t.point], Height: whole(0)})
	}
	for _, l := range d.links {
		if !full && l.height.compare(cut) > 0 {
			if d.centroid {
				continue
			}
			break
		}
		size[l.a] += size[l.b]
		list = append(list, Merge{A: d.pts[l.a].id, B: d.pts[l.b].id, Size: size[l.a], Height: l.height})
	}
	return list
}

// labels returns the class of each point: a merge counts if it and all merges below it are at or below the cut.
// Classes are numbered by their lowest points.
func (d *dendrogram) labels(cut Height) []uint64 {
	f := newForest(len(d.pts))
	open := make([]bool, len(d.pts)) // the cluster of this lowest point is the top of what is above the cut
	for _, l := range d.links {
		if open[l.a] || open[l.b] || l.height.compare(cut) > 0 {
			open[l.a] = true
			continue
		}
		f.parent[f.root(l.b)] = f.root(l.a)
	}
	label := make([]uint64, len(d.pts))
	n := uint64(0)
	for i := range label {
		if r := f.root(int32(i)); r == int32(i) {
			label[i] = n
			n++
		} else {
			label[i] = label[r]
		}
	}
	return label
}

// classes decodes the cut and the class of each point, and fills in the classes.
func (s *cutter) classes(b []byte) ([]uint32, error) {
	words := make([]uint64, 2+len(s.pts))
	if _, err := take(b, words); err != nil {
		return nil, err
	}
	s.res.Threshold = Height{words[0], words[1]}
	label := make([]uint32, len(s.pts))
	for i, c := range words[2:] {
		if c > uint64(len(s.res.Classes)) {
			return nil, errMessage("classes")
		}
		if c == uint64(len(s.res.Classes)) {
			s.res.Classes = append(s.res.Classes, Class{First: s.pts[i].id})
		}
		label[i] = uint32(c)
		s.res.Classes[c].Size += s.pts[i].weight
	}
	s.res.Class = make([]uint32, len(s.member))
	for i, k := range s.member {
		s.res.Class[i] = label[k]
	}
	return label, nil
}

package cluster

import (
	"testing"
)

// Messages of any content are decoded or refused, and what was decoded is in range.
func FuzzMessages(f *testing.F) {
	f.Add([]byte{}, []byte{1})
	f.Add(putLinks(nil, []link{{0, 1, whole(5)}, {0, 2, Height{2, 3}}}), make([]byte, 16+4*4))
	f.Add(putEdges(treeEdges{{0, 3, 9}}), putUint32(nil, 1, 2, 2, 1))
	f.Add(make([]byte, pointBytes), make([]byte, 2*pointBytes))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		const n = 4
		all := [][]byte{a, b}
		if list, err := readLinks(nil, a, n); err == nil {
			for _, l := range list {
				if l.a < 0 || l.a >= l.b || l.b >= n {
					t.Errorf("link %+v", l)
				}
			}
			d := dendrogram{pts: make([]point, n), links: list}
			if len(list) == n-1 {
				d.order(Options{MaxClasses: 2}, whole(3))
				d.merges(whole(3), true)
				d.labels(whole(3))
			}
		}
		if list, err := readEdges(nil, a, n); err == nil {
			for _, e := range list {
				if e.a < 0 || e.a >= e.b || e.b >= n {
					t.Errorf("edge %+v", e)
				}
			}
			_, _ = boruvka(n, func([]int32) (treeEdges, error) { return list, nil })
		}
		c := newTriangle[uint32](alone(), form{mean: len(b)%2 == 0}, []uint64{1, 1, 1, 1})
		near := candidate{at: -1}
		if c.take(a, &near) == nil && (near.at < -1 || near.at >= n) {
			t.Errorf("nearest %d", near.at)
		}
		if list, rest, err := readElements[uint32](a, n); err == nil && (len(list) != n || len(rest) != len(a)-4*n) {
			t.Errorf("%d distances, %d bytes left", len(list), len(rest))
		}
		_ = readRepresentatives(make([]Class, n), a)
		_ = readEntries(a, make([]int64, n))
		s := &cutter{&space{team: alone(), member: []int32{0, 3}, pts: make([]point, n)}, &Result{}}
		if label, err := s.classes(b); err == nil && len(label) != n {
			t.Errorf("%d labels", len(label))
		}
		_, _ = readTwins(all, n)
	})
}

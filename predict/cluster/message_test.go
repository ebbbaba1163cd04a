package cluster

import (
	"testing"
)

// Messages of any content are decoded or refused, and what was decoded is in range.
func FuzzMessages(f *testing.F) {
	f.Add([]byte{}, []byte{1})
	f.Add(putLinks(nil, []link{{0, 1, whole(5)}, {0, 2, Height{1, 2, 3}}}), make([]byte, 24+4*4))
	f.Add(putEdges(treeEdges{{0, 3, 9}}), putUint32(nil, 1, 2, 2, 1))
	f.Add(make([]byte, digestBytes), make([]byte, 2*pointBytes))
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
		if list, err := readEdges(all, n); err == nil {
			for _, e := range list {
				if e.a < 0 || e.a >= e.b || e.b >= n {
					t.Errorf("edge %+v", e)
				}
			}
			_, _ = boruvka(n, func([]int32) (treeEdges, error) { return list, nil })
		}
		near := []int32{-1, -1, -1, -1}
		if readNear(near, all) == nil {
			for _, k := range near {
				if k < -1 || k >= n {
					t.Errorf("nearest %d", k)
				}
			}
		}
		_ = readRepresentatives(make([]Class, n), all)
		_ = readEntries(a, make([]int64, n))
		if answers, err := answer(all); err == nil && len(answers[0]) != len(a)/digestBytes*answerBytes {
			t.Errorf("%d bytes of answers", len(answers[0]))
		}
		j := &job{members: n, rank: 1, member: []int32{0, 3}}
		if squares, err := j.points(all); err == nil && (len(squares) != len(j.pts) || len(j.pts) > n) {
			t.Errorf("%d points", len(j.pts))
		}
		j.pts = make([]point, n)
		if label, err := j.classes(&Result{}, b); err == nil && len(label) != n {
			t.Errorf("%d labels", len(label))
		}
		th := &thinning{job: j}
		_ = th.choose([]int32{1, 2}, []int32{2, 1}, []int64{noLeader, noLeader}, all)
		_, _ = readTwins(all, n)
	})
}

package cluster

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refLeaders returns the leader of each vector; all must be different.
func refLeaders(o Options, fraction uint8, data [][]int64, radius uint64) []int {
	leader := make([]int, len(data))
	for i := range data {
		leader[i] = i
		for k := range i {
			if leader[k] == k && refDistance(o.Metric, fraction, data[i], data[k]).Cmp(new(big.Int).SetUint64(radius)) <= 0 {
				leader[i] = k
				break
			}
		}
	}
	return leader
}

// More points than can be clustered exactly are led by a few, whose clusters are exact.
func TestLeaders(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, 20))
	for round := range 12 {
		data := make([][]int64, 60)
		for i := range data {
			data[i] = []int64{rng.Int64N(1000), int64(i), rng.Int64N(1000)}
		}
		o := Options{Metric: Metric(round % 2), Threshold: Threshold{Absolute: 1200}, Full: true}
		fraction := must(t, 1, data, o).Fraction
		leader := refLeaders(o, fraction, data, 300<<fraction)
		var led [][]int64
		var ids []int
		for i, l := range leader {
			if l == i {
				led, ids = append(led, data[i]), append(ids, i)
			}
		}
		o.ExactMax = uint32(len(ids))
		want := must(t, 1, data, o)
		a := want.Approximation
		if int(a.Leaders) != len(ids) || int(a.Led) != 60-len(ids) || a.Radius != 300<<fraction {
			t.Errorf("%+v, want %d leaders", a, len(ids))
		}
		var got, ref []string
		for _, m := range want.Merges[60-len(ids):] {
			got = append(got, fmt.Sprint(m.A, m.B, " ", m.Height.rat()))
		}
		for _, m := range refMerges(o, fraction, led) {
			ref = append(ref, fmt.Sprint(ids[m.a], ids[m.b], " ", m.height))
		}
		if d := cmp.Diff(ref, got); d != "" {
			t.Fatal(d)
		}
		for _, m := range want.Merges[:60-len(ids)] {
			if leader[m.B] != int(m.A) || m.Height.Units != refDistance(o.Metric, fraction, data[m.A], data[m.B]).Uint64() {
				t.Errorf("%+v, but the leader is %d", m, leader[m.B])
			}
		}
		for _, p := range []int{2, 3, 8} {
			o.Memory = leastMemory
			same(t, "ranks", want, mustAlone(t, p, data, o, 5*(round%2)))
		}
		o.ExactMax--
		if _, err := solve(t, 2, numbers(60), data, o, 9, func(i int) int { return i % 2 }); err == nil {
			t.Error("too many leaders are not an error")
		}
	}
}

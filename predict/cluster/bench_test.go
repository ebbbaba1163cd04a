package cluster

import (
	"fmt"
	"testing"
)

// generated makes n vectors of m entries: five behaviours, and noise from a linear congruential generator.
func generated(n, m int) [][]int64 {
	data := make([][]int64, n)
	s := uint64(1)
	for i := range data {
		data[i] = make([]int64, m)
		for k := range data[i] {
			s = s*6364136223846793005 + 1442695040888963407
			data[i][k] = int64(i%5)*1000 + 100*int64(k) + int64((s>>33)%101)
		}
	}
	return data
}

func BenchmarkClassify(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		data := generated(n, 32)
		for _, l := range []Linkage{Complete, Average, Single} {
			b.Run(fmt.Sprintf("%d/%s", n, []string{"complete", "average", "single"}[l]), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					must(b, 1, data, Options{Linkage: l, Full: true})
				}
			})
		}
	}
}

// Ranks of one process share the rows of a part; per rank it takes 1/8 of what is reported.
func BenchmarkShare(b *testing.B) {
	data := generated(8000, 32)
	for _, l := range []Linkage{Complete, Average} {
		b.Run([]string{"complete", "average"}[l], func(b *testing.B) {
			for range b.N {
				must(b, 8, data, Options{Linkage: l, Full: true, Workers: 1})
			}
		})
	}
}

// The worst inputs: all distances equal, and gaps that grow, so that one pair merges at a time.
func BenchmarkTies(b *testing.B) {
	const n = 1500
	equal, growing := make([][]int64, n), make([][]int64, n)
	for i := range n {
		equal[i] = make([]int64, n)
		equal[i][i] = 1
		growing[i] = []int64{int64(i) * int64(i)}
	}
	for name, data := range map[string][][]int64{"equal": equal, "growing": growing} {
		for _, p := range []int{1, 4} {
			b.Run(fmt.Sprint(name, "/", p), func(b *testing.B) {
				for range b.N {
					mustAlone(b, p, data, Options{Full: true}, 100)
				}
			})
		}
	}
}

func BenchmarkL2(b *testing.B) {
	data := generated(5000, 32)
	for range b.N {
		must(b, 1, data, Options{Metric: L2, Full: true})
	}
}

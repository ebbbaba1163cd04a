package cluster

import "testing"

func BenchmarkTile(b *testing.B) {
	for _, m := range []measure{absolutes, squares, squaresWide} {
		data := make([]int64, 64*32)
		for i := range data {
			data[i] = int64(uint64(i) * 0x9E3779B97F4A7C15 >> 40)
		}
		r := newRows(data, 32)
		b.Run([]string{"absolutes", "squares", "squaresWide"}[m], func(b *testing.B) {
			var t tile
			for range b.N {
				t.fill(m, r, 0, 32, r, 32, 64)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(32*32*32), "ns/entry")
		})
	}
}

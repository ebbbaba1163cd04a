package xtf

import (
	"math/rand/v2"
	"testing"
)

// TestSeek moves a cursor over a finished array to any row.
func TestSeek(t *testing.T) {
	tt := StandardTypes(Packed)
	typ := tt.Lookup(TypeMetric)
	rows := uint64(3*typ.PageRows + 17)
	sink := &MemorySink{}
	b := NewArrayBuilder(NewEncoder(), typ, 0, sink)
	for n := range rows {
		row, _ := b.Append()
		m := Metric{T: n / 3, Value: n}
		m.Put(row)
	}
	sum, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	c := ScanArray(tt, FinishedArray{Summary: sum, Data: sink}, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := rng.Uint64N(rows + 2)
		c.Seek(n)
		for k := range rng.Uint64N(40) {
			if got, want := c.Next(), n+k < rows; got != want {
				t.Fatalf("row %d of %d: Next is %v", n+k, rows, got)
			}
			if n+k >= rows {
				break
			}
			var m Metric
			if m.Load(c.Row()); m.Value != n+k || c.N() != n+k {
				t.Fatalf("row %d has value %d and number %d", n+k, m.Value, c.N())
			}
		}
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
}

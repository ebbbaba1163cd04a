package stats

import (
	"math/rand/v2"
	"testing"
)

// TestRequests compares the table with a map on rising, reused and colliding ids.
func TestRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var q requests
	want := map[uint64]uint64{}
	next := uint64(0)
	for step := range 200000 {
		var id uint64
		switch rng.IntN(3) {
		case 0: // rising
			next++
			id = next
		case 1: // reused
			id = uint64(rng.IntN(50))
		default: // far apart
			id = uint64(rng.IntN(64)) << 58
		}
		if rng.IntN(2) == 0 || len(want) > 500 {
			r, ok := q.take(id)
			posting, known := want[id]
			if ok != known || ok && r.posting != posting {
				t.Fatalf("step %d: take(%d) = %v, %v; want %v, %v", step, id, r.posting, ok, posting, known)
			}
			delete(want, id)
			continue
		}
		_, known := want[id]
		if replaced := q.add(request{id: id, posting: uint64(step)}); replaced != known {
			t.Fatalf("step %d: add(%d) replaced %v, want %v", step, id, replaced, known)
		}
		want[id] = uint64(step)
	}
	open := 0
	q.each(func(r request) {
		if want[r.id] != r.posting {
			t.Errorf("id %d has posting %d, want %d", r.id, r.posting, want[r.id])
		}
		open++
	})
	if open != len(want) || q.n != open {
		t.Errorf("%d requests open, counter %d, want %d", open, q.n, len(want))
	}
}

func BenchmarkRequests(b *testing.B) {
	var q requests
	b.ReportAllocs()
	id := uint64(0)
	for b.Loop() {
		for k := range uint64(8) {
			q.add(request{id: id + k})
		}
		for k := range uint64(8) {
			q.take(id + k)
		}
		id += 8
	}
}

package graph

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestPlaces checks that the encodings of a rank are bijections.
func TestPlaces(t *testing.T) {
	for _, size := range []uint32{0, 1, 2, 7, 64, 1 << 31} {
		for _, own := range []uint32{0, 1, size / 2, size - 1} {
			if own >= size && size > 0 {
				continue
			}
			pl := place{own, size}
			for e := range NumEncodings {
				seen := map[uint64]uint64{}
				for _, p := range []uint64{0, 1, 2, 6, uint64(size) / 2, uint64(size) - 1, uint64(size), uint64(size) + 1, trace.Undefined, trace.Undefined - 1} {
					if p > trace.Undefined {
						continue
					}
					w := pl.Encode(e, p)
					got, ok := pl.Decode(e, w)
					if !ok || got != p {
						t.Errorf("%+v, encoding %d: %d gives %d, %v", pl, e, p, got, ok)
					}
					if other, dup := seen[w]; dup && other != p {
						t.Errorf("%+v, encoding %d: %d and %d have one code", pl, e, p, other)
					}
					seen[w] = p
				}
			}
		}
	}
}

// TestPostings compares distances with a list of all postings.
func TestPostings(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var build, read postings
	var all []uint64
	n := 60000
	if testing.Short() {
		n = 12000
	}
	for i := range n {
		id := uint64(i) + r.Uint64N(3)
		switch r.IntN(10) {
		case 0:
			id = r.Uint64N(300) * 4096 // crowded hashes, reused
		case 1:
			id = r.Uint64()
		}
		if r.IntN(2) == 0 || len(all) == 0 {
			last := uint64(0)
			if len(all) > 0 {
				last = all[len(all)-1]
			}
			word, far := build.post(id)
			if far != (id-last > nearPost) || !far && read.Posted(word) != id {
				t.Fatalf("posting %d after %d: %d, far %v", id, last, word, far)
			}
			read.Record(id)
			all = append(all, id)
			continue
		}
		if r.IntN(3) > 0 {
			id = all[max(0, len(all)-1-r.IntN(5000))]
		}
		distance := -1
		for d := range min(len(all), nearUse+1) {
			if all[len(all)-1-d] == id {
				distance = d
				break
			}
		}
		word, far := build.use(id)
		if far != (distance < 0) {
			t.Fatalf("use of %d: far %v, distance %d", id, far, distance)
		}
		if !far {
			if got, ok := read.Used(word); !ok || got != id || int(word>>1) != distance {
				t.Fatalf("use of %d: distance %d, want %d", id, word>>1, distance)
			}
		}
	}
}

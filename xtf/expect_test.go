package xtf

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestGuess: a guess is a page that exists, and the right one where keys are
// spread evenly.
func TestGuess(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		span := r.Uint64()>>r.IntN(63) + 2
		pages := r.Uint64N(1<<40) + 1
		if g := guess(r.Uint64N(span), span, pages); g >= pages {
			t.Fatalf("span %d: page %d of %d", span, g, pages)
		}
	}
	for page := range uint64(29) {
		if g := guess(page*1000+500, 29*1000, 29); g != page {
			t.Errorf("key in page %d: guessed %d", page, g)
		}
	}
	if g := guess(math.MaxUint64-1, math.MaxUint64, 680); g != 679 {
		t.Errorf("last key: page %d", g)
	}
}

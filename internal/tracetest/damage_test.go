package tracetest

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestForge changes bytes after the back of checksums: those of the whole and of any span around the change.
func TestForge(t *testing.T) {
	x := rand.New(rand.NewPCG(1, 2))
	table := crc32.MakeTable(crc32.Castagnoli)
	b := make([]byte, 5000)
	for i := range b {
		b[i] = byte(x.Uint32())
	}
	changed := 0
	for range 50 {
		f, what := Forge(x, b)
		if crc32.Update(7, table, f) != crc32.Update(7, table, b) {
			t.Fatalf("%s: another checksum", what)
		}
		if !bytes.Equal(f, b) {
			changed++
		}
	}
	if changed < 40 {
		t.Errorf("%d of 50 changed", changed)
	}
}

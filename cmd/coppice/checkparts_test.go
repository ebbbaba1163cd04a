package main

import (
	bin "encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestMissingSections reads files whose footer names one section less, with right checksums: no verb takes that for a fault of its own.
func TestMissingSections(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "ring:procs=2,events=100")
	whole, err := os.ReadFile(filepath.Join(dir, "run.xtf"))
	if err != nil {
		t.Fatal(err)
	}
	path, le, sum := filepath.Join(dir, "less.xtf"), bin.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	at, length := le.Uint64(whole[32:]), le.Uint64(whole[40:])
	for i := range uint64(le.Uint32(whole[at:])) {
		b := slices.Clone(whole)
		entry := b[at+8+32*i:]
		kind := le.Uint32(entry)
		le.PutUint32(entry, 0x9000) // a kind that nobody knows
		le.PutUint32(entry[28:], 0) // nor must know
		le.PutUint32(b[48:], crc32.Checksum(b[at:at+length], sum))
		le.PutUint32(b[124:], crc32.Checksum(b[:124], sum))
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"check", path}, {"info", path}, {"report", path, "profile"}, {"query", path, "rows"}, {"export", path, "--to", "viewer", "-q", "-o", "-"}} {
			if code, _, errs := call(args...); code > jobs.ExitResource || kind <= 4 && code != jobs.ExitInput {
				t.Errorf("section %d, %s: exit code %d: %s", kind, args[0], code, errs)
			}
		}
	}
}

package main

import (
	le "encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestInfoLog shows a receive log of one block: its header, MPI_Init, and no end.
func TestInfoLog(t *testing.T) {
	t.Parallel()
	var pairs []byte
	for _, s := range [...]string{"rank", "2", "size", "4", "host", "node7", "arg", "./prog", "arg", "-x", "function", "0 C Init", "library", "L 1.0"} {
		pairs = append(append(pairs, byte(len(s))), s...)
	}
	stream := append(append([]byte{1, byte(len(pairs))}, pairs...), 2, 3, 0, 0, 0)
	b := append([]byte("CPRLOG1\x00"), make([]byte, 24)...)
	le.LittleEndian.PutUint32(b[8:], uint32(len(stream)))
	b = append(b, stream...)
	le.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[16:], crc32.MakeTable(crc32.Castagnoli)))
	path := filepath.Join(t.TempDir(), "2.log")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	out := must(t, "info", path)
	for _, want := range [...]string{"rank 2 of 4 on node7", "./prog -x", "MPI_Init", "cut: the process was killed"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out := must(t, "info", path, "--format", "json"); !strings.Contains(out, `"kind": "receive_log"`) {
		t.Error(out)
	}
	for _, x := range []struct {
		name string
		b    []byte
		want string
	}{
		{"a block that changed", append(append([]byte{}, b[:len(b)-1]...), 1), "Copy the log again"},
		{"a header that is cut", b[:20], "record the program again"},
		{"another version", append([]byte("CPRLOG2\x00"), b[8:]...), "Another version of coppice"},
	} {
		if err := os.WriteFile(path, x.b, 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := call("info", path); code != jobs.ExitInput || !strings.Contains(errs, x.want) {
			t.Errorf("%s: exit code %d: %s", x.name, code, errs)
		}
	}
}

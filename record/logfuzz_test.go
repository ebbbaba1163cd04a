package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace/receivelog"
)

// compileReader compiles the log reader of the replays with checks of every access to memory.
func compileReader(t testing.TB, folder string) string {
	t.Helper()
	cc := "mpicc"
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no mpicc")
	}
	const checks = "-fsanitize=address,undefined"
	empty := filepath.Join(folder, "empty.c")
	if err := os.WriteFile(empty, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command(cc, checks, "-o", filepath.Join(folder, "empty"), empty).CombinedOutput(); err != nil {
		t.Skipf("no compiler with checks of memory: %v\n%s", err, b)
	}
	reader := filepath.Join(folder, "readlog")
	args := []string{
		"-std=gnu11", "-O1", "-g", checks, "-fno-sanitize-recover=all", "-Wno-deprecated-declarations", "-Ireplayer", "-Iruntime",
		"-o", reader, "testdata/readlog.c", "-lpthread",
	}
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return reader
}

// logEnd is how the reading of a log ended: how many calls there were, and whether it was whole.
type logEnd struct {
	calls uint64
	whole bool
}

// readWithChecks reads logs.
func readWithChecks(t *testing.T, reader string, logs ...[]byte) []logEnd {
	t.Helper()
	var paths []string
	dir := t.TempDir()
	for i, log := range logs {
		paths = append(paths, filepath.Join(dir, strconv.Itoa(i)))
		if err := os.WriteFile(paths[i], log, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(reader, paths...)
	c.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var ends []logEnd
	for line := range strings.Lines(out.String()) {
		var how string
		var e logEnd
		if _, err := fmt.Sscan(line, &how, &e.calls); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		e.whole = how == "end"
		ends = append(ends, e)
	}
	if err != nil || len(ends) != len(logs) {
		if len(ends) < len(logs) {
			t.Logf("log %d: %x", len(ends), logs[len(ends)])
		}
		t.Fatalf("%v, %d of %d logs\n%.4000s", err, len(ends), len(logs), errs.String())
	}
	return ends
}

// agrees compares with what package receivelog finds where that has nothing to complain about.
func (e logEnd) agrees(t *testing.T, log []byte) {
	t.Helper()
	want, err := countCalls(log)
	refused := !e.whole && e.calls == 0 // of another MPI library, say
	if err == nil && !refused && (!e.whole || e.calls != min(want, 2000)) {
		t.Errorf("%d calls, whole %v; receivelog has %d: %x", e.calls, e.whole, want, log)
	}
}

// inBlocks cuts a stream into blocks with their heads.
func inBlocks(stream []byte) []byte {
	const room = 1<<20 - 32
	var out []byte
	for i := uint64(0); len(stream) > 0; i++ {
		part := stream[:min(len(stream), room)]
		stream = stream[len(part):]
		head := append([]byte("CPRLOG1\x00"), make([]byte, 24)...)
		binary.LittleEndian.PutUint32(head[8:], uint32(len(part)))
		binary.LittleEndian.PutUint64(head[16:], i)
		b := append(head, part...)
		binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[16:], crc32.MakeTable(crc32.Castagnoli)))
		out = append(out, b...)
	}
	return out
}

// record1 is a record: its kind, its length, its body.
func record1(kind byte, body ...byte) []byte {
	return append(binary.AppendUvarint([]byte{kind}, uint64(len(body))), body...)
}

// smallLog is the stream of a log with all that a record can have, with a call that is repeated.
func smallLog() []byte {
	var header []byte
	library := "openmpi"
	if h, err := exec.Command("mpicc", "-dM", "-E", "-include", "mpi.h", "-x", "c", os.DevNull).Output(); err == nil && !strings.Contains(string(h), "OPEN_MPI") {
		library = "mpich"
	}
	for _, text := range []string{"mpi", library, "rank", "1", "size", "4", "wtime", "1", "function", "5 C Recv", "function", "7 C Waitall"} {
		header = append(binary.AppendUvarint(header, uint64(len(text))), text...)
	}
	s := record1(1, header...)
	s = append(s, record1(2, 5, 0, 15, 7, 3, 0xc8, 1, 1, 7, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 6, 6, 0, 2, 4, 0, 100, 0)...)
	where := len(s) - 16
	s = append(s, record1(2, 7, 0, 64, 2, 9, 1, 0, 7, 0, 8, byte(where), 2, 3, 2, 1, 2, 8, 0, 2, 'h', 'i', 10, 0, 0, 0, 0, 0, 0, 0, 240, 63, 3, 2, 9, 3, 1, 0)...)
	s = append(s, record1(3, 5)...)
	return append(s, record1(4, 1, 7, 16, 0, 0)...)
}

// TestLogReader reads a log, and many that are not as they were written, with the reader of the replays: it never reads what is
// not its own, and agrees with package receivelog.
func TestLogReader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles C, without -short")
	}
	good := smallLog()
	logs := [][]byte{inBlocks(good)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		b := slices.Clone(good)
		for range 1 + random.IntN(3) {
			switch i := random.IntN(len(b)); random.IntN(4) {
			case 0:
				b[i] = byte(random.Uint32())
			case 1:
				b[i] ^= 1 << random.IntN(8)
			case 2:
				b = append(b[:i:i], b[i+1:]...)
			case 3:
				b = slices.Insert(b, i, 0xff, 0xff, 0xff, 0xff, byte(random.Uint32()))
			}
		}
		logs = append(logs, inBlocks(b))
	}
	for i := range logs[0] {
		logs = append(logs, logs[0][:i]) // cut; the first bytes of a block are not under its checksum
	}
	ends := readWithChecks(t, compileReader(t, t.TempDir()), logs...)
	if ends[0] != (logEnd{7, true}) {
		t.Errorf("%+v", ends[0])
	}
	for i, e := range ends {
		e.agrees(t, logs[i])
	}
}

// FuzzLogReader gives the reader of the replays any bytes as a log, or as the stream of one.
func FuzzLogReader(f *testing.F) {
	if testing.Short() {
		f.Skip("compiles C, without -short")
	}
	reader := compileReader(f, f.TempDir())
	f.Add(smallLog(), true)
	f.Add(smallLog()[:60], true)
	f.Add(inBlocks(smallLog()), false)
	f.Fuzz(func(t *testing.T, b []byte, stream bool) {
		if stream {
			b = inBlocks(b)
		}
		readWithChecks(t, reader, b)[0].agrees(t, b)
	})
}

// countCalls returns the calls of a log, and an error unless it is whole.
func countCalls(b []byte) (uint64, error) {
	r, err := receivelog.Open(strings.NewReader(string(b)), int64(len(b)))
	if err != nil {
		return 0, err
	}
	var n uint64
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += c.Times
	}
}

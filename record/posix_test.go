package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// straced is a line of strace of a call that moves data: the descriptor with its path, and the bytes moved.
var straced = regexp.MustCompile(`(read|write|pread64|pwrite64|readv|writev)\(\d+<([^>]+)>.* = (\d+)$`)

// TestPOSIX records a program that reads and writes files. For each kind of call the bytes moved are those that strace saw in
// a run of the same program, on the files that the program made.
func TestPOSIX(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			strace, err := exec.LookPath("strace")
			if err != nil {
				t.Skip("no strace: scripts/setup --test installs it")
			}
			program, folder := l.compileProgram(t, "posix.c"), t.TempDir()
			log := filepath.Join(folder, "strace.log")
			args := l.launch(t, 1, strace, "-f", "-y", "-s", "0", "-e", "trace=read,write,pread64,pwrite64,readv,writev", "-o", log, program, folder)
			if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Skipf("strace cannot trace here: %v\n%s", err, b)
			}
			b, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]uint64{}
			for line := range strings.Lines(string(b)) {
				m := straced.FindStringSubmatch(strings.TrimSpace(line))
				if m == nil || !strings.HasPrefix(m[2], folder) {
					continue
				}
				n, err := strconv.ParseUint(m[3], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				want[strings.TrimSuffix(m[1], "64")] += n
			}
			r, out, errs := l.runRecorded(t, Options{Command: l.launch(t, 1, program, folder), IO: true, Sites: 1, Keep: true})
			if r.Exit != 0 || len(r.Found) > 0 {
				t.Fatalf("status %d, %v\n%s%s", r.Exit, r.Found, out, errs)
			}
			raw := filepath.Join(filepath.Dir(r.Archive), rawFolder)
			analyzed(t, raw)
			have := tally(t, raw, func(count map[string]uint64, name string, e *trace.Event, w []uint64) {
				if e.Kind == trace.IoOperationComplete {
					count[name] += w[1]
				}
			})[0]
			if len(want) != 6 {
				t.Fatalf("strace saw %v", want)
			}
			for name, bytes := range want {
				if have[name] != bytes {
					t.Errorf("%s: %d bytes recorded, strace saw %d", name, have[name], bytes)
				}
			}
		})
	}
}

package record

import (
	"fmt"
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
var straced = regexp.MustCompile(`(read|write|pread64|pwrite64|readv|writev|preadv|pwritev)\(\d+<([^>]+)>.* = (\d+)$`)

// TestPOSIX records programs that read and write files, by POSIX, from Fortran, and by HDF5. For each kind of call the bytes moved are those that strace
// saw in a run of the same program, on the files that the program made; those of streams are the program's own.
func TestPOSIX(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace: scripts/setup --test installs it")
	}
	for _, l := range libraries(t) {
		for _, x := range []struct {
			file  string
			kinds int // of calls
			text  map[string]uint64
		}{
			{"posix.c", 6, map[string]uint64{"fprintf": 8, "fputs": 18, "fgets": 8 + 3 + 3, "getdelim": 8 + 4}},
			{"posix.f90", 2, nil},
			{"hdf5.c", 2, nil},
		} {
			t.Run(l.cc+"/"+x.file, func(t *testing.T) {
				var flags []string
				if x.file == "hdf5.c" {
					flags = hdf5(t, "h5cc")
				}
				program, folder := l.compileProgram(t, x.file, flags...), t.TempDir()
				want := traced(t, folder, func(log string) []string {
					return l.launch(1, strace, "-ff", "-y", "-s", "0", "-e", "trace=read,write,pread64,pwrite64,readv,writev", "-o", log, program, folder)
				})
				r, out, errs := l.runRecorded(t, Options{Command: l.launch(1, program, folder), IO: true, Sites: 1, Keep: true})
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
				if x.text != nil {
					file := filepath.Join(t.TempDir(), "run.xtf")
					analyse(t, r.Archive, file)
					if told := fmt.Sprint(readPlanted(t, file).CannotTell.Missing); !strings.Contains(told, "what getc, putc, ") {
						t.Errorf("the report does not say what is left out of streams: %s", told)
					}
				}
				if len(want) != x.kinds {
					t.Fatalf("strace saw %v", want)
				}
				t.Logf("bytes by strace and recorded: %v", want)
				for name, bytes := range x.text {
					if have[name] != bytes {
						t.Errorf("%s: %d bytes recorded, the program moved %d", name, have[name], bytes)
					}
				}
				for name, bytes := range want {
					if x.text != nil && (name == "read" || name == "write") { // what streams move comes in a few calls of their own
						bytes -= streamed[name]
					}
					if have[name] != bytes {
						t.Errorf("%s: %d bytes recorded, strace saw %d", name, have[name], bytes)
					}
				}
			})
		}
	}
}

// streamed is what the C library reads and writes for the streams of testdata/posix.c: the text.
var streamed = map[string]uint64{"read": 26, "write": 26}

// traced runs a command under strace and returns the bytes of each kind of call on files in a folder.
func traced(t *testing.T, folder string, command func(log string) []string) map[string]uint64 {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace.log")
	args := command(log)
	if b, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v\n%s", err, b)
	}
	var b []byte
	logs, _ := filepath.Glob(log + "*") // of each process one, with -ff
	for _, path := range logs {
		part, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, part...)
	}
	moved := map[string]uint64{}
	for line := range strings.Lines(string(b)) {
		m := straced.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || !strings.HasPrefix(m[2], folder) {
			continue
		}
		n, err := strconv.ParseUint(m[3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		moved[strings.TrimSuffix(m[1], "64")] += n
	}
	return moved
}

// TestParallelHDF5 records a program that writes and reads a file together through HDF5 and MPI-IO: the bytes that MPI moves, and those that HDF5 moves
// besides, are the bytes that strace saw of all processes.
func TestParallelHDF5(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace: scripts/setup --test installs it")
	}
	for _, l := range libraries(t) {
		if strings.Contains(l.cc, "mpich") { // Debian has HDF5 for it too, and it is one library for these tests
			continue
		}
		program, folder := l.compileProgram(t, "hdf5_parallel.c", hdf5(t, "h5pcc.openmpi")...), t.TempDir()
		want := traced(t, folder, func(log string) []string {
			return append([]string{strace, "-ff", "-y", "-s", "0", "-e", "trace=read,write,pread64,pwrite64,readv,writev,preadv,pwritev", "-o", log}, l.launch(2, program, folder)...)
		})
		r, out, errs := l.runRecorded(t, Options{Command: l.launch(2, program, folder), IO: true, Sites: 1, Keep: true})
		if r.Exit != 0 || len(r.Found) > 0 {
			t.Fatalf("status %d, %v\n%s%s", r.Exit, r.Found, out, errs)
		}
		have, seen := map[bool]uint64{}, map[bool]uint64{} // by whether they write
		for _, process := range tally(t, filepath.Join(filepath.Dir(r.Archive), rawFolder), func(count map[string]uint64, name string, e *trace.Event, w []uint64) {
			if e.Kind == trace.IoOperationComplete {
				count[name] += w[1]
			}
		}) {
			for name, bytes := range process {
				have[strings.Contains(name, "write")] += bytes
			}
		}
		for name, bytes := range want {
			seen[strings.Contains(name, "write")] += bytes
		}
		t.Logf("bytes by strace %v, recorded %v", want, have)
		if have[true] != seen[true] || have[false] != seen[false] || have[true] < 2*256*256*8 {
			t.Errorf("bytes written and read: %d and %d recorded, strace saw %d and %d", have[true], have[false], seen[true], seen[false])
		}
	}
}

// hdf5 returns the options of a program with HDF5, from its compiler wrapper.
func hdf5(t *testing.T, wrapper string) []string {
	t.Helper()
	b, err := exec.Command(wrapper, "-show").Output()
	if err != nil {
		t.Skip("no HDF5: scripts/setup --test installs it: ", err)
	}
	return strings.Fields(string(b))[1:]
}

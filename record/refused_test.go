package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestRefusedCalls has a program that makes calls which MPI refuses: the recorder returns what MPI returns, with and without a
// receive log, and the archive has the messages that were sent and no others.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "invalid.c", "-w")
			command := l.launch(1, program)
			plain, err := exec.Command(command[0], command[1:]...).CombinedOutput()
			if err != nil {
				t.Fatalf("without the recorder: %v\n%s", err, plain)
			}
			if n := strings.Count(string(plain), " class ") - strings.Count(string(plain), " class  0 "); n < 45 {
				t.Errorf("%d calls are refused\n%s", n, plain)
			}
			for _, log := range [][]int{nil, {0}} {
				r, _, errs := l.runRecorded(t, Options{Command: command, Log: LogOptions{Ranks: log}})
				if errs != string(plain) || r.Exit != 0 || len(r.Found) > 0 || len(r.Cut) > 0 {
					t.Errorf("status %d, %v, %v\n%s\nwithout the recorder\n%s", r.Exit, r.Found, r.Cut, errs, plain)
				}
				if n := sends(t, r.Archive); n != 5 {
					t.Errorf("%d messages, not 5", n)
				}
				res := analyse(t, r.Archive, filepath.Join(t.TempDir(), "run.xtf"))
				for _, c := range res.Codes {
					if !tracetest.Untold(c.Code) && c.Code != trace.DiagBytesDiffer { // those that do not fit
						t.Errorf("%v", c)
					}
				}
			}
		})
	}
}

var messageOfRecorder = regexp.MustCompile(`(?m)^coppice record: process (\d+): .*$`)

// TestNoMemory has a recorder that gets no memory from its n-th request on, for many n: the program comes to its end, the user
// is reported once by each process, and what was recorded until then can be read.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			shim := filepath.Join(t.TempDir(), "nomemory.so")
			if b, err := exec.Command(l.cc, "-shared", "-fPIC", "-DSHIM", "-o", shim, "testdata/nomemory.c").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			program := l.compileProgram(t, "nomemory.c", "-pthread")
			failed := 0
			for from := 0; ; from += 1 + from/4 {
				raw, printed, err := l.attempt(t, 2, shim, [][2]string{{"NOMEMORY_FROM", strconv.Itoa(from)}}, program)
				told := messageOfRecorder.FindAllString(printed, -1)
				if err != nil || strings.Count(printed, "sum 44850\n") != 2 {
					t.Fatalf("from %d: %v\n%s", from, err, printed)
				}
				if len(told) == 0 && from > 0 {
					break
				}
				failed++
				slices.Sort(told)
				if len(slices.Compact(told)) != strings.Count(printed, "coppice record:") || len(told) > 2 || !strings.Contains(told[0], "no memory") {
					t.Errorf("from %d: the user reads\n%s", from, printed)
				}
				readable(t, raw, fmt.Sprintf("from %d", from))
			}
			if failed < 10 {
				t.Errorf("only %d runs without memory", failed)
			}
		})
	}
}

// readable fails where a recording says that it is damaged, or does not say that it is cut.
func readable(t *testing.T, raw, what string) {
	t.Helper()
	src, err := openRecording(raw)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer src.Close()
	found, err := otf2.Copy(t.TempDir(), "traces", src, otf2.Options{})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	cut := 0
	for _, d := range found.List() {
		switch {
		case d.Code == trace.DiagTruncated && strings.Contains(d.Detail, "no memory"):
			cut++
		case d.Code != trace.DiagMissingEvents: // there was none for the first window
			t.Errorf("%s: %v: %s", what, d.Code, d.Detail)
		}
	}
	if cut != len(src.Cut()) || cut == 0 {
		t.Errorf("%s: %d processes were cut, told %v", what, cut, src.Cut())
	}
}

// TestMaxBytes bounds archives: their files take no more on the disk, in whole blocks, whatever the processes do; one that has
// its share stops alone. No bound is smaller than what the definitions take.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "survive.c")
		for _, x := range []struct {
			ranks  int
			bytes  int64
			how    string // what fills it: messages or communicators
			rounds string
			least  uint64
		}{
			{2, 1, "messages", "1000", 0},
			{2, 200_000, "messages", "20000", 1000},
			{2, 2_000_000, "messages", "60000", 20_000},
			{4, 2_000_000, "messages", "60000", 20_000},
			{4, 8_000_000, "messages", "60000", 80_000},
			{2, 500_000, "comms", "700", 0},
			{4, 500_000, "comms", "300", 0},
		} {
			t.Run(fmt.Sprintf("%s/%d/%d/%s", l.cc, x.ranks, x.bytes, x.how), func(t *testing.T) {
				r, out, errs := l.runRecorded(t, Options{Command: l.launch(x.ranks, program, x.how, x.rounds), Bytes: x.bytes})
				if r.Exit != 0 || !strings.Contains(out, "done") || len(r.Found) > 0 || len(r.Cut) != x.ranks {
					t.Errorf("status %d, %v, %v\n%s%s", r.Exit, r.Found, r.Cut, out, errs)
				}
				least := int64(64<<10 + 10<<10*x.ranks) // docs/record.md
				size := onDisk(t, filepath.Dir(r.Archive))
				if size > max(x.bytes, least) || x.bytes > least && size < x.bytes/2 && x.how == "messages" {
					t.Errorf("%d bytes on the disk, allowed are %d", size, max(x.bytes, least))
				}
				if n := sends(t, r.Archive); n < x.least {
					t.Errorf("%d sends, at least %d fit", n, x.least)
				}
			})
		}
	}
}

// onDisk returns what the files of a folder take, in blocks of 4 KiB.
func onDisk(t *testing.T, folder string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(folder, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += (info.Size() + 4095) &^ 4095
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestUnequalEnd has one process whose share is used up long before the other's: none waits for the other for ever.
func TestUnequalEnd(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "survive.c")
		for _, how := range [...]string{"first", "last"} {
			t.Run(l.cc+"/"+how, func(t *testing.T) {
				r, out, errs := l.runRecorded(t, Options{Command: l.launch(2, program, how, "60000"), Bytes: 1_000_000})
				rank := map[string]int{"first": 0, "last": 1}[how]
				if r.Exit != 0 || !strings.Contains(out, "done") || len(r.Found) > 0 || len(r.Cut) != 1 || !strings.Contains(r.Cut[rank], "share") {
					t.Errorf("status %d, %v, %v\n%s%s", r.Exit, r.Found, r.Cut, out, errs)
				}
			})
		}
	}
}

//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestPipes: what is written to the path of a pipe or device goes through it, and it stays what it is.
func TestPipes(t *testing.T) {
	dir := analysed(t, "stencil:procs=2,events=2k")
	run := filepath.Join(dir, "run.xtf")
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"report", run}, "processes"},
		{[]string{"export", run, "--to", "csv", "--table", "calls", "-q"}, "rank,thread,n,"},
		{[]string{"export", run, "--to", "chrome", "-q"}, "traceEvents"},
	} {
		for _, force := range []string{"", "-f"} {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skipf("the file system has no named pipes: %v", err)
			}
			read := make(chan string, 1)
			go func() {
				f, err := os.Open(pipe)
				if err != nil {
					read <- err.Error()
					return
				}
				defer f.Close()
				b, err := io.ReadAll(f)
				if err != nil {
					b = []byte(err.Error())
				}
				read <- string(b)
			}()
			args := append(append([]string{}, x.args...), "-o", pipe)
			if force != "" {
				args = append(args, force)
			}
			if code, _, errs := call(args...); code != jobs.ExitDone {
				t.Fatalf("%v: exit code %d\n%s", args, code, errs)
			}
			st, err := os.Lstat(pipe)
			if err != nil || st.Mode()&os.ModeNamedPipe == 0 {
				t.Fatalf("%v: the pipe is now %v, %v", args, st, err)
			}
			if got := <-read; !strings.Contains(got, x.want) {
				t.Errorf("%v: %.100q came through", args, got)
			}
		}
	}
	pipe := filepath.Join(dir, "pipe.xtf")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("the file system has no named pipes: %v", err)
	}
	code, _, errs := call("analyze", filepath.Join(dir, "traces.otf2"), "-o", pipe, "-f", "-q")
	if st, err := os.Lstat(pipe); code != jobs.ExitUsage || err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("analyze over a pipe: exit code %d, now %v, %v\n%s", code, st, err, errs)
	}
}

// TestTerminalOfALauncher writes no colours from a rank: mpirun gives it a terminal though its own output is a file.
func TestTerminalOfALauncher(t *testing.T) {
	f, err := os.Open("/dev/ptmx")
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer f.Close()
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID"} {
		t.Setenv(name, "")
	}
	if !isTerminal(f) {
		t.Error("a terminal is none")
	}
	t.Setenv("OMPI_COMM_WORLD_SIZE", "1")
	if isTerminal(f) {
		t.Error("the terminal of a rank")
	}
}

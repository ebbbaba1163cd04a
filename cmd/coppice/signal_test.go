//go:build linux && cgo && !nompi && !mpich

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
)

// holds says whether SIGUSR1 is blocked in a process, and taken by nobody yet or by somebody already: it may come.
func holds(pid int) bool {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for line := range strings.Lines(string(b)) {
		name, mask, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		set, _ := strconv.ParseUint(mask, 16, 64)
		if (name == "SigBlk" || name == "SigCgt") && set>>(syscall.SIGUSR1-1)&1 != 0 {
			return true
		}
	}
	return false
}

// TestSignalAtOnce asks jobs to stop as soon as they begin: from the moment on when the program's own code begins, SIGUSR1 is
// neither deadly nor lost.
func TestSignalAtOnce(t *testing.T) {
	bin := built(t)
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "stencil:procs=8,events=200k")
	out := filepath.Join(dir, "out.xtf")
	for round := range 20 {
		var text bytes.Buffer
		cmd := exec.CommandContext(t.Context(), bin, "analyze", filepath.Join(dir, "traces.otf2"), "-o", out, "-j", "1", "--progress", "none", "--resume")
		cmd.Stderr = &text
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for !holds(cmd.Process.Pid) && syscall.Kill(cmd.Process.Pid, 0) == nil {
		}
		time.Sleep(time.Duration(round) * time.Millisecond / 2)
		_ = cmd.Process.Signal(syscall.SIGUSR1)
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != jobs.ExitSaved {
			t.Errorf("round %d: exit code %d: %s", round, code, text.Bytes())
		}
		rest, _ := filepath.Glob(out + "*")
		for _, path := range rest {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

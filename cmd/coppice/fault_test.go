//go:build linux && cgo && !nompi && !mpich

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// until waits for a condition that others make true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: not yet %s", what)
		}
	}
}

// TestHungInput lets the file system of the input hang: a pipe that nobody writes to. The job can be ended by signals
// all the same, at once, and the watchdog ends it and says where. What is left harms no later run.
func TestHungInput(t *testing.T) {
	bin := built(t)
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "ring:procs=3,events=3k")
	events, err := filepath.Glob(filepath.Join(dir, "*", "1.evt"))
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	whole, err := os.ReadFile(events[0])
	if err == nil {
		err = errors.Join(os.Remove(events[0]), syscall.Mkfifo(events[0], 0o666))
	}
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.xtf")
	for _, k := range []struct {
		name   string
		args   []string
		signal syscall.Signal
		code   int
		says   string
	}{
		{"SIGINT", nil, syscall.SIGINT, jobs.ExitInterrupt, "interrupted"},
		{"SIGTERM twice", nil, syscall.SIGTERM, jobs.ExitTerminate, "terminated"},
		{"watchdog", []string{"--watchdog", "2s"}, 0, jobs.ExitResource, "measure: nothing has moved for"},
	} {
		t.Run(k.name, func(t *testing.T) {
			var text bytes.Buffer
			cmd := exec.CommandContext(t.Context(), bin, append([]string{"analyze", filepath.Join(dir, "traces.otf2"), "-o", out, "-j", "1", "--progress", "none", "--resume"}, k.args...)...)
			cmd.Stderr = &text
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { _ = cmd.Wait(); close(done) }()
			until(t, "its lock", func() bool {
				b, _ := os.ReadFile(xtfwriter.LockPath(out))
				return bytes.Contains(b, fmt.Appendf(nil, `"pid":%d,`, cmd.Process.Pid))
			})
			until(t, "ended", func() bool {
				select {
				case <-done:
					return true
				default:
				}
				if k.signal != 0 { // again and again: two that follow at once may be one
					_ = cmd.Process.Signal(k.signal)
				}
				return false
			})
			if code := cmd.ProcessState.ExitCode(); code != k.code || !strings.Contains(text.String(), k.says) {
				t.Errorf("exit code %d, want %d and %q in:\n%s", code, k.code, k.says, text.Bytes())
			}
		})
	}
	if err := errors.Join(os.Remove(events[0]), os.WriteFile(events[0], whole, 0o666)); err != nil {
		t.Fatal(err)
	}
	must(t, "analyze", filepath.Join(dir, "traces.otf2"), "-o", out, "-q", "--resume")
}

// TestResumeAfterFullDisk analyses on a small file system: status 5 with the reason, no result, what was listed stays, and the next
// run goes on with it once there is room.
func TestResumeAfterFullDisk(t *testing.T) {
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	must(t, "demo", "-o", dir, "--spec", "stencil:procs=16,events=100k")
	in, out, ref := filepath.Join(dir, "traces.otf2"), filepath.Join(disk, "out.xtf"), filepath.Join(dir, "ref.xtf")
	must(t, "analyze", in, "-o", ref, "-q", "-j", "2")
	run := func(ranks string) (int, string) {
		code, _, errs := call("analyze", in, "-o", out, "-q", "-j", ranks, "--resume", "--store", "0", "--checkpoint-every", "1ns")
		return code, errs
	}
	code, text := run("1")
	if code != jobs.ExitResource || !strings.Contains(text, "no space left") {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a result on a full disk")
	}
	lists, _ := filepath.Glob(out + ".work/list.*")
	if len(lists) == 0 {
		t.Error("nothing is listed")
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if code, text := run("3"); code != jobs.ExitDone {
		t.Fatalf("with more room: exit code %d: %s", code, text)
	}
	a, err := os.ReadFile(out)
	b, berr := os.ReadFile(ref)
	if err := errors.Join(err, berr); err != nil || !bytes.Equal(a, b) {
		t.Errorf("another file: %v", err)
	}
	if left, _ := filepath.Glob(out + "?*"); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

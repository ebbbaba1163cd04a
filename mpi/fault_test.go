//go:build cgo && !nompi

package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childRoles are what the ranks can do under the launcher. The highest rank misbehaves; the others wait for it.
func childRoles() map[string]func(Comm, string) int {
	last := func(c Comm) bool { return c.Rank() == c.Size()-1 }
	stuck := func(c Comm) int { // in a collective, in a receive and in a send that will never end
		var err error
		switch c.Rank() % 3 {
		case 0:
			err = c.Barrier()
		case 1:
			_, _, err = c.Recv(c.Size()-1, 1)
		case 2:
			err = c.Send(make([]byte, 1<<20), c.Size()-1, 1)
		}
		fmt.Fprintf(os.Stderr, "rank %d was let go: %v\n", c.Rank(), err)
		return 99
	}
	only := func(act func(Comm) int) func(Comm, string) int {
		return func(c Comm, _ string) int {
			if last(c) {
				return act(c)
			}
			return stuck(c)
		}
	}
	return map[string]func(Comm, string) int{
		"conformance": childConformance,
		"huge":        childHuge,
		"disk full":   childDiskFull,
		"unwritable":  childUnwritable,
		"panic":       only(func(Comm) int { panic("boom") }),
		"goroutine panic": only(func(Comm) int {
			go panic("boom in a goroutine")
			select {}
		}),
		"nil map":   only(func(Comm) int { return nilDereference(nil) }),
		"kill":      only(func(Comm) int { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }),
		"exit":      only(func(Comm) int { os.Exit(7); return 0 }),
		"error":     only(func(Comm) int { fmt.Fprintln(os.Stderr, "cannot read the input"); return 3 }),
		"abort":     only(func(c Comm) int { c.Abort(42); return 0 }),
		"all fail":  func(Comm, string) int { return 5 },
		"one fails": func(c Comm, _ string) int { return map[bool]int{true: 4}[last(c)] },
		"codes": func(c Comm, _ string) int {
			return [...]int{1, 75, 4, 2}[c.Rank()%4]
		},
		"unreceived": func(c Comm, _ string) int {
			if last(c) {
				_, err := c.Isend(make([]byte, 1<<20), 0, 1)
				fmt.Fprintln(os.Stderr, "isend:", err)
			}
			return 0
		},
		"agreed": func(c Comm, _ string) int {
			var err error
			if last(c) {
				err = &exitError{5, errors.New("disk quota used up")}
			}
			err = c.Agree(err)
			var coded Coded
			if !errors.As(err, &coded) {
				return 99
			}
			if c.Rank() == 0 {
				fmt.Fprintln(os.Stderr, err)
			}
			return coded.Code()
		},
	}
}

func nilDereference(p *int) int { return *p }

// Whatever happens to one rank, the job ends by itself, with a code other than 0 and with its message.
func TestFaults(t *testing.T) {
	const ranks = 4
	cases := []struct {
		role  string
		code  int // 0: any but 0
		texts []string
		short bool // runs with -short too
	}{
		{"panic", 6, []string{"rank 3 of 4: panic: boom", "fault_test.go"}, true},
		{"nil map", 6, []string{"rank 3 of 4: panic: runtime error: invalid memory address"}, false},
		{"goroutine panic", 0, []string{"panic: boom in a goroutine"}, false},
		{"kill", 0, nil, false},
		{"exit", 0, nil, false},
		{"error", 3, []string{"cannot read the input", "rank 3 of 4 ended with code 3"}, false},
		{"abort", 42, nil, false},
		{"all fail", 5, nil, false},
		{"one fails", 4, nil, false},
		{"codes", 2, nil, false},
		{"agreed", 5, []string{"rank 3: disk quota used up"}, false},
		{"unreceived", 6, []string{"rank 3 of 4: messages or barriers were never completed"}, false},
	}
	for _, k := range cases {
		t.Run(k.role, func(t *testing.T) {
			if testing.Short() && !k.short {
				t.Skip("with -short only some faults are tried")
			}
			j := launch(t, ranks, k.role, t.TempDir())
			if j.code == 0 || k.code != 0 && j.code != k.code {
				t.Errorf("exit code %d, want %d", j.code, k.code)
			}
			if j.code < 0 || strings.Contains(j.stderr, " hangs\n") {
				t.Error("the job did not end by itself")
			}
			for _, text := range k.texts {
				if !strings.Contains(j.stderr, text) {
					t.Errorf("no %q", text)
				}
			}
			if strings.Contains(j.stderr, "was let go") {
				t.Error("a rank came back from a call that could not end")
			}
			if t.Failed() {
				t.Log(j.stderr)
			}
			t.Logf("exit code %d after %v", j.code, j.wall.Round(10*time.Millisecond))
		})
	}
}

// A binary that finds itself alone although a launcher started several must refuse to do the job several times.
func TestWrongLauncher(t *testing.T) {
	name, args := "mpirun.mpich", []string{"-n", "2"}
	if strings.HasPrefix(LibraryVersion(), "MPICH") {
		name, args = "mpirun", []string{"--oversubscribe", "--allow-run-as-root", "-n", "2"}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var cmd *exec.Cmd
	var out []byte
	for range 3 {
		cmd = exec.Command(path, append(args, exe)...)
		cmd.Env = append(os.Environ(), "MPI_TEST_CHILD=all fail")
		// Each process makes Open MPI's session folder for itself; of two that do so at once one may fail.
		if out, err = cmd.CombinedOutput(); !bytes.Contains(out, []byte("orte_session_dir failed")) {
			break
		}
	}
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "started 2 processes") {
		t.Fatalf("%v, exit code %d\n%s", err, cmd.ProcessState.ExitCode(), out)
	}
}

// childDiskFull writes more than the file system holds, in both ways. Every rank must learn of it.
func childDiskFull(c Comm, dir string) int {
	block := pattern(8<<20, c.Rank(), 0)
	at := int64(c.Rank()) * int64(len(block))
	for _, together := range []bool{false, true} {
		name := filepath.Join(dir, "small", fmt.Sprint("out", together))
		f, err := c.CreateFile(name, nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 98
		}
		if together {
			err = f.WriteAtAll(block, at)
		} else {
			err = c.Agree(f.WriteAt(block, at))
		}
		fmt.Fprintf(os.Stderr, "rank %d, together %v: %v\n", c.Rank(), together, err)
		if !errors.Is(err, ErrNoSpace) || !errors.Is(err, syscall.ENOSPC) {
			return 97
		}
		err = f.Close()
		if c.Rank() == 0 { // before the others come to the next open
			err = errors.Join(err, os.Remove(name))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 96
		}
	}
	_, err := c.CreateFile(filepath.Join(dir, "readonly", "out"), nil)
	fmt.Fprintf(os.Stderr, "rank %d: %v\n", c.Rank(), err)
	if !errors.Is(err, ErrReadOnly) && !errors.Is(err, ErrPermission) {
		return 95
	}
	return 5
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	mount(t, filepath.Join(dir, "small"), "size=8m")
	mount(t, filepath.Join(dir, "readonly"), "size=1m,ro")
	t.Run("in process", func(t *testing.T) {
		err := RunInProcess(4, func(c Comm) error {
			if code := childDiskFull(c, dir); code != 5 {
				return fmt.Errorf("code %d", code)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("MPI", func(t *testing.T) {
		j := launch(t, 4, "disk full", dir)
		if j.code != 5 || strings.Count(j.stderr, "together") != 8 {
			t.Errorf("exit code %d\n%s", j.code, j.stderr)
		}
		t.Logf("\n%s", j.stderr)
	})
}

// mount puts a small file system at dir, for the time of the test.
func mount(t *testing.T, dir, options string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput()
	if err != nil {
		t.Skipf("a tmpfs cannot be mounted here, the test of a full disk did not run: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

// childUnwritable opens a file in a directory that is not its own. Root becomes nobody for it.
func childUnwritable(c Comm, dir string) int {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 98
		}
	}
	run := func(c Comm) error {
		f, err := c.CreateFile(filepath.Join(dir, "out"), nil)
		if f != nil || !errors.Is(err, ErrPermission) || !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	}
	if err := errors.Join(run(c), RunInProcess(3, run)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 97
	}
	return 5
}

func TestUnwritableDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // reachable for everybody, writable for nobody but root
		if err := os.Chmod(d, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(dir), 0o755) })
	if j := launch(t, 3, "unwritable", dir); j.code != 5 {
		t.Fatalf("exit code %d\n%s", j.code, j.stderr)
	}
}

// TestHuge moves more than 2 GiB in single calls. It needs 12 GB of memory and 5 GB of disk: MPI_TEST_LONG=1 go test -run Huge.
func TestHuge(t *testing.T) {
	if os.Getenv("MPI_TEST_LONG") == "" {
		t.Skip("set MPI_TEST_LONG=1 for transfers above 2 GiB (12 GB of memory)")
	}
	t.Run("in process", func(t *testing.T) {
		dir := t.TempDir()
		if err := RunInProcess(2, func(c Comm) error { return huge(c, dir) }); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("MPI", func(t *testing.T) {
		j := launch(t, 2, "huge", t.TempDir())
		if j.code != 0 {
			t.Fatalf("exit code %d\n%s", j.code, j.stderr)
		}
		t.Logf("%v\n%s", j.wall, j.stdout)
	})
}

func childHuge(c Comm, dir string) int {
	if err := huge(c, dir); err != nil {
		fmt.Fprintf(os.Stderr, "rank %d: %v\n", c.Rank(), err)
		c.Abort(1)
	}
	return 0
}

// hugeBlock is 2 GiB and a bit; mark sets a byte in every MiB, hugeCheck compares them.
func hugeBlock(k byte) []byte {
	b := make([]byte, 2<<30+4097)
	for i := 0; i < len(b); i += 1 << 20 {
		b[i] = k + byte(i>>20) + byte(i>>28)
	}
	b[len(b)-1] = k
	return b
}

func hugeCheck(what string, b []byte, k byte) error {
	if len(b) != 2<<30+4097 {
		return fmt.Errorf("%s: %d bytes", what, len(b))
	}
	for i := 0; i < len(b); i += 1 << 20 {
		if b[i] != k+byte(i>>20)+byte(i>>28) {
			return fmt.Errorf("%s: byte %d differs", what, i)
		}
	}
	if b[len(b)-1] != k {
		return fmt.Errorf("%s: last byte differs", what)
	}
	return nil
}

func huge(c Comm, dir string) error {
	b := hugeBlock(byte(c.Rank()))
	timed := func(what string, act func() error) error {
		start := time.Now()
		err := act()
		if c.Rank() == 1 {
			fmt.Printf("%s: %v\n", what, time.Since(start).Round(time.Millisecond))
		}
		return err
	}
	err := timed("send", func() error {
		if c.Rank() == 0 {
			return c.Send(b, 1, 3)
		}
		got, _, err := c.Recv(AnySource, AnyTag)
		return errors.Join(err, hugeCheck("send", got, 0))
	})
	if err != nil {
		return err
	}
	err = timed("bcast", func() error {
		var mine []byte
		if c.Rank() == 1 {
			mine = b
		}
		got, err := c.Bcast(mine, 1)
		return errors.Join(err, hugeCheck("bcast", got, 1))
	})
	if err != nil {
		return err
	}
	err = timed("gather", func() error {
		parts, err := c.Gather(b, 1)
		if err == nil && c.Rank() == 1 {
			err = errors.Join(hugeCheck("gather", parts[0], 0), hugeCheck("gather", parts[1], 1))
		}
		return err
	})
	if err != nil {
		return err
	}
	return timed("file", func() error { return hugeFile(c, dir, b) })
}

func hugeFile(c Comm, dir string, b []byte) error {
	name := filepath.Join(dir, "huge")
	f, err := c.CreateFile(name, nil)
	if err != nil {
		return err
	}
	at := int64(c.Rank()) * int64(len(b))
	if err := c.Agree(f.WriteAt(b, at)); err != nil {
		return err
	}
	clear(b)
	if err := readAt(name, b, at); err != nil {
		return err
	}
	return errors.Join(hugeCheck("file", b, byte(c.Rank())), f.Close(), os.RemoveAll(name))
}

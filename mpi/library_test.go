//go:build cgo && !nompi

package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// The test binary runs itself under mpirun: MPI_TEST_CHILD says what the ranks do, MPI_TEST_DIR where. Ranks above 0 log
// to files there. A rank that hangs prints its goroutines and ends the job before the parent gives up.
func TestMain(m *testing.M) {
	if role := os.Getenv("MPI_TEST_CHILD"); role != "" {
		child(role)
		return
	}
	os.Exit(m.Run())
}

const (
	testGrace   = time.Second
	childLimit  = 100 * time.Second
	parentLimit = 120 * time.Second
)

func child(role string) {
	chunk := testChunk
	if role == "huge" {
		chunk = chunkSize
	}
	w, err := initLibrary(chunk, testGrace)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	time.AfterFunc(childLimit, func() {
		fmt.Fprintf(os.Stderr, "rank %d hangs\n", w.comm.Rank())
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
		w.comm.Abort(99)
	})
	run, ok := childRoles()[role]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", role)
		os.Exit(2)
	}
	os.Exit(w.Run(func(c Comm) int { return run(c, os.Getenv("MPI_TEST_DIR")) }))
}

// childConformance runs the table. Rank 0 prints a line per case.
func childConformance(c Comm, dir string) int {
	out := os.Stdout
	if c.Rank() > 0 {
		var err error
		if out, err = os.Create(filepath.Join(dir, fmt.Sprintf("rank%d.log", c.Rank()))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = out.Close() }()
	}
	for i, k := range append(conformance(), libraryCases()...) {
		if c.Size() < k.min || c.Size() > 16 && !k.many {
			continue
		}
		sub := filepath.Join(dir, fmt.Sprint("case", i))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		start := time.Now()
		fmt.Fprintln(out, "start", k.name)
		if err := runCase(k, c, sub); err != nil {
			fmt.Fprintf(os.Stderr, "rank %d: %v\n", c.Rank(), err)
			c.Abort(1)
		}
		if err := c.Barrier(); err != nil {
			fmt.Fprintf(os.Stderr, "rank %d: %s: %v\n", c.Rank(), k.name, err)
			c.Abort(1)
		}
		fmt.Fprintf(out, "ok %s\t%v\n", k.name, time.Since(start).Round(time.Millisecond))
	}
	return 0
}

// launcher returns the command that starts n ranks of this binary with the launcher of its library.
func launcher(n int) (string, []string) {
	if strings.HasPrefix(LibraryVersion(), "MPICH") {
		return "mpirun.mpich", []string{"-n", fmt.Sprint(n)}
	}
	return "mpirun", []string{"--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n", fmt.Sprint(n)}
}

// job is what came out of a run under the launcher.
type job struct {
	stdout, stderr string
	code           int
	wall           time.Duration
}

// launch runs n ranks in a role and waits. It skips the test where there is no launcher.
func launch(t *testing.T, n int, role, dir string, env ...string) job {
	t.Helper()
	name, args := launcher(n)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: the MPI tests did not run", name)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), parentLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(args, exe)...)
	cmd.Env = append(os.Environ(), append(env, "MPI_TEST_CHILD="+role, "MPI_TEST_DIR="+dir)...)
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	j := job{stdout: stdout.String(), stderr: stderr.String(), wall: time.Since(start)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, j.stderr)
	}
	j.code = cmd.ProcessState.ExitCode()
	return j
}

func TestMPI(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 7, 16, 64}
	if testing.Short() {
		sizes = []int{1, 2, 3}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
			dir := t.TempDir()
			j := launch(t, n, "conformance", dir)
			t.Logf("%d ranks of %s: %d cases in %v", n, LibraryVersion(), strings.Count(j.stdout, "\nok "), j.wall.Round(time.Millisecond))
			if j.code != 0 {
				t.Fatalf("exit code %d\n%s%s%s", j.code, j.stdout, j.stderr, rankLogs(dir))
			}
			for _, k := range append(conformance(), libraryCases()...) {
				if n >= k.min && (n <= 16 || k.many) && !strings.Contains(j.stdout, "ok "+k.name+"\t") {
					t.Errorf("case %q did not run", k.name)
				}
			}
			if testing.Verbose() {
				t.Log("\n" + j.stdout)
			}
		})
	}
}

// rankLogs returns the last line of the log of each rank above 0.
func rankLogs(dir string) string {
	var b strings.Builder
	list, _ := filepath.Glob(filepath.Join(dir, "rank*.log"))
	for _, name := range list {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "%s: %s\n", filepath.Base(name), lines[len(lines)-1])
	}
	return b.String()
}

// libraryCases need the MPI implementation.
func libraryCases() []testCase {
	return []testCase{
		{"library errors", 2, false, testLibraryErrors},
	}
}

// testLibraryErrors makes the MPI library itself fail: its errors must come back with their class, and the communicator
// must work afterwards.
func testLibraryErrors(t *rankTest, comm Comm) {
	c, ok := comm.(*mpiComm)
	if !ok {
		t.fatalf("not the MPI communicator: %T", comm)
	}
	bad := func(to, tag int) error {
		return c.send(userPlane, []byte("x"), to, tag).err
	}
	err := bad(c.size, 0)
	t.is("no such rank", err, ErrRank)
	var e *Error
	if !errors.As(err, &e) || e.Code == 0 || e.Msg == "" || e.Op != "send" {
		t.fatalf("error %+v", e)
	}
	t.is("no such tag", bad(0, -5), ErrTag)
	testTruncation(t, c)
	v := []int64{1}
	t.ok("allreduce", c.AllreduceInt64(v, Sum))
	if v[0] != int64(c.size) {
		t.fatalf("sum %d", v[0])
	}
}

// testTruncation sends a long message whose body is longer than its head says, and heads that are none.
func testTruncation(t *rankTest, c *mpiComm) {
	head := make([]byte, headBytes)
	head[0], head[1] = byte((headSize+10)&0xff), byte((headSize+10)>>8)
	head[8], head[9] = byte(firstID&0xff), byte(firstID>>8)
	switch c.rank {
	case 0:
		for _, h := range [][]byte{head, make([]byte, headBytes), make([]byte, headBytes+1)} {
			c.l.mu.Lock()
			r := c.track("send", userPlane)
			rc := r.lib.post(h, 1, 6, c.plane[userPlane].h)
			if &h[0] == &head[0] && rc == 0 {
				rc = r.lib.post(make([]byte, 20), 1, firstID, c.plane[systemPlane].h)
			}
			err := c.l.failure("send", rc)
			if err == nil && len(r.lib.handles) == 0 {
				r.lib.end(r, nil)
			}
			c.l.mu.Unlock()
			t.ok("send", err)
			t.ok("wait", c.Wait(r))
		}
	case 1:
		_, _, err := c.Recv(0, 6)
		t.is("body longer than announced", err, ErrTruncate)
		for range 2 {
			_, _, err = c.Recv(0, 6)
			t.is("a head that is none", err, ErrInternal)
		}
	}
	t.ok("barrier", c.Barrier())
}

//go:build cgo && !nompi && !mpich

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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

// mpirun runs the built command on n ranks and returns its exit code and what
// it wrote.
func mpirun(t *testing.T, n int, bin string, args ...string) (code int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	all := append([]string{"--oversubscribe", "--bind-to", "none", "-n", fmt.Sprint(n), bin}, args...)
	cmd := exec.CommandContext(ctx, "mpirun", all...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("mpirun -n %d %v hangs:\n%s", n, args, out)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// built builds the command as the user's binary; without mpirun, or where the
// tests themselves have no MPI, it skips.
func built(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("no mpirun on this machine: install openmpi-bin")
	}
	bin := filepath.Join(t.TempDir(), "coppice")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if out, err := exec.Command("mpirun", "--version").Output(); err != nil || !strings.Contains(string(out), "Open MPI") {
		t.Skip("mpirun is not Open MPI's")
	}
	return bin
}

// TestRanksOfMPI compares files made by MPI ranks with the one made in process,
// and checks that errors reach every rank as one exit code and one message.
func TestRanksOfMPI(t *testing.T) {
	bin := built(t)
	dir := t.TempDir()
	if code := run([]string{"demo", "--archive", dir, "--spec", "irregular:procs=6,threads=2,events=20k,seed=2", "-f"}, &bytes.Buffer{}, os.Stderr); code != 0 {
		t.Fatalf("demo: exit code %d", code)
	}
	in := filepath.Join(dir, "traces.otf2")
	want := filepath.Join(dir, "want.xtf")
	if out, err := exec.Command(bin, "analyze", in, "-o", want, "-q", "-j", "2").CombinedOutput(); err != nil {
		t.Fatalf("without a launcher: %v\n%s", err, out)
	}
	whole, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 3, 5} {
		out := filepath.Join(dir, fmt.Sprintf("run%d.xtf", n))
		if code, text := mpirun(t, n, bin, "analyze", in, "-o", out, "-q", "--store", fmt.Sprint(n*10000)); code != 0 {
			t.Fatalf("%d ranks: exit code %d\n%s", n, code, text)
		}
		if b, err := os.ReadFile(out); err != nil || !bytes.Equal(b, whole) {
			t.Errorf("%d MPI ranks make another file: %v", n, err)
		}
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"analyze", in, "-o", want}, jobs.ExitUsage, "exists"},
		{[]string{"analyze", filepath.Join(dir, "none.otf2"), "-o", filepath.Join(dir, "x.xtf")}, jobs.ExitInput, "none.otf2"},
		{[]string{"analyze", in, "-o", filepath.Join(dir, "no", "x.xtf")}, jobs.ExitUsage, "cannot be written"},
		{[]string{"analyze", in}, jobs.ExitUsage, "-o RUN.xtf"},
	} {
		code, text := mpirun(t, 3, bin, tc.args...)
		if code != tc.code || strings.Count(text, tc.says) < 1 {
			t.Errorf("%v: exit code %d, want %d and %q in:\n%s", tc.args, code, tc.code, tc.says, text)
		}
		if n := strings.Count(text, "coppice: "); n > 3 {
			t.Errorf("%v: %d lines of errors for one cause:\n%s", tc.args, n, text)
		}
	}
}

// killScript runs a command in every rank. The one of rank VICTIM is killed DELAY
// seconds after a file named OUT and ending in AFTER is there.
const killScript = `seen() { [ -e "$1" ]; }
if [ "$OMPI_COMM_WORLD_RANK" = "$VICTIM" ]; then
	"$@" & child=$!
	while kill -0 $child 2>/dev/null && ! seen "$OUT".$AFTER*; do sleep 0.002; done
	sleep $DELAY
	kill -9 $child 2>/dev/null; wait $child
else exec "$@"; fi`

// awaitOwner waits until the process that holds the lock of an output is gone:
// mpirun may end a moment before the ranks that it has told to.
func awaitOwner(t *testing.T, out string) {
	t.Helper()
	b, err := os.ReadFile(xtfwriter.LockPath(out))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var l xtfwriter.Lock
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); syscall.Kill(l.PID, 0) == nil && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
}

// TestKilledRanks kills one rank at a random moment, again and again: what stands
// under the final name is complete or nothing does, and a later run succeeds over
// what was left behind. The moments are spread over the whole run, and over the
// commit alone, which is short.
func TestKilledRanks(t *testing.T) {
	bin := built(t)
	dir := t.TempDir()
	if code := run([]string{"demo", "--archive", dir, "--spec", "stencil:procs=8,events=400k", "-f"}, &bytes.Buffer{}, os.Stderr); code != 0 {
		t.Fatalf("demo: exit code %d", code)
	}
	in, out, ref := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "run.xtf"), filepath.Join(dir, "ref.xtf")
	began := time.Now()
	if code, text := mpirun(t, 4, bin, "analyze", in, "-o", ref, "-q", "--store", "0"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	span := time.Since(began)
	want, err := os.ReadFile(ref)
	if err != nil {
		t.Fatal(err)
	}
	kills, early := 10, 0
	if testing.Short() {
		kills = 2
	}
	t.Setenv("OUT", out)
	r := rand.New(rand.NewPCG(11, 11))
	for n := range kills {
		victim, delay, after := n%4, r.Float64()*span.Seconds()/3, "work"
		if n%2 == 1 {
			after, delay = "out.", delay/12
		}
		t.Setenv("VICTIM", fmt.Sprint(victim))
		t.Setenv("DELAY", fmt.Sprintf("%.4f", delay))
		t.Setenv("AFTER", after)
		code, text := mpirun(t, 4, "sh", "-c", killScript, "sh", bin, "analyze", in, "-o", out, "-q", "--store", "0")
		b, err := os.ReadFile(out)
		switch {
		case err == nil && !bytes.Equal(b, want):
			t.Errorf("kill %d: %d other bytes under the final name", n, len(b))
		case err != nil && !errors.Is(err, os.ErrNotExist):
			t.Error(err)
		case err != nil && code == 0:
			t.Errorf("kill %d: exit code 0 and no file:\n%s", n, text)
		case err != nil:
			early++
		}
		if err == nil {
			if err := os.Remove(out); err != nil {
				t.Fatal(err)
			}
		}
		awaitOwner(t, out)
		if code, _, errs := call("analyze", in, "-o", out, "-q", "-j", "2"); code != 0 {
			t.Fatalf("kill %d: the run after it ends with %d: %s", n, code, errs)
		}
		if b, err := os.ReadFile(out); err != nil || !bytes.Equal(b, want) {
			t.Errorf("kill %d: the run after it makes another file: %v", n, err)
		}
		if left, _ := filepath.Glob(out + "*"); len(left) != 1 {
			t.Errorf("kill %d: left after the next run: %v", n, left)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d kills came before the file was there", early, kills)
}

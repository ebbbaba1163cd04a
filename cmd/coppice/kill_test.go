//go:build linux && cgo && !nompi && !mpich

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
)

var (
	killRounds = flag.Int("kills", 10, "rounds of TestKillAndResume; bench/jobs/kill.sh does 200")
	killSeed   = flag.Uint64("killseed", 1, "its seed")
)

// An ending is how a run is made to end early.
type ending struct {
	name   string
	signal syscall.Signal
	whom   int // see below
	codes  []int
}

// Whom a signal is sent to.
const (
	oneRank  = iota // or the process, where no launcher started it
	launcher        // its ranks are orphans, until they notice
	halted          // the launcher, while one rank is halted: it goes on when the next run is over
)

var endings = []ending{
	{"SIGKILL to a rank", syscall.SIGKILL, oneRank, nil},
	{"SIGKILL to a rank", syscall.SIGKILL, oneRank, nil},
	{"SIGTERM to a rank", syscall.SIGTERM, oneRank, []int{jobs.ExitSaved}},
	{"SIGUSR1 to a rank", syscall.SIGUSR1, oneRank, []int{jobs.ExitSaved}},
	{"SIGUSR1 to the launcher", syscall.SIGUSR1, launcher, []int{jobs.ExitSaved}},
	{"SIGTERM to the launcher", syscall.SIGTERM, launcher, nil},
	{"SIGKILL to the launcher", syscall.SIGKILL, launcher, nil},
	{"SIGKILL to the launcher of a halted rank", syscall.SIGKILL, halted, nil},
	{"SIGINT to a rank", syscall.SIGINT, oneRank, nil},
}

// killed is a job that is killed again and again.
type killed struct {
	t      *testing.T
	bin    string
	args   []string // verb, input, options
	out    string
	want   []byte
	bytes  int64 // that an undisturbed run writes, about
	asleep []int // halted processes
	struck int   // runs that were interrupted before their end
	late   int   // and those that were not
	kept   int   // runs that took something over
}

// newKilled makes what an undisturbed run makes.
func newKilled(t *testing.T, bin, out string, args ...string) *killed {
	t.Helper()
	k := &killed{t: t, bin: bin, args: append(args, "--progress", "none", "--store", "0"), out: out}
	if args[0] == "predict" {
		k.args = append(args, "--progress", "none", "--mem", "160M")
	}
	ref := out + ".ref"
	cmd := exec.CommandContext(t.Context(), bin, append(slices.Clone(k.args), "-o", ref, "-j", "2", "--checkpoint-every", "1ms")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for ended := false; !ended; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			ended = true
		default:
			k.bytes = max(k.bytes, bytesWritten(ref))
		}
	}
	var err error
	if k.want, err = os.ReadFile(ref); err != nil || k.bytes == 0 {
		t.Fatalf("%d bytes, %v", k.bytes, err)
	}
	return k
}

// bytesWritten is how many bytes a run has in files.
func bytesWritten(out string) (n int64) {
	files, _ := filepath.Glob(out + ".work/*")
	more, _ := filepath.Glob(out + ".out.*")
	for _, f := range append(files, more...) {
		if st, err := os.Stat(f); err == nil {
			n += st.Size()
		}
	}
	return n
}

// command makes one run; ranks 0 means in-process ranks.
func (k *killed) command(ranks, local int, stderr *bytes.Buffer) *exec.Cmd {
	args := append(slices.Clone(k.args), "-o", k.out, "--resume", "--checkpoint-every", "1ms", "--watchdog", "2m")
	cmd := exec.CommandContext(k.t.Context(), k.bin, append(args, "-j", strconv.Itoa(local))...)
	if ranks > 0 {
		cmd = exec.CommandContext(k.t.Context(), "mpirun", append([]string{"--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(ranks), k.bin}, args...)...)
		cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	}
	cmd.Stdout, cmd.Stderr = stderr, stderr
	cmd.WaitDelay = time.Second // survivors hold the pipes
	return cmd
}

// ranksOf lists the processes that a launcher started.
func ranksOf(pid int) (list []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// interrupt starts a run and ends it early once it has written so many bytes.
func (k *killed) interrupt(r *rand.Rand, e ending) {
	k.t.Helper()
	var text bytes.Buffer
	ranks, at := 2+r.IntN(3), bytesWritten(k.out)+r.Int64N(k.bytes)
	if e.whom == oneRank && r.IntN(4) == 0 {
		ranks = 0
	}
	victim := r.IntN(max(ranks, 1))
	cmd := k.command(ranks, 1+r.IntN(4), &text)
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		default:
			if bytesWritten(k.out) >= at {
				k.strike(cmd.Process.Pid, ranks, victim, e)
				waiting = false
			}
			time.Sleep(200 * time.Microsecond) // give way; bytes decide
		}
	}
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		k.t.Fatalf("%s: the run hangs:\n%s", e.name, text.Bytes())
	}
	code := cmd.ProcessState.ExitCode()
	if code == jobs.ExitDone {
		k.late++
	} else {
		k.struck++
	}
	if code == jobs.ExitDone || e.codes == nil && code != jobs.ExitInternal {
		return // too late, or whatever the launcher says
	}
	if !slices.Contains(e.codes, code) {
		k.t.Errorf("%s: exit code %d\n%s", e.name, code, text.Bytes())
	}
}

// strike sends the signal.
func (k *killed) strike(pid, ranks, victim int, e ending) {
	if ranks == 0 {
		_ = syscall.Kill(pid, e.signal)
		return
	}
	list := ranksOf(pid)
	if e.whom == halted && victim < len(list) {
		_ = syscall.Kill(list[victim], syscall.SIGSTOP)
		k.asleep = append(k.asleep, list[victim])
	}
	if e.whom == oneRank {
		if victim < len(list) {
			_ = syscall.Kill(list[victim], e.signal)
		}
		return
	}
	_ = syscall.Kill(pid, e.signal)
}

// check fails unless the result is complete or absent.
func (k *killed) check(what string) bool {
	k.t.Helper()
	b, err := os.ReadFile(k.out)
	if err == nil && !bytes.Equal(b, k.want) {
		k.t.Fatalf("%s: another file of %d bytes", what, len(b))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.t.Fatal(err)
	}
	return err == nil
}

// round interrupts a run once or a few times and lets the next one end.
func (k *killed) round(r *rand.Rand) {
	k.t.Helper()
	first := r.IntN(len(endings))
	what := ""
	for range 1 + r.IntN(4)/3 { // twice in a quarter of the rounds
		e := endings[first]
		what += e.name + ", "
		k.interrupt(r, e)
		k.check(what)
		first = r.IntN(len(endings))
	}
	var text bytes.Buffer
	ranks := 0
	if r.IntN(4) == 0 {
		ranks = 1 + r.IntN(4)
	}
	cmd := k.command(ranks, 1+r.IntN(4), &text)
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		k.t.Fatalf("%sthe run after it: %v\n%s", what, err, text.Bytes())
	}
	if !k.check(what) {
		k.t.Fatalf("%sthe run after it leaves no file", what)
	}
	if bytes.Contains(text.Bytes(), []byte(" kept of ")) {
		k.kept++
	}
	k.wake(what)
	if left, _ := filepath.Glob(k.out + ".[a-qs-z]*"); len(left) > 0 {
		k.t.Fatalf("%sleft behind: %v\n%s", what, left, text.Bytes())
	}
	if err := os.Remove(k.out); err != nil {
		k.t.Fatal(err)
	}
}

// wake lets halted ranks go on, which must end and harm nothing.
func (k *killed) wake(what string) {
	for _, pid := range k.asleep {
		_ = syscall.Kill(pid, syscall.SIGCONT)
		for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				k.t.Fatalf("%sa survivor goes on", what)
			}
		}
	}
	if len(k.asleep) > 0 && !k.check(what+"a survivor woke up") {
		k.t.Fatalf("%sa survivor removed the file", what)
	}
	k.asleep = nil
}

// zombie says whether a process has ended and nobody took note.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(b), ") ")
	return err != nil || strings.HasPrefix(after, "Z")
}

// TestKillAndResume interrupts analyses and predictions at random moments, counted in bytes that they have written, and
// goes on with other numbers of ranks: the bytes are always those of an undisturbed run, and nothing else is left.
func TestKillAndResume(t *testing.T) {
	bin := built(t)
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "stencil:procs=8,events=200k")
	a := newKilled(t, bin, filepath.Join(dir, "out.xtf"), "analyze", filepath.Join(dir, "traces.otf2"))
	run, platform := predictable(t, "irregular:procs=8,threads=2,events=40k,seed=2", platformOf4)
	p := newKilled(t, bin, filepath.Join(dir, "predicted.xtf"), "predict", run, "--platform", platform)
	rounds := *killRounds
	if testing.Short() {
		rounds = min(rounds, 2)
	}
	r := rand.New(rand.NewPCG(11, *killSeed))
	for n := range rounds {
		[]*killed{a, a, p}[n%3].round(r)
		if n%20 == 19 || n == rounds-1 {
			t.Logf("%d rounds: analyze %d runs interrupted, %d were over before, %d kept work; predict %d, %d, %d",
				n+1, a.struck, a.late, a.kept, p.struck, p.late, p.kept)
		}
	}
}

//go:build linux && cgo && !nompi && !mpich

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/slurm"
)

// cluster is a real Slurm of scripts/slurm, in namespaces of its own: when its standard input ends, by the test's end or its
// death, the kernel ends all its processes.
type cluster struct {
	dir    string // of the daemons
	work   string // where jobs are submitted
	bin    string // the program
	script string
}

// patience is how long a job may take to reach a state, on a machine that does much else.
const patience = 2 * time.Minute

// newCluster starts a cluster, or says why there can be none.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch", "ip", "unshare", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			if _, err := os.Stat("/usr/sbin/" + name); err != nil {
				t.Skipf("no %s on this machine: scripts/setup --test installs Slurm", name)
			}
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("starting a Slurm needs root")
	}
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--mount", "--net", "--uts", "--ipc", "true").CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v: %s", err, out)
	}
	script, err := filepath.Abs("../../scripts/slurm")
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	c := &cluster{dir: filepath.Join(base, "daemons"), work: filepath.Join(base, "work"), bin: built(t), script: script}
	if err := os.Mkdir(c.work, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, "run", c.dir, "cat")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = in.Close()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(c.dir, "ready")); err == nil {
			return c
		}
		select {
		case <-ended:
			t.Fatalf("the cluster did not start:\n%s", log.String())
		default:
		}
		if time.Since(began) > patience {
			t.Fatalf("the cluster is not up after %v:\n%s", patience, log.String())
		}
	}
}

// in runs a command in the cluster and returns what it prints.
func (c *cluster) in(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(c.script, append([]string{"exec", c.dir}, args...)...)
	cmd.Dir = c.work
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

var jobLine = regexp.MustCompile(`(?m)^job (\d+): `)

// plan submits jobs and returns their numbers.
func (c *cluster) plan(t *testing.T, args ...string) []string {
	t.Helper()
	text := c.in(t, append([]string{c.bin, "plan"}, args...)...)
	var ids []string
	for _, m := range jobLine.FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	if len(ids) == 0 {
		t.Fatalf("no job in:\n%s", text)
	}
	return ids
}

// job returns what Slurm says of a job.
func (c *cluster) job(t *testing.T, id string) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, w := range strings.Fields(c.in(t, "scontrol", "--oneliner", "show", "job", id)) {
		k, v, _ := strings.Cut(w, "=")
		m[k] = v
	}
	return m
}

// log is all that a job printed.
func (c *cluster) log(id string) string {
	b, err := os.ReadFile(filepath.Join(c.work, "coppice-"+id+".out"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// until waits for a job.
func (c *cluster) until(t *testing.T, id, what string, ok func(job map[string]string) bool) map[string]string {
	t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		j := c.job(t, id)
		if ok(j) {
			return j
		}
		if time.Since(began) > patience {
			t.Fatalf("job %s is not %s after %v: %v\n%s", id, what, patience, j, c.log(id))
		}
	}
}

// completed waits until a job has ended well.
func (c *cluster) completed(t *testing.T, id string) map[string]string {
	t.Helper()
	j := c.until(t, id, "at its end", func(j map[string]string) bool {
		return slices.Contains([]string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE"}, j["JobState"])
	})
	if j["JobState"] != "COMPLETED" || j["ExitCode"] != "0:0" {
		t.Fatalf("job %s: %s, exit code %s\n%s", id, j["JobState"], j["ExitCode"], c.log(id))
	}
	return j
}

// caught submits a job and stops its ranks while they load, by SIGSTOP. A job that is over before is submitted once more, with
// another output, which submit gets.
func (c *cluster) caught(t *testing.T, name string, ranks int, submit func(output string) []string) (ids []string, output string, pids []int) {
	t.Helper()
	for n := range 20 {
		output = fmt.Sprintf("%s%d.xtf", name, n)
		ids = submit(output)
		if pids = c.frozen(t, ids[0], output, ranks); pids != nil {
			return ids, output, pids
		}
		t.Logf("job %s was over before its ranks were stopped", ids[0])
	}
	t.Fatalf("no job could be stopped")
	return nil, "", nil
}

// frozen stops the ranks of a job while they load; nil: it was over that before.
func (c *cluster) frozen(t *testing.T, id, output string, ranks int) []int {
	t.Helper()
	status := filepath.Join(c.work, "coppice-"+id+".status")
	var pids []int
	for began := time.Now(); len(pids) < ranks; time.Sleep(2 * time.Millisecond) {
		st, err := slurm.ReadStatus(status)
		switch {
		case time.Since(began) > patience:
			t.Fatalf("job %s: %d of %d ranks are there: %v\n%s", id, len(pids), ranks, c.job(t, id), c.log(id))
		case err != nil || st == nil || st.Stage == "open" || st.Stage == "measure":
			continue
		case st.Stage != "load" && len(pids) == 0:
			return nil
		}
		for _, pid := range c.processes(t, output) {
			if !slices.Contains(pids, pid) && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				pids = append(pids, pid)
			}
		}
		if len(pids) == 0 && c.job(t, id)["JobState"] == "COMPLETED" {
			return nil
		}
	}
	if st, err := slurm.ReadStatus(status); err != nil || st == nil || st.Stage != "load" || c.job(t, id)["JobState"] != "RUNNING" {
		goOn(pids)
		return nil
	}
	return pids
}

// pending waits until a signal has come to stopped processes.
func (c *cluster) pending(t *testing.T, id string, pids []int, signal syscall.Signal) {
	t.Helper()
	c.until(t, id, "stopped with a signal", func(map[string]string) bool {
		for _, pid := range pids {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil {
				t.Fatalf("job %s: a stopped rank is gone: %v", id, err)
			}
			found := false
			for line := range strings.Lines(string(b)) {
				if key, value, _ := strings.Cut(line, ":"); key == "SigPnd" || key == "ShdPnd" {
					mask, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
					found = found || mask>>(signal-1)&1 == 1
				}
			}
			if !found {
				return false
			}
		}
		return true
	})
}

// processes are those of the program that write an output, by their command lines.
func (c *cluster) processes(t *testing.T, output string) []int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, d := range dirs {
		b, err := os.ReadFile(d)
		if err != nil || !bytes.HasPrefix(b, []byte(c.bin+"\x00")) || !bytes.Contains(b, []byte("\x00"+output+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(d))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// goOn lets stopped processes run.
func goOn(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// same compares a result with the one that was made without a cluster.
func (c *cluster) same(t *testing.T, output, want string) {
	t.Helper()
	a, err := os.ReadFile(filepath.Join(c.work, output))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(c.work, want))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s and %s differ", output, want)
	}
}

// write writes a file of the folder where jobs are submitted.
func (c *cluster) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.work, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestSlurm runs planned jobs under a real Slurm, side by side on one cluster.
func TestSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes half a minute")
	}
	c := newCluster(t)
	for name, spec := range map[string]string{"small": "stencil:procs=8,events=40k,jitter=5", "long": "stencil:procs=8,events=3M,depth=40,jitter=5,seed=2"} {
		must(t, "demo", "-o", filepath.Join(c.work, name), "--spec", spec)
	}
	must(t, "analyze", filepath.Join(c.work, "small"), "-o", filepath.Join(c.work, "small.xtf"), "-q")
	must(t, "analyze", filepath.Join(c.work, "long"), "-o", filepath.Join(c.work, "long.xtf"), "-q", "--events", "none")
	c.write(t, "platform.toml", "schema = \"coppice.platform/1\"\n[links.net]\nL_ns = 1000\nG_ns_per_byte = 0.1\n")
	site := "schema = \"coppice.site/1\"\ncores = 8\nmemory_gib = 32\nmax_minutes = 10\n"
	c.write(t, "site.toml", site)
	for i := 1; i <= 4; i++ {
		c.write(t, fmt.Sprintf("n%d.toml", i), site+fmt.Sprintf("options = [\"--nodelist=n%d\"]\n", i))
	}
	t.Run("jobs", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *cluster){
			"variants": variantsUnderSlurm, "step": stepUnderSlurm, "nodes": nodesUnderSlurm, "chain": chainUnderSlurm,
			"preempt": preemptUnderSlurm, "cancel": cancelUnderSlurm, "requeue": requeueUnderSlurm,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, c)
			})
		}
	})
}

// variantsUnderSlurm lets sbatch look at every form of its script.
func variantsUnderSlurm(t *testing.T, c *cluster) {
	for _, verb := range [][]string{
		{"analyze", "small"},
		{"predict", "small.xtf", "--", "--platform", "platform.toml"},
		{"export", "small.xtf", "--", "--to", "otf2"},
		{"record", "new", "--time", "10m", "--", "./program"},
	} {
		for _, launcher := range []string{"srun", "mpirun"} {
			for _, where := range [][]string{nil, {"--site", "site.toml"}} {
				args := append([]string{c.bin, "plan", "--launcher", launcher, "--ranks", "8", "--nodes", "4", "--format", "script"}, where...)
				text := c.in(t, append(args, verb...)...)
				file := strings.Join([]string{verb[0], launcher, fmt.Sprint(len(where))}, "-") + ".sh"
				c.write(t, file, text)
				if out := c.in(t, "sbatch", "--test-only", file); !strings.Contains(out, "8 processors on nodes n[1-4]") {
					t.Errorf("%s: %s", file, out)
				}
			}
		}
	}
}

// stepUnderSlurm works twice in a step of one task, which MPI does not allow, and starts a command in it.
func stepUnderSlurm(t *testing.T, c *cluster) {
	analyze := c.bin + " analyze small -o "
	out := c.in(t, "srun", "--mpi=pmix", "-n1", "sh", "-c", analyze+"step1.xtf && "+analyze+"step2.xtf && ! "+c.bin+" record --cc mpicc -o step -- true")
	if strings.Count(out, "on 1 ranks") != 2 || !strings.Contains(out, "nothing was recorded") {
		t.Error(out)
	}
	c.same(t, "step1.xtf", "small.xtf")
	c.same(t, "step2.xtf", "small.xtf")
}

// nodesUnderSlurm runs on 4 nodes with 2 ranks each, started by srun and by mpirun.
func nodesUnderSlurm(t *testing.T, c *cluster) {
	ids := map[string]string{}
	for _, launcher := range []string{"srun", "mpirun"} {
		ids[launcher] = c.plan(t, "analyze", "small", "-o", launcher+".xtf", "--site", "site.toml", "--launcher", launcher, "--ranks", "8", "--nodes", "4", "--submit")[0]
	}
	for launcher, id := range ids {
		j := c.completed(t, id)
		st, err := slurm.ReadStatus(filepath.Join(c.work, "coppice-"+id+".status"))
		if err != nil {
			t.Fatal(err)
		}
		if st == nil || st.Ranks != 8 || j["NumNodes"] != "4" || j["NodeList"] != "n[1-4]" {
			t.Errorf("%s: %+v on %s nodes, %s:\n%s", launcher, st, j["NumNodes"], j["NodeList"], c.log(id))
		}
		c.same(t, launcher+".xtf", "small.xtf")
		if got := c.in(t, c.bin, "info", "coppice-"+id+".status", "--follow"); !strings.Contains(got, "done") {
			t.Errorf("followed: %s", got)
		}
	}
}

// chainUnderSlurm stops the first of three jobs by USR1, as Slurm does before the limit. It goes back into the queue, the others
// wait for its good end.
func chainUnderSlurm(t *testing.T, c *cluster) {
	ids, output, pids := c.caught(t, "chain", 2, func(output string) []string {
		return c.plan(t, "analyze", "long", "-o", output, "--site", "n1.toml", "--ranks", "2", "--submit",
			"--then", "predict --platform platform.toml -o predicted-"+output, "--then", "export --to otf2 -o again-"+output, "--", "--events", "none")
	})
	if len(ids) != 3 {
		t.Fatalf("jobs %v", ids)
	}
	c.in(t, "scancel", "--signal=USR1", ids[0])
	c.pending(t, ids[0], pids, syscall.SIGUSR1)
	goOn(pids)
	c.until(t, ids[0], "back in the queue", func(j map[string]string) bool { return j["Restarts"] == "1" })
	for _, id := range ids[1:] {
		if j := c.job(t, id); j["JobState"] != "PENDING" || j["Reason"] != "Dependency" {
			t.Errorf("job %s next to one in the queue again: %v", id, j)
		}
	}
	for _, id := range ids {
		c.completed(t, id)
	}
	c.same(t, output, "long.xtf")
	if !strings.Contains(c.log(ids[0]), "SIGUSR1") {
		t.Errorf("the log of the job does not tell why it stopped:\n%s", c.log(ids[0]))
	}
	for _, name := range []string{"predicted-" + output, filepath.Join("again-"+output, "traces.otf2")} {
		if _, err := os.Stat(filepath.Join(c.work, name)); err != nil {
			t.Error(err)
		}
	}
}

// preemptUnderSlurm lets a more urgent job take the node: Slurm sends TERM, the job saves, and goes on later.
func preemptUnderSlurm(t *testing.T, c *cluster) {
	ids, output, _ := c.caught(t, "preempted", 2, func(output string) []string {
		return c.plan(t, "analyze", "long", "-o", output, "--site", "n2.toml", "--ranks", "2", "--submit", "--", "--events", "none")
	})
	id := ids[0]
	c.in(t, "sbatch", "--partition=urgent", "--nodelist=n2", "--exclusive", "--output=urgent.out", "--wrap", "true")
	j := c.completed(t, id)
	if j["Restarts"] != "1" {
		t.Errorf("restarted %s times:\n%s", j["Restarts"], c.log(id))
	}
	if !strings.Contains(c.log(id), "SIGTERM") {
		t.Errorf("the log of the job does not tell why it stopped:\n%s", c.log(id))
	}
	c.same(t, output, "long.xtf")
}

// cancelUnderSlurm cancels a job by hand: it saves, does not come back, what waits for it goes too, and a job by hand goes on.
func cancelUnderSlurm(t *testing.T, c *cluster) {
	args := []string{"analyze", "long", "--site", "n3.toml", "--ranks", "2", "--submit", "-o"}
	ids, output, _ := c.caught(t, "cancelled", 2, func(output string) []string {
		return c.plan(t, append(args, output, "--then", "predict --platform platform.toml", "--", "--events", "none")...)
	})
	c.in(t, "scancel", ids[0])
	for _, id := range ids {
		c.until(t, id, "cancelled", func(j map[string]string) bool { return j["JobState"] == "CANCELLED" })
	}
	c.until(t, ids[0], "without processes", func(map[string]string) bool { return len(c.processes(t, output)) == 0 })
	c.until(t, ids[0], "at the end of its script", func(map[string]string) bool {
		return !strings.Contains(c.in(t, "squeue", "--noheader", "--format=%A"), ids[0])
	})
	if j := c.job(t, ids[0]); j["JobState"] != "CANCELLED" || j["Restarts"] != "0" {
		t.Fatalf("a cancelled job came back: %v\n%s", j, c.log(ids[0]))
	}
	if _, err := os.Stat(filepath.Join(c.work, output)); err == nil {
		t.Error("a cancelled job left an output")
	}
	again := c.plan(t, append(args, output, "--", "--events", "none")...)
	c.completed(t, again[0])
	c.same(t, output, "long.xtf")
}

// requeueUnderSlurm puts a running job back by hand, as operators do before they take a node out.
func requeueUnderSlurm(t *testing.T, c *cluster) {
	ids, output, _ := c.caught(t, "requeued", 2, func(output string) []string {
		return c.plan(t, "analyze", "long", "-o", output, "--site", "n4.toml", "--ranks", "2", "--submit", "--", "--events", "none")
	})
	id := ids[0]
	c.in(t, "scontrol", "requeue", id)
	j := c.completed(t, id)
	if j["Restarts"] != "1" {
		t.Errorf("restarted %s times:\n%s", j["Restarts"], c.log(id))
	}
	c.same(t, output, "long.xtf")
}

// TestPlanSubmitRefused submits where there is no scheduler.
func TestPlanSubmitRefused(t *testing.T) {
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "ring:procs=2,events=200")
	t.Setenv("PATH", dir)
	code, _, errs := call("plan", "analyze", dir, "--submit")
	if code != jobs.ExitUsage || !strings.Contains(errs, "sbatch") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

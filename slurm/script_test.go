//go:build unix

package slurm

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// variant is a script in one of its forms.
type variant struct {
	name  string
	job   *Job
	site  *Site
	known bool
}

// variants are all forms: schedulers, launchers, verbs that go on and that do not, with and without a site file.
func variants() []variant {
	w, full := big20()
	full.Partition, full.Account, full.Options = "batch", "proj", []string{"--comment=x y"}
	full.Modules, full.Commands = []string{"openmpi/4.1"}, []string{"export A=1"}
	small := Fit(&Work{Bytes: 1e9, Largest: 1e8, Locations: 16}, &Site{}, time.Minute)
	jobs := []*Job{
		{Verb: "analyze", Size: Fit(w, full, 15*time.Minute), Command: []string{"coppice", "analyze", "run/traces.otf2", "-o", "run.xtf", "--resume"}, Resumable: true, Note: "20 TB"},
		{Verb: "export", Size: small, Command: []string{"coppice", "export", "run.xtf"}, Note: "small"},
		{Verb: "record", Size: small, Before: []string{"coppice", "record", "-o", "run", "--"}, Command: []string{"./program", "input file"}, Foreign: true},
	}
	var list []variant
	for _, scheduler := range Schedulers() {
		for _, launcher := range []string{"srun", "mpirun"} {
			if launcher == "srun" && scheduler != "slurm" {
				continue
			}
			no := false
			for _, x := range []struct {
				name string
				site Site
			}{{"site", *full}, {"bare", Site{}}, {"once", Site{Requeue: &no}}} {
				for _, j := range jobs {
					site := x.site
					site.Scheduler, site.Launcher = scheduler, launcher
					list = append(list, variant{strings.Join([]string{scheduler, launcher, x.name, j.Verb}, "-"), j, &site, x.name != "bare"})
				}
			}
		}
	}
	return list
}

func scriptOf(t *testing.T, v variant) []byte {
	t.Helper()
	text, err := v.job.Script(v.site, v.known)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestScripts compares one script of each scheduler with a stored one, and lets bash read all.
func TestScripts(t *testing.T) {
	bash := needsBash(t)
	for _, v := range variants() {
		text := scriptOf(t, v)
		cmd := exec.Command(bash, "--norc", "-n")
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s\n%s", v.name, err, out, text)
		}
		if known := !bytes.Contains(text, []byte("# EDIT ")); known != v.known {
			t.Errorf("%s: lines to edit: %v", v.name, !known)
		}
		if bytes.Contains(text, []byte("\n\n")) || bytes.Contains(text, []byte("<no value>")) || !bytes.HasPrefix(text, []byte("#!/bin/bash\n")) {
			t.Errorf("%s:\n%s", v.name, text)
		}
		if !strings.HasSuffix(v.name, "-site-analyze") && v.name != "slurm-srun-bare-analyze" {
			continue
		}
		path := filepath.Join("testdata", v.name+".sh")
		if *update {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v: go test -update writes it", err)
		}
		if diff := cmp.Diff(string(want), string(text)); diff != "" {
			t.Errorf("%s (-want +got), go test -update rewrites it:\n%s", path, diff)
		}
	}
}

// bin makes a folder of stand-ins, scripts of bash under the names of commands.
func bin(t *testing.T, scripts map[string]string) string {
	t.Helper()
	bash := needsBash(t)
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!"+bash+"\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// launchers print the words that they get, each ended by a zero byte.
const launched = `for w in "$@"; do printf '%s\0' "$w"; done >"$OUT"; [ "$1" != submit ] || echo f1`

// TestScriptWords runs scripts whose commands have hostile words, and looks at what arrives at the launcher.
func TestScriptWords(t *testing.T) {
	path := bin(t, map[string]string{"srun": launched, "mpirun": launched, "flux": `case $2 in attach | kill) ;; *) ` + launched + ` ;; esac`, "coppice": launched})
	for _, v := range variants() {
		if v.job.Verb == "record" || !strings.Contains(v.name, "-once-") {
			continue
		}
		j := *v.job
		j.Command, j.Note = slices.Concat([]string{"coppice", "x"}, hostile), strings.Join(hostile, " ")
		v.job = &j
		dir := t.TempDir()
		out := filepath.Join(dir, "words")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, needsBash(t), "--norc", "-s")
		cmd.WaitDelay = time.Second
		cmd.Stdin = bytes.NewReader(scriptOf(t, v))
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + path + ":/usr/bin:/bin", "OUT=" + out, "LC_ALL=C", "SLURM_JOB_ID=1", "PBS_JOBID=1", "LSB_JOBID=1", "FLUX_JOB_ID=1", "PBS_O_WORKDIR=" + dir}
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", v.name, err, text)
			continue
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
		if at := slices.Index(words, "x"); at < 0 || !slices.Equal(words[at+1:], hostile) {
			t.Errorf("%s: the launcher gets %q", v.name, words)
		}
		if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 1 {
			t.Errorf("%s: %v next to the words, %v", v.name, files, err)
		}
	}
}

// TestScriptSignals sends a signal to the shell of a script: its command gets USR1 and has time to save, and the script ends with
// the command's status.
func TestScriptSignals(t *testing.T) {
	// The stand-in of mpirun says when its trap is set, and saves after the first signal.
	path := bin(t, map[string]string{
		"mpirun":   `trap 'echo saved >>"$OUT"; exit 75' USR1; trap 'echo killed >>"$OUT"; exit 1' TERM; echo ready >"$OUT"; while kill -0 $PPID; do sleep 0.05; done`,
		"scontrol": `echo "scontrol $*" >>"$OUT"; [ "$1" = requeue ] || echo "PreemptTime=${PREEMPTED:-None}"`,
		"qrerun":   `echo "qrerun $*" >>"$OUT"`,
	})
	for _, c := range []struct {
		name      string
		scheduler string
		signal    os.Signal
		preempted string
		want      string
	}{
		{"mpirun", "mpirun", syscall.SIGUSR1, "", "ready\nsaved\n"},
		{"mpirun TERM", "mpirun", syscall.SIGTERM, "", "ready\nsaved\n"},
		{"slurm", "slurm", syscall.SIGUSR1, "", "ready\nsaved\nscontrol show job 1\nscontrol requeue 1\n"},
		{"slurm cancelled", "slurm", syscall.SIGTERM, "", "ready\nsaved\nscontrol show job 1\n"},
		{"slurm preempted", "slurm", syscall.SIGTERM, "2026-11-22T08:17:20", "ready\nsaved\nscontrol show job 1\nscontrol requeue 1\n"},
		{"pbs", "pbs", syscall.SIGUSR1, "", "ready\nsaved\nqrerun 1\n"},
		{"lsf", "lsf", syscall.SIGTERM, "", "ready\nsaved\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := variant{job: &Job{Verb: "analyze", Size: Fit(&Work{}, &Site{}, time.Minute), Command: []string{"coppice"}, Resumable: true}, known: true}
			v.site = &Site{Scheduler: c.scheduler, Launcher: "mpirun"}
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			script := filepath.Join(dir, "script")
			if err := os.WriteFile(script, scriptOf(t, v), 0o666); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(ctx, needsBash(t), "--norc", script)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + path + ":/usr/bin:/bin", "OUT=" + out, "SLURM_JOB_ID=1", "PBS_JOBID=1", "LSB_JOBID=1", "PBS_O_WORKDIR=" + dir, "PREEMPTED=" + c.preempted}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for {
				if b, err := os.ReadFile(out); err == nil && string(b) == "ready\n" {
					break
				}
				if ctx.Err() != nil {
					t.Fatal("the command did not start within a minute")
				}
				time.Sleep(5 * time.Millisecond)
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 75 {
				t.Errorf("the script ended with %v", err)
			}
			if b, err := os.ReadFile(out); err != nil || string(b) != c.want {
				t.Errorf("%v:\n%swant:\n%s", err, b, c.want)
			}
		})
	}
}

// TestSubmit puts a chain into queues that only note what they get.
func TestSubmit(t *testing.T) {
	note := func(print string) string {
		return `echo "$0 $*" | sed 's,.*/,,' >>"$OUT"; cat >>"$OUT.scripts"; n=$(grep -c . "$OUT"); ` + print
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	t.Setenv("OUT", out)
	t.Setenv("PATH", bin(t, map[string]string{
		"sbatch": note(`echo "$((n + 10));cluster"`), "qsub": note(`echo "$n.server"`), "bsub": note(`echo "Job <$n> is submitted to queue <q>."`),
		"flux": note(`echo "ƒ2k$n"`),
	})+":/usr/bin:/bin")
	for scheduler, want := range map[string]string{
		"slurm": "sbatch --parsable\nsbatch --parsable --dependency=afterok:11 --kill-on-invalid-dep=yes\nsbatch --parsable --dependency=afterok:12 --kill-on-invalid-dep=yes\n",
		"pbs":   "qsub \nqsub -W depend=afterok:1.server\nqsub -W depend=afterok:2.server\n",
		"lsf":   "bsub \nbsub -w done(1)\nbsub -w done(2)\n",
		"flux":  "flux batch\nflux batch --dependency=afterok:ƒ2k1\nflux batch --dependency=afterok:ƒ2k2\n",
	} {
		os.Remove(out)
		j := &Job{Verb: "analyze", Size: Fit(&Work{}, &Site{}, time.Minute), Command: []string{"coppice"}}
		p := &Plan{Site: &Site{Scheduler: scheduler}, Known: true, Jobs: []*Job{j, j, j}}
		err := p.Submit(t.Context())
		list := p.Submitted
		if err != nil || len(list) != 3 {
			t.Errorf("%s: %v, %v", scheduler, list, err)
			continue
		}
		if b, err := os.ReadFile(out); err != nil || string(b) != want {
			t.Errorf("%s: %v\n%swant\n%s", scheduler, err, b, want)
		}
		last := list[2]
		if last.Status != "coppice-"+last.ID+".status" || !strings.HasSuffix(last.Cancel, " "+last.ID) || !strings.HasSuffix(last.Show, " "+last.ID) {
			t.Errorf("%s: %+v", scheduler, last)
		}
	}
}

// TestSubmitRefused lets the second of three jobs be refused: the first one is reported.
func TestSubmitRefused(t *testing.T) {
	usual := os.Getenv("PATH")
	for _, c := range []struct{ name, sbatch, want string }{
		{"refused", `case "$*" in *depend*) printf "no such account\nfailed\n" >&2; exit 1 ;; esac; echo 7`, ": no such account; failed"},
		{"says nothing", `case "$*" in *depend*) exit 0 ;; esac; echo 7`, "no number of a job"},
		{"is absent", "", "sbatch"},
	} {
		scripts := map[string]string{}
		if c.sbatch != "" {
			scripts["sbatch"] = c.sbatch
		}
		t.Setenv("PATH", usual)
		t.Setenv("PATH", bin(t, scripts))
		j := &Job{Verb: "analyze", Size: Fit(&Work{}, &Site{}, time.Minute), Command: []string{"coppice"}}
		p := &Plan{Site: &Site{}, Known: true, Jobs: []*Job{j, j, j}}
		err := p.Submit(t.Context())
		list := p.Submitted
		if !errors.Is(err, ErrSubmit) || !strings.Contains(fmt.Sprint(err), c.want) || len(list) != min(len(scripts), 1) {
			t.Errorf("%s: %v, %v", c.name, list, err)
		}
	}
	if err := (&Plan{Site: &Site{Scheduler: "mpirun"}}).Submit(t.Context()); !errors.Is(err, ErrSubmit) {
		t.Errorf("mpirun alone: %v", err)
	}
}

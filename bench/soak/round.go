package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// aMoment is more than a command needs for itself, out of memory too.
const aMoment = 15 * time.Minute

// patience is how long a command may take that needs so long for itself: as many times that as processes share a processor now.
func patience(alone time.Duration) time.Duration {
	var load float64
	b, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(b), &load)
	return time.Duration(float64(alone) * max(1, load/float64(runtime.NumCPU())))
}

// A round is one input and what is done with it.
type round struct {
	*settings
	seed     uint64
	dir      string
	log      bytes.Buffer
	wrong    []string
	commands int
	taken    map[string]int

	in      *input
	program []string // what was recorded, with its arguments
	options []string // of the analysis, those that decide the bytes
	run     string   // its result, "" for none
	whole   []byte   // the bytes of it
	code    int      // what its analysis ended with
}

func newRound(s *settings, seed uint64) *round {
	r := &round{settings: s, seed: seed, dir: filepath.Join(s.work, strconv.FormatUint(seed, 10)), taken: map[string]int{}}
	return r
}

// random returns the random numbers of a part of the round, which do not depend on what other parts do.
func (r *round) random(part string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(part))
	return rand.New(rand.NewPCG(r.seed, h.Sum64()))
}

// path is a place in the folder of the round.
func (r *round) path(parts ...string) string {
	return filepath.Join(append([]string{r.dir}, parts...)...)
}

// fail takes down what is wrong.
func (r *round) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.wrong = append(r.wrong, text)
	fmt.Fprintf(&r.log, "WRONG: %s\n\n", text)
}

// play does the round.
func (r *round) play() error {
	if err := errors.Join(os.MkdirAll(r.path("tmp"), 0o777), os.Mkdir(r.path("run"), 0o700)); err != nil {
		return err
	}
	var err error
	if r.in, err = r.makeInput(); err != nil {
		return err
	}
	r.taken[r.in.kind]++
	r.lookAtInput()
	r.analyze()
	if r.mutants > 0 {
		stepMutants(r, r.random("mutants"))
		return r.verdict()
	}
	choose := r.random("steps")
	all := steps()
	for _, i := range choose.Perm(len(all)) {
		st := all[i]
		if len(r.only) > 0 && !slices.Contains(r.only, st.name) || len(r.only) == 0 && choose.IntN(len(all)) >= 5 {
			continue
		}
		if r.run == "" && !st.always || r.in.large && !st.large {
			continue
		}
		r.taken[st.name]++
		fmt.Fprintf(&r.log, "== %s\n\n", st.name)
		st.take(r, r.random(st.name))
	}
	return r.verdict()
}

// verdict is the error of all that was wrong.
func (r *round) verdict() error {
	if len(r.wrong) > 0 {
		return errors.New(strings.Join(r.wrong, "\n"))
	}
	return nil
}

// keep moves what belongs to a failed round to its folder and says how to repeat it.
func (r *round) keep(err error) string {
	place := filepath.Join(r.out, strconv.FormatUint(r.seed, 10))
	_ = os.RemoveAll(place)
	e := errors.Join(os.MkdirAll(r.out, 0o777), os.WriteFile(r.path("commands.txt"), r.log.Bytes(), 0o666))
	if e == nil {
		e = os.Rename(r.dir, place)
	}
	if e != nil {
		e = exec.Command("cp", "-r", r.dir, place).Run() // another file system
	}
	if e != nil {
		place = e.Error()
	}
	only := ""
	if len(r.only) > 0 {
		only = " -only " + strings.Join(r.only, ",")
	}
	if r.mutants > 0 {
		only += " -mutants " + strconv.Itoa(r.mutants)
	}
	return fmt.Sprintf("FAILED round %d:\n  %s\n  kept: %s\n  repeat: bench/tool soak -rounds 1 -seed %d%s\n",
		r.seed, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\n  "), place, r.seed, only)
}

// A command is one call of the tool.
type command struct {
	args  []string
	ranks int  // under mpirun; 0: without
	plain bool // without the race detector
	env   []string
}

// An outcome is how it ended.
type outcome struct {
	command
	code      int
	out, errs string
	peak      int64 // bytes of memory, of the process or the largest rank; 0: no more than soak itself has
}

func (o outcome) String() string { return strings.Join(o.args, " ") }

// raced says whether a command runs with the race detector.
func (r *round) raced(c command) bool {
	return r.seed%2 == 1 && !c.plain && (r.in == nil || !r.in.large)
}

// prepare makes the process of a command, in a process group of its own.
func (r *round) prepare(c command) *exec.Cmd {
	bin := r.bin
	if r.race != "" && r.raced(c) {
		bin = r.race
	}
	args := append([]string{bin}, c.args...)
	if c.ranks > 0 {
		args = append([]string{"mpirun", "--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(c.ranks)}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = r.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second // survivors hold the pipes
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "GORACE=halt_on_error=1 exitcode=66",
		"GOTRACEBACK=all", "GOMAXPROCS=2", "XDG_RUNTIME_DIR="+r.path("run"))
	if c.ranks == 0 {
		cmd.Env = append(cmd.Env, "TMPDIR="+r.path("tmp"))
	}
	cmd.Env = append(cmd.Env, c.env...)
	return cmd
}

// do runs a command to its end and judges it by what holds for all.
func (r *round) do(c command) outcome {
	if r.pipe != nil {
		return r.piped(c, nil)
	}
	cmd := r.prepare(c)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	o := outcome{command: c, code: -1}
	r.commands++
	debug.FreeOSMemory()                                      // the peak of a process begins with that of the one which started it,
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // which this sets to what it has now:
	own := peak("/proc/self/status")                          // so a lower one is not known, next to a large result
	if err := cmd.Start(); err != nil {
		r.fail("%s: %v", o, err)
		return o
	}
	most := patience(aMoment)
	ctx, cancel := context.WithTimeout(context.Background(), most)
	over := context.AfterFunc(ctx, func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT) // Go prints where it is
		time.Sleep(3 * time.Second)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	_ = cmd.Wait()
	inTime := over()
	cancel()
	o.code, o.out, o.errs = cmd.ProcessState.ExitCode(), out.String(), errs.String()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && int64(u.Maxrss)<<10 > own+own/32 {
		o.peak = int64(u.Maxrss) << 10
	}
	r.note(o)
	if !inTime {
		r.fail("%s: not done after %s", o, most)
		return o
	}
	r.judge(o)
	return o
}

// note writes an outcome into the log.
func (r *round) note(o outcome) {
	if o.ranks > 0 {
		fmt.Fprintf(&r.log, "mpirun -n %d ", o.ranks)
	}
	fmt.Fprintf(&r.log, "coppice %s\n%s", quoted(o.args), strings.Join(o.env, " "))
	fmt.Fprintf(&r.log, "exit code %d, %d bytes of output, peak %d MiB\n%s%s\n", o.code, len(o.out), o.peak>>20, clip(o.out), clip(o.errs))
}

// quoted is a command line for a shell.
func quoted(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\*?[]{}()<>|&;$#`~!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		b.WriteString(a)
	}
	return b.String()
}

// clip keeps the begin and the end of a long text.
func clip(text string) string {
	const most = 20_000
	if len(text) <= most {
		return text
	}
	return text[:most/2] + "\n[...]\n" + text[len(text)-most/2:]
}

// coppice runs the tool alone.
func (r *round) coppice(args ...string) outcome { return r.do(command{args: args}) }

// expect fails unless the code is one of these.
func (r *round) expect(o outcome, codes ...int) bool {
	if slices.Contains(codes, o.code) {
		return true
	}
	r.fail("%s: exit code %d, allowed %v", o, o.code, codes)
	return false
}

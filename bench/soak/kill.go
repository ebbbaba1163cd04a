package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An ending is how a run is made to end early, and what it may then end with.
type ending struct {
	signal   syscall.Signal
	launcher bool
	codes    []int // nil: whatever the launcher says
}

var endings = []ending{
	{syscall.SIGKILL, false, nil},
	{syscall.SIGTERM, false, []int{75}},
	{syscall.SIGUSR1, false, []int{75}},
	{syscall.SIGINT, false, []int{130}},
	{syscall.SIGUSR1, true, []int{75}},
	{syscall.SIGTERM, true, nil},
	{syscall.SIGKILL, true, nil},
}

// stepKill ends the analysis early, once or a few times, and resumes it on other ranks: a complete file or none at any moment, in the
// end the same bytes, and nothing else left.
func stepKill(r *round, x *rand.Rand) {
	out := r.path("killed.xtf")
	slow := []string{"--store", "0", "--checkpoint-every", "1ms", "--progress", "none", "--resume", "--watchdog", "30m"}
	for range 1 + x.IntN(3) {
		r.interrupt(x, out, slow)
		if b, err := os.ReadFile(out); err == nil && !bytes.Equal(b, r.whole) {
			r.fail("a run that was ended early left another file")
			return
		}
	}
	c := command{args: r.analysis(out, append(slow, "-j", strconv.Itoa(1+x.IntN(4)))...)}
	if r.mpi && x.IntN(4) == 0 {
		c.ranks = 1 + x.IntN(3)
	}
	o := r.do(c)
	r.afterAnalysis(o, out)
	codes := []int{r.code}
	if r.code == 4 || r.code == 1 {
		codes = append(codes, 0) // the file is there already: done
	}
	if r.expect(o, codes...) {
		r.sameFile("after "+o.String(), out, r.whole)
	}
	_ = os.Remove(out)
}

// interrupt starts a run and ends it once it has written so many bytes, or a moment later.
func (r *round) interrupt(x *rand.Rand, out string, more []string) {
	e := endings[x.IntN(len(endings))]
	c := command{args: r.analysis(out, append(slices.Clone(more), "-j", strconv.Itoa(1+x.IntN(4)))...)}
	if r.mpi && (e.launcher || x.IntN(3) == 0) {
		c.ranks = 2 + x.IntN(2)
	}
	at := written(out) + x.Int64N(int64(2*len(r.whole))+1)
	victim := x.IntN(max(1, c.ranks))
	var text bytes.Buffer
	cmd := r.prepare(c)
	cmd.Stdout, cmd.Stderr = &text, &text
	r.commands++
	if err := cmd.Start(); err != nil {
		r.fail("%v", err)
		return
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	struck := false
	for end := time.Now().Add(patience(aMoment)); !struck && time.Now().Before(end); {
		select {
		case <-done:
			end = time.Time{}
		default:
			if struck = written(out) >= at; !struck {
				time.Sleep(500 * time.Microsecond)
			}
		}
	}
	if struck {
		pid := cmd.Process.Pid
		if list := children(pid); c.ranks > 0 && !e.launcher && victim < len(list) {
			pid = list[victim]
		}
		_ = syscall.Kill(pid, e.signal)
		r.taken["runs ended early"]++
	}
	select {
	case <-done:
	case <-time.After(patience(aMoment)):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT)
		time.Sleep(3 * time.Second)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
		r.fail("after %v the run hangs", e.signal)
	}
	o := outcome{command: c, code: cmd.ProcessState.ExitCode(), errs: text.String()}
	fmt.Fprintf(&r.log, "ended by %v (launcher %t) after %d bytes:\n", e.signal, e.launcher, at)
	r.note(o)
	for _, crash := range crashes {
		if strings.Contains(o.errs, crash) {
			r.fail("after %v: exit code %d, the output has %q", e.signal, o.code, crash)
		}
	}
	if struck && e.codes != nil && c.ranks == 0 && !slices.Contains(append(e.codes, r.code, -1, 5), o.code) {
		r.fail("after %v: exit code %d", e.signal, o.code)
	}
}

// written is how many bytes a run has in files.
func written(out string) (n int64) {
	for _, pattern := range []string{".work/*", ".out.*"} {
		files, _ := filepath.Glob(out + pattern)
		for _, f := range files {
			if st, err := os.Stat(f); err == nil {
				n += st.Size()
			}
		}
	}
	return n
}

// children lists the processes that one has started.
func children(pid int) (list []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}

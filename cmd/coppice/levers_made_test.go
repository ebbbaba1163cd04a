//go:build cgo && !nompi && !mpich

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/jobs/levers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestChangesMade records programs whose processes meet in collective operations only, and holds what levers says of a function that is
// twice as fast against the times of their recorded calls, worked out step by step: a process comes to a call as much earlier as it has
// less to do, and leaves it as long after the last one that it waits for as it did. In the second program all wait in MPI_Finalize for the
// process that writes. How the changed programs do is measured by bench/tool levers.
func TestChangesMade(t *testing.T) {
	if testing.Short() {
		t.Skip("programs that sleep for seconds")
	}
	if _, err := exec.LookPath("mpicc"); err != nil {
		t.Skip("no mpicc: scripts/setup installs it")
	}
	bin, dir := built(t), t.TempDir()
	program := filepath.Join(dir, "changes")
	if out, err := exec.Command("mpicc", "-O1", "-std=gnu11", "-finstrument-functions", "-rdynamic", "-o", program, "../../record/examples/changes.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, function := range map[string]string{"function": "solve", "output": "print_state"} {
		folder, run := filepath.Join(dir, name), filepath.Join(dir, name+".xtf")
		cmd := exec.Command(bin, "record", "-o", folder, "--", "mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4", program, name)
		cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		must(t, "analyze", filepath.Join(folder, "traces.otf2"), "-o", run)
		r := jsonOf[struct{ Levers levers.Report }](t, "levers", run).Levers
		i := slices.IndexFunc(r.Targets, func(x levers.Target) bool { return x.Kind == "function" && x.Name == function })
		if i < 0 {
			t.Fatalf("%s is not tried", function)
		}
		list := recordedSteps(t, run, function)
		is, half := lastStep(list, 1), lastStep(list, 2)
		if saved := int64(is - half); is != r.Runtime || r.Replayed != r.Runtime || max(saved, *r.Targets[i].Half)-min(saved, *r.Targets[i].Half) > int64(len(list)) || saved <= 0 {
			t.Errorf("%s takes %d, replayed %d, and saves %d; by its calls %d and %d", name, r.Runtime, r.Replayed, *r.Targets[i].Half, is, saved)
		}
	}
}

// recordedStep is a collective operation: by process what function takes before it, when its call begins and ends, and whether it waits for all.
type recordedStep struct {
	work, enter, leave [4]uint64
	waits              [4]bool
}

// recordedSteps reads them; the last one is the end of the processes.
func recordedSteps(t *testing.T, path, function string) (list []recordedStep) {
	t.Helper()
	run, err := results.Open(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	first := xtf.Never
	for p := range trace.P(4) {
		i, work, end := 0, uint64(0), uint64(0)
		step := func(enter, leave uint64, waits bool) {
			if i == len(list) {
				list = append(list, recordedStep{})
			}
			s := &list[i]
			s.work[p], s.enter[p], s.leave[p], s.waits[p] = work, enter, leave, waits
			i, work = i+1, 0
		}
		err := results.Load(run, xtf.Proc(p), func(c *xtf.Call) {
			first, end = min(first, c.T), max(end, c.End)
			r := run.Defs.Region(c.Region)
			switch name := run.Defs.Text(r.Name); {
			case name == function:
				work += c.End - c.T
			case name == "MPI_Finalize" || c.Flags&xtf.FlagOutermostMPI != 0 && run.Defs.Class(r)&trace.ClassColl != 0:
				step(c.T, c.End, p == 0 || name == "MPI_Finalize" || name == "MPI_Barrier" || name == "MPI_Allreduce")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		step(end, end, false)
	}
	for i := range list[:len(list)-1] { // who does not need all, but stayed as long, waits in a tree
		s := &list[i]
		for p := range s.waits {
			last := slices.Max(s.enter[:])
			s.waits[p] = s.waits[p] || last <= s.leave[p] && last-s.enter[p] > s.leave[p]-last
		}
	}
	for i := range list {
		for p := range list[i].enter {
			list[i].enter[p] -= first
			list[i].leave[p] -= first
		}
	}
	return list
}

// lastStep is when the last process ends, where function takes this part of its time.
func lastStep(list []recordedStep, part uint64) uint64 {
	var was, now [4]uint64 // ends of the steps before
	for i := range list {
		s := &list[i]
		var come [4]uint64
		for p := range come {
			come[p] = now[p] + s.enter[p] - was[p] - (s.work[p] - s.work[p]/part)
		}
		for p := range come {
			from, to := s.enter[p], come[p]
			if s.waits[p] {
				from, to = slices.Max(s.enter[:]), slices.Max(come[:])
			}
			now[p] = to + s.leave[p] - from
		}
		was = s.leave
	}
	return slices.Max(now[:])
}

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/levers"
)

// TestWhatIf writes the run with each kind of change that docs/levers.md has: it is sound, ends as much earlier as the change saves, and
// can be compared with the run.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run, changed := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "whatif.xtf")
	must(t, "demo", "-o", dir, "--spec", "stencil:procs=4,events=4000,imbalance=30,jitter=20")
	must(t, "analyze", filepath.Join(dir, "traces.otf2"), "--interval", "region:timestep", "-o", run, "-q")
	for _, change := range []string{
		"--scale region:compute=0.5", "--scale interval:timestep=0.5", "--scale call:MPI_*=0.25", "--balance region:compute", "--balance interval:timestep",
		"--remove call:MPI_Barrier@main", "--no-wait call:MPI_Wait*@timestep", "--earlier-receive call:MPI_Isend", "--scale region:compute=0.5 --remove call:MPI_Allreduce",
	} {
		args := append([]string{"levers", run, "--run", changed, "-f", "-q"}, strings.Fields(change)...)
		r := jsonOf[struct{ Levers levers.Report }](t, args...).Levers
		saved := *r.Targets[0].Gone
		for _, x := range r.Targets {
			if x.Name == "all of these" {
				saved = *x.Gone
			}
		}
		last := jsonOf[struct {
			Summary struct {
				Last int64 `json:"last_event"`
			}
		}](t, "report", changed, "summary").Summary.Last
		if want := int64(r.Runtime) - saved; last != want {
			t.Errorf("%s: the run that was written ends at %d, want %d", change, last, want)
		}
		must(t, "check", changed)
		must(t, "diff", run, changed)
	}
}

// TestCallsOfASite: a change is of the calls below a function, or of those from one place, also where call sites alone tell them.
func TestCallsOfASite(t *testing.T) {
	t.Parallel()
	events := ""
	for p, enter := range [][2]int{{100, 200}, {0, 600}} {
		events += fmt.Sprintf("%d 0 ENTER prog\n", p)
		for site, begin := range enter {
			events += fmt.Sprintf("%[1]d %[2]d ENTER %[3]d\n%[1]d %[2]d MPI_COLLECTIVE_BEGIN\n%[1]d %[4]d MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0\n%[1]d %[4]d LEAVE %[3]d\n", p, begin, site, 110+500*site)
		}
		events += fmt.Sprintf("%d 700 LEAVE prog\n", p)
	}
	run := foundTrace(t, `
-- definitions --
STRING self=0 string="MPI_Barrier"
STRING self=1 string="called from main (a.c:10) > step (a.c:3)"
STRING self=2 string="called from main (a.c:15)"
REGION self=0 name=0 description=1 paradigm=4
REGION self=1 name=0 description=2 paradigm=4
-- program --
processes 2
resolution 1000
-- events --
`+events)
	for caller, want := range map[string]int64{"main": 120, "step": 110, "main (a.c:15)": 10, "m*": 120} {
		r := jsonOf[struct{ Levers levers.Report }](t, "levers", run, "-q", "--remove", "call:MPI_Barrier@"+caller).Levers
		if saved := *r.Targets[0].Gone; saved != want {
			t.Errorf("%s: %d saved, want %d", caller, saved, want)
		}
	}
	for _, caller := range []string{"main (a.c:1)", "a.c"} {
		if code, _, errs := call("levers", run, "-q", "--remove", "call:MPI_Barrier@"+caller); code != jobs.ExitUsage || !strings.Contains(errs, "the run has none") {
			t.Errorf("%s: %d, %s", caller, code, errs)
		}
	}
}

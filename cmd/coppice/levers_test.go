package main

import (
	"path/filepath"
	"strings"
	"testing"

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

package main

import (
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
)

// TestDisk compares what info says an analysis needs on disk with what analyses take that keep no segment in memory: it is
// enough, and not more than six times too much.
func TestDisk(t *testing.T) {
	t.Parallel()
	traces := map[string]string{}
	for _, spec := range []string{
		"stencil:procs=4,events=60k,jitter=20", "ring:procs=4,events=60k", "irregular:procs=3,threads=2,events=40k", "wavefront:procs=4,events=40k",
		"masterworker:procs=4,events=40k", "masterworker:procs=16,events=2k",
	} {
		dir := t.TempDir()
		must(t, "demo", "-o", dir, "--spec", spec)
		traces[spec] = filepath.Join(dir, "traces.otf2")
	}
	for name, in := range traces {
		said := jsonOf[struct {
			Info struct {
				Disk uint64 `json:"disk"`
			} `json:"info"`
		}](t, "info", in).Info.Disk
		var used uint64
		err := mpi.RunInProcess(2, func(c mpi.Comm) error {
			r, err := analyze.Run(c, analyze.Options{Trace: in, Output: filepath.Join(filepath.Dir(in), "run.xtf"), Version: version})
			if err != nil {
				return err
			}
			spilled := []int64{r.Store.Spilled}
			err = c.AllreduceInt64(spilled, mpi.Sum)
			if c.Rank() == 0 {
				used = uint64(spilled[0]) + uint64(r.File.FileBytes)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: said %d, used %d", name, said, used)
		if said < used || said > 6*used {
			t.Errorf("%s: %d bytes are said, %d are used", name, said, used)
		}
	}
}

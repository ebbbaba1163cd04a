package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"

	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// stage is what one rank did in one stage of the job.
type stage struct {
	name  string
	notes []mpi.Note
	live  int64 // bytes of heap that were alive at its end, if that was asked for
}

// progressComm is the communicator of progress messages, the first that Analyze makes. What goes through it depends on the
// time that has passed, so it is left out.
const progressComm = 1

// recorder notes what one rank does. It belongs to the rank, whose calls come from one goroutine.
type recorder struct {
	stages []stage
	heap   func() int64 // where not nil, heap is measured and calls are not noted
	watch  *stopwatch   // nil: none
}

func (r *recorder) note(x mpi.Note) {
	if x.Comm == progressComm || len(r.stages) == 0 || r.heap != nil { // progress has a goroutine of its own
		return
	}
	s := &r.stages[len(r.stages)-1]
	s.notes = append(s.notes, x)
}

// at is the begin of a stage.
func (r *recorder) at(name string) {
	if r.watch != nil {
		r.watch.stage(name)
	}
	if n := len(r.stages); n > 0 && r.heap != nil {
		r.stages[n-1].live = r.heap()
	}
	if name != "" {
		r.stages = append(r.stages, stage{name: name})
	}
}

// Memory of a rank and of its segments, bytes.
const (
	rankMemory = 256 << 20
	storeBytes = 64 << 20
)

// rank runs the job on one rank.
func (r *recorder) rank(c mpi.Comm, src trace.Source, dir string, s *settings) error {
	pages := xtf.Packed
	if s.raw {
		pages = xtf.Raw16K
	}
	_, err := analyze.Run(mpi.Observe(c, r.note), analyze.Options{
		Source: src, Output: filepath.Join(dir, "run.xtf"), Profile: pages, GraphOnly: s.graph, AtStage: r.at, Version: "scale",
		MemBytes: rankMemory, StoreBytes: storeBytes, Force: true,
	})
	return err
}

// measure runs the job on n ranks.
func (s *settings) measure(n int) (figures, error) {
	if s.mpi {
		return s.mpirun(n)
	}
	all, err := s.inProcess(n)
	if err != nil {
		return nil, err
	}
	f := make(figures, n)
	for r := range all {
		f[r] = all[r].figures(r, n)
	}
	return f, nil
}

// inProcess runs the job on n goroutine ranks.
func (s *settings) inProcess(n int) ([]*recorder, error) {
	src, err := s.source(n)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.dir, "scale")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	all := make([]*recorder, n)
	base := liveHeap()
	return all, mpi.RunInProcess(n, func(c mpi.Comm) error {
		r := &recorder{}
		all[c.Rank()] = r
		if c.Rank() == 0 {
			r.watch = s.watch
		}
		if s.heap {
			r.heap = func() int64 { return shared(c, base) }
		}
		return r.rank(c, src, dir, s)
	})
}

// shared is a goroutine rank's part of the heap: all ranks stand still meanwhile. It is 0 where the job has failed.
func shared(c mpi.Comm, base int64) int64 {
	v := []int64{0}
	if c.Barrier() != nil {
		return 0
	}
	if c.Rank() == 0 {
		v[0] = (liveHeap() - base) / int64(c.Size())
	}
	if c.AllreduceInt64(v, mpi.Max) != nil {
		return 0
	}
	return v[0]
}

// liveHeap returns the bytes that are alive, after a collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // takes what the first one left in pools
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// mpirun runs the job on n processes: this program again, which then comes to onRanks.
func (s *settings) mpirun(n int) (figures, error) {
	dir, err := os.MkdirTemp(s.dir, "scale")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	kind := "weak"
	if s.strong {
		kind = "strong"
	}
	run := exec.Command("mpirun", "--oversubscribe", "--bind-to", "none", "-n", fmt.Sprint(n), self, kind, "-dir", dir,
		"-program", s.program, fmt.Sprint("-each=", s.each), fmt.Sprint("-graph=", s.graph), fmt.Sprint("-heap=", s.heap), fmt.Sprint("-raw=", s.raw))
	run.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "GOMAXPROCS=2")
	run.Stderr = os.Stderr
	b, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("mpirun with %d ranks: %w", n, err)
	}
	var f figures
	return f, json.Unmarshal(b, &f)
}

// onRanks runs the job on the ranks of c; rank 0 gets the figures of all.
func (s *settings) onRanks(c mpi.Comm) (figures, error) {
	src, err := s.source(c.Size())
	if err != nil {
		return nil, err
	}
	r := &recorder{}
	if s.heap {
		base := liveHeap()
		r.heap = func() int64 { return liveHeap() - base }
	}
	if err := r.rank(c, src, s.dir, s); err != nil {
		return nil, err
	}
	b, err := json.Marshal(r.figures(c.Rank(), c.Size()))
	if err != nil {
		return nil, err
	}
	parts, err := c.Gather(b, 0)
	f := make(figures, len(parts))
	for i, b := range parts {
		if err == nil {
			err = json.Unmarshal(b, &f[i])
		}
	}
	return f, err
}

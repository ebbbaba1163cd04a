package analyze_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// counted is a Source that calls at once when so many batches were read, by all ranks.
type counted struct {
	trace.Source
	left atomic.Int64
	at   func()
}

func (s *counted) Stream(p trace.P) (trace.Stream, error) {
	x, err := s.Source.Stream(p)
	return &countedStream{x, s}, err
}

type countedStream struct {
	trace.Stream
	s *counted
}

func (x *countedStream) Chunk(i int) (trace.ChunkReader, error) {
	r, err := x.Stream.Chunk(i)
	return &countedChunk{r, x.s}, err
}

type countedChunk struct {
	trace.ChunkReader
	s *counted
}

func (r *countedChunk) Next(b *trace.Batch) error {
	if r.s.left.Add(-1) == 0 {
		r.s.at()
	}
	return r.ChunkReader.Next(b)
}

// batches is the number of batches of a trace.
func batches(t *testing.T, o analyze.Options) int64 {
	t.Helper()
	s := &counted{Source: o.Source, at: func() {}}
	o.Source, o.Output = s, ""
	analyzed(t, 1, o)
	return -s.left.Load()
}

// moment is when something happens to a run: at a batch of the input, or at the begin of a stage.
type moment struct {
	batch int64
	stage string
}

var laterStages = []string{"number", "match", "graph", "finish", "causes", "threads", "reduce", "commit"}

func randomMoment(r *rand.Rand, batches int64) moment {
	if r.IntN(3) > 0 {
		return moment{batch: 1 + r.Int64N(batches)}
	}
	return moment{stage: laterStages[r.IntN(len(laterStages))]}
}

func (m moment) String() string {
	if m.stage != "" {
		return m.stage
	}
	return fmt.Sprintf("batch %d", m.batch)
}

// hooked lets at be called once, at the moment.
func (m moment) hooked(o analyze.Options, at func()) analyze.Options {
	s := &counted{Source: o.Source, at: at}
	s.left.Store(m.batch)
	o.Source = s
	var once sync.Once
	if m.stage != "" {
		o.AtStage = func(stage string) {
			if stage == m.stage {
				once.Do(at)
			}
		}
	}
	return o
}

// jobsToResume are analyses of all kinds.
func jobsToResume(t *testing.T) map[string]analyze.Options {
	list := map[string]analyze.Options{
		"stencil":   {Source: jobtest.Generated(t, "stencil:procs=7,events=12k")},
		"irregular": {Source: jobtest.Generated(t, "irregular:procs=5,threads=2,events=8k,seed=3"), Classes: &predict.ClassFlags{Threshold: "5%"}},
		"graph":     {Source: jobtest.Generated(t, "irregular:procs=6,events=9k,seed=4"), GraphOnly: true, Deviation: "10%,1us"},
		"clocks":    {Source: jobtest.Generated(t, "stencil:procs=5,events=6k"), ClockRepair: true},
	}
	for name, o := range list {
		o.Version = "test"
		list[name] = o
	}
	return list
}

// TestStopAndResume stops analyses at random moments, again and again, and goes on with other numbers of ranks, until one
// ends: it makes the bytes of an undisturbed run, and leaves nothing else.
func TestStopAndResume(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 1
	}
	for name, o := range jobsToResume(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, n := analyzed(t, 2, o), batches(t, o)
			r := rand.New(rand.NewPCG(7, uint64(len(name))))
			kept, stages := 0, 0
			for range rounds {
				o := o
				o.Output, o.Resume, o.StoreBytes = filepath.Join(t.TempDir(), "run.xtf"), true, r.Int64N(1<<20)
				res := stopUntilDone(t, r, o, n)
				kept += res.Kept
				stages += len(res.Stage)
				if b, err := os.ReadFile(o.Output); err != nil || !bytes.Equal(b, want) {
					t.Fatalf("another file after stops: %v", err)
				}
				if left, _ := filepath.Glob(o.Output + "?*"); len(left) > 0 {
					t.Fatalf("left behind: %v", left)
				}
			}
			if !testing.Short() && (kept == 0 || stages == 0) {
				t.Errorf("%d locations were ever kept, ends of stages: %v", kept, stages > 0)
			}
		})
	}
}

// TestStopAndResumePrograms does that with programs that have everything that MPI has.
func TestStopAndResumePrograms(t *testing.T) {
	t.Parallel()
	seeds := uint64(50)
	if testing.Short() {
		seeds = 10
	}
	kept := 0
	for seed := range seeds {
		src, err := tracetest.RandomScript(seed).Source()
		if err != nil {
			t.Fatal(err)
		}
		o := analyze.Options{Source: src, Version: "test"}
		want, n := analyzed(t, 2, o), batches(t, o)
		o.Output, o.Resume = filepath.Join(t.TempDir(), "run.xtf"), true
		kept += stopUntilDone(t, rand.New(rand.NewPCG(3, seed)), o, n).Kept
		if b, err := os.ReadFile(o.Output); err != nil || !bytes.Equal(b, want) {
			t.Fatalf("program %d: another file after stops: %v", seed, err)
		}
	}
	if kept == 0 {
		t.Error("no location was ever kept")
	}
}

// stopUntilDone stops a few runs and lets the next one end. It returns what the last one kept.
func stopUntilDone(t *testing.T, r *rand.Rand, o analyze.Options, batches int64) analyze.Resumed {
	t.Helper()
	for range 1 + r.IntN(4) {
		m, ranks := randomMoment(r, batches), 1+r.IntN(4)
		stop := &jobs.Stop{Grace: time.Duration(r.IntN(2))}
		run := m.hooked(o, func() { stop.Ask("the test") })
		run.Stop, run.Every = stop, time.Duration(r.IntN(2))
		res, err := jobtest.Analyze(ranks, run)
		if err == nil { // the moment came too late, or, with kept locations, never
			return res.Resumed
		}
		if !errors.Is(err, jobs.ErrStopped) || jobs.ExitCode(err) != jobs.ExitSaved {
			t.Fatalf("stop at %v: %v", m, err)
		}
		if _, err := os.Stat(xtfwriter.LockPath(o.Output)); err == nil {
			t.Fatal("a stopped run holds its lock")
		}
		if _, err := os.Stat(o.Output); err == nil {
			t.Fatal("a stopped run has a result")
		}
	}
	res, err := jobtest.Analyze(1+r.IntN(5), o)
	if err != nil {
		t.Fatal(err)
	}
	return res.Resumed
}

// TestCutRuns takes pictures of the files of a run at random moments, as a crash of all ranks leaves them, damages some,
// and goes on with them.
func TestCutRuns(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	for name, o := range jobsToResume(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, n := analyzed(t, 2, o), batches(t, o)
			r := rand.New(rand.NewPCG(9, uint64(len(name))))
			kept, torn := 0, 0
			for range rounds {
				m, dir, cut := randomMoment(r, n), t.TempDir(), t.TempDir()
				run := m.hooked(o, func() { copyFiles(t, dir, cut) })
				run.Output, run.Every, run.StoreBytes = filepath.Join(dir, "run.xtf"), 1, r.Int64N(1<<20)
				if _, err := jobtest.Analyze(1+r.IntN(4), run); err != nil {
					t.Fatal(err)
				}
				if r.IntN(2) == 0 {
					damage(t, r, filepath.Join(cut, "run.xtf.work"))
				}
				o := o
				o.Output, o.Resume = filepath.Join(cut, "run.xtf"), true
				res, err := jobtest.Analyze(1+r.IntN(4), o)
				if err != nil {
					t.Fatalf("after %v: %v", m, err)
				}
				if b, err := os.ReadFile(o.Output); err != nil || !bytes.Equal(b, want) {
					t.Fatalf("after %v: another file: %v", m, err)
				}
				if left, _ := filepath.Glob(o.Output + "?*"); len(left) > 0 {
					t.Fatalf("left behind: %v", left)
				}
				kept += res.Resumed.Kept
				torn += res.Resumed.Torn
			}
			if !testing.Short() && (kept == 0 || torn == 0) {
				t.Errorf("%d locations kept, %d pieces torn", kept, torn)
			}
			t.Logf("%d locations kept, %d pieces torn", kept, torn)
		})
	}
}

// TestChangedInput goes on with an archive of which one location changed since an earlier run had loaded it, and with one
// whose definitions did.
func TestChangedInput(t *testing.T) {
	o := analyze.Options{Trace: jobtest.MakeArchive(t, "ring:procs=4,events=4k"), Output: filepath.Join(t.TempDir(), "run.xtf"), Version: "test", Every: 1, StoreBytes: 1 << 20}
	stop := &jobs.Stop{}
	run := o
	run.Stop = stop
	run.AtStage = func(stage string) {
		if stage == "number" {
			stop.Ask("the test")
		}
	}
	if _, err := jobtest.Analyze(2, run); !errors.Is(err, jobs.ErrStopped) {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(o.Trace), "*", "2.evt"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		name   string
		change func(o *analyze.Options)
		says   string
	}{
		{"location", func(*analyze.Options) { jobtest.Write(t, files[0], b[:len(b)-100]) }, "the input changed since an earlier run read it"},
		{"definitions", func(o *analyze.Options) { o.Trace = jobtest.MakeArchive(t, "ring:procs=4,events=5k") }, "the input is another"},
		{"options", func(o *analyze.Options) { o.GraphOnly, o.Version = true, "2" }, `tool is "coppice 2", was "coppice test", option events is "none", was "all"`},
	} {
		jobtest.Write(t, files[0], b)
		x := o
		x.Resume = true
		k.change(&x)
		if _, err := jobtest.Analyze(3, x); jobs.ExitCode(err) != jobs.ExitUsage || !strings.Contains(fmt.Sprint(err), k.says) {
			t.Errorf("%s: %v", k.name, err)
		}
	}
	jobtest.Write(t, files[0], b)
	o.Resume = true
	if res, err := jobtest.Analyze(3, o); err != nil || res.Resumed.Kept != 4 {
		t.Errorf("the input as it was: %v, %+v", err, res.Resumed)
	}
}

// TestStopInCauses stops a run that is among its slabs of time: it does not go on to the end of the stage.
func TestStopInCauses(t *testing.T) {
	for ranks := 1; ranks <= 3; ranks++ {
		o := analyze.Options{Source: jobtest.Generated(t, "ring:procs=4,events=4k"), Output: filepath.Join(t.TempDir(), "run.xtf"), Version: "test", Resume: true}
		want := analyzed(t, 2, analyze.Options{Source: o.Source, Version: o.Version})
		stop := &jobs.Stop{Grace: 1}
		run := moment{stage: "causes"}.hooked(o, func() { stop.Ask("the test") })
		run.Stop, run.Every = stop, 1
		if _, err := jobtest.Analyze(ranks, run); jobs.ExitCode(err) != jobs.ExitSaved || !strings.Contains(fmt.Sprint(err), "all stages up to finish are finished and kept") {
			t.Errorf("%d ranks: exit status %d: %v", ranks, jobs.ExitCode(err), err)
		}
		if _, err := jobtest.Analyze(3, o); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(o.Output); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%d ranks: another file: %v", ranks, err)
		}
	}
}

// TestStopWhileResuming stops a run while it verifies the mark of another.
func TestStopWhileResuming(t *testing.T) {
	o := analyze.Options{Source: jobtest.Generated(t, "ring:procs=4,events=4k"), Output: filepath.Join(t.TempDir(), "run.xtf"), Version: "test", Resume: true}
	want := analyzed(t, 2, analyze.Options{Source: o.Source, Version: o.Version})
	stop := &jobs.Stop{}
	run := moment{stage: "finish"}.hooked(o, func() { stop.Ask("the test") })
	run.Stop, run.Every = stop, 1
	if _, err := jobtest.Analyze(2, run); !errors.Is(err, jobs.ErrStopped) {
		t.Fatal(err)
	}
	run = o
	run.Stop = &jobs.Stop{}
	run.Stop.Ask("the test")
	if _, err := jobtest.Analyze(3, run); jobs.ExitCode(err) != jobs.ExitSaved || !strings.Contains(fmt.Sprint(err), "all stages up to finish are finished and kept") {
		t.Errorf("exit status %d: %v", jobs.ExitCode(err), err)
	}
	if res, err := jobtest.Analyze(3, o); err != nil || res.Resumed.Stage != "finish" {
		t.Errorf("%+v, %v", res.Resumed, err)
	}
	if b, err := os.ReadFile(o.Output); err != nil || !bytes.Equal(b, want) {
		t.Errorf("another file: %v", err)
	}
}

// TestMarkOfAnotherBuild goes on with the mark of a stage that this build does not have: only the loads count.
func TestMarkOfAnotherBuild(t *testing.T) {
	o := analyze.Options{Source: jobtest.Generated(t, "ring:procs=4,events=4k"), Output: filepath.Join(t.TempDir(), "run.xtf"), Version: "test", Resume: true}
	stop := &jobs.Stop{}
	run := moment{stage: "finish"}.hooked(o, func() { stop.Ask("the test") })
	run.Stop, run.Every = stop, 1
	if _, err := jobtest.Analyze(2, run); !errors.Is(err, jobs.ErrStopped) {
		t.Fatal(err)
	}
	marks, err := filepath.Glob(o.Output + ".work/mark.*")
	if err != nil || len(marks) != 2 {
		t.Fatal(marks, err)
	}
	for _, path := range marks {
		l, err := xtfwriter.ReadList(path)
		if err != nil {
			t.Fatal(err)
		}
		l.Stage = 99
		jobtest.Write(t, path, l.Encode())
	}
	if res, err := jobtest.Analyze(3, o); err != nil || res.Resumed.Stage != "" || res.Resumed.Kept != 4 {
		t.Errorf("%+v, %v", res.Resumed, err)
	}
}

// TestTimeLimit lets the time of a batch job run out. A run that finished nothing says so instead of asking to be started
// again for ever.
func TestTimeLimit(t *testing.T) {
	o := analyze.Options{Source: jobtest.Generated(t, "ring:procs=4,events=4k"), Output: filepath.Join(t.TempDir(), "run.xtf"), Version: "test", Resume: true}
	run := o
	run.End = time.Now()
	if _, err := jobtest.Analyze(2, run); jobs.ExitCode(err) != jobs.ExitResource || !strings.Contains(err.Error(), "this run finished no location and no stage") {
		t.Errorf("no time: %v", err)
	}
	wait := func() {
		for !run.End.Before(time.Now().Add(analyze.EndMargin)) {
			time.Sleep(time.Millisecond)
		}
	}
	for window := time.Second; ; window *= 4 { // a busy machine may take longer for three locations
		run = moment{batch: batches(t, o) - 1}.hooked(o, wait)
		run.End = time.Now().Add(analyze.EndMargin + window)
		_, err := jobtest.Analyze(1, run)
		if jobs.ExitCode(err) == jobs.ExitSaved && strings.Contains(err.Error(), "the time limit is near (SLURM_JOB_END_TIME); 3 of 4 locations") {
			break
		}
		if window > time.Minute {
			t.Fatalf("little time: %v", err)
		}
		o.Output = filepath.Join(t.TempDir(), "run.xtf")
	}
	if res, err := jobtest.Analyze(3, o); err != nil || res.Resumed.Kept != 3 {
		t.Errorf("enough time: %v, %+v", err, res.Resumed)
	}
}

// copyFiles copies a folder, whose files may come and go: lists before the segments that they name, which only grow.
func copyFiles(t *testing.T, from, to string) {
	for _, segments := range []bool{false, true} {
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "seg.") != segments {
				return nil
			}
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			target := filepath.Join(to, strings.TrimPrefix(path, from))
			return errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o777), os.WriteFile(target, b, 0o666))
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// damage cuts or changes one of the files of a work folder.
func damage(t *testing.T, r *rand.Rand, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.*"))
	if len(files) == 0 {
		return
	}
	path := files[r.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return
	}
	at := r.IntN(len(b))
	switch r.IntN(3) {
	case 0:
		b = b[:at]
	case 1:
		b[at] ^= 1 << r.IntN(8)
	case 2:
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

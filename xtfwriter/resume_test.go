package xtfwriter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// faulty is a disk on which one operation of segment files and lists fails.
type faulty struct {
	systemDisk
	left atomic.Int64 // operations before it
	err  error
	hit  atomic.Bool
}

func (d *faulty) fails() error {
	if d.left.Add(-1) != -1 {
		return nil
	}
	d.hit.Store(true)
	return d.err
}

func (d *faulty) create(path string) (diskFile, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	f, err := d.systemDisk.create(path)
	return &faultyFile{f, d}, err
}

func (d *faulty) replace(path string, b []byte) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.systemDisk.replace(path, b)
}

type faultyFile struct {
	diskFile
	d *faulty
}

// WriteAt writes half of b when it fails, as a full disk does.
func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.d.fails(); err != nil {
		n, _ := f.diskFile.WriteAt(b[:len(b)/2], off)
		return n, err
	}
	return f.diskFile.WriteAt(b, off)
}

func (f *faultyFile) Sync() error {
	if err := f.d.fails(); err != nil {
		return err
	}
	return f.diskFile.Sync()
}

// keepingJob is a job that lists every unit at once, and takes over what it finds. It returns how many units it kept, on
// all ranks.
func (s *synth) keepingJob(c mpi.Comm, cfg Config) (kept int, err error) {
	w, err := Begin(c, cfg)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}()
	lo, hi := c.Rank()*s.procs/c.Size(), (c.Rank()+1)*s.procs/c.Size()
	n, err := s.keepAll(w, lo, hi)
	if err = w.comm.Agree(err); err != nil {
		return 0, err
	}
	sum := []int64{int64(n)}
	if err := c.AllreduceInt64(sum, mpi.Sum); err != nil {
		return 0, err
	}
	enc := xtf.NewEncoder()
	_, err = w.Commit(&Parts{
		Types: s.types, FileID: s.id, First: xtf.Proc(lo), Regions: hi - lo,
		Region:   func(i int) (Region, error) { return s.region(w.Store, xtf.Proc(lo+i)) },
		WholeRun: func() (Region, error) { return s.wholeRun(enc) },
		Sections: func() ([]xtf.Blob, error) { return s.sections(), nil },
	})
	return int(sum[0]), err
}

func (s *synth) keepAll(w *Workspace, lo, hi int) (kept int, err error) {
	enc := xtf.NewEncoder()
	own := func(u Unit) bool { return int(u.P) >= lo && int(u.P) < hi }
	if w.Kept() != nil {
		if _, err := w.Adopt(own, func(int64) error { return nil }); err != nil {
			return 0, err
		}
	}
	for p := lo; p < hi; p++ {
		u := Unit{P: xtf.Proc(p), Stage: 1}
		if w.Store.Finished(u) {
			kept++
			continue
		}
		if err := s.load(w.Store, enc, u.P); err != nil {
			return kept, err
		}
		w.Store.Finish(u)
		if _, err := w.Checkpoint(); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// TestFailingCheckpoint fails each write, sync and replacement of a job's checkpoints in turn, in all ways that have a
// name. The job says so, and the next one takes over what was listed before and makes the same file.
func TestFailingCheckpoint(t *testing.T) {
	_, whole := record(t, false, false)
	kinds := []struct{ err, is error }{{syscall.ENOSPC, ErrNoSpace}, {syscall.EDQUOT, ErrNoSpace}, {syscall.EIO, ErrStorage}, {syscall.ESTALE, ErrStorage}}
	most := 0
	for n := 0; ; n++ {
		s := newCrashRun()
		out := filepath.Join(t.TempDir(), "run.xtf")
		kind := kinds[n%len(kinds)]
		d := &faulty{err: kind.err}
		d.left.Store(int64(n))
		cfg := config(out, int64(n%2)<<20)
		cfg.Resume, cfg.disk = true, d
		errs := make([]error, 2)
		_ = mpi.RunInProcess(2, func(c mpi.Comm) error {
			_, errs[c.Rank()] = s.keepingJob(c, cfg)
			return nil
		})
		if !d.hit.Load() {
			if n < 20 {
				t.Fatalf("%d operations in all", n)
			}
			break
		}
		for rank, err := range errs {
			if !errors.Is(err, kind.is) {
				t.Fatalf("operation %d, rank %d: %v, want %v", n, rank, err, kind.is)
			}
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("operation %d failed, a file appears", n)
		}
		cfg.disk = nil
		most = max(most, resumed(t, s, cfg, 1+n%3, whole))
	}
	if most < crashProcs-1 {
		t.Errorf("at most %d units were kept", most)
	}
}

// crashProcs is the number of locations of newCrashRun.
const crashProcs = 5

// resumed runs a job to its end and returns how many units it kept.
func resumed(t *testing.T, s *synth, cfg Config, ranks int, whole []byte) (kept int) {
	t.Helper()
	err := mpi.RunInProcess(ranks, func(c mpi.Comm) error {
		n, err := s.keepingJob(c, cfg)
		if c.Rank() == 0 {
			kept = n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(mustRead(t, cfg.Output), whole) {
		t.Fatal("another file")
	}
	if left, _ := filepath.Glob(cfg.Output + "?*"); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
	return kept
}

// interrupted leaves a work folder of a job that failed when all its units were listed.
func interrupted(t *testing.T, cfg Config) *synth {
	t.Helper()
	s := newCrashRun()
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		w, err := Begin(c, cfg)
		if err != nil {
			return err
		}
		if _, err := s.keepAll(w, c.Rank()*s.procs/2, (c.Rank()+1)*s.procs/2); err != nil {
			return err
		}
		return w.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTakeOver tries all that a run can find: who may begin, and what it does with the units.
func TestTakeOver(t *testing.T) {
	_, whole := record(t, false, false)
	remove := func(pattern string) func(t *testing.T, cfg *Config) {
		return func(t *testing.T, cfg *Config) {
			files, err := filepath.Glob(cfg.Output + pattern)
			if err != nil || len(files) == 0 {
				t.Fatal(pattern, err)
			}
			for _, f := range files {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	tests := []struct {
		name   string
		change func(t *testing.T, cfg *Config)
		resume bool
		force  bool
		want   error
		kept   int
	}{
		{"resume", nil, true, false, nil, 5},
		{"no resume", nil, false, false, ErrUnits, 0},
		{"force", nil, false, true, nil, 0},
		{"both", nil, true, true, nil, 5},
		{"other job", func(_ *testing.T, c *Config) { c.Identity = "other" }, true, false, ErrOtherJob, 0},
		{"other job, forced", func(_ *testing.T, c *Config) { c.Identity = "other" }, true, true, nil, 0},
		{"no job file", remove(".work/job"), true, false, ErrOtherJob, 0},
		{"one list", remove(".work/list.1.0"), true, false, nil, 3},
		{"one segment file", remove(".work/seg.1.1"), true, false, nil, 2},
		{"no segment file", remove(".work/seg*"), true, false, nil, 0},
		{"lock of another host", func(t *testing.T, c *Config) {
			if err := os.WriteFile(LockPath(c.Output), []byte(`{"host":"elsewhere","pid":1,"epoch":7}`), 0o666); err != nil {
				t.Fatal(err)
			}
		}, true, false, nil, 5},
		{"lock of another host, no resume", func(t *testing.T, c *Config) {
			if err := os.WriteFile(LockPath(c.Output), []byte(`{"host":"elsewhere","pid":1,"epoch":7}`), 0o666); err != nil {
				t.Fatal(err)
			}
		}, false, false, ErrLocked, 0},
	}
	for _, k := range tests {
		t.Run(k.name, func(t *testing.T) {
			cfg := config(filepath.Join(t.TempDir(), "run.xtf"), 1<<20)
			s := interrupted(t, cfg)
			if k.change != nil {
				k.change(t, &cfg)
			}
			cfg.Resume, cfg.Force = k.resume, k.force
			if k.want == nil {
				if kept := resumed(t, s, cfg, 3, whole); kept != k.kept {
					t.Errorf("%d units kept, want %d", kept, k.kept)
				}
				return
			}
			before, _ := filepath.Glob(cfg.Output + "*/*")
			err := mpi.RunInProcess(3, func(c mpi.Comm) error {
				_, err := s.keepingJob(c, cfg)
				return err
			})
			if !errors.Is(err, k.want) {
				t.Errorf("%v, want %v", err, k.want)
			}
			if after, _ := filepath.Glob(cfg.Output + "*/*"); fmt.Sprint(before) != fmt.Sprint(after) {
				t.Errorf("a refused run leaves %v of %v", after, before)
			}
		})
	}
}

// TestSharedFolder gives two jobs one work folder: the second one is refused from the first moment on, and where it says
// that it will have the folder, nothing of the first gets into its lists.
func TestSharedFolder(t *testing.T) {
	dir := t.TempDir()
	a := config(filepath.Join(dir, "a.xtf"), 0)
	a.WorkDir = filepath.Join(dir, "work")
	b := a
	b.Output, b.Identity = filepath.Join(dir, "b.xtf"), "other"
	put := func(w *Workspace, p xtf.Proc) (int, error) {
		k := Key{Unit{P: p, Stage: 1}, KindCaller}
		if err := w.Store.Put(k, []byte("some bytes")); err != nil {
			return 0, err
		}
		w.Store.Finish(k.Unit)
		return w.Checkpoint()
	}
	err := mpi.RunInProcess(1, func(c mpi.Comm) error {
		first, err := Begin(c, a)
		if err != nil {
			return err
		}
		defer first.Close()
		for _, b.Resume = range []bool{false, true} {
			if _, err := Begin(c, b); !errors.Is(err, ErrOtherJob) {
				t.Errorf("resume %v: %v", b.Resume, err)
			}
		}
		if _, err := put(first, 0); err != nil {
			return err
		}
		b.Force = true
		second, err := Begin(c, b)
		if err != nil {
			return err
		}
		defer second.Close()
		if _, err := put(second, 1); err != nil {
			return err
		}
		if _, err := put(first, 2); !errors.Is(err, ErrOtherJob) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the first job goes on: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDoneAlready resumes what is complete, with the litter of a crash right after the rename.
func TestDoneAlready(t *testing.T) {
	cfg := config(filepath.Join(t.TempDir(), "run.xtf"), 1<<20)
	s := interrupted(t, cfg)
	_, whole := record(t, false, false)
	if err := os.WriteFile(cfg.Output, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	cfg.Resume, cfg.Identity = true, fmt.Sprintf("%x", s.id)
	if err := os.Link(cfg.Output, cfg.Output+".out.3"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.Output+".work", jobFile), []byte(cfg.Identity+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := Begin(c, cfg)
		return err
	})
	if !errors.Is(err, ErrDone) {
		t.Errorf("%v, want %v", err, ErrDone)
	}
	if left, _ := filepath.Glob(cfg.Output + "?*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	stray := filepath.Join(cfg.Output+".work", "seg.2.0") // of a run whose folder the one before it removed at its end
	for _, named := range []bool{false, true} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(stray), 0o777), os.WriteFile(stray, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
		if named {
			cfg.WorkDir = filepath.Dir(stray)
		}
		err = mpi.RunInProcess(2, func(c mpi.Comm) error {
			_, err := Begin(c, cfg)
			return err
		})
		if _, gone := os.Stat(stray); !errors.Is(err, ErrDone) || (gone == nil) != named {
			t.Errorf("a folder without a job file, named %t: %v, %v", named, err, gone)
		}
	}
	cfg.Identity, cfg.WorkDir = "other", ""
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := Begin(c, cfg)
		return err
	})
	if !errors.Is(err, ErrExists) {
		t.Errorf("an output of others: %v, want %v", err, ErrExists)
	}
}

// TestKilledBehindRename has what a run leaves that is killed when its output has its name: the next run removes it, whatever it
// says about the output. What belongs to another job, or to a run that is alive, stays.
func TestKilledBehindRename(t *testing.T) {
	for _, x := range []struct {
		name, job, lock string
		left            int
		told            string
	}{
		{"its own", "", "{}", 0, "left by the run that made this output"},
		{"its own, lock of a dead process", "", `{"host":"here","pid":1073741824,"epoch":3}`, 0, "left by the run that made this output"},
		{"of a run that is alive", "", fmt.Sprintf(`{"host":"here","pid":%d,"epoch":3}`, os.Getpid()), 4, "a run works on this output"},
		{"of another job", "other", "{}", 4, "left by another run"},
	} {
		cfg := config(filepath.Join(t.TempDir(), "run.xtf"), 1<<20)
		s := interrupted(t, cfg)
		_, whole := record(t, false, false)
		if err := os.WriteFile(cfg.Output, whole, 0o666); err != nil {
			t.Fatal(err)
		}
		if x.job == "" {
			x.job = fmt.Sprintf("%x", s.id)
		}
		if err := errors.Join(os.WriteFile(filepath.Join(cfg.Output+".work", jobFile), []byte(x.job+"\n"), 0o666), os.WriteFile(LockPath(cfg.Output), []byte(x.lock), 0o666)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Link(cfg.Output, cfg.Output+".out.3"), os.WriteFile(cfg.Output+".out.2", whole[:100], 0o666)); err != nil {
			t.Fatal(err)
		}
		if got := Rest(cfg.Output, "here"); !strings.Contains(got, LockPath(cfg.Output)+" and "+cfg.Output+".work: "+x.told) {
			t.Errorf("%s: %q", x.name, got)
		}
		err := mpi.RunInProcess(2, func(c mpi.Comm) error {
			_, err := Begin(c, cfg)
			return err
		})
		if !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v, want %v", x.name, err, ErrExists)
		}
		if got := Rest(cfg.Output, "here"); x.left == 0 && got != "" {
			t.Errorf("%s: still %q", x.name, got)
		}
		if left, _ := filepath.Glob(cfg.Output + "?*"); len(left) != x.left {
			t.Errorf("%s: left behind: %v", x.name, left)
		}
	}
}

// TestFolderRemoved removes the work folder under a run: the error says so, whatever needed the folder.
func TestFolderRemoved(t *testing.T) {
	for _, needs := range []string{"segments", "list", "mark"} {
		cfg := config(filepath.Join(t.TempDir(), "run.xtf"), 0)
		if needs != "segments" {
			cfg.Budget = 1 << 20
		}
		err := mpi.RunInProcess(1, func(c mpi.Comm) error {
			w, err := Begin(c, cfg)
			if err != nil {
				return err
			}
			if err := os.RemoveAll(cfg.Output + ".work"); err != nil {
				return err
			}
			switch needs {
			case "segments":
				err = w.Store.Put(Key{}, []byte("x"))
			case "list":
				w.Store.Finish(Unit{P: 1})
				_, err = w.Checkpoint()
			case "mark":
				err = w.Mark(1)
			}
			return errors.Join(err, w.Close())
		})
		if !errors.Is(err, ErrFolderGone) {
			t.Errorf("%s: %v, want %v", needs, err, ErrFolderGone)
		}
	}
}

// TestAdoptStage takes over a part of a stage: the marks of ranks that had nothing of it are not even read.
func TestAdoptStage(t *testing.T) {
	cfg := config(filepath.Join(t.TempDir(), "run.xtf"), 1<<20)
	err := mpi.RunInProcess(3, func(c mpi.Comm) error {
		w, err := Begin(c, cfg)
		if err != nil {
			return err
		}
		if c.Rank() < 2 { // the last rank has nothing
			err = w.Store.Put(Key{Unit{P: xtf.Proc(5 + c.Rank()), Stage: 1}, KindCaller}, []byte{byte(c.Rank())})
		}
		return errors.Join(err, w.Mark(7), w.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Resume = true
	err = mpi.RunInProcess(1, func(c mpi.Comm) error {
		w, err := Begin(c, cfg)
		if err != nil {
			return err
		}
		defer w.Close()
		if n := w.Kept().Stage(); n != 7 {
			t.Errorf("stage %d", n)
		}
		if err := os.Remove(filepath.Join(w.Dir(), markName(Owner{1, 1}, 7))); err != nil {
			return err
		}
		for _, k := range []struct {
			first, end xtf.Proc
			ok         bool
		}{{5, 7, false}, {6, 7, false}, {0, 6, true}, {7, 9, true}} {
			ok, err := w.AdoptStage(k.first, k.end, true, func(int64) error { return nil })
			if ok != k.ok || err != nil {
				t.Errorf("locations %d to %d: %v %v", k.first, k.end, ok, err)
			}
		}
		b, err := w.Store.Get(Key{Unit{P: 5, Stage: 1}, KindCaller})
		if string(b) != "\x00" {
			t.Errorf("%q", b)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

package xtfwriter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

var errUnit = errors.New("unit failed")

// TestFailures lets one part of a run fail on one rank: all ranks must say so,
// and nothing may be under the output's name or be left next to it.
func TestFailures(t *testing.T) {
	tests := []struct {
		name   string
		change func(rank int, out string, p *Parts)
		want   error  // sentinel that survives, nil for any error
		text   string // part of the message
	}{
		{"size of a region", func(rank int, _ string, p *Parts) {
			if rank == 1 {
				p.Region = func(int) (Region, error) { return Region{}, errUnit }
			}
		}, nil, "unit failed"},
		{"bytes of a region", func(rank int, _ string, p *Parts) {
			if rank == 2 {
				f, calls := p.Region, 0
				p.Region = func(i int) (Region, error) {
					if calls++; calls > p.Regions {
						return Region{}, fmt.Errorf("%w: %w", errUnit, xtf.ErrCorrupt)
					}
					return f(i)
				}
			}
		}, xtf.ErrCorrupt, "unit failed"},
		{"other rows the second time", func(rank int, _ string, p *Parts) {
			if rank == 0 {
				f, calls := p.Region, 0
				p.Region = func(i int) (Region, error) {
					r, err := f(i)
					if calls++; calls > p.Regions {
						r.Blobs = append(r.Blobs, xtf.BytesBlob(9, 1, 0, []byte("more")))
					}
					return r, err
				}
			}
		}, nil, "when it was measured"},
		{"wrong location", func(rank int, _ string, p *Parts) {
			if rank == 2 {
				f := p.Region
				p.Region = func(i int) (Region, error) { return f(0) }
			}
		}, nil, "expected"},
		{"whole run", func(rank int, _ string, p *Parts) {
			p.WholeRun = func() (Region, error) { return Region{}, errUnit }
		}, nil, "unit failed"},
		{"sections", func(rank int, _ string, p *Parts) {
			p.Sections = func() ([]xtf.Blob, error) { return nil, errUnit }
		}, nil, "unit failed"},
		{"section changed", func(rank int, _ string, p *Parts) {
			p.Sections = func() ([]xtf.Blob, error) {
				b := xtf.BytesBlob(xtf.KindDefinitions, 1, 0, []byte("definitions"))
				b.CRC++
				return []xtf.Blob{b}, nil
			}
		}, xtf.ErrCorrupt, "section"},
		{"disk full", func(rank int, out string, p *Parts) {
			if rank == 0 {
				if err := os.Symlink("/dev/full", out+".out.1"); err != nil {
					panic(err)
				}
			}
		}, ErrNoSpace, "no space left"},
		{"taken over", func(rank int, out string, p *Parts) {
			if rank == 0 {
				f := p.Sections
				p.Sections = func() ([]xtf.Blob, error) {
					_, err := acquire(LockPath(out), Lock{Host: "elsewhere", PID: 1}, 0, true)
					return append([]xtf.Blob(nil), must(f())...), err
				}
			}
		}, ErrSuperseded, "newer run"},
	}
	for _, collective := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/%v", tt.name, collective), func(t *testing.T) {
				if _, err := os.Stat("/dev/full"); err != nil && tt.want == ErrNoSpace {
					t.Skip("no /dev/full here")
				}
				s := newSynth(11, 400, xtf.Packed)
				dir := t.TempDir()
				out := filepath.Join(dir, "run.xtf")
				errs := make([]error, 4)
				_ = mpi.RunInProcess(4, func(c mpi.Comm) error {
					_, err := s.job(c, config(out, 1<<16), func(p *Parts) {
						p.Collective = collective
						tt.change(c.Rank(), out, p)
					})
					errs[c.Rank()] = err
					return nil
				})
				for r, err := range errs {
					if err == nil || !strings.Contains(err.Error(), tt.text) || (tt.want != nil && !errors.Is(err, tt.want)) {
						t.Errorf("rank %d: %v", r, err)
					}
				}
				left, _ := filepath.Glob(filepath.Join(dir, "*"))
				if tt.want == ErrSuperseded { // the younger run's lock and folder are not ours to remove
					left = without(left, LockPath(out), out+".work")
				}
				if len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

func must(b []xtf.Blob, err error) []xtf.Blob {
	if err != nil {
		panic(err)
	}
	return b
}

func without(list []string, drop ...string) (kept []string) {
	for _, s := range list {
		if s != drop[0] && s != drop[1] {
			kept = append(kept, s)
		}
	}
	return kept
}

func TestBegin(t *testing.T) {
	begin := func(cfg Config) error {
		return mpi.RunInProcess(3, func(c mpi.Comm) error {
			w, err := Begin(c, cfg)
			if err != nil {
				return err
			}
			return w.Close()
		})
	}
	dead := Lock{Identity: "id", Host: "here", PID: 1 << 30, Epoch: 4}
	tests := []struct {
		name  string
		setup func(dir, out string) error
		force bool
		want  error
	}{
		{"fresh", func(string, string) error { return nil }, false, nil},
		{"output exists", func(_, out string) error { return os.WriteFile(out, []byte("precious"), 0o666) }, false, ErrExists},
		{"output exists, forced", func(_, out string) error { return os.WriteFile(out, nil, 0o666) }, true, nil},
		{"output is a directory", func(_, out string) error { return os.Mkdir(out, 0o777) }, true, ErrUnwritable},
		{"no such directory", func(dir, _ string) error { return os.Remove(dir) }, false, ErrUnwritable},
		{"locked elsewhere", func(_, out string) error {
			_, err := acquire(LockPath(out), Lock{Host: "elsewhere", PID: 1}, 0, false)
			return err
		}, false, ErrLocked},
		{"locked elsewhere, forced", func(_, out string) error {
			_, err := acquire(LockPath(out), Lock{Host: "elsewhere", PID: 1}, 0, false)
			return err
		}, true, nil},
		{"lock of a live process", func(_, out string) error {
			_, err := acquire(LockPath(out), Lock{Host: "here", PID: os.Getpid()}, 0, false)
			return err
		}, false, ErrLocked},
		{"lock of a dead process", func(_, out string) error {
			_, err := acquire(LockPath(out), dead, 0, false)
			return err
		}, false, nil},
		{"empty lock of a full disk", func(_, out string) error { return os.WriteFile(LockPath(out), nil, 0o666) }, false, nil},
		{"torn lock", func(_, out string) error { return os.WriteFile(LockPath(out), []byte(`{"identity":"ab","ho`), 0o666) }, false, nil},
		{"lock that is not a lock", func(_, out string) error { return os.WriteFile(LockPath(out), []byte("x"), 0o666) }, false, ErrLocked},
		{"finished units", func(_, out string) error {
			return errors.Join(os.Mkdir(out+".work", 0o777), os.WriteFile(out+".work/list.3.0", nil, 0o666))
		}, false, ErrUnits},
		{"leftover segments", func(_, out string) error {
			return errors.Join(os.Mkdir(out+".work", 0o777), os.WriteFile(out+".work/seg.3.0", nil, 0o666))
		}, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, "run.xtf")
			if err := tt.setup(dir, out); err != nil {
				t.Fatal(err)
			}
			cfg := config(out, 0)
			cfg.Force = tt.force
			err := begin(cfg)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Begin: %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				for _, path := range []string{LockPath(out), out + ".work"} {
					if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
						t.Errorf("%s stays: %v", path, err)
					}
				}
			}
		})
	}
}

// An output that appears while the run works is not replaced without force.
func TestOutputAppears(t *testing.T) {
	for _, force := range []bool{false, true} {
		s := newSynth(3, 50, xtf.Packed)
		out := filepath.Join(t.TempDir(), "run.xtf")
		cfg := config(out, 0)
		cfg.Force = force
		err := mpi.RunInProcess(2, func(c mpi.Comm) error {
			_, err := s.job(c, cfg, func(p *Parts) {
				if c.Rank() == 0 {
					if err := os.WriteFile(out, []byte("precious"), 0o666); err != nil {
						panic(err)
					}
				}
			})
			return err
		})
		b := mustRead(t, out)
		if force && (err != nil || string(b) == "precious") {
			t.Errorf("forced: %v", err)
		}
		if !force && (!errors.Is(err, ErrExists) || string(b) != "precious") {
			t.Errorf("not forced: %v, output is now %d bytes", err, len(b))
		}
	}
}

// A rank that does not see the folder of the output, as on another node, ends the run when it begins.
func TestUnseenFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("a rank looks for 8 s")
	}
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run.xtf")
	err := mpi.RunInProcess(3, func(c mpi.Comm) error {
		cfg := config(out, 1<<20)
		if c.Rank() == 1 {
			cfg.Output, cfg.WorkDir = filepath.Join(t.TempDir(), "run.xtf"), out+".work"
		}
		_, err := Begin(c, cfg)
		return err
	})
	if !errors.Is(err, ErrUnwritable) || !strings.Contains(err.Error(), "run.xtf.lock, which rank 0 has written on here, is not there on ") {
		t.Errorf("%v", err)
	}
	for _, path := range []string{LockPath(out), out + ".work"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was left", path)
		}
	}
}

// Damage between write and rename is noticed: the file is read back.
func TestReadBack(t *testing.T) {
	s := newSynth(5, 300, xtf.Packed)
	out := filepath.Join(t.TempDir(), "run.xtf")
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		w, err := Begin(c, config(out, 1<<20))
		if err != nil {
			return err
		}
		m := &commit{w: w, c: w.comm, tmp: w.tempPath(), p: &Parts{Types: s.types, FileID: s.id}}
		for _, step := range []func() error{m.place, m.write, m.sync} {
			if err := step(); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			if err := flip(m.tmp, xtf.SuperblockSize+5); err != nil {
				return err
			}
		}
		return errors.Join(m.c.Agree(m.readBack()), w.Close())
	})
	if !errors.Is(err, ErrWrite) {
		t.Fatalf("verify: %v", err)
	}
}

func flip(path string, off int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], off)
	b[0] ^= 16
	_, werr := f.WriteAt(b[:], off)
	return errors.Join(err, werr, f.Close())
}

// The committed file opens, is sound, and answers.
func TestCommittedFile(t *testing.T) {
	s := newSynth(9, 5000, xtf.Packed)
	out := filepath.Join(t.TempDir(), "run.xtf")
	var res Result
	if err := mpi.RunInProcess(3, func(c mpi.Comm) error {
		r, err := s.job(c, config(out, 1<<16), nil)
		if c.Rank() == 0 {
			res = r
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f, err := xtf.OpenFile(out, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st, err := os.Stat(out); err != nil || st.Size() != res.FileBytes {
		t.Errorf("Result says %d bytes, the file has %d: %v", res.FileBytes, st.Size(), err)
	}
	check, err := xtf.Check(f, nil)
	if err != nil || check.Found != 0 || check.Regions != 10 || f.Procs() != 9 {
		t.Fatalf("Check: %+v %v", check, err)
	}
	a, err := f.Array(4, xtf.TypeCall)
	if err != nil || a.Len() == 0 {
		t.Fatalf("calls of proc 4: %v", err)
	}
	at, err := a.At(777)
	if err != nil {
		t.Fatal(err)
	}
	if pos, ok, err := a.Search(at, xtf.Last); err != nil || !ok || pos.N < 777 {
		t.Errorf("Search: %v %v %v", pos, ok, err)
	}
	if b, err := f.BlobBytes(4, xtf.KindCCGColumns); err != nil || len(b) != 4*13 {
		t.Errorf("blob: %d bytes, %v", len(b), err)
	}
	if d, err := f.Dir(5); err != nil || d.Events != 50 || d.Process != 2 || d.Thread != 1 {
		t.Errorf("directory row: %+v %v", d, err)
	}
	if b, err := f.SectionBytes(xtf.KindCCG); err != nil || len(b) != 15000 || string(b[:3]) != "ccg" {
		t.Errorf("section: %d bytes, %v", len(b), err)
	}
}

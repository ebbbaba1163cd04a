package xtfwriter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestManyOldFiles reads more files of earlier runs than are open at once.
func TestManyOldFiles(t *testing.T) {
	dir := t.TempDir()
	st := NewStore(filepath.Join(dir, "seg.9.0"), 0)
	var files []*spillFile
	for rank := range 2 * mostOpen {
		o := Owner{1, rank}
		if err := os.WriteFile(filepath.Join(dir, segName(o)), fmt.Appendf(nil, "%04d", rank), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := st.open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var wait sync.WaitGroup
	for g := range uint64(4) {
		wait.Go(func() {
			r, b := rand.New(rand.NewPCG(g, 1)), make([]byte, 4)
			for range 500 {
				i := r.IntN(len(files))
				if _, err := files[i].ReadAt(b, 0); err != nil || string(b) != fmt.Sprintf("%04d", i) {
					t.Errorf("file %d: %q %v", i, b, err)
				}
			}
		})
	}
	wait.Wait()
	if n := len(st.old.open); n != mostOpen {
		t.Errorf("%d files are open", n)
	}
	if err := st.Close(false); err != nil || len(st.old.open) > 0 {
		t.Errorf("%d files stay open: %v", len(st.old.open), err)
	}
}

// TestStrangeLists puts in the place of a list what is none.
func TestStrangeLists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.1.0")
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadList(path); !errors.Is(err, xtf.ErrCorrupt) {
		t.Errorf("a folder: %v", err)
	}
	path += ".1"
	if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, mostList+1)); err != nil {
		t.Skipf("the file system takes no sparse file of 1 GiB: %v", err)
	}
	if _, err := ReadList(path); !errors.Is(err, xtf.ErrCorrupt) || !strings.Contains(err.Error(), "not a file of at most") {
		t.Errorf("a file that is too long: %v", err)
	}
}

// TestLockRace lets many runs take one lock over at the same moment: one has it in the end, and no other says so.
func TestLockRace(t *testing.T) {
	for round := range 20 {
		path := LockPath(filepath.Join(t.TempDir(), "run.xtf"))
		if err := os.WriteFile(path, []byte(`{"host":"elsewhere","pid":1,"epoch":7}`), 0o666); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		locks, errs := make([]Lock, 8), make([]error, 8)
		for i := range locks {
			wait.Go(func() {
				own := Lock{Host: strings.Repeat("h", 1+i*round%13), PID: i + 1}
				locks[i], errs[i] = acquire(path, own, 0, true)
			})
		}
		wait.Wait()
		owners := 0
		for i, l := range locks {
			if errs[i] != nil && !errors.Is(errs[i], ErrSuperseded) {
				t.Fatal(errs[i])
			}
			if stillOwns(path, l) == nil {
				if owners++; errs[i] != nil {
					t.Errorf("the owner was refused: %v", errs[i])
				}
			}
		}
		if left, _ := filepath.Glob(path + "?*"); owners != 1 || len(left) > 0 {
			t.Fatalf("%d owners, left behind: %v", owners, left)
		}
	}
}

// TestLockEnd takes a lock over at the moment when its run ends: whichever was first, the younger run has it, or finds none and has one of
// its own, and the work folder is its own.
func TestLockEnd(t *testing.T) {
	output := filepath.Join(t.TempDir(), "run.xtf")
	folder := output + ".work"
	lost := 0
	for range 200 {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		own, err := acquire(LockPath(output), Lock{Host: "here", PID: 1}, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := mpi.RunInProcess(1, func(c mpi.Comm) error {
				old := &Workspace{comm: c, cfg: Config{Output: output, WorkDir: folder}, lock: own}
				return old.release(false)
			}); err != nil {
				t.Error(err)
			}
		})
		younger, err := acquire(LockPath(output), Lock{Host: "there", PID: 2}, own.Epoch, true)
		if err == nil {
			err = os.MkdirAll(folder, 0o777)
		}
		wait.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(folder); err != nil || stillOwns(LockPath(output), younger) != nil {
			lost++
		}
		if err := errors.Join(freeLock(LockPath(output)), os.RemoveAll(folder)); err != nil {
			t.Fatal(err)
		}
	}
	if lost > 0 {
		t.Errorf("%d of 200 runs lost their lock or folder to one that ended", lost)
	}
}

// TestHalfLock removes what a process left that died while it took the lock over, and nothing else.
func TestHalfLock(t *testing.T) {
	output := filepath.Join(t.TempDir(), "run [1].xtf")
	lock := LockPath(output)
	for _, name := range []string{lock, lock + ".17.new", lock + ".mine", output + ".new"} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := freeLock(lock); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(globEscape(output) + "*"); len(left) != 2 {
		t.Error(left)
	}
}

// TestStrangeLock finds a folder where the lock should be.
func TestStrangeLock(t *testing.T) {
	output := filepath.Join(t.TempDir(), "run.xtf")
	if err := os.Mkdir(LockPath(output), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		takeover bool
		want     error
	}{{false, ErrLocked}, {true, ErrUnwritable}} {
		if _, err := acquire(LockPath(output), Lock{Host: "here", PID: 1}, 0, k.takeover); !errors.Is(err, k.want) {
			t.Errorf("takeover %v: %v", k.takeover, err)
		}
	}
}

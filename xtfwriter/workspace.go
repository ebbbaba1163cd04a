package xtfwriter

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// Config says where a run writes and what it may use. It is the same on all ranks.
type Config struct {
	Output   string // RUN.xtf
	WorkDir  string // "": Output.work
	Identity string // one word that names input and options, as in provenance
	Host     string // of rank 0, for the lock
	PID      int
	Job      string
	Budget   int64 // bytes of segments in memory per rank; 0: all to files at once
	Force    bool  // replace the output, a lock and a work folder that are there
	Resume   bool  // take over a lock and the finished units of the same identity; comes before Force

	About   []byte                  // what Identity stands for; it is kept in the work folder
	Differs func(old []byte) string // says how another job's About differs

	disk disk // nil: the operating system's
}

// Workspace is a run's claim on its output: lock, epoch, work folder and the
// segment store of this rank.
type Workspace struct {
	Store *Store
	disk  disk
	comm  mpi.Comm
	cfg   Config
	lock  Lock
	named bool // Config named the work folder: the lock does not tell who else uses it

	kept      *Kept
	marked    uint32 // stage of this run's mark
	committed bool
}

// sentinels survive the agreement between ranks.
func sentinels() []error {
	return []error{
		ErrDone, ErrExists, ErrNoSpace, ErrStorage, ErrFolderGone, ErrUnwritable, ErrLocked, ErrSuperseded, ErrOtherJob, ErrUnits, ErrWrite,
		ErrNoSegment, xtf.ErrOrder, xtf.ErrCorrupt, xtf.ErrTooLarge, xtf.ErrOpenRows,
	}
}

// Begin takes the output for this run: it refuses an existing output, a lock of
// somebody alive and finished units of an interrupted run unless forced, then
// makes the work folder and the store of each rank. With Config.Resume it takes a
// lock over, and finds out what can be kept; an output of the same identity is
// ErrDone. Collective; on error nothing is left behind that was not there.
func Begin(c mpi.Comm, cfg Config) (*Workspace, error) {
	named := cfg.WorkDir != ""
	if !named {
		cfg.WorkDir = cfg.Output + ".work"
	}
	if cfg.disk == nil {
		cfg.disk = systemDisk{}
	}
	c = mpi.Keeping{Comm: c, Sentinels: sentinels()}
	w := &Workspace{disk: cfg.disk, comm: c, cfg: cfg, named: named}
	var err error
	var found claimed
	if c.Rank() == 0 {
		found, err = w.claim()
	}
	b, _ := json.Marshal(found) // numbers and strings
	if b, err = mpi.FromRank(c, 0, b, err); err != nil {
		return nil, err
	}
	if err = json.Unmarshal(b, &found); err == nil {
		err = c.Agree(w.seen(found.Lock.Host))
	}
	if err == nil {
		w.lock = found.Lock
		own := Owner{found.Lock.Epoch, c.Rank()}
		w.Store = NewStore(filepath.Join(cfg.WorkDir, segName(own)), cfg.Budget)
		w.Store.own, w.Store.disk = own, cfg.disk
		if cfg.Resume {
			err = w.readLists(found.Lists)
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.release(len(found.Lists) > 0))
	}
	return w, nil
}

// seen fails on a rank that does not see what rank 0 has written, as on another node: the run would fail when all else is done.
func (w *Workspace) seen(host string) error {
	path := LockPath(w.cfg.Output)
	for wait := time.Millisecond; ; wait *= 2 { // a file system of many nodes may take a moment to show it
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if wait > 4*time.Second {
			here, _ := os.Hostname()
			return fmt.Errorf("xtfwriter: %w: %s, which rank 0 has written on %s, is not there on %s: all ranks have to see the folder of the output",
				ErrUnwritable, path, host, here)
		}
		time.Sleep(wait)
	}
}

// claimed is what rank 0 found out: the lock of this run, and the lists and marks of older ones.
type claimed struct {
	Lock  Lock
	Lists []string
}

// claim does rank 0's part of Begin.
func (w *Workspace) claim() (found claimed, err error) {
	cfg := &w.cfg
	done, err := w.checkOutput()
	if errors.Is(err, ErrExists) {
		err = errors.Join(err, w.removeRest())
	}
	if err != nil {
		return found, err
	}
	old, err := oldFiles(cfg.WorkDir)
	if err != nil {
		return found, err
	}
	for _, o := range outFiles(cfg.Output) {
		old.Epoch = max(old.Epoch, o.epoch) // it may be another name of the output: never write into it
	}
	takeover := cfg.Force || cfg.Resume
	if _, err := lockedBy(LockPath(cfg.Output), cfg.own(), takeover); err != nil {
		return found, fmt.Errorf("xtfwriter: %w", err)
	}
	keep := false
	if err := w.shared(); err != nil {
		return found, err
	}
	if len(old.Lists) > 0 && !done {
		if keep, err = w.mayKeep(); err != nil {
			return found, err
		}
	}
	if w.lock, err = acquire(LockPath(cfg.Output), cfg.own(), old.Epoch, takeover); err != nil {
		return found, fmt.Errorf("xtfwriter: %w", err)
	}
	if done {
		w.tidy(w.lock.Epoch)
		identity, _, err := w.readJob() // of a folder that somebody named and that says nothing, nothing is removed
		keep := identity != cfg.Identity && (w.named || !errors.Is(err, fs.ErrNotExist))
		return found, errors.Join(fmt.Errorf("xtfwriter: %w: %s", ErrDone, cfg.Output), w.release(keep))
	}
	found.Lock = w.lock
	if keep { // read again: the run before may have gone on until its lock was taken
		if old, err = oldFiles(cfg.WorkDir); err == nil {
			found.Lists = old.Lists
			err = old.removeUnlisted(cfg.WorkDir)
		}
	} else if err = cleanFolder(cfg.WorkDir); err == nil {
		if err = os.MkdirAll(cfg.WorkDir, 0o777); err == nil {
			err = w.disk.replace(filepath.Join(cfg.WorkDir, jobFile), append([]byte(cfg.Identity+"\n"), cfg.About...)) // says whose it is
		}
	}
	if err != nil {
		return found, errors.Join(fmt.Errorf("xtfwriter: %w", OutputError("work folder "+cfg.WorkDir, err)), w.release(true))
	}
	return found, nil
}

// removeRest removes what the run left that made the output, where it was killed when the output had its name: the lock of a
// process that is gone, the files of the folder that says the same job, and other names of the output.
func (w *Workspace) removeRest() error {
	identity, _, err := w.readJob()
	if err != nil || outputID(w.cfg.Output) != identity {
		return nil
	}
	if w.lock, err = acquire(LockPath(w.cfg.Output), w.cfg.own(), 0, false); errors.Is(err, ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, o := range outFiles(w.cfg.Output) {
		if a, err := os.Stat(w.cfg.Output); err == nil {
			if b, err := os.Stat(o.path); err == nil && os.SameFile(a, b) {
				w.tidy(o.epoch)
			}
		}
	}
	return w.release(false)
}

// outputID is the identity of an output that is there; one that cannot be read has none.
func outputID(path string) string {
	f, err := xtf.OpenFile(path, xtf.Options{CacheBytes: 1 << 20})
	if err != nil {
		return "none"
	}
	defer f.Close()
	id := f.FileID()
	return hex.EncodeToString(id[:])
}

// Rest tells of the lock and the work folder that lie next to an output, and what to do about them; "" where there are none.
func Rest(output, host string) string {
	w := &Workspace{cfg: Config{Output: output, WorkDir: output + ".work", Host: host}}
	var there []string
	for _, path := range []string{LockPath(output), w.cfg.WorkDir} {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	text := strings.Join(there, " and ")
	identity, _, err := w.readJob()
	switch _, locked := lockedBy(LockPath(output), w.cfg.own(), false); {
	case text == "":
		return ""
	case locked != nil:
		return fmt.Sprintf("%s: a run works on this output, and may replace it: %v", text, locked)
	case err == nil && identity == outputID(output):
		return text + ": left by the run that made this output, which was killed when it was whole. Remove what it left, or start it again: it does so"
	}
	return text + ": left by another run, which was stopped. Go on with it, by --resume, or remove what it left"
}

func (c *Config) own() Lock {
	return Lock{Identity: c.Identity, Host: c.Host, PID: c.PID, Job: c.Job}
}

// checkOutput fails if something is there that must not be replaced. done says that it is the file which this run would
// make.
func (w *Workspace) checkOutput() (done bool, err error) {
	path := w.cfg.Output
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("xtfwriter: %w", OutputError("output "+path, err))
	case st.IsDir():
		return false, fmt.Errorf("xtfwriter: %w: output %s is a directory", ErrUnwritable, path)
	case !st.Mode().IsRegular(): // a device or a pipe: a rename would put a file in its place
		return false, fmt.Errorf("xtfwriter: %w: output %s is not a regular file", ErrUnwritable, path)
	case !w.cfg.Force:
		err = fmt.Errorf("xtfwriter: %w: %s", ErrExists, path)
	}
	if !w.cfg.Resume {
		return false, err
	}
	f, ferr := xtf.OpenFile(path, xtf.Options{CacheBytes: 1 << 20})
	if ferr != nil {
		return false, err
	}
	defer f.Close()
	id := f.FileID()
	if hex.EncodeToString(id[:]) == w.cfg.Identity {
		return true, nil
	}
	if b, perr := f.Provenance(); err != nil && perr == nil {
		err = fmt.Errorf("%w, of another job: %s", err, w.cfg.differs(b))
	}
	return false, err
}

// Epoch is the number of this run among those that took the output.
func (w *Workspace) Epoch() uint64 { return w.lock.Epoch }

// Dir is the folder of the workspace, for temporary files of the same job.
func (w *Workspace) Dir() string { return w.cfg.WorkDir }

// CheckEpoch fails with ErrSuperseded if a younger run took the output over.
func (w *Workspace) CheckEpoch() error {
	if err := stillOwns(LockPath(w.cfg.Output), w.lock); err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	return nil
}

// Close ends the run's claim: stores are closed, the work folder and the lock
// removed. Where finished units are listed and nothing was committed, they stay, without the lock.
// Collective; every rank calls it, whether the run succeeded or not.
func (w *Workspace) Close() error {
	own := w.kept.held() || len(w.Store.list.Units) > 0 || w.marked != 0
	keep := []int64{0}
	if own && !w.committed {
		keep[0] = 1
	}
	err := w.Store.Close(w.committed || len(w.Store.list.Units) == 0 && w.marked == 0)
	err = errors.Join(err, w.comm.AllreduceInt64(keep, mpi.Max)) // all stores are closed then
	if w.comm.Rank() == 0 && err == nil {
		err = w.release(keep[0] != 0)
	}
	return w.comm.Agree(err)
}

// release removes the lock and, unless it is to be kept, the folder, in one step; a younger run's it leaves alone.
func (w *Workspace) release(keep bool) error {
	if w.comm.Rank() != 0 {
		return nil
	}
	var err error
	_ = holding(LockPath(w.cfg.Output), func() error { // one that is not there, or is not to be read, is another's
		if w.CheckEpoch() == nil {
			if !keep {
				err = removeFolder(w.cfg.WorkDir)
			}
			err = errors.Join(err, freeLock(LockPath(w.cfg.Output)))
		}
		return nil
	})
	return err
}

// removeFolder removes the files of runs from a work folder, and the folder if that was all.
func removeFolder(dir string) error {
	if err := cleanFolder(dir); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !folderInUse(dir) {
		return err
	}
	return nil
}

// folderInUse says whether somebody keeps other files in the folder: it stays.
func folderInUse(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

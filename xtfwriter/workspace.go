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
	Output   string // the result, RUN.xtf
	WorkDir  string // work folder; empty: Output with ".work"
	Identity string // one word that stands for input and options, as in the provenance section
	Host     string // of rank 0, for the lock
	PID      int
	Job      string
	Budget   int64 // bytes of segments that each rank keeps in memory; 0: all go to files at once
	Force    bool  // replace an existing output, lock and work folder
	Resume   bool  // take over the lock and the finished units of the same identity; precedes Force

	About   []byte                  // what Identity stands for; kept in the work folder
	Differs func(old []byte) string // describes how another job's About differs

	disk disk // nil: the operating system's
}

// Workspace is a run's claim on its output. It has the lock, the epoch, the work folder and this rank's segment store.
type Workspace struct {
	Store *Store
	disk  disk
	comm  mpi.Comm
	cfg   Config
	lock  Lock
	named bool // Config named the work folder, so another output's run may use it, whose lock is elsewhere

	kept      *Kept
	marked    uint32 // stage of the last mark of this run
	committed bool
}

// sentinels returns the errors that errors.Is still recognizes after ranks have agreed on them (mpi.Comm.Agree).
func sentinels() []error {
	return []error{
		ErrDone, ErrExists, ErrNoSpace, ErrStorage, ErrFolderGone, ErrUnwritable, ErrLocked, ErrSuperseded, ErrOtherJob, ErrUnits, ErrWrite,
		ErrNoSegment, xtf.ErrOrder, xtf.ErrCorrupt, xtf.ErrTooLarge, xtf.ErrOpenRows,
	}
}

// Begin takes the output for this run and makes the work folder and each rank's store. Without Force or Resume it returns ErrExists for an
// existing output, ErrLocked for the lock of a run that may still be running, and ErrUnits for finished units of an interrupted run. With
// Config.Resume it takes over the lock and reads which units can be kept; it returns ErrDone if the output exists and has the same
// identity. Collective. After an error it leaves nothing behind.
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
		err = c.Agree(w.checkVisible(found.Lock.Host))
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

// checkVisible returns ErrUnwritable if this rank does not see the lock that rank 0 has written, for instance on another node. Without this
// check the run would fail only at its end.
func (w *Workspace) checkVisible(host string) error {
	path := LockPath(w.cfg.Output)
	for wait := time.Millisecond; ; wait *= 2 { // a network file system may show a new file after some time
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

// claimed is what rank 0 tells the others: the lock of this run, and the names of the lists and marks of earlier runs.
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
		old.Epoch = max(old.Epoch, o.epoch) // such a file may be another name of the output, so no run may write to it
	}
	takeover := cfg.Force || cfg.Resume
	if _, err := lockedBy(LockPath(cfg.Output), cfg.own(), takeover); err != nil {
		return found, fmt.Errorf("xtfwriter: %w", err)
	}
	keep := false
	if err := w.checkFolder(); err != nil {
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
		identity, _, err := w.readJob() // a folder that the user named and that has no job file is not changed
		keep := identity != cfg.Identity && (w.named || !errors.Is(err, fs.ErrNotExist))
		return found, errors.Join(fmt.Errorf("xtfwriter: %w: %s", ErrDone, cfg.Output), w.release(keep))
	}
	found.Lock = w.lock
	if keep { // list again: the earlier run may have written until it lost its lock
		if old, err = oldFiles(cfg.WorkDir); err == nil {
			found.Lists = old.Lists
			err = old.removeUnlisted(cfg.WorkDir)
		}
	} else if err = cleanFolder(cfg.WorkDir); err == nil {
		if err = os.MkdirAll(cfg.WorkDir, 0o777); err == nil {
			err = w.disk.replace(filepath.Join(cfg.WorkDir, jobFile), append([]byte(cfg.Identity+"\n"), cfg.About...)) // names its job
		}
	}
	if err != nil {
		return found, errors.Join(fmt.Errorf("xtfwriter: %w", OutputError("work folder "+cfg.WorkDir, err)), w.release(true))
	}
	return found, nil
}

// removeRest cleans up after the run that made the output, if that run was killed just after it gave the output its name. It removes the
// lock if its process does not exist any more, the work folder's files if they are of the same job, and other names of the output.
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

// outputID returns the identity of an existing output, or "none" if it cannot be read.
func outputID(path string) string {
	f, err := xtf.OpenFile(path, xtf.Options{CacheBytes: 1 << 20})
	if err != nil {
		return "none"
	}
	defer f.Close()
	id := f.FileID()
	return hex.EncodeToString(id[:])
}

// Rest describes the lock and the work folder next to an output, and what to do about them. It is empty if there are none.
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

// checkOutput returns an error if the output exists and must not be replaced. done says that the output is already the file that this run
// would write.
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
	case !st.Mode().IsRegular(): // a rename would replace a device or pipe by a file
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

// Epoch returns the number of this run among those that took the output.
func (w *Workspace) Epoch() uint64 { return w.lock.Epoch }

// Dir returns the path of the work folder, where the job may put temporary files.
func (w *Workspace) Dir() string { return w.cfg.WorkDir }

// CheckEpoch returns ErrSuperseded if a younger run has taken over the output.
func (w *Workspace) CheckEpoch() error {
	if err := stillOwns(LockPath(w.cfg.Output), w.lock); err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	return nil
}

// Close ends the run's claim: it closes the stores and removes the work folder and the lock. If nothing was committed and units are listed,
// the folder stays and only the lock is removed. Collective: all ranks call it, also after an error.
func (w *Workspace) Close() error {
	own := w.kept.held() || len(w.Store.list.Units) > 0 || w.marked != 0
	keep := []int64{0}
	if own && !w.committed {
		keep[0] = 1
	}
	err := w.Store.Close(w.committed || len(w.Store.list.Units) == 0 && w.marked == 0)
	err = errors.Join(err, w.comm.AllreduceInt64(keep, mpi.Max)) // after this, all stores are closed
	if w.comm.Rank() == 0 && err == nil {
		err = w.release(keep[0] != 0)
	}
	return w.comm.Agree(err)
}

// release removes the lock and, unless keep is set, the work folder, while no other run can take over the lock. It does nothing if a
// younger run has it.
func (w *Workspace) release(keep bool) error {
	if w.comm.Rank() != 0 {
		return nil
	}
	var err error
	_ = whileLocked(LockPath(w.cfg.Output), func() error { // a lock that is missing or cannot be read is not this run's
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

// removeFolder removes the files of runs from a work folder, and the folder if it is empty then.
func removeFolder(dir string) error {
	if err := cleanFolder(dir); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !folderInUse(dir) {
		return err
	}
	return nil
}

// folderInUse returns whether the folder has other files.
func folderInUse(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

package xtfwriter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
}

// sentinels survive the agreement between ranks.
func sentinels() []error {
	return []error{
		ErrExists, ErrNoSpace, ErrUnwritable, ErrLocked, ErrSuperseded, ErrOtherJob, ErrWrite,
		ErrNoSegment, xtf.ErrOrder, xtf.ErrCorrupt, xtf.ErrTooLarge, xtf.ErrOpenRows,
	}
}

func agree(c mpi.Comm, err error) error { return mpi.AgreeOn(c, err, sentinels()...) }

// Begin takes the output for this run: it refuses an existing output, a lock of
// somebody alive and finished units of an interrupted run unless forced, then
// makes the work folder and the store of each rank. Collective; on error nothing
// is left behind.
func Begin(c mpi.Comm, cfg Config) (*Workspace, error) {
	if cfg.WorkDir == "" {
		cfg.WorkDir = cfg.Output + ".work"
	}
	if cfg.disk == nil {
		cfg.disk = systemDisk{}
	}
	w := &Workspace{disk: cfg.disk, comm: c, cfg: cfg}
	var err error
	if c.Rank() == 0 {
		err = w.claim()
	}
	if err := agree(c, err); err != nil {
		return nil, err
	}
	b, err := c.Bcast([]byte(strconv.FormatUint(w.lock.Epoch, 10)), 0)
	if err == nil {
		w.lock.Epoch, err = strconv.ParseUint(string(b), 10, 64)
	}
	if err := agree(c, err); err != nil {
		return nil, errors.Join(err, w.release())
	}
	w.lock.Host, w.lock.PID, w.lock.Job, w.lock.Identity = cfg.Host, cfg.PID, cfg.Job, cfg.Identity
	name := fmt.Sprintf("seg.%d.%d", w.lock.Epoch, c.Rank())
	w.Store = NewStore(filepath.Join(cfg.WorkDir, name), cfg.Budget)
	return w, nil
}

// claim does rank 0's part of Begin.
func (w *Workspace) claim() error {
	cfg := &w.cfg
	if err := checkOutput(cfg.Output, cfg.Force); err != nil {
		return err
	}
	epoch, units, err := oldFiles(cfg.WorkDir)
	if err != nil {
		return err
	}
	if units && !cfg.Force {
		return fmt.Errorf("xtfwriter: %w: %s holds finished units of an interrupted run", ErrOtherJob, cfg.WorkDir)
	}
	for _, old := range outFiles(cfg.Output) {
		epoch = max(epoch, old.epoch) // it may be another name of the output: never write into it
	}
	own := Lock{Identity: cfg.Identity, Host: cfg.Host, PID: cfg.PID, Job: cfg.Job}
	if w.lock, err = acquire(LockPath(cfg.Output), own, epoch, cfg.Force); err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	if err = cleanFolder(cfg.WorkDir); err == nil {
		err = os.MkdirAll(cfg.WorkDir, 0o777)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("xtfwriter: %w", ioError("work folder "+cfg.WorkDir, err)), os.Remove(LockPath(cfg.Output)))
	}
	return nil
}

// checkOutput fails if something is there that must not be replaced.
func checkOutput(path string, force bool) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("xtfwriter: %w", ioError("output "+path, err))
	case st.IsDir():
		return fmt.Errorf("xtfwriter: %w: output %s is a directory", ErrUnwritable, path)
	case !force:
		return fmt.Errorf("xtfwriter: %w: %s", ErrExists, path)
	}
	return nil
}

// oldFiles returns the highest epoch among the files of a work folder, and
// whether there are lists of finished units.
func oldFiles(dir string) (epoch uint64, units bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("xtfwriter: %w", ioError("work folder "+dir, err))
	}
	for _, e := range entries {
		kind, n, ok := workName(e.Name())
		if !ok {
			continue
		}
		epoch = max(epoch, n)
		units = units || kind == "list"
	}
	return epoch, units, nil
}

// workName takes apart seg.<epoch>.<rank> and list.<epoch>.<rank>.
func workName(name string) (kind string, epoch uint64, ok bool) {
	part := strings.Split(name, ".")
	if len(part) < 3 || (part[0] != "seg" && part[0] != "list") {
		return "", 0, false
	}
	epoch, err := strconv.ParseUint(part[1], 10, 64)
	return part[0], epoch, err == nil
}

// cleanFolder removes the files that runs left in a work folder, and nothing else.
func cleanFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if _, _, ok := workName(e.Name()); ok && err == nil {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return err
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
// removed. Collective; every rank calls it, whether the run succeeded or not.
func (w *Workspace) Close() error {
	err := w.Store.Close(true)
	if berr := w.comm.Barrier(); err == nil {
		err = berr
	}
	if w.comm.Rank() == 0 && err == nil {
		err = w.release()
	}
	return agree(w.comm, err)
}

// release removes folder and lock, unless a younger run owns them.
func (w *Workspace) release() error {
	if w.comm.Rank() != 0 || w.CheckEpoch() != nil {
		return nil
	}
	err := cleanFolder(w.cfg.WorkDir)
	if err == nil {
		if rerr := os.Remove(w.cfg.WorkDir); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) && !folderInUse(w.cfg.WorkDir) {
			err = rerr
		}
	}
	return errors.Join(err, os.Remove(LockPath(w.cfg.Output)))
}

// folderInUse says whether somebody keeps other files in the folder: it stays.
func folderInUse(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

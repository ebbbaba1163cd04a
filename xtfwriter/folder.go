package xtfwriter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

// Names of the files in a work folder. All but the job file have the epoch and the rank of their writer in the name.
const (
	jobFile  = "job" // whose units the folder holds: the identity, then Config.About
	segKind  = "seg"
	listKind = "list"
	markKind = "mark" // the name ends with the stage
	newEnd   = ".new" // a file that will replace another one
)

// mostJob is the greatest size of the job file, in bytes.
const mostJob = 16 << 20

func segName(o Owner) string  { return fmt.Sprintf("%s.%d.%d", segKind, o.Epoch, o.Rank) }
func listName(o Owner) string { return fmt.Sprintf("%s.%d.%d", listKind, o.Epoch, o.Rank) }

func markName(o Owner, stage uint32) string {
	return fmt.Sprintf("%s.%d.%d.%d", markKind, o.Epoch, o.Rank, stage)
}

// workName parses the name of a file of a work folder. ok is false for names that no run gives to a file.
func workName(name string) (kind string, o Owner, ok bool) {
	name, half := strings.CutSuffix(name, newEnd)
	part := strings.Split(name, ".")
	fields := map[string]int{jobFile: 1, segKind: 3, listKind: 3, markKind: 4}[part[0]]
	if fields == 0 || len(part) != fields {
		return "", o, false
	}
	kind = part[0]
	if fields > 1 {
		var err, rerr error
		o.Epoch, err = strconv.ParseUint(part[1], 10, 64)
		o.Rank, rerr = strconv.Atoi(part[2])
		if err != nil || rerr != nil {
			return "", o, false
		}
	}
	if half {
		kind = newEnd
	}
	return kind, o, true
}

// folderFiles lists the files that earlier runs left in a work folder.
type folderFiles struct {
	Epoch uint64   // the highest
	Lists []string // names of lists and marks
	segs  []Owner
}

// oldFiles lists the files of a work folder. A folder that does not exist gives an empty result.
func oldFiles(dir string) (f folderFiles, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("xtfwriter: %w", OutputError("work folder "+dir, err))
	}
	for _, e := range entries {
		kind, o, ok := workName(e.Name())
		if !ok {
			continue
		}
		f.Epoch = max(f.Epoch, o.Epoch)
		switch kind {
		case listKind, markKind:
			f.Lists = append(f.Lists, e.Name())
		case segKind:
			f.segs = append(f.segs, o)
		}
	}
	return f, nil
}

// removeUnlisted removes the segment files of each run and rank (Owner) without a list or mark.
func (f *folderFiles) removeUnlisted(dir string) error {
	listed := map[Owner]bool{}
	for _, name := range f.Lists {
		_, o, _ := workName(name)
		listed[o] = true
	}
	for _, o := range f.segs {
		if listed[o] {
			continue
		}
		if err := os.Remove(filepath.Join(dir, segName(o))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// cleanFolder removes the files of earlier runs from a work folder, and no others.
func cleanFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if _, _, ok := workName(e.Name()); ok && err == nil {
			if err = os.Remove(filepath.Join(dir, e.Name())); errors.Is(err, fs.ErrNotExist) {
				err = nil // a survivor of an older run removed its own
			}
		}
	}
	return err
}

// readJob returns the content of the job file, which claim wrote: Config.Identity and Config.About.
func (w *Workspace) readJob() (identity, about string, err error) {
	b, err := readRegular(filepath.Join(w.cfg.WorkDir, jobFile), mostJob, xtf.ErrCorrupt)
	identity, about, _ = strings.Cut(string(b), "\n")
	return identity, about, err
}

// mayKeep returns whether this run takes over the finished units in the folder. If it returns false, they are to be removed. It returns
// ErrUnits if neither Resume nor Force is set, and ErrOtherJob if they are of another job and Force is not set.
func (w *Workspace) mayKeep() (bool, error) {
	dir := w.cfg.WorkDir
	if !w.cfg.Resume {
		if w.cfg.Force {
			return false, nil
		}
		return false, fmt.Errorf("xtfwriter: %w: %s holds finished units of an interrupted run", ErrUnits, dir)
	}
	identity, about, err := w.readJob()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("xtfwriter: %w", OutputError("work folder "+dir, err))
	}
	switch {
	case err == nil && identity == w.cfg.Identity:
		return true, nil
	case w.cfg.Force:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("xtfwriter: %w: %s does not say which", ErrOtherJob, dir)
	}
	return false, fmt.Errorf("xtfwriter: %w: %s: %s", ErrOtherJob, dir, w.cfg.differs([]byte(about)))
}

// checkFolder returns ErrOtherJob if Config.WorkDir names the folder of another job, unless Config.Force is set. That job may be running
// and have no list yet.
func (w *Workspace) checkFolder() error {
	if !w.named || w.cfg.Force {
		return nil
	}
	identity, about, err := w.readJob()
	if err != nil || identity == w.cfg.Identity { // mayKeep handles a folder without a job file
		return nil
	}
	return fmt.Errorf("xtfwriter: %w, which may be running: %s: %s", ErrOtherJob, w.cfg.WorkDir, w.cfg.differs([]byte(about)))
}

func (c *Config) differs(about []byte) string {
	if c.Differs == nil {
		return "its identity is another"
	}
	return c.Differs(about)
}

// stillOwn returns ErrSuperseded if a younger run has taken over the output, and ErrOtherJob if another job has taken over the folder.
func (w *Workspace) stillOwn() error {
	if err := w.CheckEpoch(); err != nil {
		return err
	}
	if identity, _, err := w.readJob(); err == nil && identity != w.cfg.Identity {
		return fmt.Errorf("xtfwriter: %w: %s", ErrOtherJob, w.cfg.WorkDir)
	}
	return nil
}

// Checkpoint adds the units that have finished since the last call to this rank's list, and returns their number. From then on a run with
// Config.Resume can take them over. It is not collective.
func (w *Workspace) Checkpoint() (int, error) {
	if err := w.stillOwn(); err != nil {
		return 0, err
	}
	return w.Store.appendList(filepath.Join(w.cfg.WorkDir, listName(w.Store.own)), w.cfg.Identity, w.comm.Size())
}

// Mark lists all sealed segments of all ranks as the state at the end of a stage, which must be above 0. Once all ranks have written their
// mark, it removes the mark before. Collective.
func (w *Workspace) Mark(stage uint32) error {
	err := w.stillOwn()
	if err == nil {
		err = w.Store.writeMark(filepath.Join(w.cfg.WorkDir, markName(w.Store.own, stage)), w.cfg.Identity, w.comm.Size(), stage)
	}
	old := w.marked
	if err == nil {
		w.marked = stage
	}
	if err = w.comm.Agree(err); err != nil || old == 0 || old == stage {
		return err
	}
	if rerr := os.Remove(filepath.Join(w.cfg.WorkDir, markName(w.Store.own, old))); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = fmt.Errorf("xtfwriter: %w", rerr)
	}
	return err
}

// held returns whether there is a whole list or mark of an earlier run.
func (k *Kept) held() bool { return k != nil && k.lists > k.Torn }

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

// Files of a work folder. All but the job file carry the epoch and the rank of who wrote them.
const (
	jobFile  = "job" // what the folder's units belong to: the identity, and Config.About
	segKind  = "seg"
	listKind = "list"
	markKind = "mark" // and the stage
	newEnd   = ".new" // of a file that is being replaced
)

// mostJob bounds the job file, bytes.
const mostJob = 16 << 20

func segName(o Owner) string  { return fmt.Sprintf("%s.%d.%d", segKind, o.Epoch, o.Rank) }
func listName(o Owner) string { return fmt.Sprintf("%s.%d.%d", listKind, o.Epoch, o.Rank) }

func markName(o Owner, stage uint32) string {
	return fmt.Sprintf("%s.%d.%d.%d", markKind, o.Epoch, o.Rank, stage)
}

// workName takes the name of a file of a work folder apart.
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

// folderFiles is what runs left in a work folder.
type folderFiles struct {
	Epoch uint64   // the highest
	Lists []string // and marks
	segs  []Owner
}

// oldFiles looks into a work folder; none is like an empty one.
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

// removeUnlisted removes segment files of runs and ranks that left no list.
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

// cleanFolder removes the files that runs left in a work folder, and nothing else.
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

// readJob reads what writeJob wrote.
func (w *Workspace) readJob() (identity, about string, err error) {
	b, err := readRegular(filepath.Join(w.cfg.WorkDir, jobFile), mostJob, xtf.ErrCorrupt)
	identity, about, _ = strings.Cut(string(b), "\n")
	return identity, about, err
}

// mayKeep says whether this run takes the finished units of the folder over; else they are removed. It fails where they are
// somebody's who did not say so.
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

// shared fails where a folder that was asked for is that of another job, which may run now and have no list yet.
func (w *Workspace) shared() error {
	if !w.named || w.cfg.Force {
		return nil
	}
	identity, about, err := w.readJob()
	if err != nil || identity == w.cfg.Identity { // mayKeep tells what a folder without a job file is
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

// stillOwn fails where a younger run took the output over, or another job the folder.
func (w *Workspace) stillOwn() error {
	if err := w.CheckEpoch(); err != nil {
		return err
	}
	if identity, _, err := w.readJob(); err == nil && identity != w.cfg.Identity {
		return fmt.Errorf("xtfwriter: %w: %s", ErrOtherJob, w.cfg.WorkDir)
	}
	return nil
}

// Checkpoint lists the units that finished since the last one: from now on a run with Config.Resume takes them over. It
// is not collective. It returns how many units were added.
func (w *Workspace) Checkpoint() (int, error) {
	if err := w.stillOwn(); err != nil {
		return 0, err
	}
	return w.Store.appendList(filepath.Join(w.cfg.WorkDir, listName(w.Store.own)), w.cfg.Identity, w.comm.Size())
}

// Mark keeps all sealed segments of all ranks as the state at the end of a stage, above 0. The mark before it is removed
// once all ranks have theirs. Collective.
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

// held says whether there are lists of older runs.
func (k *Kept) held() bool { return k != nil && k.lists > k.Torn }

package xtfwriter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/xtf"
)

// Lock is the content of the lock file of a running analysis, RUN.xtf.lock. It
// lies next to the output wherever the work folder is.
type Lock struct {
	Identity string `json:"identity"` // of input and options, as in provenance
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	Job      string `json:"job,omitempty"` // of a batch system
	Epoch    uint64 `json:"epoch"`         // raised by every run that takes the output

	torn bool // the file holds no whole lock
}

func (l Lock) String() string {
	if l == (Lock{}) {
		return "somebody who left no name"
	}
	s := fmt.Sprintf("process %d on %s", l.PID, l.Host)
	if l.Job != "" {
		s += ", job " + l.Job
	}
	return s
}

// LockPath is where the lock of an output lies.
func LockPath(output string) string { return output + ".lock" }

// readLock returns the lock at path; ok is false if there is none. What cannot be read as a lock is somebody's anyway, but for
// what a full disk leaves of one: an empty file, or one that begins as a lock does and says of no process. That is nobody's.
func readLock(path string) (l Lock, ok bool, err error) {
	b, err := readRegular(path, 64<<10, xtf.ErrCorrupt)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, false, nil
	case errors.Is(err, xtf.ErrCorrupt):
		return l, true, nil
	case err != nil:
		return l, false, OutputError("lock file "+path, err)
	case json.Unmarshal(b, &l) != nil || l == Lock{}:
		return Lock{torn: len(b) == 0 || b[0] == '{'}, true, nil
	}
	return l, true, nil
}

// acquire takes the lock at path for l. A lock that is there already is taken
// over if its process is gone from this host or with takeover; else ErrLocked.
// The epoch is one above the old lock's and at least above floor.
func acquire(path string, l Lock, floor uint64, takeover bool) (Lock, error) {
	tmp := fmt.Sprintf("%s.%d%s", path, l.PID, newEnd)
	err := holding(path, func() error {
		old, err := lockedBy(path, l, takeover)
		if err != nil {
			return err
		}
		l.Epoch = max(old.Epoch, floor) + 1
		return OutputError("lock file "+path, replaceBy(tmp, path, l.bytes()))
	})
	if err == nil { // where nothing holds, others may have taken it over at the same moment: the last one has it
		return l, stillOwns(path, l)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	l.Epoch = floor + 1
	if err = appear(tmp, path, l.bytes()); errors.Is(err, fs.ErrExist) {
		return l, fmt.Errorf("%w: lock file %s", ErrLocked, path)
	}
	return l, OutputError("lock file "+path, err)
}

// bytes is the content of the file.
func (l Lock) bytes() []byte {
	b, _ := json.Marshal(l) // numbers and strings
	return append(b, '\n')
}

// holding calls act while no other process takes the lock at path over or frees it: what it is, and what is done about it, are then one
// step. On a file system that holds no files for processes act is called anyway. fs.ErrNotExist: there is no lock.
func holding(path string, act func() error) error {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|nonBlocking, 0) // NFS holds none that is open for reading alone
		if err != nil {
			f, err = os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
		}
		if err != nil {
			return OutputError("lock file "+path, err)
		}
		hold(f)
		held, err := f.Stat()
		now, err2 := os.Stat(path)
		if err = errors.Join(err, err2); err == nil && os.SameFile(held, now) {
			return errors.Join(act(), f.Close())
		}
		f.Close()
		if err != nil {
			return err
		}
	}
}

// appear makes a file that must not be there, whole or not at all: a link gives it its name. On a file system without links it
// is written in place, and removed where that fails.
func appear(tmp, path string, b []byte) error {
	err := writeFile(tmp, os.O_TRUNC, b)
	if err == nil {
		if err = os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
			if err = writeFile(path, os.O_EXCL, b); err != nil && !errors.Is(err, fs.ErrExist) {
				err = errors.Join(err, os.Remove(path))
			}
		}
	}
	if rerr := os.Remove(tmp); !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// freeLock removes the lock at path, and what processes left that died while they took it over.
func freeLock(path string) error {
	err := os.Remove(path)
	halves, _ := filepath.Glob(globEscape(path) + ".[0-9]*" + newEnd)
	for _, half := range halves {
		if rerr := os.Remove(half); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// lockedBy returns the lock at path, if any, and fails if it is somebody else's who must not be disturbed.
func lockedBy(path string, l Lock, takeover bool) (Lock, error) {
	old, found, err := readLock(path)
	if found && !takeover && !abandoned(old, l) {
		err = fmt.Errorf("%w: %s, lock file %s", ErrLocked, old, path)
	}
	return old, err
}

// abandoned says whether the owner ran on this host and is gone, or never had the lock.
func abandoned(old, l Lock) bool {
	return old.torn || old.PID > 0 && old.Host != "" && old.Host == l.Host && !alive(old.PID)
}

// stillOwns fails with ErrSuperseded if the lock at path is not l's any more.
func stillOwns(path string, l Lock) error {
	now, found, err := readLock(path)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: %s of epoch %d is gone", ErrSuperseded, path, l.Epoch)
	}
	if now.Epoch != l.Epoch || now.Host != l.Host || now.PID != l.PID {
		return fmt.Errorf("%w: %s, epoch %d is not %d", ErrSuperseded, path, now.Epoch, l.Epoch)
	}
	return nil
}

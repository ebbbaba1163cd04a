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

// Lock is the content of the lock file of a running analysis, RUN.xtf.lock. The file is always next to the output, also if the work folder
// is not.
type Lock struct {
	Identity string `json:"identity"` // of input and options, as in the provenance section
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	Job      string `json:"job,omitempty"` // of the batch system
	Epoch    uint64 `json:"epoch"`         // each run that takes the output adds 1

	torn bool // the file holds the beginning of a lock, or is empty
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

// LockPath returns the path of an output's lock file.
func LockPath(output string) string { return output + ".lock" }

// readLock returns the lock at path. ok is false if there is none. A full disk may leave an empty file or the beginning of a lock: such a
// lock is torn and belongs to nobody. A file with other content is taken for somebody's lock.
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

// acquire takes the lock at path for l and returns it with its epoch. It takes over an existing lock if takeover is set, or if the owner
// ran on this host and does not exist any more; else it returns ErrLocked. The new epoch is above the old lock's and above floor.
func acquire(path string, l Lock, floor uint64, takeover bool) (Lock, error) {
	tmp := fmt.Sprintf("%s.%d%s", path, l.PID, newEnd)
	err := whileLocked(path, func() error {
		old, err := lockedBy(path, l, takeover)
		if err != nil {
			return err
		}
		l.Epoch = max(old.Epoch, floor) + 1
		return OutputError("lock file "+path, replaceBy(tmp, path, l.bytes()))
	})
	if err == nil { // without flock another run may have taken over the lock at the same moment; the last one has it
		return l, stillOwns(path, l)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	l.Epoch = floor + 1
	if err = createWhole(tmp, path, l.bytes()); errors.Is(err, fs.ErrExist) {
		return l, fmt.Errorf("%w: lock file %s", ErrLocked, path)
	}
	return l, OutputError("lock file "+path, err)
}

// bytes returns the content of the lock file.
func (l Lock) bytes() []byte {
	b, _ := json.Marshal(l) // numbers and strings
	return append(b, '\n')
}

// whileLocked calls act while no other process can take over or free the lock at path. So act can look at the lock and change it in one
// step. A file system without flock does not keep others out; act is called all the same. The error is fs.ErrNotExist if there is no lock.
func whileLocked(path string, act func() error) error {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|nonBlocking, 0) // NFS gives no exclusive lock on a file that is opened for reading only
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

// createWhole makes a file with content b. It fails if the file exists. It writes b to tmp and links that to path, so that the file is
// never seen in part. On a file system without links it writes to path, and removes the file if that fails.
func createWhole(tmp, path string, b []byte) error {
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

// freeLock removes the lock at path, and the temporary files of processes that ended while they took it.
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

// lockedBy returns the lock at path, if there is one. It returns ErrLocked if takeover is false and the lock's owner may still run.
func lockedBy(path string, l Lock, takeover bool) (Lock, error) {
	old, found, err := readLock(path)
	if found && !takeover && !abandoned(old, l) {
		err = fmt.Errorf("%w: %s, lock file %s", ErrLocked, old, path)
	}
	return old, err
}

// abandoned returns whether the owner ran on this host and does not exist any more, or never had a whole lock.
func abandoned(old, l Lock) bool {
	return old.torn || old.PID > 0 && old.Host != "" && old.Host == l.Host && !alive(old.PID)
}

// stillOwns returns ErrSuperseded if the lock at path is no longer l.
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

package xtfwriter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is what a run asks of the file system next to the shared file. Tests record these calls, and fail them.
type disk interface {
	// create makes a file of segments, which must not be there.
	create(path string) (diskFile, error)
	// replace writes a small file next to path, syncs it and renames it to path.
	replace(path string, b []byte) error
	// writeSync writes into a file that is there, and returns once it is stored.
	writeSync(path string, b []byte, off int64) error
	link(old, name string) error // fails where the name is taken
	rename(old, name string) error
	remove(path string) error
	syncDir(dir string) error // makes names durable
}

// diskFile is an open file of segments.
type diskFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Name() string
}

// systemDisk is the operating system's.
type systemDisk struct{}

func (systemDisk) create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func (systemDisk) replace(path string, b []byte) error { return replaceBy(path+newEnd, path, b) }

// replaceBy is replace with another name for the time of writing.
func replaceBy(tmp, path string, b []byte) error {
	err := writeFile(tmp, os.O_TRUNC, b)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		if rerr := os.Remove(tmp); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return err
	}
	return syncDir(filepath.Dir(path))
}

func writeFile(path string, flag int, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func (systemDisk) writeSync(path string, b []byte, off int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, off)
	return errors.Join(err, f.Sync(), f.Close())
}

func (systemDisk) link(old, name string) error   { return os.Link(old, name) }
func (systemDisk) rename(old, name string) error { return os.Rename(old, name) }
func (systemDisk) remove(path string) error      { return os.Remove(path) }
func (systemDisk) syncDir(dir string) error      { return syncDir(dir) }

// syncDir makes renames in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return OutputError("directory "+dir, err)
	}
	return OutputError("directory "+dir, errors.Join(d.Sync(), d.Close()))
}

// readRegular reads a file of at most so many bytes. One that is longer, or no file, is damaged: nothing of it is read.
func readRegular(path string, most int64, damaged error) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > most {
		return nil, fmt.Errorf("%w: %s is not a file of at most %d bytes", damaged, path, most)
	}
	return os.ReadFile(path)
}

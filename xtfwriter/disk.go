package xtfwriter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk has the calls of a run to the file system, other than those for the shared file. Tests record them and make them fail.
type disk interface {
	// create makes a file for segments. It fails if the file exists.
	create(path string) (diskFile, error)
	// replace writes a small file next to path, syncs it and renames it to path.
	replace(path string, b []byte) error
	// writeSync writes b at off of an existing file and returns once it is on storage.
	writeSync(path string, b []byte, off int64) error
	link(old, name string) error // fails if the name exists
	rename(old, name string) error
	remove(path string) error
	syncDir(dir string) error // makes names durable
}

// diskFile is an open file with segments.
type diskFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Name() string
}

// systemDisk uses the operating system.
type systemDisk struct{}

func (systemDisk) create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func (systemDisk) replace(path string, b []byte) error { return replaceBy(path+newEnd, path, b) }

// replaceBy writes b to tmp, syncs it and renames it to path. If it fails, it removes tmp.
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

// readRegular reads a file of at most most bytes. A longer file, and what is not a regular file, is not read: the error is damaged.
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

package xtfwriter

import (
	"io/fs"
	"os"
	"slices"
	"sync"
)

// mostOpen is the number of segment files of earlier runs that a store keeps open at once. A job of thousands of ranks may be continued on
// one rank, and the system limits the files of a process.
const mostOpen = 64

// openFiles lists the open files of a store. The last one was opened last.
type openFiles struct {
	mu   sync.Mutex
	open []*oldFile
}

// oldFile is a segment file of an earlier run. It is read only, and it is opened again for a read if it is closed.
type oldFile struct {
	path string
	all  *openFiles
	f    *os.File // nil: not open
}

// reopen opens the file, after closing another one if mostOpen are open. The caller holds all.mu.
func (o *oldFile) reopen() error {
	if o.f != nil {
		return nil
	}
	if len(o.all.open) >= mostOpen {
		if err := o.all.open[0].close(); err != nil {
			return err
		}
	}
	f, err := os.Open(o.path)
	if err != nil {
		return err
	}
	o.f = f
	o.all.open = append(o.all.open, o)
	return nil
}

func (o *oldFile) close() error {
	if o.f == nil {
		return nil
	}
	err := o.f.Close()
	o.f = nil
	o.all.open = slices.DeleteFunc(o.all.open, func(x *oldFile) bool { return x == o })
	return err
}

// ReadAt implements io.ReaderAt.
func (o *oldFile) ReadAt(b []byte, off int64) (int, error) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if err := o.reopen(); err != nil {
		return 0, err
	}
	return o.f.ReadAt(b, off)
}

// Close closes the file. A later read opens it again.
func (o *oldFile) Close() error {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.close()
}

func (o *oldFile) Name() string { return o.path }

// WriteAt fails: segment files of earlier runs are never changed.
func (o *oldFile) WriteAt([]byte, int64) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: o.path, Err: fs.ErrPermission}
}

// Sync does nothing, since nothing is written.
func (o *oldFile) Sync() error { return nil }

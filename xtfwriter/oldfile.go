package xtfwriter

import (
	"io/fs"
	"os"
	"slices"
	"sync"
)

// mostOpen is how many segment files of earlier runs a store has open at once: a job of thousands of ranks may go on on
// one, which the system gives fewer.
const mostOpen = 64

// openFiles are those that are open, the one opened last at the end.
type openFiles struct {
	mu   sync.Mutex
	open []*oldFile
}

// oldFile is a segment file of an earlier run, read only. It is opened again whenever it is needed.
type oldFile struct {
	path string
	all  *openFiles
	f    *os.File // nil: not open
}

// reopen opens the file, and closes another where too many are. all.mu is held.
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

// Close closes the file until it is read again.
func (o *oldFile) Close() error {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.close()
}

func (o *oldFile) Name() string { return o.path }

// WriteAt fails: what earlier runs left never changes.
func (o *oldFile) WriteAt([]byte, int64) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: o.path, Err: fs.ErrPermission}
}

// Sync does nothing, since nothing is written.
func (o *oldFile) Sync() error { return nil }

package mpi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// sharedFile is the one open file after the Files of all in-process ranks.
type sharedFile struct {
	f    *os.File
	once sync.Once
	err  error
}

// localFile is a File over package os, as the in-process ranks use it.
type localFile struct {
	c    *local
	name string
	mode Mode
	s    *sharedFile
}

func (c *local) OpenFile(name string, mode Mode, _ map[string]string) (File, error) {
	if err := mode.check(name); err != nil {
		return nil, err
	}
	var own *sharedFile
	var oerr error
	if c.rank == 0 && c.usable("open") == nil {
		var f *os.File
		if f, oerr = openOS(name, mode); oerr == nil {
			own = &sharedFile{f: f}
		}
	}
	r, err := c.meet(context.Background(), call{op: fmt.Sprintf("open %s (mode %#x)", name, uint(mode))}, func(r *round) {
		if own != nil {
			r.file = own
		}
	}, nil)
	if err == nil {
		err = c.Agree(oerr)
	}
	if err != nil {
		if own != nil {
			err = errors.Join(err, own.f.Close())
		}
		return nil, err
	}
	return &localFile{c: c, name: name, mode: mode, s: r.file}, nil
}

// openOS opens a file and refuses a directory, which some modes would open.
func openOS(name string, mode Mode) (*os.File, error) {
	flags := os.O_RDONLY
	switch {
	case mode&WriteOnly != 0:
		flags = os.O_WRONLY
	case mode&ReadWrite != 0:
		flags = os.O_RDWR
	}
	for _, m := range [...]struct {
		mode Mode
		flag int
	}{{Create, os.O_CREATE}, {Truncate, os.O_TRUNC}} {
		if mode&m.mode != 0 {
			flags |= m.flag
		}
	}
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return nil, fileError("open", name, -1, err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = errf("open", ErrBadFile, "%s: is a directory", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *localFile) WriteAt(b []byte, off int64) error {
	if err := checkRange("write", f.name, b, off); err != nil {
		return err
	}
	if f.mode&ReadOnly != 0 {
		return errf("write", ErrReadOnly, "%s: opened for reading only", f.name)
	}
	n, err := f.s.f.WriteAt(b, off)
	if err != nil {
		return fileError("write", f.name, off+int64(n), err)
	}
	return nil
}

func (f *localFile) ReadAt(b []byte, off int64) error {
	if err := checkRange("read", f.name, b, off); err != nil {
		return err
	}
	if f.mode&WriteOnly != 0 {
		return errf("read", ErrMode, "%s: opened for writing only", f.name)
	}
	n, err := f.s.f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fileError("read", f.name, off+int64(n), err)
}

func (f *localFile) WriteAtAll(b []byte, off int64) error { return f.c.Agree(f.WriteAt(b, off)) }

func (f *localFile) Size() (int64, error) {
	st, err := f.s.f.Stat()
	if err != nil {
		return 0, fileError("size", f.name, -1, err)
	}
	return st.Size(), nil
}

func (f *localFile) Sync() error {
	return f.once("sync", func() error { return fileError("sync", f.name, -1, f.s.f.Sync()) })
}

func (f *localFile) Close() error {
	return f.once("close", func() error {
		f.s.once.Do(func() { f.s.err = fileError("close", f.name, -1, f.s.f.Close()) })
		return f.s.err
	})
}

// once runs act on rank 0 after all ranks have arrived, and agrees on its error.
func (f *localFile) once(op string, act func() error) error {
	if _, err := f.c.meet(context.Background(), call{op: op + " " + f.name}, nil, nil); err != nil {
		return err
	}
	var err error
	if f.c.rank == 0 {
		err = act()
	}
	return f.c.Agree(err)
}

package mpi

import (
	"context"
	"errors"
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
	s    *sharedFile
}

func (c *local) CreateFile(name string, _ map[string]string) (File, error) {
	var own *sharedFile
	var oerr error
	if c.rank == 0 && c.usable("open") == nil {
		f, err := os.Create(name)
		if oerr = fileError("open", name, -1, err); err == nil {
			own = &sharedFile{f: f}
		}
	}
	r, err := c.meet(context.Background(), call{op: "open " + name}, func(r *round) {
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
	return &localFile{c: c, name: name, s: r.file}, nil
}

func (f *localFile) WriteAt(b []byte, off int64) error {
	if err := checkRange(f.name, b, off); err != nil {
		return err
	}
	n, err := f.s.f.WriteAt(b, off)
	if err != nil {
		return fileError("write", f.name, off+int64(n), err)
	}
	return nil
}

func (f *localFile) WriteAtAll(b []byte, off int64) error { return f.c.Agree(f.WriteAt(b, off)) }

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

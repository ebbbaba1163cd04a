package xtfwriter

import (
	"bytes"
	"errors"
	"sync"

	"github.com/coppice-hpc/coppice/mpi"
)

// The kinds of operations that a crash can come between.
type opKind int

const (
	opWrite opKind = iota
	opSync         // everything written is stored
	opName         // the final name appears
	opSyncDir
)

// op is one operation of the log, of any rank.
type op struct {
	kind opKind
	off  int64
	b    []byte
}

// recorder logs what all ranks do to the file of a commit, in one order. With
// failAt it fails that operation, counted from 0.
type recorder struct {
	systemDisk
	mu     sync.Mutex
	log    []op
	failAt int
	count  int
}

var errDisk = errors.New("the disk failed")

// fails says whether the next operation is the one that has to fail.
func (r *recorder) fails() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.count-1 == r.failAt {
		return errDisk
	}
	return nil
}

func (r *recorder) note(o op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, o)
}

func (r *recorder) writeSync(path string, b []byte, off int64) error {
	if err := r.fails(); err != nil {
		return err
	}
	err := r.systemDisk.writeSync(path, b, off)
	r.note(op{opWrite, off, bytes.Clone(b)})
	r.note(op{kind: opSync})
	return err
}

func (r *recorder) link(old, name string) error {
	if err := r.fails(); err != nil {
		return err
	}
	err := r.systemDisk.link(old, name)
	r.note(op{kind: opName})
	return err
}

func (r *recorder) rename(old, name string) error {
	if err := r.fails(); err != nil {
		return err
	}
	err := r.systemDisk.rename(old, name)
	r.note(op{kind: opName})
	return err
}

func (r *recorder) syncDir(dir string) error {
	if err := r.fails(); err != nil {
		return err
	}
	err := r.systemDisk.syncDir(dir)
	r.note(op{kind: opSyncDir})
	return err
}

// recComm is a communicator whose files are recorded.
type recComm struct {
	mpi.Comm
	r *recorder
}

func (c recComm) CreateFile(name string, hints map[string]string) (mpi.File, error) {
	f, err := c.Comm.CreateFile(name, hints)
	if err != nil {
		return nil, err
	}
	return recFile{f, c.r, c.Rank()}, nil
}

type recFile struct {
	mpi.File
	r    *recorder
	rank int
}

func (f recFile) WriteAt(b []byte, off int64) error {
	if err := f.r.fails(); err != nil {
		return err
	}
	err := f.File.WriteAt(b, off)
	f.r.note(op{opWrite, off, bytes.Clone(b)})
	return err
}

func (f recFile) WriteAtAll(b []byte, off int64) error {
	err := f.File.WriteAtAll(b, off)
	f.r.note(op{opWrite, off, bytes.Clone(b)})
	return err
}

func (f recFile) Sync() error {
	err := f.File.Sync()
	if f.rank == 0 {
		if ferr := f.r.fails(); ferr != nil {
			return ferr
		}
		f.r.note(op{kind: opSync})
	}
	return err
}

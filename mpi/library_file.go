//go:build cgo && !nompi

package mpi

// #include <stdlib.h>
// #include "glue.h"
import "C"

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"unsafe"
)

// mpiFile is a File over MPI-IO. A call holds the lock for one piece, and ranks meet before collective calls.
type mpiFile struct {
	c    *mpiComm
	name string
	h    C.MPI_File
}

func (c *mpiComm) CreateFile(name string, hints map[string]string) (File, error) {
	if name == "" {
		return nil, errf("open", ErrNotExist, "the file name is empty")
	}
	if err := checkHints(name, hints); err != nil {
		return nil, err
	}
	var err error
	if c.rank == 0 { // libraries report this in different ways, and some only later
		if st, serr := os.Stat(name); serr == nil && st.IsDir() {
			err = errf("open", ErrBadFile, "%s: is a directory", name)
		}
	}
	if err := c.Agree(err); err != nil {
		return nil, err
	}
	f := &mpiFile{c: c, name: name}
	// If only some ranks could open the file it stays open there: closing is collective and would not succeed.
	if err := f.together("open", func() error { return c.l.openFile(f, hints) }); err != nil {
		return nil, err
	}
	if err := f.call("truncate", func() C.int { return C.cop_file_set_size(f.h, 0) }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkHints returns an error for hints that MPI_Info_set refuses, because its errors end the job.
func checkHints(name string, hints map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(hints)) {
		if v := hints[k]; k == "" || v == "" || len(k) >= C.MPI_MAX_INFO_KEY || len(v) >= C.MPI_MAX_INFO_VAL {
			return errf("open", ErrArg, "%s: hint %q=%q is empty or too long", name, k, v)
		}
	}
	return nil
}

// openFile opens the file. The lock is held.
func (l *library) openFile(f *mpiFile, hints map[string]string) error {
	var info C.MPI_Info
	if rc := C.cop_info_create(&info); rc != C.MPI_SUCCESS {
		return l.failure("open", rc)
	}
	defer C.cop_info_free(&info)
	for _, k := range slices.Sorted(maps.Keys(hints)) {
		ck, cv := C.CString(k), C.CString(hints[k])
		rc := C.cop_info_set(info, ck, cv)
		C.free(unsafe.Pointer(ck))
		C.free(unsafe.Pointer(cv))
		if rc != C.MPI_SUCCESS {
			return l.failure("open", rc)
		}
	}
	name := C.CString(f.name)
	defer C.free(unsafe.Pointer(name))
	var h C.MPI_File
	rc := C.cop_file_open(f.c.plane[systemPlane].h, name, C.MPI_MODE_RDWR|C.MPI_MODE_CREATE, info, &h)
	f.h = h
	return f.explain("open", l.failure("open", rc))
}

// explain adds the file's name to an error, and looks for a better class than ErrOther and ErrIO.
func (f *mpiFile) explain(op string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	e.Msg = f.name + ": " + e.Msg
	if op == "open" && (e.Class == ErrOther || e.Class == ErrIO) {
		if _, serr := os.Stat(f.name); serr != nil {
			if c := classOf(serr); c != 0 && !errors.Is(serr, fs.ErrNotExist) {
				e.Class = c
			}
		}
	}
	return e
}

// together makes a collective call of the I/O layer after all ranks have arrived, and agrees on its error.
func (f *mpiFile) together(op string, act func() error) error {
	err := func() error {
		if err := f.c.enter(op); err != nil {
			return err
		}
		defer f.c.leave()
		if err := f.c.meet(context.Background(), op); err != nil {
			return err
		}
		f.c.l.mu.Lock()
		defer f.c.l.mu.Unlock()
		return act()
	}()
	return f.c.Agree(err)
}

func (f *mpiFile) WriteAt(b []byte, off int64) error {
	if err := checkRange(f.name, b, off); err != nil {
		return err
	}
	for at := 0; at < len(b); at += fileChunk {
		piece := b[at:min(at+fileChunk, len(b))]
		if err := f.write(piece, off+int64(at), 0); err != nil {
			return err
		}
	}
	return nil
}

// write writes one piece and checks the count. It takes the lock.
func (f *mpiFile) write(b []byte, off int64, all C.int) error {
	f.c.l.mu.Lock()
	var n C.int
	rc := C.cop_file_write(f.h, C.int64_t(off), address(b), C.int(len(b)), all, &n)
	err := f.explain("write", f.c.l.failure("write", rc))
	f.c.l.mu.Unlock()
	if err == nil && int(n) != len(b) {
		err = errf("write", ErrShortWrite, "%s: offset %d: %d of %d bytes written", f.name, off, int(n), len(b))
	}
	if e, ok := errors.AsType[*Error](err); ok && (e.Class == ErrIO || e.Class == ErrOther || e.Class == ErrShortWrite) {
		return f.diagnose(e, b, off)
	}
	return err
}

// diagnose finds the reason of a failed write by writing the same bytes to the same place through the operating system: libraries report an
// I/O error only.
func (f *mpiFile) diagnose(e *Error, b []byte, off int64) error {
	w, err := os.OpenFile(f.name, os.O_WRONLY, 0)
	if err != nil {
		return e
	}
	_, err = w.WriteAt(b, off)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		return e
	}
	fe := fileError("write", f.name, off, err)
	if why, ok := errors.AsType[*Error](fe); ok {
		why.Code = e.Code
	}
	return fe
}

// WriteAtAll makes as many collective calls as the rank with most bytes needs; ranks without more bytes write none. If the arguments of one
// rank are wrong, no rank writes.
func (f *mpiFile) WriteAtAll(b []byte, off int64) error {
	if err := f.c.enter("write"); err != nil {
		return err
	}
	bad, chunk := checkRange(f.name, b, off), f.c.l.chunk
	rounds := []int64{int64((len(b) + chunk - 1) / chunk), 0}
	if bad != nil {
		rounds = []int64{0, 1}
	}
	err := f.c.allreduce("write", rounds, Max)
	if err == nil && rounds[1] == 0 {
		for i := range int(rounds[0]) {
			at := min(i*chunk, len(b))
			if werr := f.write(b[at:min(at+chunk, len(b))], off+int64(at), 1); err == nil {
				err = werr
			}
		}
	}
	f.c.leave()
	if err == nil {
		err = bad
	}
	return f.c.Agree(err)
}

func (f *mpiFile) Sync() error {
	return f.call("sync", func() C.int { return C.cop_file_sync(f.h) })
}

func (f *mpiFile) Close() error {
	h := f.h
	return f.call("close", func() C.int { return C.cop_file_close(&h) })
}

func (f *mpiFile) call(op string, act func() C.int) error {
	return f.together(op, func() error { return f.explain(op, f.c.l.failure(op, act())) })
}

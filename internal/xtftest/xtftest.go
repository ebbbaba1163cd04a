// Package xtftest composes small files for the tests of packages that read them.
package xtftest

import (
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/coppice-hpc/coppice/xtf"
)

// FileWriter composes a file from one process: regions in ascending P, the whole
// run last, then Commit. Package xtfwriter does the same from many ranks, with
// the same bytes.
type FileWriter struct {
	w     io.WriterAt
	out   *xtf.BlockWriter
	types *xtf.TypeTable
	id    [16]byte
	dir   *xtf.ArrayBuilder
	sink  xtf.Sink
}

// NewFileWriter begins a file with this identity; the directory is gathered in
// dirSink until Commit.
func NewFileWriter(w io.WriterAt, tt *xtf.TypeTable, id [16]byte, dirSink xtf.Sink) *FileWriter {
	return &FileWriter{
		w: w, out: xtf.NewBlockWriter(w, xtf.FirstRegion(tt)), types: tt, id: id, sink: dirSink,
		dir: xtf.NewArrayBuilder(xtf.NewEncoder(), tt.Lookup(xtf.TypeDirectory), xtf.WholeRun, dirSink),
	}
}

// Region writes the region of the next location.
func (f *FileWriter) Region(r *xtf.RegionPlan, process, thread uint32, events uint64) error {
	d := r.DirRow(f.out.Offset(), f.id)
	d.Process, d.Thread, d.Events = process, thread, events
	row, _ := f.dir.Append()
	d.Put(row)
	return r.WriteTo(f.out, f.id)
}

// Commit writes sections, types, directory and footer, and the superblock last.
func (f *FileWriter) Commit(sections []xtf.Blob) error {
	sum, err := f.dir.Finish()
	if err != nil {
		return err
	}
	tail := xtf.Tail{Types: f.types, FileID: f.id, Sections: sections, Dir: xtf.FinishedArray{Summary: sum, Data: f.sink}}
	sb, err := tail.WriteTo(f.out, f.out.Offset())
	if err != nil {
		return err
	}
	if err := f.out.Flush(); err != nil {
		return err
	}
	_, err = f.w.WriteAt(sb.Encode(), 0)
	return err
}

// MemorySink is a Scratch in memory, for small arrays and tests.
type MemorySink struct{ b []byte }

// Append implements Sink.
func (m *MemorySink) Append(b []byte) (int64, error) {
	off := len(m.b)
	m.b = append(m.b, b...)
	return int64(off), nil
}

// WriteAt implements io.WriterAt over bytes that were appended.
func (m *MemorySink) WriteAt(b []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b))-int64(len(b)) {
		return 0, io.ErrShortWrite
	}
	return copy(m.b[off:], b), nil
}

// ReadAt implements io.ReaderAt.
func (m *MemorySink) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Digest is SHA-256 over the decoded rows of all arrays in (P, type, N) order, the whole run last: equal for files with the same rows,
// whatever their codec and layout.
func Digest(f *xtf.File) (sum [32]byte, err error) {
	h := sha256.New()
	for n := uint32(0); n <= f.Procs(); n++ {
		p := xtf.Proc(n)
		if n == f.Procs() {
			p = xtf.WholeRun
		}
		ids, err := f.Arrays(p)
		for _, id := range ids {
			var a *xtf.Array
			if a, err = f.Array(p, id); err != nil {
				break
			}
			h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(n)<<32|uint64(id)), a.Len()))
			c := a.Rows(0, a.Len())
			for rows, _, ok := c.NextPage(); ok; rows, _, ok = c.NextPage() {
				h.Write(rows)
			}
			if err = c.Err(); err != nil {
				break
			}
		}
		if err != nil {
			return sum, err
		}
	}
	return [32]byte(h.Sum(nil)), nil
}

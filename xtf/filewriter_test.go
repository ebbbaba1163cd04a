package xtf

import (
	"fmt"
	"io"
)

// FileWriter composes a file from one process: regions in ascending P, the whole
// run last, then Commit. Package xtfwriter does the same from many ranks, with
// the same bytes.
type FileWriter struct {
	w     io.WriterAt
	out   *BlockWriter
	types *TypeTable
	id    [16]byte
	dir   *ArrayBuilder
	sink  Sink
}

// NewFileWriter begins a file with this identity; the directory is gathered in
// dirSink until Commit.
func NewFileWriter(w io.WriterAt, tt *TypeTable, id [16]byte, dirSink Sink) *FileWriter {
	return &FileWriter{
		w: w, out: NewBlockWriter(w, FirstRegion(tt)), types: tt, id: id, sink: dirSink,
		dir: NewArrayBuilder(NewEncoder(), tt.Lookup(TypeDirectory), WholeRun, dirSink),
	}
}

// Region writes the region of the next location.
func (f *FileWriter) Region(r *RegionPlan, process, thread uint32, events uint64) error {
	if r.proc != WholeRun && uint64(r.proc) != f.dir.Len() {
		return fmt.Errorf("xtf: region of proc %d where proc %d is due", r.proc, f.dir.Len())
	}
	d := r.DirRow(f.out.Offset(), f.id)
	d.Process, d.Thread, d.Events = process, thread, events
	row, _ := f.dir.Append()
	d.Put(row)
	return r.WriteTo(f.out, f.id)
}

// Commit writes sections, types, directory and footer, and the superblock last.
func (f *FileWriter) Commit(sections []Blob) error {
	sum, err := f.dir.Finish()
	if err != nil {
		return err
	}
	tail := Tail{f.types, f.id, sections, FinishedArray{Summary: sum, Data: f.sink}}
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

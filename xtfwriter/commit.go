package xtfwriter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// Region is the region of one location, ready to be laid out.
type Region struct {
	P               xtf.Proc
	Process, Thread uint32 // for the directory
	Events          uint64 // input events of the location
	Arrays          []xtf.FinishedArray
	Blobs           []xtf.Blob
}

// Parts is what a rank contributes to the file.
type Parts struct {
	Types  *xtf.TypeTable // the same on all ranks
	FileID [16]byte       // the same on all ranks

	// First is the first of this rank's locations, Regions their number. The ranks hold contiguous
	// ranges in ascending order: rank 0 begins with P 0.
	First   xtf.Proc
	Regions int
	// Region returns the i-th of them. It is called twice for each i, in
	// ascending order, once for the size and once for the bytes; both times it
	// must describe the same rows.
	Region func(i int) (Region, error)

	// WholeRun returns the arrays and blobs of the whole run; rank 0 only, nil
	// for none.
	WholeRun func() (Region, error)
	// Sections returns definitions, provenance, CCG and other sections; rank 0
	// only.
	Sections func() ([]xtf.Blob, error)

	// Collective writes through collective calls, for file systems where that
	// is faster. The bytes are the same.
	Collective bool
	// Hints go to the MPI library's I/O layer.
	Hints map[string]string
}

// Result says what a commit wrote.
type Result struct {
	FileBytes int64 // of the whole file
}

// commit is one Commit in progress on one rank.
type commit struct {
	w     *Workspace
	p     *Parts
	c     mpi.Comm
	tmp   string
	start int64   // offset of this rank's first region
	end   int64   // end of all regions
	size  []int64 // of this rank's regions
	file  mpi.File
	rows  []byte // directory rows of this rank
	out   []block
	super xtf.Superblock
	res   Result
}

// block remembers a write for verification: 16 bytes for 4 MiB.
type block struct {
	off int64
	n   uint32
	crc uint32
}

// tempPath is where a commit of this epoch writes before the rename: next to the
// output, so that the rename stays in one file system.
func (w *Workspace) tempPath() string {
	return fmt.Sprintf("%s.out.%d", w.cfg.Output, w.lock.Epoch)
}

// Commit writes the file from all ranks and gives it its name. Every rank copies
// its regions to the offset that the sizes of the others give it; rank 0
// adds the whole run, sections, types, directory and footer; after everything is
// synced and read back, rank 0 writes the superblock and renames. Collective: all
// ranks return the same error, and then nothing is under the output's name
// that was not there before.
//
// Memory: 4 MiB for the write buffer, one region's page tables, 64 bytes for each
// of the rank's locations; rank 0 one page of directory rows more.
func (w *Workspace) Commit(p *Parts) (Result, error) {
	m := &commit{w: w, p: p, c: w.comm, tmp: w.tempPath()}
	err := m.run()
	if err != nil {
		err = m.failed(err)
	}
	w.committed = err == nil
	return m.res, err
}

// failed cleans up after an error that all ranks agreed on. A run that was taken
// over finds its files gone: then that is the error.
func (m *commit) failed(err error) error {
	var epoch error
	if m.c.Rank() == 0 {
		epoch = m.w.CheckEpoch()
		if rerr := os.Remove(m.tmp); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	if epoch = m.c.Agree(epoch); errors.Is(epoch, ErrSuperseded) {
		return epoch
	}
	return err
}

func (m *commit) run() error {
	for _, step := range []func() error{m.place, m.write, m.store, m.publish} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// measure computes the exact size of every region of this rank, and their sum.
func (m *commit) measure() (all int64, err error) {
	m.size = make([]int64, m.p.Regions)
	for i := range m.size {
		plan, _, err := m.plan(i)
		if err != nil {
			return 0, err
		}
		m.size[i] = plan.Size()
		all += m.size[i]
	}
	return all, nil
}

// plan lays out region i.
func (m *commit) plan(i int) (*xtf.RegionPlan, Region, error) {
	r, err := m.p.Region(i)
	if err != nil {
		return nil, r, err
	}
	if want := m.p.First + xtf.Proc(i); r.P != want {
		return nil, r, fmt.Errorf("xtfwriter: region %d of rank %d is of proc %d, expected %d", i, m.c.Rank(), r.P, want)
	}
	plan, err := xtf.PlanRegion(m.p.Types, r.P, r.Arrays, r.Blobs)
	return plan, r, err
}

// place measures the regions, finds the offset of this rank, and opens the file.
func (m *commit) place() error {
	own, err := m.measure()
	if err == nil && m.c.Rank() == 0 { // what a run that was taken over makes now stays, if it ends before it looks again
		err = m.w.CheckEpoch()
	}
	var b []byte
	if err == nil {
		b = binary.LittleEndian.AppendUint64(nil, uint64(own))
	}
	all, gerr := m.c.Allgather(b)
	failed := gerr != nil
	m.end = xtf.FirstRegion(m.p.Types)
	for rank, b := range all {
		if rank == m.c.Rank() {
			m.start = m.end
		}
		if failed = failed || len(b) != 8; !failed {
			m.end += int64(binary.LittleEndian.Uint64(b))
		}
	}
	if failed {
		return m.c.Agree(errors.Join(err, gerr))
	}
	m.file, err = m.c.CreateFile(m.tmp, m.p.Hints)
	if err != nil {
		return m.c.Agree(fmt.Errorf("xtfwriter: %w", named(err)))
	}
	return nil
}

// fileWriter makes an mpi.File an io.WriterAt.
type fileWriter struct{ f mpi.File }

func (w fileWriter) WriteAt(b []byte, off int64) (int, error) {
	if err := w.f.WriteAt(b, off); err != nil {
		return 0, named(err)
	}
	return len(b), nil
}

// writer starts a stream at off whose blocks are remembered.
func (m *commit) writer(w io.WriterAt, off int64) *xtf.BlockWriter {
	out := xtf.NewBlockWriter(w, off)
	out.Block = func(off int64, b []byte) {
		m.out = append(m.out, block{off, uint32(len(b)), crc32.Checksum(b, castagnoli)})
	}
	return out
}

// write streams this rank's regions to their place, and what comes after them.
func (m *commit) write() error {
	var err error
	if m.p.Collective {
		err = m.writeCollective()
	} else {
		err = m.stream(m.writer(fileWriter{m.file}, m.start))
	}
	if derr := m.directory(); err == nil {
		err = derr
	}
	if err = m.c.Agree(err); err != nil {
		err = errors.Join(err, m.file.Close())
		m.file = nil
	}
	return err
}

func (m *commit) stream(out *xtf.BlockWriter) error {
	at := m.start
	m.rows = make([]byte, 0, len(m.size)*xtf.DirRowBytes)
	for i, size := range m.size {
		plan, r, err := m.plan(i)
		if err != nil {
			return err
		}
		if plan.Size() != size {
			return fmt.Errorf("xtfwriter: region of proc %d has %d bytes, had %d when it was measured", r.P, plan.Size(), size)
		}
		if err := plan.WriteTo(out, m.p.FileID); err != nil {
			return err
		}
		d := plan.DirRow(at, m.p.FileID)
		d.Process, d.Thread, d.Events = r.Process, r.Thread, r.Events
		m.rows = m.rows[:len(m.rows)+xtf.DirRowBytes]
		d.Put(m.rows[len(m.rows)-xtf.DirRowBytes:])
		at += size
	}
	return out.Flush()
}

// tail does rank 0's part of directory. It takes all rows even after an error, so
// that no sender waits for ever.
func (m *commit) tail() error {
	sink := m.w.Store.Scratch()
	defer sink.Drop()
	dir := xtf.NewArrayBuilder(xtf.NewEncoder(), m.p.Types.Lookup(xtf.TypeDirectory), xtf.WholeRun, sink)
	add := func(b []byte) error {
		for ; len(b) >= xtf.DirRowBytes; b = b[xtf.DirRowBytes:] {
			row, _ := dir.Append()
			copy(row, b)
		}
		return nil
	}
	if err := m.gather(add); err != nil {
		return err
	}
	out := m.writer(fileWriter{m.file}, m.end)
	row, err := m.wholeRun(out)
	if err != nil {
		return err
	}
	b := make([]byte, xtf.DirRowBytes)
	row.Put(b)
	if err := add(b); err != nil {
		return err
	}
	sum, err := dir.Finish()
	if err != nil {
		return err
	}
	t := xtf.Tail{Types: m.p.Types, FileID: m.p.FileID, Dir: xtf.FinishedArray{Summary: sum, Data: sink}}
	if m.p.Sections != nil {
		if t.Sections, err = m.p.Sections(); err != nil {
			return err
		}
	}
	if m.super, err = t.WriteTo(out, out.Offset()); err != nil {
		return err
	}
	return out.Flush()
}

// wholeRun writes the region about all locations.
func (m *commit) wholeRun(out *xtf.BlockWriter) (xtf.DirRow, error) {
	r := Region{P: xtf.WholeRun}
	if m.p.WholeRun != nil {
		var err error
		if r, err = m.p.WholeRun(); err != nil {
			return xtf.DirRow{}, err
		}
	}
	plan, err := xtf.PlanRegion(m.p.Types, xtf.WholeRun, r.Arrays, r.Blobs)
	if err != nil {
		return xtf.DirRow{}, err
	}
	d := plan.DirRow(m.end, m.p.FileID)
	d.Events = r.Events
	return d, plan.WriteTo(out, m.p.FileID)
}

// sync brings the file to storage and closes it.
func (m *commit) sync() error {
	err := m.file.Sync()
	if cerr := m.file.Close(); err == nil {
		err = cerr
	}
	m.file = nil
	if err != nil {
		err = fmt.Errorf("xtfwriter: %s: %w", m.tmp, named(err))
	}
	return err
}

// store brings the file to storage and verifies it.
func (m *commit) store() error {
	err := m.sync()
	if err == nil {
		err = m.readBack()
	}
	return m.c.Agree(err)
}

// readBack reads back what this rank wrote: MPI libraries were seen to report
// success for writes that a full disk lost.
func (m *commit) readBack() error {
	f, err := os.Open(m.tmp)
	if err != nil {
		return fmt.Errorf("xtfwriter: %w", OutputError("reading back", err))
	}
	var b []byte
	for _, w := range m.out {
		if cap(b) < int(w.n) {
			b = make([]byte, w.n)
		}
		b = b[:w.n]
		if _, err = f.ReadAt(b, w.off); err != nil || crc32.Checksum(b, castagnoli) != w.crc {
			err = fmt.Errorf("xtfwriter: %w: %s: %d bytes at %d differ when read back: the disk may be full or the file system faulty",
				ErrWrite, m.tmp, w.n, w.off)
			break
		}
	}
	return errors.Join(err, f.Close())
}

// collectiveFile turns the writes of one rank into collective calls.
type collectiveFile struct {
	f      mpi.File
	made   int64
	failed bool // a collective call failed: on all ranks, so all stop
}

func (w *collectiveFile) WriteAt(b []byte, off int64) (int, error) {
	w.made++
	if err := w.f.WriteAtAll(b, off); err != nil {
		w.failed = true
		return 0, named(err)
	}
	return len(b), nil
}

// writeCollective is stream with collective writes. The ranks need not make the same number of them: they are counted beforehand from the
// sizes, and whoever is done takes part with empty ones until all are.
func (m *commit) writeCollective() error {
	var own int64
	for _, n := range m.size {
		own += n
	}
	calls := []int64{(own + xtf.BlockBytes - 1) / xtf.BlockBytes}
	if err := m.c.AllreduceInt64(calls, mpi.Max); err != nil {
		return err
	}
	file := &collectiveFile{f: m.file}
	err := m.stream(m.writer(file, m.start))
	for !file.failed && file.made < calls[0] {
		if _, werr := file.WriteAt(nil, m.start); werr != nil {
			return errors.Join(err, werr)
		}
	}
	return err
}

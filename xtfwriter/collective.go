package xtfwriter

import (
	"errors"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// collectiveFile turns the writes of one rank into collective calls. The ranks
// need not make the same number of writes: whoever is done takes part with empty
// ones until all are.
type collectiveFile struct {
	f      mpi.File
	failed bool // a collective call failed: on all ranks, so all stop
}

func (w *collectiveFile) WriteAt(b []byte, off int64) (int, error) {
	if err := w.f.WriteAtAll(b, off); err != nil {
		w.failed = true
		return 0, named(err)
	}
	return len(b), nil
}

// writeCollective is stream with collective writes: the blocks of a rank are
// counted beforehand from the sizes, so that all ranks make as many calls.
func (m *commit) writeCollective() error {
	var own int64
	for _, n := range m.size {
		own += n
	}
	calls := []int64{(own + xtf.BlockBytes - 1) / xtf.BlockBytes}
	if err := m.c.AllreduceInt64(calls, mpi.Max); err != nil {
		return err
	}
	made := int64(0)
	out := m.writer(m.start)
	note := out.Block
	file := &collectiveFile{f: m.file}
	out = xtf.NewBlockWriter(file, m.start)
	out.Block = func(off int64, b []byte) {
		made++
		note(off, b)
	}
	err := m.stream(out)
	if file.failed {
		return err
	}
	// A rank that failed before a write still owes the others its calls.
	for ; made < calls[0]; made++ {
		if werr := m.file.WriteAtAll(nil, m.start); werr != nil {
			return errors.Join(err, named(werr))
		}
	}
	return err
}

package xtfwriter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/xtf"
)

// publish writes the superblock and gives the file its name, on rank 0.
func (m *commit) publish() error {
	var err error
	var size []byte
	if m.c.Rank() == 0 {
		size, err = binary.LittleEndian.AppendUint64(nil, m.super.FileEnd), m.seal()
	}
	if size, err = mpi.FromRank(m.c, 0, size, err); err == nil {
		m.res.FileBytes = int64(binary.LittleEndian.Uint64(size))
	}
	return err
}

// seal commits. The order is what a crash at any moment relies on: everything
// else is stored before the superblock is written, and the superblock is stored
// before the name appears.
func (m *commit) seal() error {
	if err := m.w.CheckEpoch(); err != nil {
		return err
	}
	if err := m.w.disk.writeSync(m.tmp, m.super.Encode(), 0); err != nil {
		return fmt.Errorf("xtfwriter: %w", OutputError("superblock of "+m.tmp, err))
	}
	f, err := xtf.OpenFile(m.tmp, xtf.Options{CacheBytes: 1 << 20})
	if err != nil {
		return fmt.Errorf("xtfwriter: %w: written file does not open: %w", ErrWrite, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	if err := m.w.CheckEpoch(); err != nil {
		return err
	}
	out := m.w.cfg.Output
	if err := m.name(out); err != nil {
		return fmt.Errorf("xtfwriter: %w", err)
	}
	if err := m.w.disk.syncDir(filepath.Dir(out)); err != nil {
		return fmt.Errorf("xtfwriter: %w", errors.Join(OutputError("output "+out, err), m.w.disk.remove(out)))
	}
	m.w.tidy(m.w.lock.Epoch)
	return nil
}

// name gives the file its name. Without force it never replaces a file: a hard
// link fails where a rename would not; file systems without links get a check and
// a rename. A run that was taken over by this one may have come first, with the same bytes.
func (m *commit) name(out string) error {
	if !m.w.cfg.Force {
		if m.w.disk.link(m.tmp, out) == nil {
			return nil
		}
		if done, err := m.w.checkOutput(); done || err != nil {
			return err
		}
	}
	return OutputError("output "+out, m.w.disk.rename(m.tmp, out))
}

// tidy removes the second name of the output, and what epochs left next to it up to the one that committed it.
// A name that cannot be removed is harmless, since no later run takes an epoch that is next to the output.
func (w *Workspace) tidy(epoch uint64) {
	for _, old := range outFiles(w.cfg.Output) {
		if old.epoch <= epoch {
			_ = w.disk.remove(old.path)
		}
	}
}

// outFile is a file before its rename.
type outFile struct {
	path  string
	epoch uint64
}

// outFiles lists the files of all epochs next to an output. A name that cannot be
// matched has none.
func outFiles(out string) (list []outFile) {
	paths, err := filepath.Glob(globEscape(out) + ".out.*")
	if err != nil {
		return nil
	}
	for _, path := range paths {
		n, err := strconv.ParseUint(strings.TrimPrefix(path, out+".out."), 10, 64)
		if err == nil {
			list = append(list, outFile{path, n})
		}
	}
	return list
}

// globEscape makes a path match itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

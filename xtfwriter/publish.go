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

// publish lets rank 0 write the superblock and give the file its name, and tells all ranks the file's size.
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

// seal does rank 0's part of publish. A crash at any moment leaves either no file of the output's name or a complete one: everything else
// is on storage before the superblock is written, and the superblock is on storage before the file gets its name.
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

// name gives the file its name. Without Config.Force it never replaces a file: it makes a hard link, which fails if the name exists, unlike
// a rename. On a file system without links it checks first and then renames. An older run, which this one took over, may already have made
// the same file.
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

// tidy removes the second name of the output, and the files next to it of all epochs up to the one that was committed. A name that cannot
// be removed does no harm: no later run uses the epoch of a file that is next to the output.
func (w *Workspace) tidy(epoch uint64) {
	for _, old := range outFiles(w.cfg.Output) {
		if old.epoch <= epoch {
			_ = w.disk.remove(old.path)
		}
	}
}

// outFile is a file that was not renamed to the output.
type outFile struct {
	path  string
	epoch uint64
}

// outFiles lists these files of all epochs.
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

// globEscape returns a pattern for filepath.Glob that matches path only.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

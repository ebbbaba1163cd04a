package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// archivePlace is the place of an archive: first in folder work, then in dir.
type archivePlace struct {
	dir, name string
	work      string // folder of this job
	made      bool   // this job made dir
}

const anchorSuffix = ".otf2"

func newArchivePlace(output string) *archivePlace {
	if name, ok := strings.CutSuffix(filepath.Base(output), anchorSuffix); ok && name != "" {
		return &archivePlace{dir: filepath.Dir(output), name: name}
	}
	return &archivePlace{dir: output, name: "traces"}
}

func (a *archivePlace) anchor() string { return filepath.Join(a.dir, a.name+anchorSuffix) }

// parts returns the names of an archive's parts in a folder, the anchor last.
func (a *archivePlace) parts() []string {
	return []string{a.name, a.name + ".def", a.name + anchorSuffix}
}

// prepare makes the folder and checks that the names are free.
func (a *archivePlace) prepare(force bool) error {
	err := os.Mkdir(a.dir, 0o777)
	a.made = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return xtfwriter.OutputError("", err)
	}
	return a.free(force)
}

// free fails if there is something that must not be replaced: without force any part of an archive, with force anything else.
func (a *archivePlace) free(force bool) error {
	for _, part := range slices.Backward(a.parts()) {
		path := filepath.Join(a.dir, part)
		st, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return xtfwriter.OutputError("", err)
		case !force:
			return fmt.Errorf("%w: %s", xtfwriter.ErrExists, path)
		case st.IsDir() != (part == a.name):
			return jobs.Fail(jobs.ExitUsage, fmt.Errorf("%s is not a part of an archive and is not replaced. Choose another name with -o", path))
		}
	}
	entries, err := os.ReadDir(filepath.Join(a.dir, a.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return xtfwriter.OutputError("", err)
	}
	for _, e := range entries {
		if !isLocationFile(e) {
			return jobs.Fail(jobs.ExitUsage, fmt.Errorf("%s is not a part of an archive and is not replaced. Choose another name with -o", filepath.Join(a.dir, a.name, e.Name())))
		}
	}
	return nil
}

// isLocationFile reports whether a file has the name of events or definitions of a location.
func isLocationFile(e fs.DirEntry) bool {
	ext := filepath.Ext(e.Name())
	_, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), ext), 10, 64)
	return err == nil && (ext == ".evt" || ext == ".def") && !e.IsDir()
}

// begin makes the folder of this job, and removes those of jobs that were killed.
func (a *archivePlace) begin() error {
	entries, err := os.ReadDir(filepath.Dir(a.work))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "archive.") && err == nil {
			err = os.RemoveAll(filepath.Join(filepath.Dir(a.work), e.Name()))
		}
	}
	return errors.Join(err, os.Mkdir(a.work, 0o777))
}

// publish moves the parts to dir, the anchor last. On an error it moves them back.
func (a *archivePlace) publish(force bool) error {
	err := a.free(force)
	if err == nil && force {
		err = a.removeOld()
	}
	for i, part := range a.parts() {
		if err != nil {
			break
		}
		if err = os.Rename(filepath.Join(a.work, part), filepath.Join(a.dir, part)); err != nil {
			for _, back := range a.parts()[:i] {
				err = errors.Join(err, os.Rename(filepath.Join(a.dir, back), filepath.Join(a.work, back)))
			}
		}
	}
	return err
}

// removeOld removes an archive of this name, the anchor first.
func (a *archivePlace) removeOld() error {
	folder := filepath.Join(a.dir, a.name)
	paths := []string{a.anchor(), folder + ".def"}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		paths = append(paths, filepath.Join(folder, e.Name()))
	}
	for _, path := range append(paths, folder) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// leave removes dir after a failure, if this job made it and it is empty.
func (a *archivePlace) leave() {
	if a.made {
		_ = os.Remove(a.dir)
	}
}

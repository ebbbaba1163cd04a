package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system in memory.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no file system can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk records to a disk that becomes full: the program goes on to its end, it is reported, and what was recorded
// stays. The archive is made when there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	disk := smallDisk(t, "3m")
	var errs strings.Builder
	command := l.launch(1, l.compileProgram(t, "survive.c"), "", "160000") // of 2 MiB and more
	r, err := Run(t.Context(), Options{Output: filepath.Join(disk, "run"), Command: command, Cache: cacheFolder, Out: &errs, Err: &errs})
	if !errors.Is(err, syscall.ENOSPC) || r.Exit != 0 || !strings.Contains(errs.String(), "done") || !strings.Contains(errs.String(), "no more room for events") {
		t.Fatalf("%v, %+v\n%s", err, r, errs.String())
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=30m"); err != nil {
		t.Fatal(err)
	}
	if r, err = Finish(filepath.Join(disk, "run"), false); err != nil {
		t.Fatal(err)
	}
	if len(r.Found) > 0 || len(r.Cut) != 1 || !strings.Contains(r.Cut[0], "no room on the disk") {
		t.Errorf("%v, %v", r.Cut, r.Found)
	}
	if n := sends(t, r.Archive); n < 40_000 || n >= 160_000 {
		t.Errorf("%d sends", n)
	}
	if _, err := os.Stat(filepath.Join(disk, "run", rawFolder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the recording is still there: %v", err)
	}
}

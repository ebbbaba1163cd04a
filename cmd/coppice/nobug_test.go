package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coppice-hpc/coppice/internal/column"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestUnwritableOutput gives every verb that writes an output that it cannot have: a folder that is none, a name that is too
// long, and a file system that is mounted for reading alone. That is for the user to change, and no bug.
func TestUnwritableOutput(t *testing.T) {
	run, platform := predictable(t, "ring:procs=2,events=200", platformOf4)
	dir := t.TempDir()
	sealed := filepath.Join(dir, "sealed")
	if err := os.Mkdir(sealed, 0o777); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	text := "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n"
	if err := os.WriteFile(program+".c", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mpicc", program+".c", "-o", program).CombinedOutput(); err != nil {
		t.Logf("without mpicc the recorder refuses before it writes: %v: %s", err, out)
	}
	places := []string{filepath.Join(platform, "x"), filepath.Join(dir, strings.Repeat("a", 300))}
	if err := syscall.Mount("tmpfs", sealed, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
		t.Logf("a read-only file system cannot be mounted here and is not tried: %v", err)
	} else {
		t.Cleanup(func() { _ = syscall.Unmount(sealed, 0) })
		places = append(places, filepath.Join(sealed, "x"))
	}
	for _, place := range places {
		for _, line := range []string{
			"analyze TRACE -q -o OUT", "report RUN -o OUT", "diff RUN RUN -o OUT", "query RUN rows -o OUT", "demo --spec ring:procs=2,events=100 -o OUT",
			"export RUN -q --to perfetto -o OUT", "export RUN -q --to parquet -o OUT", "export RUN -q --to csv --table calls -o OUT", "export RUN -q --to viewer -o OUT", "export RUN -q --to otf2 -o OUT",
			"predict RUN --platform PLATFORM -q -o OUT", "record -o OUT -- PROGRAM", "record -o OUT --log-ranks 0 -- PROGRAM", "manual OUT",
		} {
			args := strings.Fields(strings.NewReplacer("TRACE", filepath.Join(filepath.Dir(run), "traces.otf2"), "RUN", run, "PLATFORM", platform, "PROGRAM", program, "OUT", place).Replace(line))
			if code, _, errs := call(args...); code != jobs.ExitUsage || strings.Contains(errs, "bug of coppice") {
				t.Errorf("%s to %.60s: status %d: %s", line, place, code, errs)
			}
		}
	}
}

// TestWhatIsNoBug has errors that reach the command line without a status.
func TestWhatIsNoBug(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("a column: %w", column.ErrCorrupt), jobs.ExitInput},
		{fmt.Errorf("an array: %w", xtf.ErrNoProc), jobs.ExitInput},
		{&fs.PathError{Op: "read", Path: "run.xtf", Err: syscall.EISDIR}, jobs.ExitInput},
		{&fs.PathError{Op: "open", Path: "a/b", Err: syscall.ENOTDIR}, jobs.ExitInput},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.ELOOP}, jobs.ExitInput},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.EMFILE}, jobs.ExitResource},
		{&fs.PathError{Op: "write", Path: "a", Err: syscall.EFBIG}, jobs.ExitResource},
	} {
		if code := jobs.ExitCode(x.err); code != x.code {
			t.Errorf("%v: status %d, want %d", x.err, code, x.code)
		}
		out := outputError(x.err)
		if code := jobs.ExitCode(out); code == jobs.ExitInternal {
			t.Errorf("%v: status %d", out, code)
		}
	}
}

package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/fileio"
)

// placedProgram reads a file at 0, 4096, 8192 (in a row), 20480 (beyond), 4000 (back, at no block, 192 bytes of it read before), then from the
// position that a seek sets, 100, of which all were read. It writes 8192 to 8292, reads these again, which is new, and reads through a handle
// that appends, whose position nobody knows, and through one of MPI-IO, whose offsets are not bytes.
const placedProgram = `-- definitions --
STRING self=0 string="POSIX"
STRING self=1 string="POSIX I/O"
STRING self=2 string="/data/a"
STRING self=3 string="MPI-IO"
STRING self=4 string="Offset"
ATTRIBUTE self=0 name=4 type=4
IO_PARADIGM self=0 identification=0 name=1
IO_PARADIGM self=1 identification=3 name=3 io_paradigm_class=1
IO_REGULAR_FILE self=0 name=2
IO_HANDLE self=0 name=2 file=0 io_paradigm=0
IO_HANDLE self=1 name=2 file=0 io_paradigm=0
IO_HANDLE self=2 name=2 file=0 io_paradigm=1
-- program --
processes 1
-- events --
0 0 ENTER MPI_Init
0 1 LEAVE MPI_Init
0 2 IO_CREATE_HANDLE 0 0 0 0
0 3 IO_CREATE_HANDLE 1 0 0 2
0 4 IO_CREATE_HANDLE 2 0 0 0
0 10 IO_OPERATION_BEGIN 0 READ NONE 4096 1
0 11 IO_OPERATION_COMPLETE 0 4096 1
0 12 IO_OPERATION_BEGIN 0 READ NONE 4096 1
0 13 IO_OPERATION_COMPLETE 0 4096 1
0 14 IO_OPERATION_BEGIN 0 READ NONE 4096 1
0 15 IO_OPERATION_COMPLETE 0 4096 1
0 16 IO_SEEK 0 20480 0 20480
0 18 IO_OPERATION_BEGIN 0 READ NONE 100 1
0 19 IO_OPERATION_COMPLETE 0 100 1
0 20 IO_OPERATION_BEGIN 0 READ NONE 192 1 @0:4:4000
0 21 IO_OPERATION_COMPLETE 0 192 1
0 22 IO_SEEK 0 100 0 100
0 24 IO_OPERATION_BEGIN 0 READ NONE 10 1
0 25 IO_OPERATION_COMPLETE 0 10 1
0 26 IO_SEEK 0 8192 0 8192
0 27 IO_OPERATION_BEGIN 0 WRITE NONE 100 1
0 28 IO_OPERATION_COMPLETE 0 100 1
0 29 IO_SEEK 0 8192 0 8192
0 30 IO_OPERATION_BEGIN 0 READ NONE 100 1
0 31 IO_OPERATION_COMPLETE 0 100 1
0 32 IO_OPERATION_BEGIN 1 READ NONE 100 1
0 33 IO_OPERATION_COMPLETE 1 100 1
0 34 IO_OPERATION_BEGIN 2 READ NONE 100 1
0 35 IO_OPERATION_COMPLETE 2 100 1
0 80 ENTER MPI_Finalize
0 90 LEAVE MPI_Finalize
`

// TestOffsets compares where operations lie with what was worked out by hand.
func TestOffsets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, run := archiveOf(t, filepath.Join(dir, "archive"), placedProgram), filepath.Join(dir, "run.xtf")
	must(t, "analyze", archive, "-o", run, "-q")
	x := jsonOf[struct{ IO fileio.Totals }](t, "report", run, "io").IO
	if len(x.Files) != 2 {
		t.Fatalf("%+v", x.Files)
	}
	posix := x.Files[0]
	want := fileio.Sum{Count: 8, Bytes: 3*4096 + 100 + 192 + 10 + 100 + 100, Time: 8, Small: 8, Placed: 7, Followed: 6, Sequential: 4, Consecutive: 2, Unaligned: 2, Again: 192 + 10}
	if posix.Interface != "POSIX I/O" || posix.Read != want {
		t.Errorf("%+v, want %+v", posix.Read, want)
	}
	if w := posix.Write; w.Placed != 1 || w.Followed != 0 || w.Unaligned != 0 {
		t.Errorf("writes %+v", w)
	}
	if x.Files[1].Read.Placed != 0 {
		t.Errorf("MPI-IO %+v", x.Files[1])
	}
	for condition, code := range map[string]int{
		"random_reads>33%": 1, "random_reads>34%": 0, "unaligned_reads>0.28": 1, "unaligned_reads>0.29": 0, "file_bytes_read_again==202": 1,
		"file_bytes_written!=100": 0, "small_writes<1": 0, "random_writes<1": 1, "interval:root.small_reads==1": 1,
	} {
		if got, _, errs := call("report", run, "--fail-if", condition); got != code {
			t.Errorf("%s: status %d\n%s", condition, got, errs)
		}
	}
	if page := must(t, "report", run, "--format", "html", "-o", "-"); !strings.Contains(page, "Files over time") {
		t.Error("no picture of files over time")
	}
}

// TestOperationsOfHandles: an operation of MPI-IO and those of POSIX inside have one number, which tells operations of a handle apart. An end
// of an operation that never began is reported.
func TestOperationsOfHandles(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(placedProgram, "0 0 ENTER")
	archive, run := archiveOf(t, filepath.Join(t.TempDir(), "archive"), head+`0 0 ENTER main
0 10 IO_OPERATION_BEGIN 2 READ NONE 800 1
0 20 IO_OPERATION_BEGIN 0 READ NONE 500 1 @0:4:0
0 30 IO_OPERATION_BEGIN 1 READ NONE 300 1 @0:4:0
0 40 IO_OPERATION_COMPLETE 1 300 1
0 50 IO_OPERATION_COMPLETE 0 500 1
0 70 IO_OPERATION_COMPLETE 2 800 1
0 80 IO_OPERATION_COMPLETE 1 7 1
0 100 LEAVE main
`), filepath.Join(t.TempDir(), "run.xtf")
	must(t, "analyze", archive, "-o", run, "-q")
	got := map[string][3]uint64{}
	for _, x := range jsonOf[struct{ IO fileio.Totals }](t, "report", run, "io").IO.Files {
		got[x.Interface] = [3]uint64{x.Read.Bytes, x.Read.Time, x.Read.Placed}
	}
	if want := map[string][3]uint64{"MPI-IO": {800, 60, 0}, "POSIX I/O": {800, 40, 2}}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if text := must(t, "report", run, "diagnostics"); !strings.Contains(text, "file or one-sided operations that never began: 1 in 1 location") {
		t.Error(text)
	}
}

// sharedReads is two processes that read 0 to 8 kB and 4 to 12 kB of a file, the second one its last 4 kB twice: 16 kB for the first time, of 12.
const sharedReads = `-- definitions --
STRING self=0 string="POSIX"
STRING self=1 string="POSIX I/O"
STRING self=2 string="/data/a"
STRING self=3 string="Offset"
ATTRIBUTE self=0 name=3 type=4
IO_PARADIGM self=0 identification=0 name=1
IO_REGULAR_FILE self=0 name=2
IO_HANDLE self=0 name=2 file=0 io_paradigm=0
-- program --
processes 2
-- events --
0 0 ENTER main
0 2 IO_CREATE_HANDLE 0 0 0 0
0 10 IO_OPERATION_BEGIN 0 READ NONE 8000 1
0 40 IO_OPERATION_COMPLETE 0 8000 1
0 90 LEAVE main
1 0 ENTER main
1 2 IO_CREATE_HANDLE 0 0 0 0
1 10 IO_OPERATION_BEGIN 0 READ NONE 8000 1 @0:4:4000
1 40 IO_OPERATION_COMPLETE 0 8000 1
1 50 IO_OPERATION_BEGIN 0 READ NONE 4000 1 @0:4:8000
1 60 IO_OPERATION_COMPLETE 0 4000 1
1 90 LEAVE main
`

// TestSharedReads: what several processes read at least is said, and of a file that somebody writes nothing is.
func TestSharedReads(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text string
		says bool
	}{
		{sharedReads, true},
		{strings.Replace(sharedReads, "1 90 LEAVE", "1 70 IO_OPERATION_BEGIN 0 WRITE NONE 10 1\n1 71 IO_OPERATION_COMPLETE 0 10 1\n1 90 LEAVE", 1), false},
	} {
		text := must(t, "report", foundTrace(t, x.text), "io")
		if got := strings.Contains(text, "/data/a: at least 4 kB of 20 kB were read by several processes"); got != x.says {
			t.Errorf("%v, want %v:\n%s", got, x.says, text)
		}
	}
}

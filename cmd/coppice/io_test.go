package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report/fileio"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ioProgram has two processes. Process 0 reads 50 of 100 and 2 000 000 of as many bytes of file a in 10 and 30 ticks, and begins to write
// 7 bytes without an end; process 1 reads 100 bytes of a in 5 ticks through a handle of its own, and flushes b, which no interface is
// named of, in 2. The write of process 1 to b was cancelled.
const ioProgram = `-- definitions --
STRING self=0 string="POSIX"
STRING self=1 string="POSIX I/O"
STRING self=2 string="/data/a"
STRING self=3 string="b"
IO_PARADIGM self=0 identification=0 name=1
IO_REGULAR_FILE self=0 name=2
IO_HANDLE self=0 name=2 file=0 io_paradigm=0
IO_HANDLE self=1 name=2 file=0 io_paradigm=0
IO_HANDLE self=2 name=3 file=4294967295 io_paradigm=7
-- program --
processes 2
-- events --
0 0 ENTER MPI_Init
0 1 LEAVE MPI_Init
0 10 IO_OPERATION_BEGIN 0 READ NONE 100 1
0 20 IO_OPERATION_COMPLETE 0 50 1
0 30 IO_OPERATION_BEGIN 0 READ NONE 2000000 2
0 60 IO_OPERATION_COMPLETE 0 2000000 2
0 70 IO_OPERATION_BEGIN 0 WRITE NONE 7 3
0 80 ENTER MPI_Finalize
0 90 LEAVE MPI_Finalize
1 0 ENTER MPI_Init
1 1 LEAVE MPI_Init
1 40 IO_OPERATION_BEGIN 1 READ NONE 100 1
1 45 IO_OPERATION_COMPLETE 1 100 1
1 50 IO_OPERATION_BEGIN 2 FLUSH NONE 0 2
1 52 IO_OPERATION_COMPLETE 2 0 2
1 60 IO_OPERATION_BEGIN 2 WRITE NONE 9 3
1 61 IO_OPERATION_CANCELLED 2 3
1 80 ENTER MPI_Finalize
1 90 LEAVE MPI_Finalize
`

// TestFileIO compares section io with sums worked out by hand.
func TestFileIO(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive, run := archiveOf(t, filepath.Join(dir, "archive"), ioProgram), filepath.Join(dir, "run.xtf")
	must(t, "analyze", archive, "-o", run, "-q", "-j", "2")
	zero, one := uint32(0), uint32(1)
	read0, read1 := fileio.Sum{Count: 2, Bytes: 2_000_050, Time: 40, Small: 1}, fileio.Sum{Count: 1, Bytes: 100, Time: 5, Small: 1}
	read := fileio.Sum{Count: 3, Bytes: 2_000_150, Time: 45, Small: 2}
	unended, cancelled, flush := fileio.Sum{Count: 1, Small: 1, Unended: 1}, fileio.Sum{Count: 1, Small: 1, Time: 1}, fileio.Sum{Count: 1, Time: 2}
	a := fileio.Use{Interface: "POSIX I/O", Users: 2, TopBytes: 2_000_050, Read: read, Write: unended}
	b := fileio.Use{Interface: "not known", Users: 1, Top: 1, Write: cancelled, Other: flush}
	with := func(u fileio.Use, file string, p *uint32) fileio.Use {
		u.File, u.Process = file, p
		return u
	}
	want := fileio.Totals{
		Interfaces: []fileio.Use{a, b},
		Files:      []fileio.Use{with(a, "/data/a", nil), with(b, "b", nil)},
		Nodes:      []fileio.Use{},
		Processes: []fileio.Use{
			{Interface: "POSIX I/O", Process: &zero, Users: 1, TopBytes: 2_000_050, Read: read0, Write: unended},
			{Interface: "POSIX I/O", Process: &one, Users: 1, Top: 1, TopBytes: 100, Read: read1},
			with(b, "", &one),
		},
		Sizes: []fileio.Sizes{
			{Interface: "POSIX I/O", From: 0, Writes: 1},
			{Interface: "POSIX I/O", From: 100, Reads: 2},
			{Interface: "POSIX I/O", From: 1e6, Reads: 1},
			{Interface: "not known", From: 0, Writes: 1},
		},
	}
	got := jsonOf[struct{ IO fileio.Totals }](t, "report", run, "io").IO
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(fileio.Use{}, fileio.Sum{})); diff != "" {
		t.Error(diff)
	}
	if got := jsonOf[struct{ IO fileio.Totals }](t, "report", run, "io", "--ranks", "1").IO; len(got.Files) != 2 || got.Files[0].Read != read1 {
		t.Errorf("of rank 1: %+v", got.Files)
	}
	for _, form := range []string{"text", "md", "html", "csv"} {
		if text := must(t, "report", run, "io", "--format", form, "-o", "-"); !strings.Contains(text, "/data/a") || !strings.Contains(text, "POSIX I/O") {
			t.Errorf("%s:\n%s", form, text)
		}
	}
	text := must(t, "report", run, "io")
	if want := "/data/a: rank 0 reads and writes 2 MB of its 2 MB, 2 processes use it"; !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
	if strings.Contains(must(t, "report", run, "untold"), "IoOperation") {
		t.Error("operations that section io sums are said to be read by nobody")
	}
	none := filepath.Join(dir, "none.xtf")
	must(t, "analyze", archive, "-o", none, "-q", "--events", "none")
	if code, _, errs := call("report", none, "io"); code == 0 || !strings.Contains(errs, "--events none") {
		t.Errorf("without rows: status %d, %s", code, errs)
	}
}

// TestFileIOBeyond has a process that read more bytes than sums hold: the analysis says so, and the bytes count as none.
func TestFileIOBeyond(t *testing.T) {
	t.Parallel()
	text := strings.Replace(ioProgram, "1 50 IO_OPERATION_BEGIN 2 FLUSH NONE 0 2\n1 52 IO_OPERATION_COMPLETE 2 0 2\n",
		"1 50 IO_OPERATION_BEGIN 1 READ NONE 100 2\n1 52 IO_OPERATION_COMPLETE 1 9223372036854775807 2\n", 1)
	if text == ioProgram {
		t.Fatal("the program has another flush")
	}
	dir := t.TempDir()
	archive, run := archiveOf(t, filepath.Join(dir, "archive"), text), filepath.Join(dir, "run.xtf")
	code, _, errs := call("analyze", archive, "-o", run, "-q")
	if code != jobs.ExitPartial || !strings.Contains(errs, "too large to add up") {
		t.Errorf("status %d: %s", code, errs)
	}
	got := jsonOf[struct{ IO fileio.Totals }](t, "report", run, "io").IO
	if len(got.Interfaces) == 0 || got.Interfaces[0].Read != (fileio.Sum{Count: 4, Bytes: 2_000_150, Time: 47, Small: 3}) {
		t.Errorf("%+v", got.Interfaces)
	}
}

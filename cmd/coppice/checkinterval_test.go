package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// A program with markers of one and of two calls, a probe, Init and Finalize, and a
// collective.
const markedText = `
-- program --
processes 2
-- events --
0 0 ENTER main
0 1 ENTER MPI_Init
0 3 LEAVE MPI_Init
0 4 ENTER MPI_Sendrecv
0 4 MPI_SEND 0 MPI_COMM_WORLD 2852127146 0
0 5 MPI_RECV 0 MPI_COMM_WORLD 2852127146 0
0 5 LEAVE MPI_Sendrecv
0 6 ENTER MPI_Probe
0 8 LEAVE MPI_Probe
0 9 ENTER MPI_Recv
0 10 MPI_RECV 1 MPI_COMM_WORLD 1 64
0 11 LEAVE MPI_Recv
0 13 ENTER MPI_Sendrecv
0 13 MPI_SEND 0 MPI_COMM_WORLD 2852127163 0
0 14 MPI_RECV 0 MPI_COMM_WORLD 2852127163 0
0 15 LEAVE MPI_Sendrecv
0 16 ENTER MPI_Sendrecv
0 16 MPI_SEND 0 MPI_COMM_WORLD 10922 0
0 17 MPI_RECV 0 MPI_COMM_WORLD 10922 0
0 17 LEAVE MPI_Sendrecv
0 18 ENTER MPI_Sendrecv
0 18 MPI_SEND 0 MPI_COMM_WORLD 300 0
0 19 MPI_RECV 0 MPI_COMM_WORLD 300 0
0 19 LEAVE MPI_Sendrecv
0 20 ENTER MPI_Irecv
0 20 MPI_IRECV_REQUEST 7
0 21 LEAVE MPI_Irecv
0 25 ENTER MPI_Wait
0 29 MPI_IRECV 1 MPI_COMM_WORLD 2 8 7
0 29 LEAVE MPI_Wait
0 30 ENTER MPI_Barrier
0 30 MPI_COLLECTIVE_BEGIN
0 36 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 37 LEAVE MPI_Barrier
0 40 ENTER MPI_Finalize
0 44 LEAVE MPI_Finalize
0 45 LEAVE main
1 0 ENTER main
1 2 ENTER MPI_Init
1 3 LEAVE MPI_Init
1 7 ENTER MPI_Send
1 7 MPI_SEND 0 MPI_COMM_WORLD 1 64
1 8 LEAVE MPI_Send
1 28 ENTER MPI_Send
1 28 MPI_SEND 0 MPI_COMM_WORLD 2 8
1 29 LEAVE MPI_Send
1 35 ENTER MPI_Barrier
1 35 MPI_COLLECTIVE_BEGIN
1 36 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 36 LEAVE MPI_Barrier
1 40 ENTER MPI_Finalize
1 43 LEAVE MPI_Finalize
1 46 LEAVE main
`

// TestCheckIntervals: rows and sums agree for every choice of what counts where.
func TestCheckIntervals(t *testing.T) {
	t.Parallel()
	src, err := tracetest.Parse(markedText)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	in, run := filepath.Join(dir, "traces.otf2"), filepath.Join(dir, "run.xtf")
	for _, extra := range [][]string{
		nil,
		{"--marker-cost", "mpi"},
		{"--recv-point", "post"},
		{"--init", "exclude"},
		{"--init", "exclude", "--marker-cost", "mpi", "--recv-point", "post"},
		{"--markers", "none"},
		{"--slice", "7ticks"},
	} {
		must(t, append([]string{"analyze", in, "-o", run, "-f", "-q"}, extra...)...)
		if code, out, errs := call("check", run); code != 0 {
			t.Errorf("analyze %v: check has exit code %d\n%s%s", extra, code, out, errs)
		}
	}
}

// TestCheckWithoutRankZero checks a run of which rank 0 has no events: whose values are all 0 has no row, so it names no process.
func TestCheckWithoutRankZero(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "-o", dir, "--spec", "ring:procs=2,events=60")
	if err := os.Remove(filepath.Join(dir, "traces", "0.evt")); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run.xtf")
	if code, _, errs := call("analyze", dir, "-o", run, "-q", "-j", "1"); code != jobs.ExitPartial {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if code, c := checkOf(t, run); code != jobs.ExitDone {
		t.Errorf("exit code %d: %+v", code, c.Check.Problems)
	}
}

// TestCheckCutProgram checks --init exclude of programs that were cut: before MPI_Finalize the last event counts, in it it does not.
func TestCheckCutProgram(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"before": "0 5 ENTER compute\n",
		"in":     "0 5 ENTER MPI_Finalize\n",
		"after":  "0 5 ENTER MPI_Finalize\n0 6 LEAVE MPI_Finalize\n0 6 ENTER compute\n",
	} {
		src, err := tracetest.Parse("-- program --\nprocesses 1\n-- events --\n0 0 ENTER main\n0 1 ENTER MPI_Init\n0 3 LEAVE MPI_Init\n" + text)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
			t.Fatal(err)
		}
		run := filepath.Join(dir, "run.xtf")
		must(t, "analyze", dir, "-o", run, "-q", "-j", "1", "--init", "exclude")
		if code, c := checkOf(t, run); code != jobs.ExitDone {
			t.Errorf("cut %s MPI_Finalize: exit code %d: %+v", name, code, c.Check.Problems)
		}
	}
}

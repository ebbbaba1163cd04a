package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// TestWaitsOfThreads: both threads of process 0 receive. The first is in MPI for 50 ticks, from 10 to 60, and waits for the send at
// 50: 40 ticks. The second one waits from 5 to 60, 55 ticks, which are no part of the process's time in MPI.
func TestWaitsOfThreads(t *testing.T) {
	t.Parallel()
	src, err := tracetest.Parse(`
-- program --
processes 2
threads 2
-- events --
0 0 ENTER main
0 10 ENTER MPI_Recv
0 60 MPI_RECV 1 MPI_COMM_WORLD 1 8
0 60 LEAVE MPI_Recv
0 100 LEAVE main
1 5 ENTER MPI_Recv
1 70 MPI_RECV 1 MPI_COMM_WORLD 2 8
1 70 LEAVE MPI_Recv
2 0 ENTER main
2 50 ENTER MPI_Send
2 50 MPI_SEND 0 MPI_COMM_WORLD 1 8
2 55 LEAVE MPI_Send
2 60 ENTER MPI_Send
2 60 MPI_SEND 0 MPI_COMM_WORLD 2 8
2 65 LEAVE MPI_Send
2 100 LEAVE main
3 0 ENTER work
3 90 LEAVE work
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run.xtf")
	must(t, "analyze", filepath.Join(dir, "traces.otf2"), "-o", run, "-q")
	type answer struct {
		Summary struct {
			Ticks struct {
				MPI uint64 `json:"mpi"`
			} `json:"ticks"`
		} `json:"summary"`
		Waits struct {
			Total  uint64 `json:"total"`
			Others uint64 `json:"other_threads"`
		} `json:"waits"`
	}
	got := jsonOf[answer](t, "report", run, "summary", "waits")
	if got.Summary.Ticks.MPI != 50+10 || got.Waits.Total != 40 || got.Waits.Others != 55 {
		t.Errorf("%+v, want 60 ticks of MPI, 40 of waits and 55 of waits of other threads", got)
	}
	if out := must(t, "report", run, "waits"); !strings.Contains(out, "other threads than the first of a process wait") {
		t.Errorf("nothing is said of other threads:\n%s", out)
	}
	if code, out, errs := call("check", run); code != 0 {
		t.Errorf("check has exit code %d\n%s%s", code, out, errs)
	}
}

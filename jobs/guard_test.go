package jobs_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestFarTimes has times that no clock has 2^63 ticks after the first: a damaged stamp, whatever follows. The location ends
// before it, and the rest of the trace is analysed as if there were nothing else.
func TestFarTimes(t *testing.T) {
	for _, far := range []uint64{1<<63 + 10, 1<<64 - 3, 1<<64 - 1} {
		for _, clamp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d clamped %v", far, clamp), func(t *testing.T) {
				text := "-- program --\nprocesses 2\n-- events --\n" +
					"0 10 ENTER main\n0 20 ENTER MPI_Send\n0 20 MPI_SEND 1 0 7 64\n0 30 LEAVE MPI_Send\n0 %d LEAVE main\n" +
					"1 10 ENTER main\n1 20 ENTER MPI_Recv\n1 30 MPI_RECV 0 0 7 64\n1 30 LEAVE MPI_Recv\n1 50 LEAVE main\n"
				src, err := tracetest.Parse(fmt.Sprintf(text, far))
				if err != nil {
					t.Fatal(err)
				}
				out := filepath.Join(t.TempDir(), "run.xtf")
				one := analyzed(t, 1, jobs.AnalyzeOptions{Source: src, ClampTime: clamp, Output: out})
				got := readFound(t, openFile(t, out), src.Definitions())
				if got.Problems[trace.DiagCorrupt] != 1 || got.Execution != 40 || got.Events[0] != 4 || got.Events[1] != 5 {
					t.Errorf("%v, %d ticks, events %v", got.Problems, got.Execution, got.Events)
				}
				if !bytes.Equal(one, analyzed(t, 2, jobs.AnalyzeOptions{Source: src, ClampTime: clamp})) {
					t.Error("two ranks give another file")
				}
				if r, err := xtf.Check(openFile(t, out)); err != nil || len(r.Problems) > 0 {
					t.Error(r, err)
				}
			})
		}
	}
}

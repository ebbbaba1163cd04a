package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats/interval"
)

// goldenRun analyses a table of calls.
func goldenRun(t *testing.T, table string, flags interval.Flags) string {
	t.Helper()
	src, err := tracetest.ParseCalls(table)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.xtf")
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		_, err := analyze.Run(c, analyze.Options{Source: src, Output: file, Intervals: flags})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestGoldenReports prints the golden traces of the interval model and looks for
// the numbers that were worked by hand; a tick is a microsecond.
func TestGoldenReports(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, table string
		flags       interval.Flags
		args        []string
		want        []string
	}{
		{"G1", tracetest.GoldenG1, interval.Flags{}, []string{"intervals", "--details"}, []string{
			"Parallelization Efficiency   0.747500", "Execution Time               0.000100", "Total Time                   0.000200",
			"Lost Time                    0.000051", "---Idle Time                 0.000010", "Synchronization              0.000010",
			"Message Spans                0.000049", "Late Sender                  0.000010", "Late Receiver                0.000020",
			"Load Balance                 0.939655", "Serialisation Efficiency     0.783784\n", "Transfer Efficiency          0.740000\n",
		}},
		{"G1 causes", tracetest.GoldenG1, interval.Flags{}, []string{"waits", "--format", "csv"}, []string{
			"wait,0,main > MPI_Ssend,late_receiver,,1,20,,20,0", "wait,0,main > MPI_Recv,late_sender,,1,10,,10,1",
			",cpu,,10,0,10,0", ",cpu,,16,0,16,1", "delay,0,main > MPI_Recv,late_receiver,mpi,,4,0,4,1",
		}},
		{"G1 critical path", tracetest.GoldenG1, interval.Flags{}, []string{"waits"}, []string{"critical path: 0.000100 s", "cpu       0.000074  74.0 %", "mpi       0.000026  26.0 %"}},
		{"G2", tracetest.GoldenG2, interval.Flags{}, []string{"intervals", "--details"}, []string{
			"Parallelization Efficiency   0.755625", "Productive Time              0.000302 (CPU MPI)", "Lost Time                    0.000098",
			"Collective                   0.000125", "---All to All                0.000050", "---Barrier                   0.000027",
			"Synchronization              0.000084", "Time Variation               0.000027", "Load Imbalance               0.000061",
			"Wait at Barrier              0.000022", "Barrier Completion           0.000001", "Wait at NxN                  0.000026",
			"NxN Completion               0.000004", "Late Broadcast               0.000010", "Early Reduce                 0.000006",
			"Load Balance                 0.816265", "Communication Efficiency     0.830000", "Serialisation Efficiency     1.000000\n", "Transfer Efficiency          0.830000\n",
		}},
		{"G3", tracetest.GoldenG3, interval.Flags{}, []string{"intervals", "--details"}, []string{
			"Level=0 EXE_Count=1\n ---Main Characteristics---\nParallelization Efficiency   0.832500",
			"Level=1 EXE_Count=1 Id=1\n ---Main Characteristics---\nParallelization Efficiency   0.772727",
			"Level=2 EXE_Count=3 Id=2\n ---Main Characteristics---\nParallelization Efficiency   0.823864\nExecution Time               0.000044\nProcessors                   2\nTotal Time                   0.000088\n",
			"---Marker Time               0.000016", "---Marker Time               0.000012", "Dephasing                    0.000001",
			"Overlap                      0.000010", "Serialisation Efficiency     0.880435\n", "Transfer Efficiency          0.920000\n",
		}},
		{"G3 executions", tracetest.GoldenG3, interval.Flags{}, []string{"intervals", "--per-execution"}, []string{
			"0  0.000009   0.000016  @0             2    ", "1  0.000026   0.000011  @0             2    ", "2  0.000039   0.000018  @1             2    ",
		}},
		{"G3 span", tracetest.GoldenG3, interval.Flags{}, []string{"intervals", "--time", "#30..#50"}, []string{"Parallelization Efficiency   0.850000"}},
		{"G3 short span", tracetest.GoldenG3, interval.Flags{}, []string{"intervals", "--time", "#22..#25"}, []string{"Parallelization Efficiency   0.416667"}},
		{"G3 span in a wait", tracetest.GoldenG3, interval.Flags{}, []string{"intervals", "--time", "#21..#23", "--details"}, []string{"Parallelization Efficiency   0.625000", "Late Sender                  0.000001"}},
		{"G3 markers are calls", tracetest.GoldenG3, interval.Flags{MarkerCost: "mpi"}, []string{"intervals"}, []string{"Level=0 EXE_Count=1\n ---Main Characteristics---\nParallelization Efficiency   0.872500"}},
		{"G4", tracetest.GoldenG4, interval.Flags{}, []string{"intervals"}, []string{"Level=1 EXE_Count=1 Id=7\n ---Main Characteristics---\nParallelization Efficiency   0.625000"}},
		{"G4 all", tracetest.GoldenG4, interval.Flags{}, []string{"intervals", "--processors", "all"}, []string{"Parallelization Efficiency   0.416667\nExecution Time               0.000040\nProcessors                   3\nTotal Time                   0.000120\n"}},
		{"G4 problems", tracetest.GoldenG4, interval.Flags{}, []string{"diagnostics"}, []string{"unclosed", "end-without-begin", "id 7"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := must(t, append([]string{"report", goldenRun(t, x.table, x.flags)}, x.args...)...)
			for _, want := range x.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}

// TestGoldenFailIf checks conditions on a golden trace at the limit.
func TestGoldenFailIf(t *testing.T) {
	t.Parallel()
	file := goldenRun(t, tracetest.GoldenG3, interval.Flags{})
	for condition, code := range map[string]int{
		"interval:1.efficiency<77.2727%": jobs.ExitDone, "interval:1.efficiency<77.2728%": jobs.ExitFound,
		"interval:2.late_sender>2us": jobs.ExitDone, "interval:2.late_sender>=2us": jobs.ExitFound, "critical_cpu==84ticks": jobs.ExitFound,
	} {
		if got, _, errs := call("report", file, "--fail-if", condition); got != code {
			t.Errorf("%s: exit code %d, want %d: %s", condition, got, code, errs)
		}
	}
}

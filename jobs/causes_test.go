package jobs_test

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// callTable makes a trace of lines "process enter leave call; record at its enter;
// record at its leave". A call "main" is around all others.
func callTable(tb testing.TB, table string) trace.Source {
	tb.Helper()
	var b, end strings.Builder
	processes := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		parts := strings.Split(strings.TrimSpace(line), ";")
		f := strings.Fields(parts[0])
		processes[f[0]] = true
		fmt.Fprintf(&b, "%s %s ENTER %s\n", f[0], f[1], f[3])
		out := &b
		if f[3] == "main" {
			out = &end
		}
		for i, record := range parts[1:] {
			if record = strings.TrimSpace(record); record != "" {
				fmt.Fprintf(&b, "%s %s %s\n", f[0], f[1+i], record)
			}
		}
		fmt.Fprintf(out, "%s %s LEAVE %s\n", f[0], f[2], f[3])
	}
	src, err := tracetest.Parse(fmt.Sprintf("-- program --\nprocesses %d\nresolution 1000000\n-- events --\n%s%s", len(processes), &b, &end))
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

// collectiveLines are the lines of a collective operation: process, enter, leave
// of each member.
func collectiveLines(call, op, root string, members ...[3]int) string {
	var b strings.Builder
	for _, m := range members {
		fmt.Fprintf(&b, "%d %d %d %s; MPI_COLLECTIVE_BEGIN; MPI_COLLECTIVE_END %s MPI_COMM_WORLD %s 8 8\n", m[0], m[1], m[2], call, op, root)
	}
	return b.String()
}

// markerLines are markers of form F1 with the tags of an id, each one tick long.
func markerLines(process, id int, end bool, at ...int) string {
	tag := uint32(0xAA0000AA | id<<8)
	if end {
		tag += 0x11
	}
	var b strings.Builder
	for _, t := range at {
		fmt.Fprintf(&b, "%d %d %d MPI_Sendrecv; MPI_SEND %d MPI_COMM_WORLD %d 0; MPI_RECV %d MPI_COMM_WORLD %d 0\n", process, t, t+1, process, tag, process, tag)
	}
	return b.String()
}

// inOrder sorts lines of a table by process and enter.
func inOrder(table string) string {
	lines := strings.FieldsFunc(table, func(r rune) bool { return r == '\n' })
	slices.SortStableFunc(lines, func(x, y string) int {
		var p, a, q, b int
		fmt.Sscan(x, &p, &a)
		fmt.Sscan(y, &q, &b)
		return 1000*(p-q) + a - b
	})
	return strings.Join(lines, "\n")
}

// The golden traces of the specification of intervals.
var goldenCauses = []struct {
	name, table  string
	delays, path string
}{
	{
		"point to point", `
0 0 100 main
0 20 30 MPI_Send; MPI_SEND 1 MPI_COMM_WORLD 1 8
0 40 72 MPI_Ssend; MPI_SEND 1 MPI_COMM_WORLD 2 8
1 0 90 main
1 10 34 MPI_Recv;; MPI_RECV 0 MPI_COMM_WORLD 1 8
1 60 75 MPI_Recv;; MPI_RECV 0 MPI_COMM_WORLD 2 8`,
		"0 late_sender cpu 10+0, 1 late_receiver cpu 16+0, 1 late_receiver mpi 4+0",
		"0: 0-20 cpu, 60-72 mpi, 72-100 cpu; 1: 20-34 mpi, 34-60 cpu; ",
	},
	{
		"collectives", inOrder("0 0 100 main\n1 0 100 main\n2 0 100 main\n3 0 96 main\n" +
			collectiveLines("MPI_Bcast", "BCAST", "0", [3]int{0, 10, 13}, [3]int{1, 6, 16}, [3]int{2, 12, 15}, [3]int{3, 4, 17}) +
			collectiveLines("MPI_Allreduce", "ALLREDUCE", "none", [3]int{0, 40, 50}, [3]int{1, 30, 49}, [3]int{2, 36, 50}, [3]int{3, 44, 51}) +
			collectiveLines("MPI_Reduce", "REDUCE", "2", [3]int{0, 70, 71}, [3]int{1, 66, 67}, [3]int{2, 60, 75}, [3]int{3, 72, 74}) +
			collectiveLines("MPI_Barrier", "BARRIER", "none", [3]int{0, 90, 93}, [3]int{1, 84, 94}, [3]int{2, 92, 93}, [3]int{3, 80, 93})),
		"",
		"0: 0-10 cpu, 92-93 mpi, 93-100 cpu; 1: ; 2: 72-75 mpi, 75-92 cpu; 3: 10-17 mpi, 17-44 cpu, 44-51 mpi, 51-72 cpu; ",
	},
	{
		"intervals", inOrder("0 0 100 main\n1 0 98 main\n" +
			markerLines(0, 1, false, 4) + markerLines(0, 2, false, 9, 27, 40) + markerLines(0, 2, true, 26, 39, 50) + markerLines(0, 1, true, 60) +
			markerLines(1, 1, false, 5) + markerLines(1, 2, false, 8, 25, 38) + markerLines(1, 2, true, 24, 37, 57) + markerLines(1, 1, true, 59) + `
0 16 17 MPI_Irecv; MPI_IRECV_REQUEST 1
0 20 26 MPI_Wait;; MPI_IRECV 1 MPI_COMM_WORLD 7 8 1
0 34 35 MPI_Irecv; MPI_IRECV_REQUEST 2
0 38 39 MPI_Wait;; MPI_IRECV 1 MPI_COMM_WORLD 7 8 2
0 47 48 MPI_Irecv; MPI_IRECV_REQUEST 3
0 53 60 MPI_Wait;; MPI_IRECV 1 MPI_COMM_WORLD 7 8 3
1 22 24 MPI_Send; MPI_SEND 0 MPI_COMM_WORLD 7 8
1 36 37 MPI_Send; MPI_SEND 0 MPI_COMM_WORLD 7 8
1 55 57 MPI_Send; MPI_SEND 0 MPI_COMM_WORLD 7 8
` + collectiveLines("MPI_Allreduce", "ALLREDUCE", "none", [3]int{0, 90, 95}, [3]int{1, 92, 96})),
		"",
		"0: 92-95 mpi, 95-100 cpu; 1: 0-5 cpu, 5-6 marker, 6-8 cpu, 8-9 marker, 9-22 cpu, 22-24 mpi, 24-26 marker, 26-36 cpu, 36-37 mpi, " +
			"37-39 marker, 39-55 cpu, 55-57 mpi, 57-58 marker, 58-59 cpu, 59-60 marker, 60-92 cpu; ",
	},
}

var activityNames = []string{"cpu", "mpi", "io", "marker"}

// TestGoldenCauses analyses the golden traces with several numbers of ranks.
func TestGoldenCauses(t *testing.T) {
	for _, g := range goldenCauses {
		t.Run(g.name, func(t *testing.T) {
			src := callTable(t, g.table)
			want, err := oracle.Analyze(src, oracle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var first []byte
			for _, ranks := range []int{1, 2, 3, 7} {
				o := jobs.AnalyzeOptions{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
				b := analyzed(t, ranks, o)
				if first != nil && !bytes.Equal(b, first) {
					t.Errorf("%d ranks make another file", ranks)
				}
				first = b
				compareCauses(t, o.Output, src, want)
				f := openFile(t, o.Output)
				if got := pathText(t, f, src); got != g.path {
					t.Errorf("critical path\n%s, want\n%s", got, g.path)
				}
				if got := delayText(t, f, src); g.delays != "" && got != g.delays {
					t.Errorf("delay costs\n%s, want\n%s", got, g.delays)
				}
			}
		})
	}
}

// TestCausesAgainstOracle compares the causes of generated programs, whose clocks
// differ in some.
func TestCausesAgainstOracle(t *testing.T) {
	for _, spec := range programs {
		if strings.Contains(spec, "broken") {
			continue
		}
		t.Run(spec, func(t *testing.T) {
			if i := strings.Index(spec, "k"); testing.Short() && i > 0 && strings.Contains(spec, "0k") {
				t.Skip("a large one, left out with -short")
			}
			src := generated(t, spec)
			want, err := oracle.Analyze(src, oracle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := jobs.AnalyzeOptions{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), ClampTime: true, StoreBytes: 1 << 20}
			analyzed(t, 3, o)
			compareCauses(t, o.Output, src, want)
		})
	}
}

func openFile(t *testing.T, name string) *xtf.File {
	t.Helper()
	f, err := xtf.OpenFile(name, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// patternItems name the patterns as the oracle does.
var patternItems = []xtf.Item{
	xtf.ItemLateSender, xtf.ItemLateReceiver, xtf.ItemWaitBarrier, xtf.ItemBarrierCompletion, xtf.ItemWaitNxN, xtf.ItemNxNCompletion,
	xtf.ItemLateBroadcast, xtf.ItemEarlyReduce, xtf.ItemEarlyScan,
}

func delayText(t *testing.T, f *xtf.File, src trace.Source) string {
	sums := map[string][2]uint64{}
	for p := range src.Definitions().NumLocations() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeDelay, func(_ uint64, b []byte) {
			var r xtf.Delay
			r.Load(b)
			k := fmt.Sprintf("%d %s %s", p, patternItems[r.Pattern], activityNames[r.Activity])
			sums[k] = [2]uint64{sums[k][0] + r.Short, sums[k][1] + r.Long}
		})
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, fmt.Sprintf("%s %d+%d", k, sums[k][0], sums[k][1]))
	}
	return strings.Join(list, ", ")
}

func pathText(t *testing.T, f *xtf.File, src trace.Source) string {
	var b strings.Builder
	for p := range src.Definitions().NumLocations() {
		var list []string
		var last xtf.CPath
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCPath, func(_ uint64, row []byte) {
			var r xtf.CPath
			if r.Load(row); len(list) > 0 && last.End == r.T && last.Activity == r.Activity {
				r.T = last.T
				list = list[:len(list)-1]
			}
			list = append(list, fmt.Sprintf("%d-%d %s", r.T, r.End, activityNames[r.Activity]))
			last = r
		})
		fmt.Fprintf(&b, "%d: %s; ", p, strings.Join(list, ", "))
	}
	return b.String()
}

// compareCauses compares a file with the oracle, and its totals with its rows.
func compareCauses(t *testing.T, name string, src trace.Source, want *oracle.Result) {
	t.Helper()
	f := openFile(t, name)
	delays := map[oracle.DelayKey]oracle.Cost{}
	var waited, dealt, length uint64
	for p := range src.Definitions().NumLocations() {
		rowsOf(t, f, xtf.Proc(p), xtf.TypeDelay, func(_ uint64, b []byte) {
			var r xtf.Delay
			r.Load(b)
			k := oracle.DelayKey{P: trace.P(p), Node: int(r.Key >> 32), Path: int(uint32(r.Key)), Pattern: oracle.Item(patternItems[r.Pattern].String()), Activity: oracle.Activity(r.Activity)}
			c := delays[k]
			delays[k] = oracle.Cost{Short: c.Short + r.Short, Long: c.Long + r.Long}
			dealt += r.Short + r.Long
		})
		rowsOf(t, f, xtf.Proc(p), xtf.TypeWait, func(_ uint64, b []byte) {
			var r xtf.Wait
			if r.Load(b); r.CauseP != trace.Undefined {
				waited += r.End - r.T
			}
		})
		var pieces []oracle.Piece
		rowsOf(t, f, xtf.Proc(p), xtf.TypeCPath, func(_ uint64, b []byte) {
			var r xtf.CPath
			r.Load(b)
			pieces = joinPiece(pieces, oracle.Piece{From: r.T, To: r.End, Activity: oracle.Activity(r.Activity), Path: int(r.Path), Node: int(r.Node)})
			length += r.End - r.T
		})
		var expected []oracle.Piece
		for _, c := range want.Locations[p].Critical {
			expected = joinPiece(expected, c)
		}
		if d := gocmp.Diff(expected, pieces); d != "" {
			t.Errorf("critical path on location %d (-oracle +file):\n%s", p, d)
		}
	}
	expected := map[oracle.DelayKey]oracle.Cost{}
	for k, c := range want.Delays {
		if *c != (oracle.Cost{}) {
			expected[k] = *c
		}
	}
	if d := gocmp.Diff(expected, delays); d != "" {
		t.Errorf("delay costs (-oracle +file):\n%s", d)
	}
	if waited != dealt {
		t.Errorf("%d ticks waited, %d dealt out", waited, dealt)
	}
	rowsOf(t, f, xtf.WholeRun, xtf.TypeDelayTotal, func(_ uint64, b []byte) {
		var r xtf.DelayTotal
		r.Load(b)
		dealt -= r.Short + r.Long
	})
	rowsOf(t, f, xtf.WholeRun, xtf.TypePathTotal, func(_ uint64, b []byte) {
		var r xtf.PathTotal
		r.Load(b)
		length -= r.Ticks
	})
	if dealt != 0 || length != 0 {
		t.Errorf("totals differ from rows: costs %d, path %d", int64(dealt), int64(length))
	}
}

// joinPiece appends a piece of the critical path.
func joinPiece(list []oracle.Piece, x oracle.Piece) []oracle.Piece {
	if n := len(list); n > 0 {
		last := &list[n-1]
		if last.To == x.From && last.Activity == x.Activity && last.Path == x.Path && last.Node == x.Node {
			last.To = x.To
			return list
		}
	}
	return append(list, x)
}

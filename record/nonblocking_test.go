package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// operationWaits is a line of testdata/nonblocking.c: what all processes waited for one operation, by their own clock.
type operationWaits struct {
	Interval, Wrong int
	Call, Pattern   string
	Waits           float64
}

// tolerance is how much seconds of waiting may differ from those of a program that notes its instants next to the calls.
const tolerance = 0.0005

// wrongAlways runs a program some times, and returns what is wrong each time: a process that loses its processor between an instant that it
// notes and the call seldom loses it there again.
func wrongAlways(run func() map[string]string) (wrong map[string]string) {
	wrong = run()
	for try := 1; len(wrong) > 0 && try < plantedTries; try++ {
		again := run()
		maps.DeleteFunc(wrong, func(what, _ string) bool { return again[what] == "" })
	}
	return wrong
}

// TestNonBlocking records every operation that a process begins in one call and waits for in another, one-sided ones too: the wait states are those
// that the program finds by its own clock, and an independent counter saw as many operations begin.
func TestNonBlocking(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			for file, least := range map[string]int{"nonblocking.c": 67, "onesided.c": 6} {
				program := l.compileProgram(t, file, append(l.extensions(t), "-w", "-Iinclude")...)
				for _, text := range wrongAlways(func() map[string]string { return l.nonBlocking(t, program, least) }) {
					t.Errorf("%s: %s", file, text)
				}
			}
		})
	}
}

// extensions are the flags of the compiler with which a program calls the extensions of the library by their names in the standard.
func (l *library) extensions(t *testing.T) (flags []string) {
	all, err := parsePrototypes(l.header)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].extra {
			flags = append(flags, "-DMPI_"+all[i].name+"="+all[i].symbol())
		}
	}
	if len(flags) > 0 {
		flags = append(flags, "-include", "mpi.h", "-include", "mpi-ext.h")
	}
	return flags
}

// nonBlocking returns the operations whose waits are wrong. The program prints at least some lines.
func (l *library) nonBlocking(t *testing.T, program string, least int) (wrong map[string]string) {
	t.Helper()
	counts := t.TempDir()
	raw, printed, err := l.attempt(t, 4, l.counter(t, false), [][2]string{{"COPPICE_COUNTS", counts}}, program)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	all := calls(t, raw)
	for rank, begun := range tally(t, raw, countBegun) {
		want := counted(t, counts, rank, all[rank])
		operations := uint64(0)
		for name, n := range want {
			if !startsOperation(name) {
				continue
			}
			operations += n
			if begun[name] != n {
				t.Errorf("process %d: %d operations begun by %d calls of %s", rank, begun[name], n, name)
			}
		}
		if begun["done"] != operations || operations == 0 {
			t.Errorf("process %d: %d operations done of %d", rank, begun["done"], operations)
		}
	}
	return waitsAsPrinted(t, raw, printed, least)
}

// waitsAsPrinted analyses a recording, and returns the intervals whose waits are not those of the program's lines.
func waitsAsPrinted(t *testing.T, raw, printed string, least int) map[string]string {
	t.Helper()
	wrong := map[string]string{}
	analyzed(t, raw)
	file := filepath.Join(t.TempDir(), "run.xtf")
	analyse(t, raw, file)
	report := readPlanted(t, file)
	waits := map[string]map[string]float64{}
	for _, x := range report.Waits.Intervals {
		waits[x.Label] = x.Waits
	}
	lines := 0
	for line := range strings.Lines(printed) {
		var x operationWaits
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil || x.Wrong != 0 {
			t.Fatalf("%v in %q", err, line)
		}
		lines++
		interval := "interval " + strconv.Itoa(x.Interval)
		if got := waits[interval][x.Pattern] / report.Waits.Resolution; math.Abs(got-x.Waits) > tolerance {
			wrong[interval] = fmt.Sprintf("%s, %s: %s %.6f s, by the program's clock %.6f", interval, x.Call, x.Pattern, got, x.Waits)
		}
	}
	if lines < least {
		t.Errorf("%d operations in %q", lines, printed)
	}
	return wrong
}

// TestPartitioned records messages in partitions: each is one message of all its bytes, for which the receiver waits until the last
// partition is ready, by whichever thread: one that is new calls MPI_Pready when it does, not when the recorder has a file for it. A message
// that MPI_Isendrecv receives is one from its sender, also where the library does not say so.
func TestPartitioned(t *testing.T) {
	found := false
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "partitioned.c", "-w", "-Iinclude", "-pthread")
		for _, text := range wrongAlways(func() map[string]string {
			raw, printed, err := l.attempt(t, 2, "", nil, program)
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			if printed == "" {
				return nil // a library of MPI 3
			}
			found = true
			counts := tally(t, raw, func(count map[string]uint64, name string, e *trace.Event, w []uint64) {
				if (e.Kind == trace.MpiIsend || e.Kind == trace.MpiSend || e.Kind == trace.MpiIrecv) && strings.HasPrefix(name, "MPI_Pready") || name == "MPI_Wait" && e.Kind == trace.MpiIrecv {
					count["messages"]++
					count["bytes"] += w[3]
				}
			})
			for rank, n := range counts {
				if n["messages"] != 4 || n["bytes"] != 4*4*500*4 {
					t.Errorf("process %d: %v", rank, n)
				}
			}
			return waitsAsPrinted(t, raw, printed, 5)
		}) {
			t.Error(text)
		}
	}
	if !found {
		t.Skip("no MPI library with messages in partitions")
	}
}

// countBegun counts the operations that begin, by the call that begins them, and those that are done. With neighbours, of
// which each process has two, they are two messages each way.
func countBegun(count map[string]uint64, name string, e *trace.Event, _ []uint64) {
	switch e.Kind {
	case trace.NonBlockingCollectiveRequest, trace.RmaPut, trace.RmaGet, trace.RmaAtomic:
		count[name]++
	case trace.NonBlockingCollectiveComplete, trace.RmaOpCompleteNonBlocking:
		count["done"]++
	case trace.MpiIsend, trace.MpiIrecvRequest:
		count[name+" message"]++
		if n := count[name+" message"]; n%4 == 0 {
			count[name]++
		}
	case trace.MpiIsendComplete, trace.MpiIrecv:
		count["messages"]++
		if count["messages"]%4 == 0 {
			count["done"]++
		}
	}
}

// startsOperation tells the calls that begin an operation of several processes, or on a window.
func startsOperation(name string) bool {
	_, oneSided := oneSided[strings.TrimPrefix(name, "MPI_")]
	return oneSided && !strings.HasPrefix(name, "MPI_Win_") || strings.HasPrefix(name, "MPI_I") && !strings.HasPrefix(name, "MPI_Init") || name == "MPI_Start" || name == "MPI_Startall" ||
		strings.HasPrefix(name, "MPI_Neighbor_") && !strings.HasSuffix(name, "_init")
}

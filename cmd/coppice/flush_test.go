package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEpoch: the CPU time of real runs is the sum of their records of state 1, running, as a script adds up the lines, without what is between
// the last event of MPI_Finalize and the tracer's flush, which Extrae does in it. The efficiency divides it by the processes times the end of
// the last state.
func TestEpoch(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ processes, running, end uint64 }{{1, 21882206721, 21898659139}, {2, 22913127968, 11528373565}, {4, 23683988324, 6082352213}} {
		path := filepath.Join(sharedTraces(t), "..", "paraver", "epoch", fmt.Sprintf("epoch_%dproc.prv.gz", x.processes))
		if _, err := os.Stat(path); err != nil || testing.Short() && x.processes > 1 {
			continue
		}
		run := filepath.Join(t.TempDir(), "run.xtf")
		must(t, "analyze", path, "-o", run, "-q", "--events", "none")
		s := jsonOf[struct {
			Summary struct {
				POP   struct{ Parallel float64 }
				Ticks struct{ CPU uint64 }
			}
		}](t, "report", run, "summary", "--init", "include").Summary
		if off := s.POP.Parallel - float64(x.running)/float64(x.processes*x.end); s.Ticks.CPU != x.running || off > 1e-9 || off < -1e-9 {
			t.Errorf("%d processes: %+v", x.processes, s)
		}
	}
}

// TestFlushesOfParaver: a trace of 16 processes as Extrae writes them, times in ns. Process r computes 100 before MPI_Init and
// 8000 + 40 r after it; the tracer flushes its buffer for 100 on even ones; the MPI_Allreduce ends at 9000 for all; they compute
// 400, finalize, and flush once more for 40 before they end at 9550. So together they have
//
//	useful    16 x (100 + 8000 + 400 + 10) + 40 x (0 + ... + 15) = 136160 + 4800 = 140960
//	flushes   8 x 100 + 16 x 40 = 1440
//	elapsed   16 x 9550 = 152800, without set-up and end 16 x 9350 = 149600
//
// A flush is elapsed time and never useful; the line without overhead leaves it out of both.
func TestFlushesOfParaver(t *testing.T) {
	t.Parallel()
	type record struct {
		at   int
		line string
	}
	const processes = 16
	var records []record
	for r := range processes {
		who := fmt.Sprintf("%d:1:%d:1", r+1, r+1)
		last := 0
		event := func(at, typ, value, state int) { // after a stretch in a state
			if at > last {
				records = append(records, record{last, fmt.Sprintf("1:%s:%d:%d:%d", who, last, at, state)})
			}
			records = append(records, record{at, fmt.Sprintf("2:%s:%d:%d:%d", who, at, typ, value)})
			last = at
		}
		const running, flushing, group, others = 1, 12, 13, 15
		event(0, 40000001, 1, running)
		event(100, 50000003, 31, running) // MPI_Init
		event(200, 50000003, 0, others)
		reached := 200 + 8000 + 40*r
		if r%2 == 0 {
			event(reached, 40000003, 1, running)
			reached += 100
			event(reached, 40000003, 0, flushing)
			event(reached, 50000002, 10, flushing) // MPI_Allreduce
		} else {
			event(reached, 50000002, 10, running)
		}
		event(9000, 50000002, 0, group)
		event(9400, 50000003, 32, running) // MPI_Finalize
		event(9500, 50000003, 0, others)
		event(9500, 40000003, 1, others)
		event(9540, 40000003, 0, flushing)
		event(9550, 40000001, 0, running)
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.at, b.at) })
	text := "#Paraver (01/01/2026 at 10:00):9550_ns:1(16):1:16(" + strings.TrimSuffix(strings.Repeat("1:1,", processes), ",") + "),1\nc:1:1:16"
	for r := range processes {
		text += fmt.Sprintf(":%d", r+1)
	}
	text += "\n"
	for _, r := range records {
		text += r.line + "\n"
	}
	dir := t.TempDir()
	path, run := filepath.Join(dir, "flush.prv"), filepath.Join(dir, "run.xtf")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	must(t, "analyze", path, "-o", run, "-q")
	type pop struct {
		Parallel   float64
		Unburdened float64 `json:"without_overhead"`
	}
	for _, x := range []struct {
		options []string
		want    pop
	}{
		{nil, pop{140960. / 149600, 140960. / (149600 - 1440)}},                           // 0.942, without flushes 0.951
		{[]string{"--init", "include"}, pop{140960. / 152800, 140960. / (152800 - 1440)}}, // 0.923, without flushes 0.931
	} {
		doc := jsonOf[struct {
			Summary struct {
				POP   pop
				Ticks struct{ CPU, Overhead uint64 }
			}
		}](t, append([]string{"report", run, "summary"}, x.options...)...).Summary
		near := func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }
		if !near(doc.POP.Parallel, x.want.Parallel) || !near(doc.POP.Unburdened, x.want.Unburdened) || doc.Ticks.CPU != 140960 || doc.Ticks.Overhead != 1440 {
			t.Errorf("%v: %+v, want %+v", x.options, doc, x.want)
		}
		screen := must(t, append([]string{"report", run, "summary"}, x.options...)...)
		if want := fmt.Sprintf("%.3f", x.want.Unburdened); !strings.Contains(screen, "without overhead") || !strings.Contains(screen, want) || !strings.Contains(screen, fmt.Sprintf("%.3f", x.want.Parallel)) {
			t.Errorf("%v: no %s and %.3f in\n%s", x.options, want, x.want.Parallel, screen)
		}
	}
}

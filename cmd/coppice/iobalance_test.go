package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// ioTrace is a run of 1100 ms; process 0 writes 1000 of these, process 1 writes 100. Half of the time of both is output.
const ioTrace = `
-- program --
processes 2
resolution 1000
-- events --
0 0 ENTER main
0 50 ENTER write
0 1050 LEAVE write
0 1100 ENTER MPI_Barrier
0 1100 MPI_COLLECTIVE_BEGIN
0 1100 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 1100 LEAVE MPI_Barrier
0 1100 LEAVE main
1 0 ENTER main
1 50 ENTER write
1 150 LEAVE write
1 BARRIER ENTER MPI_Barrier
1 BARRIER MPI_COLLECTIVE_BEGIN
1 1100 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
1 1100 LEAVE MPI_Barrier
1 1100 LEAVE main
`

// writes makes calls of write file output.
func writes(d *trace.Definitions) {
	for i := range d.Regions {
		if r := &d.Regions[i]; d.Text(r.Name) == "write" {
			r.Role = trace.RoleFileIO
		}
	}
}

// TestOutputInTurn: three processes write for 200 each.
//
//   - Each waits for a message of the one before, which it sends when it has written: all 600 are on the critical path, and the run could
//     be that much shorter. What the others wait is part of it: one finding.
//   - All write at the same time and meet: 200 are on the path, and nothing is uneven.
//   - Process 0 writes in two functions for 90 each, and computes for 20 before it meets the others, who wait for all of it: though neither
//     makes half of what they wait, the output makes most.
//   - Process 0 writes when the others have met it, and they wait: the output is that of one process.
func TestOutputInTurn(t *testing.T) {
	t.Parallel()
	written := func(p, from int) string {
		return fmt.Sprintf("%[1]d %[2]d ENTER write\n%[1]d %[3]d LEAVE write\n", p, from, from+200)
	}
	turns := written(0, 100) + message(0, 1, 300, 200) + written(1, 310) + message(1, 2, 510, 200) + written(2, 520) +
		meeting(0, 310, 722) + meeting(1, 520, 722) + meeting(2, 720, 722)
	together, alone := "", meeting(0, 100, 101)+written(0, 101)+meeting(0, 301, 302)
	for p := range 3 {
		together += written(p, 100) + meeting(p, 300, 302)
		if p > 0 {
			alone += meeting(p, 100, 101) + meeting(p, 101, 302)
		}
	}
	places := meeting(0, 100, 101) + "0 101 ENTER save\n0 101 ENTER write\n0 191 LEAVE write\n0 191 LEAVE save\n0 201 ENTER write\n0 291 LEAVE write\n" + meeting(0, 301, 302)
	for p := 1; p < 3; p++ {
		places += meeting(p, 100, 101) + meeting(p, 101, 302)
	}
	for _, x := range []struct {
		name, trace, advice string
		ticks               uint64
		turns               bool
	}{
		{"in places", places, "read and write on all processes evenly", 180, false},
		{"in turn", turns, "let the processes read and write at the same time", 600, true},
		{"together", together, "", 200, false},
		{"alone", alone, "read and write on all processes evenly", 200, false},
	} {
		doc := jsonOf[foundIn](t, "report", foundTrace(t, program(3, x.trace), func(o *analyze.Options) { writes(o.Source.Definitions()) }))
		if len(doc.Findings) == 0 || slices.ContainsFunc(doc.Findings, func(f finding) bool { return f.Cause != nil }) {
			t.Fatalf("%s: %+v", x.name, doc.Findings)
		}
		f := doc.Findings[0]
		if f.Kind != "io" || f.Ticks != x.ticks || f.Advice != x.advice || strings.Contains(f.Text, "processes read and write one after another, 0.600 of 0.600 s") != x.turns {
			t.Errorf("%s: %+v", x.name, f)
		}
	}
}

// TestIOBalance: an archive whose processes write half of the time, one ten times as much as the other. I/O is 1000 + 100 of
// 2 x 1100 ms, 50 %; its balance is 550 / 1000.
//
//   - Process 1 waits for process 0: CPU is 100 each, so the load is balanced, 100 / 100, and the parallel efficiency is
//     200 / 2200. I/O efficiency 200 / 1300. Process 1 could end 900 of waiting and 100 of writing earlier: the run could be
//     1000 shorter, as long as process 0 writes.
//   - Process 1 computes meanwhile: CPU is 100 and 1000, load balance 550 / 1000, I/O efficiency 1100 / 2200, and so is the
//     parallel efficiency. Without any output process 1 still takes 1000: the run could be 100 shorter. Were all computing
//     dealt out evenly, 550 each, process 0 took 550 + 1000 with its output: that gains nothing, and is not a finding.
//
// With --io-productive the useful time of the second run is 1100 each, all of it: what the report once said of it.
func TestIOBalance(t *testing.T) {
	t.Parallel()
	type pop struct {
		Parallel    float64
		LoadBalance float64 `json:"load_balance"`
		IO          float64
		IOBalance   float64 `json:"io_balance"`
	}
	for _, x := range []struct {
		name, barrier    string
		want, productive pop
		ticks            uint64
	}{
		{"waits", "200", pop{200. / 2200, 1, 200. / 1300, 0.55}, pop{1300. / 2200, 650. / 1100, 200. / 1300, 0.55}, 1000},
		{"computes", "1100", pop{0.5, 0.55, 0.5, 0.55}, pop{1, 1, 0.5, 0.55}, 100},
	} {
		t.Run(x.name, func(t *testing.T) {
			src, err := tracetest.Parse(strings.ReplaceAll(ioTrace, "1 BARRIER ", "1 "+x.barrier+" "))
			if err != nil {
				t.Fatal(err)
			}
			writes(src.Definitions())
			dir := t.TempDir()
			if _, err := otf2.Copy(filepath.Join(dir, "archive"), "traces", src, otf2.Options{}); err != nil {
				t.Fatal(err)
			}
			run := filepath.Join(dir, "run.xtf")
			must(t, "analyze", filepath.Join(dir, "archive", "traces.otf2"), "-o", run, "-q", "-j", "2")
			type document struct {
				foundIn
				Summary struct{ POP pop }
			}
			doc := jsonOf[document](t, "report", run)
			if doc.Summary.POP != x.want {
				t.Errorf("efficiencies %+v, want %+v", doc.Summary.POP, x.want)
			}
			if p := jsonOf[document](t, "report", run, "--io-productive").Summary.POP; p != x.productive {
				t.Errorf("with productive I/O %+v, want %+v", p, x.productive)
			}
			if len(doc.Findings) == 0 {
				t.Fatal("no finding")
			}
			f := doc.Findings[0]
			if f.Kind != "io" || f.Ticks != x.ticks || len(f.Where.Processes) != 1 || f.Where.Processes[0] != 0 || f.Where.Region != "write" || f.Advice != "read and write on all processes evenly" {
				t.Errorf("first finding %+v", f)
			}
			if !strings.Contains(f.Text, "rank 0 has most, 1.000, most of it in write; all processes together 1.100 s, the mean is 0.550, balance 0.550") {
				t.Error(f.Text)
			}
			for _, f := range doc.Findings[1:] {
				if f.Kind == "imbalance" {
					t.Errorf("also %+v", f)
				}
			}
			for _, args := range [][]string{{"report", run}, {"report", run, "pop"}, {"report", run, "intervals", "--details"}, {"report", run, "--format", "html"}} {
				if text := must(t, args...); !strings.Contains(text, "0.55") {
					t.Errorf("%v: no balance of I/O in\n%s", args, text)
				}
			}
			text := strings.Join(strings.Fields(must(t, "report", run)), " ")
			for _, want := range []string{"I/O 1.100000 50.0 % 0.550000 0.100000 @1 1.000000 @0", "balance of I/O 0.550"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}

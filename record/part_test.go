package record

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
)

// partSteps and partRanks are those of the program.
const partSteps, partRanks = 12, 3

// partClocks are seconds of each process and step by the program's clock: waiting in its receive and in its allreduce, and when the step began.
type partClocks [partRanks][partSteps][3]float64

// waited adds up what the processes of some steps waited, in column 0 or 1.
func (c *partClocks) waited(column, from, to int) (sum float64) {
	for r := range c {
		for s := from; s < to; s++ {
			sum += c[r][s][column]
		}
	}
	return sum
}

// partCase is a part of the program.
type partCase struct {
	name                  string
	part                  Part
	from, to              int    // steps whose waits are in the part
	messages, collectives uint64 // that both, or all, recorded
	says                  []string
}

// run records the part and looks at the counts and the waits. Other work on the machine delays the processes, and the program's clock
// has that: then it is run again.
func (x *partCase) run(t *testing.T, l *library, program string) (r *Result, doc *plantedReport) {
	t.Helper()
	for try := range plantedTries {
		var clocks *partClocks
		r, clocks = l.recordPart(t, program, x.part)
		file := filepath.Join(filepath.Dir(r.Archive), "run.xtf")
		a := analyse(t, r.Archive, file)
		for _, c := range a.Codes {
			if c.Code.Severity() > trace.Note || c.Code == trace.DiagOpenCall {
				t.Errorf("%s: %+v", c.Code, c)
			}
		}
		x.counts(t, file)
		doc = readPlanted(t, file)
		var late, all float64
		for _, p := range doc.Waits.Patterns {
			switch s := p.Ticks / doc.Waits.Resolution; p.Pattern {
			case "late_sender":
				late = s
			case "wait_nxn":
				all = s
			}
		}
		if got, want := r.Unasked, map[string]int{"0,2": 1, "1-2": 1}[x.part.Ranks]; got != want {
			t.Errorf("%d processes that were not asked for, want %d", got, want)
		}
		const extra = 0.020 // in the calls that the program does not time
		if x.part.Ranks != "" {
			return r, doc
		}
		receives, reduces := clocks.waited(0, x.from, x.to), clocks.waited(1, x.from, x.to)
		if late > receives+extra || all > reduces+extra {
			t.Errorf("late sender %.6f s, wait at NxN %.6f; by the program's clock %.6f and %.6f at most", late, all, receives, reduces)
		}
		if late > 0.9*receives-extra {
			return r, doc
		} else if try+1 == plantedTries {
			t.Errorf("late sender %.6f s, by the program's clock %.6f", late, receives)
		}
	}
	return r, doc
}

// counts compares messages and collectives with those worked out by hand.
func (x *partCase) counts(t *testing.T, file string) {
	t.Helper()
	run, err := results.Open(file, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.File.Close()
	s, err := run.Summary(results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if m, c := s.Messages, s.Collectives; m.Sent != x.messages || m.Received != x.messages || *m.UnmatchedSends+*m.UnmatchedRecvs > 0 || c.Calls != x.collectives {
		t.Errorf("%d and %d sides of messages, unmatched %d and %d, %d of collectives; %d messages and %d collectives expected", m.Sent, m.Received, *m.UnmatchedSends, *m.UnmatchedRecvs, c.Calls, x.messages, x.collectives)
	}
}

// TestPart records parts of a program from which messages, requests and a collective go from step to step. What has both sides in the part
// meets as in the whole run: counts are worked out by hand, waits are those of the program's clock. What has not is nobody's damage.
func TestPart(t *testing.T) {
	for i, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "part.c", "-g", "-Iinclude")
			for _, x := range []partCase{
				{"all", Part{Until: "1h"}, 0, partSteps, 96, 84, nil},
				{"steps", Part{From: "step:4", Until: "step:7"}, 3, 7, 26, 21, []string{"the recording begins ", "the recording ends "}},
				{"level", Part{From: "MPI_Pcontrol(2):4", Until: "MPI_Pcontrol(2):7"}, 3, 6, 18, 15, []string{"the recording begins ", "the recording ends "}},
				{"begin", Part{From: "step:9"}, 8, partSteps, 32, 33, []string{"the recording begins "}},
				{"end", Part{Until: "step:2"}, 0, 2, 10, 12, []string{"the recording ends "}},
				{"ranks", Part{Ranks: "0,2"}, 0, 0, 24, 0, []string{"nothing is recorded of rank 1: waits for them are not known"}},
				{"ranks and steps", Part{Ranks: "1-2", From: "step:4", Until: "step:7"}, 3, 7, 10, 0, []string{"the recording begins ", "the recording ends ", "nothing is recorded of rank 0: "}},
				{"never", Part{From: "other"}, 0, 0, 0, 0, []string{"nothing is recorded of rank 0-2: "}},
			} {
				if i > 0 && !strings.Contains(x.name, "steps") { // the parts are the same for all libraries
					continue
				}
				t.Run(x.name, func(t *testing.T) {
					r, doc := x.run(t, &l, program)
					var told []string
					for _, m := range doc.CannotTell.Missing {
						if m.What == "part" {
							told = append(told, m.Text)
						}
					}
					for _, text := range x.says {
						if !strings.Contains(strings.Join(told, "\n"), text) {
							t.Errorf("%q is not in %q", text, told)
						}
					}
					if len(told) != len(x.says) {
						t.Errorf("%d sentences expected: %q", len(x.says), told)
					}
					if tool, err := exec.LookPath("otf2-print"); err == nil {
						if b, err := exec.Command(tool, "-Werror", "--silent", r.Archive).CombinedOutput(); err != nil {
							t.Errorf("otf2-print: %v\n%s", err, b)
						}
					}
				})
			}
		})
	}
}

// recordPart records a part of the program, and reads what it printed.
func (l *library) recordPart(t *testing.T, program string, part Part) (*Result, *partClocks) {
	t.Helper()
	r, out, errs := l.runRecorded(t, Options{Command: l.launch(partRanks, program), Sites: 1, Part: part})
	var c partClocks
	lines := 0
	for line := range strings.Lines(out) {
		var rank, step int
		var v [3]float64
		if n, _ := fmt.Sscan(line, &rank, &step, &v[0], &v[1], &v[2]); n == 5 && rank < partRanks && step < partSteps {
			c[rank][step] = v
			lines++
		}
	}
	if r.Exit != 0 || len(r.Found) > 0 || len(r.Cut) > 0 || r.Processes != partRanks || lines != partRanks*partSteps {
		t.Fatalf("status %d, %v, %v, %d processes, %d lines\n%s", r.Exit, r.Found, r.Cut, r.Processes, lines, errs)
	}
	return r, &c
}

// TestPartOfTime records a part between two times: it begins at the instant on every process, or at the end of the call in which
// the process is then.
func TestPartOfTime(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			const from, until = 100_000_000, 250_000_000
			r, clocks := l.recordPart(t, l.compileProgram(t, "part.c", "-Iinclude"), Part{From: "100ms", Until: "250ms"})
			at := map[string]map[uint64]uint64{}
			d := definitionsOf(t, r.Archive)
			for i := range d.LocationProperties {
				q := &d.LocationProperties[i]
				if at[d.Text(q.Name)] == nil {
					at[d.Text(q.Name)] = map[uint64]uint64{}
				}
				at[d.Text(q.Name)][q.Location] = q.Value.Bits
			}
			for rank := range uint64(partRanks) {
				begins, ends := at[trace.PropertyBegins][rank], at[trace.PropertyEnds][rank]
				if begins < from || ends < until {
					t.Fatalf("rank %d: from %d to %d ns", rank, begins, ends)
				}
				// Whoever computes then begins at the instant: the program's calls last as long as its clock says.
				for step := range partSteps - 1 {
					c := clocks[rank][step]
					if now := float64(from) / 1e9; rank == 1 && c[2]+0.002 < now && now < c[2]+0.028 && begins != from { // it sleeps in the first 30 ms of a step
						t.Errorf("rank %d computes at %.3f s, and is recorded from %d ns on", rank, now, begins)
					}
				}
			}
			analyse(t, r.Archive, filepath.Join(t.TempDir(), "run.xtf"))
		})
	}
}

// definitionsOf reads the definitions of an archive.
func definitionsOf(t *testing.T, archive string) *trace.Definitions {
	t.Helper()
	src, err := otf2.OpenPath(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return src.Definitions()
}

func TestInstant(t *testing.T) {
	for text, want := range map[string]string{
		"12s": "time=12000000000", "1.5ms": "time=1500000", "0s": "time=0", "solve": "region=1:solve", "solve:10": "region=10:solve", "a::b:2": "region=2:a::b",
		"MPI_Pcontrol(2)": "level=2:1", "MPI_Pcontrol(-1):7": "level=-1:7",
		"-1s": "", "solve:0": "", "solve:x": "", ":3": "", strings.Repeat("x", 300): "",
	} {
		if got, err := instant(text); got != want || (want == "") != errors.Is(err, ErrPart) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for ranks, ok := range map[string]bool{"0": true, "0-15,20": true, "": true, "x": false, "1-": false, "0 1": false, "-1": false} {
		if _, err := (&Part{Ranks: ranks}).environment(); (err == nil) != ok {
			t.Errorf("ranks %q: %v", ranks, err)
		}
	}
}

// TestLatest keeps the latest events of each process: what the last steps wait, by the program's clock, is there, whatever came before,
// and so it is where the processes are killed.
func TestLatest(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "latest.c", "-g", "-Iinclude")
			for _, args := range [][]string{{"150"}, {"150", filepath.Join(t.TempDir(), "printed")}} {
				const keep = 4 << 20
				r, out, errs := l.runRecorded(t, Options{Command: l.launch(2, append([]string{program}, args...)...), Sites: 1, Keep: true, Part: Part{Keep: keep}})
				if (r.Exit != 0) != (len(args) > 1) || len(r.Found) > 0 {
					t.Fatalf("status %d, %v\n%s", r.Exit, r.Found, errs)
				}
				if len(args) > 1 {
					b, err := os.ReadFile(args[1])
					if err != nil {
						t.Fatal(err)
					}
					out = string(b)
				}
				var came [2][10]float64
				for line := range strings.Lines(out) {
					fields := strings.Fields(line)
					if len(fields) != 1+len(came[0]) || fields[0] != "0" && fields[0] != "1" {
						continue
					}
					for i, field := range fields[1:] {
						came[fields[0][0]-'0'][i], _ = strconv.ParseFloat(field, 64)
					}
				}
				var own float64
				for i, t := range came[0] {
					own += math.Abs(came[1][i] - t) // of who came first
				}
				files, err := filepath.Glob(filepath.Join(filepath.Dir(r.Archive), rawFolder, "*.evt"))
				if err != nil || len(files) != 2 {
					t.Fatal(files, err)
				}
				for _, f := range files {
					st, err := os.Stat(f)
					if err != nil {
						t.Fatal(err)
					}
					if kept := st.Sys().(*syscall.Stat_t).Blocks * 512; kept > keep+64<<10 || st.Size() <= keep {
						t.Errorf("%s: %d bytes of %d on the disk, %d may be kept", f, kept, st.Size(), keep)
					}
				}
				file := filepath.Join(t.TempDir(), "run.xtf")
				killed := []string{"abort"}
				for _, c := range analyse(t, r.Archive, file).Codes {
					inBarrier := c.Code == trace.DiagShortCollective && len(args) > 1
					if inBarrier {
						killed = append(killed, "hang") // of the other process, which the launcher kills before it is out of the barrier
					}
					if c.Code.Severity() > trace.Note && c.Code != trace.DiagUnfinished && !inBarrier {
						t.Errorf("%s: %+v", c.Code, c)
					}
				}
				doc := readPlanted(t, file)
				for _, p := range doc.Waits.Patterns {
					// Steps before the last ten have waits too, which the program does not time.
					if s := p.Ticks / doc.Waits.Resolution; p.Pattern == "wait_nxn" && s < own-0.010 {
						t.Errorf("%v: wait at NxN %.6f s, by the program's clock %.6f in the last steps alone", args, s, own)
					}
				}
				told := false
				for _, m := range doc.CannotTell.Missing {
					told = told || strings.HasPrefix(m.Text, "the recording begins ")
				}
				found := doc.Findings
				if len(args) > 1 { // that it was killed comes first
					told = told && slices.Contains(killed, found[0].Kind)
					found = found[1:]
				}
				if own < 0.1 || own > 60 || !told || !strings.Contains(found[0].Text, "latest.c:") {
					t.Errorf("%v: %.6f s by the program's clock, %+v, %+v", args, own, doc.CannotTell, doc.Findings)
				}
			}
		})
	}
}

// TestFunctions records those of the program's instrumented functions that the patterns name. Regions that it marks are there always.
func TestFunctions(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	program := l.compileProgram(t, "regions.c", "-finstrument-functions", "-rdynamic")
	for patterns, want := range map[string]uint64{"": 4, "counted*": 4, "!counted*": 0, "main,count?d_function": 4, "main": 0, "counted*,!*_function": 0, "!main": 4} {
		r, _, errs := l.runRecorded(t, Options{Command: l.launch(1, program), Keep: true, Part: Part{Functions: patterns}})
		have := tally(t, filepath.Join(filepath.Dir(r.Archive), rawFolder), countEntered)[0]
		if have["counted_function"] != want || have["outer"] != 3 || have["inner"] != 3 || r.Exit != 0 {
			t.Errorf("%q: status %d, %d calls of the function, not %d; %d and %d of the regions\n%s", patterns, r.Exit, have["counted_function"], want, have["outer"], have["inner"], errs)
		}
	}
}

// TestDeadlock: threads have mutexes that others wait for. The archive of the hang names them, the lines and who has the locks.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "run")
			dump := filepath.Join(folder, "hang-1", "traces.otf2")
			command := l.launch(2, l.compileProgram(t, "deadlock.c", "-g", "-pthread"), dump)
			r, _, errs := l.runRecorded(t, Options{Command: command, Output: folder, Sites: 1, Threads: ThreadsAll, Part: Part{Hang: 2 * time.Second}})
			if r.Exit == 0 || !strings.Contains(errs, dump) {
				t.Fatalf("status %d, %v\n%s", r.Exit, r.Cut, errs)
			}
			b, err := os.ReadFile("testdata/deadlock.c")
			if err != nil {
				t.Fatal(err)
			}
			line := func(mark string) int {
				return 1 + strings.Count(string(b[:strings.Index(string(b), "/* waits for "+mark)]), "\n")
			}
			for _, archive := range []string{dump, r.Archive} {
				if path, err := exec.LookPath("otf2-print"); err == nil {
					if text, err := exec.Command(path, "-Werror", "--silent", archive).CombinedOutput(); err != nil {
						t.Errorf("otf2-print: %v %s", err, text)
					}
				}
				file := filepath.Join(t.TempDir(), "hang.xtf")
				analyse(t, archive, file)
				f := readPlanted(t, file).Findings[0]
				for _, want := range []string{
					fmt.Sprintf("pthread_mutex_lock (deadlock.c:%d)", line("forward")), fmt.Sprintf("pthread_mutex_lock (deadlock.c:%d)", line("backward")),
					fmt.Sprintf("pthread_join (deadlock.c:%d)", line("both")), ", which Thread 1 has", ", which Thread 2 has",
				} {
					if kind := map[bool]string{true: "hang", false: "abort"}[archive == dump]; f.Kind != kind || !strings.Contains(f.Text, want) {
						t.Errorf("no %s in %s: %s", want, f.Kind, f.Text)
					}
				}
			}
		})
	}
}

// TestHang: process 1 waits until process 0 sees the archive of the hang. It names the line, and the program goes on.
func TestHang(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "run")
			dump := filepath.Join(folder, "hang-1", "traces.otf2")
			command := l.launch(2, l.compileProgram(t, "stuck.c", "-g"), dump)
			r, out, errs := l.runRecorded(t, Options{Command: command, Output: folder, Sites: 1, Part: Part{Hang: time.Second}})
			if r.Exit != 0 || len(r.Cut) > 0 || strings.Count(out, "done") != 2 || !strings.Contains(errs, dump) {
				t.Fatalf("status %d, %v, %q\n%s", r.Exit, r.Cut, out, errs)
			}
			file := filepath.Join(t.TempDir(), "hang.xtf")
			analyse(t, dump, file)
			b, err := os.ReadFile("testdata/stuck.c")
			if err != nil {
				t.Fatal(err)
			}
			line := 1 + strings.Count(string(b[:strings.Index(string(b), "/* hangs */")]), "\n")
			if f := readPlanted(t, file).Findings[0]; f.Kind != "hang" || !strings.Contains(f.Text, fmt.Sprintf("rank 1 in MPI_Recv (stuck.c:%d)", line)) {
				t.Errorf("%s: %s", f.Kind, f.Text)
			}
		})
	}
}

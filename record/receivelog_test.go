package record

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/receivelog"
)

// hashLog reads a log to its end and returns a hash of all payloads.
func hashLog(t *testing.T, path string) (uint64, *receivelog.Reader) {
	t.Helper()
	r, err := receivelog.OpenPath(path)
	if err != nil {
		t.Fatal(path, err)
	}
	t.Cleanup(func() { r.Close() })
	h := fnv.New64a()
	stream := logStream(t, path)
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			return h.Sum64(), r
		}
		if err != nil {
			t.Fatal(path, err)
		}
		for range c.Times {
			for _, o := range c.Outputs {
				h.Write(stream[o.Payload.Where:][:o.Payload.Bytes])
			}
		}
	}
}

// logStream returns what the blocks of a log hold, by docs/format/log.md.
func logStream(t *testing.T, path string) (stream []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for block := range slices.Chunk(b, 1<<20) {
		stream = append(stream, block[32:]...)
	}
	return stream
}

// hashes finds what the processes of testdata/log.c print: rank and hash of what they received.
func hashes(t *testing.T, out string) map[int]uint64 {
	t.Helper()
	m := make(map[int]uint64)
	for _, line := range strings.Split(out, "\n") {
		var rank int
		var h uint64
		if n, err := fmt.Sscanf(line, "hash %d %x", &rank, &h); err == nil && n == 2 {
			m[rank] = h
		}
	}
	return m
}

// TestReceiveLog compares the payloads in a log, in the order of the calls, with what the program received.
func TestReceiveLog(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "log.c")
			dir := filepath.Join(t.TempDir(), "run")
			r, out, errs := l.runRecorded(t, Options{
				Output: dir, Command: l.launch(4, program, "an argument"), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 1, 3, 7}},
			})
			want := hashes(t, out)
			if len(r.Logs) != 3 || len(r.Unlogged) != 1 || len(want) != 4 {
				t.Fatalf("logs %v, without %v; %s%s", r.Logs, r.Unlogged, out, errs)
			}
			for i, rank := range []int{0, 1, 3} {
				got, log := hashLog(t, r.Logs[i])
				if got != want[rank] {
					t.Errorf("rank %d: the log has %x, received was %x", rank, got, want[rank])
				}
				end, ok := log.End()
				if !ok || !end.Reason.Whole() || end.Again < 2000 || end.Unlogged != 0 {
					t.Errorf("rank %d: end %+v, %v", rank, end, ok)
				}
				if h := log.Header; h.Rank != rank || h.Size != 4 || len(h.Args) != 2 || h.Args[1] != "an argument" {
					t.Errorf("header %+v", h)
				}
			}
		})
	}
}

// TestReceiveLogTime compares when messages come with when their calls end: writing a log is not a computation of the program, so it
// belongs to the call.
func TestReceiveLogTime(t *testing.T) {
	l := libraries(t)[0]
	r, _, errs := l.runRecorded(t, Options{
		Command: l.launch(2, l.compileExample(t, "stencil.c"), "--size=64", "--steps=4"), Compiler: l.cc, Log: LogOptions{Ranks: []int{1}},
	})
	came := map[trace.P]trace.Time{}
	same, later := map[trace.P]int{}, map[trace.P]int{}
	eachEvent(t, r.Archive, func(p trace.P, e *trace.Event) {
		switch at, ok := came[p]; {
		case e.Kind == trace.MpiIrecv:
			came[p] = e.Time
		case e.Kind != trace.Leave || !ok:
			return
		case e.Time > at:
			later[p]++
		default:
			same[p]++
		}
		if e.Kind == trace.Leave {
			delete(came, p)
		}
	})
	if same[0] == 0 || later[0] > 0 || later[1] == 0 || same[1] > 0 {
		t.Errorf("calls end with their messages %v, later %v; %s", same, later, errs)
	}
}

// TestReceiveLogBudget stops a log at its most bytes, after a whole call; the program goes on.
func TestReceiveLogBudget(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	program := l.compileProgram(t, "log.c")
	r, out, _ := l.runRecorded(t, Options{
		Command: l.launch(2, program), Compiler: l.cc, Log: LogOptions{Ranks: []int{1}, Bytes: 20_000},
	})
	if r.Exit != 0 || len(hashes(t, out)) != 2 {
		t.Fatalf("status %d: %s", r.Exit, out)
	}
	_, log := hashLog(t, r.Logs[0])
	end, ok := log.End()
	if !ok || end.Reason.Whole() || end.Calls == 0 || end.Payload == 0 {
		t.Errorf("end %+v, %v", end, ok)
	}
	if st, err := os.Stat(r.Logs[0]); err != nil || st.Size() > 20_000 {
		t.Errorf("%v, %v", st.Size(), err)
	}
}

// TestReceiveLogEnds has programs that end badly: the log says how, or is cut where the process was killed.
func TestReceiveLogEnds(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	program := l.compileProgram(t, "survive.c")
	for _, x := range [...]struct {
		how    string
		rank   int
		reason receivelog.Reason // 0: the log is cut
	}{{"exit", 0, 2}, {"abort", 0, 3}, {"kill", 1, 0}} {
		t.Run(x.how, func(t *testing.T) {
			r, _, _ := l.runRecorded(t, Options{
				Command: l.launch(2, program, x.how), Compiler: l.cc, Log: LogOptions{Ranks: []int{x.rank}},
			})
			b, err := os.ReadFile(r.Logs[0])
			if err != nil {
				t.Fatal(err)
			}
			log, err := receivelog.Open(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			s, err := receivelog.Summarise(log)
			if err != nil || log.Header.Rank != x.rank {
				t.Fatal(log.Header, err)
			}
			if (s.End == nil) != (x.reason == 0) || s.End != nil && (s.End.Reason != x.reason || s.Calls < 102) {
				t.Errorf("%d calls, end %+v", s.Calls, s.End)
			}
		})
	}
}

// TestReceiveLogFortran logs the example in Fortran, whose arguments are converted; the calls are those of the program.
func TestReceiveLogFortran(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			for _, program := range [...]string{l.compileExample(t, "wavefront.f90"), l.compileProgram(t, "bindings.f90")} {
				r, _, _ := l.runRecorded(t, Options{
					Command: l.launch(4, program, "--size=100", "--steps=3"), Compiler: l.cc, Log: LogOptions{Ranks: []int{2}},
				})
				_, log := hashLog(t, r.Logs[0])
				if end, ok := log.End(); !ok || !end.Reason.Whole() || end.Payload == 0 {
					t.Errorf("%s: end %+v, %v", program, end, ok)
				}
			}
		})
	}
}

const melt = `units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 10
run 20
`

// TestReceiveLogLAMMPS logs a real program, that is linked with Open MPI.
func TestReceiveLogLAMMPS(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("lmp"); err != nil {
		t.Skip("no lmp: install lammps")
	}
	l := libraries(t)[0]
	if l.cc != "mpicc" {
		t.Skip("no Open MPI")
	}
	in := filepath.Join(t.TempDir(), "in.melt")
	if err := os.WriteFile(in, []byte(melt), 0o644); err != nil {
		t.Fatal(err)
	}
	r, out, _ := l.runRecorded(t, Options{
		Command: l.launch(4, "lmp", "-in", in, "-log", "none"), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 3}},
	})
	if !strings.Contains(out, "Total wall time") {
		t.Fatal(out)
	}
	for _, path := range r.Logs {
		_, log := hashLog(t, path)
		if end, ok := log.End(); !ok || !end.Reason.Whole() || end.Payload == 0 || end.Unlogged > 0 {
			t.Errorf("%s: end %+v, %v", path, end, ok)
		}
	}
}

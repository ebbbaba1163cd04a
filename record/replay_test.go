package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReplayLibrary makes the replaying library for every MPI library there is.
func TestReplayLibrary(t *testing.T) {
	t.Parallel()
	for _, cc := range compilers(t) {
		t.Run(cc, func(t *testing.T) {
			if _, err := ReplayLibrary(t.Context(), cc, cacheFolder); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// replayed replays logs and fails where the replay does not come to the end.
func (l *library) replayed(t *testing.T, o ReplayOptions) (list []Replay, out string) {
	t.Helper()
	var b bytes.Buffer
	o.Compiler, o.Cache, o.Output, o.Out, o.Err = l.cc, cacheFolder, t.TempDir(), &b, &b
	list, err := RunReplay(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if !r.Whole() {
			t.Errorf("rank %d: %s after %d calls: %s\n%s", r.Rank, r.End, r.Calls, r.Message, b.String())
		}
	}
	return list, b.String()
}

// TestReplay replays each process of a program that uses most of MPI: alone it receives what it received among others.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "log.c")
			dir := filepath.Join(t.TempDir(), "run")
			r, out, _ := l.runRecorded(t, Options{
				Output: dir, Command: l.launch(4, program), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 1, 3}}, CPUTime: true,
			})
			want := hashes(t, out)
			for _, log := range r.Logs {
				list, out := l.replayed(t, ReplayOptions{Logs: []string{log}, Command: []string{program}, Original: []string{filepath.Join(dir, vectorFolder)}})
				rank := list[0].Rank
				if got := hashes(t, out); len(got) != 1 || got[rank] != want[rank] {
					t.Errorf("rank %d received %x, and %x in its replay\n%s", rank, want[rank], got, out)
				}
				if c := list[0].Original[0]; c.Same != c.Segments || c.Same != list[0].Segments || c.CPU == 0 {
					t.Errorf("rank %d: of %d segments %d are those of the %d recorded", rank, list[0].Segments, c.Same, c.Segments)
				}
			}
		})
	}
}

// TestReplayDiffers replays a program with other arguments than it was recorded with: it stops, and says where and why.
func TestReplayDiffers(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	program := l.compileExample(t, "stencil.c")
	r, _, _ := l.runRecorded(t, Options{
		Command: l.launch(4, program, "--size=64", "--steps=4"), Compiler: l.cc, Log: LogOptions{Ranks: []int{1}},
	})
	for _, c := range []struct {
		name, size, steps, end, message string
	}{
		{"the same", "64", "4", "finalize", ""},
		{"other bytes", "72", "4", "differs", "with bytes 576, the log has MPI_Irecv with peer 0, tag 1, bytes 512"},
		{"more calls", "64", "5", "differs", ""},
		{"fewer calls", "64", "3", "differs", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			list, err := RunReplay(t.Context(), ReplayOptions{
				Logs: r.Logs, Command: []string{program, "--size=" + c.size, "--steps=" + c.steps}, Compiler: l.cc, Cache: cacheFolder,
				Output: t.TempDir(), Out: &b, Err: &b,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := list[0]; got.End != c.end || !strings.Contains(got.Message, c.message) || got.Exit == 0 != (c.end == "finalize") {
				t.Errorf("got %+v\n%s", got, b.String())
			}
		})
	}
}

// TestReplayFortran replays the example in Fortran, two of its processes and each twice at once, and twice in a row. The least and
// the most processor time of the four are those of their sums.
func TestReplayFortran(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileExample(t, "wavefront.f90")
			r, _, _ := l.runRecorded(t, Options{
				Command: l.launch(4, program, "--size=100", "--steps=3"), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 2}},
			})
			list, _ := l.replayed(t, ReplayOptions{Logs: r.Logs, Command: []string{program, "--size=100", "--steps=3"}, Repeat: 2, PerNode: 2, Yield: true})
			for _, one := range list {
				b, err := os.ReadFile(one.Vector)
				if err != nil {
					t.Fatal(err)
				}
				for i, name := range []string{"least", "most"} {
					sum := []int64{slices.Min(one.AllCPU), slices.Max(one.AllCPU)}[i]
					if row := fmt.Sprintf("\n%s,,%d,%d,%d\n", name, one.Segments, sum, sum+one.Wall-one.CPU); !strings.Contains(string(b), row) {
						t.Errorf("rank %d: no row %q for %+v", one.Rank, row, one)
					}
				}
				if len(one.AllCPU) != 4 || len(one.AllDelay) != 4 {
					t.Errorf("rank %d: %+v", one.Rank, one)
				}
			}
		})
	}
}

// TestReplayLAMMPS replays all processes of a real program, that is linked with Open MPI.
func TestReplayLAMMPS(t *testing.T) {
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
	command := []string{"lmp", "-in", in, "-log", "none"}
	r, _, _ := l.runRecorded(t, Options{
		Command: l.launch(4, command...), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 1, 2, 3}},
	})
	if len(r.Logs) != 4 {
		t.Fatal(r.Logs)
	}
	l.replayed(t, ReplayOptions{Logs: r.Logs, Command: command})
}

// TestSteady makes a vector of repetitions that a busy machine disturbed.
func TestSteady(t *testing.T) {
	quiet := Vector{{"MPI_Send", 100, 101}, {"MPI_Recv", 40, 1040}, {"MPI_Send", 7, 7}} // the second one sleeps
	sliced := Vector{{"MPI_Send", 110, 4110}, {"MPI_Recv", 42, 1043}, {"MPI_Send", 8, 8}}
	slow := Vector{{"MPI_Send", 300, 301}, {"MPI_Recv", 41, 9041}, {"MPI_Send", 9, 4009}}
	other := Vector{{"MPI_Send", 500, 500}, {"MPI_Bcast", 1, 1}, {"MPI_Send", 1, 1}}
	skewed := Vector{{"MPI_Send", 100, 99}} // the processor's clock is read first
	for _, c := range []struct {
		name   string
		all    []Vector
		want   Vector
		totals []total
	}{
		{"none", nil, nil, nil},
		{"one", []Vector{sliced}, sliced, nil},
		{"one of two", []Vector{sliced, quiet}, Vector{{"MPI_Send", 100, 101}, {"MPI_Recv", 40, 1040}, {"MPI_Send", 7, 7}}, []total{{"least", 147, 1148}, {"most", 160, 1161}}},
		{
			"three",
			[]Vector{slow, sliced, quiet},
			Vector{{"MPI_Send", 110, 111}, {"MPI_Recv", 41, 1041}, {"MPI_Send", 8, 8}},
			[]total{{"least", 147, 1148}, {"most", 350, 1351}},
		},
		{"another program", []Vector{other, quiet}, quiet, nil},
		{"skewed", []Vector{skewed, skewed}, Vector{{"MPI_Send", 100, 100}}, []total{{"least", 100, 100}, {"most", 100, 100}}},
	} {
		if v, totals := steady(c.all); !slices.Equal(v, c.want) || !slices.Equal(totals, c.totals) {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, v, totals, c.want, c.totals)
		}
	}
	if !slices.Equal(quiet, Vector{{"MPI_Send", 100, 101}, {"MPI_Recv", 40, 1040}, {"MPI_Send", 7, 7}}) {
		t.Errorf("a repetition was changed: %v", quiet)
	}
}

// TestReadRows takes out of the time that passed what the thread had no processor.
func TestReadRows(t *testing.T) {
	b := append([]byte(vectorMagic), 8, 0, 0, 0)
	b = append(b, "MPI_Send"...)
	for _, row := range [][2]uint64{{0, 9000}, {7 << 32, 9000}} { // 7 us of the second
		b = binary.LittleEndian.AppendUint64(b, row[0])
		b = binary.LittleEndian.AppendUint64(b, 1500)
		b = binary.LittleEndian.AppendUint64(b, row[1])
	}
	path := filepath.Join(t.TempDir(), "0.vec")
	if err := os.WriteFile(path, append(b, 1, 2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	v, delay, err := readRows(path)
	if want := (Vector{{"MPI_Send", 1500, 9000}, {"MPI_Send", 1500, 2000}}); err != nil || delay != 7000 || !slices.Equal(v, want) {
		t.Errorf("%v, %d, %v", v, delay, err)
	}
}

// TestReplaySleeps replays a program that sleeps 2 ms in each of 5 steps: that time passes in the replay too. A sleep may take longer, never
// less.
func TestReplaySleeps(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	command := []string{l.compileExample(t, "stencil.c"), "--size=1000", "--steps=5", "--compute=sleep", "--slow=4"}
	r, _, _ := l.runRecorded(t, Options{Command: l.launch(2, command...), Compiler: l.cc, Log: LogOptions{Ranks: []int{1}}, CPUTime: true})
	list, _ := l.replayed(t, ReplayOptions{Logs: r.Logs, Command: command, Repeat: 2})
	recorded, err := ReadVector(filepath.Join(filepath.Dir(r.Archive), vectorFolder, "1.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{list[0].Wall - list[0].CPU, recorded.Wall() - recorded.CPU()} {
		if off < 9_900_000 { // two clocks, and delays to whole us
			t.Errorf("%d ns without processor in 10 ms of sleep: %+v", off, list[0])
		}
	}
}

// TestVector writes a vector and reads it back.
func TestVector(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.csv")
	want := Vector{{"MPI_Send", 12, 15}, {"MPI_Recv", 0, 3}}
	if err := writeVector(path, want, total{"least", 11, 14}); err != nil {
		t.Fatal(err)
	}
	got, err := ReadVector(path)
	if err != nil || !slices.Equal(got, want) || got.CPU() != 12 || got.Wall() != 18 {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("a,b\n1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadVector(path); err == nil {
		t.Error("another table was taken")
	}
}

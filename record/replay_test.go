package record

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReplayLibrary makes the replaying library for every MPI library there is.
func TestReplayLibrary(t *testing.T) {
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
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileProgram(t, "log.c")
			dir := filepath.Join(t.TempDir(), "run")
			r, out, _ := l.runRecorded(t, Options{
				Output: dir, Command: l.launch(t, 4, program), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 1, 3}}, CPUTime: true,
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
	l := libraries(t)[0]
	program := l.compileExample(t, "stencil.c")
	r, _, _ := l.runRecorded(t, Options{
		Command: l.launch(t, 4, program, "--size=64", "--steps=4"), Compiler: l.cc, Log: LogOptions{Ranks: []int{1}},
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

// TestReplayFortran replays the example in Fortran, two of its processes and each twice at once, and twice in a row.
func TestReplayFortran(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			program := l.compileExample(t, "wavefront.f90")
			r, _, _ := l.runRecorded(t, Options{
				Command: l.launch(t, 4, program, "--size=100", "--steps=3"), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 2}},
			})
			list, _ := l.replayed(t, ReplayOptions{Logs: r.Logs, Command: []string{program, "--size=100", "--steps=3"}, Repeat: 2, PerNode: 2, Yield: true})
			for _, one := range list {
				if len(one.AllCPU) != 4 || one.CPU != slices.Min(one.AllCPU) {
					t.Errorf("rank %d: %d is not the least of %d", one.Rank, one.CPU, one.AllCPU)
				}
			}
		})
	}
}

// TestReplayLAMMPS replays all processes of a real program, that is linked with Open MPI.
func TestReplayLAMMPS(t *testing.T) {
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
		Command: l.launch(t, 4, command...), Compiler: l.cc, Log: LogOptions{Ranks: []int{0, 1, 2, 3}},
	})
	if len(r.Logs) != 4 {
		t.Fatal(r.Logs)
	}
	l.replayed(t, ReplayOptions{Logs: r.Logs, Command: command})
}

// TestVector writes a vector and reads it back.
func TestVector(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.csv")
	want := Vector{{"MPI_Send", 12, 15}, {"MPI_Recv", 0, 3}}
	if err := writeVector(path, want); err != nil {
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

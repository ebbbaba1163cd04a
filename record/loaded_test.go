package record

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mpiName returns the name by which programs need the MPI library, as libmpi.so.40.
func (l *library) mpiName(t *testing.T) string {
	t.Helper()
	b, err := exec.Command("ldd", l.compileProgram(t, "survive.c")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "libmpi.") || strings.HasPrefix(name, "libmpich.") {
			return name
		}
	}
	t.Fatalf("no MPI library in %s", b)
	return ""
}

// TestLoaded records programs that load the MPI library while they run, and libraries that need it and that they find by their own
// path: without --cc, since the launcher tells the MPI library. Where calls are not the recorder's, the reason is reported.
func TestLoaded(t *testing.T) {
	t.Parallel()
	all := libraries(t)
	for i, l := range all {
		name := l.mpiName(t)
		plugged := map[string]string{}
		for _, file := range [...]string{"plugged.c", "plugged.f90"} {
			plugged[file] = l.compileProgram(t, file, "-shared", "-fPIC", "-J"+t.TempDir())
		}
		program := func(plugin string) string {
			path := filepath.Join(t.TempDir(), "loaded")
			args := []string{"-o", path, "testdata/loaded.c", "-ldl", "-Wl,--enable-new-dtags,-rpath," + filepath.Dir(plugged[plugin])}
			if b, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			return path
		}
		for _, x := range []struct {
			name, plugin string
			command      []string
			calls        string // between MPI_Init and MPI_Finalize
		}{
			{"local", "", []string{program(""), name, "l"}, ""},
			{"global", "", []string{program(""), name, "g"}, ""},
			{"C", "plugged.c", []string{program("plugged.c"), name, "l", "plugged"}, "MPI_Comm_rank:3 "},
			{"C, global", "plugged.c", []string{program("plugged.c"), name, "g", "plugged"}, "MPI_Comm_rank:3 "},
			{"Fortran", "plugged.f90", []string{program("plugged.f90"), name, "l", "plugged"}, "MPI_Comm_rank:3 "},
			{"Python", "", []string{"python3", "testdata/loaded.py", name}, "MPI_Barrier:3 "},
			{"Python, global", "", []string{"python3", "testdata/loaded.py", name, "global"}, "MPI_Barrier:3 "},
		} {
			t.Run(l.cc+" "+x.name, func(t *testing.T) {
				if err := exec.Command(x.command[0], "--version").Run(); errors.Is(err, exec.ErrNotFound) {
					t.Skipf("no %s: ./scripts/setup --test installs it", x.command[0])
				}
				dir := filepath.Join(t.TempDir(), "run")
				command := l.launch(2, x.command...)
				plain, err := exec.Command(command[0], command[1:]...).Output()
				if err != nil {
					t.Fatal(err)
				}
				r, out, errs := l.runRecorded(t, Options{Output: dir, Command: command, Keep: true})
				if r.Exit != 0 || r.Processes != 2 || len(r.Found) > 0 || len(r.Cut) > 0 || len(out) != len(plain) || out == "" {
					t.Fatalf("%+v\n%s%s", r, out, errs)
				}
				want := x.calls + "MPI_Finalize:1 MPI_Init:1"
				for rank, have := range calls(t, filepath.Join(dir, rawFolder)) {
					for name := range have {
						if !strings.HasPrefix(name, "MPI_") {
							delete(have, name)
						}
					}
					if got := fmt.Sprint(have); got != "map["+want+"]" {
						t.Errorf("process %d: calls %s, want %s", rank, got, want)
					}
				}
			})
		}
		other := all[(i+1)%len(all)].mpiName(t)
		for _, x := range []struct{ name, flags, reason string }{{name, "p", "past the recorder"}, {other, "l", "another MPI library"}} {
			if x.name == other && len(all) == 1 {
				continue
			}
			t.Run(l.cc+" "+x.reason, func(t *testing.T) {
				var out strings.Builder
				r, err := Run(t.Context(), Options{
					Output: filepath.Join(t.TempDir(), "run"), Command: l.launch(1, program(""), x.name, x.flags), Compiler: l.cc, Cache: cacheFolder, Out: &out, Err: &out,
				})
				if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), x.reason) || r.Exit != 0 {
					t.Errorf("%v, %+v\n%s", err, r, out.String())
				}
			})
		}
	}
}

// TestLikely takes the MPI library of the launcher where the program can load one, or is a script that may start one.
func TestLikely(t *testing.T) {
	dir := t.TempDir()
	hydras := script(t, dir, "mpiexec", "echo HYDRA\n")
	starts := script(t, dir, "dispatch", "")
	for command, want := range map[string]bool{hydras + " true": false, hydras + " bash": true, hydras + " " + starts: true, "none -n 2": false} {
		if got := loads(t.Context(), strings.Fields(command)); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
	if k, err := likely(t.Context(), []string{hydras, "bash"}); k != mpich || err != nil {
		t.Errorf("%v, %v", k, err)
	}
}

package record

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/recording"
)

func TestEnvironment(t *testing.T) {
	vars := [][2]string{{"A", "1"}, {"B", "2"}}
	loading := [][2]string{{"A", "1"}, {"LD_PRELOAD", "r.so"}}
	args, env := withEnvironment(t.Context(), srun, 0, []string{"srun", "./p"}, [][2]string{{"A", "1,2"}, {"B", "3"}, {"C", "it's"}})
	if got := strings.Join(args, " "); got != "srun --export=ALL,A,B=3,C ./p" || !slices.Equal(env, []string{"A=1,2", "C=it's"}) {
		t.Errorf("a comma and a quote in values: %s and %v", got, env)
	}
	t.Setenv("SLURM_EXPORT_ENV", "HOME,LANG=C")
	if args, _ := withEnvironment(t.Context(), srun, 0, []string{"srun", "sh"}, vars); strings.Join(args, " ") != "srun --export=HOME,LANG=C,A=1,B=2 sh" {
		t.Errorf("in a job with --export: %v", args)
	}
	t.Setenv("SLURM_EXPORT_ENV", "")
	for _, x := range []struct {
		name    string
		l       launcher
		command string
		want    string
		env     int
	}{
		{"Open MPI", openMPILauncher, "mpirun -n 2 ./p", "mpirun -x A=1 -x B=2 -n 2 ./p", 0},
		{"Open MPI, two programs", openMPILauncher, "mpirun -n 2 ./p : -n 3 ./q 5", "mpirun -x A=1 -x B=2 -n 2 ./p : -x A=1 -x B=2 -n 3 ./q 5", 0},
		{"hydra, two programs", hydra, "mpiexec -n 2 ./p : -n 3 ./q", "mpiexec -genv A 1 -genv B 2 -n 2 ./p : -n 3 ./q", 0},
		{"Open MPI, a library of the program", openMPILauncher, "mpirun -x LD_PRELOAD=x.so ./p", "mpirun -x A=1 -x LD_PRELOAD=r.so -x LD_PRELOAD=x.so:r.so ./p", 0},
		{"Open MPI, the launcher's library", openMPILauncher, "mpirun -x LD_PRELOAD ./p", "mpirun -x A=1 -x LD_PRELOAD=r.so -x LD_PRELOAD=r.so ./p", 0},
		{"hydra, a library of the program", hydra, "mpiexec -env LD_PRELOAD x.so ./p", "mpiexec -genv A 1 -genv LD_PRELOAD r.so -env LD_PRELOAD x.so:r.so ./p", 0},
		{"srun, a library of the program", srun, "srun --export=ALL,LD_PRELOAD=x.so ./p", "srun --export=ALL,A=1,LD_PRELOAD=x.so:r.so ./p", 0},
		{"srun, that alone", srun, "srun --export=LD_PRELOAD=x.so ./p", "srun --export=A=1,LD_PRELOAD=x.so:r.so ./p", 0},
		{"env, a library of the program", noLauncher, "env LD_PRELOAD=x.so ./p", "env LD_PRELOAD=x.so:r.so ./p", 2},
		{"hydra", hydra, "mpiexec -n 2 ./p", "mpiexec -genv A 1 -genv B 2 -n 2 ./p", 0},
		{"none", noLauncher, "./p 7", "./p 7", 2},
		{"srun", srun, "srun -n 2 ./p", "srun --export=ALL,A=1,B=2 -n 2 ./p", 0},
		{"srun that exports", srun, "srun -n 2 --export=ALL,X=3 sh", "srun -n 2 --export=ALL,X=3,A=1,B=2 sh", 0},
		{"srun that exports in two words", srun, "srun --export HOME -n 2 sh", "srun --export=HOME,A=1,B=2 -n 2 sh", 0},
		{"srun that exports nothing", srun, "srun --export=NONE sh", "srun --export=A=1,B=2 sh", 0},
		{"srun, a value that is a program", srun, "srun -J test --export=NONE sh", "srun -J test --export=A=1,B=2 sh", 0},
		{"srun, no word that is a program", srun, "srun --export=NONE --multi-prog conf", "srun --export=A=1,B=2 --multi-prog conf", 0},
		{"srun, two programs", srun, "srun -n 2 sh : -n 3 --export=X=3 sh", "srun --export=ALL,A=1,B=2 -n 2 sh : -n 3 --export=X=3,A=1,B=2 sh", 0},
		{"timeout srun", srun, "timeout 5 srun --export=NONE sh", "timeout 5 srun --export=A=1,B=2 sh", 0},
		{"env mpirun, a library of the program", openMPILauncher, "env LD_PRELOAD=x.so mpirun ./p", "env LD_PRELOAD=x.so mpirun -x LD_PRELOAD=x.so:r.so -x A=1 ./p", 0},
		{"program that exports", srun, "srun sh --export=x", "srun --export=ALL,A=1,B=2 sh --export=x", 0},
	} {
		given := vars
		if strings.Contains(x.want, "r.so") {
			given = loading
		}
		command := strings.Fields(x.command)
		at := max(slices.IndexFunc(command, func(word string) bool { return word == "srun" || strings.HasPrefix(word, "mpi") }), 0)
		args, env := withEnvironment(t.Context(), x.l, at, command, given)
		if got := strings.Join(args, " "); got != x.want || len(env) != x.env {
			t.Errorf("%s: %s and %v, want %s", x.name, got, env, x.want)
		}
	}
}

// script writes an executable shell script.
func script(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLauncherOf(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct {
		name, says string
		want       launcher
	}{
		{"mpirun", "mpirun (Open MPI) 4.1.4", openMPILauncher},
		{"mpiexec", "HYDRA build details:", hydra},
		{"mpiexec.hydra", "Intel(R) MPI Library for Linux* OS, Version 2021.9", hydra},
		{"prterun", "prterun (PRRTE) 3.0.0", openMPILauncher},
		{"srun", "slurm 22.05.8", srun},
		{"lmp", "", noLauncher},
	} {
		command := []string{script(t, dir, x.name, "echo '"+x.says+"'\n"), "-n", "2"}
		if got, at := launcherOf(t.Context(), command); got != x.want || at != 0 {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
		if got, at := launcherOf(t.Context(), append([]string{"/usr/bin/timeout", "5"}, command...)); got != x.want || got != noLauncher && at != 2 {
			t.Errorf("timeout 5 %s: %d, word %d, want %d", x.name, got, at, x.want)
		}
	}
	if got, _ := launcherOf(t.Context(), []string{"./run.sh", "mpirun", "-n", "2"}); got != noLauncher {
		t.Errorf("a word of a script: %d", got)
	}
}

func TestLibraryOf(t *testing.T) {
	for _, x := range []struct {
		ldd  string
		want kind
	}{
		{"\tlibc.so.6 => /lib/libc.so.6 (0x1)\n\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x2)\n", openMPI},
		{"\tlibmpi_mpifh.so.40 => not found\n", openMPI},
		{"\tlibmpich.so.12 => /usr/lib/libmpich.so.12 (0x2)\n", mpich},
		{"\tlibmpi.so.12 => /opt/libmpi.so.12 (0x2)\n", mpich},
		{"\tnot a dynamic executable\n", unknownMPI},
		{"", unknownMPI},
	} {
		if got := libraryOf(x.ldd); got != x.want {
			t.Errorf("%q: %v, want %v", x.ldd, got, x.want)
		}
	}
}

// TestSrun records one process that a script in the place of srun starts with the variables of its option, and only those.
func TestSrun(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	dir := t.TempDir()
	srun := script(t, dir, "srun", `[ "$1" = -n ] && [ "$2" = 1 ] || exit 98
case $3 in --export=ALL,LD_PRELOAD=*,COPPICE_RECORD_DIR=*) ;; *) exit 99 ;; esac
[ -z "$LD_PRELOAD$COPPICE_RECORD_DIR" ] || exit 97
vars=${3#--export=ALL,}
shift 3
IFS=,
exec env $vars "$@"
`)
	program := l.compileProgram(t, "survive.c")
	l.launch(1)
	r, out, errs := l.runRecorded(t, Options{Command: []string{srun, "-n", "1", "--export=ALL", program}})
	if r.Exit != 0 || r.Processes != 1 || len(r.Found) > 0 || out != "done\n" {
		t.Errorf("%+v\n%s%s", r, out, errs)
	}
	if n := sends(t, r.Archive); n != 100 {
		t.Errorf("%d sends of 100", n)
	}
}

// TestHalf starts a program of which one process does not get the recorder: the others say why they wait.
func TestHalf(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			t.Parallel()
			half := script(t, t.TempDir(), "half.sh", `[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 1 ] || unset LD_PRELOAD
exec `+l.compileProgram(t, "survive.c")+"\n")
			var out, errs bytes.Buffer
			o := Options{Command: append([]string{"timeout", "-k", "1", "15"}, l.launch(3, half)...), Compiler: l.cc, Cache: cacheFolder, Output: filepath.Join(t.TempDir(), "run"), Out: &out, Err: &errs}
			r, err := Run(t.Context(), o)
			if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "which have no recorder or could not be reached") || r.Exit == 0 {
				t.Errorf("%+v, %v", r, err)
			}
			if n := strings.Count(errs.String(), "waits for others since 10 s"); n != 1 {
				t.Errorf("told %d times:\n%s%s", n, errs.String(), out.String())
			}
		})
	}
}

// TestAbsent has a process that cannot write where the others do, as on a node that does not see the folder: the archive says so.
func TestAbsent(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	away := script(t, t.TempDir(), "away.sh", `[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 1 ] || export COPPICE_RECORD_DIR="$0.none"
exec `+l.compileProgram(t, "survive.c")+"\n")
	r, _, errs := l.runRecorded(t, Options{Command: l.launch(3, away), Compiler: l.cc})
	if r.Exit != 0 || r.Processes != 3 || len(r.Cut) != 1 || r.Cut[1] != recording.Absent || len(r.Found) > 0 {
		t.Errorf("%+v\n%s", r, errs)
	}
	d := definitionsOf(t, r.Archive)
	if !slices.ContainsFunc(d.LocationProperties, func(x trace.LocationProperty) bool {
		return x.Location == d.Location(1).Ref && d.Text(x.Name) == trace.PropertyCut && d.Text(x.StringValue) == recording.Absent
	}) {
		t.Error("the archive does not say it")
	}
}

// TestPrepared lets many begin in one folder at once: it is that of one of them.
func TestPrepared(t *testing.T) {
	t.Parallel()
	for range 100 {
		output := filepath.Join(t.TempDir(), "run")
		begin, results := make(chan struct{}), make(chan error)
		for range 8 {
			go func() {
				<-begin
				results <- prepare(output, filepath.Join(output, rawFolder))
			}()
		}
		close(begin)
		began := 0
		for range 8 {
			if err := <-results; err == nil {
				began++
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		}
		if began != 1 {
			t.Fatalf("%d of 8 began", began)
		}
	}
}

// TestRefused has commands that cannot be recorded: the reason is said, and nothing is left behind.
func TestRefused(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	dir := t.TempDir()
	source := filepath.Join(dir, "hello.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	static := filepath.Join(dir, "hello")
	if b, err := exec.Command("cc", "-static", "-o", static, source).CombinedOutput(); err != nil {
		t.Skipf("no static program: %v\n%s", err, b)
	}
	busy := filepath.Join(dir, "busy")
	if err := os.MkdirAll(filepath.Join(busy, "traces"), 0o755); err != nil {
		t.Fatal(err)
	}
	begun := filepath.Join(dir, "begun")
	if err := os.MkdirAll(filepath.Join(begun, rawFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name    string
		o       Options
		is      error
		message string
		exit    int
	}{
		{"static", Options{Command: l.launch(1, static)}, ErrProgram, "statically linked", 0},
		{"no MPI", Options{Command: l.launch(1, "true")}, ErrProgram, "give --cc", 0},
		{"into the queue", Options{Command: []string{"sbatch", "job.sh"}, Compiler: l.cc}, ErrProgram, "before srun or mpirun in the script", 0},
		{"no such launcher", Options{Command: []string{"mpirunx", "-n", "2", "true"}, Compiler: l.cc}, ErrProgram, "mpirunx is not in PATH", 0},
		{"no such compiler", Options{Command: []string{"true"}, Compiler: filepath.Join(dir, "mpicc")}, ErrCompiler, "mpicc", 0},
		{"recorder taken away", Options{Command: l.launch(1, "env", "-u", preload, l.compileProgram(t, "survive.c"))}, ErrNothing, "takes LD_PRELOAD or COPPICE_RECORD_DIR away", 0},
		{"never begins", Options{Command: []string{"sh", "-c", "exit 3"}, Compiler: l.cc}, ErrNothing, "MPI_Init", 3},
		{"killed before", Options{Command: []string{"sh", "-c", "kill -9 $$"}, Compiler: l.cc}, ErrNothing, "MPI_Init", 137},
		{"no such command", Options{Command: []string{filepath.Join(dir, "none")}, Compiler: l.cc}, os.ErrNotExist, "none", 0},
		{"in progress", Options{Command: []string{"true"}, Compiler: l.cc, Output: begun}, ErrExists, "coppice record --finish " + begun, 0},
		{"exists", Options{Command: []string{"true"}, Compiler: l.cc, Output: busy}, ErrExists, "another folder", 0},
	} {
		var out bytes.Buffer
		o := x.o
		o.Cache, o.Out, o.Err = cacheFolder, &out, &out
		if o.Output == "" {
			o.Output = filepath.Join(dir, "run")
		}
		r, err := Run(t.Context(), o)
		if !errors.Is(err, x.is) || err == nil || !strings.Contains(err.Error(), x.message) {
			t.Errorf("%s: %v", x.name, err)
		}
		if r != nil && r.Exit != x.exit || r == nil && x.exit != 0 {
			t.Errorf("%s: %+v, want status %d", x.name, r, x.exit)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() == "run" }) {
		t.Errorf("something was left: %v, %v", list, err)
	}
}

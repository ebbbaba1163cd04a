package record

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/stats"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/trace/recording"
)

// library is an MPI library that is installed, with its tools.
type library struct {
	cc, fc, run string
	args        []string // of the launcher
	launcher    launcher
	header      string
}

// libraries returns the MPI libraries that are installed.
func libraries(t *testing.T) []library {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles and runs MPI programs, without -short")
	}
	found, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skip("no MPI library with compiler and launcher")
	}
	return found
}

// installed looks for MPI libraries, and makes what records and replays with them: tests next to each other would each make it.
var installed = sync.OnceValues(func() (found []library, err error) {
	ctx := context.Background()
	for _, l := range []library{
		{"mpicc", "mpif90", "mpirun", []string{"--oversubscribe", "--bind-to", "none"}, openMPILauncher, ""},
		{"mpicc.mpich", "mpif90.mpich", "mpirun.mpich", nil, hydra, ""},
	} {
		if _, err := exec.LookPath(l.cc); err != nil {
			continue
		}
		if _, err := exec.LookPath(l.run); err != nil {
			continue
		}
		if l.header, err = header(ctx, l.cc); err != nil {
			return nil, err
		}
		if !strings.Contains(l.header, "OMPI_") && l.cc == "mpicc" {
			continue
		}
		if _, err := Library(ctx, l.cc, cacheFolder, partFiles, partThreads); err != nil {
			return nil, err
		}
		if _, err := ReplayLibrary(ctx, l.cc, cacheFolder); err != nil {
			return nil, err
		}
		found = append(found, l)
	}
	return found, nil
})

// compileProgram compiles a program of testdata.
func (l *library) compileProgram(t *testing.T, name string, more ...string) string {
	t.Helper()
	cc := l.cc
	if strings.HasSuffix(name, ".f90") {
		if cc = l.fc; exec.Command(cc, "--version").Run() != nil {
			t.Skipf("no %s", cc)
		}
		more = append(more, "-w", "-fallow-argument-mismatch")
	}
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
	args := append([]string{"-o", program, filepath.Join("testdata", name)}, more...)
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, b)
	}
	return program
}

// counter compiles the independent counter for the symbols of C, or those of Fortran.
func (l *library) counter(t *testing.T, fortran bool) string {
	all, err := parsePrototypes(l.header)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range all {
		p := &all[i]
		lower := strings.ToLower(p.symbol())
		switch {
		case !wrapped(p) && !strings.Contains("Init Init_thread Finalize Pcontrol", p.name):
		case fortran:
			fmt.Fprintf(&b, "CALL(%s_)\nCALL(%s_f08_)\nCALL(%s_f08ts_)\n", lower, lower, lower)
		case p.name != "Send" && p.name != "Ssend" && p.name != "Isend":
			fmt.Fprintf(&b, "CALL(%s)\n", p.symbol())
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "calls.h"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	so := filepath.Join(dir, "counter.so")
	args := []string{"-shared", "-fPIC", "-O1", "-Wl,-Bsymbolic", "-I", dir, "-o", so, "testdata/counter.c", "-ldl"}
	if !fortran {
		args = append(args, "-DBYTES")
	}
	if b, err := exec.Command(l.cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("counter: %v\n%s", err, b)
	}
	return so
}

// record runs a command under the recorder, with libraries loaded in front of it, and returns the recording's folder. The
// command succeeds and prints nothing.
func (l *library) record(t *testing.T, ranks int, front string, vars [][2]string, command ...string) string {
	t.Helper()
	raw, printed, err := l.attempt(t, ranks, front, vars, command...)
	if err != nil || printed != "" {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, printed)
	}
	return raw
}

// attempt is record for commands that may fail.
func (l *library) attempt(t *testing.T, ranks int, front string, vars [][2]string, command ...string) (raw, printed string, err error) {
	t.Helper()
	return l.attemptIn(t, t.TempDir(), ranks, front, vars, command...)
}

// attemptIn is attempt in a folder.
func (l *library) attemptIn(t *testing.T, folder string, ranks int, front string, vars [][2]string, command ...string) (raw, printed string, err error) {
	t.Helper()
	lib, err := Library(t.Context(), l.cc, cacheFolder)
	if err != nil {
		t.Fatal(err)
	}
	raw = t.TempDir()
	if err := os.WriteFile(filepath.Join(raw, recording.Marker), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if front != "" {
		lib = front + ":" + lib
	}
	vars = append([][2]string{{"LD_PRELOAD", lib}, {"COPPICE_RECORD_DIR", raw}}, vars...)
	args := append(append([]string{l.run}, l.args...), "-n", strconv.Itoa(ranks))
	args, env := withEnvironment(t.Context(), l.launcher, 0, append(args, command...), vars)
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = folder
	c.Env = append(os.Environ(), env...)
	b, err := c.CombinedOutput()
	return raw, string(b), err
}

// cacheFolder keeps recorders, the user's, and madeFolder what tests share until they end.
var cacheFolder, madeFolder string

func TestMain(m *testing.M) {
	cache, err := os.UserCacheDir()
	if err != nil {
		panic(err)
	}
	cacheFolder = filepath.Join(cache, "coppice")
	if madeFolder, err = os.MkdirTemp("", "coppice-record-test-"); err != nil {
		panic(err)
	}
	for _, name := range [...]string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
		if err := os.Setenv(name, "1"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	os.RemoveAll(madeFolder)
	os.Exit(code)
}

// calls counts the outermost MPI calls of each process by name, and the bytes of the sends the counter looks at.
func calls(t *testing.T, raw string, known ...trace.Code) []map[string]uint64 {
	t.Helper()
	return tally(t, raw, countEntered, known...)
}

// tally hands each event of a recording, with the name of the call that it is in, to a function that counts for the process.
func tally(t *testing.T, raw string, add func(count map[string]uint64, name string, e *trace.Event, words []uint64), known ...trace.Code) []map[string]uint64 {
	t.Helper()
	src, err := openRecording(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	d := src.Definitions()
	texts := make(map[uint32]string)
	for _, s := range d.Strings {
		texts[s.Ref] = s.Value
	}
	names := make(map[uint32]string)
	for _, r := range d.Regions {
		names[r.Ref] = texts[r.Name]
	}
	counts := make([]map[string]uint64, len(d.LocationGroups))
	for i := range counts {
		counts[i] = map[string]uint64{}
	}
	for p := range trace.P(d.NumLocations()) {
		s, err := src.Stream(p)
		if err != nil {
			t.Fatal(err)
		}
		count := counts[d.Location(p).Group]
		for i := range s.Chunks() {
			r, err := s.Chunk(i)
			if err != nil {
				t.Fatal(err)
			}
			var b trace.Batch
			var name string
			for r.Next(&b) == nil {
				for j := range b.Events {
					e := &b.Events[j]
					if e.Kind == trace.Enter {
						name = names[e.Ref]
					}
					add(count, name, e, b.Words(e))
				}
			}
			if list := r.Diagnostics(); len(list) > 0 {
				t.Errorf("location %d: %v", p, list)
			}
		}
		for _, d := range s.Diagnostics() {
			if !slices.Contains(known, d.Code) {
				t.Errorf("location %d: %v", p, d)
			}
		}
		s.Close()
	}
	return counts
}

func countEntered(count map[string]uint64, name string, e *trace.Event, words []uint64) {
	switch e.Kind {
	case trace.Enter:
		count[name]++
	case trace.MpiSend, trace.MpiIsend:
		if name == "MPI_Send" || name == "MPI_Ssend" || name == "MPI_Isend" {
			count["bytes"] += words[3]
		}
	}
}

// counted reads the counts of a process that the counter wrote. Names of Fortran become those of C.
func counted(t *testing.T, folder string, rank int, have map[string]uint64) map[string]uint64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(rank)))
	if err != nil {
		t.Fatal(err)
	}
	c := make(map[string]string)
	for name := range have {
		c[strings.ToLower(name)] = name
	}
	counts := make(map[string]uint64)
	for line := range strings.Lines(string(b)) {
		var name string
		var n uint64
		if _, err := fmt.Sscan(line, &name, &n); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "mpi_") {
			name = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(name, "_f08_"), "_f08ts_"), "_")
			if known, ok := c[name]; ok {
				name = known
			}
		}
		if n > 0 {
			counts[name] += n
		}
	}
	return counts
}

func openRecording(raw string) (*recording.Source, error) {
	b, err := recording.Load(raw)
	if err != nil {
		return nil, err
	}
	return recording.Open(raw, b)
}

// analyzed fails where the recording, or the archive made of it, is not analysed without a report.
func analyzed(t *testing.T, raw string) {
	t.Helper()
	src, err := openRecording(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	out := t.TempDir()
	found, err := otf2.Copy(out, "traces", src, otf2.Options{})
	if err != nil || len(found.List()) > 0 {
		t.Errorf("copy: %v, %v", err, found.List())
	}
	archive := filepath.Join(out, "traces.otf2")
	err = mpi.RunInProcess(2, func(c mpi.Comm) error {
		r, err := analyze.Run(c, analyze.Options{Trace: archive, Output: filepath.Join(out, "run.xtf"), MemBytes: 512 << 20, StoreBytes: 64 << 20})
		fault := func(x stats.CodeTotal) bool { return !tracetest.Untold(x.Code) || x.Code == trace.DiagNoCollRecord }
		if err == nil && c.Rank() == 0 && (r.Partial || slices.ContainsFunc(r.Codes, fault)) {
			t.Errorf("partial %v, %v; coppice check or info on the archive tells where", r.Partial, r.Codes)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if tool, err := exec.LookPath("otf2-print"); err == nil {
		if b, err := exec.Command(tool, "-Werror", "--silent", archive).CombinedOutput(); err != nil {
			t.Errorf("otf2-print: %v\n%.2000s", err, b)
		}
	}
}

// TestHooks records programs that use all kinds of calls. The calls and bytes are those that an independent counter
// found in the same run.
func TestHooks(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		for _, name := range [...]string{"hooks.c", "bindings.f90", "threads.c"} {
			t.Run(l.cc+"/"+name, func(t *testing.T) {
				fortran := strings.HasSuffix(name, ".f90")
				program := l.compileProgram(t, name)
				counts := t.TempDir()
				raw := l.record(t, 4, l.counter(t, fortran), [][2]string{{"COPPICE_COUNTS", counts}}, program)
				for rank, have := range calls(t, raw) {
					want := counted(t, counts, rank, have)
					delete(have, strings.TrimSuffix(name, filepath.Ext(name))) // the program
					if fortran {
						delete(have, "bytes")
					}
					if fmt.Sprint(have) != fmt.Sprint(want) {
						t.Errorf("process %d: recorded\n%v, called\n%v", rank, have, want)
					}
				}
				for rank, none := range tally(t, raw, func(count map[string]uint64, name string, e *trace.Event, w []uint64) {
					if e.Kind == trace.MpiCollectiveEnd && w[3] == 0 && w[4] > 0 && trace.CollectiveClass(uint32(w[0]))&trace.ClassNxN != 0 {
						count[name]++
					}
				}) {
					if len(none) > 0 { // in place, too, a member gives what it gets
						t.Errorf("process %d: bytes are received and none sent: %v", rank, none)
					}
				}
				analyzed(t, raw)
			})
		}
	}
}

// TestManyThreads records a program that makes threads again and again: they have the event files of those that ended.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		raw := l.record(t, 1, "", nil, l.compileProgram(t, "threads.c"), "many")
		src, err := openRecording(raw)
		if err != nil {
			t.Fatal(err)
		}
		if n := src.Definitions().NumLocations(); n > 5 {
			t.Errorf("%s: %d locations", l.cc, n)
		}
		src.Close()
		if n := calls(t, raw)[0]["MPI_Iprobe"]; n != 500 {
			t.Errorf("%s: %d calls of MPI_Iprobe", l.cc, n)
		}
	}
}

// TestThreadsAtExit records a program that ends while threads are in MPI: all that is in the files is whole.
func TestThreadsAtExit(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			raw, _, _ := l.attempt(t, 1, "", nil, l.compileProgram(t, "threads.c"), "end") // Open MPI's launcher calls it a failure
			if n := calls(t, raw, trace.DiagUnfinished)[0]["MPI_Barrier"]; n != 1 {
				t.Errorf("%d barriers", n)
			}
		})
	}
}

// TestRegions records regions that a program marks, and its functions.
func TestRegions(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t)[:1] {
		raw := l.record(t, 2, "", nil, l.compileProgram(t, "regions.c", "-finstrument-functions", "-rdynamic"))
		for rank, n := range calls(t, raw) {
			if n["outer"] != 3 || n["inner"] != 3 || n["open"] != 1 || n["before"] != 0 || n["counted_function"] != 4 {
				t.Errorf("process %d: %v", rank, n)
			}
		}
		analyzed(t, raw)
	}
}

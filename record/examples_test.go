package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// example is a program of the folder examples. The interval with the number 1 holds all its work.
type example struct {
	file string
	slow int // process of four that --imbalance slows down
	// ns that it sleeps at least with the flags below
	least uint64
}

var examples = []example{
	{"stencil.c", 3, 10 * 4 * 250_000},
	{"wavefront.f90", 3, 10 * 32 * 4 * 62_500},
	{"pipeline.c", 2, 5 * 4 * 250_000},
}

// sleeping are flags for a run whose times do not depend on how many processors there are.
var sleeping = map[string][]string{
	"stencil.c":     {"--size=1000", "--steps=10", "--compute=sleep", "--imbalance=300"},
	"wavefront.f90": {"--size=500", "--steps=10", "--compute=sleep", "--imbalance=300"},
	"pipeline.c":    {"--size=500", "--steps=10", "--compute=sleep", "--imbalance=300"},
}

// compileExample compiles a program of the folder examples as its Makefile does.
func (l *library) compileExample(t *testing.T, file string) string {
	t.Helper()
	cc, sources := l.cc, []string{"-Iinclude"}
	dir := t.TempDir()
	if strings.HasSuffix(file, ".f90") {
		if cc, sources = l.fc, []string{"-J" + dir, "include/coppice_intervals.f90"}; exec.Command(cc, "--version").Run() != nil {
			t.Skipf("no %s: install gfortran", cc)
		}
	}
	program := filepath.Join(dir, strings.TrimSuffix(file, filepath.Ext(file)))
	args := append(append([]string{"-O2", "-o", program}, sources...), filepath.Join("examples", file))
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cc, err, b)
	}
	return program
}

// launch returns the command that starts a program on some ranks.
func (l *library) launch(ranks int, program ...string) []string {
	return slices.Concat([]string{l.run}, l.args, []string{"-n", strconv.Itoa(ranks)}, program)
}

// runRecorded records a command as users do.
func (l *library) runRecorded(t *testing.T, o Options) (r *Result, out, errs string) {
	t.Helper()
	var b, e bytes.Buffer
	o.Cache, o.Out, o.Err = cacheFolder, &b, &e
	if o.Output == "" {
		o.Output = filepath.Join(t.TempDir(), "run")
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, e.String())
	}
	return r, b.String(), e.String()
}

// TestExamples runs the examples with and without the recorder: they print the same. The analysis has nothing to complain
// about, and shows the work of the process that has more to do.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, l := range libraries(t) {
		for _, x := range examples {
			t.Run(l.cc+"/"+x.file, func(t *testing.T) {
				program := l.compileExample(t, x.file)
				r, _, _ := l.runRecorded(t, Options{Command: l.launch(4, append([]string{program}, sleeping[x.file]...)...)})
				if r.Exit != 0 || r.Processes != 4 || len(r.Found) > 0 || len(r.Cut) > 0 {
					t.Errorf("status %d, %d processes, %v", r.Exit, r.Processes, r.Found)
				}
				if ns := work(t, r.Archive, x.slow); ns < x.least {
					t.Errorf("process %d computes %d ns; planted were %d", x.slow, ns, x.least)
				}
				busy := l.launch(4, program, "--size=64", "--steps=20", "--imbalance=50")
				plain, err := exec.Command(busy[0], busy[1:]...).Output()
				if err != nil {
					t.Fatal(err)
				}
				if _, recorded, _ := l.runRecorded(t, Options{Command: busy}); recorded != string(plain) || !strings.Contains(recorded, "20 ") {
					t.Errorf("recorded it prints %q, else %q", recorded, plain)
				}
			})
		}
	}
}

// work analyses an archive, which must have no flaw, and returns what report intervals says about the computation of a process
// in interval 1, in ns. A sleep lasts at least as long as it shall; how much longer depends on what else the machine does.
func work(t *testing.T, archive string, process int) uint64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.xtf")
	res := analyse(t, archive, file)
	if res.Partial || len(res.Codes) > 0 {
		t.Errorf("partial %v, %v", res.Partial, res.Codes)
	}
	run, err := results.Open(file, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.File.Close()
	ranks, err := results.ParseRanks(strconv.Itoa(process), run.Defs)
	if err != nil {
		t.Fatal(err)
	}
	d, err := report.New(run, report.Options{Sections: []report.Section{report.SectionIntervals}, Ranks: ranks})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := d.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Intervals struct {
			Nodes []struct {
				ID    uint64
				Stats struct {
					CPU struct{ Max [2]uint64 }
				}
			}
		}
	}
	if err := json.Unmarshal(text.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, n := range doc.Intervals.Nodes {
		if n.ID == 1 {
			return n.Stats.CPU.Max[0]
		}
	}
	t.Errorf("no interval 1 in %s", text.String())
	return 0
}

// analyse makes the file of an archive on two ranks.
func analyse(t *testing.T, archive, file string, set ...func(o *analyze.Options)) *analyze.Result {
	t.Helper()
	var first *analyze.Result
	o := analyze.Options{Trace: archive, Output: file, MemBytes: 512 << 20, StoreBytes: 64 << 20}
	for _, f := range set {
		f(&o)
	}
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		r, err := analyze.Run(c, o)
		if c.Rank() == 0 {
			first = r
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// TestMakefile builds all examples.
func TestMakefile(t *testing.T) {
	t.Parallel()
	libraries(t)[0].makeExamples(t, "examples")
}

// examplesMade are the copies that makeExamples has made, by what they were made of.
var examplesMade struct {
	sync.Mutex
	folders map[string]string
}

// makeExamples builds a copy of the programs of a folder by its Makefile, once for all tests, and returns the copy.
func (l *library) makeExamples(t *testing.T, folder string, variables ...string) string {
	t.Helper()
	for _, tool := range [...]string{"make", l.fc} {
		if exec.Command(tool, "--version").Run() != nil {
			t.Skipf("no %s: ./scripts/setup --test installs it", tool)
		}
	}
	examplesMade.Lock()
	defer examplesMade.Unlock()
	key := fmt.Sprint(l.cc, folder, variables)
	if made := examplesMade.folders[key]; made != "" {
		return made
	}
	dir, err := os.MkdirTemp(madeFolder, "examples-")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range [...]string{"examples", "include"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
	}
	folder = filepath.Join(dir, folder)
	args := append([]string{"-j4", "-C", folder, "MPICC=" + l.cc, "MPIFC=" + l.fc, "clean", "all"}, variables...)
	if b, err := exec.Command("make", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if examplesMade.folders == nil {
		examplesMade.folders = map[string]string{}
	}
	examplesMade.folders[key] = folder
	return folder
}

package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// realProgram is a program that nobody wrote for these tests, with a small input. Debian links them with Open MPI.
type realProgram struct {
	name, install string
	args          []string
	input         func(t *testing.T, folder string)
	results       func(folder, printed string) string // what must not depend on the recorder
}

var realPrograms = []realProgram{
	{"lmp", "lammps", []string{"-in", "in.melt", "-log", "none"}, func(t *testing.T, folder string) {
		writeFile(t, folder, "in.melt", melt)
	}, func(_, printed string) string {
		_, thermo, _ := strings.Cut(printed, "\nStep ")
		thermo, _, _ = strings.Cut(thermo, "Loop time")
		return thermo
	}},
	{"hpcc", "hpcc", nil, func(t *testing.T, folder string) { writeFile(t, folder, "hpccinf.txt", hpccInput) }, hpccResults},
}

func writeFile(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hpccInput is the smallest problem for HPCC: HPL of order 64 and the tests that it derives from that.
const hpccInput = `HPLinpack benchmark input file
a small one
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
64           Ns
1            # of NBs
16           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
2            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
`

var hpccChecks = regexp.MustCompile(`(?m)^.*(\((?:passed|failed)\)|tests completed|\|\|Ax-b\|\|.*=|Success=|_N=|^HPL_norm|^HPL_residual).*$`)

// hpccErrors are the errors of RandomAccess, which lets a few updates get lost when processes change the same word.
var hpccErrors = regexp.MustCompile(`Found [0-9]+ errors`)

// hpccResults are the residuals and the outcomes of HPCC's own checks.
func hpccResults(folder, _ string) string {
	b, err := os.ReadFile(filepath.Join(folder, "hpccoutf.txt"))
	if err != nil {
		return err.Error()
	}
	return hpccErrors.ReplaceAllString(strings.Join(hpccChecks.FindAllString(string(b), -1), "\n"), "")
}

// TestPrograms records real programs: their results are those without the recorder, the calls and bytes are those that an
// independent counter found in the same run, the archive is one that otf2-print and the analysis have nothing to say about.
func TestPrograms(t *testing.T) {
	t.Parallel()
	l := libraries(t)[0]
	if l.cc != "mpicc" {
		t.Skip("no Open MPI")
	}
	for _, x := range realPrograms {
		for _, ranks := range [...]int{4, 8} {
			t.Run(x.name+"/"+strconv.Itoa(ranks), func(t *testing.T) {
				if _, err := exec.LookPath(x.name); err != nil {
					t.Skipf("no %s: install %s", x.name, x.install)
				}
				x.test(t, &l, ranks)
			})
		}
	}
}

func (x *realProgram) test(t *testing.T, l *library, ranks int) {
	plain, recorded, counts := t.TempDir(), t.TempDir(), t.TempDir()
	x.input(t, plain)
	x.input(t, recorded)
	args := l.launch(ranks, append([]string{x.name}, x.args...)...)
	c := exec.Command(args[0], args[1:]...)
	c.Dir = plain
	printed, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	want := x.results(plain, string(printed))
	raw, out, err := l.attemptIn(t, recorded, ranks, l.counter(t, false), [][2]string{{"COPPICE_COUNTS", counts}}, append([]string{x.name}, x.args...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := x.results(recorded, out); got != want || strings.Count(got, "\n") < 3 {
		t.Errorf("recorded\n%s\nelse\n%s", got, want)
	}
	all := calls(t, raw)
	if len(all) != ranks {
		t.Errorf("%d processes", len(all))
	}
	for rank, have := range all {
		want := counted(t, counts, rank, have)
		delete(have, x.name) // the program
		if fmt.Sprint(have) != fmt.Sprint(want) || want["MPI_Init"]+want["MPI_Init_thread"] != 1 || want["bytes"] == 0 {
			t.Errorf("process %d: recorded\n%v, called\n%v", rank, have, want)
		}
	}
	analyzed(t, raw)
}

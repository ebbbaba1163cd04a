package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const program = `static inline __attribute__((always_inline)) int inner(volatile int *x) { return ++*x; }
static __attribute__((noinline)) int outer(volatile int *x)
{
	return inner(x);
}
int main(int n, char **v) { volatile int x = n; (void)v; return outer(&x); }
`

// compiled compiles the program, and runs more commands in its folder.
func compiled(t *testing.T, more ...[]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range append([][]string{{"cc", "-g", "-O1", "-Wl,--build-id", "-o", "p", "p.c"}}, more...) {
		if _, err := exec.LookPath(c[0]); err != nil {
			t.Skipf("no %s: install a C compiler and binutils", c[0])
		}
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, b)
		}
	}
	return filepath.Join(dir, "p")
}

// addressOf returns where a function begins.
func addressOf(t *testing.T, path, function string) uint64 {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	list, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == function {
			return s.Value
		}
	}
	t.Fatalf("no symbol %s", function)
	return 0
}

// hasInlined looks for the inlined function and the one around it in the first bytes of outer.
func hasInlined(f *File, at uint64) bool {
	for k := range uint64(16) {
		list := f.Frames(at + k)
		if len(list) == 2 && list[0].Function == "inner" && list[0].Line == 1 && list[1].Function == "outer" && list[1].Line == 4 && filepath.Base(list[1].File) == "p.c" {
			return true
		}
	}
	return false
}

func TestFrames(t *testing.T) {
	path := compiled(t,
		[]string{"objcopy", "--only-keep-debug", "p", "p.debug"},
		[]string{"objcopy", "--strip-all", "--add-gnu-debuglink=p.debug", "p", "linked"},
		[]string{"strip", "--strip-debug", "-o", "plain", "p"}, []string{"strip", "--strip-all", "-o", "bare", "p"})
	at := addressOf(t, path, "outer")
	for _, name := range [...]string{"p", "linked"} {
		f, err := Open(filepath.Join(filepath.Dir(path), name), "")
		if err != nil {
			t.Fatal(err)
		}
		if !hasInlined(f, at) {
			t.Errorf("%s: no inner in outer", name)
		}
	}
	f, err := Open(filepath.Join(filepath.Dir(path), "plain"), "")
	if err != nil {
		t.Fatal(err)
	}
	if list := f.Frames(at + 2); len(list) != 1 || list[0] != (Frame{Function: "outer+0x2"}) {
		t.Errorf("without lines: %v", list)
	}
	if f, err = Open(filepath.Join(filepath.Dir(path), "bare"), ""); err != nil {
		t.Fatal(err)
	}
	for function, distance := range map[string]uint64{"outer": 2, "main": 1} {
		if list := f.Frames(addressOf(t, path, function) + distance); len(list) != 1 || list[0].Function != fmt.Sprintf("+0x%x", distance) {
			t.Errorf("%s without symbols: %v", function, list)
		}
	}
	if list := f.Frames(8); len(list) > 0 {
		t.Errorf("in no function: %v", list)
	}
	if _, err := Open(path, "00"); err == nil {
		t.Error("a file with another build id was taken")
	}
}

// compiledCXX compiles a program of C++ and opens it.
func compiledCXX(t *testing.T, source string, flags ...string) (*File, string) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++")
	}
	path := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(path+".cpp", []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("g++", append(flags, "-g", "-O1", "-o", path, path+".cpp")...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v %s", err, b)
	}
	f, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

// TestOutlined: the body of a parallel region of C++ is a function of its own, which DWARF names by its symbol and gives no line.
func TestOutlined(t *testing.T) {
	source := "int run(int n)\n{\n\tint sum = 0;\n\n#pragma omp parallel for reduction(+ : sum)\n\tfor (int i = 0; i < n; i++)\n\t\tsum += i;\n\treturn sum;\n}\nint main(int n, char **) { return run(n); }\n"
	f, path := compiledCXX(t, source, "-fopenmp")
	list := f.Frames(addressOf(t, path, "_Z3runi._omp_fn.0") + 2)
	if len(list) != 1 || list[0].Function != "run._omp_fn.0" || list[0].Begin != 5 {
		t.Errorf("in the loop: %v", list)
	}
}

// TestLambda: of lambda expressions that are inlined GCC writes neither a line nor a name that tells them apart.
func TestLambda(t *testing.T) {
	f, path := compiledCXX(t, `struct Grid { int run(volatile int *); };
template <class F> static inline void each(F f) { f(1); }
__attribute__((noinline)) int Grid::run(volatile int *x)
{
	each([x](int k) { *x = *x * 3 + k; });
	each([x](int k) { *x = *x / 7 - k; });
	return *x;
}
int main(int n, char **) { volatile int x = n; return Grid().run(&x); }
`)
	found := map[Frame]bool{}
	at := addressOf(t, path, "_ZN4Grid3runEPVi")
	for k := range uint64(32) {
		list := f.Frames(at + k)
		list[0].File = ""
		found[list[0]] = true
	}
	for _, line := range []int{5, 6} {
		if want := (Frame{Function: "Grid::run::{lambda}::operator()", Line: line, Begin: line}); !found[want] {
			t.Errorf("%v is not among %v", want, found)
		}
	}
}

// TestDamage opens files whose bytes were changed: whatever they tell, they are read to an end.
func TestDamage(t *testing.T) {
	path := compiled(t)
	at := addressOf(t, path, "outer")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for k := 0; k < len(whole); k += max(len(whole)/200, 1) {
		b := bytes.Clone(whole)
		for i := k; i < min(k+8, len(b)); i++ {
			b[i] ^= 0xff
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if f, err := Open(path, ""); err == nil {
			for i := range uint64(16) {
				f.Frames(at + i)
			}
		}
	}
}

func TestReadable(t *testing.T) {
	for name, want := range map[string]string{
		"solve": "solve", "__grid_MOD_exchange": "grid::exchange", "_ZN9LAMMPS_NS9CommBrick8exchangeEv": "LAMMPS_NS::CommBrick::exchange", "_start": "_start",
		"__grid_MOD_exchange._omp_fn.1": "grid::exchange._omp_fn.1", "_ZN4grid8exchangeEv._omp_fn.0": "grid::exchange._omp_fn.0", "_Z3runv.constprop.0": "run",
	} {
		if got := readable(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestSymbol: a symbol without size ends where the next one begins, and what follows that has no name.
func TestSymbol(t *testing.T) {
	f := &File{symbols: []symbol{{"entry", 10, 0}, {"solve", 20, 30}}}
	for address, want := range map[uint64]string{5: "", 12: "entry+0x2", 25: "solve+0x5", 35: ""} {
		got := ""
		if frames := f.Frames(address); len(frames) > 0 {
			got = frames[0].Function
		}
		if got != want {
			t.Errorf("%d: %q, want %q", address, got, want)
		}
	}
}

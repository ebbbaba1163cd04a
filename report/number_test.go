package report

import (
	"errors"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
)

func TestUnit(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		resolution uint64
		num, den   numbers.Sum
		want       string
	}{
		{1_000_000_000, 1_234_567_891, 1, "1.234568"},
		{1_000_000_000, 500, 1, "0.000001"}, // half away from zero
		{1_000_000_000, 499, 1, "0.000000"},
		{1_000_000_000, -500, 1, "-0.000001"},
		{1_000_000, 8143794, 1, "8.143794"},
		{3, 1, 1, "0.333333"},
		{3, 2, 1, "0.666667"},
		{1, 1_234_567, 1, "1 234 567.000000"},
		{1_000_000, 81437945, 10, "8.143795"},
		{0, 1_234_567, 1, "1 234 567"},
		{0, 5, 2, "3"},
	} {
		if got := (numbers.Units{Resolution: x.resolution}).Fraction(numbers.Divide(x.num, x.den)); got != x.want {
			t.Errorf("%d/%d ticks of 1/%d s: %q, want %q", x.num, x.den, x.resolution, got, x.want)
		}
	}
}

// TestMeans groups the digits of means as those of the sums next to them.
func TestMeans(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ got, want string }{
		{numbers.Units{Resolution: 1000}.Real(numbers.Ratio{Value: 1234567, Defined: true}), "1 234.567000"},
		{numbers.Units{Resolution: 1000}.Real(numbers.Ratio{Value: -1234567, Defined: true}), "-1 234.567000"},
		{numbers.Units{}.Real(numbers.Ratio{Value: 12345.25, Defined: true}), "12 345.2"},
		{numbers.Units{}.Real(numbers.Ratio{}), "n/a"},
		{numbers.Units{Resolution: 1e9, Rounded: true}.Time(1234567890123), "1 234.568 s"},
		{numbers.Units{Resolution: 1e9, Rounded: true}.Ticks(56788444), "0.0568"},
		{numbers.Units{Resolution: 1e9, Rounded: true}.Big(numbers.Sum(1004999)), "0.00100"},
		{numbers.Units{Resolution: 1e9, Rounded: true}.Ticks(1499), "0.000001"},
		{numbers.Units{Resolution: 1e9, Rounded: true}.Real(numbers.Ratio{Value: -56788444, Defined: true}), "-0.0568"},
		{numbers.Units{Resolution: 1e9, Rounded: true}.Real(numbers.Ratio{Value: 1.5e9, Defined: true}), "1.500"},
		{numbers.Units{Resolution: 1e9, Rounded: true}.Instant(56788444), "0.056788"},
		{numbers.Units{Resolution: 1000}.PerCall(5_000_000, 4), "1 250 000 000.000"},
		{numbers.Ratio{Value: 322472.04, Defined: true}.Mean(), "322 472.0"},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		n    uint64
		want string
	}{{0, "0 B"}, {999, "999 B"}, {1000, "1 kB"}, {1234, "1.23 kB"}, {999_500, "1 MB"}, {5e12, "5 TB"}, {3e15, "3.0 PB"}} {
		if got := numbers.Bytes(x.n); got != x.want {
			t.Errorf("%d: %q, want %q", x.n, got, x.want)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	if got := numbers.Clean("a\x1b[31mb\tc\nd\u202ee", 20); strings.ContainsAny(got, "\x1b\t\n\u202e") || got != "a?[31mb?c?d?e" {
		t.Errorf("%q", got)
	}
	if got := numbers.Clean("abcdef", 4); got != "ab…f" {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]string{
		"solver::Halo<double, 16>::exchange": "solver::Halo<…>::exchange", "solver::detail::Halo<double, 16>::exchange (a.cpp:14)": "…l::Halo<…>::exchange (a.cpp:14)",
		"Halo<double, 16, std::allocator<double>>": "Halo<…>", "a text that is too long for a::name here": "a text that is t…or a::name here",
		"MPI_Allreduce (_gpaw.cpython-311-x86_64-linux-gnu.so+0x33707)": "MPI_Allreduce (_…gnu.so+0x33707)",
	} {
		if got := numbers.Clean(name, 32); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := table.WriteTable(&b, []string{"<name", "n", "nobody has it"}, [][]string{{"a", "1"}, {"\x1b[1mlong\x1b[0m", "10"}})
	if want := "name   n\na      1\n\x1b[1mlong\x1b[0m  10\n"; err != nil || b.String() != want {
		t.Errorf("%q, want %q, %v", b.String(), want, err)
	}
}

func TestRanks(t *testing.T) {
	t.Parallel()
	src, err := synthetic.New(synthetic.Options{Processes: 20, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := src.Definitions()
	for _, x := range []struct{ spec, want string }{
		{"0", "0"},
		{"0-3,8", "0-3,8"},
		{"8,0-3,2", "0-3,8"},
		{"0-19:4", "0,4,8,12,16"},
		{"19", "19"},
		{"comm:MPI_COMM_WORLD", "0-19"},
	} {
		r, err := results.ParseRanks(x.spec, d)
		if err != nil || r.String() != x.want || r.All() {
			t.Errorf("%s: %q, %v", x.spec, r, err)
		}
	}
	for _, spec := range []string{"", "20", "3-1", "a", "0-3:0", "-1", "0-99999999999", "comm:none", "node:99", "node:x", "1,,2"} {
		if r, err := results.ParseRanks(spec, d); !errors.Is(err, results.ErrRanks) {
			t.Errorf("%q: %v, %v", spec, r, err)
		}
	}
	if all := (results.Ranks{}); !all.All() || !all.Contains(7) || all.String() != "all" {
		t.Error("the zero set is not all")
	}
	first, err := results.ParseRanks("node:0", d)
	if err != nil || !first.Contains(0) {
		t.Errorf("node:0: %v, %v", first, err)
	}
}

func FuzzRanks(f *testing.F) {
	src, err := synthetic.New(synthetic.Options{Processes: 20, Iterations: 1})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"0-3,8,16-19:4", "comm:MPI_COMM_WORLD", "node:0", "4294967295-4294967295", "0-19:18446744073709551615"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		r, err := results.ParseRanks(spec, src.Definitions())
		if err != nil {
			return
		}
		again, err := results.ParseRanks(r.String(), src.Definitions())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q gives %q, which gives %q, %v", spec, r, again, err)
		}
		for _, p := range r.List {
			if p >= 20 {
				t.Errorf("%q holds process %d", spec, p)
			}
		}
	})
}

// TestMagnitude prints how bad problems are, in the unit of their code.
func TestMagnitude(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		u    numbers.Units
		code trace.Code
		want string
	}{
		{numbers.Units{Resolution: 1_000_000_000}, trace.DiagClockRepaired, "0.000002361 s"},
		{numbers.Units{Resolution: 1_000_000}, trace.DiagClockViolation, "0.002361000 s"},
		{numbers.Units{}, trace.DiagTimeBackwards, "2 361 ticks"},
		{numbers.Units{Resolution: 1_000_000}, trace.DiagBytesDiffer, "2 361"},
	} {
		if got := results.Magnitude(x.u, x.code, 2361); got != x.want {
			t.Errorf("%s: %q, want %q", x.code, got, x.want)
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// testdata/stream.json is what go test -json wrote for six small packages, without times and stacks; a seventh was
// added that never ends.
func TestReadTests(t *testing.T) {
	in, err := os.Open("testdata/stream.json")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	var got tally
	if err := readTests(&out, "m.org/m", in, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.ran) != 17 || !got.ran["good TestSubs/two/three"] || !got.ran["bad TestSubs/wrong"] || got.ran["good TestSubs"] {
		t.Errorf("ran %v", got.ran)
	}
	got.ran = nil
	want := tally{
		passed: 11,
		failed: 6,
		failures: []string{
			"bad TestSubs/wrong", "bad TestAfter", "broken (does not build)", "dies (outside of a test)",
			"panics TestPanic", "stuck TestStuck",
		},
		skipped: []skip{
			{"good TestSubs/absent", "the traces are absent"},
			{"good TestSilentSkip", "no reason given"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("counted\n%+v\nwant\n%+v", got, want)
	}
	text := out.String()
	for _, part := range []string{
		"ok   good", "FAIL bad", "FAIL broken", "got 2, want 3", "the sum is wrong", "cannot use \"no\"",
		"panic: gone", "waiting", "did not end", "go: a line that is not an event",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	if strings.Contains(text, "unseen") || strings.Contains(text, "none") {
		t.Errorf("prints what passed:\n%s", text)
	}
}

// TestFuzzing fuzzes a package that holds and one that fails on an input at hand.
func TestFuzzing(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for fuzzing, without -short")
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":           "module " + module + "\n\ngo 1.26\n",
		"good/a_test.go":   "package good\n\nimport \"testing\"\n\nfunc FuzzOne(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }\n\nfunc FuzzTwo(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }\n",
		"bad/a_test.go":    "package bad\n\nimport \"testing\"\n\nfunc FuzzOne(f *testing.F) {\n\tf.Add(7)\n\tf.Fuzz(func(t *testing.T, n int) {\n\t\tif n == 7 {\n\t\t\tt.Error(\"it is seven\")\n\t\t}\n\t})\n}\n",
		"none/a_test.go":   "package none\n",
		"broken/a_test.go": "package broken\n\nimport \"testing\"\n\nfunc FuzzOne(f *testing.F) { none(f) }\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var out, log bytes.Buffer
	var got tally
	f := fuzzing{dir: "fuzzers"}
	f.fuzz(&output{out: &out, log: &log}, &got, time.Second)
	if got.passed != 4 || !slices.Equal(got.failures, []string{"making the fuzzer broken", "fuzzing bad FuzzOne"}) || !got.ran["fuzzing good FuzzTwo"] || got.cpu == 0 {
		t.Errorf("%+v\n%s", got, &out)
	}
	if !strings.Contains(log.String(), "new interesting") || strings.Contains(log.String(), "not built with coverage") {
		t.Errorf("nothing guides the fuzzing:\n%s", &log)
	}
	if _, err := os.Stat(f.dir); err == nil {
		t.Error("the binaries are left")
	}
	for _, part := range []string{"it is seven", "undefined: none", "executions in"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in\n%s", part, &out)
		}
	}
}

func TestFuzzVerdict(t *testing.T) {
	const end = "fuzz: elapsed: 3s, execs: 40304 (13431/sec), new interesting: 104 (total: 108)\n" +
		"fuzz: elapsed: 4s, execs: 40504 (0/sec), new interesting: 104 (total: 108)\n"
	for _, c := range []struct {
		name, out string
		deadline  bool
		note      string
	}{
		{"deadline", end + "--- FAIL: FuzzX (4.20s)\n    context deadline exceeded\nFAIL\n", true, "40504 executions in 4s"},
		{
			"crash", "--- FAIL: FuzzX (0.02s)\n    Failing input written to testdata/fuzz/FuzzX/c25\nFAIL\n", false,
			"no executions reported",
		},
		{
			"crash that speaks of a deadline",
			"context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzX/c25\n", false, "no executions reported",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := deadlineOnly(c.out); got != c.deadline {
				t.Errorf("deadline only: %v, want %v", got, c.deadline)
			}
			if got := fuzzNote(c.out); got != c.note {
				t.Errorf("note %q, want %q", got, c.note)
			}
		})
	}
}

// TestRunAll runs steps that pass, fail and are skipped: a failure must not end the run, and must show in the result.
func TestRunAll(t *testing.T) {
	sh := func(script string) cmdline { return command("sh", "-c", script) }
	absent := func() string { return "no library" }
	for _, c := range []struct {
		name   string
		steps  []step
		failed bool
		last   string
		prints []string
	}{
		{"all pass", []step{
			{"one", "", inTurn, nil, commands(sh("echo quiet"), sh("true"))},
			{"two", "", inTurn, absent, commands(sh("false"))},
		}, false, "2 passed, 0 failed, 1 skipped", []string{"  no library\n      step two\n"}},
		{"one fails", []step{
			{"one", "", inTurn, nil, commands(sh("echo the reason >&2; exit 3"))},
			{"two", "", inTurn, nil, commands(sh("true"))},
		}, true, "1 passed, 1 failed, 0 skipped", []string{"the reason", "exit status 3", "  one: sh -c"}},
		{"speaks where it must be silent", []step{
			{"one", "", inTurn, nil, commands(silent("echo", "a.go"))},
		}, true, "0 passed, 1 failed, 0 skipped", []string{"a.go"}},
		{"is silent, and downloads", []step{
			{"one", "", inTurn, nil, commands(silent("sh", "-c", "echo downloading >&2"))},
		}, false, "1 passed, 0 failed, 0 skipped", nil},
		{"no such command", []step{
			{"one", "", inTurn, nil, commands(command("./no-such-command"))},
		}, true, "0 passed, 1 failed, 0 skipped", nil},
		{"go test without packages", []step{
			{"one", "", inTurn, nil, goTest(nil, "./no/such/package")},
		}, true, "0 passed, 1 failed, 0 skipped", []string{"no/such/package"}},
		{"skipped in one step, run in another", []step{
			{"one", "", inTurn, nil, func(_ *output, t *tally) { t.skip("long", "short run"); t.skip("never", "no traces") }},
			{"two", "", inTurn, nil, func(_ *output, t *tally) { t.pass("long"); t.skip("never", "no traces") }},
		}, false, "1 passed, 0 failed, 3 skipped", []string{
			"skipped:\n  no traces\n      never\n  and 1 that another step ran",
		}},
		{"skipped as a whole in one step, run in parts in another", []step{
			{"one", "", inTurn, nil, func(_ *output, t *tally) { t.skip("p long", "short run") }},
			{"two", "", inTurn, nil, func(_ *output, t *tally) { t.pass("p long/a/b"); t.pass("p long/c") }},
		}, false, "2 passed, 0 failed, 1 skipped", []string{"skipped:\n  and 1 that another step ran"}},
		{"environment", []step{
			{"one", "", inTurn, nil, commands(sh(`test "$GOARCH" = 386`).with("GOARCH=386"))},
		}, false, "1 passed, 0 failed, 0 skipped", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			failed, err := runAll(&out, t.TempDir(), c.steps)
			if err != nil || failed != c.failed {
				t.Errorf("failed %v, error %v; want %v", failed, err, c.failed)
			}
			text := out.String()
			if !strings.HasSuffix(text, "\n"+c.last+"\n") {
				t.Errorf("the last line is not %q:\n%s", c.last, text)
			}
			for _, part := range c.prints {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in\n%s", part, text)
				}
			}
		})
	}
}

func TestChoose(t *testing.T) {
	steps := table(time.Second)
	n := len(steps)
	if err := choose(&steps, []string{"no-such-step"}); err == nil {
		t.Error("takes a name that is not in the table")
	}
	if err := choose(&steps, nil); err != nil || len(steps) != n-1 { // the short tests are among all tests
		t.Errorf("no names leave %d of %d steps, error %v", len(steps), n, err)
	}
	if err := choose(&steps, []string{"vet", "format"}); err != nil || len(steps) != 2 || steps[0].name != "format" {
		t.Errorf("got %d steps, error %v", len(steps), err)
	}
	if steps = table(time.Second); choose(&steps, []string{"quick"}) != nil || len(steps) != len(quick) {
		t.Errorf("quick has %d steps of %d", len(steps), len(quick))
	}
	seen := map[string]bool{}
	for _, s := range table(time.Second) {
		if seen[s.name] || s.what == "" {
			t.Errorf("step %q: a name given twice, or nothing said about it", s.name)
		}
		seen[s.name] = true
	}
}

// TestVetted: no file is compiled in the steps race, v3 or arm64 alone, which do not vet, but two, which go vet reads by their names.
func TestVetted(t *testing.T) {
	constraint := regexp.MustCompile(`(?m)^//go:build .*(\brace\b|\bamd64\.v)`)
	var found []string
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) != ".go" || err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if constraint.Match(b) && !bytes.Contains(b, []byte("\n//go:build !race\n")) && !bytes.HasPrefix(b, []byte("//go:build !race\n")) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || !slices.Equal(found, []string{"../../" + onlyRace[0], "../../" + onlyRace[1]}) {
		t.Errorf("%v %v", found, err)
	}
	files := func(env []string, flags ...string) string {
		cmd := exec.Command("go", append(append([]string{"list"}, flags...), "-f", "{{.ImportPath}} {{.GoFiles}} {{.CgoFiles}} {{.SFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}", "./...")...)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if runtime.GOARCH == "amd64" && files(cross("arm64")) != files(nil, "-tags", "nompi") {
		t.Error("for arm64 other files are compiled than are vetted without MPI")
	}
}

// TestPlaces: steps aside run in order next to others, one that is alone next to none, and all say what they found.
func TestPlaces(t *testing.T) {
	ended := map[string]chan struct{}{"one": make(chan struct{}), "two": make(chan struct{}), "three": make(chan struct{}), "four": make(chan struct{})}
	has := func(name string) bool {
		select {
		case <-ended[name]:
			return true
		default:
			return false
		}
	}
	work := func(name string, f func(b *output) bool) func(*output, *tally) {
		return func(b *output, tt *tally) {
			if fmt.Fprintln(b.out, "in", name); f(b) {
				tt.pass(name)
			} else {
				tt.fail(name)
			}
			close(ended[name])
		}
	}
	var out bytes.Buffer
	failed, err := runAll(&out, t.TempDir(), []step{
		{"one", "", aside, nil, work("one", func(b *output) bool { <-ended["three"]; return b.aside })},
		{"two", "", aside, nil, work("two", func(b *output) bool { return b.aside && has("one") })},
		{"three", "", inTurn, nil, work("three", func(b *output) bool { return !b.aside })}, // one waits for it
		{"four", "", alone, nil, work("four", func(b *output) bool { return !b.aside && has("two") })},
		{"five", "", aside, nil, commands(command("sh", "-c", "test $(nice) -gt "+niceness(t)+" -o $(nice) -eq 19"))},
		{"six", "", inTurn, nil, commands(command("sh", "-c", "test $(nice) -eq "+niceness(t)))},
	})
	var order []string
	for line := range strings.Lines(out.String()) {
		if name, ok := strings.CutPrefix(line, "== "); ok {
			order = append(order, strings.TrimRight(name, ": \n"))
		}
	}
	if err != nil || failed || !slices.Equal(order[:4], []string{"three", "one", "two", "four"}) || !strings.HasSuffix(out.String(), "\n6 passed, 0 failed, 0 skipped\n") {
		t.Errorf("%v %v %q\n%s", err, failed, order, &out)
	}
}

func niceness(t *testing.T) string {
	t.Helper()
	b, err := exec.Command("nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func TestTogether(t *testing.T) {
	var out, log strings.Builder
	var sum tally
	begun := make(chan struct{})
	part := func(name string, step func(*tally)) func(*output, *tally) {
		return func(b *output, t *tally) {
			step(t)
			fmt.Fprintln(b.out, name)
			fmt.Fprintln(b.log, "log of", name)
		}
	}
	together(
		part("first", func(t *tally) { <-begun; t.pass("a"); t.skip("b", "no b") }), // ends only where the second one runs
		part("second", func(t *tally) { close(begun); t.pass("c"); t.fail("d"); t.skip("e", "no e") }),
	)(&output{out: &out, log: &log}, &sum)
	if out.String() != "first\nsecond\n" || log.String() != "log of first\nlog of second\n" {
		t.Errorf("%q %q", out.String(), log.String())
	}
	if sum.passed != 2 || sum.failed != 1 || !slices.Equal(sum.failures, []string{"d"}) || len(sum.skipped) != 2 || len(sum.ran) != 3 {
		t.Errorf("%+v", sum)
	}
}

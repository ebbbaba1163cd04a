package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const module = "github.com/coppice-hpc/coppice"

// onlyRace are the files that only the race detector compiles here. TestVetted keeps that, and go vet reads them by their names.
var onlyRace = []string{"cmd/coppice/race_test.go", "jobs/pages_other.go"}

// startsMPI matches the tests that start MPI programs.
const startsMPI = "OfMPI$|^TestMPI$|^TestFaults$|^TestKillAndResume$"

// step is one line of the table.
type step struct {
	name, what string
	where      place
	needs      func() string // says why the step cannot run here; nil: it always can
	run        func(b *output, t *tally)
}

// place says what may run at the same time as a step.
type place int

const (
	inTurn place = iota // steps that run aside
	aside               // all but steps that run alone; it gets what processors have left, as long as tests wait for programs, or the last package is tested
	alone               // nothing
)

func (s *step) skipReason() string {
	if s.needs == nil {
		return ""
	}
	return s.needs()
}

// table lists the steps in the order they begin: cheap ones first, and those aside where much comes after them.
func table(fuzz time.Duration) []step {
	fuzzers := &fuzzing{dir: filepath.Join("out", "test", "fuzzers")}
	return []step{
		{"format", "gofumpt has nothing to change", inTurn, nil, commands(silent("go", "tool", "-modfile=scripts/tools/go.mod", "gofumpt", "-l", "."))},
		{"build", "all packages, and bin/coppice", inTurn, nil, commands(everywhere(
			command("go", "build", "./..."), command("go", "build", "-o", "bin/coppice", "./cmd/coppice"))...)},
		{"vet", "go vet, with and without MPI", inTurn, nil, commands(append(everywhere(
			command("go", "vet", "./..."), command("go", "vet", "-tags", "nompi", "./...")), command("go", "vet", onlyRace[0]), command("go", "vet", onlyRace[1]))...)},
		{"staticcheck", "staticcheck", aside, nil, commands(
			command("go", "tool", "-modfile=scripts/tools/go.mod", "staticcheck", "./..."),
			command("go", "tool", "-modfile=../scripts/tools/go.mod", "staticcheck", "./...").in("bench"))},
		{"lint", "golangci-lint with .golangci.yml", aside, needsLint, commands(everywhere(command("golangci-lint", "run", "--timeout", "10m", "./..."))...)},
		{"386", "without cgo for 386, where int has 32 bits", aside, nil, all(
			commands(links().with(cross("386")...), command("go", "vet", "./...").with(cross("386")...)),
			light(func(packages ...string) func(*output, *tally) {
				return commands(command(append([]string{"go", "vet"}, packages...)...).with(cross("386")...).in("bench"))
			}))},
		{
			"run386", "the short tests as a 386 program", aside, needs386,
			together(goTest(cross("386"), "-short", "./..."), light(func(packages ...string) func(*output, *tally) {
				return goTestIn("bench", cross("386"), append([]string{"-short"}, packages...)...)
			})),
		},
		{"arm64", "the command without cgo for arm64, of files that are vetted without MPI", aside, nil, commands(links().with(cross("arm64")...))},
		{"nompi", "without MPI: build, and the tests of package mpi", aside, nil, all(
			commands(links("-tags", "nompi")), goTest(nil, "-tags", "nompi", "-short", "./mpi/..."))},
		{"readers", "what export writes, read by the libraries of others", aside, nil, commands(
			command("go", "vet", ".").in("report/export/readers").with("CGO_ENABLED=0"), command("go", "test", "-vet=off", "-count=1", ".").in("report/export/readers").with("CGO_ENABLED=0"))},
		{"fuzzers", "the tests of packages with fuzz targets, made for fuzzing", aside, nil, fuzzers.build},
		{"layers", "imports go down only", inTurn, nil, goTest(nil, "./internal/layers")},
		{"short", "the short tests: with quick or by name, as test runs them too", inTurn, nil, testEverywhere(nil, "-short")},
		{"archive", "a real archive through analyze, check, report and export, on ranks of both kinds", inTurn, needsArchive, realArchive},
		{"demo", "the demo of the README, and the session of docs/first-hour.md", inTurn, nil, commands(
			command("./scripts/demo").with(usersGC), command("./scripts/first-hour", "--check").with(usersGC))},
		{"test", "all tests, long ones and those under mpirun too, but the recorder's that compare times", inTurn, nil, allTests},
		{
			"race", "the short tests with the race detector and GOAMD64=v3, of packages with goroutines, without those that start MPI programs", inTurn, nil,
			together(raceTest(""), raceTest("bench")),
		},
		{"mpich", "with MPICH and GOAMD64=v3: the command, and the short tests of package mpi and the tool", inTurn, needsMPICH, all(
			commands(command("go", "vet", "-tags", "mpich", "./mpi/...", "./cmd/coppice/...").with(fused()...)),
			goTest(fused(), "-tags", "mpich", "-short", "./mpi/...", "./cmd/coppice/..."))},
		{
			"v3", "the short tests with GOAMD64=v3 that are not in race or mpich, without those that start MPI programs", inTurn, needsV3,
			together(restTest(""), restTest("bench")),
		},
		{"record", "the recorder's tests that compare with the clocks of programs: with nothing next to them", alone, nil, timedTests},
		{
			"fuzz", fmt.Sprintf("fuzzing, %v per package", fuzz), alone, nil,
			func(b *output, t *tally) { fuzzers.fuzz(b, t, fuzz) },
		},
	}
}

// cross is the environment of another processor.
func cross(arch string) []string { return []string{"CGO_ENABLED=0", "GOARCH=" + arch} }

// links makes the command and throws it away; go vet checks the types of all other programs in one configuration with the same files.
func links(flags ...string) cmdline {
	return command(append(append([]string{"go", "build", "-o", os.DevNull}, flags...), "./cmd/coppice")...)
}

// quick are the steps of a check at a desk, which takes a few minutes: scripts/test quick.
var quick = []string{"format", "build", "vet", "layers", "short", "archive"}

// archive is a recorded trace that lies next to the repository.
const archive = "../shared/traces/otf2/npb-lu.S-4/traces.otf2"

func needsArchive() string {
	if _, err := os.Stat(archive); err != nil {
		return "no " + archive
	}
	return ""
}

// usersGC gives a command the collector as users have it; scripts/test has all others collect less.
const usersGC = "GOGC="

// realArchive analyses the archive with goroutines as ranks and under mpirun, which must make the same bytes, and reads the result.
func realArchive(b *output, t *tally) {
	dir, err := os.MkdirTemp("", "coppice-archive")
	if err != nil {
		fmt.Fprintf(b.out, "FAIL %v\n", err)
		t.fail("a folder for the results")
		return
	}
	defer os.RemoveAll(dir)
	run, again := filepath.Join(dir, "run.xtf"), filepath.Join(dir, "again.xtf")
	commands(
		command("go", "build", "-o", "bin/coppice", "./cmd/coppice"),
		command("bin/coppice", "analyze", archive, "-o", run, "-q", "-j", "3").with(usersGC),
		command("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", "bin/coppice", "analyze", archive, "-o", again, "-q").with(usersGC),
		command("cmp", run, again),
		command("bin/coppice", "check", run),
		command("bin/coppice", "report", run),
		command("bin/coppice", "report", run, "-o", filepath.Join(dir, "report.html")),
		command("bin/coppice", "query", run, "stats", "--rank", "3", "--time", "40%..60%"),
		command("bin/coppice", "export", run, "--to", "csv", "-o", filepath.Join(dir, "tables")),
	)(b, t)
}

// output is where a step writes: out is for people, log takes everything.
type output struct {
	out, log io.Writer
	aside    bool // commands leave the processors to others
}

// cmdline is a command of a step, in the root of the repository or a folder of it. A silent one fails when it prints anything to
// standard output.
type cmdline struct {
	dir       string
	args, env []string
	silent    bool
}

func command(args ...string) cmdline { return cmdline{args: args} }
func silent(args ...string) cmdline  { return cmdline{args: args, silent: true} }

func (c cmdline) with(env ...string) cmdline {
	c.env = env
	return c
}

func (c cmdline) in(dir string) cmdline {
	c.dir = dir
	return c
}

// everywhere adds to each command of all packages the same for the module in bench.
func everywhere(list ...cmdline) []cmdline {
	for _, c := range slices.Clone(list) {
		if slices.Contains(c.args, "./...") {
			list = append(list, c.in("bench"))
		}
	}
	return list
}

func (c cmdline) String() string {
	text := strings.Join(append(append([]string{}, c.env...), c.args...), " ")
	if c.dir != "" {
		return "cd " + c.dir + " && " + text
	}
	return text
}

// stepLimit ends a command that hangs; go test ends its own tests before. The longest take 14 minutes on two processors, and more where others use those.
const (
	stepLimit = 60 * time.Minute
	testLimit = 45 * time.Minute
)

func (c cmdline) start(ctx context.Context, b *output) *exec.Cmd {
	args := c.args
	if b.aside {
		args = append([]string{"nice"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// commands is a step of commands that must succeed. Each counts as one check.
func commands(list ...cmdline) func(*output, *tally) {
	return func(b *output, t *tally) {
		for _, c := range list {
			ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
			cmd := c.start(ctx, b)
			var out, aside bytes.Buffer
			if cmd.Stdout, cmd.Stderr = &out, &out; c.silent {
				cmd.Stderr = &aside // where the go command says what it downloads
			}
			err := cmd.Run()
			cancel()
			t.used(cmd.ProcessState)
			fmt.Fprintf(b.log, "$ %s\n%s%s", c, &aside, &out)
			switch {
			case err != nil:
				fmt.Fprintf(b.out, "FAIL %s: %v\n%s%s", c, err, &aside, &out)
				t.fail(c.String())
			case c.silent && out.Len() > 0:
				fmt.Fprintf(b.out, "FAIL %s printed\n%s", c, &out)
				t.fail(c.String())
			default:
				fmt.Fprintf(b.out, "ok   %s\n", c)
				t.pass(c.String())
			}
		}
	}
}

// goTest is a step of go test with the given flags and packages. It does not vet: another step has vetted all that it compiles, with
// more checks, and go test would vet all again in each configuration, with the standard library.
func goTest(env []string, args ...string) func(*output, *tally) { return goTestIn("", env, args...) }

// testEverywhere is a step of go test on all packages, of the module in bench too.
func testEverywhere(env []string, args ...string) func(*output, *tally) {
	args = append(args, "./...")
	return together(goTest(env, args...), goTestIn("bench", env, args...))
}

// timed is the package with tests that compare times. Those that do not begin with t.Parallel.
const timed = "record"

// allTests is testEverywhere without the tests that compare times.
func allTests(b *output, t *tally) {
	out, err := exec.Command("go", "list", "./...").Output()
	parallel, parallelErr := parallelTests(timed)
	if err = errors.Join(err, parallelErr); err != nil {
		fmt.Fprintf(b.out, "FAIL looking for tests: %v\n", err)
		t.fail("looking for tests")
		return
	}
	packages := slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool { return p == module+"/"+timed })
	together(goTest(nil, packages...), all(goTest(nil, "-parallel", "4", "-run", parallel, "./"+timed), goTestIn("bench", nil, "./...")))(b, t)
}

// timedTests are the tests that allTests leaves out.
func timedTests(b *output, t *tally) {
	parallel, err := parallelTests(timed)
	if err != nil {
		fmt.Fprintf(b.out, "FAIL looking for tests: %v\n", err)
		t.fail("looking for tests")
		return
	}
	goTest(nil, "-skip", parallel, "./"+timed)(b, t)
}

func goTestIn(dir string, env []string, args ...string) func(*output, *tally) {
	return func(b *output, t *tally) {
		c := command(append([]string{"go", "test", "-json", "-vet=off", "-count=1", "-timeout", testLimit.String()}, args...)...).with(env...).in(dir)
		ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
		defer cancel()
		cmd := c.start(ctx, b)
		out, in := io.Pipe()
		cmd.Stdout, cmd.Stderr = in, in
		read := make(chan error)
		before := t.failed
		go func() { read <- readTests(b.out, module, io.TeeReader(out, b.log), t) }()
		err := cmd.Run()
		t.used(cmd.ProcessState)
		_ = in.Close()
		readErr := <-read
		if readErr != nil || err != nil && t.failed == before {
			fmt.Fprintf(b.out, "FAIL %s: %v %v\n", c, err, readErr)
			t.fail(c.String())
		}
	}
}

// all runs parts of a step one after the other.
func all(parts ...func(*output, *tally)) func(*output, *tally) {
	return func(b *output, t *tally) {
		for _, run := range parts {
			run(b, t)
		}
	}
}

// together runs two parts of a step at the same time, since each waits now and then. What the second one prints comes after the first.
func together(first, second func(*output, *tally)) func(*output, *tally) {
	return func(b *output, t *tally) {
		var out, log bytes.Buffer
		var other tally
		done := make(chan struct{})
		go func() {
			defer close(done)
			second(&output{out: &out, log: &log, aside: b.aside}, &other)
		}()
		first(b, t)
		<-done
		_, _ = io.Copy(b.out, &out)
		_, _ = io.Copy(b.log, &log)
		t.add(&other)
	}
}

// fused is the environment of tests that run where compilers fuse multiplications with additions, as far as the processor can: that must
// not change a byte. With the race detector the command has the same fused instructions in the same functions, and which MPI library is
// linked does not matter to them; so one run of a test is for both.
func fused() []string {
	if needsV3() != "" {
		return nil
	}
	return []string{"GOAMD64=v3"}
}

func needsV3() string {
	if runtime.GOARCH != "amd64" {
		return "the machine is not an amd64"
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "the processor's abilities are unknown: " + err.Error()
	}
	_, flags, _ := strings.Cut(string(text), "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	have := strings.Fields(flags)
	for _, want := range []string{"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"} {
		if !slices.Contains(have, want) {
			return "the processor has no " + want
		}
	}
	return ""
}

func needsLint() string {
	if out, err := exec.Command("golangci-lint", "version", "--short").Output(); err != nil || !strings.HasPrefix(string(out), "2.") {
		return "golangci-lint 2 is not installed"
	}
	return ""
}

// needs386 runs a 386 program: kernels for amd64 can be made without the means to.
func needs386() string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "the machine does not run 386 programs"
	}
	dir, err := os.MkdirTemp("", "runtests")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o666); err != nil {
		return err.Error()
	}
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), cross("386")...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Sprintf("a 386 program cannot be built: %v\n%s", err, out)
	}
	if err := exec.Command(program).Run(); errors.Is(err, syscall.ENOEXEC) {
		return "the kernel does not run 386 programs: " + err.Error()
	}
	return ""
}

func needsMPICH() string {
	if _, err := exec.LookPath("mpirun.mpich"); err != nil {
		return "MPICH is not installed; scripts/setup --mpich installs it"
	}
	if err := exec.Command("pkg-config", "--exists", "mpich").Run(); err != nil {
		return "MPICH is not installed for building; scripts/setup --mpich installs it"
	}
	return ""
}

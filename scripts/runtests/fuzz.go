package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// fuzzTarget is what looks like a fuzz target in a test file.
var fuzzTarget = regexp.MustCompile(`(?m)^func Fuzz`)

// fuzzing are two steps: one makes the test binary of each package with fuzz targets, once for all its targets, the other one fuzzes.
type fuzzing struct {
	dir  string // of the binaries
	list []fuzzer
}

// build makes the binaries.
func (f *fuzzing) build(b *output, t *tally) {
	packages, err := packagesWith("", "*_test.go", fuzzTarget)
	cache, cacheErr := exec.Command("go", "env", "GOCACHE").Output()
	dir, dirErr := filepath.Abs(f.dir)
	if err = errors.Join(err, cacheErr, dirErr); err != nil || len(packages) == 0 {
		fmt.Fprintf(b.out, "FAIL %d packages with fuzz targets: %v\n", len(packages), err)
		t.fail("looking for fuzz targets")
		return
	}
	for i, p := range packages {
		one := fuzzer{goPackage: p, binary: filepath.Join(dir, fmt.Sprint(i)), found: filepath.Join(strings.TrimSpace(string(cache)), "fuzz", p.path)}
		r := one.build(b)
		b.fuzzed(t, "making the fuzzer", p.path, "", &r)
		f.list = append(f.list, one)
	}
}

// fuzz gives every package the same time, split over its targets, and works on as many packages at a time as there are cores. It makes the
// binaries where that step did not.
func (f *fuzzing) fuzz(b *output, t *tally, perPackage time.Duration) {
	if f.list == nil {
		f.build(b, t)
	}
	defer os.RemoveAll(f.dir)
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for _, one := range f.list {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for _, target := range one.targets {
				r := one.run(target, max(perPackage/time.Duration(len(one.targets)), time.Second))
				mu.Lock()
				b.fuzzed(t, "fuzzing", one.path, target, &r)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// fuzzResult is the end of one target.
type fuzzResult struct {
	out  string
	ok   bool
	used []*os.ProcessState
}

func (b *output) fuzzed(t *tally, what, path, target string, r *fuzzResult) {
	t.used(r.used...)
	name, note := what+" "+strings.TrimPrefix(path, module+"/"), ""
	if target != "" {
		name, note = name+" "+target, fuzzNote(r.out)
	}
	fmt.Fprintf(b.log, "%s\n%s\n", name, r.out)
	if r.ok {
		t.pass(name)
		fmt.Fprintf(b.out, "ok   %-58s %s\n", name, note)
		return
	}
	t.fail(name)
	fmt.Fprintf(b.out, "FAIL %s\n%s", name, r.out)
}

// fuzzer is a package with fuzz targets, its test binary, and the folder of inputs that reached new code, where go test -fuzz has them.
type fuzzer struct {
	goPackage
	binary, found string
	targets       []string
}

// build makes the binary, and asks it for its targets. What guides fuzzing is in the packages of the module alone: with -fuzz the go command
// would compile all others again for it, which is most of the work, and binaries would try half as many inputs in a time.
func (f *fuzzer) build(b *output) (r fuzzResult) {
	for _, c := range []cmdline{
		command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-gcflags=./...=-d=libfuzzer -dwarf=false", "-o", f.binary, f.path),
		command(f.binary, "-test.list", "^Fuzz"),
	} {
		ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
		cmd := c.start(ctx, b)
		text, err := cmd.CombinedOutput()
		cancel()
		r.out, r.ok = string(text), err == nil
		r.used = append(r.used, cmd.ProcessState)
		if !r.ok {
			return r
		}
	}
	if f.targets = strings.Fields(r.out); len(f.targets) == 0 {
		r.ok, r.out = false, "there are no targets\n"
	}
	return r
}

// run runs one target with one worker, as go test -fuzz does. Inputs that reach new code are minimised too, by default for up to a minute
// each, which would leave no time for finding any; so they get few tries. Now and then a run reports its own deadline at the end of the time
// as a failure of the target, without an input (https://go.dev/issue/75804); such a run is repeated.
func (f *fuzzer) run(target string, share time.Duration) (r fuzzResult) {
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), share+5*time.Minute)
		cmd := exec.CommandContext(ctx, f.binary, "-test.paniconexit0", "-test.run", "^$", "-test.fuzz", "^"+target+"$", "-test.fuzzcachedir", f.found,
			"-test.parallel", "1", "-test.fuzztime", share.String(), "-test.fuzzminimizetime", "20x")
		cmd.Dir, cmd.WaitDelay = f.dir, 5*time.Second
		text, err := cmd.CombinedOutput()
		cancel()
		r.out, r.ok = string(text), err == nil
		r.used = append(r.used, cmd.ProcessState)
		if r.ok || !deadlineOnly(r.out) {
			break
		}
	}
	return r
}

// deadlineOnly tells a run that found nothing but its own deadline.
func deadlineOnly(out string) bool {
	return strings.Contains(out, "context deadline exceeded") && !strings.Contains(out, "Failing input written")
}

var fuzzProgress = regexp.MustCompile(`elapsed: (\S+), execs: (\d+)`)

// fuzzNote says how much was tried, from the last line of progress.
func fuzzNote(out string) string {
	all := fuzzProgress.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return "no executions reported"
	}
	last := all[len(all)-1]
	return fmt.Sprintf("%s executions in %s", last[2], last[1])
}

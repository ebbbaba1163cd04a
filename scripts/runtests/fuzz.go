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

// fuzzAll gives every package the same time, split over its targets, and works on as many packages at a time as there
// are cores. The test binary of a package is made once for all its targets.
func fuzzAll(b *output, t *tally, perPackage time.Duration) {
	list, err := packagesWith("", "*_test.go", fuzzTarget)
	cache, cacheErr := exec.Command("go", "env", "GOCACHE").Output()
	dir, dirErr := os.MkdirTemp("", "coppice-fuzz")
	if err = errors.Join(err, cacheErr, dirErr); err != nil || len(list) == 0 {
		fmt.Fprintf(b.out, "FAIL %d packages with fuzz targets: %v\n", len(list), err)
		t.fail("looking for fuzz targets")
		return
	}
	defer os.RemoveAll(dir)
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i, p := range list {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f := fuzzer{goPackage: p, binary: filepath.Join(dir, fmt.Sprint(i)), found: filepath.Join(strings.TrimSpace(string(cache)), "fuzz", p.path)}
			targets, r := f.build()
			if mu.Lock(); r.ok {
				t.used(r.used...)
			} else {
				b.fuzzed(t, p.path, "(building)", &r)
			}
			mu.Unlock()
			for _, target := range targets {
				r := f.run(target, max(perPackage/time.Duration(len(targets)), time.Second))
				mu.Lock()
				b.fuzzed(t, p.path, target, &r)
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

func (b *output) fuzzed(t *tally, path, target string, r *fuzzResult) {
	t.used(r.used...)
	name := strings.TrimPrefix(path, module+"/") + " " + target
	fmt.Fprintf(b.log, "%s\n%s\n", name, r.out)
	if r.ok {
		t.pass("fuzzing " + name)
		fmt.Fprintf(b.out, "ok   %-50s %s\n", name, fuzzNote(r.out))
		return
	}
	t.fail(name)
	fmt.Fprintf(b.out, "FAIL %s\n%s", name, r.out)
}

// fuzzer is a package with fuzz targets, its test binary, and the folder of inputs that reached new code, where go test -fuzz has them.
type fuzzer struct {
	goPackage
	binary, found string
}

// build makes the binary, with what guides fuzzing, and returns the targets in it.
func (f *fuzzer) build() (targets []string, r fuzzResult) {
	for _, args := range [][]string{
		{"go", "test", "-c", "-vet=off", "-ldflags=-w", "-fuzz", ".", "-o", f.binary, f.path},
		{f.binary, "-test.list", "^Fuzz"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		text, err := cmd.CombinedOutput()
		cancel()
		r.out, r.ok = string(text), err == nil
		r.used = append(r.used, cmd.ProcessState)
		if !r.ok {
			return nil, r
		}
	}
	if targets = strings.Fields(r.out); len(targets) == 0 {
		r.ok, r.out = false, "there are no targets\n"
	}
	return targets, r
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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// fuzzPackage is a package and its fuzz targets.
type fuzzPackage struct {
	path    string
	targets []string
}

// fuzzTargets reads the output of go test -json -list.
func fuzzTargets(in io.Reader) ([]fuzzPackage, error) {
	found := map[string][]string{}
	for dec := json.NewDecoder(in); ; {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if name := strings.TrimSpace(e.Output); e.Action == "output" && strings.HasPrefix(name, "Fuzz") {
			found[e.Package] = append(found[e.Package], name)
		}
	}
	var list []fuzzPackage
	for path, targets := range found {
		list = append(list, fuzzPackage{path, targets})
	}
	slices.SortFunc(list, func(a, b fuzzPackage) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// fuzzAll gives every package the same time, split over its targets, and works on as many packages at a time as there
// are cores.
func fuzzAll(b *output, t *tally, perPackage time.Duration) {
	var list, problems bytes.Buffer
	cmd := exec.Command("go", "test", "-json", "-list", "^Fuzz", "./...")
	cmd.Stdout, cmd.Stderr = &list, &problems
	err := cmd.Run()
	t.used(cmd.ProcessState)
	pkgs, decodeErr := fuzzTargets(bytes.NewReader(list.Bytes()))
	if err = errors.Join(err, decodeErr); err != nil {
		fmt.Fprintf(b.out, "go test -list: %v\n%s", err, problems.String())
		t.fail("listing the fuzz targets")
	}
	if len(pkgs) == 0 {
		t.skip("", "no package has fuzz targets")
		return
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for _, p := range pkgs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			share := max(perPackage/time.Duration(len(p.targets)), time.Second)
			for _, target := range p.targets {
				r := fuzzOne(p.path, target, share)
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
	for _, s := range r.used {
		t.used(s)
	}
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

// fuzzOne runs one target with one worker. Inputs that reach new code are minimised too, by default for up to a minute
// each, which would leave no time for finding any; so they get few tries. Now and then the go command reports its own deadline at the end of the time
// as a failure of the target, without an input (https://go.dev/issue/75804); such a run is repeated.
func fuzzOne(path, target string, share time.Duration) (r fuzzResult) {
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), share+5*time.Minute)
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+target+"$", "-parallel", "1",
			"-fuzztime", share.String(), "-fuzzminimizetime", "20x", path)
		cmd.WaitDelay = 5 * time.Second
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

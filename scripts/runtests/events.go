package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// tally counts what ran, and the processor time of all its processes.
type tally struct {
	passed, failed int
	failures       []string
	skipped        []skip
	ran            map[string]bool // tests that passed or failed
	cpu            time.Duration
}

type skip struct{ test, reason string }

func (t *tally) pass(name string) {
	t.passed++
	t.note(name)
}

func (t *tally) fail(name string) {
	t.failed++
	t.failures = append(t.failures, name)
	t.note(name)
}

func (t *tally) note(name string) {
	if t.ran == nil {
		t.ran = map[string]bool{}
	}
	t.ran[name] = true
}

func (t *tally) skip(name, reason string) { t.skipped = append(t.skipped, skip{name, reason}) }

// add counts what another tally counted.
func (t *tally) add(o *tally) {
	t.passed += o.passed
	t.failed += o.failed
	t.failures = append(t.failures, o.failures...)
	t.skipped = append(t.skipped, o.skipped...)
	t.cpu += o.cpu
	for name := range o.ran {
		t.note(name)
	}
}

// used adds the processor time of finished commands and of what they started and waited for.
func (t *tally) used(list ...*os.ProcessState) {
	for _, s := range list {
		if s != nil {
			t.cpu += s.UserTime() + s.SystemTime()
		}
	}
}

// event is one line of go test -json; `go doc test2json` describes it.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail, with the variant in brackets
	Test        string
	Elapsed     float64 // seconds
	Output      string
	FailedBuild string
}

// pkg is a package whose tests run. Names and output of the package itself are under the empty name.
type pkg struct {
	result map[string]string // pass, fail, skip; empty while it runs
	output map[string][]string
	order  []string
}

// tests reads the output of go test -json and counts it. It prints a line per package as soon as that has ended, and
// the output of what failed.
type tests struct {
	out    io.Writer
	module string
	tally  *tally
	pkgs   map[string]*pkg
	builds map[string][]string
}

// readTests counts a whole stream. Lines that are not events are printed.
func readTests(out io.Writer, module string, in io.Reader, t *tally) error {
	r := tests{out: out, module: module, tally: t, pkgs: map[string]*pkg{}, builds: map[string][]string{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.event(&e)
			} else {
				fmt.Fprint(out, line)
			}
		}
		if err == io.EOF {
			r.close()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *tests) event(e *event) {
	if e.Action == "build-output" {
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := r.pkgs[e.Package]
	if p == nil {
		p = &pkg{result: map[string]string{}, output: map[string][]string{}}
		r.pkgs[e.Package] = p
	}
	if _, ok := p.result[e.Test]; !ok {
		p.result[e.Test] = ""
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
	case "pass", "fail", "skip":
		p.result[e.Test] = e.Action
		if e.Test == "" {
			r.end(e, p)
			delete(r.pkgs, e.Package)
		} else if e.Action == "pass" {
			delete(p.output, e.Test)
		}
	}
}

// end counts a package that has ended. A test with subtests counts only where it failed and none of them did.
func (r *tests) end(e *event, p *pkg) {
	name := strings.TrimPrefix(strings.TrimPrefix(e.Package, r.module), "/")
	var passed, failed, skipped int
	for _, test := range p.order {
		full := name + " " + test
		result := p.result[test]
		switch {
		case test == "":
		case result != "pass" && result != "skip":
			if !p.below(test, func(sub string) bool { return p.result[sub] != "pass" && p.result[sub] != "skip" }) {
				r.tally.fail(full)
				failed++
			}
		case p.below(test, func(string) bool { return true }):
		case result == "skip":
			r.tally.skip(full, reason(p.output[test]))
			skipped++
		default:
			r.tally.pass(full)
			passed++
		}
	}
	if e.Action == "fail" && failed == 0 {
		what := " (outside of a test)"
		if e.FailedBuild != "" {
			what = " (does not build)"
		}
		r.tally.fail(name + what)
		failed++
	}
	if passed+failed+skipped == 0 {
		return
	}
	word := "ok"
	if failed > 0 {
		word = "FAIL"
	}
	took := time.Duration(e.Elapsed * float64(time.Second))
	fmt.Fprintf(r.out, "%-5s%-22s %5d passed %3d failed %3d skipped %8s\n", word, name, passed, failed, skipped, seconds(took))
	if failed > 0 {
		r.show(e, p)
	}
}

// below tells whether a subtest of test satisfies f.
func (p *pkg) below(test string, f func(sub string) bool) bool {
	return slices.ContainsFunc(p.order, func(sub string) bool { return strings.HasPrefix(sub, test+"/") && f(sub) })
}

// show prints the output of what failed in a package.
func (r *tests) show(e *event, p *pkg) {
	for _, line := range r.builds[e.FailedBuild] {
		fmt.Fprint(r.out, "     ", line)
	}
	for _, test := range p.order {
		if result := p.result[test]; result == "pass" || result == "skip" {
			continue
		}
		for _, line := range p.output[test] {
			fmt.Fprint(r.out, "     ", line)
		}
	}
}

// close counts packages that never ended, as when the go command was stopped.
func (r *tests) close() {
	var names []string
	for name := range r.pkgs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p := r.pkgs[name]
		p.output[""] = append(p.output[""], "the tests of this package did not end\n")
		r.end(&event{Action: "fail", Package: name}, p)
	}
}

// reason is what a skipped test said: the last line of its output that no part of the frame printed, without the place.
func reason(output []string) string {
	text := ""
	for _, line := range output {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- ") {
			continue
		}
		text = trimmed
		if _, rest, ok := strings.Cut(trimmed, ".go:"); ok {
			if _, said, ok := strings.Cut(rest, ": "); ok {
				text = said
			}
		}
	}
	if text == "" {
		return "no reason given"
	}
	return text
}

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	list := flag.Bool("list", false, "print the steps and end")
	fuzz := flag.Duration("fuzztime", 8*time.Second, "fuzzing per package; at least 1s per target")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "scripts/test [flags] [STEP...]: runs the named steps, those of a quick check, or all without a name.")
		flag.PrintDefaults()
	}
	flag.Parse()
	steps := table(*fuzz)
	if *list {
		for _, s := range steps {
			fmt.Printf("%-12s %s\n", s.name, s.what)
		}
		fmt.Printf("%-12s %s\n", "quick", strings.Join(quick, ", "))
		return
	}
	if err := choose(&steps, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	failed, err := runAll(os.Stdout, filepath.Join("out", "test"), steps)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if failed {
		os.Exit(1)
	}
}

// choose keeps the named steps, in the table's order. No names keep all, but the short tests, which are among all tests.
func choose(steps *[]step, names []string) error {
	if i := slices.Index(names, "quick"); i >= 0 {
		names = slices.Concat(names[:i], quick, names[i+1:])
	}
	for _, name := range names {
		if !slices.ContainsFunc(*steps, func(s step) bool { return s.name == name }) {
			return fmt.Errorf("scripts/test: there is no step %s; scripts/test --list shows them", name)
		}
	}
	*steps = slices.DeleteFunc(*steps, func(s step) bool {
		if len(names) == 0 {
			return s.name == "short"
		}
		return !slices.Contains(names, s.name)
	})
	return nil
}

// runAll runs the steps in order, writes each one's log under dir and the summary to out. Steps that may run aside do so one after the
// other, next to those that follow them in the table, up to one that runs alone. It tells whether anything failed.
func runAll(out io.Writer, dir string, steps []step) (bool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return true, err
	}
	begin := time.Now()
	done, errs := make([]stepResult, len(steps)), make([]error, len(steps))
	work := func(i int, out io.Writer) {
		s := &steps[i]
		fmt.Fprintf(out, "\n== %s: %s\n", s.name, s.what)
		done[i], errs[i] = runStep(out, dir, s)
		fmt.Fprintf(out, "-- %s: %s, %s\n", s.name, done[i].verdict(), seconds(done[i].wall))
	}
	var side lane
	for i := range steps {
		if steps[i].where == aside {
			side.add(func(out io.Writer) { work(i, out) })
			continue
		}
		if steps[i].where == alone {
			side.wait(out)
		}
		work(i, out)
		side.print(out)
	}
	side.wait(out)
	if err := errors.Join(errs...); err != nil {
		return true, err
	}
	return summary(out, done, time.Since(begin)), nil
}

// lane runs work one after the other, next to its owner. What the work prints waits until the owner has it printed.
type lane struct {
	mu      sync.Mutex
	printed bytes.Buffer
	last    chan struct{} // closed after what was added last
}

// add runs f after what was added before.
func (l *lane) add(f func(out io.Writer)) {
	before, done := l.last, make(chan struct{})
	l.last = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		var out bytes.Buffer
		f(&out)
		l.mu.Lock()
		defer l.mu.Unlock()
		_, _ = out.WriteTo(&l.printed)
	}()
}

// print prints what ended work had to say.
func (l *lane) print(out io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.printed.WriteTo(out)
}

// wait waits until all work has ended, and prints.
func (l *lane) wait(out io.Writer) {
	if l.last != nil {
		<-l.last
	}
	l.print(out)
}

// runStep runs one step with its log.
func runStep(out io.Writer, dir string, s *step) (stepResult, error) {
	log, err := os.Create(filepath.Join(dir, s.name+".log"))
	if err != nil {
		return stepResult{}, err
	}
	defer log.Close()
	begin := time.Now()
	r := stepResult{name: s.name}
	if reason := s.skipReason(); reason != "" {
		r.skip("", reason)
		fmt.Fprintf(out, "skipped: %s\n", reason)
	} else {
		s.run(&output{out: out, log: log, aside: s.where == aside}, &r.tally)
	}
	r.wall = time.Since(begin)
	return r, nil
}

type stepResult struct {
	tally
	name string
	wall time.Duration
}

func (r *stepResult) verdict() string {
	switch {
	case r.failed > 0:
		return "FAILED"
	case r.passed == 0 && len(r.skipped) > 0:
		return "skipped"
	}
	return "ok"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// summary prints the table of steps, skips and failures, and the closing line. It tells whether anything failed.
func summary(out io.Writer, done []stepResult, wall time.Duration) bool {
	fmt.Fprintf(out, "\n%-12s %-8s %8s %8s %8s %10s %10s\n",
		"step", "result", "passed", "failed", "skipped", "time", "cpu")
	var all tally
	for _, r := range done {
		fmt.Fprintf(out, "%-12s %-8s %8d %8d %8d %10s %10s\n",
			r.name, r.verdict(), r.passed, r.failed, len(r.skipped), seconds(r.wall), seconds(r.cpu))
		all.cpu += r.cpu
		all.passed += r.passed
		all.failed += r.failed
	}
	all.skipped = printSkips(out, done)
	if all.failed > 0 {
		fmt.Fprintln(out, "\nfailed:")
	}
	for _, r := range done {
		for _, name := range r.failures {
			fmt.Fprintf(out, "  %s: %s\n", r.name, name)
		}
	}
	fmt.Fprintf(out, "\nall steps: %s, %s of processor time on %d cores; logs in out/test\n",
		seconds(wall), seconds(all.cpu), runtime.NumCPU())
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", all.passed, all.failed, len(all.skipped))
	return all.failed > 0
}

// printSkips prints the skips by reason and returns them all. Tests that one step skips and another runs, as the short
// steps do with long tests, are counted only.
func printSkips(out io.Writer, done []stepResult) []skip {
	var all []skip
	var order []string
	ran := map[string]bool{}
	for _, r := range done {
		for name := range r.ran {
			ran[name] = true
			for i, c := range name { // with a part of a test its whole ran
				if c == '/' {
					ran[name[:i]] = true
				}
			}
		}
	}
	elsewhere, by := 0, map[string][]string{}
	for _, r := range done {
		for _, s := range r.skipped {
			all = append(all, s)
			if ran[s.test] {
				elsewhere++
				continue
			}
			if by[s.reason] == nil {
				order = append(order, s.reason)
			}
			name := s.test
			if name == "" {
				name = "step " + r.name
			}
			if !slices.Contains(by[s.reason], name) {
				by[s.reason] = append(by[s.reason], name)
			}
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(out, "\nskipped:")
	}
	for _, reason := range order {
		fmt.Fprintf(out, "  %s\n      %s\n", reason, strings.Join(by[reason], "\n      "))
	}
	if elsewhere > 0 {
		fmt.Fprintf(out, "  and %d that another step ran, mostly long tests in short steps\n", elsewhere)
	}
	return all
}

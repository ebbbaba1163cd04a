package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// stepped is a program whose processes do the same in each of some steps, between MPI_Init and MPI_Finalize: computing in functions,
// a message to the next process, a collective operation of all.
type stepped struct {
	processes, steps int
	resolution       int                               // ticks a second, and so many times longer are all times; 0: 1e6
	names            [2]string                         // of the two functions
	work             func(function, p, step int) int   // us
	keep             func(p, us int, kind string) bool // of the events, those that are there; nil: all
}

func (x stepped) text() string {
	per := 1
	if x.resolution > 0 {
		per = x.resolution / 1e6
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- program --\nprocesses %d\nresolution %d\n-- events --\n", x.processes, per*1e6)
	now := make([]int, x.processes)
	say := func(p int, kind string, args ...any) {
		if x.keep == nil || x.keep(p, now[p], kind) {
			fmt.Fprintf(&b, "%d %d %s\n", p, now[p]*per, strings.TrimSpace(kind+" "+fmt.Sprintln(args...)))
		}
	}
	call := func(p int, name string, us int) {
		say(p, "ENTER", name)
		now[p] += us
		say(p, "LEAVE", name)
	}
	for p := range x.processes {
		say(p, "ENTER", "main")
		call(p, "MPI_Init", 500)
	}
	for k := range x.steps {
		for p := range x.processes {
			for f, name := range x.names {
				call(p, name, x.work(f, p, k))
			}
		}
		for p := range x.processes - 1 {
			say(p, "ENTER", "MPI_Send")
			say(p, "MPI_SEND", p+1, "MPI_COMM_WORLD", 7, 1000)
			sent := now[p]
			now[p] += 2
			say(p, "LEAVE", "MPI_Send")
			say(p+1, "ENTER", "MPI_Recv")
			now[p+1] = max(now[p+1], sent) + 5
			say(p+1, "MPI_RECV", p, "MPI_COMM_WORLD", 7, 1000)
			say(p+1, "LEAVE", "MPI_Recv")
		}
		last := slices.Max(now)
		for p := range x.processes {
			say(p, "ENTER", "MPI_Allreduce")
			say(p, "MPI_COLLECTIVE_BEGIN")
			now[p] = last + 10
			say(p, "MPI_COLLECTIVE_END", "ALLREDUCE", "MPI_COMM_WORLD", "none", 8, 8)
			say(p, "LEAVE", "MPI_Allreduce")
		}
	}
	for p := range x.processes {
		call(p, "MPI_Finalize", 100)
		say(p, "LEAVE", "main")
	}
	return b.String()
}

// slowed computes 3 ms and 5 ms, in the second function on one process so many per cent longer.
func slowed(rank, percent int) stepped {
	return stepped{processes: 4, steps: 10, names: [2]string{"assemble", "solve"}, work: func(f, p, _ int) int {
		if us := 3000 + 2000*f; f == 0 || p != rank {
			return us
		}
		return 5000 + 50*percent
	}}
}

// verdicts are the findings of a comparison.
func verdicts(t *testing.T, a, b string) (list []string) {
	t.Helper()
	for line := range strings.Lines(must(t, "diff", a, b)) {
		if text, ok := strings.CutPrefix(line, "> "); ok {
			list = append(list, strings.TrimSpace(text))
		} else if fact, ok := strings.CutPrefix(line, "    "); ok && len(list) > 0 {
			list[len(list)-1] += "; " + strings.TrimSpace(fact)
		}
	}
	return list[:len(list)-1] // the rule
}

// TestLawsDiff compares a run with others that have one difference, and wants that one, with its place, size and sign, and none where
// only numbers of definitions, the clock or the order of processes changed. Of 10 steps each takes 3 + 5 ms, 3 x 5 us of messages and
// 10 us: 80.25 ms in all. In the slow run one process has 10 x 30 % x 5 ms = 15 ms more, a process on average a quarter.
func TestLawsDiff(t *testing.T) {
	t.Parallel()
	a := foundTrace(t, slowed(0, 0).text())
	if text := must(t, "diff", a, a); !strings.Contains(text, "the files are identical") {
		t.Error(text)
	}
	slow := func(change func(*stepped)) string {
		x := slowed(2, 30)
		change(&x)
		return foundTrace(t, x.text())
	}
	for _, x := range []struct {
		name   string
		change func(*stepped)
		rank   string
	}{
		{"a process", func(*stepped) {}, "rank 2"},
		{"processes in another order", func(x *stepped) { x.work = slowed(1, 30).work }, "rank 1"},
		{"ticks of 1 ns", func(x *stepped) { x.resolution = 1e9 }, "rank 2"},
	} {
		b := slow(x.change)
		there, back := verdicts(t, a, b), verdicts(t, b, a)
		if len(there) != 1 || len(back) != 1 {
			t.Errorf("%s: %q, and back %q", x.name, there, back)
			continue
		}
		for _, want := range []string{"worse: whole program: ", "solve changed most: a process spends 0.00375 s more there on average", "s more, in B " + x.rank + ", which spends 0.0113 s more than the mean in solve"} {
			if !strings.Contains(there[0], want) {
				t.Errorf("%s: no %q in %s", x.name, want, there[0])
			}
			if want = strings.NewReplacer("worse", "better", "s more there", "s less there", "s more, in B", "s less, in A").Replace(want); !strings.Contains(back[0], want) {
				t.Errorf("%s, back: no %q in %s", x.name, want, back[0])
			}
		}
	}
	solve := func(o *analyze.Options) { o.Intervals.Intervals = []string{"region:solve"} }
	more := slowed(2, 30) // and two steps more: 12 x 5 ms, and 12 x 1.5 ms on the slow process
	more.steps = 12
	want := "worse: solve: 0.0780 s, was 0.0500 (+56.0 %); a process spends 0.0145 s more in computing on average; executions: 48, was 40; the process that computes most computes 0.0280 s more, in B rank 2"
	if got := verdicts(t, foundTrace(t, slowed(0, 0).text(), solve), foundTrace(t, more.text(), solve)); len(got) != 2 || got[1] != want {
		t.Errorf("%q, want %q", got, want)
	}
	// One run has a location group more, of a monitor without events: that says nothing about times.
	src, err := tracetest.Parse(slowed(2, 30).text())
	if err != nil {
		t.Fatal(err)
	}
	dir, watched := t.TempDir(), filepath.Join(t.TempDir(), "run.xtf")
	if _, err := otf2.Copy(dir, "traces", src, otf2.Options{}); err != nil {
		t.Fatal(err)
	}
	must(t, "analyze", (&law{define: monitored}).rewritten(t, dir), "-o", watched, "-q")
	if got := verdicts(t, a, watched); len(got) != 1 || !strings.HasPrefix(got[0], "worse: whole program: 0.0952") {
		t.Errorf("with a monitor: %q", got)
	}
	if got := verdicts(t, a, foundTrace(t, slowed(2, 3).text())); len(got) != 1 || got[0] != "no interval got worse or better" {
		t.Errorf("1.5 ms of 80: %q", got)
	}
	for _, x := range []struct {
		function, want string
	}{
		{"resolve", "resolve (in B alone) changed most: a process spends 0.0538 s more there on average, 0.0500 s less in solve (in A alone): one may have got the name of the other; "},
		{"assemble", "assemble changed most: a process spends 0.0538 s more there on average; "}, // into which the other was inlined
	} {
		if got := verdicts(t, a, slow(func(y *stepped) { y.names[1] = x.function })); len(got) != 1 || !strings.Contains(got[0], x.want) {
			t.Errorf("solve is %s now: no %q in %q", x.function, x.want, got)
		}
	}
	for _, x := range []struct {
		keep func(p, us int, kind string) bool
		want string
	}{
		{func(_, us int, _ string) bool { return us < 40_000 }, "4 of 4 processes have no MPI_Finalize"},
		{func(p, us int, _ string) bool { return p != 2 || us < 40_000 }, "1 of 4 processes have no MPI_Finalize"},
	} {
		cut := slowed(0, 0)
		cut.keep = x.keep
		b := foundTrace(t, cut.text())
		if text := must(t, "diff", a, b); strings.Count(text, x.want) != 1 {
			t.Errorf("no %q in\n%s", x.want, text)
		}
		if text := must(t, "report", b); strings.Contains(text, "> imbalance") || strings.Contains(text, x.want) != strings.HasPrefix(x.want, "1") {
			t.Errorf("%s, though only the events of some end earlier:\n%s", x.want, text)
		}
	}
}

// TestDiffOfSamples: how often functions were called that are known from samples alone is not known, and times of samples are estimates.
func TestDiffOfSamples(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sampled.xtf")
	if _, err := jobtest.Analyze(1, analyze.Options{Source: sampledProgram(t), Output: file}); err != nil {
		t.Fatal(err)
	}
	called := foundTrace(t, "-- program --\nprocesses 1\n-- events --\n0 0 ENTER solve\n0 300 LEAVE solve\n0 300 ENTER pack\n0 1000 LEAVE pack\n")
	for i, args := range [][]string{{file, called}, {called, file}} {
		text, data := must(t, append([]string{"diff"}, args...)...), must(t, append([]string{"diff", "--format", "csv"}, args...)...)
		if want := "functions of " + "AB"[i:i+1] + " are known from samples"; !strings.Contains(text, want) || !strings.Contains(data, "region,pack,calls,"+[]string{",1", "1,"}[i]+",,\n") {
			t.Errorf("%d: no %q in\n%s\n%s", i, want, text, data)
		}
	}
	if text := must(t, "diff", file, file); strings.Contains(text, "known from samples") {
		t.Error(text)
	}
}

// TestLawsScaling: a series says the same in any order, with a slow repetition of the run with the fewest processes first or last too,
// and which run ended before the program did.
func TestLawsScaling(t *testing.T) {
	t.Parallel()
	run := func(processes, percent int, keep func(p, us int, kind string) bool, options ...func(*analyze.Options)) string {
		return foundTrace(t, stepped{processes: processes, steps: 4, names: [2]string{"assemble", "solve"}, keep: keep, work: func(f, _, _ int) int {
			return (20_000 + 60_000*f) * percent / 100 / processes
		}}.text(), options...)
	}
	slow, two, again, four, eight := run(2, 150, nil), run(2, 100, nil), run(2, 101, nil), run(4, 100, nil), run(8, 100, nil)
	order := func(files ...string) string { return must(t, append([]string{"report", "scaling"}, files...)...) }
	want := order(two, again, slow, four, eight)
	if !strings.Contains(want, "strong scaling over 5 runs of 2, 2, 2, 4, 8 processes") {
		t.Error(want)
	}
	for _, files := range [][]string{{slow, two, again, four, eight}, {eight, slow, four, again, two}} {
		if got := order(files...); got != want {
			t.Errorf("another order:\n%s\nwant\n%s", got, want)
		}
	}
	// One process sends nothing and calls nothing that waits: what the others do there is of the series all the same.
	one := foundTrace(t, "-- program --\nprocesses 1\nresolution 1000000\n-- events --\n0 0 ENTER main\n0 0 ENTER solve\n0 320000 LEAVE solve\n0 320000 LEAVE main\n")
	if text := order(one, two, four, eight, "--at", "1024"); !strings.Contains(text, "\nMPI_Allreduce ") || !strings.Contains(text, "\nassemble ") {
		t.Error(text)
	}
	const other, doubt = "is that a run of another input?", "run.xtf was analyzed with other options than run.xtf: intervals\n"
	if strings.Contains(want, other) || strings.Contains(want, doubt) {
		t.Error(want)
	}
	if text := order(two, again, four, run(8, 200, nil)); !strings.Contains(text, "without run.xtf, of 8 processes, useful computation would show strong scaling: "+other) {
		t.Error(text)
	}
	if text := order(two, four, run(8, 100, nil, func(o *analyze.Options) { o.Intervals.Slice = "10ms" })); strings.Count(text, doubt) != 1 {
		t.Error(text)
	}
	cut := run(8, 100, func(_, us int, _ string) bool { return us < 20_000 })
	if text := order(two, four, cut); !strings.Contains(text, "8 of 8 processes have no MPI_Finalize") || strings.Contains(want, "no MPI_Finalize") {
		t.Error(text)
	}
}

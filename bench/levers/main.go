// Command levers holds what coppice levers says of changes against what they do, in record/examples/changes.c and in other programs:
//
//	bench/tool levers [-coppice bin/coppice] [-runs 7] [-processes 4] [-record "FLAGS"] [CASE...]
//
// In turns it records the program of a case as it is and has the change predicted, and runs it without the recorder as it is and with
// the change. A line has the seconds that the program itself measures, of the fastest run of each, since what else a machine does only
// takes time; for the recorded one that less what coppice says the change saves, and how far this is off the changed program. A process
// has a processor of its own, if there are as many. Needs mpicc and mpirun of Open MPI. Where other work runs, chrt -r 10 before it
// gives its programs the processors first.
//
// A case of another program is NAME: WHAT=COMMAND=CHANGED COMMAND=KIND=TARGET=SAVED, or ...=change=FLAGS with all that the flags of
// coppice levers ask for; programs.sh has some. Its seconds are the last number of a line of its output with the word "time" or "seconds".
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// change is a case: the commands, and which figure of which target is about it.
type change struct {
	name, what          string
	command, changed    string
	kind, target, saved string // target ends the target's name; of the kind "change" it is flags
}

const half, gone, balanced, earlier = "saved_50_percent", "saved_gone", "saved_balanced", "saved_earlier_receive"

// cases are those of changes.c.
var cases = []change{
	{name: "function", what: "a function twice as fast", kind: "function", target: "solve", saved: half},
	{name: "balance", what: "a function takes the same on all processes", kind: "function", target: "relax", saved: balanced},
	{name: "pipeline", what: "the slowest stage twice as fast", kind: "function", target: "slowest", saved: half},
	{name: "master", what: "who hands out tasks needs half the time for each", kind: "function", target: "hand_out", saved: half},
	{name: "root", what: "the root of a broadcast prepares in half the time", kind: "function", target: "prepare", saved: half},
	{name: "output", what: "process 0 writes half as much", kind: "function", target: "print_state", saved: half},
	{name: "compute", what: "process 0 computes half as much, on a processor that others use", kind: "function", target: "add_up", saved: half},
	{name: "barrier", what: "no barrier", kind: "collective", target: "> barrier > MPI_Barrier", saved: gone},
	{name: "receive", what: "a receive posted earlier, with tests meanwhile", kind: "wait", target: "MPI_Send", saved: earlier},
	{name: "unprogressed", what: "the same without tests", kind: "wait", target: "MPI_Send", saved: earlier},
	{name: "synchronous", what: "`MPI_Isend` in place of `MPI_Ssend`", kind: "wait", target: "MPI_Ssend", saved: gone},
	{name: "sooner", what: "what is waited for is sent earlier", kind: "wait", target: "MPI_Recv", saved: gone},
	{name: "messages", what: "500 messages become one", kind: "transfer", target: "all messages and collective operations", saved: gone},
	{name: "bytes", what: "half the bytes in each message", kind: "transfer", target: "all messages and collective operations", saved: half},
}

// bench is where and how cases run.
type bench struct {
	coppice, folder string
	launch, record  []string // the launcher; flags of coppice record
	runs            int
}

func main() {
	b := &bench{}
	flag.StringVar(&b.coppice, "coppice", "bin/coppice", "the program")
	flag.IntVar(&b.runs, "runs", 7, "of each program")
	processes := flag.Int("processes", 4, "of each program")
	record := flag.String("record", "", "flags of coppice record")
	flag.Parse()
	b.record = strings.Fields(*record)
	b.launch = []string{"mpirun", "--bind-to", "core", "-n", strconv.Itoa(*processes)}
	if *processes > runtime.NumCPU() {
		b.launch = []string{"mpirun", "--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(*processes)}
	}
	if err := b.table(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "levers:", err)
		os.Exit(1)
	}
}

func (b *bench) table(names []string) (err error) {
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	os.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	if b.folder, err = os.MkdirTemp("", "levers"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	program := filepath.Join(b.folder, "changes")
	if _, err := output("mpicc", "-O1", "-std=gnu11", "-finstrument-functions", "-rdynamic", "-o", program, "record/examples/changes.c"); err != nil {
		return err
	}
	list := cases
	if len(names) > 0 {
		list = nil
	}
	for _, name := range names {
		x, err := caseOf(name)
		if err != nil {
			return err
		}
		list = append(list, x)
	}
	fmt.Println("| case | change | asked for | as it is s | recorded s | predicted s | changed s | off |\n|---|---|---|---|---|---|---|---|")
	for _, x := range list {
		if x.command == "" {
			x.command, x.changed = program+" "+x.name, program+" "+x.name+" 1"
		}
		if err := b.line(&x); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

// caseOf is a case by its name, or one of another program.
func caseOf(text string) (x change, err error) {
	f := strings.SplitN(text, "=", 5)
	if len(f) < 5 {
		i := slices.IndexFunc(cases, func(x change) bool { return x.name == text })
		if i < 0 {
			return x, fmt.Errorf("no case %q", text)
		}
		return cases[i], nil
	}
	x = change{command: f[1], changed: f[2], kind: f[3], target: f[4], saved: gone}
	x.name, x.what, _ = strings.Cut(f[0], ": ")
	if at := strings.LastIndexByte(f[4], '='); at >= 0 && x.kind != "change" {
		x.target, x.saved = f[4][:at], f[4][at+1:]
	}
	return x, nil
}

// asked is what a case asks for, in words.
func (x *change) asked() string {
	if x.kind == "change" {
		return "`" + x.target + "`"
	}
	return x.kind + ", " + strings.NewReplacer("saved_", "", "_percent", " %", "_", " ").Replace(x.saved)
}

// line measures a case.
func (b *bench) line(x *change) error {
	var list []prediction
	var is, changed []float64
	for range b.runs {
		p, err := b.predict(x)
		if err != nil {
			return err
		}
		list = append(list, p)
		for _, r := range []struct {
			command string
			to      *[]float64
		}{{x.command, &is}, {x.changed, &changed}} {
			out, err := output(append(slices.Clone(b.launch), strings.Fields(r.command)...)...)
			if err != nil {
				return err
			}
			s, err := seconds(out)
			if err != nil {
				return err
			}
			*r.to = append(*r.to, s)
		}
	}
	p := slices.MinFunc(list, func(a, b prediction) int { return cmp.Compare(a.recorded, b.recorded) })
	was, now := slices.Min(is), slices.Min(changed)
	fmt.Printf("| %s | %s | %s | %.3f | %.3f | %.3f | %.3f | %.1f %% |\n", x.name, x.what, x.asked(), was, p.recorded, p.recorded-p.saved, now, 100*math.Abs(p.recorded-p.saved-now)/now)
	return nil
}

// prediction is what a recorded run took and what the change would save, in seconds.
type prediction struct{ recorded, saved float64 }

// predict records a program and asks about the change.
func (b *bench) predict(x *change) (p prediction, err error) {
	folder, run := filepath.Join(b.folder, x.name), filepath.Join(b.folder, x.name+".xtf")
	if err := os.RemoveAll(folder); err != nil {
		return p, err
	}
	out, err := output(slices.Concat([]string{b.coppice, "record", "-o", folder}, b.record, []string{"--"}, b.launch, strings.Fields(x.command))...)
	if err != nil {
		return p, err
	}
	if p.recorded, err = seconds(out); err != nil {
		return p, err
	}
	if _, err := output(b.coppice, "analyze", filepath.Join(folder, "traces.otf2"), "-q", "-f", "-o", run); err != nil {
		return p, err
	}
	args := []string{b.coppice, "levers", run, "-q", "--targets", "30", "--format", "json"}
	if x.kind == "change" {
		args = append(args, strings.Fields(x.target)...)
	}
	text, err := output(args...)
	if err != nil {
		return p, err
	}
	var answer struct {
		Levers struct {
			Resolution float64
			Targets    []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return p, err
	}
	for _, t := range answer.Levers.Targets { // the first one saves most; of changes, all of them
		v, ok := t[x.saved].(float64)
		path, _ := t["path"].([]any)
		if name := target(t["name"].(string), path); ok && t["kind"] == x.kind && (x.kind == "change" || strings.HasSuffix(name, x.target)) {
			p.saved = v / answer.Levers.Resolution
			return p, nil
		}
	}
	return p, fmt.Errorf("no %s %s", x.kind, x.target)
}

// target is a name, or a path without the places of calls.
func target(name string, path []any) string {
	var list []string
	for _, p := range path {
		if s := p.(string); !strings.Contains(s, "+0x") {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return name
	}
	return strings.Join(list, " > ")
}

var number = regexp.MustCompile(`[0-9]+\.[0-9]+`)

// seconds is the last number of the only line, or of the last one about time.
func seconds(out string) (float64, error) {
	last := ""
	for line := range strings.Lines(out) {
		if low := strings.ToLower(line); last == "" || strings.Contains(low, "time") && !strings.Contains(low, "timestep") || strings.Contains(low, "seconds") {
			if n := number.FindAllString(line, -1); len(n) > 0 {
				last = n[len(n)-1]
			}
		}
	}
	return strconv.ParseFloat(last, 64)
}

// output runs a command.
func output(args ...string) (string, error) {
	b, err := exec.Command(args[0], args[1:]...).Output()
	var e *exec.ExitError
	if errors.As(err, &e) {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, e.Stderr)
	}
	return string(b), err
}

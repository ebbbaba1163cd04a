package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
)

// compared are the programs of the comparison. rate is what LogGOPSim 76451de did elsewhere, in million events per second
// of processor time (a shared AMD EPYC, g++ 12 -O3): it stands in where no LogGOPSim is given.
var compared = []struct {
	program []string
	rate    float64
}{
	{[]string{"sweep2d", "1024", "4"}, 3.0},
	{[]string{"stencil3d", "1024", "50"}, 1.0},
	{[]string{"allreduce_rd", "1024", "20"}, 1.7},
	{[]string{"stencil3d", "8192", "10"}, 0.65},
	{[]string{"allreduce_rd", "8192", "4"}, 0.89},
	{[]string{"sweep2d", "8192", "1"}, 1.9},
}

// run1 is one measured run.
type run1 struct {
	makespan, events uint64
	seconds          float64 // of the processor
	megabytes        float64
}

// compare runs the programs of the comparison with the event engine and, where its folder is given, with LogGOPSim in
// turns, and prints a table of medians.
func compare(w io.Writer, args []string) error {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	folder := f.String("loggopsim", "", "folder with LogGOPSim and txt2bin, made with -O3")
	rounds := f.Int("rounds", 3, "runs of each program")
	if err := f.Parse(args); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "predict")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Fprintln(w, "| program, processes, iterations | events | makespan ns | event engine s, M events/s, MB | LogGOPSim s, M events/s, MB | ratio |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, c := range compared {
		if err := compareOne(w, work, *folder, *rounds, c.program, c.rate); err != nil {
			return err
		}
	}
	return nil
}

func compareOne(w io.Writer, work, folder string, rounds int, program []string, rate float64) error {
	schedule := ""
	if folder != "" {
		var err error
		if schedule, err = makeSchedule(work, folder, program); err != nil {
			return err
		}
		defer os.Remove(schedule)
	}
	var ours, theirs []run1
	for range rounds {
		x, err := runOurs(program)
		if err != nil {
			return err
		}
		ours = append(ours, x)
		if schedule == "" {
			continue
		}
		if x, err = runTheirs(folder, schedule); err != nil {
			return err
		}
		if x.makespan != ours[0].makespan || x.events != ours[0].events {
			return fmt.Errorf("%v: LogGOPSim says %d ns and %d events, the event engine %d and %d",
				program, x.makespan, x.events, ours[0].makespan, ours[0].events)
		}
		theirs = append(theirs, x)
	}
	a := median(ours)
	speed := float64(a.events) / a.seconds / 1e6
	other := fmt.Sprintf("%.2f elsewhere", rate)
	if theirs != nil {
		b := median(theirs)
		rate = float64(b.events) / b.seconds / 1e6
		other = fmt.Sprintf("%.2f, %.2f, %.0f", b.seconds, rate, b.megabytes)
	}
	_, err := fmt.Fprintf(w, "| %s %s %s | %d | %d | %.2f, %.1f, %.0f | %s | %.1f |\n",
		program[0], program[1], program[2], a.events, a.makespan, a.seconds, speed, a.megabytes, other, speed/rate)
	return err
}

// median returns the run of median time.
func median(list []run1) run1 {
	slices.SortFunc(list, func(a, b run1) int {
		if a.seconds < b.seconds {
			return -1
		}
		return 1
	})
	return list[len(list)/2]
}

// runOurs runs a program with the event engine, in a process of its own. Its time is that of the engine with all set-up.
func runOurs(program []string) (run1, error) {
	self, err := os.Executable()
	if err != nil {
		return run1{}, err
	}
	cmd := exec.Command(self, append([]string{"events"}, program...)...)
	out, err := output(cmd)
	if err != nil {
		return run1{}, err
	}
	x := run1{megabytes: peak(cmd)}
	_, err = fmt.Sscan(string(out), &x.makespan, &x.events, &x.seconds)
	return x, err
}

// makeSchedule writes a program as LogGOPSim's schedule.
func makeSchedule(work, folder string, program []string) (string, error) {
	text, binary := filepath.Join(work, "x.goal"), filepath.Join(work, "x.bin")
	file, err := os.Create(text)
	if err != nil {
		return "", err
	}
	defer os.Remove(text)
	if err := goal(file, program); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	_, err = output(exec.Command(filepath.Join(folder, "txt2bin"), "-i", text, "-o", binary))
	return binary, err
}

var (
	eventsIn   = regexp.MustCompile(`Events: (\d+)`)
	makespanIn = regexp.MustCompile(`Maximum finishing time at host \d+: (\d+)`)
)

// runTheirs runs LogGOPSim on a schedule. Its time is that of the whole process.
func runTheirs(folder, schedule string) (run1, error) {
	cmd := exec.Command(filepath.Join(folder, "LogGOPSim"), "-f", schedule, "-b")
	out, err := output(cmd)
	if err != nil {
		return run1{}, err
	}
	x := run1{megabytes: peak(cmd), seconds: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	for _, n := range []struct {
		in *regexp.Regexp
		to *uint64
	}{{eventsIn, &x.events}, {makespanIn, &x.makespan}} {
		m := n.in.FindSubmatch(out)
		if m == nil {
			return x, fmt.Errorf("LogGOPSim prints no result: %s", out)
		}
		if *n.to, err = strconv.ParseUint(string(m[1]), 10, 64); err != nil {
			return x, err
		}
	}
	return x, nil
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s%s", cmd.Path, err, out, errs.String())
	}
	return out, err
}

// peak returns the largest memory of a process that ended, in MB.
func peak(cmd *exec.Cmd) float64 {
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return 0
}

// Command intervals measures what intervals, wait states and their causes add to
// an analysis: the CPU time of each stage of coppice analyze on one rank, and of the
// stages that find them against the others. See run.sh.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// added are the stages that read rows back, after reading and writing.
var added = []string{"number", "waits", "causes", "threads", "reduce"}

func main() {
	repeats := flag.Int("n", 3, "analyses of each input, of which the least time of a stage counts")
	profile := flag.String("cpuprofile", "", "write a profile of all analyses to this file")
	flag.Parse()
	if err := run(flag.Args(), *repeats, *profile); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(inputs []string, repeats int, profile string) error {
	dir, err := os.MkdirTemp("", "intervals")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archives := make([]string, len(inputs))
	for i, in := range inputs {
		if archives[i], err = archive(filepath.Join(dir, fmt.Sprint(i)), in); err != nil {
			return err
		}
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for i, in := range inputs {
		least := map[string]time.Duration{}
		var order []string
		for range repeats {
			var took map[string]time.Duration
			if took, order, err = measure(archives[i], filepath.Join(dir, "run.xtf")); err != nil {
				return err
			}
			for stage, t := range took {
				if old, ok := least[stage]; !ok || t < old {
					least[stage] = t
				}
			}
		}
		show(in, order, least)
	}
	return nil
}

// archive makes the archive of a generated program, or names the one given.
func archive(dir, in string) (string, error) {
	if filepath.Ext(in) == ".otf2" {
		return in, nil
	}
	o, err := tracetest.ParseOptions(in)
	if err != nil {
		return "", err
	}
	src, err := tracetest.New(o)
	if err != nil {
		return "", err
	}
	_, err = otf2.Copy(dir, "traces", src, otf2.Options{})
	return filepath.Join(dir, "traces.otf2"), err
}

// measure analyzes once and returns the CPU time of each stage.
func measure(in, out string) (took map[string]time.Duration, order []string, err error) {
	took = map[string]time.Duration{}
	stage, began := "", cpu()
	next := func(name string) {
		now := cpu()
		if stage != "" {
			took[stage] += now - began
		}
		if name != "" && name != stage {
			order = append(order, name)
		}
		stage, began = name, now
	}
	o := jobs.AnalyzeOptions{
		Trace: in, Output: out, Force: true, StoreBytes: 1 << 30, Version: "bench",
		Show: func(p jobs.Progress) {
			if p.Stage != stage {
				next(p.Stage)
			}
		},
	}
	err = mpi.RunInProcess(1, func(c mpi.Comm) error {
		_, err := jobs.Analyze(c, o)
		return err
	})
	next("")
	return took, order, err
}

// cpu is the user time of this process so far.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano())
}

func show(in string, order []string, took map[string]time.Duration) {
	var base, more time.Duration
	fmt.Println(in)
	for _, s := range order {
		t := took[s]
		fmt.Printf("  %-8s %8.1f ms\n", s, t.Seconds()*1e3)
		if slices.Contains(added, s) {
			more += t
		} else {
			base += t
		}
	}
	fmt.Printf("  stages added / others: %.1f / %.1f ms = %.2f\n", more.Seconds()*1e3, base.Seconds()*1e3, more.Seconds()/base.Seconds())
}

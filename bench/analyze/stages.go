package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
)

// added are the stages that read rows back, after reading and writing.
var added = []string{"number", "causes", "threads", "reduce"}

// stages prints the times of the stages of each input on one rank.
func stages(dir string, args []string) error {
	f := flag.NewFlagSet("stages", flag.ContinueOnError)
	repeats := f.Int("n", 3, "analyses of each input")
	profile := f.String("cpuprofile", "", "write a profile of all analyses to this file")
	if err := f.Parse(args); err != nil {
		return err
	}
	archives := make([]string, f.NArg())
	for i, input := range f.Args() {
		var err error
		if archives[i], err = archive(filepath.Join(dir, fmt.Sprint(i)), input); err != nil {
			return err
		}
	}
	if *profile != "" {
		out, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer out.Close()
		if err := pprof.StartCPUProfile(out); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for i, input := range f.Args() {
		least, err := leastStages(options(archives[i], dir), *repeats)
		if err != nil {
			return err
		}
		show(input, least)
	}
	return nil
}

// leastStages analyses some times and returns the least user time of each stage.
func leastStages(o analyze.Options, repeats int) (*watch, error) {
	var least *watch
	for range repeats {
		w := &watch{took: map[string]time.Duration{}}
		o.AtStage = w.at
		err := mpi.RunInProcess(1, func(c mpi.Comm) error {
			_, err := analyze.Run(c, o)
			return err
		})
		if err != nil {
			return nil, err
		}
		if least == nil {
			least = w
		}
		for stage, t := range w.took {
			least.took[stage] = min(least.took[stage], t)
		}
	}
	return least, nil
}

func show(input string, w *watch) {
	var base, more time.Duration
	fmt.Println(input)
	for _, s := range w.order {
		t := w.took[s]
		fmt.Printf("  %-8s %8.1f ms\n", s, t.Seconds()*1e3)
		if slices.Contains(added, s) {
			more += t
		} else {
			base += t
		}
	}
	fmt.Printf("  stages added / others: %.1f / %.1f ms = %.2f\n", more.Seconds()*1e3, base.Seconds()*1e3, more.Seconds()/base.Seconds())
}

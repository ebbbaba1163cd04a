// Command analyze measures the stages of coppice analyze inside one process.
//
//	bench/tool analyze stages [-n 3] [-cpuprofile FILE] INPUT...
//
// stages prints the user time of each stage on one rank, and how much those that find intervals, wait states and their causes add
// to the others; stages.sh adds the part of it that is inside load.
//
// INPUT is an archive, X.otf2, or a program as of coppice demo --spec; stencil:procs=1,events=4M is a stream of messages. Of n
// analyses the least time counts.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	dir, err := os.MkdirTemp("", "analyze")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	switch {
	case len(args) > 1 && args[0] == "stages":
		return stages(dir, args[1:])
	}
	return errors.New("usage: analyze stages [flags] INPUT; see the comment of bench/analyze/main.go")
}

// archive makes the archive of a generated program in dir, or names the one given.
func archive(dir, input string) (string, error) {
	if filepath.Ext(input) == ".otf2" {
		return input, nil
	}
	o, err := synthetic.ParseOptions(input)
	if err != nil {
		return "", err
	}
	src, err := synthetic.New(o)
	if err != nil {
		return "", err
	}
	_, err = otf2.Copy(dir, "traces", src, otf2.Options{})
	return filepath.Join(dir, "traces.otf2"), err
}

// options are those of an analysis whose segments stay in memory.
func options(input, dir string) analyze.Options {
	return analyze.Options{Trace: input, Output: filepath.Join(dir, "run.xtf"), Force: true, StoreBytes: 1 << 30, Version: "bench"}
}

// watch measures the user time of the stages of one rank; its method at is for analyze.Options.AtStage.
type watch struct {
	order []string
	took  map[string]time.Duration
	stage string
	began time.Duration
}

func (w *watch) at(stage string) {
	now := user()
	if w.stage != "" {
		w.took[w.stage] += now - w.began
	}
	if _, known := w.took[stage]; !known && stage != "" {
		w.order = append(w.order, stage)
		w.took[stage] = 0
	}
	w.stage, w.began = stage, now
}

// user is the user time of this process so far.
func user() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}

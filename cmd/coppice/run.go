package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/spf13/cobra"
)

// runVerb records a program, then analyzes the recording and reports on it. Its flags are those of record.
func runVerb(s streams) *cobra.Command {
	c := recordVerb(s)
	c.Use, c.Short = "run -- LAUNCHER PROGRAM", "record a program that uses MPI, analyse the recording and print the report"
	c.Example = "coppice run -- mpirun -n 4 ./program\ncoppice run -o run1 --sample 1ms -- srun -n 64 ./program input"
	f := c.Flags()
	f.Lookup("output").Usage = "folder of the archive and of the result, run.xtf (default coppice-run, or coppice-run-2 and so on)"
	_ = f.MarkHidden("finish") // it exists in any case
	record := c.RunE
	c.RunE = func(c *cobra.Command, operands []string) error {
		if f.Changed("finish") {
			s.verb = nameOf(c)
			return usage("--finish is of coppice record; then coppice analyze takes the archive")
		}
		if !f.Changed("output") {
			if err := f.Set("output", freeFolder("coppice-run")); err != nil {
				return err
			}
		}
		ended := record(c, operands)
		folder := f.Lookup("output").Value.String()
		archive, result := filepath.Join(folder, "traces.otf2"), filepath.Join(folder, "run.xtf")
		if ended != nil && !errors.Is(ended, errSilent) {
			return ended
		}
		if _, err := os.Stat(archive); err != nil {
			return ended // the reason has been reported
		}
		for _, step := range [][]string{{"analyze", archive, "-o", result}, {"report", result}} {
			code := run(step, s.out, s.err)
			if code != jobs.ExitDone && ended == nil {
				ended = jobs.Fail(code, errSilent)
			}
			if code != jobs.ExitDone && code != jobs.ExitPartial {
				return ended
			}
		}
		s.say("%s is the result. Next: coppice serve %s shows it in the browser", result, result)
		return ended
	}
	return c
}

// freeFolder returns name, or name with the least number from 2 on, such that it does not exist.
func freeFolder(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, os.ErrNotExist) {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

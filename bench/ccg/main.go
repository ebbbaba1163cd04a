// Command ccg measures how well Complete Call Graphs compress: generated
// programs and the archives found, at several deviations, next to an estimate of
// what is possible, and runs the benchmarks that have a target. It prints
// Markdown tables.
//
//	ccg [-events N] [-traces DIR] [SECTION...]
//
// Sections: figures, scaling, archives, speeds; all without an argument.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
)

// sections are the parts of the output, in order.
var sections = []struct {
	name string
	run  func(io.Writer, config) error
}{
	{"figures", figures},
	{"scaling", scaling},
	{"archives", archives},
	{"speeds", speeds},
}

// config is what the flags say.
type config struct {
	events string // of each generated program, as in its spec
	traces string // directory with one archive in each subdirectory
	least  uint64 // events of an archive that is measured
}

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/ccg:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	var c config
	f := flag.NewFlagSet("ccg", flag.ContinueOnError)
	f.StringVar(&c.events, "events", "4M", "events of each generated program")
	f.StringVar(&c.traces, "traces", "../shared/traces/otf2", "folder of real archives, one a subfolder")
	f.Uint64Var(&c.least, "least", 100_000, "fewest events of an archive that is measured")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	for _, name := range f.Args() {
		known := false
		for _, s := range sections {
			known = known || s.name == name
		}
		if !known {
			return fmt.Errorf("unknown section %q; there are figures, scaling, archives, speeds", name)
		}
	}
	for _, s := range sections {
		if f.NArg() > 0 && !slices.Contains(f.Args(), s.name) {
			continue
		}
		if err := s.run(w, c); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// Command table runs the scripts of bench/sections and makes one table of what they measure: coppice next to other tools.
// bench/run builds and starts it.
//
// A section is a script that prints lines of fields separated by tabs:
//
//	SECTION  WHAT  PEER  COPPICE  PEER'S  UNIT  RATIO  NOTE
//
// what was done, the other tool, the figure of each in the unit, how many times better coppice is (below 1: worse), a remark.
// A figure that is not there is "-"; a row that was not measured has a note that begins with "skipped: ". A line
//
//	peer  NAME  VERSION
//
// names a tool that was measured. Progress goes to standard error. Scripts start in the root of the repository and get
//
//	COPPICE       the program
//	BENCH_WORK    an empty folder, removed afterwards
//	BENCH_QUICK   1: small inputs, one round; figures mean nothing
//	BENCH_TRACES  folder of real archives, one a subfolder; may be missing
//	BENCH_PEERS   folder of tools that no package has, see bench/peers.sh; may be missing
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// section is one part of the table, measured by bench/sections/NAME.sh.
type section struct {
	name  string
	what  string // as its heading says it
	needs string // next to a bare Debian with Go; what is missing is skipped
}

var sections = []section{
	{"reading", "Reading OTF2 archives", "libotf2-trace-dev, python3-otf2"},
	{"compression", "Compression", "zstd; pallas and pilgrim in --peers, libotf2-trace-dev, Open MPI"},
	{"container", "Container of records", "liblmdb-dev, libsqlite3-dev"},
	{"simulation", "Simulation of networks", "loggopsim in --peers, libsimgrid-dev"},
	{"clustering", "Clustering of processes", "python3-scipy, python3-fastcluster"},
	{"queueing", "Queueing networks", "octave, octave-queueing"},
	{"analysis", "Whole analysis", "otf2-tools, python3-otf2"},
	{"scout", "Whole analysis compared with Scalasca's SCOUT", "scout in --peers, Open MPI"},
	{"ranks", "Ranks of mpirun compared with ranks of one process", "Open MPI"},
}

// coppice is the program that is measured.
var coppice = filepath.Join("bin", "coppice")

// config is what the flags say.
type config struct {
	quick         bool
	traces, peers string
	out           string // folder of results and logs
	write         string // document whose table is replaced
	sections      []section
}

func main() {
	c := config{out: filepath.Join("out", "bench")}
	list := flag.Bool("list", false, "print the sections and what they need, and end")
	flag.BoolVar(&c.quick, "quick", false, "small inputs and one round: tries the scripts out, the figures mean nothing")
	flag.StringVar(&c.traces, "traces", filepath.Join("..", "shared", "traces", "otf2"), "`folder` of real archives, one a subfolder")
	flag.StringVar(&c.peers, "peers", filepath.Join("out", "bench", "peers"), "`folder` of tools made by bench/peers.sh")
	flag.StringVar(&c.write, "write", "", "put the table into this `document`, between its markers")
	flag.Usage = usage
	flag.Parse()
	if *list {
		printSections(os.Stdout)
		return
	}
	var err error
	if c.sections, err = choose(flag.Args()); err == nil && c.write != "" && (c.quick || len(c.sections) < len(sections)) {
		err = fmt.Errorf("--write takes one run of everything: leave out --quick and SECTION")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/run:", err)
		os.Exit(2)
	}
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, "bench/run:", err)
		os.Exit(1)
	}
}

func usage() {
	w := flag.CommandLine.Output()
	fmt.Fprintf(w, "bench/run [flags] [SECTION...]: compares coppice with other tools, all sections or the named ones.\nThe table goes to standard output and to out/bench/table.md and .tsv.\n\n")
	flag.PrintDefaults()
	fmt.Fprintf(w, "\nSections, and what each needs in addition to a bare Debian with Go:\n")
	printSections(w)
}

func printSections(w io.Writer) {
	for _, s := range sections {
		fmt.Fprintf(w, "  %-12s %-26s needs %s\n", s.name, s.what, s.needs)
	}
}

// choose returns the named sections, in the order of the table; all without a name.
func choose(names []string) ([]section, error) {
	for _, name := range names {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == name }) {
			return nil, fmt.Errorf("there is no section %s; bench/run --list shows them", name)
		}
	}
	if len(names) == 0 {
		return sections, nil
	}
	return slices.DeleteFunc(slices.Clone(sections), func(s section) bool { return !slices.Contains(names, s.name) }), nil
}

// run measures the sections, and writes the table to standard output, to the folder of results and into the document.
func run(c config) error {
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	if c.write != "" {
		if _, _, err := around(c.write); err != nil {
			return err // before a quarter of an hour is spent
		}
	}
	if out, err := exec.Command("go", "build", "-pgo=cmd/coppice/analyze.pgo", "-o", coppice, "./cmd/coppice").CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/coppice: %w\n%s", err, out)
	}
	m := thisMachine()
	var results []result
	var failed []string
	for _, s := range c.sections {
		r := measure(c, s)
		if r.err != nil {
			failed = append(failed, s.name)
			fmt.Fprintf(os.Stderr, "bench/run: %s: %v\n", s.name, r.err)
		}
		results = append(results, r)
	}
	m.finish()
	text := markdown(m, c, results, every)
	fmt.Print(text)
	if err := os.WriteFile(filepath.Join(c.out, "table.md"), []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.out, "table.tsv"), []byte(tsv(results)), 0o644); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s; their output is in %s", strings.Join(failed, ", "), c.out)
	}
	if c.write != "" {
		return replaceTable(c.write, markdown(m, c, results, typical))
	}
	return nil
}

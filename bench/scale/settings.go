package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/synthetic"
)

// settings say what is run.
type settings struct {
	program  string // of the generated trace, without its number of processes
	ranks    list
	each     int  // processes of the trace for each rank; of strong scaling for all
	graph    bool // analyze --events none
	mpi      bool // ranks of mpirun
	heap     bool // measure live heap at the ends of stages instead of counting calls
	raw      bool // plain pages, which need less memory to write
	stages   bool // print what each stage of the largest run counts
	strong   bool
	programs string // of lengths, separated by spaces
	steps    int    // of all processes in the shorter run of each of them; the longer one has ten times as many
	dir      string
	watch    *stopwatch // of rank 0, where not nil
	events   int64      // of each simulated rank
	cluster  string     // platform file
	model    bool       // collective calls by closed formulas
}

// ringProgram is the trace of the simulated runs: all its processes are alike.
const ringProgram = "ring:iterations=40,every=10,jitter=5,seed=1"

func newSettings(f *flag.FlagSet) *settings {
	s := &settings{ranks: list{1, 2, 4, 8, 16, 32, 64}}
	f.StringVar(&s.program, "program", "ring:iterations=200,every=10,jitter=5,seed=1", "generated trace, as in `coppice demo --help`, without procs")
	f.Var(&s.ranks, "ranks", "numbers of ranks, joined by commas")
	f.IntVar(&s.each, "each", 1, "processes of the trace for each rank; of strong scaling for all ranks together")
	f.BoolVar(&s.graph, "graph", false, "analyze --events none")
	f.BoolVar(&s.raw, "raw", false, "analyze --pages raw, which needs less memory")
	f.BoolVar(&s.mpi, "mpi", false, "ranks that mpirun starts, not goroutines")
	f.BoolVar(&s.heap, "heap", false, "measure the heap that is alive at the ends of stages instead of counting calls")
	f.StringVar(&s.programs, "programs", "stencil:jitter=5 wavefront:jitter=5 stencil:jitter=5,every=1", "of lengths: generated traces, separated by spaces")
	f.IntVar(&s.steps, "steps", 10_000, "of lengths: steps of all processes in the shorter run of a program; the longer one has ten times as many")
	f.Int64Var(&s.events, "events", 25_000_000, "events of each simulated rank")
	f.StringVar(&s.cluster, "cluster", "bench/scale/cluster.toml", "platform file of the simulated cluster")
	f.BoolVar(&s.model, "model", false, "collective calls of simulated ranks take what closed formulas say, not what their messages do")
	f.StringVar(&s.dir, "dir", "", "folder for the files of the job, default a temporary one")
	f.BoolVar(&s.stages, "stages", false, "print what each stage counts")
	return s
}

// source makes the trace for so many ranks.
func (s *settings) source(ranks int) (*synthetic.Source, error) {
	o, err := synthetic.ParseOptions(s.program)
	if err != nil {
		return nil, err
	}
	o.Processes = s.each
	if !s.strong {
		o.Processes *= ranks
	}
	return synthetic.New(o)
}

// list is a flag of numbers.
type list []int

func (l *list) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*l), " ", ","), "[]")
}

func (l *list) Set(text string) error {
	*l = nil
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of ranks", part)
		}
		*l = append(*l, n)
	}
	return nil
}

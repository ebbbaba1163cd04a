// Command soak runs generated, collected and damaged traces through everything that coppice does, with random options, ranks and
// kills, for as long as it is told.
//
//	bench/tool soak -for 1h -seed 1              rounds with the seeds 1, 2, 3, ...
//	bench/tool soak -rounds 1 -seed 17           the round 17 once more
//	bench/tool soak -only serve,kill -for 10m    some of the steps; -list names them
//	bench/tool soak -mutants 320 -for 1h         many small damaged inputs, each to every verb, in one process
//	bench/tool soak -large 1e8                   one input of 40 has up to so many events; 10^8 are about 1 GB
//
// A round makes an input, analyses it, and takes a few steps with the result. All it chooses follows from its seed; the moment
// of a kill is counted in bytes that were written, so it is about the same each time. What is asked of each command is in
// judge.go, of each step in the comment of its function. A round that fails keeps its folder (input, results, and commands.txt with
// every command line and what it printed) as OUT/SEED, prints what was wrong and how to repeat it, and the next round begins.
//
// Rounds with odd seeds run with the race detector (-race=false: none); the others are faster, and are held to their --mem.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are what all rounds share.
type settings struct {
	bin, race string   // the tool, plain and with the race detector ("" for none)
	traces    []string // collected traces
	programs  []string // to record
	large     float64  // events of the largest input
	out, work string   // folders of failed rounds, and of the one in progress
	only      []string
	mpi       bool

	mutants    int // of each round, instead of its steps; 0: steps
	events     uint64
	pipe       *pipe // for all commands, where there are mutants
	receiveLog string
}

func main() {
	log.SetFlags(0)
	var s settings
	length := flag.Duration("for", time.Minute, "begin rounds for so long")
	rounds := flag.Uint64("rounds", 0, "end after so many rounds; 0: by -for alone")
	seed := flag.Uint64("seed", 1, "of the first round")
	only := flag.String("only", "", "steps to take, of those that -list names")
	race := flag.Bool("race", true, "build with the race detector")
	list := flag.Bool("list", false, "name the steps")
	traces := flag.String("traces", "../shared/traces", "folder of collected traces; may be missing")
	flag.Float64Var(&s.large, "large", 0, "events of the largest input, 1e6 at least; 0: none is large")
	flag.IntVar(&s.mutants, "mutants", 0, "so many damaged inputs of a round go to all verbs, instead of its steps, all in one process")
	flag.StringVar(&s.out, "out", filepath.Join("out", "soak"), "folder for what fails")
	flag.Parse()
	if *list {
		for _, st := range steps() {
			fmt.Println(st.name)
		}
		return
	}
	if err := s.prepare(*race, *only, *traces); err != nil {
		log.Fatal("soak: ", err)
	}
	ok := s.soak(*seed, *rounds, *length)
	if s.pipe != nil {
		s.pipe.end()
	}
	os.RemoveAll(s.work)
	if !ok {
		os.Exit(1)
	}
}

// prepare builds the tool and looks at what is here.
func (s *settings) prepare(race bool, only, traces string) (err error) {
	for name := range strings.SplitSeq(only, ",") {
		if name == "" {
			continue
		}
		if !slices.ContainsFunc(steps(), func(st step) bool { return st.name == name }) {
			return fmt.Errorf("-only %s: no such step. -list names them", name)
		}
		s.only = append(s.only, name)
	}
	if s.out, err = filepath.Abs(s.out); err != nil {
		return err
	}
	if s.work, err = os.MkdirTemp("", "soak"); err != nil {
		return err
	}
	s.events = 20_000
	if s.mutants > 0 {
		s.events = 100
		if s.receiveLog, err = newest("cmd/coppice/testdata/*/receive.log.bin"); err != nil {
			return err
		}
		if s.traces, err = collected(traces, 60e3); err != nil {
			log.Print("soak: no collected traces: ", err)
		}
		return errors.Join(s.compileExamples(), s.buildPipe())
	}
	s.bin = filepath.Join(s.out, "bin", "coppice") // one that is up to date is not built again
	if err := build(s.bin); err != nil {
		return err
	}
	if race {
		s.race = filepath.Join(s.out, "bin", "coppice-race")
		if err := build(s.race, "-race"); err != nil {
			return err
		}
	}
	_, err = exec.LookPath("mpirun")
	s.mpi = err == nil
	if !s.mpi {
		log.Print("soak: no mpirun: in-process ranks alone, nothing is recorded")
	} else if err := s.compileExamples(); err != nil {
		log.Print("soak: nothing is recorded: ", err)
	}
	if s.traces, err = collected(traces, 2e6); err != nil {
		log.Print("soak: no collected traces: ", err)
	}
	return nil
}

func build(path string, flags ...string) error {
	args := append([]string{"build"}, flags...)
	cmd := exec.Command("go", append(args, "-o", path, "./cmd/coppice")...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// soak does rounds and says how they went.
func (s *settings) soak(seed, rounds uint64, length time.Duration) bool {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	began := time.Now()
	var done, failed, commands uint64
	counts := map[string]int{}
	status := func() {
		fmt.Printf("soak: %d rounds from seed %d in %s: %d commands (%.0f a second), %d rounds failed; %s\n",
			done, seed, time.Since(began).Round(time.Second), commands, float64(commands)/time.Since(began).Seconds(), failed, summary(counts))
	}
	told := began
	for rounds == 0 && time.Since(began) < length || done < rounds {
		r := newRound(s, seed+done)
		err := r.play()
		done++
		commands += uint64(r.commands)
		for name, n := range r.taken {
			counts[name] += n
		}
		if err != nil {
			failed++
			fmt.Print(r.keep(err))
		}
		os.RemoveAll(r.dir)
		if time.Since(told) > 5*time.Minute {
			told = time.Now()
			status()
		}
		select {
		case <-stop:
			rounds, length = done, 0
		default:
		}
	}
	status()
	return failed == 0
}

// summary is a line of counts.
func summary(counts map[string]int) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// newest is the last of some files, with its whole path.
func newest(pattern string) (string, error) {
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		return "", errors.Join(err, fmt.Errorf("no %s: start in the root of the repository", pattern))
	}
	return filepath.Abs(slices.Max(list))
}

// collected lists the archives and Paraver traces of a folder that have at most so many bytes each.
func collected(folder string, most int64) (list []string, err error) {
	archives, err := filepath.Glob(filepath.Join(folder, "otf2", "*"))
	if err != nil {
		return nil, err
	}
	paraver, err := filepath.Glob(filepath.Join(folder, "paraver", "*.prv.gz"))
	more, err2 := filepath.Glob(filepath.Join(folder, "paraver", "*", "*.prv.gz"))
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	for _, path := range slices.Concat(archives, paraver, more) {
		if n, err := size(path); err == nil && n < most {
			list = append(list, path)
		}
	}
	if len(list) == 0 {
		err = fmt.Errorf("none in %s", folder)
	}
	return list, err
}

// size is the number of bytes of a file or of all files of a folder.
func size(path string) (n int64, err error) {
	err = filepath.Walk(path, func(_ string, st os.FileInfo, err error) error {
		if err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
		return err
	})
	return n, err
}

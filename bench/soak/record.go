package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/tracetest"
)

// examples are the programs that rounds record, by name; prepare compiles them where mpicc is.
var examples = []string{"stencil", "pipeline"}

func (s *settings) compileExamples() error {
	for _, name := range examples {
		out := filepath.Join(s.work, name)
		cmd := exec.Command("mpicc", "-g", "-O2", "-Irecord/include", "-o", out, filepath.Join("record", "examples", name+".c"))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
		s.programs = append(s.programs, out)
	}
	return nil
}

// makeRecorded records an example, with random options of the recorder.
func (r *round) makeRecorded(x *rand.Rand, in *input) error {
	if len(r.programs) == 0 {
		return r.makeProgram(x, in)
	}
	in.kind, in.sound, in.procs = "recorded", true, 3+x.IntN(2)
	r.program = []string{
		r.programs[x.IntN(len(r.programs))], "--size", strconv.Itoa(50 + x.IntN(1000)), "--steps", strconv.Itoa(1 + x.IntN(60)),
		"--compute", []string{"sleep", "busy"}[x.IntN(2)], "--imbalance", strconv.Itoa(x.IntN(100)),
	}
	args := []string{"record", "-o", in.folder}
	maybe := func(n int, name string, values ...string) {
		if x.IntN(n) == 0 {
			if args = append(args, name); len(values) > 0 {
				args = append(args, values[x.IntN(len(values))])
			}
		}
	}
	maybe(2, "--sample", "1ms", "200us", "10ms")
	maybe(3, "--threads", "none", "openmp", "all")
	maybe(3, "--call-sites", "off", "3", "32")
	maybe(3, "--io")
	maybe(3, "--cpu-time")
	maybe(4, "--dump-on-hang", "1s", "60s")
	if x.IntN(2) == 0 {
		maybe(1, "--log-ranks", "0", "1", "0-2")
		maybe(4, "--log-max-bytes", "1K", "20K")
		maybe(4, "--log-wtime")
	}
	whole := len(args)
	switch x.IntN(8) {
	case 0:
		maybe(1, "--max-bytes", "70K", "100K", "300K", "5M")
	case 1:
		maybe(1, "--keep-last", "4M", "20M")
	case 2:
		maybe(1, "--from", "1ms", "10ms", "1s")
		maybe(2, "--until", "20ms", "1s")
	case 3:
		maybe(1, "--ranks", "0-1", "2")
	}
	in.sound = len(args) == whole
	args = append(args, "--", "mpirun", "--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(in.procs))
	// The launcher leaves a folder of its own in TMPDIR.
	o := r.do(command{args: append(args, r.program...), env: []string{"TMPDIR=" + os.TempDir()}})
	r.expect(o, 0, 4)
	if _, err := os.Stat(filepath.Join(in.folder, "traces.otf2")); err != nil {
		return errors.Join(fmt.Errorf("%s: exit code %d: %s", o, o.code, clip(o.errs)), err)
	}
	return nil
}

// stepReplay replays the receive logs of a recorded program, sound and damaged ones: a vector for each, or what is wrong with the log.
func stepReplay(r *round, x *rand.Rand) {
	logs, _ := filepath.Glob(filepath.Join(r.in.folder, "logs", "*.log"))
	for _, path := range logs {
		codes := []int{0, 4}
		if r.in.mutated || x.IntN(2) == 0 {
			b, err := os.ReadFile(path)
			if err != nil {
				r.fail("%v", err)
				return
			}
			b, what := tracetest.Damage(x, b)
			path, codes = r.path("damaged.log"), []int{0, 1, 3, 4}
			if err := os.WriteFile(path, b, 0o666); err != nil {
				r.fail("%v", err)
				return
			}
			r.taken["mutated inputs"]++
			fmt.Fprintf(&r.log, "damaged: %s: %s\n", filepath.Base(path), what)
		}
		args := []string{"replay", path, "-o", r.path("replay")}
		if x.IntN(4) == 0 {
			args = append(args, "--repeat", "2")
		}
		o := r.do(command{args: append(append(args, "--"), r.program...), env: []string{"TMPDIR=" + os.TempDir()}})
		if r.expect(o, codes...) && (o.code == 0 || o.code == 4) {
			if list, _ := filepath.Glob(r.path("replay", "*.csv")); len(list) == 0 {
				r.fail("%s: exit code %d without a vector", o, o.code)
			}
		}
		_ = os.RemoveAll(r.path("replay"))
	}
}

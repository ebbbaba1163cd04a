package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report"
)

// measure records what the representatives of the run receive, replays them here, and names their vectors to the job.
func (o *predictFlags) measure(s streams) error {
	job := &o.job
	var ranks []int
	err := mpi.RunInProcess(o.ranks.ranks, func(c mpi.Comm) error {
		list, err := jobs.Representatives(c, job)
		if err == nil && c.Rank() == 0 {
			for _, p := range list {
				ranks = append(ranks, int(p))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	program, err := programOf(o.command)
	if err != nil {
		return err
	}
	logs, vectors := filepath.Join(o.run, "log"), filepath.Join(o.run, "vectors")
	for _, dir := range []string{logs, vectors} {
		if _, err := os.Lstat(dir); err == nil && !o.force {
			return usage("%s exists already. Give -f to replace it, or another folder with --run-dir", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return outputError(err)
		}
	}
	fmt.Fprintf(s.err, "coppice: recording what %s receive: %s\n", report.Plural(len(ranks), "representative"), strings.Join(o.command, " "))
	r, err := record.Run(context.Background(), record.Options{
		Output: logs, Command: o.command, Compiler: o.compiler, Cache: cacheFolder(), Log: record.LogOptions{Ranks: ranks}, Out: s.err, Err: s.err,
	})
	if err != nil || r.Exit != 0 {
		return concludeRecord(r, err, s)
	}
	if len(r.Unlogged) > 0 {
		return usage("--run: process %d of the recorded run does not exist in %q: start as many processes as were recorded", r.Unlogged[0], strings.Join(o.command, " "))
	}
	copies, node, err := o.copiesOf(r.Processes)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.err, "coppice: replaying %s one after the other, %d times, each %d at once: %s\n", report.Plural(len(r.Logs), "process"), repetitions, copies, strings.Join(program, " "))
	if copies < node {
		fmt.Fprintf(s.err, "coppice: a node of the platform has %d processes: with fewer at once, each has more of memory and caches, and the prediction is too good. --replay-copies %d replays as many\n", node, node)
	}
	return o.replay(r.Logs, program, vectors, copies, s)
}

// copiesOf returns how many replays of a process run at once, and how many processes a node of the platform has: as many, but
// not more than processors here.
func (o *predictFlags) copiesOf(processes int) (copies, node int, err error) {
	path := cmp.Or(o.job.Platform, o.job.Host)
	node = 1
	if path != "" {
		p, err := predict.OpenPlatform(path)
		if err != nil {
			return 0, 0, platformInput(err)
		}
		n, err := p.Network(uint32(processes))
		if err != nil {
			return 0, 0, platformInput(err)
		}
		node = min(int(n.RanksPerNode), processes)
	}
	if copies = o.copies; copies == 0 {
		copies = max(min(node, runtime.NumCPU()), 1)
	}
	return copies, node, nil
}

// repetitions of a replay: with fewer, what other programs take from one cannot be told from its own time.
const repetitions = 3

// replay replays the logs, each alone.
func (o *predictFlags) replay(logs, program []string, vectors string, copies int, s streams) error {
	for _, log := range logs {
		list, err := record.RunReplay(context.Background(), record.ReplayOptions{
			Logs: []string{log}, Command: program, Output: vectors, Compiler: o.compiler, Cache: cacheFolder(), Repeat: repetitions, PerNode: copies, Out: s.err, Err: s.err,
		})
		if err != nil {
			return recordError(fmt.Errorf("--run: %w", err))
		}
		for i := range list {
			x := &list[i]
			fmt.Fprintf(s.err, "coppice: rank %d of %d: %s, computation %.6f s of processor time, %.6f s passed\n", x.Rank, x.Size, outcome(x), float64(x.CPU)/1e9, float64(x.Wall)/1e9)
			if !x.Whole() && x.Vector == "" {
				return fail(jobs.ExitFound, "--run: the replay of process %d ended early: %s", x.Rank, outcome(x))
			}
			o.job.Vectors = append(o.job.Vectors, filepath.Join(vectors, strconv.Itoa(x.Rank)+".csv"))
		}
	}
	if len(o.job.Vectors) == 0 {
		return fail(jobs.ExitFound, "--run: no process was replayed")
	}
	return nil
}

// programOf returns the program of a command and its arguments, without the launcher.
func programOf(command []string) ([]string, error) {
	i, err := record.ProgramAt(context.Background(), command)
	if err != nil {
		return nil, usage("--run: %w", err)
	}
	return command[i:], nil
}

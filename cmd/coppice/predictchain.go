package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/report"
)

// measure records what the representatives of the run receive, replays them here, and names their vectors to the job.
func (o *predictFlags) measure(job *jobs.PredictOptions, s streams) error {
	var ranks []int
	err := mpi.RunInProcess(o.ranks, func(c mpi.Comm) error {
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
			return usage("predict: %s exists already. Give -f to replace it, or another folder with --run-dir", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "coppice")
	fmt.Fprintf(s.err, "coppice: recording what %s receive: %s\n", report.Plural(len(ranks), "representative"), strings.Join(o.command, " "))
	r, err := record.Run(context.Background(), record.Options{
		Output: logs, Command: o.command, Compiler: o.compiler, Cache: cache, Log: record.LogOptions{Ranks: ranks}, Out: s.err, Err: s.err,
	})
	if err != nil || r.Exit != 0 {
		return concludeRecord(r, err, s)
	}
	if len(r.Unlogged) > 0 {
		return usage("predict: --run: process %d of the recorded run does not exist in %q: start as many processes as were recorded", r.Unlogged[0], strings.Join(o.command, " "))
	}
	fmt.Fprintf(s.err, "coppice: replaying %s one after the other: %s\n", report.Plural(len(r.Logs), "process"), strings.Join(program, " "))
	return o.replay(job, r.Logs, program, vectors, cache, s)
}

// replay replays the logs, each alone.
func (o *predictFlags) replay(job *jobs.PredictOptions, logs, program []string, vectors, cache string, s streams) error {
	for _, log := range logs {
		list, err := record.RunReplay(context.Background(), record.ReplayOptions{
			Logs: []string{log}, Command: program, Output: vectors, Compiler: o.compiler, Cache: cache, Repeat: 1, PerNode: 1, Out: s.err, Err: s.err,
		})
		if err != nil {
			return fmt.Errorf("predict: --run: %w", err)
		}
		for i := range list {
			x := &list[i]
			fmt.Fprintf(s.err, "coppice: rank %d of %d: %s, computation %.6f s of processor time, %.6f s passed\n", x.Rank, x.Size, outcome(x), float64(x.CPU)/1e9, float64(x.Wall)/1e9)
			if !x.Whole() && x.Vector == "" {
				return jobs.Fail(jobs.ExitFound, fmt.Errorf("predict: --run: the replay of process %d ended early: %s", x.Rank, outcome(x)))
			}
			job.Vectors = append(job.Vectors, filepath.Join(vectors, strconv.Itoa(x.Rank)+".csv"))
		}
	}
	if len(job.Vectors) == 0 {
		return jobs.Fail(jobs.ExitFound, errors.New("predict: --run: no process was replayed"))
	}
	return nil
}

// programOf returns the program of a command and its arguments, without the launcher.
func programOf(command []string) ([]string, error) {
	i, err := record.ProgramAt(context.Background(), command)
	if err != nil {
		return nil, usage("predict: --run: %w", err)
	}
	return command[i:], nil
}

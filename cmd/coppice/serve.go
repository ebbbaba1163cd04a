package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/view"
	"github.com/coppice-hpc/coppice/xtf"
)

// serveMemory is the budget of a server that is not given one, leastServe the least one.
const (
	serveMemory = 512 << 20
	leastServe  = 64 << 20
)

func runServe(args []string, s streams) error {
	var listen, base string
	var hosts []string
	var mem size
	var idle time.Duration
	f := flags("serve", s,
		"coppice serve run.xtf",
		"coppice serve run.xtf predicted.xtf --mem 2G",
		"coppice serve run.xtf --base-path /user/ann/proxy/absolute/8411 --host hub.example.org")
	f.StringVar(&listen, "listen", "", "HOST:PORT or unix:PATH (default: 127.0.0.1, and a UNIX socket in XDG_RUNTIME_DIR)")
	f.StringVar(&base, "base-path", "", "path below which a proxy shows the server, such as that of JupyterHub")
	f.StringArrayVar(&hosts, "host", nil, "name under which browsers reach the server, beside localhost (repeatable)")
	f.Var(&mem, "mem", "memory of the server (default 512 MiB)")
	f.DurationVar(&idle, "idle", 8*time.Hour, "stop when nobody asked for so long; 0: never")
	operands, err := parse(f, args, 1, 2)
	if err != nil {
		return err
	}
	if mem == 0 {
		mem = serveMemory
	}
	if mem < leastServe {
		return usage("serve: --mem %s: a server needs %s", mem.String(), binary(leastServe))
	}
	var runs []*report.Run
	for _, path := range operands {
		r, err := report.Open(path, xtf.Options{CacheBytes: int64(mem) / 3 / int64(len(operands))})
		if err != nil {
			return readError(path, err)
		}
		defer r.Close()
		runs = append(runs, r)
	}
	place, err := view.Listen(listen, os.Getenv("XDG_RUNTIME_DIR"))
	if err != nil {
		return jobs.Fail(jobs.ExitUsage, fmt.Errorf("serve: %w. Choose another --listen", err))
	}
	defer place.Close()
	around := aroundHere()
	server, err := view.New(runs, view.Options{
		Tool: version, Base: base, Hosts: append(hosts, place.Hosts(around.Host)...), SendBytes: int64(mem) / 8,
	})
	if err != nil {
		return readError(operands[0], err)
	}
	debug.SetMemoryLimit(int64(mem) / 10 * 9) // the rest is the runtime's own and the program text
	server.Announce(s.out, place, around)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := server.Serve(ctx, place, idle); err != nil {
		return jobs.Fail(jobs.ExitResource, fmt.Errorf("serve: %w", err))
	}
	return nil
}

// aroundHere names the user, this machine and, in a batch job, the one that it was submitted from.
func aroundHere() view.Around {
	a := view.Around{User: cmp.Or(os.Getenv("USER"), "you"), Host: "localhost"}
	if u, err := user.Current(); err == nil {
		a.User = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		a.Host = h
	}
	if jump := cmp.Or(os.Getenv("SLURM_SUBMIT_HOST"), os.Getenv("PBS_O_HOST"), os.Getenv("LSB_SUB_HOST")); jump != a.Host {
		a.Jump = jump
	}
	return a
}

package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/view"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/spf13/cobra"
)

// serveMemory is the default memory of a server, leastServe the least.
const (
	serveMemory = 512 << 20
	leastServe  = 64 << 20
)

func serveVerb(s streams) *cobra.Command {
	var o serveFlags
	c := verb("serve RUN.xtf [OTHER.xtf]", "show a run in the browser: timeline, messages, waits, intervals, statistics of any window", 1, 2,
		"coppice serve run.xtf --open",
		"coppice serve before.xtf after.xtf --mem 2G",
		"coppice serve run.xtf --base-path /user/ann/proxy/absolute/8411 --host hub.example.org")
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "", "HOST:PORT or unix:PATH (default: 127.0.0.1, and a UNIX socket in XDG_RUNTIME_DIR)")
	f.StringVar(&o.base, "base-path", "", "path below which a proxy shows the server, such as that of JupyterHub")
	f.StringArrayVar(&o.hosts, "host", nil, "name under which browsers reach the server, in addition to localhost (repeatable)")
	f.Var(&o.mem, "mem", "memory of the server (default 512 MiB)")
	f.DurationVar(&o.idle, "idle", 8*time.Hour, "stop when nobody asked for so long; 0: never")
	f.BoolVar(&o.open, "open", false, "open the page in a browser of this machine: that of BROWSER, else what xdg-open finds")
	return s.does(c, o.serve)
}

type serveFlags struct {
	listen, base string
	hosts        []string
	mem          size
	idle         time.Duration
	open         bool
}

func (o *serveFlags) serve(operands []string, s streams) error {
	o.mem = cmp.Or(o.mem, serveMemory)
	if o.mem < leastServe {
		return usage("--mem %s: a server needs %s", o.mem.String(), numbers.Binary(leastServe))
	}
	var runs []*results.Run
	for _, path := range operands {
		r, err := results.Open(path, xtf.Options{CacheBytes: int64(o.mem) / 3 / int64(len(operands))})
		if err != nil {
			return readError(path, err)
		}
		defer r.Close()
		runs = append(runs, r)
	}
	place, err := view.Listen(o.listen, os.Getenv("XDG_RUNTIME_DIR"))
	if err != nil {
		return usage("%w. Choose another --listen", err)
	}
	defer place.Close()
	around := aroundHere()
	server, err := view.New(runs, view.Options{
		Tool: version, Base: o.base, Hosts: append(o.hosts, place.Hosts(around.Host)...), SendBytes: int64(o.mem) / 8,
	})
	if err != nil {
		return readError(operands[0], err)
	}
	debug.SetMemoryLimit(int64(o.mem) / 10 * 9) // the rest is the runtime's own and the program text
	here := server.Announce(s.out, place, around)
	if o.open {
		s.browse(here)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := server.Serve(ctx, place, o.idle); err != nil {
		return fail(jobs.ExitResource, "%w", err)
	}
	return nil
}

// browse opens an address in a browser, without waiting for it.
func (s streams) browse(address string) {
	err := errors.New("nothing here opens one")
	for _, name := range []string{os.Getenv("BROWSER"), "xdg-open", "open"} {
		if program, none := exec.LookPath(name); none == nil && address != "" { // there is no address for a socket
			c := exec.Command(program, address)
			c.Stderr = os.Stderr // the browser reports what it lacks, such as a display
			err = c.Start()
			break
		}
	}
	if err != nil {
		s.say("--open: no browser was started: %v. Set BROWSER to one, or give one the address yourself", err)
	}
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

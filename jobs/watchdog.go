package jobs

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// Watch says when a rank counts as hanging, and what to do then. The zero Watch does nothing.
type Watch struct {
	// GiveUp ends the job when a rank has worked this long without a sign of life, or waited eight times as long for other ranks, which
	// may have much to do. After a tenth of these times the watchdog calls Warn, once. 0: never.
	GiveUp time.Duration
	Warn   func(text string)
	// Die ends this process and with it the job; nil: by Abort under a launcher, else by os.Exit.
	Die func(code int)
}

// patience is how many times GiveUp a rank waits for others.
const patience = 8

// Watchdog observes one rank of a job: what it does, and when it last gave a sign of life. Its messages tell a rank that waits for others
// from one that works or hangs in a file system.
type Watchdog struct {
	Watch
	rank, size int
	comm       mpi.Comm
	beat       atomic.Int64 // time of the last sign of life, ns since began
	began      time.Time
	waiting    atomic.Int32 // 1 + kind of the MPI call in which the rank waits, 0: it works
	stage      atomic.Pointer[string]
	location   atomic.Int64                 // 1 + P in progress, 0 for none
	Owner      atomic.Pointer[func() error] // fails when a younger run took the output over
	asking     atomic.Bool                  // ask runs
	parent     int                          // process
	warned     bool
	end        chan struct{}
}

// Observe begins to observe the rank. It returns a communicator whose calls the watchdog sees, and whose errors keep their exit codes.
func Observe(c mpi.Comm, o Watch) (*Watchdog, mpi.Comm) {
	w := &Watchdog{Watch: o, rank: c.Rank(), size: c.Size(), comm: c, began: time.Now(), parent: os.Getppid(), end: make(chan struct{})}
	if o.GiveUp <= 0 {
		return w, KeepingCodes(c)
	}
	if w.Warn == nil {
		w.Warn = func(string) {}
	}
	if w.Die == nil {
		w.Die = w.die
	}
	go w.run()
	ended := func() {
		w.waiting.Store(0)
		w.Alive()
	}
	begin := func(k mpi.OpKind) func() {
		w.Alive()
		w.waiting.Store(1 + int32(k))
		return ended
	}
	return w, KeepingCodes(mpi.ObserveCalls(c, begin, func(mpi.Note) {}))
}

// Alive is a sign of life.
func (w *Watchdog) Alive() { w.beat.Store(int64(time.Since(w.began))) }

// Enter sets the current stage.
func (w *Watchdog) Enter(stage string) {
	w.stage.Store(&stage)
	w.location.Store(0)
	w.Alive()
}

// On sets the location in progress.
func (w *Watchdog) On(p trace.P) { w.location.Store(1 + int64(p)) }

// Stop ends the observation.
func (w *Watchdog) Stop() { close(w.end) }

// run checks the rank periodically. A gap between two checks means that the whole process was halted, by a debugger or a scheduler; then
// silence proves nothing.
func (w *Watchdog) run() {
	period := min(max(w.GiveUp/40, time.Millisecond), 10*time.Second)
	every := time.NewTicker(period)
	defer every.Stop()
	last := time.Now()
	for n := 1; ; n++ {
		select {
		case <-w.end:
			return
		case <-every.C:
		}
		now := time.Now()
		if now.Sub(last) > 10*period+time.Second {
			w.Alive()
		}
		last = now
		silent := time.Since(w.began) - time.Duration(w.beat.Load())
		if w.judge(silent) {
			return
		}
		if mpi.Launched() && os.Getppid() != w.parent {
			w.Warn(fmt.Sprintf("rank %d of %d: its launcher is gone, this process ends", w.rank, w.size))
			w.Die(ExitTerminate)
			return
		}
		if n%askEvery == 0 && silent >= askEvery*period {
			w.ask()
		}
	}
}

// askEvery is the number of checks after which a silent rank asks whether the output is still its own.
const askEvery = 6

// judge warns of a silence of some length, or ends the job. It returns whether it did the latter.
func (w *Watchdog) judge(silent time.Duration) (dead bool) {
	k := w.waiting.Load()
	limit, waits := w.GiveUp, k != 0 && mpi.OpKind(k-1) <= mpi.OpFile
	if waits {
		limit *= patience
	}
	switch {
	case silent >= limit:
		w.Warn(w.describe(silent) + ". The job is ended; what the last checkpoint lists stays valid, --resume continues from it")
		w.Die(ExitResource)
		return true
	case silent < limit/10:
		w.warned = false
	case !w.warned && (!waits || w.rank == 0):
		w.warned = true
		w.Warn(w.describe(silent))
	}
	return false
}

func (w *Watchdog) describe(silent time.Duration) string {
	stage := "start"
	if s := w.stage.Load(); s != nil {
		stage = *s
	}
	text := fmt.Sprintf("rank %d of %d: %s", w.rank, w.size, stage)
	round := silent.Round(time.Second)
	if k := w.waiting.Load(); k != 0 && mpi.OpKind(k-1) < mpi.OpFile {
		return fmt.Sprintf("%s: has waited for other ranks (%s) for %v: they work, or hang and say so themselves", text, mpi.OpKind(k-1), round)
	}
	if p := w.location.Load(); p != 0 {
		text += fmt.Sprintf(", location %d", p-1)
	}
	return fmt.Sprintf("%s: nothing has moved for %v: a file system that does not answer, or very long work", text, round)
}

// ask ends this process if a younger run took over the output of its job.
func (w *Watchdog) ask() {
	owner := w.Owner.Load()
	if owner == nil || !w.asking.CompareAndSwap(false, true) {
		return
	}
	go func() { // the file system may not answer
		defer w.asking.Store(false)
		if err := (*owner)(); errors.Is(err, xtfwriter.ErrSuperseded) {
			w.Warn(fmt.Sprintf("rank %d of %d: %v", w.rank, w.size, err))
			w.Die(ExitUsage)
		}
	}()
}

// abortWait is how long Die waits for the MPI library to end the process.
const abortWait = 10 * time.Second

// die ends the process, after abortWait without the MPI library, in which another thread may hang.
func (w *Watchdog) die(code int) {
	if mpi.Launched() {
		go w.comm.Abort(code)
		time.Sleep(abortWait)
	}
	os.Exit(code)
}

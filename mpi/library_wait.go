//go:build cgo && !nompi

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"math"
	"os"
	"runtime"
	"time"
)

// How a rank waits. An MPI library does not wake a rank, so the rank has to look. Between two looks
//
//	it spins for awakeTime     if no more ranks may use its processors than there are, as MPI libraries do
//	it looks again at once     if ranks share processors, looksAtRing times in all
//	it sleeps                  after that, until a rank of the same node that sends to it wakes it
//
// So ranks that share processors leave them to those that work, and a chain of messages over them has no idle time. Ranks that yield would
// get their turn as often as those that work. Sleeps alone would not do: each rank of a chain would wait for the sleeps of all before it.
//
// Events that do not wake the rank are found after a sleep of a tenth of the time waited so far: messages of other nodes, rounds of the
// library's collectives, the other side of a long message.
const (
	awakeTime = 20 * time.Millisecond
	leastDoze = 20 * time.Microsecond
	mostDoze  = 20 * time.Millisecond
	// looksAtRing is more than one, because one look may bring in what only the next one finds.
	looksAtRing = 2
)

// findNode finds the ranks of this node and whether they share processors. Collective.
func (l *library) findNode() error {
	most, free := math.MaxInt32, os.Getenv("GOMAXPROCS") == "" // if set, it does not tell the limit of a cgroup
	if free {
		most = runtime.GOMAXPROCS(0)
	}
	var crowded, allRung, someCrowded C.int
	if err := l.failure("init", C.cop_node(C.int(most), &crowded, &allRung, &someCrowded)); err != nil {
		return err
	}
	l.crowded, l.allRung = crowded != 0, allRung != 0
	l.inTree = l.allRung && someCrowded != 0
	if free && l.crowded {
		runtime.GOMAXPROCS(1) // more threads of Go would take turns with those of other ranks
	}
	return nil
}

// wait is the state of one wait.
type wait struct {
	rings bool       // whatever ends the wait wakes the rank
	heard C.uint32_t // rings of the bell before the last look
	looks int        // since the last ring
	start time.Time
}

// look is called before each look.
func (w *wait) look() {
	w.looks++
	if n := C.cop_rings(); n != w.heard {
		w.heard, w.looks = n, 1
	}
}

// rest spins, yields or sleeps until the next look.
func (w *wait) rest(crowded bool) {
	if w.start.IsZero() {
		w.start = time.Now()
	}
	waited := time.Since(w.start)
	switch {
	case crowded && w.looks < looksAtRing:
	case !crowded && waited < awakeTime:
		if w.looks%16 == 0 {
			runtime.Gosched() // for other goroutines, if the rank has one processor
		}
	case w.rings:
		C.cop_doze(w.heard, C.long(mostDoze))
	default:
		C.cop_doze(w.heard, C.long(min(max(waited/10, leastDoze), mostDoze)))
	}
}

// poll calls step, with the lock held, until it returns true or an error. Between the calls it advances all other operations, frees the
// lock and rests. rings: whatever makes step succeed wakes this rank, unless a long message of this rank is in progress.
func (l *library) poll(ctx context.Context, rings bool, step func() (bool, error)) error {
	var w wait
	for {
		w.look()
		l.mu.Lock()
		done, err := step()
		if !done && err == nil && len(l.open) > 0 {
			l.progress()
			done, err = step()
		}
		w.rings = rings && l.moving == 0
		l.mu.Unlock()
		if done || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.rest(l.crowded)
	}
}

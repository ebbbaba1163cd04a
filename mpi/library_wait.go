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

// How a rank waits. Nothing in an MPI library wakes a rank: it has to look. Between two looks
//
//	it spins for awakeTime     where there are processors for all ranks that may use them, as MPI itself does
//	it looks again             where ranks share processors, looksAtRing times in all
//	it dozes                   after that, until a rank of the same node that sends to this one rings its bell
//
// So a chain of messages over ranks that share processors takes no time in which nobody works, and those that wait leave
// the processors to those that work, which ranks that yield do not: they get their turn as often. Sleeps alone do not do: each
// rank of a chain waits for the sleeps of all before it, and so sleeps longer and longer itself.
//
// What does not ring is found at the end of a doze of a tenth of the time waited so far: messages of other nodes, rounds of
// collective calls of the library, the other side of a long message.
const (
	awakeTime = 20 * time.Millisecond
	leastDoze = 20 * time.Microsecond
	mostDoze  = 20 * time.Millisecond
	// looksAtRing is more than one, because a look may just bring in what the next one finds.
	looksAtRing = 2
)

// findNode finds the ranks of this node, and whether they share processors. All ranks call it.
func (l *library) findNode() error {
	most, free := math.MaxInt32, os.Getenv("GOMAXPROCS") == "" // else it says nothing of a cgroup's limit
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
		runtime.GOMAXPROCS(1) // the threads of more would take turns with those of other ranks
	}
	return nil
}

// wait is one wait, between its looks.
type wait struct {
	rings bool       // whatever ends it rings
	heard C.uint32_t // rings before the last look
	looks int        // since the bell rang
	start time.Time
}

// look is called before each look.
func (w *wait) look() {
	w.looks++
	if n := C.cop_rings(); n != w.heard {
		w.heard, w.looks = n, 1
	}
}

// rest passes the time until the next look.
func (w *wait) rest(crowded bool) {
	if w.start.IsZero() {
		w.start = time.Now()
	}
	waited := time.Since(w.start)
	switch {
	case crowded && w.looks < looksAtRing:
	case !crowded && waited < awakeTime:
		if w.looks%16 == 0 {
			runtime.Gosched() // to other goroutines of a rank that has one processor
		}
	case w.rings:
		C.cop_doze(w.heard, C.long(mostDoze))
	default:
		C.cop_doze(w.heard, C.long(min(max(waited/10, leastDoze), mostDoze)))
	}
}

// poll calls step, with the lock held, until it says that it is done. Between the calls it drives whatever else was
// started, and then the lock is free and the rank rests. rings tells that whatever makes step done rings the bell, unless
// a long message of this rank is on its way.
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

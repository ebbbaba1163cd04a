// Command waiting measures how ranks wait for each other; run.sh next to it starts it.
//
//	mpirun -n P waiting hop          a message round all ranks, again and again: microseconds a hop
//	mpirun -n P waiting start        nothing: what beginning and ending MPI takes
//	mpirun -n P waiting idle 3s      rank 0 counts for 3 s while all others wait for it: its share of the speed that it has alone
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/coppice-hpc/coppice/mpi"
)

const (
	hops  = 20000
	bytes = 100
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "hop" {
		mpi.Main(hop)
	}
	if len(os.Args) == 2 && os.Args[1] == "start" {
		mpi.Main(func(c mpi.Comm) int { return fail(c.Barrier()) })
	}
	if len(os.Args) == 3 && os.Args[1] == "idle" {
		if d, err := time.ParseDuration(os.Args[2]); err == nil {
			mpi.Main(func(c mpi.Comm) int { return idle(c, d) })
		}
	}
	fmt.Fprintln(os.Stderr, "usage: waiting hop | start | idle DURATION")
	os.Exit(2)
}

// fail prints an error and gives the exit status.
func fail(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// round passes the message on after it has come; rank 0 lets it go first.
func round(c mpi.Comm, message []byte, next int) error {
	var sent *mpi.Request
	var err error
	if c.Rank() == 0 {
		sent, err = c.Isend(message, next, 0) // MPICH completes a send to itself when it is received
	}
	if err == nil {
		_, _, err = c.Recv(mpi.AnySource, mpi.AnyTag)
	}
	if err == nil && c.Rank() > 0 {
		sent, err = c.Isend(message, next, 0)
	}
	if err != nil {
		return err
	}
	return c.Wait(sent)
}

func hop(c mpi.Comm) int {
	if err := c.Barrier(); err != nil {
		return fail(err)
	}
	next, rounds := (c.Rank()+1)%c.Size(), max(hops/c.Size(), 1)
	message := make([]byte, bytes)
	begin := time.Now()
	for range rounds {
		if err := round(c, message, next); err != nil {
			return fail(err)
		}
	}
	if c.Rank() == 0 {
		fmt.Printf("%.1f\n", time.Since(begin).Seconds()*1e6/float64(rounds*c.Size()))
	}
	return 0
}

// count adds one to a number for some time and returns it by the second.
func count(d time.Duration) float64 {
	n := 0
	begin := time.Now()
	for time.Since(begin) < d {
		n++
	}
	return float64(n) / time.Since(begin).Seconds()
}

func idle(c mpi.Comm, d time.Duration) int {
	busy := 0.0
	if c.Rank() == 0 {
		time.Sleep(100 * time.Millisecond) // all wait
		busy = count(d)
	}
	if err := c.Barrier(); err != nil {
		return fail(err)
	}
	if c.Rank() == 0 {
		fmt.Println(busy)
	}
	return 0
}

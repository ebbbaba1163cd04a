package mpi

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// RunInProcess runs n ranks as goroutines of this process and waits for all of them. If one returns an error, panics or calls Abort,
// blocked and later calls of the others return an error of class ErrCancelled. The result is the error of the lowest rank that failed by
// itself, as a *RankError (or the *AgreedError that it returned), or nil.
//
// Memory: about 0.5 KiB and a goroutine stack for each rank; every message once.
func RunInProcess(n int, run func(Comm) error) error {
	if n < 1 {
		return errf("run", ErrArg, "%d ranks: need at least 1", n)
	}
	w, comms := newLocal(n, nil)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w.rank(i, c, run, &errs[i])
		}()
	}
	wg.Wait()
	return firstFailure(errs, w.cause)
}

// rank runs one rank. It fails the world if the rank does not return nil.
func (w *localWorld) rank(i int, c *local, run func(Comm) error, out *error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			*out = &PanicError{Value: fmt.Sprint(v), Stack: debug.Stack()}
		} else if !returned { // Abort, or runtime.Goexit
			*out = errors.New("the rank ended without returning")
			var re *RankError
			if w.alive("") != nil && errors.As(w.cause, &re) && re.Rank == i {
				*out = re.Err
			}
		}
		if *out == nil {
			return
		}
		if _, agreed := errors.AsType[*AgreedError](*out); !agreed {
			*out = &RankError{Rank: i, Err: *out}
		}
		w.fail(*out)
	}()
	*out = run(c)
	returned = true
}

// firstFailure returns the error of the lowest rank that failed by itself, not because another had failed.
func firstFailure(errs []error, cause error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrCancelled) {
			return err
		}
	}
	for _, err := range errs {
		if err != nil {
			return cause
		}
	}
	return nil
}

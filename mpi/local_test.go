package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// In-process faults: whatever a rank does, the others come back with ErrCancelled, and the result is the failing rank's
// own error.
func TestRunInProcessFailures(t *testing.T) {
	boom := errors.New("boom")
	cases := []struct {
		name string
		act  func(Comm) error
		text string
		code int
	}{
		{"error", func(Comm) error { return boom }, "rank 4: boom", 0},
		{"panic", func(Comm) error { panic("boom") }, "rank 4: panic: boom", 6},
		{"nil dereference", func(Comm) error { var p *int; *p = 1; return nil }, "rank 4: panic: runtime error: invalid memory address or nil pointer dereference", 6},
		{"abort", func(c Comm) error { c.Abort(42); return nil }, "rank 4: aborted with exit code 42", 42},
		{"goexit", func(Comm) error { runtime.Goexit(); return nil }, "rank 4: the rank ended without returning", 0},
	}
	stuck := map[int]func(Comm) error{
		0: func(c Comm) error { return c.Barrier() },
		1: func(c Comm) error { _, _, err := c.Recv(4, 1); return err },
		2: func(c Comm) error { return c.Send(make([]byte, 1<<20), 4, 1) },
		3: func(c Comm) error {
			r, err := c.Isend(make([]byte, 1<<20), 4, 2)
			if err == nil {
				err = c.Wait(nil, r)
			}
			return err
		},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			seen := make([]error, 5)
			err := RunInProcess(5, func(c Comm) error {
				act, ok := stuck[c.Rank()]
				if !ok {
					return k.act(c)
				}
				seen[c.Rank()] = act(c)
				return seen[c.Rank()]
			})
			if err == nil || err.Error() != k.text {
				t.Fatalf("got %v, want %s", err, k.text)
			}
			var re *RankError
			if !errors.As(err, &re) || re.Rank != 4 {
				t.Errorf("no rank in %v", err)
			}
			var coded Coded
			if errors.As(err, &coded) != (k.code != 0) || k.code != 0 && coded.Code() != k.code {
				t.Errorf("code of %v", err)
			}
			for r := range 4 {
				if !errors.Is(seen[r], ErrCancelled) || !strings.Contains(seen[r].Error(), k.text) {
					t.Errorf("rank %d got %v", r, seen[r])
				}
			}
			for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
				if time.Now().After(end) { // a rank's goroutine ends a moment after it is waited for
					t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
				}
			}
		})
	}
}

// Every rank that fails by itself counts, the lowest first; what others made of it does not.
func TestRunInProcessLowest(t *testing.T) {
	err := RunInProcess(8, func(c Comm) error {
		if err := c.Agree(nil); err != nil {
			return err
		}
		if c.Rank() == 0 { // waits in vain, and passes the failure on in its own words
			if _, _, err := c.Recv(7, 0); err != nil {
				return fmt.Errorf("no input: %w", err)
			}
		}
		if c.Rank() < 6 {
			return c.Barrier()
		}
		return fmt.Errorf("failure of %d", c.Rank())
	})
	if err == nil || !strings.HasPrefix(err.Error(), "rank 6: failure of 6") && !strings.HasPrefix(err.Error(), "rank 7: failure of 7") {
		t.Fatalf("got %v", err)
	}
	var agreed *AgreedError
	err = RunInProcess(8, func(c Comm) error { return c.Agree(fmt.Errorf("no %d", c.Rank())) })
	if !errors.As(err, &agreed) || err.Error() != "rank 0: no 0 (8 of 8 ranks failed)" {
		t.Fatalf("got %v", err)
	}
	if err := RunInProcess(0, func(Comm) error { return nil }); !errors.Is(err, ErrArg) {
		t.Fatalf("got %v", err)
	}
}

// Different collective calls are reported to everybody instead of hanging.
func TestMismatchedCalls(t *testing.T) {
	got := make([]error, 3)
	err := RunInProcess(3, func(c Comm) error {
		if c.Rank() == 1 {
			_, got[1] = c.Bcast(nil, 1)
			return nil
		}
		got[c.Rank()] = c.Barrier()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range got {
		if !errors.Is(err, ErrMismatch) {
			t.Errorf("rank %d got %v", r, err)
		}
	}
}

// Two goroutines of a rank in collectives of one communicator are a mistake that must not pass silently.
func TestTwoGoroutinesInCollectives(t *testing.T) {
	err := RunInProcess(2, func(c Comm) error {
		if c.Rank() == 1 {
			_, _, err := c.Recv(0, 0)
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		inside := make(chan error)
		go func() { inside <- c.BarrierContext(ctx) }()
		for !c.(*local).inside.Load() {
			runtime.Gosched()
		}
		return c.Barrier()
	})
	var p *PanicError
	if !errors.As(err, &p) || !strings.Contains(p.Value, "two goroutines of a rank") || len(p.Stack) == 0 {
		t.Fatalf("got %v", err)
	}
}

// A short message is copied by Send, a long one waits for its receiver, and neither is seen to change afterwards.
func TestSendCopies(t *testing.T) {
	err := RunInProcess(2, func(c Comm) error {
		for _, n := range []int{1, eagerLimit, eagerLimit + 1, 1 << 20} {
			if c.Rank() == 0 {
				b := pattern(n, 0, n)
				if err := c.Send(b, 1, 0); err != nil {
					return err
				}
				clear(b)
			} else {
				b, _, err := c.Recv(0, 0)
				if err != nil {
					return err
				}
				if string(b) != string(pattern(n, 0, n)) {
					return fmt.Errorf("%d bytes changed", n)
				}
			}
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRankMemory counts what one of 4096 idle ranks costs: the heap must stay below 1 KiB per rank.
func TestRankMemory(t *testing.T) {
	const n = 4096
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, comms := newLocal(n, nil)
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	if per > 1024 {
		t.Errorf("%d bytes per rank", per)
	}
	t.Logf("%d bytes per rank", per)
	runtime.KeepAlive(comms)
}

// Abort of a serial communicator exits the process.
func TestSerialAbort(t *testing.T) {
	if os.Getenv("MPI_TEST_ABORT") != "" {
		Serial().Abort(42)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run", "^TestSerialAbort$")
	cmd.Env = append(os.Environ(), "MPI_TEST_ABORT=1")
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 42 {
		t.Fatalf("got %v", err)
	}
}

func TestGivenUpByDeadline(t *testing.T) {
	err := RunInProcess(2, func(c Comm) error {
		if c.Rank() == 1 {
			_, _, err := c.Recv(0, 0) // comes to the barrier only when rank 0 has given it up
			return errors.Join(err, c.Barrier(), c.Barrier())
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := c.BarrierContext(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrCancelled) {
			return fmt.Errorf("got %w", err)
		}
		if err := c.Send(nil, 1, 0); err != nil {
			return err
		}
		return c.Barrier()
	})
	if err != nil {
		t.Fatal(err)
	}
}

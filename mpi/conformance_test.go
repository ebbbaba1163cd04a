package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// rankTest is what a conformance case gets on each rank: a testing.T would not do, since the ranks are goroutines or
// processes of their own. A failure ends the case on this rank and cancels or aborts the others.
type rankTest struct {
	dir string // scratch directory that all ranks share
}

type rankFailure struct{ text string }

func (t *rankTest) fatalf(format string, args ...any) {
	panic(rankFailure{fmt.Sprintf(format, args...)})
}

func (t *rankTest) ok(what string, err error) {
	if err != nil {
		t.fatalf("%s: %v", what, err)
	}
}

func (t *rankTest) is(what string, err error, class error) {
	if !errors.Is(err, class) {
		t.fatalf("%s: got %v, want %v", what, err, class)
	}
}

func (t *rankTest) equal(what string, got, want []byte) {
	if !bytes.Equal(got, want) {
		t.fatalf("%s: got %d bytes %.40x, want %d bytes %.40x", what, len(got), got, len(want), want)
	}
}

// testCase is one row of the conformance table: it runs on every communicator of at least min ranks. many marks those
// that also run on 4096 ranks.
type testCase struct {
	name string
	min  int
	many bool
	run  func(*rankTest, Comm)
}

func conformance() []testCase {
	return []testCase{
		{"identity", 1, true, testIdentity},
		{"barrier", 1, true, testBarrier},
		{"barrier given up", 2, false, testBarrierGivenUp},
		{"ring of all lengths", 1, false, testRing},
		{"wildcards", 1, true, testWildcards},
		{"tags", 2, false, testTags},
		{"requests", 1, false, testRequests},
		{"order of posted receives", 2, false, testPostedOrder},
		{"try receive", 2, false, testTryRecv},
		{"random messages", 1, false, testRandomMessages},
		{"goroutines", 1, false, testGoroutines},
		{"bcast", 1, true, testBcast},
		{"gather", 1, true, testGather},
		{"allgather", 1, true, testAllgather},
		{"alltoall", 1, false, testAlltoall},
		{"sparse alltoall", 1, false, testSparse},
		{"reductions", 1, true, testReductions},
		{"reduction mismatch", 2, false, testReductionMismatch},
		{"agree", 1, true, testAgree},
		{"agree on codes", 2, false, testAgreeCodes},
		{"dup", 1, false, testDup},
		{"node", 1, true, testNode},
		{"arguments", 1, false, testArguments},
		{"tree reduce", 1, true, testTreeReduce},
		{"tree reduce failure", 2, false, testTreeReduceFailure},
		{"file", 1, false, testFile},
		{"file collective", 1, false, testFileCollective},
		{"file errors", 1, false, testFileErrors},
		{"timing", 1, false, testTiming},
	}
}

// runCase runs one case on one rank.
func runCase(k testCase, c Comm, dir string) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case rankFailure:
			err = fmt.Errorf("%s: %s", k.name, v.text)
		default:
			panic(v)
		}
	}()
	k.run(&rankTest{dir: dir}, c)
	return nil
}

func TestInProcess(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 16, 64} {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) { inProcess(t, n, testing.Short() && n > 16) })
	}
}

func TestInProcess4096(t *testing.T) {
	if testing.Short() {
		inProcess(t, 512, true)
		return
	}
	inProcess(t, 4096, true)
}

func inProcess(t *testing.T, n int, many bool) {
	for _, k := range conformance() {
		if n < k.min || many && !k.many {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := RunInProcess(n, func(c Comm) error { return runCase(k, c, dir) }); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestSerial(t *testing.T) {
	for _, k := range conformance() {
		if k.min > 1 {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			if err := runCase(k, Serial(), t.TempDir()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// pattern is n bytes that depend on the sender and a number, with a period of 1021, a prime.
func pattern(n, rank, k int) []byte {
	b := make([]byte, n)
	x := uint32(rank*7919 + k*104729 + n + 1)
	for i := range min(n, 1021) {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	for i := 1021; i < n; i *= 2 {
		copy(b[i:], b[:i])
	}
	return b
}

// lengths cross the limits of every protocol: head, in-process copy, the chunk of the MPI tests.
var lengths = []int{0, 1, 7, headTestSize, headTestSize + 1, eagerLimit, eagerLimit + 1, testChunk, testChunk + 1, 2*testChunk + headTestSize, 3*testChunk + 5}

const (
	headTestSize = 3968   // headSize of the MPI implementation
	testChunk    = 100000 // what the MPI tests use instead of 1 GiB
)

// partLen gives uneven lengths, many of them 0, for the part that a sends to b.
func partLen(a, b int) int {
	switch (a*31 + b*17) % 5 {
	case 0:
		return 0
	case 1:
		return 1
	default:
		return (a*13 + b*29) % 400
	}
}

func testIdentity(t *rankTest, c Comm) {
	if c.Rank() < 0 || c.Rank() >= c.Size() {
		t.fatalf("rank %d of %d", c.Rank(), c.Size())
	}
	v := []int64{int64(c.Rank()), 1}
	t.ok("allreduce", c.AllreduceInt64(v, Sum))
	n := int64(c.Size())
	if v[0] != n*(n-1)/2 || v[1] != n {
		t.fatalf("sum of ranks %d, of ones %d, for %d ranks", v[0], v[1], n)
	}
}

func testArguments(t *rankTest, c Comm) {
	t.is("send to negative rank", c.Send(nil, -1, 0), ErrRank)
	t.is("send to large rank", c.Send(nil, c.Size(), 0), ErrRank)
	t.is("send with wildcard tag", c.Send(nil, 0, AnyTag), ErrTag)
	t.is("send with large tag", c.Send(nil, 0, MaxTag+1), ErrTag)
	_, _, err := c.Recv(c.Size(), 0)
	t.is("recv", err, ErrRank)
	_, _, err = c.Recv(-2, 0)
	t.is("recv from a negative rank", err, ErrRank)
	_, _, _, err = c.TryRecv(0, -2)
	t.is("try recv", err, ErrTag)
	_, err = c.Bcast(nil, c.Size())
	t.is("bcast", err, ErrRoot)
	_, err = c.Gather(nil, -1)
	t.is("gather", err, ErrRoot)
	t.is("operation", c.AllreduceInt64([]int64{1}, numOps), ErrOp)
	t.is("free the first", c.Free(), ErrComm)
	other := Serial()
	r, err := other.Isend(nil, 0, 0)
	t.ok("isend", err)
	if err := c.Wait(r); c.Size() > 1 || err != nil {
		t.is("foreign request", err, ErrRequest)
	}
	t.ok("barrier", c.Barrier())
}

func readFile(t *rankTest, name string) []byte {
	b, err := os.ReadFile(name)
	t.ok("read back", err)
	return b
}

func (t *rankTest) path(name string) string { return filepath.Join(t.dir, name) }

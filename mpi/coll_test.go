package mpi

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
)

// someRoots are the ranks that the rooted collectives are tried with.
func someRoots(c Comm) []int {
	return slices.Compact([]int{0, c.Size() / 2, c.Size() - 1})
}

func testBcast(t *rankTest, c Comm) {
	for _, root := range someRoots(c) {
		for k, n := range lengths {
			if c.Size() > 64 && n > 10 {
				continue
			}
			var b []byte
			if c.Rank() == root {
				b = pattern(n, root, k)
			}
			got, err := c.Bcast(b, root)
			t.ok("bcast", err)
			t.equal("bcast", got, pattern(n, root, k))
		}
	}
}

func testGather(t *rankTest, c Comm) {
	for _, scale := range []int{0, 1, 100} {
		if c.Size() > 64 && scale > 1 {
			continue
		}
		for _, root := range someRoots(c) {
			own := pattern(scale*partLen(c.Rank(), 3), c.Rank(), root)
			parts, err := c.Gather(own, root)
			t.ok("gather", err)
			if c.Rank() != root {
				if parts != nil {
					t.fatalf("rank %d got %d parts", c.Rank(), len(parts))
				}
				continue
			}
			if len(parts) != c.Size() {
				t.fatalf("%d parts", len(parts))
			}
			for i, p := range parts {
				t.equal("gather", p, pattern(scale*partLen(i, 3), i, root))
			}
		}
	}
}

func testAllgather(t *rankTest, c Comm) {
	for _, scale := range []int{0, 1, 100} {
		if c.Size() > 16 && scale > 1 {
			continue
		}
		parts, err := c.Allgather(pattern(scale*partLen(c.Rank(), 5), c.Rank(), scale))
		t.ok("allgather", err)
		if len(parts) != c.Size() {
			t.fatalf("%d parts", len(parts))
		}
		step := max(1, len(parts)/64)
		for i := 0; i < len(parts); i += step {
			t.equal("allgather", parts[i], pattern(scale*partLen(i, 5), i, scale))
		}
	}
}

func testAlltoall(t *rankTest, c Comm) {
	for _, scale := range []int{0, 1, 100} {
		if c.Size() > 16 && scale > 1 {
			continue
		}
		parts := make([][]byte, c.Size())
		for i := range parts {
			parts[i] = pattern(scale*partLen(c.Rank(), i), c.Rank(), i)
		}
		got, err := Alltoall(c, 8, parts)
		t.ok("alltoall", err)
		for i := range parts { // the sender may reuse its memory at once
			clear(parts[i])
		}
		for i, b := range got {
			t.equal("alltoall", b, pattern(scale*partLen(i, c.Rank()), i, c.Rank()))
		}
	}
	if _, err := Alltoall(c, 8, make([][]byte, c.Size()+1)); err == nil {
		t.fatalf("a part too many is left out without an error")
	}
}

func testReductions(t *rankTest, c Comm) {
	value := func(r, i int) int64 {
		x := uint64(r*1000003+i*7919+1) * 0x9E3779B97F4A7C15
		return int64(x) >> 14 // so that 4096 of them do not overflow
	}
	for _, n := range []int{0, 1, 5, 1000} {
		if n > 1 && c.Size() > 64 || n > 5 && c.Size() > 16 {
			continue
		}
		for op := Sum; op < numOps; op++ {
			checks := c.Size() <= 64 || c.Rank()%64 == 1 // the slow sums of all ranks
			want := make([]int64, n)
			v := make([]int64, n)
			for i := range n {
				v[i] = value(c.Rank(), i)
				want[i] = value(0, i)
				for r := 1; r < c.Size() && checks; r++ {
					combine(want[i:i+1], []int64{value(r, i)}, op)
				}
			}
			t.ok("allreduce", c.AllreduceInt64(v, op))
			if checks && !slices.Equal(v, want) {
				t.fatalf("allreduce %v of %d values differs", op, n)
			}
		}
	}
	v := []int64{7, math.MaxInt64/int64(c.Size()) + 1}
	if c.Size() == 1 {
		t.ok("no overflow", c.AllreduceInt64(v, Sum))
		return
	}
	own := slices.Clone(v)
	t.is("overflow", c.AllreduceInt64(v, Sum), ErrOverflow)
	if !slices.Equal(v, own) {
		t.fatalf("v changed by a failed reduction")
	}
}

func testReductionMismatch(t *rankTest, c Comm) {
	v := make([]int64, 3)
	if c.Rank() == 1 {
		v = v[:2]
	}
	t.is("lengths", c.AllreduceInt64(v, Sum), ErrMismatch)
	op := Min
	if c.Rank() == 0 {
		op = Max
	}
	t.is("operations", c.AllreduceInt64(v[:1], op), ErrMismatch)
	t.ok("afterwards", c.AllreduceInt64(v[:1], Min))
}

func testAgree(t *rankTest, c Comm) {
	t.ok("agree on nil", c.Agree(nil))
	last := c.Size() - 1
	var own error
	if c.Rank() == last {
		own = fmt.Errorf("opening x: %w", fs.ErrNotExist)
	}
	err := c.Agree(own)
	var agreed *AgreedError
	if !errors.As(err, &agreed) {
		t.fatalf("got %v", err)
	}
	if agreed.Rank != last || agreed.Failed != 1 || agreed.Code() != 1 || agreed.Text != "opening x: file does not exist" {
		t.fatalf("agreed on %+v", *agreed)
	}
	t.is("class", err, ErrNotExist)
	t.is("twin of the class", err, fs.ErrNotExist)
	if c.Size() > 1 && err.Error() != fmt.Sprintf("rank %d: opening x: file does not exist", last) {
		t.fatalf("text %q", err)
	}
	again := c.Agree(err)
	if c.Size() > 1 && again.Error() != fmt.Sprintf("rank %d: opening x: file does not exist (%d of %d ranks failed)", last, c.Size(), c.Size()) {
		t.fatalf("text %q", again)
	}
	t.is("class", again, ErrNotExist)
	t.ok("agree on nil", c.Agree(nil))
}

// exitError is an error with an exit code, as a program would define it.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }
func (e *exitError) Code() int     { return e.code }

var (
	errDamaged = errors.New("damaged")
	errFull    = errors.New("full")
)

func testAgreeCodes(t *rankTest, c Comm) {
	last := c.Size() - 1
	own := error(&exitError{4, fmt.Errorf("record %d: %w", c.Rank(), errDamaged)})
	if c.Rank() == last {
		own = fmt.Errorf("writing: %w", &exitError{5, errFull})
	}
	err := AgreeOn(c, own, errDamaged, errFull)
	var coded Coded
	if !errors.As(err, &coded) || coded.Code() != 5 {
		t.fatalf("code of %v", err)
	}
	if !errors.Is(err, errFull) || errors.Is(err, errDamaged) {
		t.fatalf("sentinel of %v", err)
	}
	if want := fmt.Sprintf("rank %d: writing: full (%d of %d ranks failed)", last, c.Size(), c.Size()); err.Error() != want {
		t.fatalf("text %q, want %q", err, want)
	}
	// Of equally severe errors the lowest rank's.
	own = nil
	if c.Rank() > 0 {
		own = fmt.Errorf("rank %d says no", c.Rank())
	}
	var agreed *AgreedError
	if !errors.As(c.Agree(own), &agreed) || agreed.Rank != 1 || agreed.Text != "rank 1 says no" || agreed.Failed != last {
		t.fatalf("agreed on %+v", agreed)
	}
}

func testDup(t *rankTest, c Comm) {
	d, err := c.Dup()
	t.ok("dup", err)
	if d.Rank() != c.Rank() || d.Size() != c.Size() {
		t.fatalf("dup has rank %d of %d", d.Rank(), d.Size())
	}
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	s1, err := c.Isend([]byte("on the first"), right, 1)
	t.ok("isend", err)
	s2, err := d.Isend([]byte("on the copy"), right, 1)
	t.ok("isend", err)
	b, _, err := d.Recv(AnySource, AnyTag)
	t.ok("recv", err)
	t.equal("copy", b, []byte("on the copy"))
	b, _, err = c.Recv(left, 1)
	t.ok("recv", err)
	t.equal("first", b, []byte("on the first"))
	t.ok("wait for both", c.Wait(s1, s2))
	t.ok("free", d.Free())
	t.is("barrier on a freed one", d.Barrier(), ErrComm)
	t.is("send on a freed one", d.Send(nil, 0, 0), ErrComm)
}

// testNode: all ranks of a test are on one machine.
func testNode(t *rankTest, c Comm) {
	d, err := c.Dup()
	t.ok("dup", err)
	for _, x := range []Comm{c, d} {
		if first, ranks := x.Node(); first != 0 || ranks != c.Size() {
			t.fatalf("%d ranks on this node, the first is %d", ranks, first)
		}
	}
	t.ok("free", d.Free())
}

package mpi

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
)

func testBarrier(t *rankTest, c Comm) {
	for range 5 {
		t.ok("barrier", c.Barrier())
		t.ok("barrier with context", c.BarrierContext(context.Background()))
	}
}

// A barrier that one rank gives up must not hold up the others, nor shift the collectives after it.
func testBarrierGivenUp(t *rankTest, c Comm) {
	for i := range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		if c.Rank() == i%c.Size() {
			cancel()
		}
		err := c.BarrierContext(ctx)
		if err != nil && (c.Rank() != i%c.Size() || !errors.Is(err, ErrCancelled) || !errors.Is(err, context.Canceled)) {
			t.fatalf("rank %d: %v", c.Rank(), err)
		}
		cancel()
		v := []int64{int64(c.Rank() + i)}
		t.ok("allreduce", c.AllreduceInt64(v, Max))
		if v[0] != int64(c.Size()-1+i) {
			t.fatalf("round %d: maximum %d", i, v[0])
		}
	}
}

func testRing(t *rankTest, c Comm) {
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for k, n := range lengths {
		if c.Size() > 16 && n > testChunk {
			continue
		}
		r, err := c.Isend(pattern(n, c.Rank(), k), right, k)
		t.ok("isend", err)
		b, st, err := c.Recv(left, k)
		t.ok("recv", err)
		t.ok("wait", c.Wait(r))
		t.equal("ring", b, pattern(n, left, k))
		if st != (Status{left, k, n}) {
			t.fatalf("status %+v", st)
		}
	}
	// The blocking form: even ranks send first.
	if c.Size()%2 == 0 {
		for pass := range 2 {
			if c.Rank()%2 == pass {
				t.ok("send", c.Send(pattern(eagerLimit+9, c.Rank(), 3), right, 3))
				continue
			}
			b, st, err := c.Recv(left, AnyTag)
			t.ok("recv", err)
			t.equal("blocking ring", b, pattern(eagerLimit+9, left, 3))
			if st.Source != left || st.Tag != 3 || st.Len != len(b) {
				t.fatalf("status %+v", st)
			}
		}
	}
}

// Rank 0 receives messages of different lengths from everybody with wildcards: each must come whole, and those of one
// sender in order.
func testWildcards(t *rankTest, c Comm) {
	const each = 3
	length := func(rank, k int) int { return (rank*37 + k*1999) % 6000 }
	if c.Rank() != 0 {
		for k := range each {
			t.ok("send", c.Send(pattern(length(c.Rank(), k), c.Rank(), k), 0, k+1))
		}
		return
	}
	next := make([]int, c.Size())
	for range each * (c.Size() - 1) {
		b, st, err := c.Recv(AnySource, AnyTag)
		t.ok("recv", err)
		k := next[st.Source]
		next[st.Source]++
		if st.Tag != k+1 {
			t.fatalf("message %d of rank %d has tag %d", k, st.Source, st.Tag)
		}
		t.equal("message", b, pattern(length(st.Source, k), st.Source, k))
	}
}

func testTags(t *rankTest, c Comm) {
	switch c.Rank() {
	case 0:
		var reqs []*Request
		for _, tag := range []int{1, 2, MaxTag, 0} {
			r, err := c.Isend(pattern(5000+tag%7, 0, tag), 1, tag)
			t.ok("isend", err)
			reqs = append(reqs, r)
		}
		t.ok("wait", c.Wait(reqs...))
	case 1:
		for _, tag := range []int{MaxTag, 0, 2, 1} {
			b, st, err := c.Recv(AnySource, tag)
			t.ok("recv", err)
			t.equal("tagged", b, pattern(5000+tag%7, 0, tag))
			if st.Tag != tag {
				t.fatalf("tag %d, want %d", st.Tag, tag)
			}
		}
	}
}

func testRequests(t *rankTest, c Comm) {
	n := c.Size()
	var reqs []*Request
	for i := range n {
		r, err := c.Isend(pattern(partLen(c.Rank(), i)*20, c.Rank(), i), i, 9)
		t.ok("isend", err)
		reqs = append(reqs, r, nil)
	}
	for i := range n {
		b, st, err := c.Recv(i, 9)
		t.ok("recv", err)
		t.equal("message", b, pattern(partLen(i, c.Rank())*20, i, c.Rank()))
		if st.Source != i {
			t.fatalf("message of %d: %+v", i, st)
		}
	}
	t.ok("wait", c.Wait(reqs...))
	t.ok("wait again", c.Wait(reqs...))
}

// Receives of several goroutines that could match the same message get messages in the order in which they were posted.
func testPostedOrder(t *rankTest, c Comm) {
	if o, ok := c.(*observed); ok {
		c = o.Comm
	}
	switch c.Rank() {
	case 0:
		post := c.(core).receive
		r1, r2, r3 := post(userPlane, AnySource, AnyTag), post(userPlane, 1, 5), post(userPlane, AnySource, 5)
		if _, _, ok, err := c.TryRecv(AnySource, AnyTag); ok || err != nil {
			t.fatalf("a receive got past the posted ones: %v %v", ok, err)
		}
		t.ok("wait for the last", c.Wait(r3))
		t.ok("wait", c.Wait(r2, r1))
		for i, r := range []*Request{r1, r2, r3} {
			t.equal(fmt.Sprint("posted ", i), r.data, pattern(3000*i, 1, i))
		}
	case 1:
		for i := range 3 {
			t.ok("send", c.Send(pattern(3000*i, 1, i), 0, 5))
		}
	}
}

func testTryRecv(t *rankTest, c Comm) {
	if _, _, ok, err := c.TryRecv(AnySource, AnyTag); ok || err != nil {
		t.fatalf("something arrived: %v %v", ok, err)
	}
	t.ok("barrier", c.Barrier())
	switch c.Rank() {
	case 1:
		t.ok("send", c.Send(pattern(200000, 1, 0), 0, 8))
	case 0:
		for {
			b, st, ok, err := c.TryRecv(1, AnyTag)
			t.ok("try recv", err)
			if ok {
				t.equal("message", b, pattern(200000, 1, 0))
				if st != (Status{1, 8, 200000}) {
					t.fatalf("status %+v", st)
				}
				break
			}
			runtime.Gosched()
		}
	}
	t.ok("barrier", c.Barrier())
}

// Every rank sends a random set of messages to random ranks; all ranks know the whole set from the same seed.
func testRandomMessages(t *rankTest, c Comm) {
	rng := rand.New(rand.NewPCG(uint64(c.Size()), 0))
	type message struct{ from, to, tag, n int }
	var all []message
	for range 20 * min(c.Size(), 16) {
		n := rng.IntN(6000)
		if rng.IntN(10) == 0 {
			n = rng.IntN(150000)
		}
		all = append(all, message{rng.IntN(c.Size()), rng.IntN(c.Size()), rng.IntN(3), n})
	}
	var sends []*Request
	expect := 0
	for i, m := range all {
		if m.to == c.Rank() {
			expect++
		}
		if m.from == c.Rank() {
			r, err := c.Isend(pattern(m.n, m.from, i), m.to, m.tag)
			t.ok("isend", err)
			sends = append(sends, r)
		}
	}
	taken := make([]bool, len(all))
	for range expect {
		b, st, err := c.Recv(AnySource, AnyTag)
		t.ok("recv", err)
		for i, m := range all { // the first that is open, of this sender: order of one sender is kept
			if !taken[i] && m.from == st.Source && m.to == c.Rank() {
				taken[i] = true
				t.equal("message", b, pattern(m.n, m.from, i))
				if st.Tag != m.tag {
					t.fatalf("tag %d, want %d", st.Tag, m.tag)
				}
				break
			}
		}
	}
	t.ok("wait", c.Wait(sends...))
	t.ok("barrier", c.Barrier())
}

// Several goroutines of a rank send and receive while another is in collective calls.
func testGoroutines(t *rankTest, c Comm) {
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for g := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[g] = goroutineRing(c, left, right, 10+g)
		}()
	}
	for i := range 3 {
		v := []int64{int64(i)}
		t.ok("allreduce", c.AllreduceInt64(v, Sum))
		if v[0] != int64(i*c.Size()) {
			t.fatalf("sum %d", v[0])
		}
		t.ok("barrier", c.Barrier())
	}
	wg.Wait()
	t.ok("goroutines", errors.Join(errs...))
}

func goroutineRing(c Comm, left, right, tag int) error {
	for i := range 5 {
		n := 40000 * i
		r, err := c.Isend(pattern(n, c.Rank(), tag+i), right, tag)
		if err != nil {
			return err
		}
		b, _, err := c.Recv(left, tag)
		if err != nil {
			return err
		}
		if string(b) != string(pattern(n, left, tag+i)) {
			return fmt.Errorf("tag %d message %d differs", tag, i)
		}
		if err := c.Wait(r); err != nil {
			return err
		}
	}
	return nil
}

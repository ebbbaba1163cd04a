package mpi

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// span is a value that knows which ranks it covers, and refuses to be merged with anything but its right neighbour.
type span struct {
	from, to int
	load     string
}

func encSpan(s span) ([]byte, error) { return fmt.Appendf(nil, "%d %d %s", s.from, s.to, s.load), nil }

func decSpan(b []byte) (s span, err error) {
	head, load, _ := strings.Cut(string(b), "/")
	_, err = fmt.Sscanf(head, "%d %d", &s.from, &s.to)
	if load != "" {
		s.load = "/" + load
	}
	return s, err
}

func mergeSpan(a, b span) (span, error) {
	if a.to != b.from {
		return a, fmt.Errorf("%d..%d is not a neighbour of %d..%d", a.from, a.to, b.from, b.to)
	}
	return span{a.from, b.to, a.load + b.load}, nil
}

func testTreeReduce(t *rankTest, c Comm) {
	var notes []Note
	s, err := TreeReduce(Observe(c, func(x Note) { notes = append(notes, x) }), span{c.Rank(), c.Rank() + 1, fmt.Sprintf("/%d", c.Rank())}, nil, encSpan, decSpan, mergeSpan)
	t.ok("tree reduce", err)
	want := span{}
	if c.Rank() == 0 {
		want.to = c.Size()
		for r := range c.Size() {
			want.load += fmt.Sprintf("/%d", r)
		}
	}
	if s != want {
		t.fatalf("got %.60v, want %.60v", s, want)
	}
	checkLevels(t, c, notes)
	// Empty encodings are values like others.
	n, err := TreeReduce(c, 1, nil, func(int) ([]byte, error) { return nil, nil }, func(b []byte) (int, error) { return 1 + len(b), nil },
		func(a, b int) (int, error) { return a + b, nil })
	t.ok("tree reduce of empty values", err)
	if kids := bits.Len(uint(c.Size() - 1)); c.Rank() == 0 && n != 1+kids {
		t.fatalf("%d, want one for each of %d children and for itself", n, kids)
	}
}

// checkLevels compares the counted messages of each level with the tree: at level k every odd multiple of 2^k sends.
func checkLevels(t *rankTest, c Comm, notes []Note) {
	depth := bits.Len(uint(c.Size() - 1))
	v := make([]int64, 4*depth)
	for _, x := range notes {
		switch k := bits.TrailingZeros(uint(c.Rank() ^ x.Peer)); x.Kind {
		case OpSend:
			v[4*k], v[4*k+1] = v[4*k]+1, v[4*k+1]+x.Sent
		case OpRecv:
			v[4*k+2], v[4*k+3] = v[4*k+2]+1, v[4*k+3]+x.Received
		}
	}
	t.ok("allreduce", c.AllreduceInt64(v, Sum))
	for k := range depth {
		want := int64((c.Size() + 1<<k - 1) >> (k + 1))
		if v[4*k] != want || v[4*k+2] != want || v[4*k+1] != v[4*k+3] || v[4*k+1] == 0 {
			t.fatalf("level %d: sent %d messages %d bytes, received %d messages %d bytes, want %d messages",
				k, v[4*k], v[4*k+1], v[4*k+2], v[4*k+3], want)
		}
	}
}

// Whatever fails wherever, every rank gets the same error, and the next reduction works.
func testTreeReduceFailure(t *rankTest, c Comm) {
	last := c.Size() - 1
	fail := errors.New("cannot encode")
	var made error
	if c.Rank() == last {
		made = errors.New("no value")
	}
	cases := []struct {
		name, text string
		failed     error
		enc        func(span) ([]byte, error)
		dec        func([]byte) (span, error)
		merge      func(a, b span) (span, error)
	}{
		{"encode", fmt.Sprintf("rank %d: cannot encode", last), nil, func(s span) ([]byte, error) {
			if c.Rank() == last {
				return nil, fail
			}
			return encSpan(s)
		}, decSpan, mergeSpan},
		{"decode", "rank 0: bad bytes", nil, encSpan, func(b []byte) (span, error) {
			if c.Rank() == 0 {
				return span{}, errors.New("bad bytes")
			}
			return decSpan(b)
		}, mergeSpan},
		{"merge", "rank 0: cannot merge", nil, encSpan, decSpan, func(a, b span) (span, error) {
			if c.Rank() == 0 {
				return span{}, errors.New("cannot merge")
			}
			return mergeSpan(a, b)
		}},
		{"value", fmt.Sprintf("rank %d: no value", last), made, encSpan, decSpan, mergeSpan},
	}
	for _, k := range cases {
		s, err := TreeReduce(c, span{from: c.Rank(), to: c.Rank() + 1}, k.failed, k.enc, k.dec, k.merge)
		if err == nil || err.Error() != k.text || s != (span{}) {
			t.fatalf("%s: got %v, %v, want %q", k.name, s, err, k.text)
		}
	}
	b, err := FromRank(c, last, []byte("word"), nil)
	if err != nil || string(b) != "word" {
		t.fatalf("from the last rank: %q, %v", b, err)
	}
	if b, err = FromRank(c, last, []byte("word"), made); err == nil || err.Error() != fmt.Sprintf("rank %d: no value", last) {
		t.fatalf("from a rank that failed: %q, %v", b, err)
	}
	b, err = TreeShare(c, span{from: c.Rank(), to: c.Rank() + 1}, nil, encSpan, decSpan, mergeSpan, func(s span) ([]byte, error) { return fmt.Append(nil, s.to), nil })
	if want := fmt.Sprint(c.Size()); err != nil || string(b) != want {
		t.fatalf("shared: %q, %v, want %q", b, err, want)
	}
	testTreeReduce(t, c)
}

// TestTree walks the tree: it comes to the ranks in their order.
func TestTree(t *testing.T) {
	for _, size := range []int{1, 2, 63, 64, 65, 4095, 4096, 4097, 5000, 300_000} {
		todo, next := []int{0}, 0
		for len(todo) > 0 {
			r := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if r != next {
				t.Fatalf("%d ranks: rank %d comes as number %d", size, r, next)
			}
			next++
			_, children := Tree(r, size)
			for _, c := range children {
				if parent, _ := Tree(c, size); parent != r {
					t.Fatalf("%d ranks: rank %d sends to %d, not to %d", size, c, parent, r)
				}
			}
			slices.Reverse(children)
			todo = append(todo, children...)
		}
		if next != size {
			t.Fatalf("%d of %d ranks are in the tree", next, size)
		}
		if _, children := Tree(0, size); len(children) > bits.Len(uint(size-1)) {
			t.Errorf("%d ranks: %d of them send to rank 0", size, len(children))
		}
	}
}

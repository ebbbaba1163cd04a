package mpi

import (
	"maps"
	"sync"
	"testing"
)

// TestObserved runs the conformance table on observed communicators. Each message that one rank is said to have received, another
// is said to have sent.
func TestObserved(t *testing.T) {
	for _, k := range conformance() {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			var mu sync.Mutex
			sent, received := map[message]int{}, map[message]int{}
			err := RunInProcess(4, func(c Comm) error {
				return runCase(k, Observe(c, func(x Note) {
					mu.Lock()
					defer mu.Unlock()
					switch x.Kind {
					case OpSend, OpIsend:
						sent[message{x.Comm, x.Tag, x.Sent}]++
					case OpRecv:
						received[message{x.Comm, x.Tag, x.Received}]++
					}
				}), dir)
			})
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(sent, received) {
				t.Errorf("sent %v, received %v", sent, received)
			}
		})
	}
}

// message is what both ends hear of one.
type message struct {
	comm, tag int
	bytes     int64
}

// TestObservedKinds holds what an observer hears of each call, and of communicators made from the first.
func TestObservedKinds(t *testing.T) {
	var notes [2][]Note
	err := RunInProcess(2, func(c Comm) error {
		o := Observe(c, func(x Note) { notes[c.Rank()] = append(notes[c.Rank()], x) })
		d, err := o.Dup()
		if err != nil {
			return err
		}
		if _, err := d.Bcast(make([]byte, 5), 1); err != nil {
			return err
		}
		if err := o.Agree(nil); err != nil {
			return err
		}
		if c.Rank() == 0 {
			err = o.Send(make([]byte, 5000), 1, 3)
		} else {
			_, _, err = o.Recv(0, 3)
		}
		if err != nil {
			return err
		}
		_, err = TreeReduce(o, 1, nil, func(int) ([]byte, error) { return []byte{1}, nil },
			func(b []byte) (int, error) { return int(b[0]), nil }, func(a, b int) (int, error) { return a + b, nil })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	group, agree := Note{Kind: OpGroup, Peer: -1}, Note{Kind: OpAllreduce, Peer: -1, Sent: 8, Received: 8}
	want := [2][]Note{
		{group, {Kind: OpBcast, Comm: 1, Peer: 1, Received: 5}, agree, {Kind: OpSend, Peer: 1, Tag: 3, Sent: 5000}, {Kind: OpRecv, Peer: 1, Tag: -1, Received: 2}, {Kind: OpBcast, Sent: 1}},
		{group, {Kind: OpBcast, Comm: 1, Peer: 1, Sent: 5}, agree, {Kind: OpRecv, Tag: 3, Received: 5000}, {Kind: OpSend, Peer: 0, Tag: -1, Sent: 2}, {Kind: OpBcast, Received: 1}},
	}
	for r := range want {
		if len(notes[r]) != len(want[r]) {
			t.Fatalf("rank %d: %v, want %v", r, notes[r], want[r])
		}
		for i := range want[r] {
			if notes[r][i] != want[r][i] {
				t.Errorf("rank %d: note %d is %+v, want %+v", r, i, notes[r][i], want[r][i])
			}
		}
	}
}

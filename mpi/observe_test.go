package mpi

import (
	"sync"
	"testing"
)

// TestObserved runs the conformance table on observed communicators. What the observer is told of adds up to what the
// communicator counts itself.
func TestObserved(t *testing.T) {
	for _, k := range conformance() {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			err := RunInProcess(4, func(c Comm) error {
				var mu sync.Mutex
				var sum Stats
				err := runCase(k, Observe(c, func(x Note) {
					mu.Lock()
					defer mu.Unlock()
					sum.add(x)
				}), dir)
				if got, want := sum, c.Stats(); err == nil && k.name != "file collective" && k.name != "file" {
					if got.SentMessages != want.SentMessages || got.SentBytes != want.SentBytes ||
						got.ReceivedMessages != want.ReceivedMessages || got.ReceivedBytes != want.ReceivedBytes ||
						got.FileWriteBytes != want.FileWriteBytes || got.FileReadBytes != want.FileReadBytes {
						t.Errorf("rank %d: told of %+v, counted %+v", c.Rank(), got, want)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func (s *Stats) add(x Note) {
	switch x.Kind {
	case OpSend, OpIsend:
		s.SentMessages++
		s.SentBytes += x.Sent
	case OpRecv:
		s.ReceivedMessages++
		s.ReceivedBytes += x.Received
	case OpWrite:
		s.FileWriteBytes += x.Sent
	case OpRead:
		s.FileReadBytes += x.Received
	}
}

// TestObservedKinds holds what an observer is told of each call, and of communicators made from the first.
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
		_, err = TreeReduce(o, 1, func(int) ([]byte, error) { return []byte{1}, nil },
			func(b []byte) (int, error) { return int(b[0]), nil }, func(a, b int) (int, error) { return a + b, nil })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	group, agree := Note{Kind: OpGroup, Peer: -1}, Note{Kind: OpAllreduce, Peer: -1, Sent: 8, Received: 8}
	want := [2][]Note{
		{group, {Kind: OpBcast, Comm: 1, Peer: 1, Received: 5}, agree, {Kind: OpRecv, Peer: 1, Tag: -1, Received: 2}, agree},
		{group, {Kind: OpBcast, Comm: 1, Peer: 1, Sent: 5}, agree, {Kind: OpSend, Peer: 0, Tag: -1, Sent: 2}, agree},
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

package cluster

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coppice-hpc/coppice/mpi"
)

// team is the ranks that work together: all of a call, or one for itself.
type team struct {
	ctx        context.Context
	comm       mpi.Comm
	rank, size int
	workers    int
}

// agree makes one error of those of all ranks. Collective.
func (t *team) agree(err error) error {
	return mpi.AgreeOn(t.comm, err, ErrOptions, ErrVectors, ErrRange, ErrTooMany, ErrMemory, context.Canceled, context.DeadlineExceeded)
}

// tell gives the bytes of every rank to all ranks, each checked by read. Collective.
func (t *team) tell(b []byte, read func(rank int, b []byte) error) error {
	all, err := t.comm.Allgather(b)
	if err != nil {
		return err
	}
	for rank := 0; rank < len(all) && err == nil; rank++ {
		err = read(rank, all[rank])
	}
	return t.agree(err)
}

// parallel calls f for 0 to n-1, on the workers, which are numbered from 0.
func (t *team) parallel(n int, f func(worker, i int)) {
	workers := min(t.workers, n)
	if workers <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(w, i)
			}
		})
	}
	done.Wait()
}

// Messages are little-endian words without any framing: both sides know from the points how many there are, and a
// length that differs is errMessage.

// errMessage is a message from another rank that is not what it must be.
func errMessage(what string) error {
	return fmt.Errorf("cluster: damaged message: %s", what)
}

func getUint32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func getUint64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func putUint32(b []byte, list ...uint32) []byte {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func putUint64(b []byte, list ...uint64) []byte {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func putEntries(b []byte, list []int64) []byte {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// readEntries fills dst from a message of exactly that many entries.
func readEntries(b []byte, dst []int64) error {
	if len(b) != 8*len(dst) {
		return errMessage("entries")
	}
	for i := range dst {
		dst[i] = int64(getUint64(b[8*i:]))
	}
	return nil
}

// putElements and readElements move distances: 4 bytes each where they are narrow, else 8.
func putElements[E element](b []byte, list []E) []byte {
	for _, x := range list {
		if narrow[E]() {
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		} else {
			b = binary.LittleEndian.AppendUint64(b, uint64(x))
		}
	}
	return b
}

// readElements takes n distances from the front of b, and returns the rest.
func readElements[E element](b []byte, n int) ([]E, []byte, error) {
	size := 8
	if narrow[E]() {
		size = 4
	}
	if len(b)/size < n {
		return nil, nil, errMessage("rows")
	}
	list := make([]E, n)
	for i := range list {
		if narrow[E]() {
			list[i] = E(getUint32(b[4*i:]))
		} else {
			list[i] = E(getUint64(b[8*i:]))
		}
	}
	return list, b[n*size:], nil
}

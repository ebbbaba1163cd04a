package cluster

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
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

// agreeing is the communicator, whose Agree keeps what callers tell apart.
func (t *team) agreeing() mpi.Comm {
	return mpi.Keeping{Comm: t.comm, Sentinels: []error{ErrOptions, ErrVectors, ErrRange, ErrTooMany, ErrMemory, context.Canceled, context.DeadlineExceeded}}
}

// agree makes one error of those of all ranks. Collective.
func (t *team) agree(err error) error { return t.agreeing().Agree(err) }

// tagParts is the tag of all messages between two ranks.
const tagParts = 1

// exchange sends parts[i] to rank i and returns what every rank sent here. Collective.
func (t *team) exchange(parts [][]byte) ([][]byte, error) {
	return mpi.Alltoall(t.comm, tagParts, parts)
}

// tell reads the words of every rank on all ranks, size at a time. Collective.
func (t *team) tell(list []uint64, size int, what string, read func(rank int, x []uint64) bool) error {
	all, err := t.comm.Allgather(pack(list))
	if err != nil {
		return err
	}
	return t.agree(unpack(all, size, what, read))
}

// gather reads the words of every rank on rank 0. Collective.
func (t *team) gather(list []uint64, size int, what string, read func(rank int, x []uint64) bool) error {
	all, err := t.comm.Gather(pack(list), 0)
	if err != nil {
		return err
	}
	return t.agree(unpack(all, size, what, read))
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

// Messages are little-endian numbers without any framing: both sides know from the points how many there are, and a
// length that differs is errMessage.

// errMessage is a message from another rank that is not what it must be.
func errMessage(what string) error {
	return fmt.Errorf("cluster: damaged message: %s", what)
}

func pack[T uint32 | uint64 | int64](list []T) []byte { return appendTo(nil, list) }

func appendTo[T uint32 | uint64 | int64](b []byte, list []T) []byte {
	b, _ = binary.Append(b, binary.LittleEndian, list) // which has no error for such slices
	return b
}

// take fills list from the front of a message, and returns the rest.
func take[T uint32 | uint64 | int64](b []byte, list []T) ([]byte, error) {
	n, err := binary.Decode(b, binary.LittleEndian, list)
	if err != nil {
		return nil, errMessage("too short")
	}
	return b[n:], nil
}

// unpack calls read for the words of each rank, size at a time; false is a damaged message.
func unpack(all [][]byte, size int, what string, read func(rank int, x []uint64) bool) error {
	for rank, b := range all {
		list := make([]uint64, len(b)/8)
		if rest, _ := take(b, list); len(rest) > 0 || len(list)%size != 0 {
			return errMessage(what)
		}
		for x := range slices.Chunk(list, size) {
			if !read(rank, x) {
				return errMessage(what)
			}
		}
	}
	return nil
}

// two makes a word of two numbers, the first one above.
func two[T uint32 | int32](a, b T) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

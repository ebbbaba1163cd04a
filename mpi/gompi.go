//go:build cgo && !nompi && !mpich

package mpi

import gompi "github.com/sbromberger/gompi"

// gompiWorld makes gompi's calls on the world communicator. gompi uses &x[0] and the length of the destination. So the caller checks that
// slices are not empty and of equal length, and that counts fit an int. The caller holds the library's lock.
type gompiWorld struct{ c *gompi.Communicator }

func newWorldCalls() worldCalls { return gompiWorld{gompi.NewCommunicator(nil)} }

var gompiOps = [numOps]gompi.Op{Sum: gompi.OpSum, Min: gompi.OpMin, Max: gompi.OpMax, BitOr: gompi.OpBor}

func (w gompiWorld) rank() int { return gompi.WorldRank() }
func (w gompiWorld) size() int { return gompi.WorldSize() }
func (w gompiWorld) barrier()  { w.c.Barrier() }

func (w gompiWorld) allreduce(dst, src []int64, op Op) error {
	return w.c.AllreduceInt64s(dst, src, gompiOps[op], 0)
}

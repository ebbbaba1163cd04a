package jobs

import (
	"encoding/binary"
	"math"

	"github.com/coppice-hpc/coppice/mpi"
)

// FromRank calls read on one rank, and returns its result on all. Collective.
func FromRank(c mpi.Comm, rank int, read func() ([]byte, error)) (b []byte, err error) {
	if c.Rank() == rank {
		b, err = read()
	}
	return mpi.FromRank(KeepingCodes(c), rank, b, err)
}

// OverRanks replaces each number by its sum, or the largest one, over all ranks. A number above the largest int64 counts as that.
// Collective.
func OverRanks(c mpi.Comm, op mpi.Op, numbers ...*uint64) error {
	list := make([]int64, len(numbers))
	for i, n := range numbers {
		list[i] = int64(min(*n, math.MaxInt64))
	}
	err := c.AllreduceInt64(list, op)
	for i, n := range numbers {
		*n = uint64(list[i])
	}
	return err
}

// AppendWords appends numbers of 8 bytes, little-endian.
func AppendWords[T ~int64 | ~uint64](dst []byte, list ...T) []byte {
	for _, v := range list {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

// TakeWords is the inverse of AppendWords, for several byte strings.
func TakeWords[T ~int64 | ~uint64](parts ...[]byte) (list []T) {
	for _, b := range parts {
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, T(binary.LittleEndian.Uint64(b)))
		}
	}
	return list
}

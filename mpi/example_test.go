package mpi_test

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
)

func ExampleRunInProcess() {
	err := mpi.RunInProcess(4, func(c mpi.Comm) error {
		last := []int64{int64(10 * c.Rank())}
		if err := c.AllreduceInt64(last, mpi.Max); err != nil {
			return err
		}
		parts, err := c.Gather(fmt.Appendf(nil, "rank %d of those up to %d", c.Rank(), last[0]), 0)
		for _, p := range parts {
			fmt.Println(string(p))
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// rank 0 of those up to 30
	// rank 1 of those up to 30
	// rank 2 of those up to 30
	// rank 3 of those up to 30
	// <nil>
}

func ExampleTreeReduce() {
	enc := func(n uint64) ([]byte, error) { return binary.AppendUvarint(nil, n), nil }
	dec := func(b []byte) (uint64, error) {
		n, k := binary.Uvarint(b)
		if k <= 0 {
			return 0, errors.New("bad number")
		}
		return n, nil
	}
	merge := func(a, b uint64) (uint64, error) { return max(a, b), nil }
	err := mpi.RunInProcess(100, func(c mpi.Comm) error {
		n, err := mpi.TreeReduce(c, uint64(c.Rank()*c.Rank()), nil, enc, dec, merge)
		if c.Rank() == 0 {
			fmt.Println(n)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 9801
	// <nil>
}

func ExampleAgreeOn() {
	errDamaged := errors.New("damaged")
	err := mpi.RunInProcess(3, func(c mpi.Comm) error {
		var own error
		if c.Rank() == 1 {
			own = fmt.Errorf("location 17: %w", errDamaged)
		}
		return mpi.AgreeOn(c, own, errDamaged)
	})
	fmt.Println(err, errors.Is(err, errDamaged))
	// Output: rank 1: location 17: damaged true
}

func ExampleSerial() {
	c := mpi.Serial()
	fmt.Println(c.Rank(), c.Size(), c.Barrier())
	// Output: 0 1 <nil>
}

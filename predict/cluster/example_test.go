package cluster_test

import (
	"context"
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
)

// table is the vectors of processes 0, 1, ....
type table [][]int64

func (t table) Len() int        { return len(t) }
func (t table) ID(i int) uint32 { return uint32(i) }
func (t table) Dim() uint64     { return uint64(len(t[0])) }

func (t table) Read(i int, from uint64, dst []int64) error {
	copy(dst, t[i][from:])
	return nil
}

// Eight processes with three entries each: pairs of a class are at most 10 apart.
func ExampleClassify() {
	vectors := table{
		{10, 20, 30},
		{10, 20, 31},
		{11, 20, 30},
		{50, 60, 70},
		{52, 60, 70},
		{50, 61, 73},
		{200, 10, 10},
		{201, 10, 12},
	}
	r, err := cluster.Classify(context.Background(), mpi.Serial(), vectors, cluster.Options{
		Threshold: cluster.Threshold{Absolute: 10},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Classes {
		fmt.Println(c.Representative, "stands for", c.Size)
	}
	for _, m := range r.Merges {
		fmt.Println(m.A, "and", m.B, "at", m.Height.Floor())
	}
	// Output:
	// 0 stands for 3
	// 3 stands for 3
	// 6 stands for 2
	// 0 and 1 at 1
	// 0 and 2 at 2
	// 3 and 4 at 2
	// 6 and 7 at 3
	// 3 and 5 at 6
}

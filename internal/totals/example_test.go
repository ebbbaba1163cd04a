package totals_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/totals"
	"github.com/coppice-hpc/coppice/mpi"
)

// Each of two ranks has one location that waits in the same place; rank 0 gets the sum, and who waits most.
func Example() {
	err := mpi.RunInProcess(2, func(c mpi.Comm) error {
		var sums totals.Sums
		ticks := []uint64{30, 50}[c.Rank()]
		sums.Add(&totals.Row{Name: totals.Name{Key: 7}, Sum: [2]uint64{1, ticks}, Worst: ticks, WorstP: uint32(c.Rank())})
		rows, err := sums.Reduce(c, nil)
		for _, r := range rows {
			fmt.Printf("place %d: %d waits of %d ticks, location %d has %d of them\n", r.Key, r.Sum[0], r.Sum[1], r.WorstP, r.Worst)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: place 7: 2 waits of 80 ticks, location 1 has 50 of them
}

package scaling_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/report/scaling"
)

// A time that grows with the logarithm of the number of processes.
func ExampleFit() {
	g, ok := scaling.Fit([]scaling.Point{{P: 2, T: 11}, {P: 4, T: 12}, {P: 8, T: 13}, {P: 16, T: 14}, {P: 32, T: 15}})
	fmt.Printf("%t %.0f + %.0f log2(p)^%d, at 1024: %.0f\n", ok, g.C0, g.C1, g.Logs, g.At(1024))
	// Output:
	// true 10 + 1 log2(p)^1, at 1024: 20
}

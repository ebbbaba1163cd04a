package exact_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// A third of a sum, three times, is the sum: nothing is rounded before it is printed.
func Example() {
	third := exact.Share(0, 1000, 3)
	all := third.Plus(third).Plus(third)
	fmt.Println(third.Fixed(4), all.Compare(exact.Int(1000)))
	seconds, ok := exact.Parse("12.5")
	fmt.Println(seconds.Times(1000).Floor(), ok)
	// Output:
	// 333.3333 0
	// 12500 true
}

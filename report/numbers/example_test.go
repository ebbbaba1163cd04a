package numbers_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/report/numbers"
)

// Ticks of a clock as people read them.
func ExampleUnits() {
	u := numbers.UnitsOf(1_000_000)
	fmt.Println(u.Time(1_234_567), u.Span(1_500), numbers.Quotient(1, 3).Percent(), numbers.Sub(numbers.NotKnown, 1))
	// Output:
	// 1.234567 s 1.5 ms 33.3 % n/a
}

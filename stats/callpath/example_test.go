package callpath_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/stats/callpath"
)

// Two locations call the same function from different places. Merged, all paths have one number each, depth first.
func Example() {
	const main, solve, send = 0, 1, 2
	a, b := callpath.New(), callpath.New()
	a.Child(a.Child(0, main), send)
	b.Child(b.Child(b.Child(0, main), solve), send)
	all := callpath.New()
	all.Merge(a)
	all.Merge(b)
	all.Number()
	fmt.Println(all.Len(), "paths")
	fmt.Println("those of b are", all.Locate(b))
	// Output:
	// 5 paths
	// those of b are [0 1 2 3]
}

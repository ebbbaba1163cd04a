package predict_test

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/predict"
)

// What process 0 computed between its calls on another machine.
func ExampleReadTargets() {
	list, err := predict.ReadTargets("target.csv", strings.NewReader("rank,index,ns\n0,0,1500\n0,1,250\n"), predict.WallClock)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("process", list[0].Process, "computes", list[0].Times, "ns")
	// Output: process 0 computes [1500 250] ns
}

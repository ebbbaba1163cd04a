package interval_test

import (
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/stats/interval"
)

func ExampleParseLength() {
	for _, text := range []string{"2.5ms", "4096ticks", "soon"} {
		l, err := interval.ParseLength(text)
		fmt.Println(l, err != nil)
	}
	// Output:
	// 2500000ns false
	// 4096ticks false
	// 0ns true
}

// A flag of the user becomes options of the recognizer.
func ExampleFlags_Parse() {
	f := interval.Flags{Slice: "100ms", Init: "exclude"}
	o, err := f.Parse()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.WithoutInit)
	// Output:
	// true
}

package synthetic

import "fmt"

func ExampleNew() {
	o, err := ParseOptions("ring:procs=3,iterations=100,every=50,bytes=1000")
	if err != nil {
		panic(err)
	}
	src, err := New(o)
	if err != nil {
		panic(err)
	}
	fmt.Println(src.Format()+":", src.Events(), "events of", src.Definitions().NumLocations(), "locations")
	// Output:
	// synthetic ring: 3066 events of 3 locations
}

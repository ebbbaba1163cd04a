package tomltree_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/coppice-hpc/coppice/internal/tomltree"
)

// Every value knows its line, and so does an error.
func ExampleParse() {
	v, err := tomltree.Parse([]byte("name = \"cluster\"\n[node]\ncores = 48\n"), 100)
	if err != nil {
		log.Fatal(err)
	}
	cores := v.Fields["node"].Fields["cores"]
	fmt.Println(v.Fields["name"].Text, cores.Whole, "in line", cores.Line)
	_, err = tomltree.Parse([]byte("cores = 48\ncores = 64\n"), 100)
	var twice *tomltree.Error
	fmt.Println(errors.As(err, &twice) && twice.Line == 2)
	// Output:
	// cluster 48 in line 3
	// true
}

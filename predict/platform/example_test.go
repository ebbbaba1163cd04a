package platform_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/coppice-hpc/coppice/predict/platform"
)

func ExampleRead() {
	p, err := platform.Read(strings.NewReader(`schema = "coppice.platform/1"
name = "cluster"
[nodes]
count = 16
ranks_per_node = 32
[links.net]
L_ns = 1200
G_ns_per_byte = 0.08
`), "cluster.toml")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Name, p.Nodes, p.RanksPerNode)
	// Output:
	// cluster 16 32
}

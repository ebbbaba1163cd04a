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

// A machine of LogGOPSim, with half the latency and twice the bandwidth.
func ExampleParseSweep() {
	p, err := platform.ImportLogGOPS("L=2500,o=1500,g=1000,G=6")
	if err != nil {
		log.Fatal(err)
	}
	axes, err := platform.ParseSweep([]string{"latency=1,0.5", "bandwidth=2"})
	if err != nil {
		log.Fatal(err)
	}
	for i := range platform.Points(axes) {
		q, _, err := p.Point(axes, i)
		if err != nil {
			log.Fatal(err)
		}
		n, err := q.Network(2)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n.CheckedLatency(0, 1))
	}
	// Output:
	// 2500000 <nil>
	// 1250000 <nil>
}

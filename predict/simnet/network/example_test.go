package network_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// A message between two nodes of a torus of 4 by 4 goes the shorter way around.
func ExampleNewTorus() {
	t, err := network.NewTorus([]uint32{4, 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Nodes(), "nodes,", t.Hops(0, 15), "hops over links", t.Route(nil, 0, 15))
	// Output: 16 nodes, 2 hops over links [1 15]
}

// The steps of rank 0 in a broadcast to eight ranks along a binomial tree.
func ExampleSchedule() {
	s := network.NewSchedule(network.BcastBinomial, 8, 0, 0, 1000, 1000)
	for p := (network.Progress{}); p.Next < s.Steps; p.Next++ {
		do := s.At(&p)
		fmt.Println(do.Send, "bytes to", do.To)
	}
	n := &network.Network{RanksPerNode: 1}
	n.Links[network.LinkNet] = network.Link{Latency: 1_000_000, SendOver: 400_000, RecvOver: 400_000, Eager: 16384}
	time, _ := n.Closed(network.BcastBinomial, &program.Comm{Size: 8}, 1000, 1000)
	fmt.Println(time/1000, "ns until the last rank has them")
	// Output:
	// 1000 bytes to 4
	// 1000 bytes to 2
	// 1000 bytes to 1
	// 5400 ns until the last rank has them
}

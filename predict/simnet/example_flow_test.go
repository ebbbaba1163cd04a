package simnet_test

import (
	"context"
	"fmt"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// silent is not a computation.
type silent struct{}

func (silent) Fill(_ uint32, _ uint64, dst []int64) error {
	clear(dst)
	return nil
}

// exchange is two processes that send each other 1000 bytes a hundred times, by MPI_Sendrecv.
var exchange = &program.Program{
	Comms: []program.Comm{{Size: 2}},
	Actions: []program.Action{
		{Kind: program.PostRecv, Mode: program.PeerXor, Peer: 1, Bytes: 1000},
		{Kind: program.PostSend, Mode: program.PeerXor, Peer: 1, Bytes: 1000},
		{Kind: program.WaitRecv, Mode: program.PeerXor, Peer: 1},
		{Kind: program.WaitSend, Mode: program.PeerXor, Peer: 1},
	},
	Nodes:    []program.Node{{Kind: program.Call, Len: 4}, {Kind: program.Loop, Len: 1, Count: 100}},
	Children: []program.NodeID{0},
	Roots:    []program.NodeID{1, 1},
}

// between is a network with one process on each node.
func between() *network.Network {
	n := &network.Network{RanksPerNode: 1}
	n.Links[network.LinkNet] = network.Link{
		Latency: 1_000_000, SendOver: 400_000, RecvOver: 400_000, Gap: 200_000, PerByte: 80 << 32, Eager: 16384,
	}
	return n
}

func ExampleDataflow() {
	r, err := simnet.Dataflow(context.Background(), mpi.Serial(), 0, 2, exchange, silent{}, between(), simnet.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Makespan/1000, "ns,", r.Times[0].Messages, "messages from each")
	// Output: 187992 ns, 100 messages from each
}

// The same on nodes whose processes share a network interface.
func ExampleEvents() {
	n := between()
	n.Contention = network.NICContention
	r, err := simnet.Events(context.Background(), exchange, silent{}, n, simnet.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Makespan/1000, "ns,", r.Events, "events")
	// Output: 187992 ns, 600 events
}

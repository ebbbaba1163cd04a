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

// Two processes exchange a message of 1000 bytes a hundred times.
func ExampleDataflow() {
	p := &program.Program{
		Comms: []program.Comm{{Size: 2}},
		Actions: []program.Action{ // MPI_Sendrecv with the other
			{Kind: program.PostRecv, Mode: program.PeerXor, Peer: 1, Bytes: 1000},
			{Kind: program.PostSend, Mode: program.PeerXor, Peer: 1, Bytes: 1000},
			{Kind: program.WaitRecv, Mode: program.PeerXor, Peer: 1},
			{Kind: program.WaitSend, Mode: program.PeerXor, Peer: 1},
		},
		Nodes:    []program.Node{{Kind: program.Call, Len: 4}, {Kind: program.Loop, Len: 1, Count: 100}},
		Children: []program.NodeID{0},
		Roots:    []program.NodeID{1, 1},
	}
	n := &network.Network{RanksPerNode: 1}
	n.Links[network.LinkNet] = network.Link{
		Latency: 1_000_000, SendOver: 400_000, RecvOver: 400_000, Gap: 200_000, PerByte: 80 << 32, Eager: 16384,
	}
	r, err := simnet.Dataflow(context.Background(), mpi.Serial(), 0, 2, p, silent{}, n, simnet.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Makespan/1000, "ns,", r.Times[0].Messages, "messages from each")
	// Output: 187992 ns, 100 messages from each
}

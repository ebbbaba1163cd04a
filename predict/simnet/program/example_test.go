package program_test

import (
	"fmt"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Three processes in a ring: each has the one after it as partner.
func ExampleNewRanks() {
	p := &program.Program{
		Comms:   []program.Comm{{Size: 3}},
		Actions: []program.Action{{Kind: program.PostSend, Mode: program.PeerRelative, Peer: 1, Bytes: 8}},
		Nodes:   []program.Node{{Kind: program.Call, Len: 1}},
		Roots:   make([]program.NodeID, 3),
	}
	if err := p.Check(); err != nil {
		fmt.Println(err)
		return
	}
	ranks, a := program.NewRanks(p), p.Actions[0]
	for process := range uint32(len(p.Roots)) {
		to, _, _ := ranks.Partner(process, a.Comm, a.Mode, a.Peer)
		fmt.Println(process, "sends to", to)
	}
	// Output:
	// 0 sends to 1
	// 1 sends to 2
	// 2 sends to 0
}

package simnet

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// rendezvousCases are programs with messages above the eager limit, and when their processes end, computed by an independent
// prototype.
var rendezvousCases = []struct {
	name   string
	script script
	want   []int64 // ns; nil: deadlock
}{
	{"late receiver", script{{"send 1 0 100000"}, {"calc 500000", "recv 0 0 100000"}}, []int64{1102494, 1106494}},
	{"late receiver, eager", script{{"send 1 0 60000"}, {"calc 500000", "recv 0 0 60000"}}, []int64{1500, 501500}},
	{"head to head, eager", script{{"send 1 0 65535", "recv 1 0 65535"}, {"send 0 0 65535", "recv 0 0 65535"}}, []int64{398704, 398704}},
	{"head to head", script{{"send 1 0 65536", "recv 1 0 65536"}, {"send 0 0 65536", "recv 0 0 65536"}}, nil},
	{
		"isend, recv, wait",
		script{{"isend 1 0 65536 0", "recv 1 0 65536", "wait 0"}, {"isend 0 0 65536 0", "recv 0 0 65536", "wait 0"}},
		[]int64{403710, 403710},
	},
	{"sendrecv", script{{"sendrecv 1 1 0 65536"}, {"sendrecv 0 0 0 65536"}}, []int64{403710, 403710}},
	{
		"fan out, ready",
		script{
			{"isend 1 0 100000 0", "isend 2 0 100000 1", "isend 3 0 100000 2", "wait 0 1 2"},
			{"recv 0 0 100000"},
			{"recv 0 0 100000"},
			{"recv 0 0 100000"},
		},
		[]int64{1802982, 610494, 1205988, 1806982},
	},
	{
		"fan out, late",
		script{
			{"isend 1 0 100000 0", "isend 2 0 100000 1", "isend 3 0 100000 2", "wait 0 1 2"},
			{"calc 500000", "recv 0 0 100000"},
			{"calc 500000", "recv 0 0 100000"},
			{"calc 500000", "recv 0 0 100000"},
		},
		[]int64{1802982, 1106494, 1205988, 1806982},
	},
	{
		"bulk, then eager",
		script{{"isend 1 0 100000 0", "send 1 1 100", "wait 0"}, {"recv 0 1 100", "recv 0 0 100000"}},
		[]int64{610088, 614088},
	},
	{
		"waits in reverse",
		script{
			{"isend 1 0 100000 0", "isend 1 0 70000 1", "wait 1", "calc 1000", "wait 0"},
			{"irecv 0 0 100000 0", "calc 300000", "irecv 0 0 70000 1", "wait 1", "wait 0"},
		},
		[]int64{1022988, 1626982},
	},
	{"self", script{{"irecv 0 0 70000 0", "send 0 0 70000", "wait 0"}}, []int64{430494}},
}

// checkRendezvous compares the end of one of them.
func checkRendezvous(t *testing.T, name string, want []int64, r *Result, err error) {
	t.Helper()
	var dead *Deadlock
	switch {
	case want == nil && !errors.As(err, &dead):
		t.Errorf("%s: no deadlock but %v", name, err)
	case want == nil:
	case err != nil:
		t.Errorf("%s: %v", name, err)
	case !slices.Equal(finishes(r), want):
		t.Errorf("%s: %d, want %d", name, finishes(r), want)
	}
}

// TestStepsRendezvous has collective operations of two processes that are one message: they take as long as that, so that above the eager limit
// the sender waits for the receiver.
func TestStepsRendezvous(t *testing.T) {
	t.Parallel()
	for _, x := range rendezvousCases[:2] {
		bytes := map[string]uint64{"late receiver": 100_000, "late receiver, eager": 60_000}[x.name]
		for kind, root := range map[program.CollKind]int32{program.Bcast: 0, program.Reduce: 1, program.Gather: 1} {
			call := [][]program.Action{collCall(kind, 0, root, bytes, bytes)}
			p, v := programOf([]program.Comm{{Size: 2}}, call, call), vectors{{}, {500_000 * ns}}
			n := oracleNet(network.DMA)
			n.Collectives[program.Reduce] = []network.Algorithm{{Max: network.AnySize, Scheme: network.ReduceBinomial}}
			for ranks := 1; ranks <= 2; ranks++ {
				r, err := flowOn(ranks, p, v, n, Options{Workers: 1})
				checkRendezvous(t, x.name, x.want, r, err)
			}
			r, err := Events(context.Background(), p, v, n, Options{})
			checkRendezvous(t, x.name, x.want, r, err)
		}
	}
}

package simnet

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

func events(t *testing.T, s script, n *network.Network) *Result {
	t.Helper()
	p, v := s.build(t)
	r, err := Events(context.Background(), p, v, n, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestArrival has the late receivers of LogGOPSim, and with a handshake.
func TestArrival(t *testing.T) {
	t.Parallel()
	late := func(bytes string) script {
		return script{{"send 1 0 " + bytes}, {"calc 500000", "recv 0 0 " + bytes}}
	}
	for _, x := range []struct {
		name     string
		s        script
		noAnswer bool
		want     []int64
	}{
		{"eager", late("60000"), true, []int64{1500, 861494}},
		{"rendezvous", late("100000"), true, []int64{500000, 1101494}},
		{"rendezvous with handshake", late("100000"), false, []int64{1102494, 1106494}},
		{"isend, recv, wait", script{
			{"isend 1 0 65536 0", "recv 1 0 65536", "wait 0"},
			{"isend 0 0 65536 0", "recv 0 0 65536", "wait 0"},
		}, false, []int64{403710, 403710}},
		{"probe", script{{"send 1 0 1000"}, {"probe 0 0", "recv 0 0 1000"}}, false, []int64{1500, 11494}},
	} {
		n := oracleNet(network.Arrival)
		n.NoRendezvousLatency = x.noAnswer
		if got := finishes(events(t, x.s, n)); !slices.Equal(got, x.want) {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
	}
	p, v := script{{"send 1 0 65536", "recv 1 0 65536"}, {"send 0 0 65536", "recv 0 0 65536"}}.build(t)
	_, err := Events(context.Background(), p, v, oracleNet(network.Arrival), Options{})
	var dead *Deadlock
	if !errors.As(err, &dead) || dead.Eager != 65536 || len(dead.Cycle) != 2 {
		t.Errorf("%v", err)
	}
}

// Parts of the time of a message of 1000 bytes, and of one of 100 000, on the network of the oracle.
const (
	wire     = 999 * 6 * ns
	bulkWire = 99_999 * 6 * ns
	gap      = 1000 * ns
	over     = 1500 * ns
	hop      = 5500*ns + wire
)

// TestInterfaces: processes of a node share its interfaces.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	two := script{{"send 2 0 1000"}, {"send 3 0 1000"}, {"recv 0 0 1000"}, {"recv 1 0 1000"}}
	reverse := script{{"calc 1", "send 2 0 1000"}, {"send 3 0 1000"}, {"recv 0 0 1000"}, {"recv 1 0 1000"}}
	gathered := script{{"recv 1 0 1000", "recv 2 0 1000"}, {"send 0 0 1000"}, {"send 0 0 1000"}}
	near := script{{"send 1 0 1000"}, {"recv 0 0 1000"}}
	bulk := script{{"send 2 0 100000"}, {"send 3 0 100000"}, {"calc 100000", "recv 0 0 100000"}, {"recv 1 0 100000"}}
	// The requests leave at 0 and, a gap later, at 1000 ns. The answer of process 3 is back at 7500 ns, so its data go first.
	second := int64(7500 * ns)
	first := second + gap + bulkWire
	for _, x := range []struct {
		name          string
		s             script
		perNode, nics uint32
		contention    network.Contention
		want          []int64 // ps
	}{
		{"apart", two, 1, 1, network.NICContention, []int64{over, over, hop, hop}},
		{"not shared", two, 2, 1, network.NoContention, []int64{over, over, hop, hop}},
		{"together", two, 2, 1, network.NICContention, []int64{over, over + gap + wire, hop, hop + gap + wire}},
		{"two interfaces", two, 2, 2, network.NICContention, []int64{over, over, hop, hop}},
		{"in order of time", reverse, 2, 1, network.NICContention, []int64{over + gap + wire, over, hop + gap + wire, hop}},
		{"at the receiver", gathered, 1, 1, network.NICContention, []int64{hop + gap + wire, over, over}},
		{"in the node", near, 2, 1, network.NICContention, []int64{over, hop}},
		{"bulk in order of answers", bulk, 2, 1, network.NICContention, []int64{
			first + bulkWire, second + bulkWire, first + 2500*ns + bulkWire + over, second + 2500*ns + bulkWire + over,
		}},
	} {
		n := oracleNet(network.DMA)
		n.RanksPerNode, n.NICs, n.Contention = x.perNode, x.nics, x.contention
		r := events(t, x.s, n)
		for i, want := range x.want {
			if r.Times[i].Finish != want {
				t.Errorf("%s: process %d ends at %d, want %d", x.name, i, r.Times[i].Finish, want)
			}
		}
	}
}

// TestLinks: messages that share a link of the topology follow one another there.
func TestLinks(t *testing.T) {
	t.Parallel()
	torus, err := network.NewTorus([]uint32{8})
	if err != nil {
		t.Fatal(err)
	}
	// 0 to 2 and 1 to 2 share the link from 1 to 2; 3 to 2 comes from the other side.
	s := script{{"send 2 0 1000"}, {"calc 1", "send 2 0 1000"}, {"recv 0 0 1000", "recv 1 0 1000", "recv 3 0 1000"}, {"send 2 0 1000"}}
	n := oracleNet(network.DMA)
	n.Contention, n.Topology, n.LinkRate = network.LinkContention, torus, 50*ns<<32
	n.Links[network.LinkNet].Hop = 100 * ns
	n.Links[network.LinkNet].PerByte = 0
	n.Links[network.LinkNet].Gap = 0
	const link = 1000 * 50 * ns
	// The first message enters the links at 1500 ns, the second waits for it.
	want := over + int64(link) + 2500*ns + 100*ns + over
	if r := events(t, s, n); r.Times[2].Finish != want+over {
		// The third message was there before the second, so the last two receives follow one another.
		t.Errorf("ends at %d, want %d", r.Times[2].Finish, want+over)
	}
	n.Contention = network.NICContention
	if r := events(t, s, n); r.Times[2].Finish > want-link/2 {
		t.Errorf("without links: ends at %d", r.Times[2].Finish)
	}
}

// TestInterfacesFar: numbers of nodes and interfaces decide no amount of memory, and those without a place are refused.
func TestInterfacesFar(t *testing.T) {
	t.Parallel()
	s := script{{"send 1 0 1000"}, {"recv 0 0 1000"}}
	n := oracleNet(network.DMA)
	n.Contention, n.Node, n.NICs = network.NICContention, []uint32{1<<32 - 1, 7}, 1<<32-1
	if got := finishes(events(t, s, n)); !slices.Equal(got, []int64{1500, 11494}) {
		t.Errorf("%d", got)
	}
	torus, err := network.NewTorus([]uint32{8})
	if err != nil {
		t.Fatal(err)
	}
	n.Contention, n.Topology = network.LinkContention, torus
	p, v := s.build(t)
	if _, err := Events(context.Background(), p, v, n, Options{}); !errors.Is(err, program.ErrInvalid) {
		t.Errorf("a node without a place: %v", err)
	}
}

// TestShareless: where no two messages meet, contention changes nothing.
func TestShareless(t *testing.T) {
	t.Parallel()
	torus, err := network.NewTorus([]uint32{2})
	if err != nil {
		t.Fatal(err)
	}
	s := script{
		{"send 1 0 1000", "recv 1 0 70000", "calc 5", "send 1 0 70000"},
		{"recv 0 0 1000", "send 0 0 70000", "recv 0 0 70000"},
	}
	for _, policy := range []network.Policy{network.DMA, network.Copy} {
		n := oracleNet(policy)
		n.Topology, n.LinkRate = torus, n.Links[network.LinkNet].PerByte
		want := events(t, s, n)
		for _, c := range []network.Contention{network.NICContention, network.LinkContention} {
			n.Contention = c
			if got := events(t, s, n); !reflect.DeepEqual(got, want) {
				t.Errorf("contention %d: %+v, want %+v", c, got, want)
			}
		}
	}
}

// recorder keeps what an observer hears.
type recorder map[uint32][]int64

func (r recorder) Calls(process uint32, first uint64, times []int64) error {
	if uint64(len(r[process])) != 2*first {
		return errors.New("calls are missing")
	}
	r[process] = append(r[process], times...)
	return nil
}

// TestObservers: both engines tell an observer the same.
func TestObservers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rng(seed)
		p, v := randomScript(r, false).build(t)
		n := randomNet(r)
		flows, evts := recorder{}, recorder{}
		if _, err := flow(p, v, n, Options{Observer: flows}); err != nil {
			t.Fatal(err)
		}
		if _, err := Events(context.Background(), p, v, n, Options{Observer: evts}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(evts, flows) {
			t.Fatalf("seed %d: %v, the dataflow engine says %v", seed, evts, flows)
		}
	}
}

// TestArrivalAddsUp: under every policy the parts of a process's time are its whole.
func TestArrivalAddsUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rng(seed)
		p, v := randomScript(r, false).build(t)
		n := randomNet(r)
		n.Policy = network.Arrival
		seen := recorder{}
		got, err := Events(context.Background(), p, v, n, Options{Observer: seen})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, x := range got.Times {
			if sum := x.Compute + x.Send + x.Receive + x.Wait + x.Collective + x.File; sum != x.Finish {
				t.Errorf("seed %d, process %d: parts are %d, the whole %d", seed, i, sum, x.Finish)
			}
			if calls := seen[uint32(i)]; !slices.IsSorted(calls) || uint64(len(calls)) != 2*x.Calls {
				t.Errorf("seed %d, process %d: calls at %d", seed, i, calls)
			}
		}
	}
}

package simnet

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

func TestEventsRendezvous(t *testing.T) {
	t.Parallel()
	for _, x := range rendezvousCases {
		p, v := x.script.build(t)
		r, err := Events(context.Background(), p, v, oracleNet(network.DMA), Options{})
		checkRendezvous(t, x.name, x.want, r, err)
	}
}

// TestEventsAsDataflow: without contention both engines give the same times.
func TestEventsAsDataflow(t *testing.T) {
	t.Parallel()
	count := 400
	if testing.Short() {
		count = 60
	}
	for seed := range uint64(count) {
		r := rng(seed)
		p, v := randomScript(r, false).build(t)
		compareEngines(t, seed, p, v, randomNet(r))
	}
}

// TestEventsRefused: networks that no machine has give errors.
func TestEventsRefused(t *testing.T) {
	t.Parallel()
	p, v := script{{"send 1 0 10"}, {"recv 0 0 10"}}.build(t)
	for i, spoil := range []func(n *network.Network){
		func(n *network.Network) { n.Node = []uint32{0} },
		func(n *network.Network) { n.Links[network.LinkNet].Latency = -1 },
		func(n *network.Network) { n.Links[network.LinkNode].Gap = network.Never },
		func(n *network.Network) {
			n.Collectives[program.Bcast] = []network.Algorithm{{Scheme: network.BarrierLinear}}
		},
		func(n *network.Network) { n.Policy, n.Contention = network.Arrival, network.NICContention },
	} {
		n := oracleNet(network.DMA)
		spoil(n)
		if _, err := Events(context.Background(), p, v, n, Options{}); err == nil {
			t.Errorf("network %d is taken", i)
		}
	}
}

// TestEventsOverflow: clocks beyond their range are refused.
func TestEventsOverflow(t *testing.T) {
	t.Parallel()
	p, v := script{{"calc 1", "send 1 0 10"}, {"recv 0 0 10"}}.build(t)
	for _, policy := range []network.Policy{network.DMA, network.Arrival} {
		for _, x := range []int64{network.Never, network.Never - 10, -5} {
			v[0][0] = x
			if _, err := Events(context.Background(), p, v, oracleNet(policy), Options{}); !errors.Is(err, program.ErrInvalid) {
				t.Errorf("policy %d, computation of %d: %v", policy, x, err)
			}
		}
	}
}

// TestUnmatched: posts without partners do nothing in both engines.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	for i, s := range []script{
		{{"send 1 0 10", "send 1 0 10"}, {"recv 0 0 10"}},
		{{"send 1 0 10"}, {"recv 0 0 10", "recv 0 0 10", "calc 7"}},
		{{"send 1 5 10", "recv 1 6 10"}, {"calc 1"}},
		{{"isend 1 0 10 0", "isend 1 0 100000 1", "wait 1", "wait 0"}, {"irecv 0 0 10 0", "wait 0"}},
		{{"isend 1 0 10 0"}, {"irecv 0 0 10 0", "irecv 0 0 10 1", "wait 1", "wait 0"}},
		{{"probe 1 0", "calc 5"}, {"calc 1"}},
	} {
		p, v := s.build(t)
		compareEngines(t, uint64(i), p, v, oracleNet(network.DMA))
	}
}

func compareEngines(t *testing.T, seed uint64, p *program.Program, v vectors, n *network.Network) {
	t.Helper()
	want, err := flow(p, v, n, Options{Workers: 1})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	got, err := Events(context.Background(), p, v, n, Options{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("seed %d, policy %d: %+v, the dataflow engine says %+v", seed, n.Policy, got, want)
	}
}

// TestCollectivesAsDataflow does the same with collective operations, blocking and not.
func TestCollectivesAsDataflow(t *testing.T) {
	t.Parallel()
	count := 300
	if testing.Short() {
		count = 50
	}
	for seed := range uint64(count) {
		r := rng(seed)
		p, v := randomColls(r)
		n := randomNet(r)
		n.ModelCollectives = seed%4 == 0
		n.Gamma = network.Rate(r.Uint64N(1000)) << 32
		compareEngines(t, seed, p, v, n)
	}
}

// TestEventsDeadlock: programs that stop for ever are described alike by both engines.
func TestEventsDeadlock(t *testing.T) {
	t.Parallel()
	stopped := 0
	for seed := range uint64(300) {
		r := rng(seed)
		s := randomScript(r, false)
		for range 6 {
			if own := s[r.IntN(len(s))]; len(own) > 1 {
				i := r.IntN(len(own) - 1)
				own[i], own[i+1] = own[i+1], own[i]
			}
		}
		if buildable(s) {
			p, v := s.build(t)
			stopped += compareErrors(t, seed, p, v, randomNet(r))
		}
		p, v := randomColls(r)
		for range 3 {
			root := &p.Nodes[p.Roots[r.IntN(len(p.Roots))]]
			if kids := p.Children[root.First : root.First+root.Len]; len(kids) > 1 {
				i := r.IntN(len(kids) - 1)
				if p.Actions[p.Nodes[kids[i]].First].Comm != p.Actions[p.Nodes[kids[i+1]].First].Comm {
					kids[i], kids[i+1] = kids[i+1], kids[i] // all still have one order on each communicator
				}
			}
		}
		n := randomNet(r)
		n.ModelCollectives = seed%2 == 0
		stopped += compareErrors(t, seed, p, v, n)
	}
	if stopped < 50 {
		t.Errorf("only %d programs stop", stopped)
	}
}

// compareErrors runs a program with both engines and returns 1 if it stops for ever.
func compareErrors(t *testing.T, seed uint64, p *program.Program, v vectors, n *network.Network) int {
	t.Helper()
	_, want := flow(p, v, n, Options{Workers: 1})
	_, got := Events(context.Background(), p, v, n, Options{})
	var dead, other *Deadlock
	if errors.As(got, &dead) && errors.As(want, &other) {
		if !reflect.DeepEqual(dead, other) {
			t.Fatalf("seed %d: %+v, the dataflow engine says %+v", seed, dead, other)
		}
		return 1
	}
	if (got == nil) != (want == nil) || dead != nil {
		t.Fatalf("seed %d: %v, the dataflow engine says %v", seed, got, want)
	}
	return 0
}

// buildable tells whether all requests are posted before they are waited for.
func buildable(s script) bool {
	for _, own := range s {
		posted := map[string]bool{}
		for _, line := range own {
			f := strings.Fields(line)
			switch {
			case f[0] == "wait":
				for _, q := range f[1:] {
					if !posted[q] {
						return false
					}
				}
			case f[0][0] == 'i':
				posted[f[4]] = true
			}
		}
	}
	return true
}

// TestEventsCollectives: LogGOPSim's makespans of collective operations, under Arrival too.
func TestEventsCollectives(t *testing.T) {
	t.Parallel()
	for _, c := range collectiveTimes {
		kind := c.alg.Kind()
		a := program.Action{Kind: program.PostColl, Flags: program.Blocking, Coll: kind, Bytes: c.bytes, Recv: c.bytes}
		p := &program.Program{
			Nodes:   []program.Node{{Kind: program.Call, Len: 2}},
			Actions: []program.Action{a, {Kind: program.WaitColl}},
			Comms:   []program.Comm{{Size: c.size}},
			Roots:   make([]program.NodeID, c.size),
		}
		for _, policy := range []network.Policy{c.policy, network.Arrival} {
			if policy == network.Arrival && c.policy == network.DMA {
				continue
			}
			n := oracleNet(policy)
			n.Collectives[kind] = []network.Algorithm{{Max: network.AnySize, Scheme: c.alg}}
			r, err := Events(context.Background(), p, make(vectors, c.size), n, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Makespan != c.ns*ns {
				t.Errorf("%s of %d, policy %d: %d ps, want %d ns", c.alg.String(), c.size, policy, r.Makespan, c.ns)
			}
		}
	}
}

// TestEventsFiles: file operations take the processor under every policy.
func TestEventsFiles(t *testing.T) {
	t.Parallel()
	p := &program.Program{
		Nodes:   []program.Node{{Kind: program.Call, Len: 1}},
		Actions: []program.Action{{Kind: program.FileIO, Bytes: 1000}},
		Comms:   []program.Comm{{Size: 1}},
		Roots:   []program.NodeID{0},
	}
	n := oracleNet(network.DMA)
	n.Files = network.FileSystem{Open: 5 * ns, Client: 2 << 32}
	v := vectors{{7, 9}}
	compareEngines(t, 0, p, v, n)
	n.Policy = network.Arrival
	r, err := Events(context.Background(), p, v, n, Options{})
	if err != nil || r.Makespan != 7+5*ns+2000+9 || r.Times[0].File != 5*ns+2000 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestEventsModels: with the policy Arrival and shared interfaces collective operations by closed forms and by steps come to
// an end, and their parts add up.
func TestEventsModels(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rng(seed)
		p, v := randomColls(r)
		n := randomNet(r)
		n.ModelCollectives = seed%2 == 0
		n.Gamma = 3 << 32
		for _, c := range []struct {
			policy     network.Policy
			contention network.Contention
		}{{network.Arrival, network.NoContention}, {network.DMA, network.NICContention}, {network.Copy, network.LinkContention}} {
			n.Policy, n.Contention = c.policy, c.contention
			got, err := Events(context.Background(), p, v, n, Options{})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for i, x := range got.Times {
				if sum := x.Compute + x.Send + x.Receive + x.Wait + x.Collective + x.File; sum != x.Finish {
					t.Errorf("seed %d, process %d: parts are %d, the whole %d", seed, i, sum, x.Finish)
				}
			}
		}
	}
}

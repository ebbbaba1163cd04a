package simnet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// collCall is a blocking collective operation.
func collCall(kind program.CollKind, comm uint32, root int32, bytes, recv uint64) []program.Action {
	return []program.Action{
		{Kind: program.PostColl, Flags: program.Blocking, Coll: kind, Comm: comm, Peer: root, Bytes: bytes, Recv: recv},
		{Kind: program.WaitColl, Comm: comm},
	}
}

// programOf makes a program of the calls of each process.
func programOf(comms []program.Comm, processes ...[][]program.Action) *program.Program {
	p := &program.Program{Comms: comms}
	for _, calls := range processes {
		b := &scripter{p: p}
		for _, c := range calls {
			b.call(c...)
		}
		p.Nodes = append(p.Nodes, program.Node{Kind: program.Seq, First: uint32(len(p.Children)), Len: uint32(len(b.kids))})
		p.Children = append(p.Children, b.kids...)
		p.Roots = append(p.Roots, program.NodeID(len(p.Nodes)-1))
	}
	return p
}

// TestFlowCollectives compares every algorithm with its evaluation rank by rank.
func TestFlowCollectives(t *testing.T) {
	t.Parallel()
	for alg := range network.NumSchemes {
		kind := alg.Kind()
		for _, size := range []uint32{1, 2, 3, 7, 8, 13, 16} {
			if alg.Fit(size) != alg {
				continue
			}
			for _, policy := range []network.Policy{network.DMA, network.Copy} {
				root, bytes := size/2, uint64(1000)
				n := oracleNet(policy)
				n.Collectives[kind] = []network.Algorithm{{Max: network.AnySize, Scheme: alg}}
				var calls [][][]program.Action
				for range size {
					calls = append(calls, [][]program.Action{collCall(kind, 0, int32(root), bytes, bytes)})
				}
				p := programOf([]program.Comm{{Size: size}}, calls...)
				r, err := flow(p, make(vectors, size), n, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for i, m := range collective(t, alg, size, root, equal(bytes), policy) {
					if got := r.Times[i].Finish; got != m.cpu || r.Times[i].Collective != got {
						t.Errorf("%s of %d, policy %d: rank %d ends at %d, want %d", alg.String(), size, policy, i, got, m.cpu)
					}
				}
			}
		}
	}
}

// TestNonBlockingCollective: operations that only a later call completes do not hold up what lies between.
func TestNonBlockingCollective(t *testing.T) {
	t.Parallel()
	post := program.Action{Kind: program.PostColl, Coll: program.Barrier}
	wait := program.Action{Kind: program.WaitColl}
	send := []program.Action{{Kind: program.PostSync, Peer: 1}, {Kind: program.WaitSend, Peer: 1}}
	recv := []program.Action{{Kind: program.PostRecv, Peer: 0}, {Kind: program.WaitRecv, Peer: 0}}
	p := programOf([]program.Comm{{Size: 2}}, [][]program.Action{{post}, send, {wait}}, [][]program.Action{{post}, recv, {wait}})
	r, err := flow(p, vectors{{0}, {7_000_000}}, oracleNet(network.DMA), Options{})
	if err != nil {
		t.Fatal(err)
	}
	hop := int64(5_500_000) // what the barrier takes from 7 us on; the rendezvous is over at 13.5 us
	for i, want := range []int64{12_500_000, 13_500_000} {
		if r.Times[i].Finish != want {
			t.Errorf("process %d ends at %d, want %d", i, r.Times[i].Finish, want)
		}
	}
	rooted := func(kind program.CollKind) int64 {
		post := program.Action{Kind: program.PostColl, Coll: kind, Bytes: 1, Recv: 1}
		p := programOf([]program.Comm{{Size: 2}}, [][]program.Action{{post}, {wait}}, [][]program.Action{{post}, {wait}})
		r, err := flow(p, vectors{{0}, {90_000_000}}, oracleNet(network.DMA), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Times[0].Finish
	}
	if got := rooted(program.Bcast); got != 1_500_000 {
		t.Errorf("the root of a broadcast leaves at %d", got)
	}
	if got := rooted(program.Reduce); got != 90_000_000+hop {
		t.Errorf("the root of a reduction leaves at %d", got)
	}
}

// randomColls makes programs of collective operations on random communicators, blocking or not, that are completed in any order.
func randomColls(r *rand.Rand) (*program.Program, vectors) {
	n := 2 + r.IntN(9)
	comms := []program.Comm{{Size: uint32(n)}}
	for range r.IntN(3) {
		m := r.Perm(n)[:1+r.IntN(n)]
		c := program.Comm{Size: uint32(len(m))}
		for _, x := range m {
			c.Members = append(c.Members, uint32(x))
		}
		comms = append(comms, c)
	}
	calls := make([][][]program.Action, n)
	open := make([][]int, len(comms)) // of each communicator: 1 for each operation in progress
	for range 1 + r.IntN(40) {
		i := r.IntN(len(comms))
		c := &comms[i]
		root := int32(r.IntN(int(c.Size)))
		kind, size := program.CollKind(r.IntN(int(program.NumCollKinds))), []uint64{0, 1, 100, 3000, 20000, 600000}[r.IntN(6)]
		how := r.IntN(4)
		for rank := range c.Size {
			q := c.Process(rank)
			full := collCall(kind, uint32(i), root, size, size)
			if kind == program.Barrier {
				full[0].Bytes, full[0].Recv = 0, 0
			}
			if how == 0 { // completes itself, not the oldest
				full[1].Age = uint32(len(open[i]))
			}
			switch {
			case how < 2:
				calls[q] = append(calls[q], full)
			default:
				calls[q] = append(calls[q], full[:1])
			}
		}
		if how >= 2 {
			open[i] = append(open[i], 1)
		}
		for len(open[i]) > 0 && r.IntN(2) == 0 {
			age := uint32(r.IntN(len(open[i])))
			open[i] = open[i][1:]
			for rank := range c.Size {
				q := c.Process(rank)
				calls[q] = append(calls[q], []program.Action{{Kind: program.WaitColl, Comm: uint32(i), Age: age}})
			}
		}
	}
	v := make(vectors, n)
	for q := range v {
		for range len(calls[q]) + 1 {
			v[q] = append(v[q], r.Int64N(50_000_000))
		}
	}
	return programOf(comms, calls...), v
}

// TestCollectiveRanks: workers, ranks and rings do not change what collective operations take.
func TestCollectiveRanks(t *testing.T) {
	t.Parallel()
	count := 100
	if testing.Short() {
		count = 20
	}
	for seed := range uint64(count) {
		r := rng(seed)
		p, v := randomColls(r)
		n := randomNet(r)
		n.ModelCollectives = seed%4 == 0
		want, err := flow(p, v, n, Options{Workers: 1})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, x := range []struct{ ranks, workers, ring int }{{1, 1, 1}, {1, 3, 1}, {2, 2, 2}, {3, 1, 64}, {8, 1, 1}} {
			got, err := flowOn(x.ranks, p, v, n, Options{Workers: x.workers, Ring: x.ring})
			if err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, x, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %+v: %+v, want %+v", seed, x, got, want)
			}
		}
	}
}

// TestDeadlock has programs that stop for ever, and the cycle and the advice they give.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		script script
		cycle  []uint32
		eager  uint64
	}{
		{"both receive", script{{"recv 1 0 8", "send 1 0 8"}, {"recv 0 0 8", "send 0 0 8"}}, []uint32{0, 1}, 0},
		{
			"three",
			script{{"recv 2 0 8", "send 1 0 8"}, {"recv 0 0 8", "send 2 0 8"}, {"recv 1 0 8", "send 0 0 8"}},
			[]uint32{0, 2, 1},
			0,
		},
		{"head to head", script{{"send 1 0 70000", "recv 1 0 80000"}, {"send 0 0 80000", "recv 0 0 70000"}}, []uint32{0, 1}, 70000},
		{"synchronous", script{{"ssend 1 0 70000", "recv 1 0 8"}, {"ssend 0 0 8", "recv 0 0 70000"}}, []uint32{0, 1}, 0},
		{
			"after a cycle",
			script{{"recv 1 0 8"}, {"recv 2 0 8", "send 0 0 8"}, {"recv 3 0 8", "send 1 0 8", "recv 3 1 8"}, {"ssend 2 1 8", "send 2 0 8"}},
			[]uint32{2, 3},
			0,
		},
	} {
		p, v := x.script.build(t)
		for _, ranks := range []int{1, 2, 3} {
			_, err := flowOn(ranks, p, v, oracleNet(network.DMA), Options{Workers: 1})
			var d *Deadlock
			if !errors.As(err, &d) {
				t.Errorf("%s: %v", x.name, err)
				continue
			}
			var got []uint32
			for _, b := range d.Cycle {
				got = append(got, b.Process)
			}
			if fmt.Sprint(got) != fmt.Sprint(x.cycle) || d.Eager != x.eager {
				t.Errorf("%s: %d, eager %d", x.name, got, d.Eager)
			}
		}
	}
}

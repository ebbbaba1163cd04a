package simnet

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// TestFlowUnmatched: what has no partner is left out and counted, and holds nothing up.
func TestFlowUnmatched(t *testing.T) {
	t.Parallel()
	hop := int64(5500)
	for _, x := range []struct {
		name   string
		script script
		lost   uint64
		want   []int64
	}{
		{"receives", script{{"send 1 0 1"}, {"recv 0 0 1", "recv 0 0 1", "irecv 0 0 1 1", "wait 1", "probe 0 0"}}, 2, []int64{1500, hop}},
		{"sends", script{{"send 1 0 1", "isend 1 0 1 1", "ssend 1 0 1", "wait 1"}, {"recv 0 0 1"}}, 2, []int64{1500, hop}},
		{"rendezvous", script{{"ssend 1 0 1"}, {"recv 2 0 1"}, {}}, 2, []int64{0, 0, 0}},
		{"tail of rendezvous", script{{"ssend 1 0 1", "ssend 1 0 1"}, {"recv 0 0 1"}}, 1, []int64{6500, 10500}},
		{"reverse", script{{"isend 1 0 1 1", "isend 1 0 1 2", "wait 2", "wait 1"}, {"irecv 0 0 1 3", "wait 3"}}, 1, []int64{1500, hop}},
		{"another tag", script{{"send 1 7 1"}, {"recv 0 8 1"}}, 2, []int64{0, 0}},
		{"probe", script{{}, {"probe 0 0"}}, 0, []int64{0, 0}},
	} {
		p, v := x.script.build(t)
		for _, ranks := range []int{1, 2} {
			r, err := flowOn(ranks, p, v, oracleNet(network.DMA), Options{Ring: 1})
			if err != nil {
				t.Errorf("%s: %v", x.name, err)
				continue
			}
			if got := finishes(r); !reflect.DeepEqual(got, x.want) || r.Unmatched != x.lost {
				t.Errorf("%s: %d, %d lost, want %d, %d", x.name, got, r.Unmatched, x.want, x.lost)
			}
		}
	}
	bar := collCall(program.Barrier, 0, 0, 0, 0)
	p := programOf([]program.Comm{{Size: 2}}, [][]program.Action{bar, bar, bar}, [][]program.Action{bar})
	r, err := flow(p, make(vectors, 2), oracleNet(network.DMA), Options{})
	if err != nil || r.Unmatched != 2 || r.Makespan != hop*ns {
		t.Errorf("barriers: %+v, %v", r, err)
	}
}

// TestRandomTails drops posts of random programs: the rest runs to its end, the same on any number of ranks.
func TestRandomTails(t *testing.T) {
	t.Parallel()
	count := 60
	if testing.Short() {
		count = 15
	}
	for seed := range uint64(count) {
		r := rng(seed)
		s := randomScript(r, false)
		for q := range s {
			s[q] = s[q][:len(s[q])-r.IntN(len(s[q])+1)/8]
		}
		p, v := s.build(t)
		want, err := flow(p, v, oracleNet(network.DMA), Options{Workers: 1})
		var dead *Deadlock
		if errors.As(err, &dead) {
			continue // what was dropped may have been needed
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := flowOn(3, p, v, oracleNet(network.DMA), Options{Ring: 1})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %+v, %v, want %+v", seed, got, err, want)
		}
	}
}

// TestOverflow: times that do not fit are refused wherever they come up.
func TestOverflow(t *testing.T) {
	t.Parallel()
	huge := int64(math.MaxInt64 - 1000)
	exchange := script{{"send 1 0 8", "recv 1 0 8"}, {"recv 0 0 8", "send 0 0 8"}}
	for _, x := range []struct {
		name   string
		script script
		v      vectors
		change func(n *network.Network)
	}{
		{"computation", exchange, vectors{{huge, huge}, {}}, nil},
		{"message", exchange, vectors{{huge}, {}}, nil},
		{"negative", exchange, vectors{{-1}, {}}, nil},
		{"latency", exchange, vectors{{}, {}}, func(n *network.Network) { n.Links[network.LinkNet].Latency = math.MaxInt64 }},
		{"bytes", script{{"send 1 0 2147483647"}, {"recv 0 0 1"}}, vectors{{}, {}}, func(n *network.Network) { n.Links[network.LinkNet].PerByte = math.MaxUint64 }},
		{"overhead", exchange, vectors{{}, {}}, func(n *network.Network) { n.Links[network.LinkNet].SendOver = -1 }},
		{"hop", exchange, vectors{{}, {}}, func(n *network.Network) { n.Links[network.LinkNet].Hop = -1 }},
		// 2^24 hops of 2^40 ps would be no time at all.
		{"hops", exchange, vectors{{}, {}}, func(n *network.Network) {
			torus, err := network.NewTorus([]uint32{1 << 26})
			if err != nil {
				t.Fatal(err)
			}
			n.Links[network.LinkNet].Hop, n.Topology, n.Node = 1<<40, torus, []uint32{0, 1 << 24}
		}},
		{"rendezvous", script{{"ssend 1 0 8"}, {"recv 0 0 8"}}, vectors{{}, {huge}}, nil},
	} {
		p, v := x.script.build(t)
		for q := range x.v {
			copy(v[q], x.v[q])
		}
		n := oracleNet(network.DMA)
		if x.change != nil {
			x.change(n)
		}
		if _, err := flowOn(2, p, v, n, Options{}); !errors.Is(err, program.ErrInvalid) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	p, v := exchange.build(t)
	v[0][0] = 1 << 62
	p = looping(p, 1<<40)
	if _, err := flow(p, looped{body: bodyOf(v)}, oracleNet(network.DMA), Options{}); !errors.Is(err, program.ErrInvalid) {
		t.Errorf("loop: %v", err)
	}
}

// TestProperties: times scale, and nothing gets faster with a slower network or more computation, while no call waits for
// more than one receive.
func TestProperties(t *testing.T) {
	t.Parallel()
	count := 100
	if testing.Short() {
		count = 20
	}
	for seed := range uint64(count) {
		r := rng(seed)
		p, v := randomScript(r, true).build(t)
		n := randomNet(r)
		run := func(v vectors, n *network.Network) int64 {
			res, err := flow(p, v, n, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range res.Times {
				if sum := x.Compute + x.Send + x.Receive + x.Wait + x.Collective + x.File; sum != x.Finish {
					t.Fatalf("seed %d: %+v adds up to %d", seed, x, sum)
				}
			}
			return res.Makespan
		}
		base := run(v, n)
		once, thrice := *n, *n // without times per byte, which are rounded
		for i := range n.Links {
			l, m := &once.Links[i], &thrice.Links[i]
			l.PerByte, l.OverByte, m.PerByte, m.OverByte = 0, 0, 0, 0
			m.Latency, m.SendOver, m.RecvOver, m.Gap = 3*l.Latency, 3*l.SendOver, 3*l.RecvOver, 3*l.Gap
		}
		more := make(vectors, len(v))
		for q := range v {
			for _, x := range v[q] {
				more[q] = append(more[q], 3*x)
			}
		}
		if a, b := run(v, &once), run(more, &thrice); 3*a != b {
			t.Errorf("seed %d: %d, scaled by 3 %d", seed, a, b)
		}
		if got := run(more, n); got < base {
			t.Errorf("seed %d: %d, with more computation %d", seed, base, got)
		}
		slow := *n
		l := &slow.Links[r.IntN(int(network.NumLinkClasses))]
		d := r.Int64N(1_000_000)
		switch r.IntN(4) {
		case 0:
			l.Latency += d
		case 1:
			l.SendOver += d
		case 2:
			l.Gap += d
		default:
			l.RecvOver += d
		}
		if got := run(v, &slow); got < base {
			t.Errorf("seed %d: %d, on a slower network %d", seed, base, got)
		}
	}
}

// TestHostile: programs that make no sense are refused or simulated, and never cause a panic.
func TestHostile(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rng(seed)
		p := hostileProgram(r)
		ctx, cancel := context.WithCancel(context.Background())
		_, _ = Dataflow(ctx, mpi.Serial(), 0, uint32(len(p.Roots)), p, make(vectors, len(p.Roots)), oracleNet(network.DMA), Options{Ring: 1 + r.IntN(3), Workers: 1 + r.IntN(3)})
		cancel()
	}
}

func hostileProgram(r *rand.Rand) *program.Program {
	p := &program.Program{}
	for range 1 + r.IntN(4) {
		p.Roots = append(p.Roots, program.NodeID(r.IntN(8)))
	}
	for range 1 + r.IntN(3) {
		c := program.Comm{Size: uint32(r.IntN(6))}
		if r.IntN(2) == 0 {
			for _, x := range r.Perm(len(p.Roots)) {
				c.Members = append(c.Members, uint32(x))
			}
			c.Size = uint32(len(c.Members))
		}
		p.Comms = append(p.Comms, c)
	}
	table := make([]int32, len(p.Roots))
	for i := range table {
		table[i] = int32(r.IntN(len(p.Roots)+1)) - 1
	}
	p.Peers = [][]int32{table}
	for range r.IntN(30) {
		p.Actions = append(p.Actions, program.Action{
			Kind: program.ActionKind(r.IntN(11)), Mode: program.PeerMode(r.IntN(4)), Coll: program.CollKind(r.IntN(10)), Comm: uint32(r.IntN(len(p.Comms))),
			Peer: int32(r.IntN(3)) - r.Int32N(2), Tag: uint32(r.IntN(2)), Age: uint32(r.IntN(8) / 6), Bytes: r.Uint64() >> r.IntN(64),
		})
		if a := &p.Actions[len(p.Actions)-1]; a.Mode == program.PeerTable {
			a.Peer = 0
		}
	}
	at := uint32(0)
	for i := range 8 {
		n := program.Node{Kind: program.NodeKind(r.IntN(3)), Count: 1 + r.Uint64N(4)}
		switch {
		case n.Kind == program.Call || i == 0:
			n.Kind, n.First, n.Len = program.Call, at, min(uint32(r.IntN(5)), uint32(len(p.Actions))-at)
			at += n.Len
		default:
			n.First, n.Len = uint32(len(p.Children)), 1
			if n.Kind == program.Seq {
				n.Len = uint32(r.IntN(4))
			}
			for range n.Len {
				p.Children = append(p.Children, program.NodeID(r.IntN(i)))
			}
		}
		p.Nodes = append(p.Nodes, n)
	}
	return p
}

package simnet

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// A script is a program for tests: the operations of each process as text,
//
//	send|ssend|bsend|isend|issend PEER TAG BYTES [REQUEST]
//	recv|irecv PEER TAG BYTES [REQUEST]
//	wait REQUEST..., probe PEER TAG, calc TIME, sendrecv TO FROM TAG BYTES
//
// Times are ns.
type script [][]string

// ns is a nanosecond in picoseconds.
const ns = 1000

// vectors is computation given as entries.
type vectors [][]int64

func (v vectors) Fill(p uint32, first uint64, dst []int64) error {
	n := 0
	if first < uint64(len(v[p])) {
		n = copy(dst, v[p][first:])
	}
	clear(dst[n:])
	return nil
}

// scripter turns the operations of one process into calls.
type scripter struct {
	p    *program.Program
	calc []int64 // ends with the entry before the next call
	kids []program.NodeID
	open map[string][]string // requests by direction, partner and tag
	of   map[string]string   // where each request is in open
}

func (s script) build(t testing.TB) (*program.Program, vectors) {
	t.Helper()
	p := &program.Program{Comms: []program.Comm{{Size: uint32(len(s))}}}
	var v vectors
	for _, ops := range s {
		b := &scripter{p: p, calc: []int64{0}, open: map[string][]string{}, of: map[string]string{}}
		for _, o := range ops {
			b.op(t, strings.Fields(o))
		}
		p.Nodes = append(p.Nodes, program.Node{Kind: program.Seq, First: uint32(len(p.Children)), Len: uint32(len(b.kids))})
		p.Children = append(p.Children, b.kids...)
		p.Roots = append(p.Roots, program.NodeID(len(p.Nodes)-1))
		v = append(v, b.calc)
	}
	return p, v
}

func (b *scripter) call(actions ...program.Action) {
	b.p.Nodes = append(b.p.Nodes, program.Node{Kind: program.Call, First: uint32(len(b.p.Actions)), Len: uint32(len(actions))})
	b.p.Actions = append(b.p.Actions, actions...)
	b.kids = append(b.kids, program.NodeID(len(b.p.Nodes)-1))
	b.calc = append(b.calc, 0)
}

var sendKinds = map[string]program.ActionKind{"send": program.PostSend, "ssend": program.PostSync, "bsend": program.PostBuffered}

func (b *scripter) op(t testing.TB, f []string) {
	var n [4]int
	for i := 0; i < len(f)-1 && i < 4; i++ {
		if _, err := fmt.Sscan(f[i+1], &n[i]); err != nil {
			t.Fatal(err)
		}
	}
	switch f[0] {
	case "calc":
		b.calc[len(b.calc)-1] += int64(n[0]) * ns
	case "probe":
		b.call(program.Action{Kind: program.ProbeRecv, Peer: int32(n[0]), Tag: uint32(n[1])})
	case "wait":
		var list []program.Action
		for _, r := range f[1:] {
			list = append(list, b.wait(r))
		}
		b.call(list...)
	case "sendrecv":
		r := b.post(program.PostRecv, n[1], n[2], n[3], "r!")
		s := b.post(program.PostSend, n[0], n[2], n[3], "s!")
		b.call(r, s, b.wait("r!"), b.wait("s!"))
	default:
		kind, ok := sendKinds[strings.TrimPrefix(f[0], "i")]
		if !ok {
			kind = program.PostRecv
		}
		if f[0][0] == 'i' {
			b.call(b.post(kind, n[0], n[1], n[2], f[4]))
			return
		}
		a := b.post(kind, n[0], n[1], n[2], "!")
		a.Flags = program.Blocking
		b.call(a, b.wait("!"))
	}
}

func (b *scripter) post(kind program.ActionKind, peer, tag, bytes int, request string) program.Action {
	key := fmt.Sprint(kind == program.PostRecv, peer, tag)
	b.open[key] = append(b.open[key], request)
	b.of[request] = key
	return program.Action{Kind: kind, Peer: int32(peer), Tag: uint32(tag), Bytes: uint64(bytes)}
}

func (b *scripter) wait(request string) program.Action {
	key := b.of[request]
	a := program.Action{Kind: program.WaitSend}
	var recv bool
	var peer, tag int
	if _, err := fmt.Sscan(key, &recv, &peer, &tag); err != nil {
		panic(err)
	}
	if recv {
		a.Kind = program.WaitRecv
	}
	a.Peer, a.Tag = int32(peer), uint32(tag)
	for i, r := range b.open[key] {
		if r == request {
			a.Age = uint32(i)
			b.open[key] = append(b.open[key][:i:i], b.open[key][i+1:]...)
			break
		}
	}
	return a
}

// oracleNet is the network of the published comparisons: L=2500 o=1500 g=1000 G=6 O=0 S=65535, ns.
func oracleNet(policy network.Policy) *network.Network {
	n := &network.Network{Policy: policy, RanksPerNode: 1}
	for i := range n.Links {
		n.Links[i] = network.Link{Latency: 2500 * ns, SendOver: 1500 * ns, RecvOver: 1500 * ns, Gap: 1000 * ns, PerByte: 6 * ns << 32, Eager: 65535}
	}
	return n
}

// flow runs a program on one rank.
func flow(p *program.Program, c Calc, n *network.Network, o Options) (*Result, error) {
	return Dataflow(context.Background(), mpi.Serial(), 0, uint32(len(p.Roots)), p, c, n, o)
}

// finishes returns the end of each process in ns.
func finishes(r *Result) []int64 {
	var list []int64
	for _, t := range r.Times {
		list = append(list, t.Finish/ns)
	}
	return list
}

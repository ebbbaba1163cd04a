package main

import (
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// input is the described trace of a simulated run, and what its ranks do with it next to their calls.
type input struct {
	events int64 // of each rank
	factor int64 // by which that is more than in the runs that lists were made from
	costs  costs
	loose  looseCounts
}

// ranksProgram is a job as the simulator takes it: all ranks make the same calls, with partners that may be nobody.
type ranksProgram struct {
	program.Program
	size   int
	in     *input
	spans  []span
	stages []string
	calls  uint64
	seq    []program.NodeID
}

// span is consecutive calls, all of one stage.
type span struct {
	first, count uint64
	stage        int
	work         func(rank int) int64 // ps before the first of them; nil: none
}

// newProgram makes the program of so many ranks, a power of two.
func newProgram(segments []segment, size int, in *input) *ranksProgram {
	p := &ranksProgram{size: size, in: in}
	p.Comms = []program.Comm{{Size: uint32(size)}}
	p.tables()
	for i := range segments {
		g := &segments[i]
		if len(p.stages) == 0 || p.stages[len(p.stages)-1] != g.stage {
			p.begin(g.stage)
		}
		p.segment(g)
	}
	first := len(p.Children)
	p.Children = append(p.Children, p.seq...)
	p.Nodes = append(p.Nodes, program.Node{Kind: program.Seq, First: uint32(first), Len: uint32(len(p.seq))})
	root := program.NodeID(len(p.Nodes) - 1)
	p.Roots = make([]program.NodeID, size)
	for i := range p.Roots {
		p.Roots[i] = root
	}
	return p
}

// tables makes the partners of a binomial tree: table 2k says who sends to whom over a distance of 1<<k, table 2k+1 who receives.
func (p *ranksProgram) tables() {
	for k := range levels(p.size) {
		to, from := make([]int32, p.size), make([]int32, p.size)
		for r := range to {
			to[r], from[r] = program.NoPeer, program.NoPeer
			switch r & (2<<k - 1) {
			case 1 << k:
				to[r] = int32(r - 1<<k)
			case 0:
				if r+1<<k < p.size {
					from[r] = int32(r + 1<<k)
				}
			}
		}
		p.Peers = append(p.Peers, to, from)
	}
}

// begin begins a stage with its computation and what it reads.
func (p *ranksProgram) begin(stage string) {
	p.stages = append(p.stages, stage)
	own := p.in.events * p.in.costs.picos[stage]
	p.span(func(int) int64 { return own })
	switch stage {
	case "load":
		p.call(1, program.Action{Kind: program.FileIO, Bytes: uint64(p.in.events * p.in.costs.input)})
	case "causes":
		p.causes()
	}
}

// span begins calls before which ranks work.
func (p *ranksProgram) span(work func(rank int) int64) {
	p.spans = append(p.spans, span{first: p.calls, stage: len(p.stages) - 1, work: work})
}

// call appends a call that is made count times.
func (p *ranksProgram) call(count uint64, actions ...program.Action) {
	first := len(p.Actions)
	p.Actions = append(p.Actions, actions...)
	p.Nodes = append(p.Nodes, program.Node{Kind: program.Call, First: uint32(first), Len: uint32(len(actions))})
	id := program.NodeID(len(p.Nodes) - 1)
	if count > 1 {
		p.Children = append(p.Children, id)
		p.Nodes = append(p.Nodes, program.Node{Kind: program.Loop, First: uint32(len(p.Children) - 1), Len: 1, Count: count})
		id++
	}
	p.seq = append(p.seq, id)
	p.calls += count
	p.spans[len(p.spans)-1].count += count
}

// partner is the other end of a message.
type partner struct {
	mode program.PeerMode
	peer int
}

func (o partner) action(kind program.ActionKind, flags program.CallFlags, bytes int64) program.Action {
	return program.Action{Kind: kind, Flags: flags, Mode: o.mode, Peer: int32(o.peer), Bytes: uint64(bytes)}
}

// exchange is MPI_Sendrecv.
func (p *ranksProgram) exchange(count uint64, from, to partner, bytes int64) {
	p.call(count, from.action(program.PostRecv, 0, bytes), to.action(program.PostSend, 0, bytes), from.action(program.WaitRecv, 0, bytes), to.action(program.WaitSend, 0, bytes))
}

// collectives are the operations of the simulator for those of package mpi. Groups and files are made and closed by all ranks
// together: they meet.
var collectives = map[mpi.OpKind]program.CollKind{
	mpi.OpBarrier: program.Barrier, mpi.OpBcast: program.Bcast, mpi.OpGather: program.Gather,
	mpi.OpAllreduce: program.Allreduce, mpi.OpGroup: program.Barrier, mpi.OpFile: program.Barrier,
}

func (p *ranksProgram) collective(kind program.CollKind, bytes int64) {
	x := program.Action{Kind: program.PostColl, Flags: program.Blocking, Coll: kind, Bytes: uint64(bytes), Recv: uint64(bytes)}
	y := x
	y.Kind, y.Flags = program.WaitColl, 0
	p.call(1, x, y)
}

func (p *ranksProgram) segment(g *segment) {
	switch g.pattern {
	case collective:
		bytes := g.sizes[2].of(p.size)
		if g.kind == mpi.OpBcast {
			bytes = g.sizes[0].of(p.size)
		}
		if g.kind == mpi.OpAllgather { // of small parts, as package mpi makes it
			p.collective(program.Gather, bytes)
			p.collective(program.Bcast, bytes*int64(p.size))
			return
		}
		p.collective(collectives[g.kind], bytes)
	case climb:
		p.climb(g, levels(p.size))
	case groups:
		for n := 4; n < levels(p.size)+4; n += 4 {
			p.climb(g, min(n, levels(p.size)))
		}
	case hops, back:
		p.hops(g)
	case shift:
		p.shift(g)
	case output:
		p.output(g)
	}
}

// climb joins tables up a tree of so many levels.
func (p *ranksProgram) climb(g *segment, n int) {
	for k := range n {
		bytes := g.edge(k)
		to, from := partner{program.PeerTable, 2 * k}, partner{program.PeerTable, 2*k + 1}
		p.span(nil)
		for range g.times {
			p.call(1, from.action(program.PostRecv, program.Blocking, bytes), from.action(program.WaitRecv, 0, bytes))
		}
		join := bytes * int64(g.times) * p.in.costs.joined
		table := p.Peers[2*k+1]
		p.span(func(rank int) int64 {
			if table[rank] == program.NoPeer {
				return 0
			}
			return join
		})
		for range g.times {
			p.call(1, to.action(program.PostSend, program.Blocking, bytes), to.action(program.WaitSend, 0, bytes))
		}
	}
}

func (p *ranksProgram) hops(g *segment) {
	n := levels(p.size)
	for i := range n {
		k := n - 1 - i
		if g.pattern == back {
			k = i
		}
		half := partner{program.PeerXor, 1 << k}
		bytes := g.edge(k)
		if g.items > 0 {
			bytes = (int64(g.items)*p.in.factor>>(n-k) + 1) * itemBytes
		}
		p.exchange(1, half, half, bytes)
	}
}

// pieceEntries is how many sends one message of the match has; see stats.
const pieceEntries = 16 << 10

// shift is the exchange of sends and replies with the neighbours, in as many pieces as the described trace needs.
func (p *ranksProgram) shift(g *segment) {
	next, before := partner{program.PeerRelative, 1}, partner{program.PeerRelative, -1}
	bytes := int64(0)
	for _, x := range g.calls {
		bytes = max(bytes, x.Sent)
	}
	const entry = 40
	sends := bytes / entry * p.in.factor
	pieces := sends/pieceEntries + 1
	p.exchange(uint64(pieces), before, next, sends/pieces*entry)
	p.exchange(uint64(pieces), next, before, sends/pieces*entry)
}

// output writes the region of each rank and reads it back, or what rank 0 alone writes, which grows with the ranks.
func (p *ranksProgram) output(g *segment) {
	if g.root != 0 {
		bytes := uint64(p.in.events * p.in.costs.output)
		p.call(1, program.Action{Kind: program.FileIO, Bytes: bytes})
		p.call(1, program.Action{Kind: program.FileIO, Bytes: bytes})
		return
	}
	alone := g.sizes[0].of(p.size) * p.in.costs.written
	p.span(func(rank int) int64 {
		if rank > 0 {
			return 0
		}
		return alone
	})
}

// causes is what depends on the trace: crossings, passed costs and the critical path go over the ranks one after the other, and
// records of waits and steps to few others.
func (p *ranksProgram) causes() {
	l := &p.in.loose
	alone := chains * int64(p.size) * p.in.costs.message
	p.span(func(int) int64 { return alone })
	next, before := partner{program.PeerRelative, 1}, partner{program.PeerRelative, -1}
	pieces := l.recordBytes*p.in.factor/outboxBytes + 1
	p.exchange(uint64(pieces), before, next, l.recordBytes*p.in.factor/pieces)
}

// chains is how often something goes over all ranks in their order.
const chains = 3

// outboxBytes is the size of a piece of records; see causes.
const outboxBytes = 4 << 20

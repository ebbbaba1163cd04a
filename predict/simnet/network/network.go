// Package network is a network as the simulator sees it: what a message costs by its size and how far it goes (LogGPS), the
// ways that it takes through a topology, and the messages that collective operations are made of.
//
//	Network -> Costs                 of messages, by size and class of link (cost.go)
//	Network -> Topology.Route        fat trees, tori, dragonflies
//	Network -> Selection -> Schedule the steps of one rank in a collective operation, each computed in O(1) when asked for
//	Network.Closed                   how long a collective operation takes by its closed form
//
// Times are integer picoseconds, rates per byte [Rate]; sums and products stop at [Never]. All values are only read while a
// program runs, but for Costs, which belong to one goroutine.
package network

import (
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Rate is a time per byte: picoseconds with 32 binary places.
type Rate uint64

// Of returns the time of n bytes, rounded down. A product over 2^63 ps comes out as [Never].
func (r Rate) Of(n uint64) int64 {
	hi, lo := bits.Mul64(uint64(r), n)
	if hi>>31 != 0 {
		return Never
	}
	return int64(hi<<32 | lo>>32)
}

// LinkClass tells how far a message goes.
type LinkClass uint8

// Classes of links.
const (
	LinkSelf LinkClass = iota // a process to itself
	LinkNode                  // two processes of one node
	LinkNet                   // two nodes
	NumLinkClasses
)

// Link holds the parameters of LogGPS (Alexandrov et al. 1995; Ino, Fujimoto, Hagihara 2001) for one class of links.
type Link struct {
	Latency  int64  // L, ps
	Hop      int64  // more latency for each hop, ps
	SendOver int64  // o of the sender, ps
	RecvOver int64  // o of the receiver, ps
	Gap      int64  // g between messages, ps
	PerByte  Rate   // G, wire
	OverByte Rate   // O, processor
	Eager    uint64 // S: largest message that is sent eagerly, bytes
	// Sizes has other rates for messages up to a size, ascending; larger messages take PerByte.
	Sizes []SizeRate
}

// SizeRate is the rate of messages of at most Max bytes.
type SizeRate struct {
	Max     uint64
	PerByte Rate
}

// Wire returns the time on the wire of the bytes beyond the first, and the processor's overhead for them.
func (l *Link) Wire(n uint64) (wire, over int64) {
	b := max(n, 1) - 1
	rate := l.PerByte
	for i := range l.Sizes {
		if n <= l.Sizes[i].Max {
			rate = l.Sizes[i].PerByte
			break
		}
	}
	return rate.Of(b), l.OverByte.Of(b)
}

// Policy says who pays for the receipt of a message.
type Policy uint8

// Receive policies.
const (
	DMA     Policy = iota // the network writes the message to memory: the receiver pays o
	Copy                  // the receiver copies: o and G for each byte
	Arrival               // as Copy, but as soon as the message is there and the processor idle (LogGOPSim); event engine only
)

// Contention says what messages share.
type Contention uint8

// Kinds of contention.
const (
	NoContention   Contention = iota // nothing: dataflow engine
	NICContention                    // the network interfaces of a node: event engine
	LinkContention                   // and the links of the topology: event engine
)

// Topology knows the ways between nodes.
type Topology interface {
	// Hops returns the number of links between two nodes' switches.
	Hops(a, b uint32) int
	// Route appends the links of the way from a to b to dst, as numbers below Links.
	Route(dst []uint32, a, b uint32) []uint32
	Links() int
	// Nodes is how many nodes there are places for.
	Nodes() uint64
}

// Network is a machine as the simulator sees it.
type Network struct {
	Links      [NumLinkClasses]Link
	Policy     Policy
	Contention Contention
	// NoRendezvousLatency leaves the latency of the answer out of a rendezvous, as LogGOPSim does.
	NoRendezvousLatency bool

	Nodes uint32   // number of nodes
	Node  []uint32 // node of each process; nil: process / RanksPerNode
	// RanksPerNode is the number of processes of a node where Node is nil, at least 1.
	RanksPerNode uint32
	NICs         uint32   // of each node, at least 1
	Topology     Topology // nil: flat, no hops

	// LinkRate is the time per byte of a link of the topology, with LinkContention.
	LinkRate Rate

	Gamma Rate // reduction, per byte
	// Collectives are the algorithms of each kind by size; nil: the defaults.
	Collectives Selection
	// ModelCollectives computes collectives by closed forms instead of steps.
	ModelCollectives bool

	Files FileSystem
}

// FileSystem is shared by all processes: each gets its part of the total.
type FileSystem struct {
	Open   int64 // of an operation, ps
	Client Rate  // of one process
	Total  Rate  // of all processes together; 0: no limit
}

// NodeOf returns the node of a process.
func (n *Network) NodeOf(process uint32) uint32 {
	if n.Node != nil {
		return n.Node[process]
	}
	return process / max(n.RanksPerNode, 1)
}

// Class returns the class of the link from process a to b.
func (n *Network) Class(a, b uint32) LinkClass {
	switch {
	case a == b:
		return LinkSelf
	case n.NodeOf(a) == n.NodeOf(b):
		return LinkNode
	}
	return LinkNet
}

// Latency returns L from process a to b, hops included.
func (n *Network) Latency(a, b uint32) int64 {
	c := n.Class(a, b)
	l := &n.Links[c]
	if c != LinkNet || n.Topology == nil || l.Hop == 0 {
		return l.Latency
	}
	return l.Latency + l.Hop*int64(n.Topology.Hops(n.NodeOf(a), n.NodeOf(b)))
}

// Check reports whether a network has a place for all processes and no negative or endless times.
func (n *Network) Check(processes int) error {
	if n.Node != nil && len(n.Node) < processes {
		return program.Errorf("the network has places for %d of %d processes", len(n.Node), processes)
	}
	for i := range n.Links {
		l := &n.Links[i]
		for _, t := range []int64{l.Latency, l.Hop, l.SendOver, l.RecvOver, l.Gap} {
			if t < 0 || t > Longest {
				return program.Errorf("a time of the network is %d ps", t)
			}
		}
		if n.Topology != nil && l.Hop > Longest/int64(max(n.Topology.Links(), 1)) { // no way has more hops than there are links
			return program.Errorf("a hop of %d links takes %d ps", n.Topology.Links(), l.Hop)
		}
	}
	for kind, list := range n.Collectives {
		if slices.ContainsFunc(list, func(a Algorithm) bool { return !slices.Contains(Schemes(program.CollKind(kind)), a.Scheme) }) {
			return program.Errorf("collective operation %d has an algorithm of another", kind)
		}
	}
	if n.Files.Open < 0 {
		return program.Errorf("opening a file takes %d ps", n.Files.Open)
	}
	return nil
}

// Interfaces returns the number of the interface of each process, and how many there are: those of a node go to its processes
// in turns.
func (n *Network) Interfaces(processes int) (of []uint32, count int) {
	members := map[uint32]uint32{}
	taken := map[[2]uint32]uint32{} // by node and number
	of = make([]uint32, processes)
	for i := range of {
		node := n.NodeOf(uint32(i))
		key := [2]uint32{node, members[node] % max(n.NICs, 1)}
		members[node]++
		id, ok := taken[key]
		if !ok {
			id = uint32(len(taken))
			taken[key] = id
		}
		of[i] = id
	}
	return of, len(taken)
}

// CheckPlaces reports whether the topology has a place for the node of each process.
func (n *Network) CheckPlaces(processes int) error {
	for i := range processes {
		if node := n.NodeOf(uint32(i)); uint64(node) >= n.Topology.Nodes() {
			return program.Errorf("process %d is on node %d of a topology with %d places", i, node, n.Topology.Nodes())
		}
	}
	return nil
}

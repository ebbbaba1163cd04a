// Package network is the network of a simulation: what a message costs by size and distance (LogGPS), its route through a topology, and the
// messages that collective operations consist of.
//
//	Network -> Costs                 of messages, by size and class of link (cost.go)
//	Network -> Topology.Route        fat trees, tori, dragonflies
//	Network -> Selection -> Schedule the steps of one rank in a collective operation, each computed in O(1) on demand
//	Network.Closed                   the time of a collective operation by its closed form
//
// Times are integer picoseconds, rates per byte are [Rate]; sums and products are at most [Never]. During a run all values are only read,
// except for Costs, which belong to one goroutine.
package network

import (
	"math/bits"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Rate is a time per byte: picoseconds in fixed point with 32 fractional bits.
type Rate uint64

// Of returns the time of n bytes, rounded down. It returns [Never] if that is 2^63 ps or more.
func (r Rate) Of(n uint64) int64 {
	hi, lo := bits.Mul64(uint64(r), n)
	if hi>>31 != 0 {
		return Never
	}
	return int64(hi<<32 | lo>>32)
}

// LinkClass says how far a message goes.
type LinkClass uint8

// Classes of links.
const (
	LinkSelf LinkClass = iota // a process to itself
	LinkNode                  // two processes of one node
	LinkNet                   // two nodes
	NumLinkClasses
)

// Link has the parameters of LogGPS (Alexandrov et al. 1995; Ino, Fujimoto, Hagihara 2001) for one class of links.
type Link struct {
	Latency  int64  // L, ps
	Hop      int64  // additional latency of each hop, ps
	SendOver int64  // o of the sender, ps
	RecvOver int64  // o of the receiver, ps
	Gap      int64  // g between messages, ps
	PerByte  Rate   // G, time on the wire
	OverByte Rate   // O, time of the processor
	Eager    uint64 // S: largest eager message, bytes
	// Sizes has rates for smaller messages, by ascending size; larger messages have PerByte.
	Sizes []SizeRate
}

// SizeRate is the rate of messages of at most Max bytes.
type SizeRate struct {
	Max     uint64
	PerByte Rate
}

// Wire returns the time on the wire of the bytes after the first, and the processor's time for them.
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

// Policy says what a receive costs.
type Policy uint8

// Receive policies.
const (
	DMA     Policy = iota // the network writes the message to memory; the receiver needs o
	Copy                  // the receiver copies: o, and G for each byte
	Arrival               // as Copy, but as soon as the message has arrived and the processor is idle (LogGOPSim); event engine only
)

// Contention says what messages share.
type Contention uint8

// Kinds of contention.
const (
	NoContention   Contention = iota // nothing: dataflow engine
	NICContention                    // the network interfaces of a node: event engine
	LinkContention                   // also the links of the topology: event engine
)

// Topology has the routes between nodes.
type Topology interface {
	// Hops returns the number of links between the switches of two nodes.
	Hops(a, b uint32) int
	// Route appends the links of the route from a to b to dst, as numbers below Links.
	Route(dst []uint32, a, b uint32) []uint32
	Links() int
	// Nodes returns the number of nodes.
	Nodes() uint64
}

// Network is the machine of a simulation.
type Network struct {
	Links      [NumLinkClasses]Link
	Policy     Policy
	Contention Contention
	// NoRendezvousLatency counts one latency for a rendezvous instead of three (request, answer, data), as LogGOPSim does.
	NoRendezvousLatency bool

	Nodes uint32   // number of nodes
	Node  []uint32 // node of each process; nil: process / RanksPerNode
	// RanksPerNode is the number of processes of a node if Node is nil, at least 1.
	RanksPerNode uint32
	NICs         uint32   // of each node, at least 1
	Topology     Topology // nil: flat, no hops

	// LinkRate is the time per byte of a link of the topology, with LinkContention.
	LinkRate Rate

	Gamma Rate // time of a reduction
	// Collectives are the algorithms of each kind by size; kinds without any have the defaults.
	Collectives Selection
	// ModelCollectives computes collectives by closed forms instead of steps.
	ModelCollectives bool

	Files FileSystem
}

// FileSystem is shared by all processes equally.
type FileSystem struct {
	Open   int64 // time of an operation, ps
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

// Latency returns L from process a to b, including hops.
func (n *Network) Latency(a, b uint32) int64 {
	c := n.Class(a, b)
	l := &n.Links[c]
	if c != LinkNet || n.Topology == nil || l.Hop == 0 {
		return l.Latency
	}
	return l.Latency + l.Hop*int64(n.Topology.Hops(n.NodeOf(a), n.NodeOf(b)))
}

// Check returns an error if a network lacks places for processes, or has negative or too long times.
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
		if n.Topology != nil && l.Hop > Longest/int64(max(n.Topology.Links(), 1)) { // no route has more hops than there are links
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

// Interfaces returns the interface of each process, and their number. The interfaces of a node are assigned to its processes in turn.
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

// CheckPlaces returns an error if the topology has no place for the node of a process.
func (n *Network) CheckPlaces(processes int) error {
	for i := range processes {
		if node := n.NodeOf(uint32(i)); uint64(node) >= n.Topology.Nodes() {
			return program.Errorf("process %d is on node %d of a topology with %d places", i, node, n.Topology.Nodes())
		}
	}
	return nil
}

package predict

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// Platform is a machine as a platform file describes it. Network makes what the simulator takes.
type Platform struct {
	Name       string
	Policy     simnet.Policy
	Contention simnet.Contention
	// NoRendezvousLatency leaves the latency of the answer out of a rendezvous.
	NoRendezvousLatency bool

	Nodes        uint32 // 0: as many as the processes need
	RanksPerNode uint32 // 0: the processes are spread evenly over Nodes; one on each where Nodes is 0 too
	NICs         uint32 // of a node
	Mapping      string // "block", "cyclic" or the path of a table

	Scale Scale // computing time here / on the host, for computation without measured vectors

	// Links are the classes that the file gives, nil the others: those are as the next one that is given, self as node, node
	// and net as each other.
	Links [simnet.NumLinkClasses]*simnet.Link

	Topology TopologySpec
	Files    FileSystem

	Gamma            simnet.Rate // of a reduction
	Collectives      [simnet.NumCollKinds][]simnet.Algorithm
	ModelCollectives bool

	folder string // where a relative Mapping lies
}

// FileSystem is a file system that all processes of a job share.
type FileSystem struct {
	Open   int64  // time of an operation, ps
	Client uint64 // of one process, bytes/s; 0: no limit
	Total  uint64 // of all processes, bytes/s; 0: no limit
}

// Scale is a factor of times.
type Scale struct{ Num, Den uint64 }

// One leaves times as they are.
var One = Scale{1, 1}

// Of returns t ps times the factor, rounded down; [simnet.Never] where that does not fit.
func (s Scale) Of(t int64) int64 {
	if t <= 0 || s.Num == s.Den {
		return t
	}
	if v, ok := s.of(uint64(t)); ok {
		return v
	}
	return simnet.Never
}

// of returns t times the factor, rounded down; false where that does not fit.
func (s Scale) of(t uint64) (int64, bool) {
	hi, lo := bits.Mul64(t, s.Num)
	if hi >= s.Den {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, s.Den)
	return int64(q), q <= math.MaxInt64
}

// compare is the order of factors, exact.
func (s Scale) compare(o Scale) int {
	ah, al := bits.Mul64(s.Num, o.Den)
	bh, bl := bits.Mul64(o.Num, s.Den)
	return cmp.Or(cmp.Compare(ah, bh), cmp.Compare(al, bl))
}

// NewPlatform returns a platform with the values of a file that gives nothing.
func NewPlatform() *Platform {
	return &Platform{NICs: 1, Mapping: "block", Scale: One}
}

// link returns the parameters of a class, given or not; nil if the platform has no links at all.
func (p *Platform) link(c simnet.LinkClass) *simnet.Link {
	order := [simnet.NumLinkClasses][]simnet.LinkClass{
		simnet.LinkSelf: {simnet.LinkSelf, simnet.LinkNode, simnet.LinkNet},
		simnet.LinkNode: {simnet.LinkNode, simnet.LinkNet, simnet.LinkSelf},
		simnet.LinkNet:  {simnet.LinkNet, simnet.LinkNode, simnet.LinkSelf},
	}
	for _, o := range order[c] {
		if p.Links[o] != nil {
			return p.Links[o]
		}
	}
	return nil
}

// perNode returns how many of the processes a node takes.
func (p *Platform) perNode(processes uint32) uint32 {
	switch {
	case p.RanksPerNode != 0:
		return p.RanksPerNode
	case p.Nodes != 0:
		return uint32(max(1, (uint64(processes)+uint64(p.Nodes)-1)/uint64(p.Nodes)))
	}
	return 1
}

// Network places so many processes on the platform. A mapping table is read from its file.
func (p *Platform) Network(processes uint32) (*simnet.Network, error) {
	per := p.perNode(processes)
	need := uint32((uint64(processes) + uint64(per) - 1) / uint64(per))
	n := &simnet.Network{
		Policy: p.Policy, Contention: p.Contention, NoRendezvousLatency: p.NoRendezvousLatency,
		Nodes: max(need, 1), RanksPerNode: per, NICs: max(p.NICs, 1),
		Gamma: p.Gamma, Collectives: p.Collectives, ModelCollectives: p.ModelCollectives,
		Files: simnet.FileSystem{Open: p.Files.Open, Client: perSecond(p.Files.Client), Total: perSecond(p.Files.Total)},
	}
	if p.Nodes != 0 {
		n.Nodes = p.Nodes
	}
	if need > n.Nodes && (p.Mapping == "block" || p.Mapping == "cyclic") {
		return nil, fmt.Errorf("%w: %d processes do not fit: %d nodes with %d each. Raise nodes.count or nodes.ranks_per_node", ErrPlatform, processes, n.Nodes, per)
	}
	for c := range simnet.NumLinkClasses {
		l := p.link(c)
		if l == nil {
			return nil, fmt.Errorf("%w: it has no links: give links.net or links.node", ErrPlatform)
		}
		n.Links[c] = *l
	}
	if err := p.place(n, processes, need); err != nil {
		return nil, err
	}
	var err error
	n.Topology, n.LinkRate, err = p.Topology.build(n)
	return n, err
}

// perSecond turns a bandwidth into the time of a byte, rounded up, 0 for no limit.
func perSecond(bytes uint64) simnet.Rate {
	if bytes == 0 {
		return 0
	}
	// 10^12 ps with 32 binary places have 72 bits.
	hi, lo := bits.Mul64(1e12, 1<<32)
	lo, carry := bits.Add64(lo, bytes-1, 0)
	hi += carry
	if hi >= bytes {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, bytes)
	return simnet.Rate(q)
}

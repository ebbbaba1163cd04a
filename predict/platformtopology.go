package predict

import (
	"fmt"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// TopologyKind is how the nodes are wired.
type TopologyKind uint8

// Kinds of topologies.
const (
	Flat TopologyKind = iota // every node one hop from every other
	FatTree
	Torus
	Dragonfly
)

var topologyNames = []string{"flat", "fat-tree", "torus", "dragonfly"}

// TopologySpec describes a topology by the numbers of the platform file.
type TopologySpec struct {
	Kind     TopologyKind
	Down, Up []uint32    // fat tree: for each level from the nodes up, children of a switch and its parents
	Dims     []uint32    // torus
	Groups   uint32      // dragonfly
	Routers  uint32      // dragonfly: of a group
	Ports    uint32      // dragonfly: nodes of a router
	LinkRate simnet.Rate // of a link; 0: as of links.net
}

// topologyFields are the keys each kind needs. It has no others.
func (t *TopologySpec) topologyFields() (needs, given []string) {
	fields := []struct {
		name string
		set  bool
		kind TopologyKind
	}{
		{"down", t.Down != nil, FatTree},
		{"up", t.Up != nil, FatTree},
		{"dims", t.Dims != nil, Torus},
		{"groups", t.Groups != 0, Dragonfly},
		{"routers", t.Routers != 0, Dragonfly},
		{"ports", t.Ports != 0, Dragonfly},
	}
	for _, f := range fields {
		if f.kind == t.Kind {
			needs = append(needs, f.name)
		}
		if f.set {
			given = append(given, f.name)
		}
	}
	return needs, given
}

// build makes the simulator's topology for the nodes of n.
func (t *TopologySpec) build(n *simnet.Network) (simnet.Topology, simnet.Rate, error) {
	rate := t.LinkRate
	if rate == 0 {
		rate = n.Links[simnet.LinkNet].PerByte
	}
	topology, nodes, err := t.make()
	if err != nil || topology == nil {
		return nil, rate, err
	}
	if nodes < uint64(n.Nodes) {
		return nil, rate, fmt.Errorf("%w: the %s has places for %d nodes, the platform has %d", ErrPlatform, topologyNames[t.Kind], nodes, n.Nodes)
	}
	return topology, rate, nil
}

// make returns the topology, nil for flat, and how many nodes it has places for.
func (t *TopologySpec) make() (simnet.Topology, uint64, error) {
	var x interface {
		simnet.Topology
		Nodes() uint64
	}
	var err error
	switch t.Kind {
	case FatTree:
		x, err = simnet.NewFatTree(t.Down, t.Up)
	case Torus:
		x, err = simnet.NewTorus(t.Dims)
	case Dragonfly:
		x, err = simnet.NewDragonfly(t.Groups, t.Routers, t.Ports)
	default:
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrPlatform, err)
	}
	return x, x.Nodes(), nil
}

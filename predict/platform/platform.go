// Package platform describes the machine that a run is predicted on: its nodes, links, topology, file system and collective
// operations, as a platform file has them (docs/platform.md). It reads and writes such files, takes those of other
// simulators over, fits links to measured times, and varies a machine along the axes of a sweep.
//
//	TOML, LogGOPSim, SimGrid, Dimemas -> Platform -> simnet.Network
//	LinkSamples -> LinkFit
//	Platform, []Axis -> Platform
//
// Times are picoseconds, rates picoseconds a byte with 32 binary places; numbers of files are exact decimals until they are
// rounded once. A Platform is read-only after it is read.
package platform

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// Platform is a machine as a platform file describes it. Network converts it for the simulator.
type Platform struct {
	Name       string
	Policy     network.Policy
	Contention network.Contention
	// NoRendezvousLatency counts one latency for a rendezvous instead of three (request, answer, data).
	NoRendezvousLatency bool

	Nodes        uint32 // 0: as many as the processes need
	RanksPerNode uint32 // 0: processes are spread evenly over Nodes, or one on each node if Nodes is 0 too
	NICs         uint32 // of a node
	Mapping      string // "block", "cyclic", or the path of a mapping table

	Scale Scale // computing time here divided by that on the host; not for computation with measured vectors

	// Links has the classes that the file gives; the others are nil. These use the next class that is given: self uses node, and node and
	// net use each other.
	Links [network.NumLinkClasses]*network.Link

	Topology Topology
	Files    FileSystem

	Gamma            network.Rate // time per byte of a reduction
	Collectives      network.Selection
	ModelCollectives bool

	folder string // folder of a relative Mapping
}

// FileSystem is a file system that all processes of a job share.
type FileSystem struct {
	Open   int64  // time of each operation, ps
	Client uint64 // limit of one process, bytes/s; 0: none
	Total  uint64 // limit of all processes together, bytes/s; 0: none
}

// Scale is a factor of times, Num/Den.
type Scale struct{ Num, Den uint64 }

// One is the factor 1.
var One = Scale{1, 1}

// Of returns t ps times the factor, rounded down, or [network.Never] if that does not fit.
func (s Scale) Of(t int64) int64 {
	if t <= 0 || s.Num == s.Den {
		return t
	}
	if v, ok := s.Checked(uint64(t)); ok {
		return v
	}
	return network.Never
}

// Checked returns t times the factor, rounded down. ok is false if that does not fit.
func (s Scale) Checked(t uint64) (int64, bool) {
	q, ok := s.Times(t)
	return int64(q), ok && q <= math.MaxInt64
}

// Times returns t times the factor, rounded down, and whether that fits 64 bits.
func (s Scale) Times(t uint64) (uint64, bool) {
	return exact.MulDiv(t, s.Num, s.Den)
}

// Compare compares factors exactly.
func (s Scale) Compare(o Scale) int {
	ah, al := bits.Mul64(s.Num, o.Den)
	bh, bl := bits.Mul64(o.Num, s.Den)
	return cmp.Or(cmp.Compare(ah, bh), cmp.Compare(al, bl))
}

// New returns the platform of an empty file.
func New() *Platform {
	return &Platform{NICs: 1, Mapping: "block", Scale: One}
}

// link returns the link that a class uses, or nil if the platform has no links.
func (p *Platform) link(c network.LinkClass) *network.Link {
	for _, o := range []network.LinkClass{c, network.LinkNode, network.LinkNet, network.LinkSelf} {
		if p.Links[o] != nil {
			return p.Links[o]
		}
	}
	return nil
}

// perNode returns the number of processes on a node.
func (p *Platform) perNode(processes uint32) uint32 {
	switch {
	case p.RanksPerNode != 0:
		return p.RanksPerNode
	case p.Nodes != 0:
		return uint32(max(1, (uint64(processes)+uint64(p.Nodes)-1)/uint64(p.Nodes)))
	}
	return 1
}

// Network returns the platform with this number of processes placed on it. It reads a mapping table from its file.
func (p *Platform) Network(processes uint32) (*network.Network, error) {
	per := p.perNode(processes)
	need := uint32((uint64(processes) + uint64(per) - 1) / uint64(per))
	n := &network.Network{
		Policy: p.Policy, Contention: p.Contention, NoRendezvousLatency: p.NoRendezvousLatency,
		Nodes: max(need, 1), RanksPerNode: per, NICs: max(p.NICs, 1),
		Gamma: p.Gamma, Collectives: p.Collectives, ModelCollectives: p.ModelCollectives,
		Files: network.FileSystem{Open: p.Files.Open, Client: perSecond(p.Files.Client), Total: perSecond(p.Files.Total)},
	}
	if p.Nodes != 0 {
		n.Nodes = p.Nodes
	}
	if need > n.Nodes && (p.Mapping == "block" || p.Mapping == "cyclic") {
		return nil, fmt.Errorf("%w: %d processes do not fit: %d nodes with %d each. Raise nodes.count or nodes.ranks_per_node", ErrInvalid, processes, n.Nodes, per)
	}
	for c := range network.NumLinkClasses {
		l := p.link(c)
		if l == nil {
			return nil, fmt.Errorf("%w: it has no links: give links.net or links.node", ErrInvalid)
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

// perSecond returns the time per byte for a bandwidth, rounded up, or 0 for no limit.
func perSecond(bytes uint64) network.Rate {
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
	return network.Rate(q)
}

// place puts the processes on the nodes of n. Block mapping needs no table.
func (p *Platform) place(n *network.Network, processes, need uint32) error {
	switch p.Mapping {
	case "block":
		return nil
	case "cyclic":
		// Round by round over all nodes; where the file gives no count, over those that are needed.
		over := need
		if p.Nodes != 0 {
			over = p.Nodes
		}
		n.Node = make([]uint32, processes)
		for i := range n.Node {
			n.Node[i] = uint32(i) % max(over, 1)
		}
		return nil
	}
	path := p.Mapping
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.folder, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: nodes.mapping: %w. Allowed are block, cyclic and the path of a table", ErrInvalid, err)
	}
	defer f.Close()
	n.Node, err = readMapping(f, path, processes, p.Nodes)
	if err != nil {
		return err
	}
	for _, node := range n.Node {
		n.Nodes = max(n.Nodes, node+1)
	}
	return nil
}

// maxNodes limits the number of a node in a table.
const maxNodes = 1 << 24

// readMapping reads a line "rank node" for each process, in any order. Nodes must be below count, unless that is 0. A # begins a comment.
func readMapping(r io.Reader, path string, processes, count uint32) ([]uint32, error) {
	node := make([]uint32, processes)
	seen := make([]bool, processes)
	limit := uint64(maxNodes)
	if count != 0 {
		limit = uint64(count)
	}
	fail := func(line int, format string, args ...any) error {
		return &tomltree.Error{Base: ErrInvalid, File: path, Line: line, Text: fmt.Sprintf(format, args...)}
	}
	left := processes
	s := bufio.NewScanner(r)
	line := 0
	for s.Scan() {
		line++
		text, _, _ := strings.Cut(s.Text(), "#")
		f := strings.Fields(text)
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 {
			return nil, fail(line, "%d words: each line is a rank and its node, as in 17 2", len(f))
		}
		rank, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil || rank >= uint64(processes) {
			return nil, fail(line, "rank %q: allowed are 0 to %d", tomltree.Clip(f[0]), int64(processes)-1)
		}
		at, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil || at >= limit {
			return nil, fail(line, "node %q: allowed are 0 to %d", tomltree.Clip(f[1]), limit-1)
		}
		if seen[rank] {
			return nil, fail(line, "rank %d has a node already", rank)
		}
		seen[rank], node[rank] = true, uint32(at)
		left--
	}
	if err := s.Err(); err != nil {
		return nil, fail(line+1, "%v", err)
	}
	if left != 0 {
		for rank, ok := range seen {
			if !ok {
				return nil, fail(line, "rank %d has no node: each of the %d processes needs a line", rank, processes)
			}
		}
	}
	return node, nil
}

// TopologyKind says how the nodes are connected.
type TopologyKind uint8

// Kinds of topologies.
const (
	Flat TopologyKind = iota // every node one hop from every other
	FatTree
	Torus
	Dragonfly
)

var topologyNames = []string{"flat", "fat-tree", "torus", "dragonfly"}

// Topology has the numbers that the platform file gives for a topology.
type Topology struct {
	Kind     TopologyKind
	Down, Up []uint32     // fat tree: for each level from the nodes up, the children of a switch and its parents
	Dims     []uint32     // torus
	Groups   uint32       // dragonfly
	Routers  uint32       // dragonfly: of each group
	Ports    uint32       // dragonfly: nodes of each router
	LinkRate network.Rate // of each link; 0: that of links.net
}

// topologyNeeds has the keys that each kind needs.
var topologyNeeds = [...][]string{FatTree: {"down", "up"}, Torus: {"dims"}, Dragonfly: {"groups", "routers", "ports"}}

// build makes the simulator's topology for the nodes of n. It returns ErrInvalid if there are too few places.
func (t *Topology) build(n *network.Network) (network.Topology, network.Rate, error) {
	rate := cmp.Or(t.LinkRate, n.Links[network.LinkNet].PerByte)
	x, err := t.make()
	if err == nil && x != nil && x.Nodes() < uint64(n.Nodes) {
		err = fmt.Errorf("%w: the %s has places for %d nodes, the platform has %d", ErrInvalid, topologyNames[t.Kind], x.Nodes(), n.Nodes)
	}
	return x, rate, err
}

// make returns the topology, or nil for a flat one.
func (t *Topology) make() (x network.Topology, err error) {
	switch t.Kind {
	case FatTree:
		x, err = network.NewFatTree(t.Down, t.Up)
	case Torus:
		x, err = network.NewTorus(t.Dims)
	case Dragonfly:
		x, err = network.NewDragonfly(t.Groups, t.Routers, t.Ports)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return x, nil
}

// Fingerprint returns a hash of the platform for this number of processes. It has the contents of a mapping table but no paths.
func (p *Platform) Fingerprint(processes uint32) ([32]byte, error) {
	q := *p
	var nodes []uint32
	if q.Mapping != "block" && q.Mapping != "cyclic" {
		n, err := p.Network(processes)
		if err != nil {
			return [32]byte{}, err
		}
		q.Mapping, nodes = "table", n.Node
	}
	var b bytes.Buffer
	if err := q.Write(&b); err != nil {
		return [32]byte{}, err
	}
	text := b.Bytes()
	for _, n := range nodes {
		text = binary.LittleEndian.AppendUint32(text, n)
	}
	return sha256.Sum256(text), nil
}

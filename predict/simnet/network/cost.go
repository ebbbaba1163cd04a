package network

import (
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Longest is the limit of any single time that the network or a message costs: a clock plus three of them does not wrap
// around, so an overflow is negative.
const Longest = 1 << 60

// Never is a time after all times.
const Never = math.MaxInt64

// AddTime and mulTime stop at Never; their arguments are not negative.
func AddTime(a, b int64) int64 {
	if a > Never-b {
		return Never
	}
	return a + b
}

func MulTime(n, t int64) int64 {
	if t != 0 && n > Never/t {
		return Never
	}
	return n * t
}

// Cost is what a message of a size costs on a class of links, in picoseconds.
type Cost struct {
	Send int64 // overhead of the processor that sends
	// The receiver's processor is busy for take, from land after the arrival of the first byte on: after the bytes under the
	// policy DMA, else with them.
	land, take int64
	Wire       int64 // of the bytes after the first
	Busy       int64 // of the network interface: the gap and the bytes
	Eager      bool
}

// Costs is the costs of messages by size and class: NumLinkClasses entries for a size.
type Costs struct {
	network *Network
	List    []Cost
	sizes   []uint64
	known   map[uint64]uint32 // the first entry of each size
	recent  [256]recentCost   // the sizes of a schedule are few
}

// NewCosts returns an empty table.
func NewCosts(n *Network) Costs {
	return Costs{network: n, known: map[uint64]uint32{}}
}

// Grown returns a table that begins with the same entries and adds others to a copy of them.
func (t *Costs) Grown() Costs {
	own := NewCosts(t.network)
	own.List, own.sizes = slices.Clip(t.List), slices.Clip(t.sizes)
	return own
}

// recentCost is a size that was asked for, and the number after its first entry; 0 is none.
type recentCost struct {
	bytes uint64
	after uint32
}

// At returns the first entry of a size.
func (t *Costs) At(bytes uint64) (uint32, error) {
	e := &t.recent[(bytes*31+bytes>>8)%uint64(len(t.recent))]
	if e.after > 0 && e.bytes == bytes {
		return e.after - 1, nil
	}
	first, ok := t.known[bytes]
	if ok {
		*e = recentCost{bytes, first + 1}
		return first, nil
	}
	first = uint32(len(t.List))
	for k := range t.network.Links {
		x, err := t.network.Links[k].cost(bytes, t.network.Policy)
		if err != nil {
			return 0, err
		}
		t.List = append(t.List, x)
	}
	t.sizes = append(t.sizes, bytes)
	t.known[bytes], *e = first, recentCost{bytes, first + 1}
	return first, nil
}

// Size returns the bytes of an entry.
func (t *Costs) Size(entry uint32) uint64 { return t.sizes[entry/uint32(NumLinkClasses)] }

// cost returns what a message costs, which must be within the limit.
func (l *Link) cost(bytes uint64, policy Policy) (x Cost, err error) {
	wire, over := l.Wire(bytes)
	x = Cost{Wire: wire, Eager: bytes <= l.Eager}
	x.Send, x.take, x.Busy = AddTime(l.SendOver, over), AddTime(l.RecvOver, over), AddTime(l.Gap, wire)
	if max(x.Send, x.take, x.Busy) > Longest {
		err = program.Errorf("a message of %d bytes takes longer than 13 days", bytes)
	}
	if policy == DMA {
		x.land = wire
	} else {
		x.take = AddTime(x.take, wire)
	}
	return x, err
}

// Receive takes a message that arrives at a, and returns the clocks of the processor and of the interface after it.
func (x *Cost) Receive(cpu, rx, a int64) (int64, int64) {
	a = max(a, rx)
	return max(cpu, a+x.land) + x.take, a + x.Busy
}

// CheckedLatency returns the latency between two processes, within the limit.
func (n *Network) CheckedLatency(src, dst uint32) (int64, error) {
	lat := n.Latency(src, dst)
	if lat < 0 || lat > Longest {
		return 0, program.Errorf("the latency from process %d to %d is longer than 13 days", src, dst)
	}
	return lat, nil
}

// Handshake returns the latency of the request and of the answer of a rendezvous on a channel.
func (n *Network) Handshake(lat int64) int64 {
	if n.NoRendezvousLatency {
		return 0
	}
	return lat
}

// FileTime returns what a file operation of one of some processes takes. All processes share the file system.
func (n *Network) FileTime(bytes, processes uint64) int64 {
	f := &n.Files
	all := f.Total.Of(exact.MulSat(bytes, processes))
	return AddTime(f.Open, max(f.Client.Of(bytes), all))
}

// Reduction returns how long a process takes to combine bytes with its own.
func (n *Network) Reduction(bytes uint64) (int64, error) {
	t := n.Gamma.Of(bytes)
	if t > Longest {
		return 0, program.Errorf("the reduction of %d bytes takes longer than 13 days", bytes)
	}
	return t, nil
}

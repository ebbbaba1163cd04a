package simnet

import (
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"math"
	"slices"
)

// largest is the limit of any single time that the network or a message costs: a clock plus three of them does not wrap
// around, so an overflow is negative.
const largest = 1 << 60

// Never is a time after all times.
const Never = math.MaxInt64

// addTime and mulTime stop at Never; their arguments are not negative.
func addTime(a, b int64) int64 {
	if a > Never-b {
		return Never
	}
	return a + b
}

func mulTime(n, t int64) int64 {
	if t != 0 && n > Never/t {
		return Never
	}
	return n * t
}

// cost is what a message of a size costs on a class of links, in picoseconds.
type cost struct {
	send int64 // overhead of the processor that sends
	// The receiver's processor is busy for take, from land after the arrival of the first byte on: after the bytes under the
	// policy DMA, else with them.
	land, take int64
	wire       int64 // of the bytes after the first
	busy       int64 // of the network interface: the gap and the bytes
	eager      bool
}

// costTable is the costs of messages by size and class: NumLinkClasses entries for a size.
type costTable struct {
	network *Network
	costs   []cost
	sizes   []uint64
	known   map[uint64]uint32 // the first entry of each size
	recent  [256]recentCost   // the sizes of a schedule are few
}

// newCosts returns an empty table.
func newCosts(n *Network) costTable {
	return costTable{network: n, known: map[uint64]uint32{}}
}

// grown returns a table that begins with the same entries and adds others to a copy of them.
func (t *costTable) grown() costTable {
	own := newCosts(t.network)
	own.costs, own.sizes = slices.Clip(t.costs), slices.Clip(t.sizes)
	return own
}

// recentCost is a size that was asked for, and the number after its first entry; 0 is none.
type recentCost struct {
	bytes uint64
	after uint32
}

// at returns the first entry of a size.
func (t *costTable) at(bytes uint64) (uint32, error) {
	e := &t.recent[(bytes*31+bytes>>8)%uint64(len(t.recent))]
	if e.after > 0 && e.bytes == bytes {
		return e.after - 1, nil
	}
	first, ok := t.known[bytes]
	if ok {
		*e = recentCost{bytes, first + 1}
		return first, nil
	}
	first = uint32(len(t.costs))
	for k := range t.network.Links {
		x, err := t.network.Links[k].cost(bytes, t.network.Policy)
		if err != nil {
			return 0, err
		}
		t.costs = append(t.costs, x)
	}
	t.sizes = append(t.sizes, bytes)
	t.known[bytes], *e = first, recentCost{bytes, first + 1}
	return first, nil
}

// size returns the bytes of an entry.
func (t *costTable) size(entry uint32) uint64 { return t.sizes[entry/uint32(NumLinkClasses)] }

// cost returns what a message costs, which must be within the limit.
func (l *Link) cost(bytes uint64, policy Policy) (x cost, err error) {
	wire, over := l.Wire(bytes)
	x = cost{wire: wire, eager: bytes <= l.Eager}
	x.send, x.take, x.busy = addTime(l.SendOver, over), addTime(l.RecvOver, over), addTime(l.Gap, wire)
	if max(x.send, x.take, x.busy) > largest {
		err = program.Errorf("a message of %d bytes takes longer than 13 days", bytes)
	}
	if policy == DMA {
		x.land = wire
	} else {
		x.take = addTime(x.take, wire)
	}
	return x, err
}

// receive takes a message that arrives at a, and returns the clocks of the processor and of the interface after it.
func (x *cost) receive(cpu, rx, a int64) (int64, int64) {
	a = max(a, rx)
	return max(cpu, a+x.land) + x.take, a + x.busy
}

// latency returns the latency between two processes, within the limit.
func (n *Network) latency(src, dst uint32) (int64, error) {
	lat := n.Latency(src, dst)
	if lat < 0 || lat > largest {
		return 0, program.Errorf("the latency from process %d to %d is longer than 13 days", src, dst)
	}
	return lat, nil
}

// handshake returns the latency of the request and of the answer of a rendezvous on a channel.
func (n *Network) handshake(lat int64) int64 {
	if n.NoRendezvousLatency {
		return 0
	}
	return lat
}

// fileTime returns what a file operation of one of some processes takes. All processes share the file system.
func (n *Network) fileTime(bytes, processes uint64) int64 {
	f := &n.Files
	all := f.Total.Of(mulSat(bytes, processes))
	return addTime(f.Open, max(f.Client.Of(bytes), all))
}

// reduction returns how long a process takes to combine bytes with its own.
func (n *Network) reduction(bytes uint64) (int64, error) {
	t := n.Gamma.Of(bytes)
	if t > largest {
		return 0, program.Errorf("the reduction of %d bytes takes longer than 13 days", bytes)
	}
	return t, nil
}

package network

import (
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Longest is the limit of any single time of the network or a message. A clock plus three of them overflows at most to a negative value,
// which is how an overflow is noticed.
const Longest = 1 << 60

// Never is later than all times.
const Never = math.MaxInt64

// AddTime and MulTime return at most Never. Their arguments must not be negative.
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
	Send int64 // overhead of the sender's processor
	// The receiver's processor is busy for take, from land after the arrival of the first byte on: with the policy DMA after all bytes have
	// arrived, else while they arrive.
	land, take int64
	Wire       int64 // transfer of the bytes after the first
	Busy       int64 // occupation of the network interface: gap and bytes
	Eager      bool
}

// Costs has the costs of messages by size and class: NumLinkClasses entries for each size.
type Costs struct {
	network *Network
	List    []Cost
	sizes   []uint64
	known   map[uint64]uint32 // first entry of each size
	recent  [256]recentCost   // a program has few sizes
}

// Free is the first entry of messages that take no time.
const Free = 0

// IsFree reports whether an entry is of messages that take no time.
func IsFree(entry uint32) bool { return entry < uint32(NumLinkClasses) }

// NewCosts returns a table of the entries of Free.
func NewCosts(n *Network) Costs {
	return Costs{network: n, known: map[uint64]uint32{}, List: slices.Repeat([]Cost{{Eager: true}}, int(NumLinkClasses)), sizes: []uint64{0}}
}

// Grown returns a copy of the table to which entries can be added.
func (t *Costs) Grown() Costs {
	own := NewCosts(t.network)
	own.List, own.sizes = slices.Clip(t.List), slices.Clip(t.sizes)
	return own
}

// recentCost is a size that was asked for, and the index of its first entry + 1; 0: none.
type recentCost struct {
	bytes uint64
	after uint32
}

// At returns the index of the first entry of a size. It adds the size if it is new.
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

// cost returns the cost of a message, or an error if a time is above Longest.
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

// Receive returns the clocks of the receiver's processor and interface after it has taken a message that arrives at a.
func (x *Cost) Receive(cpu, rx, a int64) (int64, int64) {
	a = max(a, rx)
	return max(cpu, a+x.land) + x.take, a + x.Busy
}

// CheckedLatency returns the latency between two processes, or an error if it is above Longest.
func (n *Network) CheckedLatency(src, dst uint32) (int64, error) {
	lat := n.Latency(src, dst)
	if lat < 0 || lat > Longest {
		return 0, program.Errorf("the latency from process %d to %d is longer than 13 days", src, dst)
	}
	return lat, nil
}

// Handshake returns the latency of the answer, and of the data, of a rendezvous on a channel with latency lat.
func (n *Network) Handshake(lat int64) int64 {
	if n.NoRendezvousLatency {
		return 0
	}
	return lat
}

// FileTime returns the time of a file operation of one process if processes processes share the file system.
func (n *Network) FileTime(bytes, processes uint64) int64 {
	f := &n.Files
	all := f.Total.Of(exact.MulSat(bytes, processes))
	return AddTime(f.Open, max(f.Client.Of(bytes), all))
}

// Reduction returns the time to combine bytes with a process's own.
func (n *Network) Reduction(bytes uint64) (int64, error) {
	t := n.Gamma.Of(bytes)
	if t > Longest {
		return 0, program.Errorf("the reduction of %d bytes takes longer than 13 days", bytes)
	}
	return t, nil
}

package network

import (
	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// closedLink has the parameters of closed forms.
type closedLink struct {
	link    *Link
	latency int64
	gamma   Rate
}

// hop returns the time from the start of a send of n bytes to the end of its receive on an idle network.
func (c *closedLink) hop(n uint64) int64 {
	wire, over := c.link.Wire(n)
	t := AddTime(AddTime(c.link.SendOver, over), c.latency)
	return AddTime(AddTime(t, wire), AddTime(c.link.RecvOver, over))
}

// spacing returns the time between the starts of two sends of n bytes by one process.
func (c *closedLink) spacing(n uint64) int64 {
	wire, over := c.link.Wire(n)
	return max(AddTime(c.link.SendOver, over), AddTime(c.link.Gap, wire))
}

// Closed returns the time of an algorithm on a communicator by its closed form, for ranks that contribute and get at most most bytes. over
// is how long a process that does not wait for others is busy to send put bytes. Times that do not fit are Never.
func (n *Network) Closed(alg Scheme, c *program.Comm, most, put uint64) (time, over int64) {
	link := n.closedLink(c)
	own, err := link.link.cost(put, n.Policy)
	if err != nil {
		return Never, 0
	}
	return closedForm(alg, c.Size, most, &link), own.Send
}

// closedForm returns the time of an algorithm from the moment when all ranks have entered until the last one leaves, on an idle network
// with one class of links. It is exact for powers of two with the policy DMA if a process's sends are at least a hop apart; else it is an
// estimate. With other sizes the surplus ranks cost two more hops. bytes is the size of the vector, or of one part. Times that do not fit
// are Never. It takes O(log size).
func closedForm(alg Scheme, size uint32, bytes uint64, c *closedLink) int64 {
	if size < 2 {
		return 0
	}
	s := NewSchedule(alg, size, 0, 0, bytes, bytes)
	peers, levels := int64(size-1), int64(s.levels)
	reduced := func(n uint64) int64 { return AddTime(c.hop(n), c.gamma.Of(n)) }
	switch alg {
	case BarrierDissemination:
		return MulTime(levels, c.hop(0))
	case BcastBinomial:
		return MulTime(levels, c.hop(bytes))
	case BarrierLinear:
		return AddTime(closedForm(GatherLinear, size, 0, c), closedForm(ScatterLinear, size, 0, c))
	case bcastScatterRing:
		return AddTime(c.halves(&s, bytes, false), MulTime(peers, c.hop(ceilShare(bytes, size))))
	case ReduceBinomial, scanDoubling:
		return MulTime(levels, reduced(bytes))
	case ReduceScatterGather, AllreduceRabenseifner:
		t := AddTime(c.halves(&s, bytes, true), c.halves(&s, bytes, false))
		return AddTime(t, c.fold(&s, bytes, bytes, alg == AllreduceRabenseifner))
	case allreduceDoubling:
		return AddTime(MulTime(int64(s.log), reduced(bytes)), c.fold(&s, bytes, bytes, true))
	case AllreduceRing:
		n := ceilShare(bytes, size)
		return AddTime(MulTime(2*peers, c.hop(n)), MulTime(peers, c.gamma.Of(n)))
	case GatherBinomial, scatterBinomial, AllgatherDoubling, AllgatherBruck:
		return c.doubled(size, bytes)
	case GatherLinear:
		wire, over := c.link.Wire(bytes)
		apart := max(AddTime(c.link.RecvOver, over), AddTime(c.link.Gap, wire))
		return AddTime(c.hop(bytes), MulTime(peers-1, apart))
	case ScatterLinear:
		return AddTime(c.hop(bytes), MulTime(peers-1, c.spacing(bytes)))
	case AllgatherRing, AlltoallPairwise:
		return MulTime(peers, c.hop(bytes))
	case AlltoallBruck:
		return MulTime(levels, c.hop(exact.MulSat(bytes, uint64(size/2))))
	case ReduceScatterPairwise:
		return MulTime(peers, reduced(bytes))
	case ReduceScatterHalving:
		all := exact.MulSat(bytes, uint64(size))
		return AddTime(c.halves(&s, all, true), c.fold(&s, all, bytes, true))
	}
	return Never
}

// halves returns the time of log messages of b/2, b/4, ... bytes.
func (c *closedLink) halves(s *Schedule, b uint64, reduce bool) int64 {
	t := int64(0)
	for k := uint32(1); k <= s.log; k++ {
		t = AddTime(t, c.hop(b>>k))
		if reduce {
			t = AddTime(t, c.gamma.Of(b>>k))
		}
	}
	return t
}

// doubled returns the time of messages of 1, 2, 4, ... parts, size-1 parts in total.
func (c *closedLink) doubled(size uint32, b uint64) int64 {
	t := int64(0)
	for d := uint64(1); d < uint64(size); d *= 2 {
		t = AddTime(t, c.hop(exact.MulSat(b, min(d, uint64(size)-d))))
	}
	return t
}

// fold returns the additional time for the ranks beyond a power of two.
func (c *closedLink) fold(s *Schedule, in, out uint64, back bool) int64 {
	if s.surp == 0 {
		return 0
	}
	t := AddTime(c.hop(in), c.gamma.Of(in))
	if back {
		t = AddTime(t, c.hop(out))
	}
	return t
}

func ceilShare(b uint64, n uint32) uint64 {
	q := b / uint64(n)
	if b%uint64(n) != 0 {
		q++
	}
	return q
}

// closedLink returns the parameters of the widest class of links between a communicator's ranks. Its latency is the greatest from rank 0 to
// ranks 1, 2, 4, ...
func (n *Network) closedLink(c *program.Comm) closedLink {
	far := closedLink{link: &n.Links[LinkSelf], gamma: n.Gamma}
	if c.Size == 0 {
		return far
	}
	class, first := LinkSelf, c.Process(0)
	for d := uint64(1); d < uint64(c.Size); d *= 2 {
		p := c.Process(uint32(d))
		class = max(class, n.Class(first, p))
		far.latency = max(far.latency, n.Latency(first, p))
	}
	far.link = &n.Links[class]
	return far
}

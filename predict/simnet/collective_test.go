package simnet

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// flying is one message of a collective operation in flight.
type flying struct {
	bytes uint64
	known []bool // whose data it may hold
	a     int64  // arrival of its first byte
}

// member is one rank in the slow evaluation of a collective operation.
type member struct {
	s                   network.Schedule
	p                   network.Progress
	known               []bool
	sent, got, combined uint64
	cpu, tx, rx         int64
	free                int64 // when the send of the step is complete
	posted              bool
}

// collective runs a collective operation rank by rank until nothing moves: messages in queues, times as in the rules of
// the dataflow engine. It fails the test when messages or ranks are left.
func collective(t *testing.T, alg network.Scheme, size, root uint32, bytes func(rank uint32) uint64, policy network.Policy) []member {
	t.Helper()
	ms := make([]member, size)
	for r := range ms {
		b := bytes(uint32(r))
		ms[r].s = network.NewSchedule(alg, size, uint32(r), root, b, b)
		ms[r].known = make([]bool, size)
		ms[r].known[r] = true
	}
	queues := map[[2]int32][]flying{}
	for moved := true; moved; {
		moved = false
		for r := range ms {
			for ms[r].p.Next < ms[r].s.Steps && ms[r].advance(int32(r), queues, policy) {
				moved = true
			}
		}
	}
	for r := range ms {
		if ms[r].p.Next != ms[r].s.Steps {
			t.Fatalf("%v of %d ranks: rank %d stops at step %d of %d", alg.String(), size, r, ms[r].p.Next, ms[r].s.Steps)
		}
	}
	for ch, q := range queues {
		if len(q) != 0 {
			t.Fatalf("%v of %d ranks: nobody receives a message from %d to %d", alg.String(), size, ch[0], ch[1])
		}
	}
	return ms
}

var testLink = network.Link{
	Latency: 2_500_000, SendOver: 1_500_000, RecvOver: 1_500_000, Gap: 1_000_000, PerByte: 6000 << 32, Eager: 65535,
}

// advance performs a step, or its first half.
func (m *member) advance(r int32, queues map[[2]int32][]flying, policy network.Policy) bool {
	l := &testLink
	st := m.s.At(&m.p)
	if !m.posted && st.To != network.Nobody {
		start := max(m.cpu, m.tx)
		wire, _ := l.Wire(st.Send)
		m.tx = start + l.Gap + wire
		m.free = start + l.SendOver
		m.cpu += l.SendOver
		ch := [2]int32{r, st.To}
		queues[ch] = append(queues[ch], flying{st.Send, slices.Clone(m.known), start + l.SendOver + l.Latency})
		m.sent += st.Send
	}
	m.posted = true
	if st.From != network.Nobody {
		ch := [2]int32{st.From, r}
		if len(queues[ch]) == 0 {
			return false
		}
		msg := queues[ch][0]
		queues[ch] = queues[ch][1:]
		wire, _ := l.Wire(msg.bytes)
		at := max(msg.a, m.rx)
		m.rx = at + l.Gap + wire
		if policy == network.DMA {
			m.cpu = max(m.cpu, at+wire) + l.RecvOver
		} else {
			m.cpu = max(m.cpu, at) + l.RecvOver + wire
		}
		m.got += msg.bytes
		m.combined += st.Reduce
		for i, k := range msg.known {
			m.known[i] = m.known[i] || k
		}
		m.p.Received(msg.bytes)
	}
	m.cpu = max(m.cpu, m.free)
	m.p.Next++
	m.posted = false
	return true
}

func equal(n uint64) func(uint32) uint64 { return func(uint32) uint64 { return n } }

// TestScheduleReaches: data of whom each needs gets there, over messages that are all received in order, and no bytes are
// missing.
func TestScheduleReaches(t *testing.T) {
	t.Parallel()
	for alg := range network.NumSchemes {
		kind := alg.Kind()
		for size := uint32(1); size <= 37; size++ {
			if alg.Fit(size) != alg {
				continue
			}
			for _, root := range []uint32{0, 1 % size, size / 2, size - 1} {
				ms := collective(t, alg, size, root, equal(1000), network.DMA)
				if !kind.Rooted() {
					root = 0
				}
				for r := range ms {
					for o, known := range ms[r].known {
						if need := needs(kind, uint32(r), uint32(o), root); need && !known || kind == program.Scan && known != need {
							t.Fatalf("%s of %d ranks, root %d: rank %d knows of %d: %v", alg.String(), size, root, r, o, known)
						}
					}
				}
				checkBytes(t, alg, ms, size, root)
			}
		}
	}
}

func needs(kind program.CollKind, rank, other, root uint32) bool {
	switch kind {
	case program.Bcast, program.Scatter:
		return other == root
	case program.Reduce, program.Gather:
		return rank == root
	case program.Scan:
		return other <= rank
	}
	return true
}

// checkBytes compares what ranks get and combine with what the operation demands.
func checkBytes(t *testing.T, alg network.Scheme, ms []member, size, root uint32) {
	t.Helper()
	const b = 1000
	n := uint64(size)
	var got, combined uint64
	for r := range ms {
		got += ms[r].got
		combined += ms[r].combined
		switch alg {
		case network.AllgatherBruck, network.AllgatherDoubling, network.AllgatherRing, network.AlltoallPairwise, network.ReduceScatterPairwise:
			if ms[r].got != (n-1)*b {
				t.Fatalf("%s of %d: rank %d gets %d", alg.String(), size, r, ms[r].got)
			}
		}
	}
	want := map[network.Scheme]uint64{
		network.BcastBinomial: (n - 1) * b, network.ReduceBinomial: (n - 1) * b, network.GatherLinear: (n - 1) * b, network.ScatterLinear: (n - 1) * b,
		network.AllreduceRing: 2 * (n - 1) * b,
	}
	if w, ok := want[alg]; ok && got != w {
		t.Fatalf("%s of %d: %d bytes in all, not %d", alg.String(), size, got, w)
	}
	switch alg {
	case network.ReduceBinomial, network.ReduceScatterGather, network.AllreduceRabenseifner, network.AllreduceRing:
		if combined != (n-1)*b {
			t.Fatalf("%s of %d: %d bytes combined", alg.String(), size, combined)
		}
	case network.ReduceScatterHalving, network.ReduceScatterPairwise:
		if combined != n*(n-1)*b {
			t.Fatalf("%s of %d: %d bytes combined", alg.String(), size, combined)
		}
	case network.GatherBinomial:
		if ms[root].got != (n-1)*b {
			t.Fatalf("gather of %d: root gets %d", size, ms[root].got)
		}
	case network.AlltoallBruck:
		if moved := n * bitsBelow(n); got != moved*b {
			t.Fatalf("bruck of %d: %d bytes", size, got)
		}
	}
}

// bitsBelow counts the ones of all numbers below n.
func bitsBelow(n uint64) uint64 {
	c := uint64(0)
	for i := range n {
		for ; i != 0; i &= i - 1 {
			c++
		}
	}
	return c
}

// TestScheduleVaries: parts of different sizes all arrive.
func TestScheduleVaries(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for size := uint32(2); size < 20; size++ {
		parts := make([]uint64, size)
		sum := uint64(0)
		for i := range parts {
			parts[i] = rng.Uint64N(5000)
			sum += parts[i]
		}
		of := func(r uint32) uint64 { return parts[r] }
		for _, alg := range []network.Scheme{network.GatherBinomial, network.GatherLinear, network.AllgatherRing, network.AllgatherDoubling} {
			if alg.Fit(size) != alg {
				continue
			}
			for r, m := range collective(t, alg, size, 0, of, network.DMA) {
				if (r == 0 || alg.Kind() == program.Allgather) && m.got != sum-parts[r] {
					t.Errorf("%s of %d: rank %d gets %d of %d", alg.String(), size, r, m.got, sum-parts[r])
				}
			}
		}
	}
}

func makespan(ms []member) int64 {
	last := int64(0)
	for r := range ms {
		last = max(last, ms[r].cpu)
	}
	return last
}

// TestScheduleTimes: figures that LogGOPSim gives for the same algorithms.
func TestScheduleTimes(t *testing.T) {
	t.Parallel()
	for _, c := range collectiveTimes {
		if got := makespan(collective(t, c.alg, c.size, 0, equal(c.bytes), c.policy)); got != c.ns*1000 {
			t.Errorf("%s of %d, %d bytes: %d ps, want %d ns", c.alg.String(), c.size, c.bytes, got, c.ns)
		}
	}
}

// collectiveTimes are makespans on the network of the comparison.
var collectiveTimes = []struct {
	alg    network.Scheme
	size   uint32
	bytes  uint64
	policy network.Policy
	ns     int64
}{
	{network.BcastBinomial, 8, 1, network.Copy, 16500},
	{network.BcastBinomial, 1024, 1, network.Copy, 55000},
	{network.BcastBinomial, 1024, 1024, network.Copy, 116380},
	{network.ReduceBinomial, 8, 1024, network.Copy, 34914},
	{network.BarrierDissemination, 8, 0, network.Copy, 16500},
	{network.BarrierDissemination, 1024, 0, network.Copy, 55000},
	{network.AllreduceRing, 8, 8 * 1024, network.Copy, 162932},
	{network.AllreduceRing, 64, 64 * 1024, network.Copy, 1466388},
	{network.GatherLinear, 16, 1024, network.Copy, 118570},
	{network.GatherLinear, 16, 1024, network.DMA, 111570},
	{network.ScatterLinear, 16, 1024, network.Copy, 111570},
	{network.BarrierLinear, 16, 0, network.Copy, 53000},
}

// TestClosedForms: on powers of two the closed forms are the schedules' times.
func TestClosedForms(t *testing.T) {
	t.Parallel()
	n := oracleNet(network.DMA)
	for alg := range network.NumSchemes {
		for _, size := range []uint32{1, 2, 4, 8, 16, 32, 64} {
			if alg.Fit(size) != alg {
				continue
			}
			for _, bytes := range []uint64{0, 64, 4096, 1 << 20} {
				if alg.Kind() == program.Barrier {
					bytes = 0
				}
				want := makespan(collective(t, alg, size, 0, equal(bytes), network.DMA))
				if got, _ := n.Closed(alg, &program.Comm{Size: size}, bytes, bytes); got != want {
					t.Errorf("%s %s of %d, %d bytes: closed form %d, steps %d", names[alg.Kind()], alg.String(), size, bytes, got, want)
				}
			}
		}
	}
}

var names = [program.NumCollKinds]string{
	"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce-scatter", "scan",
}

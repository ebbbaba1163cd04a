package network

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Nobody means that half of a step is missing.
const Nobody = -1

// Step is one step of a rank in a collective operation: MPI_Sendrecv, or half of it. Both halves are posted; above the eager limit the send
// waits for the receive. After the message has arrived the process combines Reduce bytes with its own. The sender determines the size of a
// message.
type Step struct {
	To, From int32 // ranks of the communicator, or Nobody
	Send     uint64
	Reduce   uint64
}

// Progress is the progress of a rank in a collective operation. The zero value is the begin.
type Progress struct {
	Next uint32 // number of the next step
	Last uint64 // bytes of the last message received
	Sum  uint64 // bytes received so far
}

// Received notes the size of the message that a step received.
func (p *Progress) Received(n uint64) {
	p.Last = n
	p.Sum = addSat(p.Sum, n)
}

// Schedule is the sequence of steps of one rank in a collective operation. Steps are computed on demand. On every channel, messages arrive
// in the order of their sender's steps. A schedule depends only on the arguments of NewSchedule, so it need not be kept while a rank waits.
type Schedule struct {
	alg        Scheme
	size       uint32
	rank       uint32
	virtual    uint32 // rank relative to the root
	root       uint32
	Steps      uint32 // of this rank
	pow, surp  uint32 // largest power of two up to size; ranks beyond it
	log        uint32 // pow = 1 << log
	levels     uint32 // least l with 1<<l >= size
	bytes, got uint64 // bytes contributed and received; of one part if there is one for each rank
}

// At returns step p.Next, which must be less than Steps. It takes O(1).
func (s *Schedule) At(p *Progress) Step { return algorithms[s.alg].step(s, p.Next, p) }

// NewSchedule returns the schedule of one rank. A root outside of the communicator counts as rank 0.
func NewSchedule(alg Scheme, size, rank, root uint32, bytes, got uint64) Schedule {
	if root >= size || !alg.Kind().Rooted() {
		root = 0
	}
	s := Schedule{alg: alg, size: size, rank: rank, root: root, virtual: rank - root, bytes: bytes, got: got}
	if rank < root {
		s.virtual += size
	}
	if size < 2 {
		return s
	}
	s.log = uint32(bits.Len32(size)) - 1
	s.levels = uint32(bits.Len32(size - 1))
	s.pow = 1 << s.log
	s.surp = size - s.pow
	s.Steps = algorithms[alg].steps(&s)
	return s
}

// Scheme is an algorithm for a kind of collective operation.
type Scheme uint8

const (
	BarrierDissemination Scheme = iota
	BarrierLinear
	BcastBinomial
	bcastScatterRing
	ReduceBinomial
	ReduceScatterGather
	allreduceDoubling
	AllreduceRabenseifner
	AllreduceRing
	GatherBinomial
	GatherLinear
	scatterBinomial
	ScatterLinear
	AllgatherDoubling
	AllgatherBruck
	AllgatherRing
	AlltoallBruck
	AlltoallPairwise
	ReduceScatterHalving
	ReduceScatterPairwise
	scanDoubling
	NumSchemes
)

// algorithms describes each algorithm: kind, name in platform files, number of steps of a rank (size is at least 2), and step i.
var algorithms = [NumSchemes]struct {
	kind  program.CollKind
	name  string
	steps func(s *Schedule) uint32
	step  func(s *Schedule, i uint32, p *Progress) Step
}{
	BarrierDissemination:  {program.Barrier, "dissemination", levelSteps, disseminationStep},
	BarrierLinear:         {program.Barrier, "linear", linearBarrierSteps, linearBarrierStep},
	BcastBinomial:         {program.Bcast, "binomial", treeSteps, bcastStep},
	bcastScatterRing:      {program.Bcast, "scatter-ring", scatterRingSteps, scatterRingStep},
	ReduceBinomial:        {program.Reduce, "binomial", treeSteps, reduceStep},
	ReduceScatterGather:   {program.Reduce, "reduce-scatter-gather", reduceGatherSteps, reduceGatherStep},
	allreduceDoubling:     {program.Allreduce, "recursive-doubling", doublingSteps, doublingStep},
	AllreduceRabenseifner: {program.Allreduce, "rabenseifner", rabenseifnerSteps, rabenseifnerStep},
	AllreduceRing:         {program.Allreduce, "ring", ringReduceSteps, ringReduceStep},
	GatherBinomial:        {program.Gather, "binomial", treeSteps, gatherStep},
	GatherLinear:          {program.Gather, "linear", linearSteps, linearGatherStep},
	scatterBinomial:       {program.Scatter, "binomial", treeSteps, scatterStep},
	ScatterLinear:         {program.Scatter, "linear", linearSteps, linearScatterStep},
	AllgatherDoubling:     {program.Allgather, "recursive-doubling", levelSteps, gatherDoublingStep},
	AllgatherBruck:        {program.Allgather, "bruck", levelSteps, gatherBruckStep},
	AllgatherRing:         {program.Allgather, "ring", peerSteps, gatherRingStep},
	AlltoallBruck:         {program.Alltoall, "bruck", levelSteps, alltoallBruckStep},
	AlltoallPairwise:      {program.Alltoall, "pairwise", peerSteps, pairwiseStep},
	ReduceScatterHalving:  {program.ReduceScatter, "recursive-halving", doublingSteps, halvingStep},
	ReduceScatterPairwise: {program.ReduceScatter, "pairwise", peerSteps, pairwiseReduceStep},
	scanDoubling:          {program.Scan, "recursive-doubling", levelSteps, scanStep},
}

// Kind returns the kind of operation that the algorithm performs.
func (a Scheme) Kind() program.CollKind { return algorithms[a].kind }

// String returns the name in platform files.
func (a Scheme) String() string { return algorithms[a].name }

// Algorithm is an algorithm for operations of at most Max bytes.
type Algorithm struct {
	Max uint64
	Scheme
}

// defaults are the algorithms of a network that does not choose. The sizes are those of MPICH (Thakur, Rabenseifner, Gropp 2005).
var defaults = Selection{
	program.Barrier:       {{AnySize, BarrierDissemination}},
	program.Bcast:         {{12<<10 - 1, BcastBinomial}, {AnySize, bcastScatterRing}},
	program.Reduce:        {{2 << 10, ReduceBinomial}, {AnySize, ReduceScatterGather}},
	program.Allreduce:     {{2 << 10, allreduceDoubling}, {AnySize, AllreduceRabenseifner}},
	program.Gather:        {{AnySize, GatherBinomial}},
	program.Scatter:       {{AnySize, scatterBinomial}},
	program.Allgather:     {{512<<10 - 1, AllgatherDoubling}, {AnySize, AllgatherRing}},
	program.Alltoall:      {{256, AlltoallBruck}, {AnySize, AlltoallPairwise}},
	program.ReduceScatter: {{512<<10 - 1, ReduceScatterHalving}, {AnySize, ReduceScatterPairwise}},
	program.Scan:          {{AnySize, scanDoubling}},
}

const AnySize = 1<<64 - 1

// Selection has the algorithms of each kind, ordered by size.
type Selection [program.NumCollKinds][]Algorithm

// Schemes returns the algorithms for a kind.
func Schemes(kind program.CollKind) (list []Scheme) {
	for i, a := range algorithms {
		if a.kind == kind {
			list = append(list, Scheme(i))
		}
	}
	return list
}

// Pick returns the algorithm of a collective operation on size ranks. All ranks must choose the same one, so they use a size that they all
// know: the whole vector for reductions and broadcasts, all parts together for allgather and reduce-scatter, one part for the others. With
// Varying parts they know no common size, so the algorithm does not depend on it.
func (s *Selection) Pick(a *program.Action, size uint32) Scheme {
	if a.Flags&program.Varying != 0 {
		switch a.Coll {
		case program.Gather:
			return GatherLinear
		case program.Scatter:
			return ScatterLinear
		case program.Alltoall:
			return AlltoallPairwise
		}
	}
	n := a.Bytes
	switch a.Coll {
	case program.Bcast, program.Gather, program.Scatter:
		n = max(a.Bytes, a.Recv)
	case program.Allgather:
		n = a.Recv
		if n == 0 {
			n = a.Bytes
		}
		n = exact.MulSat(n, uint64(size))
	case program.ReduceScatter:
		n = exact.MulSat(n, uint64(size))
	}
	return s.bySize(a.Coll, n).Fit(size)
}

// bySize returns the first algorithm whose Max is at least n, else the last one.
func (s *Selection) bySize(kind program.CollKind, n uint64) Scheme {
	own := s[kind]
	if len(own) == 0 {
		own = defaults[kind]
	}
	for _, c := range own[:len(own)-1] {
		if n <= c.Max {
			return c.Scheme
		}
	}
	return own[len(own)-1].Scheme
}

// Fit replaces an algorithm that does not work, or is slow, for this many ranks.
func (alg Scheme) Fit(size uint32) Scheme {
	switch {
	case alg == AllgatherDoubling && size&(size-1) != 0:
		return AllgatherBruck
	case alg == bcastScatterRing && size < 8:
		return BcastBinomial
	}
	return alg
}

// addSat is a + b, at most AnySize. Times for so many bytes are refused later.
func addSat(a, b uint64) uint64 {
	s, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return AnySize
	}
	return s
}

// share returns floor(b*i/n) for i <= n: the begin of part i of n nearly equal parts of b bytes.
func share(b uint64, i, n uint32) uint64 {
	q, _ := exact.MulDiv(b, uint64(i), uint64(n))
	return q
}

// part returns the bytes of parts [from, to) of n.
func part(b uint64, from, to, n uint32) uint64 { return share(b, to, n) - share(b, from, n) }

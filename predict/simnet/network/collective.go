package network

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Nobody is the partner of a half of a step that is not there.
const Nobody = -1

// Step is one step of a rank in a collective operation: MPI_Sendrecv, or one half of it. Both are posted, the send is eager
// at any size, and when the message is there the process combines Reduce bytes with its own. A message has the size its
// sender gives it.
type Step struct {
	To, From int32 // ranks of the communicator, or nobody
	Send     uint64
	Reduce   uint64
}

// Progress is how far a rank is in a collective operation. The zero value is the beginning.
type Progress struct {
	Next uint32 // number of the next step
	Last uint64 // bytes of the message received last
	Sum  uint64 // bytes received so far
}

// Received notes that the message of a step came, and how large it is.
func (p *Progress) Received(n uint64) {
	p.Last = n
	p.Sum = addSat(p.Sum, n)
}

// Schedule is a collective operation as one rank performs it: so many steps, computed when asked for. On every channel the
// messages come in the order in which their sender's steps send them. A schedule is a value that its arguments determine,
// so it need not be kept while a rank waits.
type Schedule struct {
	alg        Scheme
	size       uint32
	rank       uint32
	virtual    uint32 // rank relative to the root
	root       uint32
	Steps      uint32 // of this rank
	pow, surp  uint32 // largest power of two not above size, and the ranks above it
	log        uint32 // pow = 1 << log
	levels     uint32 // least l with 1<<l >= size
	bytes, got uint64 // what the rank puts in and gets, of an operation with parts for each one part
}

// At returns step p.Next, which is below steps. It costs O(1).
func (s *Schedule) At(p *Progress) Step { return algorithms[s.alg].step(s, p.Next, p) }

// NewSchedule makes the schedule of one rank. A root outside the communicator counts as rank 0.
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

// Scheme is a way to perform a kind of collective operation.
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

// algorithms describes each algorithm: the operation, the name in platform files, the number of steps of a rank (of at
// least two), and its i-th step.
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

// Kind returns the operation that the algorithm performs.
func (a Scheme) Kind() program.CollKind { return algorithms[a].kind }

// String returns the name in platform files.
func (a Scheme) String() string { return algorithms[a].name }

// Algorithm is the way to perform operations of at most Max bytes.
type Algorithm struct {
	Max uint64
	Scheme
}

// defaults are the choices of a network that has none of its own; the switch points are the classic ones of MPICH
// (Thakur, Rabenseifner, Gropp 2005).
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

// Selection is the algorithms of each kind, by size.
type Selection [program.NumCollKinds][]Algorithm

// Schemes returns those of a kind.
func Schemes(kind program.CollKind) (list []Scheme) {
	for i, a := range algorithms {
		if a.kind == kind {
			list = append(list, Scheme(i))
		}
	}
	return list
}

// Pick returns the algorithm of a collective operation on size ranks. All ranks must come to the same: the size in bytes is
// the one they agree about. It is that of the whole vector for reductions and broadcasts, of all parts together for
// gathers to all and reductions with scattered results, and of one part for the others. With Varying parts no two ranks need
// know the same, so there the algorithm is one that does not depend on sizes.
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

// bySize returns the algorithm of the first choice that n fits into, else of the last.
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

// Fit replaces an algorithm that does not work, or does not pay, for that many ranks.
func (alg Scheme) Fit(size uint32) Scheme {
	switch {
	case alg == AllgatherDoubling && size&(size-1) != 0:
		return AllgatherBruck
	case alg == bcastScatterRing && size < 8:
		return BcastBinomial
	}
	return alg
}

// addSat stops at the largest number: times of so many bytes are refused where they are added up.
func addSat(a, b uint64) uint64 {
	s, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return AnySize
	}
	return s
}

// share returns floor(b*i/n) for i <= n: where part i of n nearly equal parts of b bytes begins.
func share(b uint64, i, n uint32) uint64 {
	q, _ := exact.MulDiv(b, uint64(i), uint64(n))
	return q
}

// part returns the bytes of parts [from, to) of n.
func part(b uint64, from, to, n uint32) uint64 { return share(b, to, n) - share(b, from, n) }

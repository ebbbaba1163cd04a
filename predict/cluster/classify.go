package cluster

import (
	"cmp"
	"context"
	"runtime"

	"github.com/coppice-hpc/coppice/mpi"
)

// Classify clusters the vectors of all ranks. The result is the same for any number of ranks and workers. An error is
// the same on every rank; errors.Is finds the sentinels of this package. Collective.
func Classify(ctx context.Context, c mpi.Comm, v Vectors, o Options) (*Result, error) {
	return classify(ctx, c, v, o, mostAlone, mostDense)
}

// Points of the largest part that one rank of several does alone, 32 MiB of narrow distances, and of the largest that is not divided
// further, 8 MiB.
const (
	mostAlone = 4096
	mostDense = 2000
)

// classify goes through the stages: survey, points, parts, merges, cut, representatives.
func classify(ctx context.Context, c mpi.Comm, v Vectors, o Options, alone, dense int) (*Result, error) {
	t := &team{ctx: ctx, comm: c, rank: c.Rank(), size: c.Size(), workers: o.Workers}
	if err := t.agree(o.check()); err != nil {
		return nil, err
	}
	o.setDefaults()
	t.workers = o.Workers
	r, err := t.introduce(v, o)
	if err != nil || r.members == 0 {
		return &Result{}, err
	}
	if err := r.survey(); err != nil {
		return nil, err
	}
	s, err := r.space()
	if err != nil {
		return nil, err
	}
	x := splitter{space: s, height: s.units(r.threshold), dense: dense}
	parts, err := x.split(r.threshold)
	if err != nil {
		return nil, err
	}
	if err := x.coarsen(parts); err != nil { // the same on all ranks
		return nil, err
	}
	height := s.units(r.threshold)
	res := &Result{Members: r.members, Distinct: uint32(len(s.pts)), Fraction: s.fraction, Components: uint32(len(parts))}
	for _, p := range parts {
		res.Largest = max(res.Largest, uint32(len(p)))
	}
	m := merger{space: s, alone: alone, radius: height / 4, window: s.window(r.threshold/4 + 1)}
	m.approximation.Rounded = r.rounded
	links, err := m.links(parts)
	if err != nil {
		return nil, err
	}
	res.Approximation = m.approximation
	label, err := (&cutter{s, res}).finish(links, whole(height))
	if err != nil {
		return nil, err
	}
	return res, (&election{s, res.Classes}).run(label)
}

func (o *Options) setDefaults() {
	o.ExactMax = cmp.Or(o.ExactMax, defaultExactMax)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Full = o.Full || o.MaxClasses > 0
}

// mean tells whether heights are means, which are kept as sums over pairs of members.
func (o *Options) mean() bool { return o.Linkage == Average || o.Linkage == Centroid }

// decisive returns the options that decide the result, as bytes.
func (o *Options) decisive() []byte {
	full := uint64(0)
	if o.Full {
		full = 1
	}
	return pack([]uint64{
		uint64(o.Metric), uint64(o.Linkage), uint64(o.Representative), o.Threshold.Absolute, uint64(o.Threshold.PPM), uint64(o.MaxClasses),
		uint64(o.Quantum), full, uint64(o.ExactMax),
	})
}

// Vectors are the members that this rank has, and their vectors.
type Vectors interface {
	// Len is the number of members, which may be 0.
	Len() int
	// ID is the number of member i, such as its process: ascending in i, and different from the ids of all ranks.
	ID(i int) uint32
	// Dim is the number of entries, the same for all members of all ranks. A rank without members is not asked.
	Dim() uint64
	// Read sets dst to the entries from on of member i. A pass over the vectors goes from low entries to high ones,
	// in pieces, all members of the rank for each piece; there are at least two passes. One goroutine reads at a time.
	Read(i int, from uint64, dst []int64) error
}

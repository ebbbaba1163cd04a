package cluster

import (
	"context"
	"fmt"
	"math"
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
	height := s.units(r.threshold)
	parts, err := s.split(r.threshold, height, dense)
	if err != nil {
		return nil, err
	}
	if err := s.coarsen(parts); err != nil { // the same on all ranks
		return nil, err
	}
	height = s.units(r.threshold)
	res := &Result{Members: r.members, Distinct: uint32(len(s.pts)), Fraction: s.fraction, Components: uint32(len(parts))}
	for _, p := range parts {
		res.Largest = max(res.Largest, uint32(len(p)))
	}
	res.Approximation.Rounded = r.rounded
	links, err := s.links(parts, alone, height/4, s.window(r.threshold/4+1), &res.Approximation)
	if err != nil {
		return nil, err
	}
	label, err := s.finish(res, links, whole(height))
	if err != nil {
		return nil, err
	}
	return res, s.represent(res, label)
}

func (o *Options) setDefaults() {
	if o.ExactMax == 0 {
		o.ExactMax = defaultExactMax
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Full = o.Full || o.MaxClasses > 0
}

// mean tells whether heights are means, which are kept as sums over pairs of members.
func (o *Options) mean() bool { return o.Linkage == Average || o.Linkage == Centroid }

// decisive returns the options that decide the result, as bytes.
func (o *Options) decisive() []byte {
	full := uint32(0)
	if o.Full {
		full = 1
	}
	b := putUint32(nil, uint32(o.Metric), uint32(o.Linkage), uint32(o.Representative), o.Threshold.PPM, o.MaxClasses,
		o.Quantum, full, o.ExactMax)
	return putUint64(b, o.Threshold.Absolute)
}

// links clusters all parts: small ones on one rank each, large ones on all ranks together, and of those that are too
// large the leaders.
func (s *space) links(parts [][]int32, alone int, radius, window uint64, a *Approximation) ([]link, error) {
	if s.o.Linkage == Centroid {
		return s.centroid()
	}
	var small [][]int32
	var list []link
	for _, p := range parts {
		if uint64(len(p)) > uint64(s.o.ExactMax) {
			leaders, links, err := s.thin(p, radius, window)
			if err != nil {
				return nil, err
			}
			a.Leaders, a.Led, a.Radius = a.Leaders+uint32(len(leaders)), a.Led+uint32(len(p)-len(leaders)), radius
			p, list = leaders, append(list, links...)
		}
		if s.size == 1 {
			alone = len(p)
		}
		if err := s.agree(s.room(p, alone)); err != nil {
			return nil, err
		}
		if len(p) <= alone {
			small = append(small, p)
			continue
		}
		links, err := s.share(p)
		if err != nil {
			return nil, err
		}
		list = append(list, links...)
	}
	links, err := s.local(small)
	return append(list, links...), err
}

// room reports a part whose distances do not fit.
func (s *space) room(points []int32, alone int) error {
	f := s.form(points)
	e := uint64(8)
	switch {
	case f.narrow:
		e = 4
	case f.measure == squaresWide:
		e = 16
	}
	n := uint64(len(points))
	cells := n * (n - 1) / 2
	if len(points) > alone {
		cells = ((n-1)/uint64(s.size) + 1) * (n + uint64(s.size)) / 2
	}
	if limit := uint64(s.o.Distances); cells > math.MaxInt/e || limit > 0 && cells*e > limit {
		return fmt.Errorf("%w: a part of %d distinct vectors takes %d MiB on each of %d ranks; use more ranks, a lower "+
			"threshold, or let leaders stand for more than a lower number of vectors", ErrMemory, n, cells*e>>20, s.size)
	}
	return nil
}

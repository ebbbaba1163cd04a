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
	return newJob(ctx, c, v, o).run()
}

func newJob(ctx context.Context, c mpi.Comm, v Vectors, o Options) *job {
	return &job{ctx: ctx, c: c, v: v, o: o, rank: c.Rank(), size: c.Size(), alone: mostAlone, dense: mostDense}
}

func (j *job) run() (*Result, error) {
	if err := j.agree(j.o.check()); err != nil {
		return nil, err
	}
	j.setDefaults()
	origin, err := j.introduce()
	if err != nil {
		return nil, err
	}
	if j.members == 0 {
		return &Result{}, nil
	}
	list, total, err := j.survey(origin)
	if err != nil {
		return nil, err
	}
	rounded := []int64{0}
	for i := range list {
		rounded[0] = max(rounded[0], int64(list[i].moved))
	}
	if err := j.c.AllreduceInt64(rounded, mpi.Max); err != nil {
		return nil, err
	}
	if err := j.dedupe(list); err != nil {
		return nil, err
	}
	j.approximation.Rounded = uint64(rounded[0])
	if err := j.keep(); err != nil {
		return nil, err
	}
	return j.cluster(j.threshold(total))
}

// job is one rank's part of a call of Classify.
type job struct {
	ctx        context.Context
	c          mpi.Comm
	v          Vectors
	o          Options
	rank, size int

	dim      uint64
	members  uint32 // of all ranks
	fraction uint8
	pts      []point // ascending ids
	own      []own   // the points of this rank, ascending
	member   []int32 // point of each member of this rank
	kept     []int64 // the vectors of own, one after the other, or nil where they take too much memory

	reach []uint64 // of each point, the distance to one point that is the same for its whole part

	alone         int // points of the largest part that one rank of several does alone
	dense         int // points of the largest part that is not divided further
	approximation Approximation
}

// The defaults of job.alone, 32 MiB of narrow distances, and job.dense, 8 MiB.
const (
	mostAlone = 4096
	mostDense = 2000
)

// own is a point of this rank.
type own struct{ point, member int32 }

func (j *job) setDefaults() {
	if j.o.ExactMax == 0 {
		j.o.ExactMax = defaultExactMax
	}
	if j.o.Memory == 0 {
		j.o.Memory = defaultMemory
	}
	if j.o.Workers == 0 {
		j.o.Workers = runtime.GOMAXPROCS(0)
	}
	j.o.Full = j.o.Full || j.o.MaxClasses > 0
}

// agree makes one error of those of all ranks. Collective.
func (j *job) agree(err error) error {
	return mpi.AgreeOn(j.c, err, ErrOptions, ErrVectors, ErrRange, ErrTooMany, ErrMemory,
		context.Canceled, context.DeadlineExceeded)
}

// introduce compares the ranks' options and dimensions, counts the members, and finds the rank of the lowest id.
func (j *job) introduce() (origin int, err error) {
	n := j.v.Len()
	if n > 0 {
		j.dim = j.v.Dim()
	}
	b, err := j.c.Bcast(j.o.decisive(), 0)
	if err != nil {
		return 0, err
	}
	if string(b) != string(j.o.decisive()) {
		err = fmt.Errorf("%w: they differ from those of rank 0", ErrOptions)
	}
	for i := 1; i < n && err == nil; i++ {
		if j.v.ID(i-1) >= j.v.ID(i) {
			err = fmt.Errorf("%w: id %d comes behind id %d", ErrVectors, j.v.ID(i), j.v.ID(i-1))
		}
	}
	if j.dim > mostEntries || n > mostMembers {
		err = fmt.Errorf("%w: %d vectors of %d entries", ErrTooMany, n, j.dim)
	}
	if err = j.agree(err); err != nil {
		return 0, err
	}
	least := []int64{math.MaxInt64, math.MaxInt64}
	most := []int64{0}
	count := []int64{int64(n)}
	if n > 0 {
		least[0], least[1] = int64(j.v.ID(0))<<31|int64(j.rank), int64(j.dim)
		most[0] = int64(j.dim)
	}
	if err := j.reduce(least, most, count); err != nil {
		return 0, err
	}
	if count[0] > 0 && least[1] != most[0] {
		return 0, fmt.Errorf("%w: of %d to %d entries", ErrVectors, least[1], most[0])
	}
	if count[0] > mostMembers {
		return 0, fmt.Errorf("%w: %d members, at most %d are possible", ErrTooMany, count[0], mostMembers)
	}
	j.members, j.dim = uint32(count[0]), uint64(most[0])
	return int(least[0] & (1<<31 - 1)), nil
}

// Limits that keep products of counts in 64 bits and indexes in 32.
const (
	mostMembers = 1<<31 - 1
	mostEntries = 1 << 31
)

func (j *job) reduce(least, most, count []int64) error {
	if err := j.c.AllreduceInt64(least, mpi.Min); err != nil {
		return err
	}
	if err := j.c.AllreduceInt64(most, mpi.Max); err != nil {
		return err
	}
	return j.c.AllreduceInt64(count, mpi.Sum)
}

// decisive returns the options that decide the result, as bytes.
func (o Options) decisive() []byte {
	full := uint32(0)
	if o.Full {
		full = 1
	}
	b := putUint32(nil, uint32(o.Metric), uint32(o.Linkage), uint32(o.Representative), o.Threshold.PPM, o.MaxClasses,
		o.Quantum, full, o.ExactMax)
	return putUint64(b, o.Threshold.Absolute)
}

// cluster does all steps behind the survey. t is the threshold in units of the vectors.
func (j *job) cluster(t uint64) (*Result, error) {
	height := t << j.fraction
	if t > math.MaxInt64>>j.fraction {
		height = math.MaxInt64
	}
	parts, err := j.split(t, height)
	if err != nil {
		return nil, err
	}
	res := &Result{Members: j.members, Distinct: uint32(len(j.pts)), Fraction: j.fraction, Components: uint32(len(parts))}
	for _, p := range parts {
		res.Largest = max(res.Largest, uint32(len(p)))
	}
	links, err := j.links(parts, height/4, j.window(t/4+1))
	if err != nil {
		return nil, err
	}
	label, err := j.finish(res, links, whole(height))
	if err != nil {
		return nil, err
	}
	res.Approximation = j.approximation
	return res, j.represent(res, label)
}

// links clusters all parts: small ones on one rank each, large ones on all ranks together, and of those that are too
// large the leaders.
func (j *job) links(parts [][]int32, radius, window uint64) ([]link, error) {
	if j.o.Linkage == Centroid {
		return j.centroid()
	}
	var small [][]int32
	var list []link
	for _, p := range parts {
		if uint64(len(p)) > uint64(j.o.ExactMax) {
			leaders, links, err := j.thin(p, radius, window)
			if err != nil {
				return nil, err
			}
			p, list = leaders, append(list, links...)
		}
		if err := j.agree(j.room(p)); err != nil {
			return nil, err
		}
		if j.size == 1 || len(p) <= j.alone {
			small = append(small, p)
			continue
		}
		links, err := j.share(p)
		if err != nil {
			return nil, err
		}
		list = append(list, links...)
	}
	links, err := j.local(small)
	return append(list, links...), err
}

// room reports a part whose distances do not fit.
func (j *job) room(points []int32) error {
	s, short := j.spec(points)
	e := uint64(8)
	switch {
	case short:
		e = 4
	case s.wide || s.measure == squaresWide:
		e = 16
	}
	n := uint64(len(points))
	cells := n * (n - 1) / 2
	if j.size > 1 && len(points) > j.alone {
		cells = n * ((n-1)/uint64(j.size) + 1)
	}
	if limit := uint64(j.o.Distances); cells > math.MaxInt/e || limit > 0 && cells*e > limit {
		return fmt.Errorf("%w: a part of %d distinct vectors takes %d MiB on each of %d ranks; use more ranks, a lower "+
			"threshold, or let leaders stand for more than a lower number of vectors", ErrMemory, n, cells*e>>20, j.size)
	}
	return nil
}

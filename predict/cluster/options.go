package cluster

import (
	"errors"
	"fmt"
)

// Metric is the distance of two vectors.
type Metric uint8

// The metrics.
const (
	L1 Metric = iota // sum of absolute differences, exact
	L2               // Euclidean, rounded up to a multiple of 2^-Fraction (see Result.Fraction)
	numMetrics
)

// Linkage is the distance of two clusters.
type Linkage uint8

// The linkages.
const (
	Complete Linkage = iota // largest distance of a pair: all pairs of a class are within the threshold
	Average                 // mean distance of all pairs, an exact fraction
	Single                  // least distance of a pair
	Centroid                // distance of the means; heights may fall. At most MaxCentroid distinct vectors
	numLinkages
)

// MaxCentroid is the largest number of distinct vectors for centroid linkage, which no rule lets us split or share out.
const MaxCentroid = 20000

// Representative says which member represents a class. Ties go to the lowest id.
type Representative uint8

// The representatives.
const (
	NearestMean Representative = iota // least squared distance to the mean of the class
	Medoid                            // least sum of L1 distances to the members
	numRepresentatives
)

// Threshold is the height up to which clusters merge.
type Threshold struct {
	// Absolute is a height in units of the vectors.
	Absolute uint64
	// PPM, where not 0, replaces Absolute: millionths of the mean sum of a vector's entries, rounded down.
	PPM uint32
}

// Options say how to cluster. The zero value is L1, complete linkage, threshold 0 (equal vectors only), and as representative the
// member nearest to the mean. All ranks must give the same options, except Memory, Distances and Workers, which never change a
// result.
type Options struct {
	Metric         Metric
	Linkage        Linkage
	Representative Representative
	Threshold      Threshold
	// MaxClasses, where not 0, chooses the cut instead of Threshold: the lowest height that leaves at most so many
	// classes. Needs the whole dendrogram.
	MaxClasses uint32
	// Quantum, where not 0, rounds every entry first, by at most half of so many millionths of it.
	Quantum uint32
	// Full asks for the merges above the threshold too, down to one cluster.
	Full bool
	// ExactMax is the largest component that is clustered exactly, 100 000 by default. A larger one is represented
	// by leaders, see Approximation. It counts distinct vectors.
	ExactMax uint32
	// Memory is what a rank may use for vectors and messages, in bytes: 256 MiB by default. Distances come on top.
	Memory int64
	// Distances is what a rank may use for distances, in bytes; 0 sets no limit. A part that needs more is ErrMemory.
	Distances int64
	// Workers is the number of goroutines that compute distances, by default GOMAXPROCS.
	Workers int
}

// Defaults of Options.
const (
	defaultExactMax = 100_000
	defaultMemory   = 256 << 20
	leastMemory     = 1 << 20
)

var (
	// ErrOptions means options that do not fit together, or differ between ranks.
	ErrOptions = errors.New("cluster: bad options")
	// ErrVectors means vectors that cannot be clustered: lengths or ids are wrong.
	ErrVectors = errors.New("cluster: bad vectors")
	// ErrRange means distances, sums of them, or what rounding moves in all, that do not fit 63 bits: see the package comment.
	ErrRange = errors.New("cluster: distances do not fit")
	// ErrMemory means distances that take more than Options.Distances.
	ErrMemory = errors.New("cluster: not enough memory for distances")
	// ErrTooMany means more distinct vectors than the method can take.
	ErrTooMany = errors.New("cluster: too many distinct vectors")
)

// check reports options that do not fit together.
func (o Options) check() error {
	switch {
	case o.Metric >= numMetrics:
		return fmt.Errorf("%w: metric %d is not known", ErrOptions, o.Metric)
	case o.Linkage >= numLinkages:
		return fmt.Errorf("%w: linkage %d is not known", ErrOptions, o.Linkage)
	case o.Representative >= numRepresentatives:
		return fmt.Errorf("%w: representative %d is not known", ErrOptions, o.Representative)
	case o.Quantum > 1_000_000:
		return fmt.Errorf("%w: a quantum of %d millionths is more than the value", ErrOptions, o.Quantum)
	case o.Memory < 0 || o.Memory > 0 && o.Memory < leastMemory:
		return fmt.Errorf("%w: memory of %d bytes, at least %d are needed", ErrOptions, o.Memory, leastMemory)
	case o.Workers < 0 || o.Distances < 0:
		return fmt.Errorf("%w: %d workers, %d bytes for distances", ErrOptions, o.Workers, o.Distances)
	}
	return nil
}

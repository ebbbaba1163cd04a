package cluster

import (
	"context"
	"errors"

	"github.com/coppice-hpc/coppice/mpi"
)

// Classify clusters the vectors of all ranks. Options that decide the result must be equal on all ranks. The result
// is the same for any number of ranks and workers. An error is the same on every rank. Collective.
func Classify(ctx context.Context, c mpi.Comm, v Vectors, o Options) (*Result, error) {
	if err := c.Agree(o.check()); err != nil {
		return nil, err
	}
	return nil, errors.ErrUnsupported
}

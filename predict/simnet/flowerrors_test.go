package simnet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

var errTest = errors.New("no vector")

// broken fails for one process.
type broken struct{ process uint32 }

func (b broken) Fill(p uint32, _ uint64, dst []int64) error {
	if p == b.process {
		return errTest
	}
	clear(dst)
	return nil
}

// TestFlowErrors: an error of one rank is the error of all.
func TestFlowErrors(t *testing.T) {
	t.Parallel()
	s := script{{"send 1 0 8", "recv 1 0 8"}, {"recv 0 0 8", "send 0 0 8"}, {"recv 3 0 8"}, {"send 2 0 8"}}
	p, v := s.build(t)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, x := range []struct {
		name string
		run  func(c mpi.Comm, lo, hi uint32) error
		want string
	}{
		{"vector", func(c mpi.Comm, lo, hi uint32) error {
			_, err := Dataflow(context.Background(), c, lo, hi, p, broken{3}, oracleNet(network.DMA), Options{})
			return err
		}, errTest.Error()},
		{"cancelled", func(c mpi.Comm, lo, hi uint32) error {
			ctx := context.Background()
			if c.Rank() == c.Size()-1 {
				ctx = gone
			}
			_, err := Dataflow(ctx, c, lo, hi, p, v, oracleNet(network.DMA), Options{})
			return err
		}, context.Canceled.Error()},
		{"gap", func(c mpi.Comm, _, hi uint32) error {
			_, err := Dataflow(context.Background(), c, hi, hi, p, v, oracleNet(network.DMA), Options{})
			return err
		}, program.ErrInvalid.Error()},
		{"range", func(c mpi.Comm, lo, _ uint32) error {
			_, err := Dataflow(context.Background(), c, lo, 99, p, v, oracleNet(network.DMA), Options{})
			return err
		}, program.ErrInvalid.Error()},
		{"policy", func(c mpi.Comm, lo, hi uint32) error {
			_, err := Dataflow(context.Background(), c, lo, hi, p, v, oracleNet(network.Arrival), Options{})
			return err
		}, "event engine"},
	} {
		for _, ranks := range []uint32{1, 2, 3} {
			err := mpi.RunInProcess(int(ranks), func(c mpi.Comm) error {
				r := uint32(c.Rank())
				if err := x.run(c, 4*r/ranks, 4*(r+1)/ranks); err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("%s, rank %d of %d: %v", x.name, r, ranks, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

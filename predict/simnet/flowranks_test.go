package simnet

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// flowOn runs a program on ranks of this process, each with the workers that o says, and joins their results.
func flowOn(ranks int, p *program.Program, c Calc, n *network.Network, o Options) (*Result, error) {
	all := uint32(len(p.Roots))
	parts := make([]*Result, ranks)
	errs := make([]error, ranks)
	err := mpi.RunInProcess(ranks, func(comm mpi.Comm) error {
		r := uint32(comm.Rank())
		lo, hi := all*r/uint32(ranks), all*(r+1)/uint32(ranks)
		res, err := Dataflow(context.Background(), comm, lo, hi, p, c, n, o)
		parts[r], errs[r] = res, err
		return nil
	})
	if err != nil {
		return nil, err
	}
	for r := range errs {
		if fmt.Sprint(errs[r]) != fmt.Sprint(errs[0]) {
			return nil, fmt.Errorf("rank 0: %v; rank %d: %v", errs[0], r, errs[r])
		}
	}
	if errs[0] != nil {
		return nil, errs[0]
	}
	sum := *parts[0]
	for _, x := range parts[1:] {
		if x.Makespan != sum.Makespan || x.Events != sum.Events || x.Unmatched != sum.Unmatched || int(x.First) != len(sum.Times) {
			return nil, fmt.Errorf("ranks disagree: %+v, %+v", x, sum)
		}
		sum.Times = append(sum.Times, x.Times...)
	}
	return &sum, nil
}

// TestRanks compares the results of random programs on several ranks and workers.
func TestRanks(t *testing.T) {
	t.Parallel()
	count := 120
	if testing.Short() {
		count = 25
	}
	for seed := range uint64(count) {
		r := rng(seed + 1000)
		p, v := randomScript(r, false).build(t)
		n := randomNet(r)
		ring := []int{1, 2, 64}[seed%3]
		want, err := flow(p, v, n, Options{Workers: 1, Ring: ring})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct{ ranks, workers int }{{1, 2}, {1, 3}, {2, 1}, {3, 2}, {8, 1}} {
			got, err := flowOn(x.ranks, p, v, n, Options{Workers: x.workers, Ring: ring})
			if err != nil {
				t.Fatalf("seed %d, %d ranks, %d workers: %v", seed, x.ranks, x.workers, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d ranks, %d workers: %+v, want %+v", seed, x.ranks, x.workers, got, want)
			}
		}
	}
}

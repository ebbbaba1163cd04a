package workload_test

import (
	"context"
	"testing"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

const ns = 1000 // ps

// published is the network of the published comparisons: L=2500 o=1500 g=1000 G=6 O=0 S=65535, ns.
func published(policy network.Policy) *network.Network {
	n := &network.Network{Policy: policy, RanksPerNode: 1}
	for i := range n.Links {
		n.Links[i] = network.Link{
			Latency: 2500 * ns, SendOver: 1500 * ns, RecvOver: 1500 * ns, Gap: 1000 * ns, PerByte: 6 * ns << 32, Eager: 65535,
		}
	}
	return n
}

func dataflow(tb testing.TB, p *program.Program, c simnet.Calc, n *network.Network, o simnet.Options) *simnet.Result {
	tb.Helper()
	r, err := simnet.Dataflow(context.Background(), mpi.Serial(), 0, uint32(len(p.Roots)), p, c, n, o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestFlowPublished has the makespans of an independent prototype, policy Copy. Those of ping-pongs and of recursive
// doubling are LogGOPSim's too.
func TestFlowPublished(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		pattern    string
		processes  int
		iterations int
		bytes      uint64
		calc, jit  int64
		want       int64 // ns
		long       bool
	}{
		{"pingpong", 2, 1000, 8192, 0, 0, 109_292_000, false},
		{"allreduce_rd", 64, 1000, 8192, 100_000, 5000, 430_564_047, false},
		{"stencil3d", 64, 1000, 8192, 100_000, 5000, 414_563_418, false},
		{"stencil3d", 1024, 50, 8192, 100_000, 5000, 20_751_615, false},
		{"sweep2d", 64, 50, 8192, 100_000, 5000, 1_840_695_201, false},
		{"sweep2d", 1024, 4, 8192, 100_000, 5000, 387_218_140, true},
		{"allreduce_rd", 1024, 20, 8192, 100_000, 5000, 12_994_042, true},
		{"stencil3d", 64, 1000, 8192, 100_000, 0, 412_876_000, false},
		{"sweep2d", 64, 50, 8192, 100_000, 0, 1_822_532_400, false},
		{"sweep2d", 1024, 20, 8192, 100_000, 0, 1_910_534_880, true},
		{"allreduce_rd", 1024, 50, 8192, 100_000, 0, 32_323_000, true},
		{"stencil3d", 1000, 100, 8192, 100_000, 0, 41_287_600, true},
		{"sweep2d", 4, 1, 1, 100_000, 0, 9_506_000, false},
		{"sweep2d", 16, 1, 1, 100_000, 0, 12_296_000, false},
		{"sweep2d", 64, 1, 1, 100_000, 0, 17_432_000, false},
		{"chain", 2, 10, 1, 100_000, 0, 1_119_000, false},
		{"chain", 3, 10, 1, 100_000, 0, 1_238_000, false},
		{"chain", 8, 100, 1, 100_000, 0, 11_035_500, false},
		{"chain", 4, 3, 1, 100_000, 0, 622_500, false},
	} {
		s := workload.Spec{
			Pattern: x.pattern, Processes: x.processes, Iterations: x.iterations, Bytes: x.bytes, Calc: x.calc, Jitter: x.jit,
		}
		if x.long && testing.Short() {
			continue
		}
		p, c, err := workload.Make(s)
		if err != nil {
			t.Fatal(err)
		}
		r := dataflow(t, p, c, published(network.Copy), simnet.Options{})
		if r.Makespan != x.want*ns {
			t.Errorf("%v: %d ps, want %d ns", s, r.Makespan, x.want)
		}
	}
}

func BenchmarkFlow(b *testing.B) {
	for _, s := range []workload.Spec{
		{Pattern: "stencil3d", Processes: 1024, Iterations: 50, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "stencil3d", Processes: 1024, Iterations: 50, Bytes: 8192, Calc: 100_000},
		{Pattern: "sweep2d", Processes: 1024, Iterations: 4, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "allreduce_rd", Processes: 1024, Iterations: 20, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "stencil3d", Processes: 8192, Iterations: 10, Bytes: 8192, Calc: 100_000, Jitter: 5000},
	} {
		p, c, err := workload.Make(s)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			events := uint64(0)
			for b.Loop() {
				events += dataflow(b, p, c, published(network.Copy), simnet.Options{Workers: 1}).Events
			}
			b.ReportMetric(float64(events)/1e6/b.Elapsed().Seconds(), "Mevents/s")
		})
	}
}

// TestFlowUniform: uniform programs take what they took in LogGOPSim's published runs.
func TestFlowUniform(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		pattern               string
		processes, iterations int
		want                  int64 // ns
	}{
		{"stencil3d", 64, 1000, 412_876_000},
		{"sweep2d", 64, 50, 1_822_532_400},
		{"allreduce_rd", 1024, 50, 32_323_000},
	} {
		p, c, err := workload.Make(workload.Spec{Pattern: x.pattern, Processes: x.processes, Iterations: x.iterations, Bytes: 8192, Calc: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		r := dataflow(t, p, c, published(network.Copy), simnet.Options{})
		if r.Makespan != x.want*ns {
			t.Errorf("%s: %d ps, want %d ns", x.pattern, r.Makespan, x.want)
		}
	}
}

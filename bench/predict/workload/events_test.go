package workload_test

import (
	"context"
	"testing"

	"github.com/coppice-hpc/coppice/bench/predict/workload"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// logGOPSim is the network of the comparison as LogGOPSim sees it.
func logGOPSim() *network.Network {
	n := published(network.Arrival)
	n.NoRendezvousLatency = true
	return n
}

// TestLogGOPSim: makespans of programs that LogGOPSim 76451de gives, to the nanosecond.
func TestLogGOPSim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern               string
		processes, iterations int
		bytes                 uint64
		calc, jitter, ns      int64
		events                uint64
	}{
		{"pingpong", 2, 1000, 8192, 0, 0, 109_292_000, 6000},
		{"allreduce_rd", 64, 1000, 8192, 100_000, 5000, 430_564_047, 1_216_000},
		{"stencil3d", 64, 1000, 8192, 100_000, 5000, 430_576_254, 1_280_000},
		{"sweep2d", 64, 50, 8192, 100_000, 5000, 1_860_550_445, 1_600_000},
		{"sweep2d", 1024, 4, 8192, 100_000, 5000, 373_606_530, 2_232_320},
		{"allreduce_rd", 1024, 20, 8192, 100_000, 5000, 12_994_042, 634_880},
		{"stencil3d", 1024, 50, 8192, 100_000, 5000, 21_541_022, 1_024_000},
		{"stencil3d", 8192, 10, 8192, 100_000, 5000, 4_316_104, 1_638_400},
		{"allreduce_rd", 8192, 4, 8192, 100_000, 5000, 3_260_298, 1_310_720},
		{"sweep2d", 4, 1, 1, 100_000, 0, 9_494_000, 1280},
		{"sweep2d", 16, 1, 1, 100_000, 0, 12_290_000, 7040},
		{"sweep2d", 64, 1, 1, 100_000, 0, 17_426_000, 32_000},
		{"chain", 8, 100, 1, 100_000, 0, 11_037_000, 2900},
	} {
		if testing.Short() && c.events > 700_000 {
			continue
		}
		s := workload.Spec{
			Pattern: c.pattern, Processes: c.processes, Iterations: c.iterations, Bytes: c.bytes, Calc: c.calc, Jitter: c.jitter,
		}
		p, calc, err := workload.Make(s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := simnet.Events(context.Background(), p, calc, logGOPSim(), simnet.Options{})
		if err != nil {
			t.Errorf("%v: %v", s, err)
			continue
		}
		if r.Makespan != c.ns*1000 || r.Events != c.events {
			t.Errorf("%v: %d ps, %d events; want %d ns, %d events", s, r.Makespan, r.Events, c.ns, c.events)
		}
	}
}

// BenchmarkEvents runs programs of the comparison; set-up is counted.
func BenchmarkEvents(b *testing.B) {
	for _, s := range []workload.Spec{
		{Pattern: "sweep2d", Processes: 1024, Iterations: 4, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "stencil3d", Processes: 1024, Iterations: 50, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "allreduce_rd", Processes: 1024, Iterations: 20, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "stencil3d", Processes: 8192, Iterations: 10, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "allreduce_rd", Processes: 8192, Iterations: 4, Bytes: 8192, Calc: 100_000, Jitter: 5000},
		{Pattern: "sweep2d", Processes: 8192, Iterations: 1, Bytes: 8192, Calc: 100_000, Jitter: 5000},
	} {
		b.Run(s.String(), func(b *testing.B) {
			p, calc, err := workload.Make(s)
			if err != nil {
				b.Fatal(err)
			}
			events := uint64(0)
			for b.Loop() {
				r, err := simnet.Events(context.Background(), p, calc, logGOPSim(), simnet.Options{})
				if err != nil {
					b.Fatal(err)
				}
				events += r.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

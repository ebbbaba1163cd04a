package prediction

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

func TestPairs(t *testing.T) {
	for _, c := range []struct {
		nodes []int
		want  [network.NumLinkClasses]int
	}{
		{[]int{0, 0}, [...]int{0, 1, -1}},
		{[]int{0, 1}, [...]int{0, -1, 1}},
		{[]int{0, 1, 0, 1}, [...]int{0, 2, 1}},
		{[]int{0, 0, 0, 1, 2}, [...]int{0, 1, 3}},
	} {
		if got := pairsOf(c.nodes); got != c.want {
			t.Errorf("%v: %v, want %v", c.nodes, got, c.want)
		}
	}
}

func TestTripSizes(t *testing.T) {
	for _, limits := range [][]uint64{{0, 0}, {256, 4040}, {1, math.MaxUint64}, {largestTrip, largestTrip + 1}} {
		sizes := tripSizes(limits...)
		if sizes[0] != 1 || !slices.IsSorted(sizes) || len(sizes) != len(slices.Compact(slices.Clone(sizes))) || slices.Max(sizes) >= 2*largestTrip {
			t.Errorf("%v: %v", limits, sizes)
		}
		for _, l := range limits {
			if l > 1 && l < largestTrip && (!slices.Contains(sizes, int(l)) || !slices.Contains(sizes, int(l)+1)) {
				t.Errorf("%v: %v misses an edge", limits, sizes)
			}
		}
	}
}

// TestDescribe: what is written can be read, and says what is wrong with it.
func TestDescribe(t *testing.T) {
	link := func(fewest int) *measuredLink {
		return &measuredLink{fewest: fewest, samples: platform.LinkSamples{
			Clock: 20, Send: 120, Receive: 170, Eager: 1000, EagerInside: 5000,
			Trips: []platform.Sample{{N: 1, NS: 1020}, {N: 1000, NS: 1420}, {N: 5000, NS: 4020}}, Bursts: []platform.Sample{{N: 1, NS: 500}, {N: 9, NS: 2100}},
		}}
	}
	m := describePlatform(MeasureOptions{Name: "x", Repetitions: 1000}, []int{0, 0, 0, 1}, [network.NumLinkClasses]*measuredLink{nil, link(1000), link(40)}, 500<<32, 1)
	var b bytes.Buffer
	if err := m.Platform.Write(&b, m.Notes...); err != nil {
		t.Fatal(err)
	}
	p, err := platform.Read(&b, "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	l := p.Links[network.LinkNode]
	if p.Name != "x" || p.Nodes != 2 || p.RanksPerNode != 3 || l.SendOver != 100e3 || l.RecvOver != 150e3 || l.Latency != 250e3 || l.Gap != 200e3 || l.Eager != 1000 || p.Gamma != 500<<32 {
		t.Errorf("%+v %+v", p, l)
	}
	if len(m.Warnings) != 2 || !strings.Contains(m.Warnings[0], "1 of 2") || !strings.Contains(m.Warnings[1], "net: one operation was repeated 40 times") {
		t.Errorf("warnings %q", m.Warnings)
	}
	noisy := link(1000)
	noisy.samples.Trips = append([]platform.Sample{{N: 1, NS: 1020}, {N: 2, NS: 180_000}, {N: 3, NS: 1020}, {N: 4, NS: 40_000}, {N: 6, NS: 1030}}, noisy.samples.Trips[1:]...)
	m = describePlatform(MeasureOptions{Repetitions: 1000}, []int{0, 0}, [network.NumLinkClasses]*measuredLink{nil, noisy, nil}, 500<<32, 0)
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "node: a message of 2 bytes took 89990 ns and one of 3 bytes 500") {
		t.Errorf("warnings of a busy machine %q", m.Warnings)
	}
}

// TestMeasureNeedsLibrary: ranks without an MPI library have nothing to measure, and say so together.
func TestMeasureNeedsLibrary(t *testing.T) {
	for _, n := range []int{1, 3} {
		err := mpi.RunInProcess(n, func(c mpi.Comm) error {
			_, err := MeasurePlatform(c, MeasureOptions{Repetitions: 1, Patience: time.Second})
			return err
		})
		if jobs.ExitCode(err) != jobs.ExitUsage || !strings.HasSuffix(err.Error(), "start it on ranks of an MPI library, as in mpirun -n 2 coppice platform measure -o P.toml") {
			t.Errorf("%d ranks: %v", n, err)
		}
	}
}

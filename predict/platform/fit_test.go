package platform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// samplesOf makes what an ideal measurement of a link would give, each time up to noise ns too long.
func samplesOf(l *network.Link, clock int64, noise int64, r *rand.Rand) *LinkSamples {
	more := func() int64 { return clock + r.Int64N(noise+1) }
	s := &LinkSamples{Clock: clock, Send: l.SendOver/1000 + more(), Receive: l.RecvOver/1000 + more(), Eager: l.Eager}
	for n := uint64(1); n <= 4<<20; n *= 2 {
		s.Trips = append(s.Trips, Sample{n, 2*hop(l, n)/1000 + more()})
	}
	for _, n := range []uint64{1, 9, 17, 33} {
		s.Bursts = append(s.Bursts, Sample{n, hop(l, 1)/1000 + int64(n-1)*l.Gap/1000 + more()})
	}
	return s
}

// TestFit: parameters come back from the times they make.
func TestFit(t *testing.T) {
	t.Parallel()
	near := func(t *testing.T, what string, got, want, slack float64) {
		t.Helper()
		if math.Abs(got-want) > slack {
			t.Errorf("%s: %g, want %g within %g", what, got, want, slack)
		}
	}
	for _, c := range []struct {
		name  string
		link  network.Link
		noise int64
	}{
		{"net", network.Link{Latency: 1200e3, SendOver: 400e3, RecvOver: 300e3, Gap: 450e3, PerByte: 80 << 32, Eager: 16384, Sizes: []network.SizeRate{{Max: 16384, PerByte: 200 << 32}}}, 0},
		{"noise", network.Link{Latency: 300e3, SendOver: 100e3, RecvOver: 150e3, Gap: 200e3, PerByte: 100 << 32, Eager: 4096, Sizes: []network.SizeRate{{Max: 4096, PerByte: 300 << 32}}}, 6},
		{"all eager", network.Link{Latency: 300e3, SendOver: 100e3, RecvOver: 150e3, Gap: 200e3, PerByte: 100 << 32, Eager: 1 << 40}, 3},
		{"nothing eager", network.Link{Latency: 0, SendOver: 100e3, RecvOver: 150e3, Gap: 200e3, PerByte: 100 << 32, Eager: 0}, 3},
		{"slow", network.Link{Latency: 2e9, SendOver: 1e9, RecvOver: 1e9, Gap: 2e9, PerByte: 9000 << 32, Eager: 65536, Sizes: []network.SizeRate{{Max: 65536, PerByte: 7000 << 32}}}, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := samplesOf(&c.link, 40, c.noise, rand.New(rand.NewPCG(5, 6)))
			f := s.Fit()
			slack := float64(1+c.noise) * 1000
			near(t, "o_send", float64(f.Link.SendOver), float64(c.link.SendOver), slack)
			near(t, "o_recv", float64(f.Link.RecvOver), float64(c.link.RecvOver), slack)
			near(t, "L", float64(f.Link.Latency), float64(c.link.Latency), 3*slack)
			near(t, "g", float64(f.Link.Gap), float64(c.link.Gap), slack/4)
			near(t, "G", float64(f.Link.PerByte), float64(c.link.PerByte), float64(c.link.PerByte)/100)
			for _, n := range []uint64{1, 100, 3000, 10000, 50000, 3 << 20, 1 << 30} {
				near(t, fmt.Sprintf("message of %d bytes", n), float64(hop(&f.Link, n)), float64(hop(&c.link, n)), float64(hop(&c.link, n))/10+50e3+3*slack)
			}
			if f.Worst > 25 || len(f.Rows) != len(s.Trips) || len(f.Link.Sizes) > 3 {
				t.Errorf("worst %g %%, %d rows, ranges %v", f.Worst, len(f.Rows), f.Link.Sizes)
			}
		})
	}
}

// TestFitOdd: samples that no link explains give parameters that a file may hold all the same.
func TestFitOdd(t *testing.T) {
	t.Parallel()
	for _, s := range []LinkSamples{
		{},
		{Clock: 50},
		{Clock: 1000, Trips: []Sample{{1, 10}, {2, 5}}, Send: 3, Receive: 4},
		{Trips: []Sample{{1, 100}, {4096, 50}, {1 << 20, 20}}, Send: 300, Receive: 100, Eager: 2048},
		{Trips: []Sample{{1, math.MaxInt64}, {4096, math.MaxInt64}}, Send: math.MaxInt64, Bursts: []Sample{{1, 0}, {2, math.MaxInt64}}, Eager: math.MaxUint64},
	} {
		l := s.Fit().Link
		for _, v := range []int64{l.Latency, l.SendOver, l.RecvOver, l.Gap} {
			if v < 0 || v > maxTimeNS*1000 {
				t.Errorf("%+v gives %+v", s, l)
			}
		}
	}
	if g := FitGamma([]Sample{{1000, 600}, {2000, 1100}, {4000, 2100}}); g != 500<<32 {
		t.Errorf("gamma %d, want 0.5 ns a byte", g)
	}
}

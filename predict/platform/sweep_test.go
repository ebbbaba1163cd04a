package platform

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	axes, err := ParseSweep([]string{"latency=0.5,1,net.bandwidth=2", "cpu=0,0.7", "ranks-per-node=3", "mapping=cyclic", "node.eager=64"})
	if err != nil {
		t.Fatal(err)
	}
	p := New()
	p.Links[network.LinkNet] = &network.Link{Latency: 1000, Hop: 10, PerByte: 100, Sizes: []network.SizeRate{{Max: 9, PerByte: 50}}}
	p.Links[network.LinkNode] = &network.Link{Latency: 300, PerByte: 40}
	if n := Points(axes); n != 4 {
		t.Fatalf("%d points", n)
	}
	for i, want := range [][]int{{0, 0, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {1, 0, 0, 0, 0, 0}, {1, 0, 1, 0, 0, 0}} {
		q, at, err := p.Point(axes, i)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(at, want) {
			t.Errorf("point %d is %v", i, at)
		}
		half := int64(2 - want[0])
		net, node := q.Links[network.LinkNet], q.Links[network.LinkNode]
		if net.Latency != 1000/half || net.Hop != 10/half || node.Latency != 300/half {
			t.Errorf("point %d: latencies %d, %d, %d", i, net.Latency, net.Hop, node.Latency)
		}
		if net.PerByte != 50 || net.Sizes[0].PerByte != 25 || node.PerByte != 40 || node.Eager != 64 {
			t.Errorf("point %d: %+v, %+v", i, net, node)
		}
		if ps := q.Scale.Of(1000); ps != []int64{0, 700}[want[2]] {
			t.Errorf("point %d: 1000 ps become %d", i, ps)
		}
		if q.RanksPerNode != 3 || q.Mapping != "cyclic" {
			t.Errorf("point %d: %d a node, %s", i, q.RanksPerNode, q.Mapping)
		}
	}
	if l := p.Links[network.LinkNet]; l.Latency != 1000 || l.Sizes[0].PerByte != 50 {
		t.Errorf("the platform itself changed: %+v", l)
	}
}

// TestSweepMissingLinks changes classes of links that the file does not give, alone.
func TestSweepMissingLinks(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		sweep          string
		net, node, own int64
		rate           network.Rate
	}{
		{"latency=2", 2000, 2000, 2000, 80},
		{"net.latency=2", 2000, 1000, 1000, 80},
		{"node.latency=2", 1000, 2000, 1000, 80},
		{"self.bandwidth=2", 1000, 1000, 1000, 80},
		{"net.bandwidth=2", 1000, 1000, 1000, 40},
		{"bandwidth=2", 1000, 1000, 1000, 40},
	} {
		axes, err := ParseSweep([]string{x.sweep})
		if err != nil {
			t.Fatal(err)
		}
		p := New()
		p.Topology.LinkRate = 80
		p.Links[network.LinkNet] = &network.Link{Latency: 1000, PerByte: 100}
		q, _, err := p.Point(axes, 0)
		if err != nil {
			t.Fatal(err)
		}
		n, err := q.Network(4)
		if err != nil {
			t.Fatal(err)
		}
		got := [...]int64{n.Links[network.LinkNet].Latency, n.Links[network.LinkNode].Latency, n.Links[network.LinkSelf].Latency}
		if got != [...]int64{x.net, x.node, x.own} || q.Topology.LinkRate != x.rate {
			t.Errorf("%s: latencies %v, links %d", x.sweep, got, q.Topology.LinkRate)
		}
	}
}

func TestSweepErrors(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ text, want string }{
		{"", "write NAME=VALUE"},
		{"2,3", "write NAME=VALUE"},
		{"speed=2", "choose one of latency"},
		{"net.cpu=2", "choose one of latency"},
		{"latency=-1", "allowed is a factor"},
		{"bandwidth=0", "above 0"},
		{"cpu=1,cpu=2", "twice"},
		{"ranks-per-node=0", "from 1"},
		{"ranks-per-node=1.5", "from 1"},
		{"mapping=", "the path of a table"},
		{"eager=x", "bytes"},
		{"latency=" + strings.Repeat("1,", 200) + "1,cpu=" + strings.Repeat("1,", 200) + "1", "more than 10000"},
	} {
		if _, err := ParseSweep([]string{x.text}); !errors.Is(err, ErrSweep) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%.40q: %v, want %q", x.text, err, x.want)
		}
	}
}

// TestSweepRange multiplies times up to what fits, and refuses a tick more, for each kind of time.
func TestSweepRange(t *testing.T) {
	t.Parallel()
	const half, rate = math.MaxInt64 / 2, math.MaxUint64 / 2
	for _, x := range []struct {
		name, fits, not string
		link            network.Link
	}{
		{"latency", "2", "2.000000001", network.Link{Latency: half}},
		{"net.latency", "2", "2.000000001", network.Link{Hop: half}},
		{"overhead", "2", "2.000000001", network.Link{SendOver: half}},
		{"overhead", "2", "2.000000001", network.Link{RecvOver: half}},
		{"overhead", "2", "2.000000001", network.Link{OverByte: rate}},
		{"bandwidth", "0.5", "0.499999999", network.Link{PerByte: rate}},
		{"net.bandwidth", "0.5", "0.499999999", network.Link{Sizes: []network.SizeRate{{Max: 1, PerByte: 1}, {Max: 9, PerByte: rate}}}},
	} {
		p := New()
		p.Links[network.LinkNet] = &x.link
		for value, fits := range map[string]bool{x.fits: true, x.not: false, "1," + x.fits: true, "1," + x.not: false} {
			axes, err := ParseSweep([]string{x.name + "=" + value})
			if err != nil {
				t.Fatal(err)
			}
			err = p.CheckSweep(axes)
			if (err == nil) != fits || !fits && (!errors.Is(err, ErrSweep) || !strings.Contains(err.Error(), x.name+"="+x.not)) {
				t.Errorf("%s=%s: %v", x.name, value, err)
			}
		}
	}
	p := New()
	p.Links[network.LinkNet], p.Topology.LinkRate = &network.Link{}, rate
	for value, fits := range map[string]bool{"0.5": true, "0.499999999": false} {
		axes, _ := ParseSweep([]string{"bandwidth=" + value})
		if err := p.CheckSweep(axes); (err == nil) != fits {
			t.Errorf("links of the topology, %s: %v", value, err)
		}
	}
	// Each of two axes fits, but not both.
	p.Links[network.LinkNet] = &network.Link{Latency: math.MaxInt64 / 4}
	axes, err := ParseSweep([]string{"latency=1,3,net.latency=1,2"})
	if err != nil {
		t.Fatal(err)
	}
	if p.CheckSweep(axes) == nil || p.CheckSweep(axes[:1]) != nil || p.CheckSweep(axes[1:]) != nil {
		t.Error("a product of two factors")
	}
}

func FuzzParseSweep(f *testing.F) {
	f.Add("latency=0.5,1,net.bandwidth=2,cpu=0,ranks-per-node=4,mapping=cyclic,eager=9")
	f.Fuzz(func(t *testing.T, text string) {
		axes, err := ParseSweep([]string{text})
		if err != nil {
			return
		}
		p := New()
		p.Links[network.LinkNet] = &network.Link{Latency: 1000, PerByte: 100}
		n := Points(axes)
		if n < 1 || n > maxPoints {
			t.Fatalf("%d points", n)
		}
		q, at, err := p.Point(axes, n-1)
		if err != nil {
			if !errors.Is(err, ErrSweep) || p.CheckSweep(axes) == nil {
				t.Error(err)
			}
			return
		}
		for k, i := range at {
			if i != len(axes[k].Values)-1 {
				t.Errorf("axis %d at %d in the last point", k, i)
			}
		}
		if q.Scale.Den == 0 {
			t.Error("a scale over 0")
		}
	})
}

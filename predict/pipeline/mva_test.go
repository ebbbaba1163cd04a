package pipeline

import (
	"errors"
	"math"
	"math/big"
	"testing"
)

// one is a network with one class; servers nil means one each.
func one(jobs int, think float64, servers []int, demand ...float64) *Network {
	n := &Network{Jobs: []int{jobs}, Think: []float64{think}, Demand: [][]float64{demand}}
	for k := range demand {
		m := 1
		if servers != nil {
			m = servers[k]
		}
		n.Centers = append(n.Centers, Center{Kind: PS, Servers: m})
	}
	return n
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.9f, not %.9f", what, got, want)
	}
}

// TestOneClass compares with the values of octave-queueing 1.2.7.
func TestOneClass(t *testing.T) {
	for _, c := range []struct {
		name       string
		n          *Network
		x, r       float64
		approxX, s float64 // Schweitzer
	}{
		{"N1", one(4, 0, nil, 1, .5), 0.96774194, 4.13333333, 0.94680274, 4.22474487},
		{"N2", one(8, 0, nil, 1, 1, 1), 0.8, 10, 0.8, 10},
		{"N3", one(20, 15, nil, 2, 3, 1), 0.33278925, 45.09809463, 0.32453747, 46.62616558},
		{"N4", one(6, 0, []int{2, 1}, 1.5, .4), 1.31237885, 4.57185056, 0, 0},
		{"N5", one(5, 2, nil, 1, .6), 0.87474019, 3.71598294, 0.83333333, 4},
		{"N6", one(12, 1, []int{4, 1, 1}, 1, .2, .1), 3.64993822, 2.28772689, 0, 0},
	} {
		s, err := ExactMVA(c.n)
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.name+" X", s.Throughput[0], c.x, 1e-6)
		near(t, c.name+" R", s.Response[0], c.r, 1e-6)
		a, err := Schweitzer(c.n)
		if c.s == 0 {
			if !errors.Is(err, ErrNetwork) {
				t.Errorf("%s: Schweitzer takes several servers: %v", c.name, err)
			}
			a, err = Schweitzer(Seidmann(c.n))
			if err != nil {
				t.Fatal(err)
			}
			if e := a.Response[0]/c.r - 1; e < 0 || e > .3 { // too high at light load, as is known
				t.Errorf("%s: Seidmann is off by %v", c.name, e)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.name+" Schweitzer X", a.Throughput[0], c.approxX, 1e-6)
		near(t, c.name+" Schweitzer R", a.Response[0], c.s, 1e-6)
		l, err := Linearizer(c.n)
		if err != nil {
			t.Fatal(err)
		}
		if e := math.Abs(l.Response[0]/c.r - 1); e > .006 {
			t.Errorf("%s: Linearizer is off by %v", c.name, e)
		}
		m, err := ExactMultiMVA(c.n)
		if err != nil {
			t.Fatal(err)
		}
		near(t, c.name+" as one of many classes", m.Response[0], s.Response[0], 1e-12*s.Response[0])
	}
}

// TestManyServers: results are right where many jobs keep all servers busy and the probability of an idle center is tiny. The
// textbook's recursion loses all digits there; with 2000 bits it does not.
func TestManyServers(t *testing.T) {
	for _, c := range []struct {
		jobs    int
		think   float64
		servers []int
		demand  []float64
	}{
		{200, 0, []int{4, 4, 4, 1}, []float64{1, .5, .75, .1}},
		{300, 5, []int{8, 2, 1}, []float64{1, .25, .125}},
		{50, 0, []int{64, 3}, []float64{2, .5}},
		{40, 0, []int{40}, []float64{1}},
	} {
		n := one(c.jobs, c.think, c.servers, c.demand...)
		s, err := ExactMVA(n)
		if err != nil {
			t.Fatal(err)
		}
		want := preciseMVA(n)
		near(t, "response", s.Response[0], want, 1e-10*want)
	}
}

// preciseMVA returns the response of a network with one class, by the recursion of Reiser and Lavenberg.
func preciseMVA(n *Network) float64 {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(x) }
	add := func(a, b *big.Float) *big.Float { return num(0).Add(a, b) }
	mul := func(a, b *big.Float) *big.Float { return num(0).Mul(a, b) }
	div := func(a, b *big.Float) *big.Float { return num(0).Quo(a, b) }
	queue, short := make([]*big.Float, len(n.Centers)), make([][]*big.Float, len(n.Centers))
	for k, c := range n.Centers {
		queue[k] = num(0)
		for range c.Servers {
			short[k] = append(short[k], num(0))
		}
		short[k][0] = num(1)
	}
	total := num(0)
	for jobs := 1; jobs <= n.Jobs[0]; jobs++ {
		total = num(0)
		wait := make([]*big.Float, len(n.Centers))
		for k, c := range n.Centers {
			ahead := add(num(1), queue[k])
			for j, p := range short[k] {
				ahead = add(ahead, mul(num(float64(c.Servers-1-j)), p))
			}
			wait[k] = mul(div(num(n.Demand[0][k]), num(float64(c.Servers))), ahead)
			total = add(total, wait[k])
		}
		x := div(num(float64(jobs)), add(num(n.Think[0]), total))
		for k, c := range n.Centers {
			queue[k] = mul(x, wait[k])
			load := mul(x, num(n.Demand[0][k]))
			idle := load
			for j := c.Servers - 1; j >= 1; j-- {
				short[k][j] = mul(div(load, num(float64(j))), short[k][j-1])
				idle = add(idle, mul(num(float64(c.Servers-j)), short[k][j]))
			}
			short[k][0] = num(0).Sub(num(1), div(idle, num(float64(c.Servers))))
		}
	}
	r, _ := total.Float64()
	return r
}

// TestManyClasses does the same with several classes.
func TestManyClasses(t *testing.T) {
	network := func(jobs []int, think []float64, demand ...[]float64) *Network {
		n := &Network{Jobs: jobs, Think: think, Demand: demand}
		for range demand[0] {
			n.Centers = append(n.Centers, Center{Kind: FCFS, Servers: 1})
		}
		return n
	}
	for _, c := range []struct {
		name     string
		n        *Network
		x, r, sr []float64
	}{
		{"M1", network([]int{2, 3}, []float64{0, 0}, []float64{1, .5}, []float64{.5, 1}), []float64{0.47754137, 0.66666667}, []float64{4.18811881, 4.5}, []float64{4.24411854, 4.61306838}},
		{"M2", network([]int{1, 1, 1}, []float64{0, 0, 0}, []float64{1, .5, .2}, []float64{.5, 1, .2}, []float64{.3, .3, .9}), nil, []float64{2.73867925, 2.73867925, 2.21603053}, []float64{2.80532360, 2.80532360, 2.23767106}},
		{"M3", network([]int{5, 4}, []float64{1, 2}, []float64{.2, .1, .05}, []float64{.1, .3, .05}), nil, []float64{0.73778753, 0.97105852}, []float64{0.79577249, 1.04528413}},
	} {
		e, err := ExactMultiMVA(c.n)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Schweitzer(c.n)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Linearizer(c.n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.r {
			near(t, c.name+" R", e.Response[i], c.r[i], 1e-6)
			near(t, c.name+" Schweitzer R", a.Response[i], c.sr[i], 1e-6)
			if c.x != nil {
				near(t, c.name+" X", e.Throughput[i], c.x[i], 1e-6)
			}
			if math.Abs(l.Response[i]-c.r[i]) > .25*math.Abs(c.sr[i]-c.r[i]) {
				t.Errorf("%s: Linearizer %v is not much nearer to %v than Schweitzer %v", c.name, l.Response[i], c.r[i], c.sr[i])
			}
		}
	}
}

// TestNetworkBounds are the bounds of N1, and refusals.
func TestNetworkBounds(t *testing.T) {
	n := one(4, 0, nil, 1, .5)
	low, high, err := AsymptoticBounds(n)
	if err != nil || low != 4 || high != 6 {
		t.Errorf("asymptotic %v to %v, %v", low, high, err)
	}
	low, high, err = BalancedBounds(n)
	if err != nil || low != 4 || high != 4.5 {
		t.Errorf("balanced %v to %v, %v", low, high, err)
	}
	if _, _, err := BalancedBounds(one(4, 1, nil, 1, .5)); !errors.Is(err, ErrNetwork) {
		t.Errorf("with think time: %v", err)
	}
	for _, bad := range []*Network{{}, one(0, 0, nil, 1), one(1, -1, nil, 1), one(1, 0, nil, math.NaN()), one(1, 0, nil, 0), one(1, 0, []int{0}, 1)} {
		if _, err := ExactMVA(bad); !errors.Is(err, ErrNetwork) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := ExactMultiMVA(one(1<<30, 0, nil, 1)); !errors.Is(err, ErrNetwork) {
		t.Errorf("many populations: %v", err)
	}
}

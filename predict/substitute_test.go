package predict

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// vectorCalc is a Calc of vectors in memory.
type vectorCalc [][]int64

func (v vectorCalc) Fill(process uint32, first uint64, dst []int64) error {
	for k := range dst {
		dst[k] = 0
		if i := first + uint64(k); i < uint64(len(v[process])) {
			dst[k] = v[process][i]
		}
	}
	return nil
}

// fill reads a vector in pieces.
func fill(t *testing.T, c simnet.Calc, process uint32, n int) []int64 {
	t.Helper()
	all := make([]int64, n)
	for i := 0; i < n; i += 3 {
		if err := c.Fill(process, uint64(i), all[i:min(i+3, n)]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// slowScale is the rule of scaling, said once more with rational numbers.
type slowScale struct {
	host, target []int64
	site         []uint32
	ratios       []*big.Rat // ascending
	sites        map[uint32][2]int64
	all          [2]int64
}

func newSlowScale(host, target []int64, site []uint32) *slowScale {
	s := &slowScale{host: host, target: target, site: site, sites: map[uint32][2]int64{}}
	for k := range host {
		if target[k] == notMeasured {
			continue
		}
		x := s.sites[site[k]]
		s.sites[site[k]] = [2]int64{x[0] + host[k], x[1] + target[k]}
		s.all = [2]int64{s.all[0] + host[k], s.all[1] + target[k]}
		if host[k] >= 1_000_000 {
			s.ratios = append(s.ratios, big.NewRat(target[k], host[k]))
		}
	}
	slices.SortFunc(s.ratios, (*big.Rat).Cmp)
	return s
}

func (s *slowScale) entry(host int64, i int) int64 {
	if s.target[i] != notMeasured && host == s.host[i] {
		return s.target[i]
	}
	var f *big.Rat
	x := s.sites[s.site[i]]
	switch {
	case s.target[i] != notMeasured && s.host[i] >= 1_000_000:
		f = big.NewRat(s.target[i], s.host[i])
	case x[0] > 0:
		f = big.NewRat(x[1], x[0])
	case s.all[0] > 0:
		f = big.NewRat(s.all[1], s.all[0])
	default:
		return host
	}
	if n := len(s.ratios); n > 0 {
		if low := s.ratios[n/100]; f.Cmp(low) < 0 {
			f = low
		}
		if high := s.ratios[n-1-n/100]; f.Cmp(high) > 0 {
			f = high
		}
	}
	f = new(big.Rat).Mul(f, big.NewRat(host, 1))
	return new(big.Int).Quo(f.Num(), f.Denom()).Int64()
}

func TestScaleRule(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n := 1 + r.IntN(300)
		hostR, target, host, site := make([]int64, n), make([]int64, n), make([]int64, n), make([]uint32, n)
		for i := range n {
			hostR[i] = r.Int64N(1 << (10 + r.IntN(25)))
			target[i] = hostR[i]*int64(50+r.IntN(100))/100 + r.Int64N(100)
			host[i] = hostR[i]
			if r.IntN(2) == 0 {
				host[i] = r.Int64N(1 << 35)
			}
			if r.IntN(10) == 0 {
				target[i] = notMeasured
			}
			site[i] = uint32(r.IntN(6)) * 1000
		}
		d, err := NewDonor(0, hostR, target, site)
		if err != nil {
			t.Fatal(err)
		}
		c := &Substituted{Host: vectorCalc{hostR, host}, Donor: func(uint32) *Donor { return d }}
		slow := newSlowScale(hostR, target, site)
		for p, own := range [][]int64{hostR, host} {
			for i, got := range fill(t, c, uint32(p), n) {
				if want := slow.entry(own[i], i); got != want {
					t.Fatalf("process %d, entry %d of %d: %d, want %d", p, i, n, got, want)
				}
			}
		}
	}
}

func TestSubstituteRules(t *testing.T) {
	t.Parallel()
	const us = 1_000_000
	host := vectorCalc{{10 * us, 20 * us, 30 * us, 20 * us}, {10 * us, 40 * us, 30 * us, 20 * us}, {1 * us, 2 * us, 3 * us}}
	target := []int64{5 * us, 40 * us, 15 * us, notMeasured}
	d, err := NewDonor(0, host[0], target, []uint32{4, 9, 4, 9})
	if err != nil {
		t.Fatal(err)
	}
	of := func(p uint32) *Donor {
		if p < 2 {
			return d
		}
		return nil
	}
	half, _ := platform.ParseScale("0.5")
	for _, x := range []struct {
		name string
		rule Rule
		want [3][]int64
	}{
		{"scale", ScaleRule, [3][]int64{{5 * us, 40 * us, 15 * us, 40 * us}, {5 * us, 80 * us, 15 * us, 40 * us}, {us / 2, us, 3 * us / 2, 0}}},
		{"copy", CopyRule, [3][]int64{{5 * us, 40 * us, 15 * us, 40 * us}, {5 * us, 40 * us, 15 * us, 40 * us}, {us / 2, us, 3 * us / 2, 0}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &Substituted{Host: host, Rule: x.rule, Scale: half, Donor: of}
			for p := range x.want {
				for i, got := range fill(t, c, uint32(p), 4) {
					if got != x.want[p][i] {
						t.Errorf("process %d, entry %d: %d, want %d", p, i, got, x.want[p][i])
					}
				}
			}
		})
	}
}

func TestSubstituteTooLong(t *testing.T) {
	t.Parallel()
	d, err := NewDonor(0, []int64{1_000_000}, []int64{1_000_000_000_000}, []uint32{0})
	if err != nil {
		t.Fatal(err)
	}
	c := &Substituted{Host: vectorCalc{{math.MaxInt64 / 2}}, Donor: func(uint32) *Donor { return d }}
	if err := c.Fill(0, 0, make([]int64, 1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a factor of a million: %v", err)
	}
	if _, err := NewDonor(0, []int64{math.MaxInt64, 1}, []int64{1, 1}, []uint32{0, 0}); !errors.Is(err, ErrTooLong) {
		t.Errorf("host times over the limit: %v", err)
	}
}

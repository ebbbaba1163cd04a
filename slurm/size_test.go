package slurm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// big20 is the example of the specification: 20 TB of 4096 locations on nodes with 128 cores and 512 GiB.
func big20() (*Work, *Site) {
	return &Work{Bytes: 20e12, Locations: 4096, Largest: 8e9, Sequential: 1, Definitions: 128 << 20, Rate: 60e6, Result: 20e12},
		&Site{Cores: 128, Memory: 512, Bandwidth: 20}
}

func TestFit20TB(t *testing.T) {
	w, site := big20()
	z := Fit(w, site, 15*time.Minute)
	if z.Ranks != 333 || z.Nodes != 3 || z.Time != 35*time.Minute || z.Decided != "file system" {
		t.Errorf("%d ranks on %d nodes for %v, by the %s", z.Ranks, z.Nodes, z.Time, z.Decided)
	}
	if z.Memory != 1<<30 || z.Slot != 1280<<20 || z.Disk != 40e12 || z.PerNode != "cores" || z.Computed.Round(time.Second) != 1001*time.Second {
		t.Errorf("memory %d, slot %d, disk %d, by %s, computed %v", z.Memory, z.Slot, z.Disk, z.PerNode, z.Computed)
	}
	for i, want := range []Bound{{"goal", 530, ""}, {"longest location", 3125, ""}, {"file system", 333, ""}, {"locations", 4096, ""}} {
		if b := z.Bounds[i]; b.Name != want.Name || b.Ranks != want.Ranks {
			t.Errorf("bound %d: %s %d, want %s %d", i, b.Name, b.Ranks, want.Name, want.Ranks)
		}
	}
}

// TestFitDecides lets every bound decide once.
func TestFitDecides(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Work, *Site)
		ranks  int
		want   string
	}{
		{"small trace", func(w *Work, _ *Site) { w.Bytes = 1e9 }, 1, "goal"},
		{"longest location", func(w *Work, _ *Site) { w.Largest = 5e12 }, 5, "longest location"},
		{"half of it alone", func(w *Work, _ *Site) { w.Largest, w.Sequential = 5e12, 0.5 }, 10, "longest location"},
		{"slow files", func(_ *Work, s *Site) { s.Bandwidth = 1 }, 16, "file system"},
		{"few locations", func(w *Work, _ *Site) { w.Locations = 7 }, 7, "locations"},
		{"one rank", func(w *Work, _ *Site) { w.OneRank = true }, 1, "one rank"},
		{"site", func(_ *Work, s *Site) { s.MaxRanks = 100 }, 100, "site"},
		{"nothing", func(w *Work, _ *Site) { *w = Work{} }, 1, "goal"},
	} {
		w, site := big20()
		c.change(w, site)
		z := Fit(w, site, 15*time.Minute)
		if z.Ranks != c.ranks || z.Decided != c.want {
			t.Errorf("%s: %d ranks by the %s, want %d by the %s", c.name, z.Ranks, z.Decided, c.ranks, c.want)
		}
	}
}

func TestFitMemory(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Work, *Site)
		nodes   int
		per     string
		memory  string
		unfit   bool
		perNode int
	}{
		{"cores", func(*Work, *Site) {}, 3, "cores", "definitions and one location in progress", false, 128},
		{"memory", func(_ *Work, s *Site) { s.Memory = 128 }, 4, "memory", "definitions and one location in progress", false, 92},
		{"events", func(w *Work, _ *Site) { w.Least = 24e9 }, 21, "memory", "the events of the longest location", false, 16},
		{"too large", func(w *Work, _ *Site) { w.Least = 1e12 }, 333, "memory", "the events of the longest location", true, 1},
		{"no memory known", func(_ *Work, s *Site) { s.Memory = 0 }, 3, "cores", "definitions and one location in progress", false, 128},
		{"nothing known", func(_ *Work, s *Site) { s.Cores = 0 }, 0, "", "definitions and one location in progress", false, 0},
	} {
		w, site := big20()
		c.change(w, site)
		z := Fit(w, site, 15*time.Minute)
		if z.Nodes != c.nodes || z.PerNode != c.per || z.MemoryBound != c.memory || (z.Unfit != "") != c.unfit || z.RanksPerNode != c.perNode {
			t.Errorf("%s: %d nodes with %d by %s, memory by %s, %q", c.name, z.Nodes, z.RanksPerNode, z.PerNode, z.MemoryBound, z.Unfit)
		}
	}
}

func TestPlaceOnNodes(t *testing.T) {
	w, site := big20()
	z := Fit(w, site, 15*time.Minute)
	z.Place(site, 2)
	if z.Unfit == "" || z.RanksPerNode != 167 {
		t.Errorf("333 ranks on 2 nodes of 128 cores: %d a node, %q", z.RanksPerNode, z.Unfit)
	}
	z.Place(site, 1000)
	if z.Nodes != 333 || z.RanksPerNode != 1 || z.Unfit != "" {
		t.Errorf("333 ranks on 1000 nodes: %d with %d, %q", z.Nodes, z.RanksPerNode, z.Unfit)
	}
	z.SetMemory(600 << 30)
	z.Place(site, 0)
	if z.Unfit == "" || z.MemoryBound != "flag --mem" {
		t.Errorf("600 GiB a rank on nodes of 512 GiB: %q", z.Unfit)
	}
}

// slowRanks is the formula again, with exact fractions.
func slowRanks(w *Work, site *Site, goal time.Duration) int64 {
	frac := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	ceil := func(r *big.Rat) *big.Int {
		q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
		if m.Sign() != 0 {
			q.Add(q, big.NewInt(1))
		}
		return q
	}
	floor := func(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }
	b, rate := new(big.Rat).SetInt(new(big.Int).SetUint64(w.Bytes)), frac(w.Rate)
	perRank := new(big.Rat).Mul(new(big.Rat).Mul(rate, big.NewRat(int64(goal), int64(time.Second))), big.NewRat(7, 10))
	list := []*big.Int{
		ceil(new(big.Rat).Quo(b, perRank)),
		floor(new(big.Rat).Quo(new(big.Rat).Mul(b, big.NewRat(5, 4)), new(big.Rat).SetInt(new(big.Int).SetUint64(w.Largest)))),
		floor(new(big.Rat).Quo(new(big.Rat).Mul(frac(site.Bandwidth), big.NewRat(1e9, 1)), rate)),
		big.NewInt(int64(w.Locations)),
	}
	least := big.NewInt(mostRanks)
	for _, v := range list {
		if v.Cmp(least) < 0 {
			least = v
		}
	}
	return max(1, least.Int64())
}

// TestFitExact compares the ranks with exact fractions. Where a quotient is within rounding of a whole number, one more or
// less is right too.
func TestFitExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		w := &Work{
			Bytes: 1 + r.Uint64N(1<<(10+r.UintN(50))), Locations: 1 + r.IntN(1<<r.IntN(20)),
			Rate: float64(1+r.IntN(200)) * 1e6,
		}
		w.Largest = 1 + r.Uint64N(w.Bytes)
		site := &Site{Bandwidth: float64(1 + r.IntN(1000)), Cores: 1 + r.IntN(256), Memory: float64(8 + r.IntN(2000))}
		goal := time.Duration(1+r.IntN(100)) * time.Minute
		z := Fit(w, site, goal)
		if want := slowRanks(w, site, goal); math.Abs(float64(int64(z.Ranks)-want)) > 1 {
			t.Fatalf("%+v, %+v, %v: %d ranks, want %d", w, site, goal, z.Ranks, want)
		}
		if z.Nodes*z.RanksPerNode < z.Ranks || z.RanksPerNode > site.Cores || (z.Nodes-1)*z.RanksPerNode >= z.Ranks {
			t.Fatalf("%d ranks: %d nodes with %d", z.Ranks, z.Nodes, z.RanksPerNode)
		}
		if z.Time < 10*time.Minute || z.Time%(5*time.Minute) != 0 || z.Time < z.Computed {
			t.Fatalf("time %v for %v", z.Time, z.Computed)
		}
	}
}

// TestFitHostile gives sizes that no trace has: nothing overflows.
func TestFitHostile(t *testing.T) {
	for _, w := range []*Work{
		{Bytes: math.MaxUint64, Largest: math.MaxUint64, Locations: math.MaxInt32, Rate: 1e-3, Result: math.MaxUint64},
		{Bytes: math.MaxUint64, Largest: 1, Locations: math.MaxInt32, Rate: 1e300, Least: math.MaxInt64 / 4, Definitions: math.MaxInt64 / 4},
		{Bytes: 1, Largest: math.MaxUint64, Sequential: math.NaN()},
	} {
		z := Fit(w, &Site{Cores: 1, Memory: 0.125, MaxTime: 1440}, time.Second)
		if z.Ranks < 1 || z.Nodes < 1 || z.Time <= 0 || z.Time > 24*time.Hour || z.Memory <= 0 || z.Slot < z.Memory {
			t.Errorf("%+v: %+v", w, z)
		}
	}
}

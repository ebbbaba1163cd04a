package cluster

import (
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
)

// Behaviours whose sums are equal are told apart by pivots, and no pair across parts is within the threshold.
func TestSplit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 32))
	for _, metric := range []Metric{L1, L2} {
		data := make([][]int64, 90)
		for i := range data {
			data[i] = make([]int64, 6)
			for k := range data[i] {
				data[i][k] = rng.Int64N(10)
			}
			data[i][i%6] += 1000
		}
		const t0 = 100
		_ = mpi.RunInProcess(1, func(c mpi.Comm) error {
			v := Rows{numbers(len(data)), data}
			o := Options{Metric: metric, Threshold: Threshold{Absolute: t0}}
			r, err := classify(context.Background(), c, v, o, mostAlone, 4)
			if err != nil {
				t.Error(err)
				return nil
			}
			if r.Components != 6 || r.Largest != 15 || len(r.Classes) != 6 {
				t.Errorf("%d parts, the largest of %d, %d classes", r.Components, r.Largest, len(r.Classes))
			}
			o.setDefaults()
			x := &survey{team: alone(), v: v, o: o, dim: 6, members: 90}
			if err := x.survey(); err != nil {
				t.Error(err)
			}
			s, err := x.space()
			if err != nil {
				t.Error(err)
			}
			parts, err := (&splitter{s, t0 << s.fraction, 4}).split(t0)
			if err != nil {
				t.Error(err)
			}
			checkParts(t, metric, parts, data, t0)
			return nil
		})
	}
}

// alone is a team of one rank.
func alone() *team {
	return &team{ctx: context.Background(), comm: mpi.Serial(), size: 1, workers: 1}
}

func checkParts(t *testing.T, m Metric, parts [][]int32, data [][]int64, t0 int64) {
	t.Helper()
	part := map[int32]int{}
	for i, p := range parts {
		for _, k := range p {
			part[k] = i
		}
	}
	if len(part) != len(data) {
		t.Errorf("%d points in parts", len(part))
	}
	for i := range data {
		for k := range i {
			if part[int32(i)] != part[int32(k)] && refDistance(m, 0, data[i], data[k]).Cmp(big.NewInt(t0)) <= 0 {
				t.Errorf("%d and %d are within the threshold, but in parts of their own", i, k)
			}
		}
	}
}

// Points on a line with growing gaps have one pair at a time that is each other's nearest: the chain takes over.
func TestGrowingGaps(t *testing.T) {
	t.Parallel()
	data := make([][]int64, 120)
	for i := range data {
		data[i] = []int64{int64(i*i) * 1000, int64(i % 2)}
	}
	for _, l := range []Linkage{Complete, Average} {
		o := Options{Linkage: l, Full: true}
		for _, p := range []int{1, 3} {
			compareWith(t, mustAlone(t, p, data, o, p%3*200), o, data)
		}
	}
}

// merges returns what a matrix of given distances merges to, on so many ranks.
func merges[E element](t *testing.T, ranks int, f form, weights []uint64, distance func(i, k int) uint64, how func(c *triangle[E], each func(link)) error) []link {
	t.Helper()
	var list []link
	err := mpi.RunInProcess(ranks, func(comm mpi.Comm) error {
		c := newTriangle[E](&team{ctx: context.Background(), comm: comm, rank: comm.Rank(), size: ranks, workers: 1}, f, slices.Clone(weights))
		for _, i := range c.own {
			for k := range c.row(i) {
				c.row(i)[k] = E(distance(int(i), k))
			}
		}
		for first := 0; first < len(c.own); first += edge {
			c.seal(first)
		}
		return how(c, func(l link) {
			if c.rank == 0 {
				list = append(list, l)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	d := dendrogram{links: list}
	d.order(Options{}, Height{})
	return list
}

// The chain alone, and the rounds alone, give the same merges, on one rank and on several; so do both elements.
func TestChain(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(33, 34))
	for round := range 60 {
		n := 2 + rng.IntN(40)
		weights, table := make([]uint64, n), make([]uint64, n*n)
		for i := range weights {
			weights[i] = 1 + rng.Uint64N(3)
		}
		f := form{mean: round%2 == 0}
		limit := []uint64{4, 1 << 30}[round%2]
		for i := range table {
			table[i] = rng.Uint64N(limit)
		}
		distance := func(i, k int) uint64 { return table[i*n+k] }
		want := merges(t, 1, f, weights, distance, (*triangle[uint64]).chain)
		if len(want) != n-1 {
			t.Fatalf("%d merges of %d clusters", len(want), n)
		}
		for ranks := 1; ranks <= 5; ranks += 2 {
			for _, how := range []func(*triangle[uint64], func(link)) error{(*triangle[uint64]).chain, (*triangle[uint64]).agglomerate} {
				if got := merges(t, ranks, f, weights, distance, how); !slices.Equal(got, want) {
					t.Fatalf("%d ranks, %+v: %v\nwant %v", ranks, f, got, want)
				}
			}
			if got := merges(t, ranks, f, weights, distance, (*triangle[uint32]).agglomerate); !f.mean && !slices.Equal(got, want) {
				t.Fatalf("%d ranks, narrow: %v\nwant %v", ranks, got, want)
			}
		}
	}
}

// broken are vectors that cannot be read.
type broken struct {
	Rows
	err error
}

func (b broken) Read(i int, from uint64, dst []int64) error {
	if i == 1 {
		return b.err
	}
	return b.Rows.Read(i, from, dst)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("the file is gone")
	row := func(x ...int64) [][]int64 { return [][]int64{x, x, x} }
	for _, tc := range []struct {
		name string
		v    func(rank int) Vectors
		o    func(rank int) Options
		want error
	}{
		{"metric", nil, func(int) Options { return Options{Metric: numMetrics} }, ErrOptions},
		{"linkage", nil, func(int) Options { return Options{Linkage: numLinkages} }, ErrOptions},
		{"representative", nil, func(int) Options { return Options{Representative: numRepresentatives} }, ErrOptions},
		{"quantum", nil, func(int) Options { return Options{Quantum: 1000001} }, ErrOptions},
		{"memory", nil, func(int) Options { return Options{Memory: 1000} }, ErrOptions},
		{"workers", nil, func(int) Options { return Options{Workers: -1} }, ErrOptions},
		{"distances", nil, func(int) Options { return Options{Full: true, Distances: 8} }, ErrMemory},
		{"options differ", nil, func(r int) Options { return Options{MaxClasses: uint32(r)} }, ErrOptions},
		{"order of ids", func(r int) Vectors {
			return Rows{[]uint32{uint32(3*r + 2), uint32(3 * r), uint32(3*r + 1)}, row(1)}
		}, nil, ErrVectors},
		{"id on two ranks", func(int) Vectors { return Rows{[]uint32{1, 2, 3}, row(1, 2)} }, nil, ErrVectors},
		{"id on two ranks, vectors differ", func(r int) Vectors {
			return Rows{[]uint32{1, 2, 3}, [][]int64{{int64(r)}, {int64(r + 5)}, {int64(r + 50)}}}
		}, nil, ErrVectors},
		{"lengths", func(r int) Vectors {
			return Rows{[]uint32{uint32(3 * r), uint32(3*r + 1), uint32(3*r + 2)}, row(make([]int64, r+1)...)}
		}, nil, ErrVectors},
		{"range", func(r int) Vectors {
			return Rows{[]uint32{uint32(3 * r), uint32(3*r + 1), uint32(3*r + 2)}, row(1<<62*int64(r), 4)}
		}, nil, ErrRange},
		{"rounding", func(r int) Vectors {
			const x = 1<<61 + 1<<60 - 1 // moves by 2^60 - 1
			return Rows{[]uint32{uint32(3 * r), uint32(3*r + 1), uint32(3*r + 2)}, row(x, x, x, x, x)}
		}, func(int) Options { return Options{Quantum: 1000000} }, ErrRange},
		{"centroid", nil, func(int) Options { return Options{Linkage: Centroid, Memory: leastMemory} }, ErrTooMany},
		{"reading", func(r int) Vectors {
			return broken{Rows{[]uint32{uint32(3 * r), uint32(3*r + 1), uint32(3*r + 2)}, row(1)}, unreadable}
		}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := mpi.RunInProcess(2, func(c mpi.Comm) error {
				v := Vectors(Rows{[]uint32{uint32(2 * c.Rank()), uint32(2*c.Rank() + 1)}, [][]int64{
					make([]int64, 30000), append([]int64{int64(c.Rank()) + 3}, make([]int64, 29999)...),
				}})
				if tc.v != nil {
					v = tc.v(c.Rank())
				}
				o := Options{}
				if tc.o != nil {
					o = tc.o(c.Rank())
				}
				_, err := Classify(context.Background(), c, v, o)
				return err
			})
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := mpi.RunInProcess(3, func(c mpi.Comm) error {
		_, err := Classify(ctx, c, Rows{[]uint32{uint32(c.Rank())}, [][]int64{{1, 2}}}, Options{})
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// Nothing, one member, vectors without entries, and ranks without members.
func TestSmall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		data    [][]int64
		classes int
	}{
		{nil, 0},
		{[][]int64{{5}}, 1},
		{[][]int64{{}, {}, {}}, 1},
		{[][]int64{{1, 1}, {1, 1}}, 1},
		{[][]int64{{1, 1}, {1, 2}}, 2},
		{[][]int64{{-5, 7}, {7, -5}, {1, 1}}, 3},
	} {
		for _, l := range []Linkage{Complete, Average, Single, Centroid} {
			for _, full := range []bool{false, true} {
				r, err := solve(t, 4, numbers(len(tc.data)), tc.data, Options{Linkage: l, Full: full}, 2, func(i int) int { return i + 1 })
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Classes) != tc.classes || int(r.Members) != len(tc.data) {
					t.Errorf("%v: %+v", tc.data, r)
				}
			}
		}
	}
}

// Rounded entries give what vectors of rounded entries give, and the largest change is reported.
func TestQuantum(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(37, 38))
	data := random(rng, 40, 5, 1<<30)
	after := make([][]int64, len(data))
	most := uint64(0)
	for i, x := range data {
		moved := uint64(0)
		for _, v := range x {
			r := rounded(v, 300_000)
			after[i] = append(after[i], r)
			moved += apart(v, r)
		}
		most = max(most, moved)
	}
	o := Options{Threshold: Threshold{PPM: 400_000}}
	want := must(t, 2, after, o)
	o.Quantum = 300_000
	got := must(t, 2, data, o)
	if got.Approximation.Rounded != most || most == 0 {
		t.Errorf("rounded by %d, want %d", got.Approximation.Rounded, most)
	}
	if got.Distinct == 40 {
		t.Error("no vectors became equal")
	}
	got.Approximation.Rounded = 0
	same(t, "rounded", want, got)
}

// A threshold in millionths is one of the mean sum, rounded down, also of sums that do not fit 64 bits.
func TestRelativeThreshold(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(39, 40))
	for round := range 50 {
		data := make([][]int64, 1+rng.IntN(9))
		total := new(big.Int)
		for i := range data {
			for range 4 {
				x := rng.Int64N(1<<(10+round)) - int64(round%2)
				if round%5 == 0 {
					x = 1<<59 + rng.Int64N(100)
				}
				data[i] = append(data[i], x)
				total.Add(total, big.NewInt(x))
			}
		}
		ppm := uint32(1 + rng.IntN(200_000))
		want := new(big.Int).Mul(total, big.NewInt(int64(ppm)))
		want.Div(want, big.NewInt(int64(len(data))*1_000_000))
		r := must(t, 1+round%3, data, Options{Threshold: Threshold{Absolute: 77, PPM: ppm}})
		if want.Sign() > 0 && r.Threshold != whole(want.Uint64()) || want.Sign() <= 0 && r.Threshold != whole(0) {
			t.Errorf("threshold %v, want %v", r.Threshold, want)
		}
	}
}

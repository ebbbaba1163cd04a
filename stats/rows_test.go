package stats

import (
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/stats/match"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestSpread compares the wide sums with big integers, merged in any grouping.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		n := 1 + rng.IntN(20)
		values := make([]uint64, n)
		sum, squares := new(big.Int), new(big.Int)
		for i := range values {
			values[i] = rng.Uint64N(xtf.Most(n)) >> rng.IntN(64)
			v := new(big.Int).SetUint64(values[i])
			sum.Add(sum, v)
			squares.Add(squares, v.Mul(v, v))
		}
		cut := 1 + rng.IntN(n)
		var a, b Spread
		for i, v := range values {
			if i < cut {
				a.add(v, uint32(i), i == 0)
			} else {
				b.add(v, uint32(i), i == cut)
			}
		}
		if cut < n {
			a.merge(&b)
		}
		if a.Sum != sum.Uint64() {
			t.Fatalf("sum %v, want %v", a.Sum, sum)
		}
		got := new(big.Int).SetUint64(a.Squares[1])
		if got.Lsh(got, 64).Or(got, new(big.Int).SetUint64(a.Squares[0])); got.Cmp(squares) != 0 {
			t.Fatalf("squares %v, want %v", got, squares)
		}
		for i, v := range values {
			if v < a.Min || v > a.Max || v == a.Min && uint32(i) < a.MinP || v == a.Max && uint32(i) < a.MaxP {
				t.Fatalf("value %d of process %d against %+v", v, i, a)
			}
		}
	}
}

func TestLevel(t *testing.T) {
	for last, want := range map[uint64]uint8{0: 0, 1: 1, 3: 1, 4: 2, 15: 2, 16: 3, 1 << 40: 21, 1<<64 - 1: 32} {
		if got := Level(last); got != want {
			t.Errorf("Level(%d) = %d, want %d", last, got, want)
		}
	}
}

func loadedSample() *Loaded {
	l := &Loaded{P: 3, Bytes: 8, P2PRows: 4, CollRows: 5}
	l.Peers = []match.PeerRange{
		{Peer: 1, At: 2, Count: 3, Sends: 4, Locks: true},
		{Peer: trace.Undefined, Comm: 5, Coll: true, At: 6, Count: 7},
	}
	l.Profile = []RegionProfile{{Region: 2, Calls: 1, Inclusive: 2, Exclusive: 3, Bytes: 4}}
	l.Totals = Totals{First: 1, Last: 99, Events: 7}
	l.Long = []LongCall{{0, 9, 4}, {5, 0, 7}}
	l.Bins = Bins{Level: 2, Rows: []BinRow{{0, 2, BinSums{1, 2, 3, 0}}, {5, 0, BinSums{0, 1, 0, 0}}, {5, 2, BinSums{0, 0, 0, 4}}}}
	for i := range 20 {
		l.Diagnostics.Add(trace.Diagnostic{Code: trace.DiagStrayLeave, Event: uint64(i), Detail: "text"})
	}
	return l
}

func TestLoadedRoundTrip(t *testing.T) {
	want := loadedSample()
	elsewhere := []string{"Tree", "Paths", "Components", "Comm", "Coll"} // written by other functions, and in the second of the peers
	for _, x := range []any{*want, want.Peers[0]} {
		for v, i := reflect.ValueOf(x), 0; i < v.NumField(); i++ {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && !slices.Contains(elsewhere, name) {
				t.Errorf("the sample of %T lacks %s", x, name)
			}
		}
	}
	tables := &Tables{class: make([]trace.CallClass, 6)}
	got, err := tables.Parse(want.AppendBinary(nil))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(RegionProfile{})); d != "" {
		t.Error(d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(loadedSample().AppendBinary(nil))
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		tables := &Tables{class: make([]trace.CallClass, 6)}
		if l, err := tables.Parse(b); err == nil {
			if _, err := tables.Parse(l.AppendBinary(nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

package graph

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestParseDeviation(t *testing.T) {
	const micro = 1_000_000
	for _, c := range []struct {
		text string
		tps  uint64
		want Deviation
		back string
	}{
		{"0", micro, Deviation{}, "0"},
		{"0%", micro, Deviation{}, "0"},
		{"10%", micro, Deviation{Num: 1, Den: 10}, "10%"},
		{"2.5%", micro, Deviation{Num: 1, Den: 40}, "2.5%"},
		{"0.01%", micro, Deviation{Num: 1, Den: 10000}, "0.01%"},
		{"1/3", micro, Deviation{Num: 1, Den: 3}, "1/3"},
		{"1us", 1e9, Deviation{Abs: 1000}, "1000ticks"},
		{"1µs", 1e9, Deviation{Abs: 1000}, "1000ticks"},
		{"1.9us", micro, Deviation{Abs: 1}, "1ticks"},
		{"0.5us", micro, Deviation{}, "0"},
		{"1.5ms", micro, Deviation{Abs: 1500}, "1500ticks"},
		{"2s", 3, Deviation{Abs: 6}, "6ticks"},
		{"500ticks", 7, Deviation{Abs: 500}, "500ticks"},
		{"10%,1us", 1e9, Deviation{Abs: 1000, Num: 1, Den: 10}, "10%,1000ticks"},
		{"1us, 10%", 1e9, Deviation{Abs: 1000, Num: 1, Den: 10}, "10%,1000ticks"},
		{"10%,1us,timestamps", 1e9, Deviation{Abs: 1000, Num: 1, Den: 10, TimeStamps: true}, "10%,1000ticks,timestamps"},
		{"18446744073709551615ticks", 1, Deviation{Abs: math.MaxUint64}, "18446744073709551615ticks"},
	} {
		d, err := ParseDeviation(c.text, c.tps)
		if err != nil || d != c.want || d.String() != c.back {
			t.Errorf("%q: got %+v %q (%v), want %+v %q", c.text, d, d, err, c.want, c.back)
		}
		if again, err := ParseDeviation(d.String(), 1); err != nil || again != d {
			t.Errorf("%q: %q reads as %+v (%v)", c.text, d, again, err)
		}
	}
	for _, text := range []string{
		"", ",", "10", "%", "10%%", "100%", "1/1", "1/0", "3/2", "-1%", "1e3us", "us", "1.us", ".5us", "1.0000000001us", "1 us",
		"10%,20%", "1us,2us", "0,1us", "timestamps", "10%,timestamps", "0.5ns,timestamps", "1us,timestamps,timestamps",
		"99999999999999999999ticks", "99999999999999999s", "1min", "NaN%", "1/2/3",
	} {
		if d, err := ParseDeviation(text, 1e9); !errors.Is(err, ErrDeviation) {
			t.Errorf("%q: got %+v (%v), want an error", text, d, err)
		}
	}
}

// randomDeviation returns bounds of every size, valid ones.
func randomDeviation(r *rand.Rand) Deviation {
	var d Deviation
	if r.IntN(4) > 0 {
		d.Abs = r.Uint64() >> r.IntN(64)
	}
	if r.IntN(4) > 0 {
		d.Den = 2 + r.Uint64N(math.MaxUint64-2)>>r.IntN(63)
		d.Num = r.Uint64N(d.Den) >> r.IntN(64)
	}
	d.TimeStamps = d.Abs > 0 && r.IntN(2) == 0
	return d.Normal()
}

// TestDeviation compares bounds with unbounded arithmetic, and text and bytes
// with what they were made of.
func TestDeviation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	big64 := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	capped := func(v *big.Int, most uint64) uint64 {
		if !v.IsUint64() || v.Uint64() > most {
			return most
		}
		return v.Uint64()
	}
	share := func(v, num, den uint64) *big.Int {
		x := new(big.Int).Mul(big64(v), big64(num))
		if num > 0 {
			x.Div(x, big64(den))
		}
		return x
	}
	for range 20000 {
		d := randomDeviation(r)
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		v, n := r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
		if got, want := d.Bound(v), max(d.Abs, capped(share(v, d.Num, d.Den), math.MaxUint64)); got != want {
			t.Fatalf("%+v: A(%d) = %d, want %d", d, v, got, want)
		}
		all := new(big.Int).Mul(big64(n), big64(d.Abs))
		if got, want := d.StoredBound(n, v), capped(new(big.Int).Add(all, share(v, d.Num, d.Den-d.Num)), math.MaxInt64); got != want {
			t.Fatalf("%+v: %d stored gaps of %d: %d, want %d", d, n, v, got, want)
		}
		if again, err := ParseDeviation(d.String(), 1); err != nil || again != d {
			t.Fatalf("%+v: %q reads as %+v (%v)", d, d, again, err)
		}
		in := Read(d.Append(nil))
		if got := in.Deviation(d.Mode() == ModeLossy); got != d || !in.Done() {
			t.Fatalf("%+v: bytes read as %+v", d, got)
		}
	}
}

// TestDeviationRefused reads bounds that no writer makes.
func TestDeviationRefused(t *testing.T) {
	for _, b := range [][]byte{
		{0, 0, 0, 0}, {5, 2, 4, 0}, {5, 3, 3, 0}, {0, 1, 2, 1}, {5, 1, 2, 2}, {5, 0, 7, 0}, {5, 1, 2}, {},
	} {
		r := Read(b)
		if d := r.Deviation(true); !r.Failed() {
			t.Errorf("% x reads as %+v", b, d)
		}
	}
}

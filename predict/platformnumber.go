package predict

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// Bounds of what a file may say. Sums of times fit 2^63 ps, 106 days, for any program worth simulating; the engines refuse
// the others.
const (
	maxTimeNS = 1e12 // 1000 s
	maxHopNS  = 1e6  // times the links of the largest topology, 2^30, still below 2^60 ps
	maxRateNS = 4e6  // ns a byte, 250 bytes/s
	maxBytes  = 1 << 62
	minBand   = 1000 // bytes/s
	maxBand   = 1e15
)

// decimal reads a number of TOML exactly. It bounds digits and exponent before it computes.
func decimal(text string) (*big.Rat, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if text == "" || len(text) > 60 {
		return nil, false
	}
	if len(text) > 1 && text[0] == '0' && strings.ContainsRune("xob", rune(text[1])) {
		n, err := strconv.ParseUint(text, 0, 64)
		return new(big.Rat).SetInt(new(big.Int).SetUint64(n)), err == nil
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		x, err := strconv.Atoi(text[i+1:])
		if err != nil || x < -40 || x > 40 {
			return nil, false
		}
	}
	if strings.Trim(text, "+-0123456789.eE") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// scaled returns x times factor, rounded to the nearest integer, halves up, and whether it is between 0 and most.
func scaled(x *big.Rat, factor, most uint64) (uint64, bool) {
	f := new(big.Int).SetUint64(factor)
	num := new(big.Int).Mul(x.Num(), f)
	if num.Sign() < 0 {
		return 0, false
	}
	num.Lsh(num, 1).Add(num, x.Denom())
	num.Quo(num, new(big.Int).Lsh(x.Denom(), 1))
	return num.Uint64(), num.IsUint64() && num.Uint64() <= most
}

// rateOf turns ns a byte into a rate.
func rateOf(x *big.Rat) (simnet.Rate, bool) {
	v, ok := scaled(x, 1000<<32, math.MaxUint64)
	return simnet.Rate(v), ok && x.Cmp(new(big.Rat).SetInt64(maxRateNS)) <= 0
}

// nsOf writes ps as ns.
func nsOf(ps int64) string {
	return trimmed(new(big.Rat).SetFrac64(ps, 1000).FloatString(3))
}

// rateNS writes a rate as ns a byte, with the fewest digits that read as the same rate.
func rateNS(r simnet.Rate) string {
	den := new(big.Int).Lsh(big.NewInt(1000), 32)
	exact := new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(r)), den)
	for digits := 0; ; digits++ {
		s := exact.FloatString(digits)
		x, ok := new(big.Rat).SetString(s)
		if back, fits := rateOf(x); ok && fits && back == r || digits == 40 {
			return trimmed(s)
		}
	}
}

// trimmed drops zeros behind the point.
func trimmed(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// ParseScale reads a factor of computing times, such as 0.7: more than 0, at most a million, with at most nine decimals.
func ParseScale(text string) (Scale, bool) {
	x, ok := decimal(text)
	if !ok || x.Sign() <= 0 || x.Cmp(new(big.Rat).SetInt64(1e6)) > 0 || !x.Num().IsUint64() || !x.Denom().IsUint64() || x.Denom().Uint64() > 1e9 {
		return Scale{}, false
	}
	return Scale{x.Num().Uint64(), x.Denom().Uint64()}, true
}

// String writes the factor as a decimal.
func (s Scale) String() string {
	r := new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Num), new(big.Int).SetUint64(s.Den))
	return trimmed(r.FloatString(9))
}

package predict

import (
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
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

// decimal reads a number of TOML.
func decimal(text string) (exact.Number, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if len(text) > 1 && text[0] == '0' && strings.ContainsRune("xob", rune(text[1])) {
		n, err := strconv.ParseUint(text, 0, 64)
		return exact.Share(0, n, 1), err == nil
	}
	return exact.Parse(text)
}

// scaled returns x times factor, rounded to the nearest integer, halves up, and whether it is between 0 and most.
func scaled(x exact.Number, factor, most uint64) (uint64, bool) {
	y := x.Times(factor)
	v := uint64(y.Round())
	return v, y.Known() && x.Sign() >= 0 && v <= most
}

// rateOf turns ns a byte into a rate.
func rateOf(x exact.Number) (simnet.Rate, bool) {
	const unit = 1000 << 32
	n := x.Floor()
	part, ok := scaled(x.Minus(exact.Int(n)), unit, unit)
	return simnet.Rate(uint64(n)*unit + part), ok && n >= 0 && x.Compare(exact.Int(maxRateNS)) <= 0
}

// nsOf writes ps as ns.
func nsOf(ps int64) string {
	return trimmed(exact.Int(ps).Div(1000).Fixed(3))
}

// rateNS writes a rate as ns a byte, with the fewest digits that read as the same rate.
func rateNS(r simnet.Rate) string {
	for digits := 0; ; digits++ {
		s := exact.Share(0, uint64(r), 1000<<32).Fixed(digits)
		x, _ := exact.Parse(s)
		if back, fits := rateOf(x); fits && back == r || digits == 18 {
			return trimmed(s)
		}
	}
}

// trimmed drops zeros after the point.
func trimmed(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// ParseScale reads a factor of computing times, such as 0.7: more than 0, at most a million, with at most nine decimals.
func ParseScale(text string) (Scale, bool) {
	x, ok := decimal(text)
	billionths := x.Times(1e9)
	if !ok || x.Sign() <= 0 || x.Compare(exact.Int(1e6)) > 0 || !billionths.IsInt() {
		return Scale{}, false
	}
	num, den := lowest(uint64(billionths.Floor()), 1e9)
	return Scale{num, den}, true
}

// String writes the factor as a decimal.
func (s Scale) String() string {
	return trimmed(exact.Share(0, s.Num, s.Den).Fixed(9))
}

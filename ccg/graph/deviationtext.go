package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// maxDecimals is the number of digits after the point that bounds may have.
const maxDecimals = 9

// units of absolute bounds, per second.
var units = []struct {
	name      string
	perSecond uint64
}{{"ns", 1e9}, {"us", 1e6}, {"µs", 1e6}, {"ms", 1e3}, {"s", 1}}

// ParseDeviation reads bounds: "0" (lossless), "10%", "1us", "500ticks",
// "10%,1us", "10%,1us,timestamps". A relative bound may also be a fraction, as
// "1/3". Times are rounded down to ticks of a clock of the given resolution, 0 if it is not known.
// Errors wrap ErrDeviation.
func ParseDeviation(s string, ticksPerSecond uint64) (Deviation, error) {
	var d Deviation
	var relative, absolute bool
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		twice := false
		var err error
		switch {
		case part == "timestamps":
			twice, d.TimeStamps = d.TimeStamps, true
		case part == "0":
			twice, absolute = absolute, true
		case strings.ContainsAny(part, "%/"):
			twice, relative = relative, true
			d.Num, d.Den, err = parseRelative(part)
		default:
			twice, absolute = absolute, true
			d.Abs, err = parseAbsolute(part, ticksPerSecond)
		}
		if twice {
			err = fmt.Errorf("two bounds of one kind: %w", ErrDeviation)
		}
		if err != nil {
			return Deviation{}, fmt.Errorf("deviation %q: %q: %w", s, part, err)
		}
	}
	if err := d.Check(); err != nil {
		return Deviation{}, fmt.Errorf("deviation %q: %w", s, err)
	}
	return d.Normal(), nil
}

// parseRelative reads "2.5%" or "1/40".
func parseRelative(s string) (num, den uint64, err error) {
	if a, b, ok := strings.Cut(s, "/"); ok {
		var errA, errB error
		num, errA = strconv.ParseUint(a, 10, 64)
		den, errB = strconv.ParseUint(b, 10, 64)
		if errA != nil || errB != nil || den == 0 {
			return 0, 0, fmt.Errorf("a fraction looks like 1/3: %w", ErrDeviation)
		}
		return num, den, nil
	}
	number, ok := strings.CutSuffix(s, "%")
	if !ok {
		return 0, 0, fmt.Errorf("a percentage looks like 10%%: %w", ErrDeviation)
	}
	num, den, err = parseDecimal(number)
	return num, 100 * den, err
}

// parseAbsolute reads "1.5us" or "500ticks".
func parseAbsolute(s string, ticksPerSecond uint64) (uint64, error) {
	if number, ok := strings.CutSuffix(s, "ticks"); ok {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("a number of ticks looks like 500ticks: %w", ErrDeviation)
		}
		return n, nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok || number == "" || strings.Trim(number[len(number)-1:], "0123456789.") != "" {
			continue
		}
		n, den, err := parseDecimal(number)
		if err != nil {
			return 0, err
		}
		if ticksPerSecond == 0 {
			return 0, fmt.Errorf("the resolution of the clock is not known, so give ticks, as 500ticks: %w", ErrDeviation)
		}
		q, ok := exact.MulDiv(n, ticksPerSecond, den*u.perSecond)
		if !ok {
			return 0, fmt.Errorf("more than 2^64 ticks: %w", ErrDeviation)
		}
		return q, nil
	}
	return 0, fmt.Errorf("neither a percentage (10%%) nor a time (1us; ns, us, ms, s, ticks) nor timestamps: %w", ErrDeviation)
}

// parseDecimal reads digits with at most maxDecimals after a point, as n/den.
func parseDecimal(s string) (n, den uint64, err error) {
	whole, fraction, point := strings.Cut(s, ".")
	den = 1
	for range fraction {
		den *= 10
	}
	if strings.Trim(whole+fraction, "0123456789") == "" && whole != "" && len(fraction) <= maxDecimals && (!point || fraction != "") {
		if n, err = strconv.ParseUint(whole+fraction, 10, 64); err == nil {
			return n, den, nil
		}
	}
	return 0, 0, fmt.Errorf("a number looks like 10 or 2.5, with at most %d digits after the point: %w", maxDecimals, ErrDeviation)
}

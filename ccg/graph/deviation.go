package graph

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/varint"
)

// Deviation bounds the difference between stored and true gaps. The zero value is lossless.
//
// A gap of v ticks is stored as v' with |v - v'| <= A(v), where A(v) is the larger of Abs and v*Num/Den, rounded down. With TimeStamps the
// times themselves are bounded too: no stored time is later than the true one, nor earlier by Abs or more. docs/graph.md says what that
// means for sums of gaps.
type Deviation struct {
	Abs        uint64 // ticks
	Num, Den   uint64 // relative part, Num < Den; 0, 0 if there is none
	TimeStamps bool   // bound times too; needs Abs
}

// Lossless reports whether every gap is exact.
func (d Deviation) Lossless() bool { return d.Abs == 0 && d.Num == 0 }

// Check returns an error that wraps ErrDeviation if d is not valid.
func (d Deviation) Check() error {
	switch {
	case d.Num > 0 && d.Num >= d.Den:
		return fmt.Errorf("relative bound %d/%d is not below 100%%: %w", d.Num, d.Den, ErrDeviation)
	case d.TimeStamps && d.Abs == 0:
		return fmt.Errorf("time stamps need an absolute bound of a tick at least, such as 10%%,1us,timestamps: %w", ErrDeviation)
	}
	return nil
}

// Farthest is the largest deviation in ticks: sums of times, true and stored, are below 2^63. The sum of two bounds fits 64 bits.
const Farthest = 1<<63 - 1

// Bound returns A(v) in ticks: the most by which the stored value of a gap of v ticks may differ from v.
func (d Deviation) Bound(v uint64) uint64 { return max(d.Abs, d.Share(v, d.Den)) }

// Share returns v*Num/den, rounded down, at most 2^64-1.
func (d Deviation) Share(v, den uint64) uint64 {
	if d.Num == 0 {
		return 0
	}
	q, _ := exact.MulDiv(d.Num, v, den)
	return q
}

// StoredBound returns how far a sum of n gaps, stored as this many ticks, may be from the true sum, at most Farthest. It follows from |v -
// v'| <= r*v that |v - v'| <= v' * r/(1-r); Abs is added for each gap.
func (d Deviation) StoredBound(n, ticks uint64) uint64 {
	hi, all := bits.Mul64(n, d.Abs)
	if hi != 0 {
		return Farthest
	}
	return min(min(all, Farthest)+min(d.Share(ticks, d.Den-d.Num), Farthest), Farthest)
}

// TimeBound returns how far a span of n consecutive gaps, stored as this many ticks, may be from the true span. A span is a call's
// duration, the time between two events of a location or, from the begin of the location, a time.
func (d Deviation) TimeBound(n, ticks uint64) uint64 {
	if d.TimeStamps {
		return min(d.Abs-1, d.StoredBound(n, ticks))
	}
	return d.StoredBound(n, ticks)
}

// Normal returns d with the fraction in lowest terms, so that equal bounds have equal bytes.
func (d Deviation) Normal() Deviation {
	if d.Num == 0 {
		d.Den = 0
		return d
	}
	a, b := d.Den, d.Num
	for b != 0 {
		a, b = b, a%b
	}
	d.Num, d.Den = d.Num/a, d.Den/a
	return d
}

// Mode returns the mode byte in files.
func (d Deviation) Mode() byte {
	if d.Lossless() {
		return modeLossless
	}
	return ModeLossy
}

// Append appends the bounds of a lossy graph; nothing if d is lossless.
func (d Deviation) Append(dst []byte) []byte {
	if d.Lossless() {
		return dst
	}
	dst = varint.Append(dst, d.Abs, d.Num, d.Den)
	if d.TimeStamps {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// Deviation reads what Append appended.
func (r *Reader) Deviation(lossy bool) Deviation {
	if !lossy {
		return Deviation{}
	}
	d := Deviation{Abs: r.Next(), Num: r.Next(), Den: r.Next()}
	flag := r.Byte()
	d.TimeStamps = flag == 1
	if flag > 1 || d.Lossless() || d.Check() != nil || d != d.Normal() {
		r.Fail()
		return Deviation{}
	}
	return d
}

// String returns d in a form that ParseDeviation reads with any clock.
func (d Deviation) String() string {
	d = d.Normal()
	var parts []string
	if d.Num > 0 {
		parts = append(parts, d.relative())
	}
	if d.Abs > 0 {
		parts = append(parts, strconv.FormatUint(d.Abs, 10)+"ticks")
	}
	if len(parts) == 0 {
		parts = append(parts, "0")
	}
	if d.TimeStamps {
		parts = append(parts, "timestamps")
	}
	return strings.Join(parts, ",")
}

// relative returns the fraction, as a percentage if that has few digits.
func (d Deviation) relative() string {
	scale := uint64(100)
	for digits := range maxDecimals + 1 {
		if hi, lo := bits.Mul64(d.Num, scale); hi == 0 && lo%d.Den == 0 {
			s := strconv.FormatUint(lo/d.Den, 10)
			if digits > 0 {
				s = strings.Repeat("0", max(0, digits+1-len(s))) + s
				s = s[:len(s)-digits] + "." + s[len(s)-digits:]
			}
			return s + "%"
		}
		scale *= 10
	}
	return fmt.Sprintf("%d/%d", d.Num, d.Den)
}

// ErrorStats says how far the stored times of a location's events are from the true ones, in ticks.
type ErrorStats struct {
	Largest      uint64
	SumHi, SumLo uint64 // sum of the absolute errors, 128 bits
	Count        uint64 // events
}

// Mean returns the mean absolute error, rounded to ticks.
func (s ErrorStats) Mean() uint64 {
	if s.Count == 0 {
		return 0
	}
	return Total{s.SumHi, s.SumLo}.Mean(s.Count)
}

// Add adds the errors of another location.
func (s *ErrorStats) Add(o ErrorStats) {
	sum := Total{s.SumHi, s.SumLo}.Plus(Total{o.SumHi, o.SumLo})
	*s = ErrorStats{max(s.Largest, o.Largest), sum.Hi, sum.Lo, s.Count + o.Count}
}

// Event adds the error of one event.
func (s *ErrorStats) Event(e uint64) {
	s.Largest = max(s.Largest, e)
	var carry uint64
	s.SumLo, carry = bits.Add64(s.SumLo, e, 0)
	s.SumHi += carry
	s.Count++
}

// Append appends all fields except Count.
func (s ErrorStats) Append(dst []byte) []byte {
	return varint.Append(dst, s.Largest, s.SumHi, s.SumLo)
}

// ErrorStats reads what Append appended, for a location with count events.
func (r *Reader) ErrorStats(count uint64) ErrorStats {
	s := ErrorStats{r.Next(), r.Next(), r.Next(), count}
	if (Total{s.SumHi, s.SumLo}).Compare(Product(s.Largest, count)) > 0 {
		r.Fail()
	}
	return s
}

// maxDecimals is the most digits after the point in a bound.
const maxDecimals = 9

// units of absolute bounds, per second.
var units = []struct {
	name      string
	perSecond uint64
}{{"ns", 1e9}, {"us", 1e6}, {"µs", 1e6}, {"ms", 1e3}, {"s", 1}}

// ParseDeviation parses bounds: "0" (lossless), "10%", "1us", "500ticks", "10%,1us", "10%,1us,timestamps". A relative bound may also be a
// fraction such as "1/3". Times are rounded down to ticks of a clock with this resolution, 0 if it is not known. Errors wrap ErrDeviation.
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

// parseRelative parses "2.5%" or "1/40".
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

// parseAbsolute parses "1.5us" or "500ticks".
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

// parseDecimal parses digits with at most maxDecimals after the point, as n/den.
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

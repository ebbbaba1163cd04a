package graph

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/varint"
)

// Deviation bounds how far stored gaps may be from the true ones. The zero value
// is lossless.
//
// A gap of v ticks is stored as v' with |v - v'| <= A(v), where A(v) is the
// larger of Abs and v*Num/Den, rounded down. With TimeStamps the times
// themselves are bounded too: none is late, and none is early by Abs or more.
// docs/graph.md says what that means for sums of gaps.
type Deviation struct {
	Abs        uint64 // ticks
	Num, Den   uint64 // relative part, Num < Den; 0, 0 if there is none
	TimeStamps bool   // bound times too; needs Abs
}

// Lossless reports whether every gap is exact.
func (d Deviation) Lossless() bool { return d.Abs == 0 && d.Num == 0 }

// Check returns an error that wraps ErrDeviation if d makes no sense.
func (d Deviation) Check() error {
	switch {
	case d.Num > 0 && d.Num >= d.Den:
		return fmt.Errorf("relative bound %d/%d is not below 100%%: %w", d.Num, d.Den, ErrDeviation)
	case d.TimeStamps && d.Abs == 0:
		return fmt.Errorf("time stamps need an absolute bound of a tick at least, such as 10%%,1us,timestamps: %w", ErrDeviation)
	}
	return nil
}

// Farthest bounds every deviation, ticks: sums of times are below 2^63, in truth and as stored. Two bounds add up without a carry.
const Farthest = 1<<63 - 1

// Bound returns A(v), ticks: how far the stored value of a gap of v ticks may be
// from v.
func (d Deviation) Bound(v uint64) uint64 { return max(d.Abs, d.Share(v, d.Den)) }

// Share returns v*Num/den, rounded down, at most 2^64-1.
func (d Deviation) Share(v, den uint64) uint64 {
	if d.Num == 0 {
		return 0
	}
	q, _ := exact.MulDiv(d.Num, v, den)
	return q
}

// StoredBound returns the guaranteed deviation, ticks, of a sum of n gaps: stored
// as the given ticks, it is in truth at most so far from it. From |v - v'| <= r*v
// follows |v - v'| <= v' * r/(1-r), and there is Abs for each gap. At most farthest.
func (d Deviation) StoredBound(n, ticks uint64) uint64 {
	hi, all := bits.Mul64(n, d.Abs)
	if hi != 0 {
		return Farthest
	}
	return min(min(all, Farthest)+min(d.Share(ticks, d.Den-d.Num), Farthest), Farthest)
}

// TimeBound returns the guaranteed deviation, ticks, of a span of n consecutive
// gaps that is stored as the given ticks: of a call's duration, of the time between
// two events of a location, or of a time, if the span begins with the location.
func (d Deviation) TimeBound(n, ticks uint64) uint64 {
	if d.TimeStamps {
		return min(d.Abs-1, d.StoredBound(n, ticks))
	}
	return d.StoredBound(n, ticks)
}

// Normal returns d with the fraction in lowest terms: equal bounds, equal bytes.
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

// Mode returns the mode byte of files.
func (d Deviation) Mode() byte {
	if d.Lossless() {
		return modeLossless
	}
	return ModeLossy
}

// Append appends the bounds of mode 1; nothing in mode 0.
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

// Deviation takes what append appended.
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

// String returns a form that ParseDeviation reads, with any clock.
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

// relative returns the fraction as a percentage if that takes few digits.
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

// ErrorStats says how far the stored times of a location are from the true ones,
// in ticks, over all its events.
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

// Add joins the figures of another location.
func (s *ErrorStats) Add(o ErrorStats) {
	sum := Total{s.SumHi, s.SumLo}.Plus(Total{o.SumHi, o.SumLo})
	*s = ErrorStats{max(s.Largest, o.Largest), sum.Hi, sum.Lo, s.Count + o.Count}
}

// Event counts the error of one event.
func (s *ErrorStats) Event(e uint64) {
	s.Largest = max(s.Largest, e)
	var carry uint64
	s.SumLo, carry = bits.Add64(s.SumLo, e, 0)
	s.SumHi += carry
	s.Count++
}

// Append appends the figures of a location, all but the count.
func (s ErrorStats) Append(dst []byte) []byte {
	return varint.Append(dst, s.Largest, s.SumHi, s.SumLo)
}

// ErrorStats takes what append appended, for a location with count events.
func (r *Reader) ErrorStats(count uint64) ErrorStats {
	s := ErrorStats{r.Next(), r.Next(), r.Next(), count}
	if (Total{s.SumHi, s.SumLo}).Compare(Product(s.Largest, count)) > 0 {
		r.Fail()
	}
	return s
}

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

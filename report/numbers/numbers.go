package numbers

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/trace"
)

// MulDiv returns a * b / c, rounded down, or the largest number if that does not fit.
func MulDiv(a, b, c uint64) uint64 {
	q, _ := exact.MulDiv(a, b, c)
	return q
}

// Sum is a number of ticks, bytes or things summed over locations, or a difference of two sums. It is less than 2^63, see
// xtf.Most. NotKnown is null in JSON and n/a in text.
type Sum int64

// NotKnown is a sum that is not known, or that a damaged file makes too large.
const NotKnown Sum = math.MinInt64

// MarshalJSON writes the number or null.
func (s Sum) MarshalJSON() ([]byte, error) { return []byte(s.JSON()), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sum) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*s = NotKnown
		return nil
	}
	return json.Unmarshal(b, (*int64)(s))
}

// JSON is the number, or null.
func (s Sum) JSON() string {
	if s == NotKnown {
		return "null"
	}
	return s.String()
}

func (s Sum) String() string {
	if s == NotKnown {
		return "n/a"
	}
	return strconv.FormatInt(int64(s), 10)
}

// Count prints a number of things in groups of digits.
func (s Sum) Count() string { return Group(s.String()) }

// Integer is v as a sum, NotKnown if it does not fit.
func Integer(v uint64) Sum {
	if v > math.MaxInt64 {
		return NotKnown
	}
	return Sum(v)
}

// Sub returns a - b, NotKnown where Add would be.
func Add(list ...Sum) Sum {
	x := Sum(0)
	for _, v := range list {
		x = Sub(x, -v) // -NotKnown is NotKnown
	}
	return x
}

// Times returns a * n for a >= 0, NotKnown if that does not fit.
func Sub(a, b Sum) Sum {
	x := a - b
	if a == NotKnown || b == NotKnown || (a < 0) != (b < 0) && (x < 0) != (a < 0) {
		return NotKnown
	}
	return x
}

// Times returns a * n for a >= 0, NotKnown if that does not fit.
func Times(a Sum, n uint64) Sum {
	hi, lo := bits.Mul64(uint64(a), n)
	if a < 0 || hi != 0 {
		return NotKnown
	}
	return Integer(lo)
}

// Ratio is a quotient; undefined ones are null in JSON and n/a in text.
type Ratio struct {
	Value   float64
	Defined bool
}

// MarshalJSON writes the number with all its digits, or null.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if !r.Defined || math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(r.Value)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Ratio) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*r = Ratio{}
		return nil
	}
	r.Defined = true
	return json.Unmarshal(b, &r.Value)
}

// Known is Percent, "" if undefined.
func (r Ratio) Text(digits int) string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(r.Value, 'f', digits, 64)
}

// Mean prints the mean of counts.
func (r Ratio) Mean() string { return Grouped(r.Text(1)) }

// NewRatio returns a / b as the nearest floating-point number, the same on every machine; undefined for b = 0.
func (r Ratio) Percent() string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(float64(r.Value*100), 'f', 1, 64) + " %"
}

// MeanOf returns a / b, rounded half up; b is positive.
func (r Ratio) Known() string {
	if !r.Defined {
		return ""
	}
	return r.Percent()
}

// Quotient returns a / b, undefined for b of 0 or less and for sums that are not known.
func Quotient(a, b Sum) Ratio { return Part(Whole(a), b) }

// NewRatio returns a / b as the nearest floating-point number, the same on every machine; undefined for b = 0.
func NewRatio(a, b uint64) Ratio {
	if b == 0 {
		return Ratio{}
	}
	return Ratio{exact.Quotient(0, a, b), true}
}

// MeanOf returns a / b, rounded half up; b is positive.
func MeanOf(a, b uint64) uint64 { return uint64(Divide64(a, b).Round()) }

// Divide returns a / b, not known for b <= 0.
func (r Ratio) Csv() string {
	if !r.Defined {
		return ""
	}
	return strconv.FormatFloat(r.Value, 'g', -1, 64)
}

// Fraction is an exact number of ticks, or a share; in JSON [numerator, denominator], null where it is not known.
type Fraction = exact.Number

// Whole is a sum as a fraction.
func Whole(v Sum) Fraction {
	if v == NotKnown {
		return Fraction{}
	}
	return exact.Int(int64(v))
}

// Divide returns a / b, not known for b <= 0.
func Divide(a, b Sum) Fraction { return Whole(a).Div(uint64(max(b, 0))) }

// Divide64 returns a / b, not known for b = 0.
func Divide64(a, b uint64) Fraction { return exact.Share(0, a, b) }

// Nearest returns the nearest floating-point number.
func Nearest(f Fraction) Ratio { return Ratio{f.Float(), f.Known()} }

// Part returns f / d.
func Part(f Fraction, d Sum) Ratio { return Nearest(f.Div(uint64(max(d, 0)))) }

// Fraction returns the number exactly.
func (r Ratio) Fraction() Fraction {
	if !r.Defined {
		return Fraction{}
	}
	return exact.Float(r.Value)
}

// Variance is the variance of n numbers with a sum and a sum of squares of 128 bits: (n * squares - sum * sum) / (n * n).
func Variance(n, sum, high, low uint64) Ratio {
	if n == 0 || n > math.MaxUint32 {
		return Ratio{}
	}
	top, middle := bits.Mul64(n, high)
	hi, lo := bits.Mul64(n, low)
	hi, carry := bits.Add64(hi, middle, 0)
	x, y := bits.Mul64(sum, sum)
	lo, borrow := bits.Sub64(lo, y, 0)
	hi, borrow = bits.Sub64(hi, x, borrow)
	if top += carry - borrow; top != 0 {
		return Ratio{math.Ldexp(exact.Quotient(top, hi, n*n), 64), true}
	}
	return Ratio{exact.Quotient(hi, lo, n*n), true}
}

// UnitsOf returns the units of a clock with this resolution in ticks per second.
func UnitsOf(resolution uint64) Units { return Units{Resolution: resolution} }

// Time prints ticks with their unit.
func (u Units) Time(ticks uint64) string { return u.Ticks(ticks) + " " + u.Name() }

// Plain prints an exact number of ticks as seconds with 6 decimals, half away from zero, without groups of digits, because
// programs read this layout too.
func (u Units) Plain(f Fraction) string {
	if u.Resolution == 0 {
		return f.Fixed(0)
	}
	return f.Div(u.Resolution).Fixed(6)
}

// PlainTicks prints a sum of ticks without groups of digits.
func (u Units) PlainTicks(v Sum) string { return u.Plain(Whole(v)) }

// Short prints ticks as seconds with 3 decimals; below 0.1 s with 3 significant digits, up to 6 decimals.
func (u Units) Short(f Fraction) string {
	if u.Resolution == 0 {
		return u.Fraction(f)
	}
	f = f.Div(u.Resolution)
	return Grouped(f.Fixed(decimals(f.Float())))
}

// decimals is the number of decimals that Short uses for a time in seconds.
func decimals(v float64) int {
	digits := 3
	for x := v * 10; digits < 6 && x > 0 && x < 1; x *= 10 {
		digits++
	}
	return digits
}

// Plural prints a number of things.
func Plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return Count(uint64(n)) + " " + what + "es"
	}
	return Count(uint64(n)) + " " + what + "s"
}

// Locations prints how many locations have a problem. A problem of no location is one of a shared file or of the definitions.
func Locations(n uint64) string {
	if n == 0 {
		return "the trace as a whole"
	}
	return Plural(int(n), "location")
}

// Units turns ticks into what people read.
type Units struct {
	Resolution uint64 // ticks per second, 0: ticks stay
	Rounded    bool   // for sentences: times as of Short
}

// Name is "s" or "ticks".
func (u Units) Name() string {
	if u.Resolution == 0 {
		return "ticks"
	}
	return "s"
}

// Big prints ticks as seconds with 6 decimals, rounded half away from zero.
// n/a for a sum that is not known.
func (u Units) Big(ticks Sum) string {
	return u.Fraction(Whole(ticks))
}

// Ticks prints a time.
func (u Units) Ticks(v uint64) string { return u.Fraction(Divide64(v, 1)) }

// Instant prints a time of the run without rounding, so that a reader can find it there.
func (u Units) Instant(t uint64) string { return Units{Resolution: u.Resolution}.Ticks(t) }

// Fraction prints an exact fraction of ticks.
func (u Units) Fraction(f Fraction) string {
	switch {
	case u.Resolution == 0:
		return Group(f.Fixed(0))
	case u.Rounded && f.Known():
		return u.Short(f)
	}
	return Grouped(f.Div(u.Resolution).Fixed(6))
}

// Real prints a mean of ticks.
func (u Units) Real(r Ratio) string {
	if !r.Defined || u.Resolution == 0 {
		return r.Mean()
	}
	v, digits := r.Value/float64(u.Resolution), 6
	if u.Rounded {
		digits = decimals(math.Abs(v))
	}
	return Grouped(strconv.FormatFloat(v, 'f', digits, 64))
}

// PerCall prints the mean time of n calls, in microseconds.
func (u Units) PerCall(t, n uint64) string {
	r := NewRatio(t, n)
	switch {
	case !r.Defined:
		return "n/a"
	case u.Resolution == 0:
		return r.Mean()
	}
	return Grouped(strconv.FormatFloat(float64(r.Value*1e6)/float64(u.Resolution), 'f', 3, 64))
}

// PerCallName is the heading of such a column.
func (u Units) PerCallName() string {
	if u.Resolution == 0 {
		return "ticks/call"
	}
	return "µs/call"
}

// Span prints a short time in the unit that suits it, with four digits.
func (u Units) Span(ticks uint64) string {
	if u.Resolution == 0 {
		return Plural(int(min(ticks, math.MaxInt64)), "tick")
	}
	v := float64(ticks) / float64(u.Resolution)
	if v >= 9999.5 {
		return Group(strconv.FormatFloat(v, 'f', 0, 64)) + " s"
	}
	for _, x := range []struct {
		scale float64
		name  string
	}{{1, "s"}, {1e3, "ms"}, {1e6, "µs"}} {
		if v := float64(v * x.scale); v >= 0.9995 {
			return strconv.FormatFloat(v, 'g', 4, 64) + " " + x.name
		}
	}
	return strconv.FormatFloat(float64(v*1e9), 'g', 4, 64) + " ns"
}

// Group puts a space between groups of three digits.
func Group(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// Grouped groups the digits before the point.
func Grouped(text string) string {
	whole, rest, ok := strings.Cut(text, ".")
	if !ok {
		return text
	}
	return Group(whole) + "." + rest
}

// Count prints a number in groups of three digits.
func Count(v uint64) string { return Group(strconv.FormatUint(v, 10)) }

// Bytes prints a number of bytes in decimal units with three digits.
func Bytes(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10) + " B"
	}
	v := float64(n)
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		v /= 1000
		if v < 999.5 {
			return strconv.FormatFloat(v, 'g', 3, 64) + " " + u
		}
	}
	return strconv.FormatFloat(v/1000, 'f', 1, 64) + " PB"
}

// Clean makes a name from a file safe to print: no control characters, at most limit characters. To shorten a C++ name it removes
// template arguments first, then what surrounds the function. Of other names it cuts the middle, because the end tells two of them
// apart, such as an address in a library.
func Clean(name string, limit int) string {
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, name)
	if utf8.RuneCountInString(name) <= limit {
		return name
	}
	runes := []rune(trace.BareName(name))
	if qualifier, _, _ := strings.Cut(string(runes), " "); len(runes) > limit && strings.Contains(qualifier, "::") {
		return "…" + string(runes[len(runes)-limit+1:])
	} else if len(runes) > limit {
		return string(runes[:limit/2]) + "…" + string(runes[len(runes)-(limit-1)/2:])
	}
	return string(runes)
}

// SpanOf prints a sum of ticks as Span does.
func (u Units) SpanOf(f Fraction) string {
	if !f.Known() {
		return "n/a"
	}
	v := f.Round()
	if v < 0 {
		return u.Fraction(f) + " " + u.Name()
	}
	return u.Span(uint64(v))
}

// Binary prints bytes in binary units with one digit.
func Binary(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// Largest finds which location has most of each line, where a line is a sum over several places: the sums of a place over all
// locations tell only who has most of that place. Locations come one after another. The zero value is empty.
type Largest[K comparable] struct {
	own  map[K]uint64
	most map[K]OfOne
}

// OfOne is the part of a line that one location has, in ticks.
type OfOne struct {
	Ticks uint64
	P     uint32
}

// Add adds ticks to a line of the current location.
func (l *Largest[K]) Add(line K, ticks uint64) {
	if l.own == nil {
		l.own, l.most = map[K]uint64{}, map[K]OfOne{}
	}
	l.own[line] += min(ticks, math.MaxUint64-l.own[line]) // only damaged rows exceed 64 bits
}

// End ends location p.
func (l *Largest[K]) End(p uint32) {
	for line, ticks := range l.own { // the order does not matter
		if ticks > l.most[line].Ticks {
			l.most[line] = OfOne{ticks, p}
		}
	}
	clear(l.own)
}

// Own is the part of a line that the current location has so far.
func (l *Largest[K]) Own(line K) uint64 { return l.own[line] }

// Of is the largest part of a line, the first of equal ones; 0 if there is none.
func (l *Largest[K]) Of(line K) OfOne { return l.most[line] }

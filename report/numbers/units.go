package numbers

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// UnitsOf returns the units of a clock with this resolution in ticks per second.
func UnitsOf(resolution uint64) Units { return Units{resolution} }

// Time prints ticks with their unit.
func (u Units) Time(ticks uint64) string { return u.Ticks(ticks) + " " + u.Name() }

// Plain prints an exact number of ticks as seconds with 6 decimals, half away
// from zero, without groups of digits: the layout is read by programs too.
func (u Units) Plain(f Fraction) string {
	if u.Resolution == 0 {
		return f.Fixed(0)
	}
	return f.Div(u.Resolution).Fixed(6)
}

// PlainTicks prints a sum of ticks without groups of digits.
func (u Units) PlainTicks(v Sum) string { return u.Plain(Whole(v)) }

// Short prints ticks as seconds with 3 decimals.
func (u Units) Short(f Fraction) string {
	if u.Resolution == 0 {
		return u.Fraction(f)
	}
	return f.Div(u.Resolution).Fixed(3)
}

// PercentOf prints a / b in whole per cent.
func PercentOf(a, b Fraction) string { return a.Over(b).Times(100).Fixed(0) + " %" }

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

// Units turns ticks into what people read.
type Units struct {
	Resolution uint64 // ticks per second, 0: ticks stay
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

// Fraction prints an exact fraction of ticks.
func (u Units) Fraction(f Fraction) string {
	if u.Resolution == 0 {
		return Group(f.Fixed(0))
	}
	return Grouped(f.Div(u.Resolution).Fixed(6))
}

// Real prints a mean of ticks.
func (u Units) Real(r Ratio) string {
	if !r.Defined || u.Resolution == 0 {
		return r.Mean()
	}
	return Grouped(strconv.FormatFloat(r.Value/float64(u.Resolution), 'f', 6, 64))
}

// PerCall prints the time of one of n calls, in microseconds.
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

// Clean makes a name from a file safe to print: no control characters, and not
// longer than limit.
func Clean(name string, limit int) string {
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, name)
	if utf8.RuneCountInString(name) > limit {
		return string([]rune(name)[:limit-1]) + "…"
	}
	return name
}

// SpanOf prints a sum of ticks as span does.
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

package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit turns ticks into what people read.
type unit struct {
	resolution uint64 // ticks per second, 0: ticks stay
}

// name is "s" or "ticks".
func (u unit) name() string {
	if u.resolution == 0 {
		return "ticks"
	}
	return "s"
}

// big prints ticks as seconds with 6 decimals, rounded half away from zero.
// n/a for a sum that is not known.
func (u unit) big(ticks Sum) string {
	return u.fraction(whole(ticks))
}

func (u unit) ticks(v uint64) string { return u.fraction(fraction64(v, 1)) }

// fraction prints an exact fraction of ticks.
func (u unit) fraction(f Fraction) string {
	if u.resolution == 0 {
		return group(f.Fixed(0))
	}
	return grouped(f.Div(u.resolution).Fixed(6))
}

// real prints a mean of ticks.
func (u unit) real(r Ratio) string { return grouped(u.plainReal(r)) }

// plainReal is real without groups of digits.
func (u unit) plainReal(r Ratio) string {
	switch {
	case !r.Defined:
		return "n/a"
	case u.resolution == 0:
		return strconv.FormatFloat(r.Value, 'f', 1, 64)
	}
	return strconv.FormatFloat(r.Value/float64(u.resolution), 'f', 6, 64)
}

// perCall prints the time of one of n calls, in microseconds.
func (u unit) perCall(t, n uint64) string {
	r := ratio64(t, n)
	switch {
	case !r.Defined:
		return "n/a"
	case u.resolution == 0:
		return r.mean()
	}
	return grouped(strconv.FormatFloat(float64(r.Value*1e6)/float64(u.resolution), 'f', 3, 64))
}

// perCallName is the heading of such a column.
func (u unit) perCallName() string {
	if u.resolution == 0 {
		return "ticks/call"
	}
	return "µs/call"
}

// span prints a short time in the unit that suits it, with four digits.
func (u unit) span(ticks uint64) string {
	if u.resolution == 0 {
		return plural(int(min(ticks, math.MaxInt64)), "tick")
	}
	v := float64(ticks) / float64(u.resolution)
	if v >= 9999.5 {
		return group(strconv.FormatFloat(v, 'f', 0, 64)) + " s"
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

// group puts a space between groups of three digits.
func group(digits string) string {
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

// grouped groups the digits before the point.
func grouped(text string) string {
	whole, rest, ok := strings.Cut(text, ".")
	if !ok {
		return text
	}
	return group(whole) + "." + rest
}

func count(v uint64) string { return group(strconv.FormatUint(v, 10)) }

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

// clean makes a name from a file safe to print: no control characters, and not
// longer than limit.
func clean(name string, limit int) string {
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

// spanOf prints a sum of ticks as span does.
func (u unit) spanOf(f Fraction) string {
	if !f.Known() {
		return "n/a"
	}
	v := f.Round()
	if v < 0 {
		return u.fraction(f) + " " + u.name()
	}
	return u.span(uint64(v))
}

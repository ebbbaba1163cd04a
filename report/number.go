package report

import (
	"encoding/json"
	"math"
	"math/bits"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// Sum is a number of ticks, bytes or things summed over locations, or a difference of two: less than 2^63, see xtf.Most. notKnown
// is null in JSON and n/a in text.
type Sum int64

// notKnown is also what a damaged file would make too large.
const notKnown Sum = math.MinInt64

// MarshalJSON writes the number or null.
func (s Sum) MarshalJSON() ([]byte, error) { return []byte(s.json()), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sum) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*s = notKnown
		return nil
	}
	return json.Unmarshal(b, (*int64)(s))
}

func (s Sum) json() string {
	if s == notKnown {
		return "null"
	}
	return s.String()
}

func (s Sum) String() string {
	if s == notKnown {
		return "n/a"
	}
	return strconv.FormatInt(int64(s), 10)
}

// count prints a number of things.
func (s Sum) count() string { return group(s.String()) }

// integer is v as a sum.
func integer(v uint64) Sum {
	if v > math.MaxInt64 {
		return notKnown
	}
	return Sum(v)
}

func add(list ...Sum) Sum {
	x := Sum(0)
	for _, v := range list {
		x = sub(x, -v) // -notKnown is notKnown
	}
	return x
}

func sub(a, b Sum) Sum {
	x := a - b
	if a == notKnown || b == notKnown || (a < 0) != (b < 0) && (x < 0) != (a < 0) {
		return notKnown
	}
	return x
}

// times returns a * n for a of 0 or more.
func times(a Sum, n uint64) Sum {
	hi, lo := bits.Mul64(uint64(a), n)
	if a < 0 || hi != 0 {
		return notKnown
	}
	return integer(lo)
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

// text prints the ratio with the given digits.
func (r Ratio) text(digits int) string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(r.Value, 'f', digits, 64)
}

// mean prints the mean of counts.
func (r Ratio) mean() string { return grouped(r.text(1)) }

// percent prints the ratio as a percentage.
func (r Ratio) percent() string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(float64(r.Value*100), 'f', 1, 64) + " %"
}

// known is percent, "" where there is none.
func (r Ratio) known() string {
	if !r.Defined {
		return ""
	}
	return r.percent()
}

// ratio returns a / b, undefined for b of 0 or less and for sums that are not known.
func ratio(a, b Sum) Ratio { return over(whole(a), b) }

// ratio64 returns a / b, the nearest floating-point number on every machine; undefined for b = 0.
func ratio64(a, b uint64) Ratio {
	if b == 0 {
		return Ratio{}
	}
	return Ratio{exact.Quotient(0, a, b), true}
}

// NewRatio returns a / b, the nearest floating-point number on every machine; undefined for b = 0.
func NewRatio(a, b uint64) Ratio { return ratio64(a, b) }

// meanOf is a / b, half up; b is positive.
func meanOf(a, b uint64) uint64 { return uint64(fraction64(a, b).Round()) }

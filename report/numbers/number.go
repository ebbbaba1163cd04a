package numbers

import (
	"encoding/json"
	"math"
	"math/bits"
	"strconv"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// MulDiv is a * b / c, rounded down, or the largest number where that does not fit.
func MulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// Sum is a number of ticks, bytes or things summed over locations, or a difference of two: less than 2^63, see xtf.Most. notKnown
// is null in JSON and n/a in text.
type Sum int64

// NotKnown is also what a damaged file would make too large.
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

// Count prints a number of things.
func (s Sum) Count() string { return Group(s.String()) }

// Integer is v as a sum.
func Integer(v uint64) Sum {
	if v > math.MaxInt64 {
		return NotKnown
	}
	return Sum(v)
}

// Add adds sums; it is not known where one is not, or where it does not fit.
func Add(list ...Sum) Sum {
	x := Sum(0)
	for _, v := range list {
		x = Sub(x, -v) // -notKnown is notKnown
	}
	return x
}

// Sub returns a - b, not known as Add is.
func Sub(a, b Sum) Sum {
	x := a - b
	if a == NotKnown || b == NotKnown || (a < 0) != (b < 0) && (x < 0) != (a < 0) {
		return NotKnown
	}
	return x
}

// Times returns a * n for a of 0 or more.
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

// Text prints the ratio with the given digits.
func (r Ratio) Text(digits int) string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(r.Value, 'f', digits, 64)
}

// Mean prints the mean of counts.
func (r Ratio) Mean() string { return Grouped(r.Text(1)) }

// Percent prints the ratio as a percentage.
func (r Ratio) Percent() string {
	if !r.Defined {
		return "n/a"
	}
	return strconv.FormatFloat(float64(r.Value*100), 'f', 1, 64) + " %"
}

// Known is percent, "" where there is none.
func (r Ratio) Known() string {
	if !r.Defined {
		return ""
	}
	return r.Percent()
}

// Quotient returns a / b, undefined for b of 0 or less and for sums that are not known.
func Quotient(a, b Sum) Ratio { return Part(Whole(a), b) }

// NewRatio returns a / b, the nearest floating-point number on every machine; undefined for b = 0.
func NewRatio(a, b uint64) Ratio {
	if b == 0 {
		return Ratio{}
	}
	return Ratio{exact.Quotient(0, a, b), true}
}

// MeanOf is a / b, half up; b is positive.
func MeanOf(a, b uint64) uint64 { return uint64(Divide64(a, b).Round()) }

// Csv is the number with all its digits, empty where it is not defined.
func (r Ratio) Csv() string {
	if !r.Defined {
		return ""
	}
	return strconv.FormatFloat(r.Value, 'g', -1, 64)
}

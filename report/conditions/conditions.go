// Package conditions reads comparisons of a metric with a number, such as load_balance<0.8, and decides them exactly. The caller
// lists the metrics.
package conditions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
)

// ErrSyntax says that a condition is misspelt.
var ErrSyntax = errors.New("not a condition")

// Condition is a comparison of a metric, as of one interval, with a number:
//
//	condition = [ "interval:" name "." ] metric op number [ unit ]
//	name      = "root" | id | NAME | FILE:LINE | "#" node number, or any text in double quotes
//	metric    = a name of the verb's, or "counter:" and the name of a counter, which may be in double quotes, with or without one of its numbers
//	op        = "<" | "<=" | ">" | ">=" | "==" | "!="
//	number    = decimal digits with a point, no exponent
//	unit      = "%" of shares; "s", "ms", "us", "ns" or "ticks" of times
//
// Without "interval:" the condition is about the whole program. A metric may end in a point and one of the suffixes of the verb.
// Times without a unit are seconds, or ticks where the trace does not give the resolution of its clock. Numbers and comparisons
// are exact.
type Condition[T any] struct {
	Text     string
	Interval string // in the form of results.FindNode
	Metric   Metric[T]
	Suffix   string // of the metric's name, "" for none
	Op       string
	Value    numbers.Fraction
	Unit     string
}

// Kind is what a metric measures.
type Kind uint8

const (
	Share Kind = iota // a quotient; % divides by 100
	Time              // ticks
	Count
	Real // a number of any unit
)

// Metric is a number that conditions can name.
type Metric[T any] struct {
	Name  string
	Kind  Kind
	Value func(of T) numbers.Fraction // not known, or over 0, where the metric is not defined
}

// NewMetric makes a metric.
func NewMetric[T any](name string, kind Kind, value func(of T) numbers.Fraction) Metric[T] {
	return Metric[T]{name, kind, value}
}

// Find returns the index of a metric in a list, -1 if it is not in it.
func Find[T any](list []Metric[T], name string) int {
	return slices.IndexFunc(list, func(m Metric[T]) bool { return m.Name == name })
}

// Names returns the names of metrics.
func Names[T any](metrics []Metric[T]) (list []string) {
	for _, m := range metrics {
		list = append(list, m.Name)
	}
	return list
}

// maxCondition bounds the text of a condition.
const maxCondition = 1000

// Unknown is an error about a name that does not exist, with the names that do.
type Unknown struct {
	Err   error
	Name  string
	Among []string
}

func (e *Unknown) Error() string { return e.Err.Error() }

func (e *Unknown) Unwrap() error { return e.Err }

// errorAt returns an error at a byte of the text; the first byte is 1.
func errorAt(text string, at int, format string, args ...any) error {
	return fmt.Errorf("%q, character %d: %w: %s", numbers.Clean(text, 120), at+1, ErrSyntax, fmt.Sprintf(format, args...))
}

// CounterMark begins the name of a counter.
const CounterMark = "counter:"

// Parse reads a condition about one of the metrics, whose names may end in a point and one of the suffixes. A ratio is a share.
func Parse[T any](text string, metrics []Metric[T], suffixes ...string) (*Condition[T], error) {
	if len(text) > maxCondition {
		return nil, errorAt(text, maxCondition, "longer than %d bytes", maxCondition)
	}
	c := &Condition[T]{Text: text, Interval: "root"}
	at := len(text) - len(strings.TrimLeft(text, " "))
	if rest, ok := strings.CutPrefix(text[at:], "interval:"); ok {
		from := len(text) - len(rest)
		var err error
		if c.Interval, at, err = intervalName(text, from, suffixes); err != nil {
			return nil, err
		}
	}
	op := Operator(text[at:])
	if op < 0 {
		return nil, errorAt(text, len(text), "a comparison is missing: METRIC<NUMBER, or one of <= > >= == !=")
	}
	name := strings.TrimSpace(text[at : at+op])
	base := name
	for _, s := range suffixes {
		if b, ok := strings.CutSuffix(name, "."+s); ok {
			base, c.Suffix = b, s
		}
	}
	i := Find(metrics, base)
	if i < 0 {
		names := Names(metrics)
		if len(suffixes) > 0 {
			names = append(names, "and these with ."+strings.Join(suffixes, " or ."))
		}
		err := errorAt(text, at, "no metric %q: choose from %s", numbers.Clean(name, 60), strings.Join(names, ", "))
		return nil, &Unknown{err, base, Names(metrics)}
	}
	c.Metric = metrics[i]
	if c.Metric.Name = name; c.Suffix == "ratio" {
		c.Metric.Kind = Share
	}
	at += op
	for _, known := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if strings.HasPrefix(text[at:], known) {
			c.Op = known
			return c, c.number(text, at+len(known))
		}
	}
	return nil, errorAt(text, at, "no comparison: choose one of < <= > >= == !=")
}

// Operator returns the place of the first character of a comparison outside of quotes, -1 if there is none.
func Operator(text string) int {
	quoted := false
	return strings.IndexFunc(text, func(r rune) bool {
		quoted = quoted != (r == '"')
		return !quoted && strings.ContainsRune("<>=!", r)
	})
}

// intervalName reads the name of an interval and the point after it.
func intervalName(text string, from int, suffixes []string) (name string, at int, err error) {
	if strings.HasPrefix(text[from:], `"`) {
		end := strings.IndexByte(text[from+1:], '"')
		if end < 0 {
			return "", 0, errorAt(text, from, "the quoted name does not end")
		}
		at = from + 1 + end + 1
		if !strings.HasPrefix(text[at:], ".") {
			return "", 0, errorAt(text, at, "a point and a metric have to follow the name")
		}
		return text[from+1 : from+1+end], at + 1, nil
	}
	end := Operator(text[from:])
	if end < 0 {
		end = len(text) - from
	}
	if k := strings.Index(text[from:from+end], "."+CounterMark); k > 0 {
		return text[from : from+k], from + k + 1, nil
	}
	rest := strings.TrimRight(text[from:from+end], " ")
	for _, s := range suffixes {
		if before, ok := strings.CutSuffix(rest, "."+s); ok {
			rest = before
			break
		}
	}
	point := strings.LastIndexByte(rest, '.')
	if point < 1 {
		return "", 0, errorAt(text, from, "write interval:NAME.METRIC")
	}
	return text[from : from+point], from + point + 1, nil
}

// number reads the number and its unit.
func (c *Condition[T]) number(text string, at int) error {
	rest := strings.TrimSpace(text[at:])
	at = len(text) - len(strings.TrimLeft(text[at:], " "))
	digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if digits < 0 {
		digits = len(rest)
	}
	v, ok := exact.Parse(rest[:digits])
	if !ok || digits > 40 {
		return errorAt(text, at, "%q is not a number", numbers.Clean(rest, 40))
	}
	c.Value, c.Unit = v, strings.TrimSpace(rest[digits:])
	units := map[Kind][]string{Share: {"%"}, Time: {"s", "ms", "us", "ns", "ticks"}}[c.Metric.Kind]
	switch {
	case c.Unit == "" || slices.Contains(units, c.Unit):
		return nil
	case len(units) == 0:
		return errorAt(text, at+digits, "%s has no unit", c.Metric.Name)
	}
	return errorAt(text, at+digits, "no unit of %s: choose from %s", c.Metric.Name, strings.Join(units, ", "))
}

// Limit is the number in the unit of the metric: for times, ticks.
func (c *Condition[T]) Limit(resolution uint64) (numbers.Fraction, error) {
	switch scale := map[string]uint64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "": 1}[c.Unit]; {
	case c.Unit == "%":
		return c.Value.Div(100), nil
	case c.Metric.Kind != Time || c.Unit == "ticks" || c.Unit == "" && resolution == 0:
	case resolution == 0:
		return numbers.Fraction{}, fmt.Errorf("%q: %w: the trace does not give the resolution of its clock, compare with ticks", c.Text, ErrSyntax)
	default:
		return c.Value.Scale(resolution, scale), nil
	}
	return c.Value, nil
}

// Verdict is whether a condition holds for a run.
type Verdict struct {
	Holds bool
	Text  string // for people
}

// Verdict compares the value of the metric with the limit; of says whose value it is. A condition about an unknown value holds.
func (c *Condition[T]) Verdict(v numbers.Fraction, u numbers.Units, of string) (Verdict, error) {
	limit, err := c.Limit(u.Resolution)
	holds := !v.Known() || err != nil || slices.Contains([...][]string{{"<", "<=", "!="}, {"<=", "==", ">="}, {">", ">=", "!="}}[1+v.Compare(limit)], c.Op)
	return Verdict{holds, fmt.Sprintf("%s: %s%s is %s", c.Text, c.Metric.Name, of, c.Metric.text(v, u))}, err
}

func (m *Metric[T]) text(v numbers.Fraction, u numbers.Units) string {
	switch {
	case !v.Known():
		return "not known, which counts as failing"
	case m.Kind == Count:
		return v.Fixed(0)
	case m.Kind == Time:
		return u.Plain(v) + " " + u.Name()
	}
	return v.Fixed(6)
}

package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrCondition says that a condition is misspelt.
var ErrCondition = errors.New("not a condition")

// ConditionOf is a comparison of a metric, as of one interval, with a number:
//
//	condition = [ "interval:" name "." ] metric op number [ unit ]
//	name      = "root" | id | NAME | FILE:LINE | "#" node number, or any text in double quotes
//	op        = "<" | "<=" | ">" | ">=" | "==" | "!="
//	number    = decimal digits with a point, no exponent
//	unit      = "%" of shares; "s", "ms", "us", "ns" or "ticks" of times
//
// Without "interval:" the whole program is meant. A metric may end in a point and one
// of the suffixes of the verb. Times without a unit are
// seconds, or ticks where the trace does not give the resolution of its clock.
// Numbers are exact, and so are comparisons.
type ConditionOf[T any] struct {
	Text     string
	Interval string // as FindNode takes it
	Metric   MetricOf[T]
	Suffix   string // of the metric's name, "" for none
	Op       string
	Value    numbers.Fraction
	Unit     string
}

// Condition is about an interval.
type Condition = ConditionOf[*Interval]

// MetricKind is what a metric measures.
type MetricKind uint8

const (
	KindShare MetricKind = iota // a quotient; % divides by 100
	KindTime                    // ticks
	KindCount
)

// MetricOf is a number that conditions can name.
type MetricOf[T any] struct {
	Name  string
	Kind  MetricKind
	Value func(of T) numbers.Fraction // not known, or over 0, where it is not defined
}

// NewMetric makes a metric.
func NewMetric[T any](name string, kind MetricKind, value func(of T) numbers.Fraction) MetricOf[T] {
	return MetricOf[T]{name, kind, value}
}

// Metric is a number of an interval.
type Metric = MetricOf[*Interval]

// FindMetric is the place of a metric in a list, -1 where it is not there.
func FindMetric[T any](list []MetricOf[T], name string) int {
	return slices.IndexFunc(list, func(m MetricOf[T]) bool { return m.Name == name })
}

// MetricNames are the names of metrics.
func MetricNames[T any](metrics []MetricOf[T]) (list []string) {
	for _, m := range metrics {
		list = append(list, m.Name)
	}
	return list
}

// maxCondition bounds the text of a condition.
const maxCondition = 1000

// conditionAt is an error at a byte of the text, from 1.
func conditionAt(text string, at int, format string, args ...any) error {
	return fmt.Errorf("%q, character %d: %w: %s", numbers.Clean(text, 120), at+1, ErrCondition, fmt.Sprintf(format, args...))
}

// ParseCondition reads a condition about an interval.
func ParseCondition(text string) (*Condition, error) { return ParseOf(text, Metrics()) }

// ParseOf reads a condition about metrics, whose names may end in a point and one of the suffixes. A ratio is a share.
func ParseOf[T any](text string, metrics []MetricOf[T], suffixes ...string) (*ConditionOf[T], error) {
	if len(text) > maxCondition {
		return nil, conditionAt(text, maxCondition, "longer than %d bytes", maxCondition)
	}
	c := &ConditionOf[T]{Text: text, Interval: "root"}
	at := len(text) - len(strings.TrimLeft(text, " "))
	if rest, ok := strings.CutPrefix(text[at:], "interval:"); ok {
		from := len(text) - len(rest)
		var err error
		if c.Interval, at, err = intervalName(text, from, suffixes); err != nil {
			return nil, err
		}
	}
	op := strings.IndexAny(text[at:], "<>=!")
	if op < 0 {
		return nil, conditionAt(text, len(text), "a comparison is missing: METRIC<NUMBER, or one of <= > >= == !=")
	}
	name := strings.TrimSpace(text[at : at+op])
	base := name
	for _, s := range suffixes {
		if b, ok := strings.CutSuffix(name, "."+s); ok {
			base, c.Suffix = b, s
		}
	}
	i := FindMetric(metrics, base)
	if i < 0 {
		names := MetricNames(metrics)
		if len(suffixes) > 0 {
			names = append(names, "and these with ."+strings.Join(suffixes, " or ."))
		}
		return nil, conditionAt(text, at, "no metric %q: choose from %s", numbers.Clean(name, 60), strings.Join(names, ", "))
	}
	c.Metric = metrics[i]
	if c.Metric.Name = name; c.Suffix == "ratio" {
		c.Metric.Kind = KindShare
	}
	at += op
	for _, known := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if strings.HasPrefix(text[at:], known) {
			c.Op = known
			return c, c.number(text, at+len(known))
		}
	}
	return nil, conditionAt(text, at, "no comparison: choose one of < <= > >= == !=")
}

// intervalName reads the name of an interval and the point after it.
func intervalName(text string, from int, suffixes []string) (name string, at int, err error) {
	if strings.HasPrefix(text[from:], `"`) {
		end := strings.IndexByte(text[from+1:], '"')
		if end < 0 {
			return "", 0, conditionAt(text, from, "the quoted name does not end")
		}
		at = from + 1 + end + 1
		if !strings.HasPrefix(text[at:], ".") {
			return "", 0, conditionAt(text, at, "a point and a metric have to follow the name")
		}
		return text[from+1 : from+1+end], at + 1, nil
	}
	end := strings.IndexAny(text[from:], "<>=!")
	if end < 0 {
		end = len(text) - from
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
		return "", 0, conditionAt(text, from, "write interval:NAME.METRIC")
	}
	return text[from : from+point], from + point + 1, nil
}

// number reads the number and its unit.
func (c *ConditionOf[T]) number(text string, at int) error {
	rest := strings.TrimSpace(text[at:])
	at = len(text) - len(strings.TrimLeft(text[at:], " "))
	digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if digits < 0 {
		digits = len(rest)
	}
	v, ok := exact.Parse(rest[:digits])
	if !ok || digits > 40 {
		return conditionAt(text, at, "%q is not a number", numbers.Clean(rest, 40))
	}
	c.Value, c.Unit = v, strings.TrimSpace(rest[digits:])
	units := map[MetricKind][]string{KindShare: {"%"}, KindTime: {"s", "ms", "us", "ns", "ticks"}}[c.Metric.Kind]
	switch {
	case c.Unit == "" || slices.Contains(units, c.Unit):
		return nil
	case len(units) == 0:
		return conditionAt(text, at+digits, "%s has no unit", c.Metric.Name)
	}
	return conditionAt(text, at+digits, "no unit of %s: choose from %s", c.Metric.Name, strings.Join(units, ", "))
}

// Limit is the number in the metric's own unit: ticks of times.
func (c *ConditionOf[T]) Limit(resolution uint64) (numbers.Fraction, error) {
	switch scale := map[string]uint64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "": 1}[c.Unit]; {
	case c.Unit == "%":
		return c.Value.Div(100), nil
	case c.Metric.Kind != KindTime || c.Unit == "ticks" || c.Unit == "" && resolution == 0:
	case resolution == 0:
		return numbers.Fraction{}, fmt.Errorf("%q: %w: the trace does not give the resolution of its clock, compare with ticks", c.Text, ErrCondition)
	default:
		return c.Value.Scale(resolution, scale), nil
	}
	return c.Value, nil
}

// Verdict is whether a condition holds of a run.
type Verdict struct {
	Holds bool
	Text  string // for people
}

// Judge decides conditions. One whose metric is not defined, or not in the file,
// holds: what was to be watched cannot be seen.
func Judge(r *Run, list []*Condition, rules Rules) ([]Verdict, error) {
	if len(list) == 0 {
		return nil, nil
	}
	s, err := r.Survey(SurveyOptions{Section: "conditions", Deep: true, Rules: rules})
	if err == nil && len(s.Lost) > 0 {
		err = fmt.Errorf("%w: %s", xtf.ErrCorrupt, s.Lost[0].Error)
	}
	if err != nil {
		return nil, err
	}
	u := r.Units()
	var verdicts []Verdict
	for _, c := range list {
		n, err := FindNode(s.Nodes, c.Interval)
		if err != nil {
			return nil, err
		}
		i := s.Interval(n, rules)
		verdict, err := c.Verdict(c.Metric.Value(i), u, " of "+i.Text)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// Verdict compares the value of the metric, of what is named, with the limit. One that is not known holds.
func (c *ConditionOf[T]) Verdict(v numbers.Fraction, u numbers.Units, of string) (Verdict, error) {
	limit, err := c.Limit(u.Resolution)
	return Verdict{!v.Known() || err != nil || c.holds(v.Compare(limit)), fmt.Sprintf("%s: %s%s is %s", c.Text, c.Metric.Name, of, c.Metric.text(v, u))}, err
}

func (c *ConditionOf[T]) holds(order int) bool {
	switch c.Op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "==":
		return order == 0
	}
	return order != 0
}

// text prints a value of the metric.
func (m *MetricOf[T]) text(v numbers.Fraction, u numbers.Units) string {
	switch {
	case !v.Known():
		return "not known, which counts as failing"
	case m.Kind == KindCount:
		return v.Fixed(0)
	case m.Kind == KindTime:
		return u.Plain(v) + " " + u.Name()
	}
	return v.Fixed(6)
}

// Metrics are the numbers of an interval that conditions can name: efficiencies, characteristics
// in ticks, and the sum over processes of every component.
func Metrics() []Metric {
	share := func(name string, f func(i *Interval) (a, b numbers.Sum)) Metric {
		return Metric{name, KindShare, func(i *Interval) numbers.Fraction { return numbers.Divide(f(i)) }}
	}
	ticks := func(name string, f func(t *Ticks) numbers.Fraction) Metric {
		return Metric{name, KindTime, func(i *Interval) numbers.Fraction { return f(&i.Ticks) }}
	}
	all := func(i *Interval, largest uint64) numbers.Sum {
		return numbers.Times(numbers.Integer(largest), i.POP.Participants)
	}
	list := []Metric{
		{"efficiency", KindShare, func(i *Interval) numbers.Fraction { return i.Ticks.exactEfficiency() }},
		{"parallel_efficiency", KindShare, func(i *Interval) numbers.Fraction { return i.POP.parallel }},
		share("process_efficiency", func(i *Interval) (a, b numbers.Sum) {
			return i.POP.Useful, numbers.Times(i.POP.Runtime, i.POP.Participants)
		}),
		share("io_efficiency", func(i *Interval) (a, b numbers.Sum) { return i.Ticks.CPU, numbers.Add(i.Ticks.CPU, i.Ticks.IO) }),
		share("io_balance", func(i *Interval) (a, b numbers.Sum) { return i.Ticks.IO, all(i, i.Stats.Item(xtf.ItemIO).Max) }),
		share("load_balance", func(i *Interval) (a, b numbers.Sum) { return i.POP.Useful, all(i, i.POP.Largest) }),
		share("communication_efficiency", func(i *Interval) (a, b numbers.Sum) { return numbers.Integer(i.POP.Largest), i.POP.Runtime }),
		share("serialisation_efficiency", func(i *Interval) (a, b numbers.Sum) { return numbers.Integer(i.POP.Largest), i.POP.Ideal }),
		share("transfer_efficiency", func(i *Interval) (a, b numbers.Sum) { return i.POP.Ideal, i.POP.Runtime }),
		share("wait_share", func(i *Interval) (a, b numbers.Sum) { return i.waitTotal(), i.Stats.Item(xtf.ItemTime).Sum }),
		ticks("execution", func(t *Ticks) numbers.Fraction { return numbers.Whole(numbers.Integer(t.Execution)) }),
		ticks("runtime", func(t *Ticks) numbers.Fraction { return numbers.Whole(numbers.Integer(t.Runtime)) }),
		ticks("total", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.Total) }),
		ticks("productive", func(t *Ticks) numbers.Fraction { return t.Productive }),
		ticks("lost", func(t *Ticks) numbers.Fraction { return t.Lost }),
		ticks("lost_mpi", func(t *Ticks) numbers.Fraction { return t.MPILost }),
		ticks("idle", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.Idle) }),
		ticks("load_imbalance", func(t *Ticks) numbers.Fraction { return numbers.Whole(t.LoadImbalance) }),
		ticks("dephasing", func(t *Ticks) numbers.Fraction { return numbers.Whole(Optional(t.Dephasing)) }),
		{"wait", KindTime, func(i *Interval) numbers.Fraction { return numbers.Whole(i.waitTotal()) }},
		{"processors", KindCount, func(i *Interval) numbers.Fraction { return numbers.Divide64(i.Processors, 1) }},
	}
	for item := range xtf.NumItems {
		kind := KindTime
		if IsCount(item) {
			kind = KindCount
		}
		if item == xtf.ItemFirst || item == xtf.ItemLast || item >= xtf.ItemIdeal && item <= xtf.ItemIdealLast {
			continue // no sums over processes
		}
		list = append(list, Metric{item.String(), kind, func(i *Interval) numbers.Fraction {
			if item.NeedsPartners() && i.Waits == nil {
				return numbers.Fraction{}
			}
			return numbers.Whole(i.Stats.Item(item).Sum)
		}})
	}
	return list
}

func (i *Interval) waitTotal() numbers.Sum {
	if i.Waits == nil {
		return numbers.NotKnown
	}
	return i.Waits.Total
}

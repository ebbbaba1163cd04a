package results

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrCondition says that a condition is misspelt.
var ErrCondition = errors.New("not a condition")

// Condition is a comparison of a metric of one interval with a number:
//
//	condition = [ "interval:" name "." ] metric op number [ unit ]
//	name      = "root" | id | NAME | FILE:LINE | "#" node number, or any text in double quotes
//	op        = "<" | "<=" | ">" | ">=" | "==" | "!="
//	number    = decimal digits with a point, no exponent
//	unit      = "%" of shares; "s", "ms", "us", "ns" or "ticks" of times
//
// Without "interval:" the whole program is meant. Times without a unit are
// seconds, or ticks where the trace does not give the resolution of its clock.
// Numbers are exact, and so are comparisons.
type Condition struct {
	Text     string
	Interval string // as findNode takes it
	Metric   Metric
	Op       string
	Value    numbers.Fraction
	Unit     string
}

// MetricKind is what a metric measures.
type MetricKind uint8

const (
	KindShare MetricKind = iota // a quotient; % divides by 100
	KindTime                    // ticks
	KindCount
)

// Metric is a number of an interval that conditions can name.
type Metric struct {
	Name  string
	Kind  MetricKind
	Value func(i *Interval) numbers.Fraction // not known, or over 0, where it is not defined
}

// MaxCondition bounds the text of a condition.
const MaxCondition = 1000

// ConditionAt is an error at a byte of the text, from 1.
func ConditionAt(text string, at int, format string, args ...any) error {
	return fmt.Errorf("%q, character %d: %w: %s", numbers.Clean(text, 120), at+1, ErrCondition, fmt.Sprintf(format, args...))
}

// ParseCondition reads a condition.
func ParseCondition(text string) (*Condition, error) {
	return ParseOf(text, MetricOf, MetricNames)
}

// ParseOf reads a condition about metrics that find knows; their names may
// end in a point and one of the suffixes.
func ParseOf(text string, find func(name string) (Metric, bool), names func() []string, suffixes ...string) (*Condition, error) {
	if len(text) > MaxCondition {
		return nil, ConditionAt(text, MaxCondition, "longer than %d bytes", MaxCondition)
	}
	c := &Condition{Text: text, Interval: "root"}
	at := len(text) - len(strings.TrimLeft(text, " "))
	if rest, ok := strings.CutPrefix(text[at:], "interval:"); ok {
		from := len(text) - len(rest)
		var err error
		if c.Interval, at, err = intervalName(text, from, suffixes); err != nil {
			return nil, err
		}
	}
	return c, c.Comparison(text, at, find, names)
}

// Comparison reads METRIC OP NUMBER from a byte of the text on.
func (c *Condition) Comparison(text string, at int, find func(name string) (Metric, bool), names func() []string) error {
	rest := text[at:]
	op := strings.IndexAny(rest, "<>=!")
	if op < 0 {
		return ConditionAt(text, len(text), "a comparison is missing: METRIC<NUMBER, or one of <= > >= == !=")
	}
	name := strings.TrimSpace(rest[:op])
	m, ok := find(name)
	if !ok {
		return ConditionAt(text, at, "no metric %q: choose from %s", numbers.Clean(name, 60), strings.Join(names(), ", "))
	}
	c.Metric = m
	at += op
	for _, known := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if strings.HasPrefix(text[at:], known) {
			c.Op = known
			break
		}
	}
	if c.Op == "" {
		return ConditionAt(text, at, "no comparison: choose one of < <= > >= == !=")
	}
	return c.number(text, at+len(c.Op))
}

// intervalName reads the name of an interval and the point after it.
func intervalName(text string, from int, suffixes []string) (name string, at int, err error) {
	if strings.HasPrefix(text[from:], `"`) {
		end := strings.IndexByte(text[from+1:], '"')
		if end < 0 {
			return "", 0, ConditionAt(text, from, "the quoted name does not end")
		}
		at = from + 1 + end + 1
		if !strings.HasPrefix(text[at:], ".") {
			return "", 0, ConditionAt(text, at, "a point and a metric have to follow the name")
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
		return "", 0, ConditionAt(text, from, "write interval:NAME.METRIC")
	}
	return text[from : from+point], from + point + 1, nil
}

// number reads the number and its unit.
func (c *Condition) number(text string, at int) error {
	rest := strings.TrimSpace(text[at:])
	at = len(text) - len(strings.TrimLeft(text[at:], " "))
	digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if digits < 0 {
		digits = len(rest)
	}
	v, ok := exact.Parse(rest[:digits])
	if !ok || digits > 40 {
		return ConditionAt(text, at, "%q is not a number", numbers.Clean(rest, 40))
	}
	c.Value, c.Unit = v, strings.TrimSpace(rest[digits:])
	units := map[MetricKind][]string{KindShare: {"%"}, KindTime: {"s", "ms", "us", "ns", "ticks"}}[c.Metric.Kind]
	if c.Unit == "" {
		return nil
	}
	for _, u := range units {
		if c.Unit == u {
			return nil
		}
	}
	if len(units) == 0 {
		return ConditionAt(text, at+digits, "%s has no unit", c.Metric.Name)
	}
	return ConditionAt(text, at+digits, "no unit of %s: choose from %s", c.Metric.Name, strings.Join(units, ", "))
}

// Limit is the number in the metric's own unit: ticks of times.
func (c *Condition) Limit(resolution uint64) (numbers.Fraction, error) {
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
func (r *Run) Judge(list []*Condition, rules Rules) ([]Verdict, error) {
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
	u := numbers.Units{Resolution: r.Defs.Clock().TimerResolution}
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
func (c *Condition) Verdict(v numbers.Fraction, u numbers.Units, of string) (Verdict, error) {
	limit, err := c.Limit(u.Resolution)
	return Verdict{!v.Known() || err != nil || c.holds(v.Compare(limit)), fmt.Sprintf("%s: %s%s is %s", c.Text, c.Metric.Name, of, c.Metric.text(v, u))}, err
}

func (c *Condition) holds(order int) bool {
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
func (m *Metric) text(v numbers.Fraction, u numbers.Units) string {
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

// MetricOf finds a metric by its name.
func MetricOf(name string) (Metric, bool) {
	for _, m := range metrics() {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// MetricNames are the names of the metrics of conditions.
func MetricNames() []string {
	var list []string
	for _, m := range metrics() {
		list = append(list, m.Name)
	}
	return list
}

// metrics are the numbers that conditions can name: efficiencies, characteristics
// in ticks, and the sum over processes of every component.
func metrics() []Metric {
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
		{"efficiency", KindShare, func(i *Interval) numbers.Fraction {
			if i.Ticks.Measured == 0 {
				return numbers.Whole(1)
			}
			return i.Ticks.Productive.Div(uint64(max(i.Ticks.Measured, 0)))
		}},
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

package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
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
// seconds, or ticks where the trace does not tell the resolution of its clock.
// Numbers are exact, and so are comparisons.
type Condition struct {
	text     string
	interval string // as findNode takes it
	metric   metric
	op       string
	value    Fraction
	unit     string
}

// metricKind is what a metric measures.
type metricKind uint8

const (
	kindShare metricKind = iota // a quotient; % divides by 100
	kindTime                    // ticks
	kindCount
)

// metric is a number of an interval that conditions can name.
type metric struct {
	name  string
	kind  metricKind
	value func(i *Interval) Fraction // not known, or over 0, where it is not defined
}

// maxCondition bounds the text of a condition.
const maxCondition = 1000

// conditionAt is an error at a byte of the text, from 1.
func conditionAt(text string, at int, format string, args ...any) error {
	return fmt.Errorf("%q, character %d: %w: %s", clean(text, 120), at+1, ErrCondition, fmt.Sprintf(format, args...))
}

// ParseCondition reads a condition.
func ParseCondition(text string) (*Condition, error) {
	return parseCondition(text, metricOf, MetricNames)
}

// parseCondition reads a condition about metrics that find knows; their names may
// end in a point and one of the suffixes.
func parseCondition(text string, find func(name string) (metric, bool), names func() []string, suffixes ...string) (*Condition, error) {
	if len(text) > maxCondition {
		return nil, conditionAt(text, maxCondition, "longer than %d bytes", maxCondition)
	}
	c := &Condition{text: text, interval: "root"}
	at := len(text) - len(strings.TrimLeft(text, " "))
	if rest, ok := strings.CutPrefix(text[at:], "interval:"); ok {
		from := len(text) - len(rest)
		var err error
		if c.interval, at, err = intervalName(text, from, suffixes); err != nil {
			return nil, err
		}
	}
	return c, c.comparison(text, at, find, names)
}

// comparison reads METRIC OP NUMBER from a byte of the text on.
func (c *Condition) comparison(text string, at int, find func(name string) (metric, bool), names func() []string) error {
	rest := text[at:]
	op := strings.IndexAny(rest, "<>=!")
	if op < 0 {
		return conditionAt(text, len(text), "a comparison is missing: METRIC<NUMBER, or one of <= > >= == !=")
	}
	name := strings.TrimSpace(rest[:op])
	m, ok := find(name)
	if !ok {
		return conditionAt(text, at, "no metric %q: choose from %s", clean(name, 60), strings.Join(names(), ", "))
	}
	c.metric = m
	at += op
	for _, known := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if strings.HasPrefix(text[at:], known) {
			c.op = known
			break
		}
	}
	if c.op == "" {
		return conditionAt(text, at, "no comparison: choose one of < <= > >= == !=")
	}
	return c.number(text, at+len(c.op))
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
func (c *Condition) number(text string, at int) error {
	rest := strings.TrimSpace(text[at:])
	at = len(text) - len(strings.TrimLeft(text[at:], " "))
	digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if digits < 0 {
		digits = len(rest)
	}
	v, ok := exact.Parse(rest[:digits])
	if !ok || digits > 40 {
		return conditionAt(text, at, "%q is no number", clean(rest, 40))
	}
	c.value, c.unit = v, strings.TrimSpace(rest[digits:])
	units := map[metricKind][]string{kindShare: {"%"}, kindTime: {"s", "ms", "us", "ns", "ticks"}}[c.metric.kind]
	if c.unit == "" {
		return nil
	}
	for _, u := range units {
		if c.unit == u {
			return nil
		}
	}
	if len(units) == 0 {
		return conditionAt(text, at+digits, "%s has no unit", c.metric.name)
	}
	return conditionAt(text, at+digits, "no unit of %s: choose from %s", c.metric.name, strings.Join(units, ", "))
}

// limit is the number in the metric's own unit: ticks of times.
func (c *Condition) limit(resolution uint64) (Fraction, error) {
	switch scale := map[string]uint64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "": 1}[c.unit]; {
	case c.unit == "%":
		return c.value.Div(100), nil
	case c.metric.kind != kindTime || c.unit == "ticks" || c.unit == "" && resolution == 0:
	case resolution == 0:
		return Fraction{}, fmt.Errorf("%q: %w: the trace does not tell the resolution of its clock, compare with ticks", c.text, ErrCondition)
	default:
		return c.value.Scale(resolution, scale), nil
	}
	return c.value, nil
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
	s, err := r.survey(surveyOptions{section: "conditions", deep: true, rules: rules})
	if err == nil && len(s.lost) > 0 {
		err = fmt.Errorf("%w: %s", xtf.ErrCorrupt, s.lost[0].Error)
	}
	if err != nil {
		return nil, err
	}
	u := unit{r.Defs.Clock().TimerResolution}
	var verdicts []Verdict
	for _, c := range list {
		n, err := findNode(s.nodes, c.interval)
		if err != nil {
			return nil, err
		}
		i := s.interval(n, rules)
		verdict, err := c.verdict(c.metric.value(i), u, " of "+i.label)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// verdict compares the value of the metric, of what is named, with the limit. One that is not known holds.
func (c *Condition) verdict(v Fraction, u unit, of string) (Verdict, error) {
	limit, err := c.limit(u.resolution)
	return Verdict{!v.Known() || err != nil || c.holds(v.Compare(limit)), fmt.Sprintf("%s: %s%s is %s", c.text, c.metric.name, of, c.metric.text(v, u))}, err
}

func (c *Condition) holds(order int) bool {
	switch c.op {
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
func (m *metric) text(v Fraction, u unit) string {
	switch {
	case !v.Known():
		return "not known, which counts as failing"
	case m.kind == kindCount:
		return v.Fixed(0)
	case m.kind == kindTime:
		return u.plain(v) + " " + u.name()
	}
	return v.Fixed(6)
}

// metricOf finds a metric by its name.
func metricOf(name string) (metric, bool) {
	for _, m := range metrics() {
		if m.name == name {
			return m, true
		}
	}
	return metric{}, false
}

// MetricNames are the names of the metrics of conditions.
func MetricNames() []string {
	var list []string
	for _, m := range metrics() {
		list = append(list, m.name)
	}
	return list
}

// metrics are the numbers that conditions can name: efficiencies, characteristics
// in ticks, and the sum over processes of every component.
func metrics() []metric {
	share := func(name string, f func(i *Interval) (a, b Sum)) metric {
		return metric{name, kindShare, func(i *Interval) Fraction { return fraction(f(i)) }}
	}
	ticks := func(name string, f func(t *Ticks) Fraction) metric {
		return metric{name, kindTime, func(i *Interval) Fraction { return f(&i.Ticks) }}
	}
	all := func(i *Interval, largest uint64) Sum { return times(integer(largest), i.POP.participants) }
	list := []metric{
		{"efficiency", kindShare, func(i *Interval) Fraction {
			if i.Ticks.Measured == 0 {
				return whole(1)
			}
			return i.Ticks.Productive.Div(uint64(max(i.Ticks.Measured, 0)))
		}},
		{"parallel_efficiency", kindShare, func(i *Interval) Fraction { return i.POP.parallel }},
		share("process_efficiency", func(i *Interval) (a, b Sum) { return i.POP.Useful, times(i.POP.Runtime, i.POP.participants) }),
		share("io_efficiency", func(i *Interval) (a, b Sum) { return i.Ticks.CPU, add(i.Ticks.CPU, i.Ticks.IO) }),
		share("io_balance", func(i *Interval) (a, b Sum) { return i.Ticks.IO, all(i, i.Stats.item(xtf.ItemIO).Max) }),
		share("load_balance", func(i *Interval) (a, b Sum) { return i.POP.Useful, all(i, i.POP.Largest) }),
		share("communication_efficiency", func(i *Interval) (a, b Sum) { return integer(i.POP.Largest), i.POP.Runtime }),
		share("serialisation_efficiency", func(i *Interval) (a, b Sum) { return integer(i.POP.Largest), i.POP.Ideal }),
		share("transfer_efficiency", func(i *Interval) (a, b Sum) { return i.POP.Ideal, i.POP.Runtime }),
		share("wait_share", func(i *Interval) (a, b Sum) { return i.waitTotal(), i.Stats.item(xtf.ItemTime).Sum }),
		ticks("execution", func(t *Ticks) Fraction { return whole(integer(t.Execution)) }),
		ticks("runtime", func(t *Ticks) Fraction { return whole(integer(t.Runtime)) }),
		ticks("total", func(t *Ticks) Fraction { return whole(t.Total) }),
		ticks("productive", func(t *Ticks) Fraction { return t.Productive }),
		ticks("lost", func(t *Ticks) Fraction { return t.Lost }),
		ticks("lost_mpi", func(t *Ticks) Fraction { return t.MPILost }),
		ticks("idle", func(t *Ticks) Fraction { return whole(t.Idle) }),
		ticks("load_imbalance", func(t *Ticks) Fraction { return whole(t.LoadImbalance) }),
		ticks("dephasing", func(t *Ticks) Fraction { return whole(optional(t.Dephasing)) }),
		{"wait", kindTime, func(i *Interval) Fraction { return whole(i.waitTotal()) }},
		{"processors", kindCount, func(i *Interval) Fraction { return fraction64(i.Processors, 1) }},
	}
	for item := range xtf.NumItems {
		kind := kindTime
		if isCount(item) {
			kind = kindCount
		}
		if item == xtf.ItemFirst || item == xtf.ItemLast || item >= xtf.ItemIdeal && item <= xtf.ItemIdealLast {
			continue // no sums over processes
		}
		list = append(list, metric{item.String(), kind, func(i *Interval) Fraction {
			if item.NeedsPartners() && i.Waits == nil {
				return Fraction{}
			}
			return whole(i.Stats.item(item).Sum)
		}})
	}
	return list
}

func (i *Interval) waitTotal() Sum {
	if i.Waits == nil {
		return notKnown
	}
	return i.Waits.Total
}

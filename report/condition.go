package report

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

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
	value    *big.Rat
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
	value func(i *Interval) *big.Rat // nil: not defined or not known
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

// intervalName reads the name of an interval and the point behind it.
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
	v, ok := new(big.Rat).SetString(rest[:digits])
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
func (c *Condition) limit(resolution uint64) (*big.Rat, error) {
	v := new(big.Rat).Set(c.value)
	switch scale := map[string]int64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "": 1}[c.unit]; {
	case c.unit == "%":
		v.Quo(v, big.NewRat(100, 1))
	case c.metric.kind != kindTime || c.unit == "ticks" || c.unit == "" && resolution == 0:
	case resolution == 0:
		return nil, fmt.Errorf("%q: %w: the trace does not tell the resolution of its clock, compare with ticks", c.text, ErrCondition)
	default:
		v.Mul(v, new(big.Rat).SetInt(integer(resolution)))
		v.Quo(v, big.NewRat(scale, 1))
	}
	return v, nil
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
		err = fmt.Errorf("%s: location %d: %s: %w", r.Name, s.lost[0].Location, s.lost[0].Error, xtf.ErrCorrupt)
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
		limit, err := c.limit(u.resolution)
		if err != nil {
			return nil, err
		}
		i := s.interval(n, rules)
		v := c.metric.value(i)
		verdict := Verdict{Holds: v == nil || c.holds(v.Cmp(limit))}
		verdict.Text = fmt.Sprintf("%s: %s of %s is %s", c.text, c.metric.name, i.label, c.metric.text(v, u))
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
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
func (m *metric) text(v *big.Rat, u unit) string {
	switch {
	case v == nil:
		return "not known, which counts as failing"
	case m.kind == kindCount:
		return Fraction{v.Num(), v.Denom()}.fixed(0)
	case m.kind == kindTime:
		return u.plain(Fraction{v.Num(), v.Denom()}) + " " + u.name()
	}
	return Fraction{v.Num(), v.Denom()}.fixed(6)
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

func ratOf(a, b *big.Int) *big.Rat {
	if a == nil || b == nil || b.Sign() == 0 {
		return nil
	}
	return new(big.Rat).SetFrac(a, b)
}

// metrics are the numbers that conditions can name: efficiencies, characteristics
// in ticks, and the sum over processes of every component.
func metrics() []metric {
	one := big.NewInt(1)
	share := func(name string, f func(i *Interval) (a, b *big.Int)) metric {
		return metric{name, kindShare, func(i *Interval) *big.Rat { return ratOf(f(i)) }}
	}
	ticks := func(name string, f func(t *Ticks) Fraction) metric {
		return metric{name, kindTime, func(i *Interval) *big.Rat { x := f(&i.Ticks); return ratOf(x.Num, x.Den) }}
	}
	p := func(i *Interval) *big.Int { return integer(i.POP.participants) }
	list := []metric{
		{"efficiency", kindShare, func(i *Interval) *big.Rat {
			if i.Ticks.Measured.Sign() == 0 {
				return big.NewRat(1, 1)
			}
			return ratOf(i.Ticks.Productive.Num, new(big.Int).Mul(i.Ticks.Productive.Den, i.Ticks.Measured))
		}},
		share("parallel_efficiency", func(i *Interval) (a, b *big.Int) { return i.POP.parallel.Num, i.POP.parallel.Den }),
		share("process_efficiency", func(i *Interval) (a, b *big.Int) { return i.POP.Useful, new(big.Int).Mul(p(i), i.POP.Runtime) }),
		share("io_efficiency", func(i *Interval) (a, b *big.Int) { return i.Ticks.CPU, add(i.Ticks.CPU, i.Ticks.IO) }),
		share("load_balance", func(i *Interval) (a, b *big.Int) { return i.POP.Useful, new(big.Int).Mul(p(i), integer(i.POP.Largest)) }),
		share("communication_efficiency", func(i *Interval) (a, b *big.Int) { return integer(i.POP.Largest), i.POP.Runtime }),
		share("serialisation_efficiency", func(i *Interval) (a, b *big.Int) { return integer(i.POP.Largest), i.POP.Ideal }),
		share("transfer_efficiency", func(i *Interval) (a, b *big.Int) { return i.POP.Ideal, i.POP.Runtime }),
		share("wait_share", func(i *Interval) (a, b *big.Int) { return i.waitTotal(), i.Stats.item(xtf.ItemTime).Sum }),
		ticks("execution", func(t *Ticks) Fraction { return Fraction{integer(t.Execution), one} }),
		ticks("runtime", func(t *Ticks) Fraction { return Fraction{integer(t.Runtime), one} }),
		ticks("total", func(t *Ticks) Fraction { return Fraction{t.Total, one} }),
		ticks("productive", func(t *Ticks) Fraction { return t.Productive }),
		ticks("lost", func(t *Ticks) Fraction { return t.Lost }),
		ticks("lost_mpi", func(t *Ticks) Fraction { return t.MPILost }),
		ticks("idle", func(t *Ticks) Fraction { return Fraction{t.Idle, one} }),
		ticks("load_imbalance", func(t *Ticks) Fraction { return Fraction{t.LoadImbalance, one} }),
		ticks("dephasing", func(t *Ticks) Fraction { return Fraction{optional(t.Dephasing), one} }),
		{"wait", kindTime, func(i *Interval) *big.Rat { return ratOf(i.waitTotal(), one) }},
		{"processors", kindCount, func(i *Interval) *big.Rat { return ratOf(integer(i.Processors), one) }},
	}
	for _, item := range itemsInUse() {
		kind := kindTime
		if isCount(item) {
			kind = kindCount
		}
		if item == xtf.ItemFirst || item == xtf.ItemLast || item >= xtf.ItemIdeal && item <= xtf.ItemIdealLast {
			continue // no sums over processes
		}
		list = append(list, metric{item.String(), kind, func(i *Interval) *big.Rat {
			if item.NeedsPartners() && i.Waits == nil {
				return nil
			}
			return ratOf(i.Stats.item(item).Sum, one)
		}})
	}
	return list
}

func (i *Interval) waitTotal() *big.Int {
	if i.Waits == nil {
		return nil
	}
	return i.Waits.Total
}

package report

import (
	"fmt"
	"strings"
)

// DiffCondition is a comparison of a number of two runs with a limit, written as
// [Condition] is: METRIC is that of the second run, METRIC.change how much more than
// in the first run it is, METRIC.ratio how many times as much. Times are as in
// conditions of one run: sums over processes where those are.
type DiffCondition struct {
	Condition
	of string // change, ratio or ""
}

// diffSuffixes are what of a metric a condition may ask for.
var diffSuffixes = [...]string{"change", "ratio"}

// ParseDiffCondition reads a condition.
func ParseDiffCondition(text string) (*DiffCondition, error) {
	c := &DiffCondition{}
	find := func(name string) (metric, bool) {
		base := name
		for _, s := range diffSuffixes {
			if b, ok := strings.CutSuffix(name, "."+s); ok {
				base, c.of = b, s
			}
		}
		m, ok := metricOf(base)
		m.name = name
		if c.of == "ratio" {
			m.kind = kindShare
		}
		return m, ok
	}
	names := func() []string { return append(MetricNames(), "and these with .change or .ratio") }
	x, err := parseCondition(text, find, names, diffSuffixes[:]...)
	if err != nil {
		return nil, err
	}
	c.Condition = *x
	return c, nil
}

// Judge decides conditions. One whose metric is not defined, or whose interval only
// one run has where both are asked for, holds: what was to be watched cannot be seen.
func (d *Diff) Judge(list []*DiffCondition) ([]Verdict, error) {
	var verdicts []Verdict
	b := d.samples[1]
	for _, c := range list {
		n, err := findNode(b.nodes, c.interval)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.run.Name, err)
		}
		if c.unit == "ticks" && d.Runs[0].Resolution > 0 {
			return nil, fmt.Errorf("%q: %w: times of two runs are compared in seconds", clean(c.text, 120), ErrCondition)
		}
		verdict, err := c.verdict(c.number(d, n), unit{min(d.Runs[0].Resolution, 1)}, " of "+b.intervals[n].label)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// number is the number that the condition is about, of node n of the second run; not known
// where it is not.
func (c *DiffCondition) number(d *Diff, n int) Fraction {
	m := c.metric
	base, _, _ := strings.Cut(m.name, ".")
	plain, _ := metricOf(base)
	y := d.samples[1].value(&plain, d.samples[1].intervals[n], false)
	if c.of == "" || !y.Known() {
		return y
	}
	for _, p := range d.pairs {
		if p[1] != n {
			continue
		}
		x := newLine("", plain.kind, d.samples[0].value(&plain, d.samples[0].intervals[p[0]], false), y)
		if c.of == "ratio" {
			return x.Ratio.Fraction
		}
		return x.Change.Fraction
	}
	return Fraction{}
}

package diff

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
)

// Condition is a comparison of a number of two runs with a limit, written as
// [Condition] is: METRIC is that of the second run, METRIC.change how much more than
// in the first run it is, METRIC.ratio how many times as much. Times are as in
// conditions of one run: sums over processes where those are.
type Condition struct {
	results.Condition
	of string // change, ratio or ""
}

// diffSuffixes are what of a metric a condition may ask for.
var diffSuffixes = [...]string{"change", "ratio"}

// ParseCondition reads a condition.
func ParseCondition(text string) (*Condition, error) {
	c := &Condition{}
	find := func(name string) (results.Metric, bool) {
		base := name
		for _, s := range diffSuffixes {
			if b, ok := strings.CutSuffix(name, "."+s); ok {
				base, c.of = b, s
			}
		}
		m, ok := results.MetricOf(base)
		m.Name = name
		if c.of == "ratio" {
			m.Kind = results.KindShare
		}
		return m, ok
	}
	names := func() []string { return append(results.MetricNames(), "and these with .change or .ratio") }
	x, err := results.ParseOf(text, find, names, diffSuffixes[:]...)
	if err != nil {
		return nil, err
	}
	c.Condition = *x
	return c, nil
}

// Judge decides conditions. One whose metric is not defined, or whose interval only
// one run has where both are asked for, holds: what was to be watched cannot be seen.
func (d *Diff) Judge(list []*Condition) ([]results.Verdict, error) {
	var verdicts []results.Verdict
	b := d.samples[1]
	for _, c := range list {
		n, err := results.FindNode(b.nodes, c.Interval)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Run.Name, err)
		}
		if c.Unit == "ticks" && d.Runs[0].Resolution > 0 {
			return nil, fmt.Errorf("%q: %w: times of two runs are compared in seconds", numbers.Clean(c.Text, 120), results.ErrCondition)
		}
		verdict, err := c.Verdict(c.number(d, n), numbers.Units{Resolution: min(d.Runs[0].Resolution, 1)}, " of "+b.intervals[n].Text)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// number is the number that the condition is about, of node n of the second run; not known
// where it is not.
func (c *Condition) number(d *Diff, n int) numbers.Fraction {
	m := c.Metric
	base, _, _ := strings.Cut(m.Name, ".")
	plain, _ := results.MetricOf(base)
	y := d.samples[1].value(&plain, d.samples[1].intervals[n], false)
	if c.of == "" || !y.Known() {
		return y
	}
	for _, p := range d.pairs {
		if p[1] != n {
			continue
		}
		x := newLine("", plain.Kind, d.samples[0].value(&plain, d.samples[0].intervals[p[0]], false), y)
		if c.of == "ratio" {
			return x.Ratio.Fraction
		}
		return x.Change.Fraction
	}
	return numbers.Fraction{}
}

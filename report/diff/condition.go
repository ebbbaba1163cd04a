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
type Condition = results.Condition

// ParseCondition reads a condition.
func ParseCondition(text string) (*Condition, error) {
	return results.ParseOf(text, results.Metrics(), "change", "ratio")
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
		verdict, err := c.Verdict(d.numberOf(c, n), numbers.Units{Resolution: min(d.Runs[0].Resolution, 1)}, " of "+b.intervals[n].Text)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}

// number is the number that a condition is about, of node n of the second run; not known
// where it is not.
func (d *Diff) numberOf(c *Condition, n int) numbers.Fraction {
	plain := results.Metrics()[results.FindMetric(results.Metrics(), strings.TrimSuffix(c.Metric.Name, "."+c.Suffix))]
	y := d.samples[1].value(&plain, d.samples[1].intervals[n], false)
	if c.Suffix == "" || !y.Known() {
		return y
	}
	for _, p := range d.pairs {
		if p[1] != n {
			continue
		}
		x := newLine("", plain.Kind, d.samples[0].value(&plain, d.samples[0].intervals[p[0]], false), y)
		if c.Suffix == "ratio" {
			return x.Ratio.Fraction
		}
		return x.Change.Fraction
	}
	return numbers.Fraction{}
}

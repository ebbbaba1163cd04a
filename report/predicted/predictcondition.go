package predicted

import (
	"math/bits"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
)

// Condition is a comparison of a metric of a prediction with a number, as [Condition] is of an interval's. Times without
// a unit are seconds.
type Condition struct {
	results.Condition
	value func(p *Prediction) numbers.Fraction
}

// predictMetric is a number of a prediction.
type predictMetric struct {
	name  string
	kind  results.MetricKind
	value func(p *Prediction) numbers.Fraction
}

// predictMetrics are the numbers that conditions about a prediction can name.
func predictMetrics() []predictMetric {
	makespan := func(p *Prediction) numbers.Fraction {
		if p.Makespan == nil {
			return numbers.Fraction{}
		}
		return numbers.Divide64(*p.Makespan, 1)
	}
	measured := func(p *Prediction) numbers.Fraction { return numbers.Divide64(p.Measured, 1) }
	return []predictMetric{
		{"makespan", results.KindTime, makespan},
		{"measured", results.KindTime, measured},
		{"ratio", results.KindShare, func(p *Prediction) numbers.Fraction { return makespan(p).Over(measured(p)) }},
		{"speedup", results.KindShare, func(p *Prediction) numbers.Fraction { return measured(p).Over(makespan(p)) }},
		{"error_net", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Net.Fraction() }},
		{"error_class", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Class.Fraction() }},
		{"error_replay", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Replay.Fraction() }},
		{"error_spread", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Spread.Fraction() }},
		{"error_delay", results.KindShare, func(p *Prediction) numbers.Fraction { return p.Errors.Delay.Fraction() }},
		{"compute", results.KindTime, func(p *Prediction) numbers.Fraction {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Compute })
		}},
		{"communication", results.KindTime, func(p *Prediction) numbers.Fraction {
			return p.mean(func(t *PredictedTimes) uint64 { return t.Finish - min(t.Compute+t.Kept, t.Finish) })
		}},
	}
}

// mean is that of a time over the processes, nil without a prediction.
func (p *Prediction) mean(of func(t *PredictedTimes) uint64) numbers.Fraction {
	if p.Makespan == nil {
		return numbers.Fraction{}
	}
	var high, low, carry uint64
	for i := range p.Processes {
		low, carry = bits.Add64(low, of(&p.Processes[i].Predicted), 0)
		high += carry
	}
	return exact.Share(high, low, uint64(len(p.Processes)))
}

// MetricNames are the names of the metrics of conditions about a prediction.
func MetricNames() []string {
	var list []string
	for _, m := range predictMetrics() {
		list = append(list, m.name)
	}
	return list
}

// ParseCondition reads METRIC OP NUMBER.
func ParseCondition(text string) (*Condition, error) {
	if len(text) > results.MaxCondition {
		return nil, results.ConditionAt(text, results.MaxCondition, "longer than %d bytes", results.MaxCondition)
	}
	c := &Condition{Condition: results.Condition{Text: text}}
	find := func(name string) (results.Metric, bool) {
		for _, m := range predictMetrics() {
			if m.name == name {
				c.value = m.value
				return results.Metric{Name: m.name, Kind: m.kind}, true
			}
		}
		return results.Metric{}, false
	}
	if err := c.Comparison(text, 0, find, MetricNames); err != nil {
		return nil, err
	}
	return c, nil
}

// Judge decides conditions. One whose metric is not known holds: what was to be watched cannot be seen.
func (p *Prediction) Judge(list []*Condition) []results.Verdict {
	var verdicts []results.Verdict
	for _, c := range list {
		verdict, _ := c.Verdict(c.value(p), numbers.Units{Resolution: Picoseconds}, "") // the resolution is known
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}
